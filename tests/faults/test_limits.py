"""Time limits and signals end a run with what it has; limits that are not reached change nothing; memory is bounded."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from drbo import DrBO, Result, Settings
from drbo.cli import main
from drbo.data.files.simulate import simulate
from drbo.errors import SettingsError, TimeLimitError
from drbo.result.judge import judge
from tests.faults.campaign import SEARCHES, fingerprint, table
from tests.faults.limits import CASES, TABLES, write
from tests.forked import Forked

#: Seconds that a short run may take on a machine that does much else; without its limit it would take far longer.
LONG_ENOUGH = 100.0


@pytest.mark.parametrize("name", SEARCHES)
def test_a_limit_that_is_not_reached_changes_nothing(name):
    options = dict(SEARCHES[name])
    chosen = Settings.preset(options.pop("preset", "default")).with_(**options.pop("settings"))
    chosen = chosen.with_(order_patience=4, max_evals=min(chosen.max_evals, 60))
    found = []
    for limit in (None, 3600.0):
        model = DrBO(random_state=1, settings=chosen.with_(time_limit=limit), **options)
        found.append(fingerprint(model.fit(table(name)).result_))
    assert found[0] == found[1]


def test_resamples_with_a_limit_that_is_not_reached():
    shares = [
        DrBO(score="bic-nv", random_state=0, time_limit=limit).fit(table()).bootstrap(table(), n=6).directed.tolist()
        for limit in (None, 3600.0)
    ]
    assert shares[0] == shares[1]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    return write(simulate("40ER2", n=300, seed=1).X, tmp_path_factory.mktemp("wide") / "wide.npz")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return write(simulate("12ER2", n=300, seed=1).X, tmp_path_factory.mktemp("small") / "small.npz")


@pytest.fixture
def pace(small, tmp_path):
    """The seconds that a short run takes here and now, so that limits are neither too short nor longer than needed."""
    start = time.monotonic()
    _fit(small, tmp_path)
    return time.monotonic() - start


def _fit(path, folder, *words):
    """Run the command in this process."""
    start = time.monotonic()
    done = CliRunner().invoke(main, ["fit", str(path), "-o", str(folder), *words, "--force"])
    assert done.exit_code == 0, done.output
    assert time.monotonic() - start < LONG_ENOUGH
    return Result.load(folder), done.output


ENDLESS = ("--set", "order_patience=100000")


@pytest.mark.parametrize(
    "words",
    [ENDLESS, (*ENDLESS, "--score", "bic-ev"), ("--set", "route=surrogate", "--set", "patience=100000"),
     ("--set", "preset=paper", "--max-evals", "10000000")],
)  # fmt: skip
def test_a_search_ends_at_its_limit_saved_and_reported(wide, tmp_path, words):
    result, told = _fit(wide, tmp_path, *words, "--time-limit", "0.1s")
    assert result.stopped == "time limit of 0.1 s reached"
    assert "stopped      time limit of 0.1 s reached" in told


def test_resamples_end_at_the_limit_of_the_run(small, tmp_path, pace):
    result, told = _fit(small, tmp_path, "--bootstrap", "1000000", "--time-limit", f"{2 * pace + 0.5:.1f}s")
    found = result.confidence
    assert found.asked == 1_000_000
    assert 1 <= found.n < 1_000_000
    assert f"{found.n} of 1000000 resamples" in told


def test_without_time_for_a_resample_the_graph_is_told(small, tmp_path):
    result, told = _fit(small, tmp_path, *ENDLESS, "--bootstrap", "100", "--time-limit", "0.1s")
    assert result.confidence is None
    assert "no resample was finished: time limit of 0.1 s reached" in told


def test_seeds_and_imputations_share_the_limit(small, tmp_path):
    result, _ = _fit(small, tmp_path / "seeds", *ENDLESS, "--set", "seeds=4", "--time-limit", "0.3")
    assert result.confidence.n + (result.confidence.asked - 4 if result.confidence.asked else 0) <= 4
    values = simulate("8ER2", n=100, seed=1).X
    values[::9, 0] = np.nan
    holes = write(values, tmp_path / "holes.npz")
    result, _ = _fit(
        holes, tmp_path / "run", *ENDLESS, "--missing", "impute", "--set", "imputations=3", "--time-limit", "0.3"
    )
    assert result.confidence.kind == "imputation"


@pytest.mark.filterwarnings("default")  # the program shows them as lines
@pytest.mark.parametrize(
    "words", [("--set", "exact=on", "--score", "splines"), ("--score", "gp"), ("--score", "gp-nv")]
)
def test_proofs_and_kernels_end_at_the_limit(tmp_path, words):
    path = write(simulate("20ER4", model="cos", n=300, seed=1).X, tmp_path / "table.npz")
    result, _ = _fit(path, tmp_path / "run", *words, "--time-limit", "0.5")
    assert result.proof is None
    late = [reason for reason in result.reasons if "time ran out" in reason]
    assert late or result.stopped == "time limit of 0.5 s reached"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGTERM, ENDLESS), (signal.SIGINT, ENDLESS), (signal.SIGINT, ("--bootstrap", "1000000"))],
)
def test_signals_end_a_run_with_what_it_has(small, tmp_path, number, words, monkeypatch):
    for seconds in ("SILENCE", "LINE_SECONDS"):
        monkeypatch.setattr(f"drbo.progress.{seconds}", 0.1)  # it says soon what it is doing
    process = Forked(lambda: main(["fit", str(small), "-o", str(tmp_path), *words]))
    end = time.monotonic() + LONG_ENOUGH
    while time.monotonic() < end and not re.search("(search|resamples): ", process.said()[1]):
        time.sleep(0.05)
    sent = time.monotonic()
    done = process.end(number)
    assert done.code == 130, done.err
    assert time.monotonic() - sent < LONG_ENOUGH
    result = Result.load(tmp_path)
    if words == ENDLESS:
        assert result.stopped == "interrupted"
    assert "interrupted: finishing with the best graph so far" in done.err


def test_judge_ends_at_its_limit(small, tmp_path, pace):
    result = Result.load(tmp_path)
    words = ["judge", str(small), str(tmp_path), "--as-is", "--json", "--permutations", "10000000"]
    found = json.loads(CliRunner().invoke(main, [*words, "--time-limit", f"{pace + 0.5:.1f}s"]).stdout)
    assert found["n_permutations"] < 10_000_000
    assert any("of 10000000 permutations were tested" in note for note in found["notes"])
    assert found["n_edges"] == result.dag.sum()


def test_judge_tells_what_it_left_out():
    values = simulate("8ER2", n=100, seed=1)
    found = judge(values.dag, values.X, score="bic-nv", time_limit=0.0)
    assert (found.random_scores, found.tested, found.penalties, found.informative) == ((), False, (), False)
    assert any(note.startswith("time ran out") for note in found.notes)
    assert "not tested: time ran out" in found.summary()
    with pytest.raises(SettingsError, match="time_limit"):
        judge(values.dag, values.X, score="bic-nv", time_limit=-1.0)


def test_effects_and_resamples_without_time():
    values = simulate("5ER2", n=100, seed=1).X
    model = DrBO(score="bic-nv", random_state=0, time_limit=0.0).fit(values)
    with pytest.raises(TimeLimitError, match="no resample was finished"):
        model.bootstrap(values, n=5)
    with pytest.raises(TimeLimitError, match="no resample was finished"):
        model.effects(values, "x0", "x1", n=5)


#: Fits tables one after the other, and prints the peak of its memory after each. What counts as a large table, and the
#: pieces that it is cut into, have an eighth of their size, so that a table of 17 MiB is one.
FITS = """
import re, sys
from drbo.cli import main
from drbo.data.statistics import blocks
blocks.LARGE_CELLS, blocks.SLAB_CELLS, blocks.BLOCK_ROWS = 2**21, 2**18, 2**11
for path in sys.argv[1:]:
    try:
        main(["fit", path, "--set", "order_patience=1", "--quiet"])
    except SystemExit as end:
        assert end.code == 0
    print("peak", re.search("VmHWM:[^0-9]*([0-9]+) kB", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs the peak of a process's memory")
def test_memory_grows_with_the_rows_by_at_most_three_times_the_table(tmp_path):
    values = np.random.default_rng(0).normal(size=(165_000, 40))
    values[:, 1] += values[:, 0]
    paths = [str(write(values[:count], tmp_path / f"{count}.npy")) for count in (55_000, len(values))]
    done = subprocess.run([sys.executable, "-c", FITS, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    few, many = (1024 * int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("peak "))
    assert many - few < 3 * values[55_000:].nbytes


def test_every_case_of_the_campaign_has_its_table():
    assert {case.table for case in CASES} <= set(TABLES)
