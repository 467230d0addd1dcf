"""Fits of streams and of shared moments on the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from drbo.data.reading import parquet_groups
from drbo.data.statistics import sums
from tests.hidden import confounded_table

Run = Callable[..., Result]


@pytest.fixture
def _small_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 60)


def _edges(done: Result) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("  ") and ("->" in line or "--" in line)]


def test_several_owners_share_moments(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain)
    for name, part in (("a", frame[:80]), ("b", frame[80:])):
        part.to_csv(f"{name}.csv", index=False)
        assert run("moments", f"{name}.csv", "-o", f"{name}.npz").exit_code == 0
    both = run("fit", "a.npz", "b.npz", "--score", "bge", "--score-option", "penalty=1")
    assert both.exit_code == 0, both.stderr
    assert "2 files: 200 rows, 4 columns, moments" in both.stderr
    whole = run("fit", chain, "--score", "bge", "--score-option", "penalty=1", "-q")
    one, other = ({frozenset(line.split()[:3]) for line in _edges(done) if " open" in line} for done in (both, whole))
    assert one == other
    assert len(one) == 2


def test_the_same_part_twice_is_refused(run: Run, chain: Path) -> None:
    assert run("moments", chain, "-o", "a.npz").exit_code == 0
    Path("b.npz").write_bytes(Path("a.npz").read_bytes())
    done = run("fit", "a.npz", "b.npz")
    assert done.exit_code == 2
    assert "'b.npz' has the same content as 'a.npz', so its rows would count twice" in done.stderr


@pytest.mark.usefixtures("_small_sample")
def test_a_stream_is_fitted_and_saved_and_resumed(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--read", "stream=true", "-o", "run")
    assert done.exit_code == 0, done.stderr
    assert "200 rows, 4 columns, read piece by piece; 60 of them, drawn at random, were kept" in done.stderr
    assert "4 variables, 200 rows, score bic-nv" in done.stdout
    again = run("resume", "run")
    assert again.exit_code == 0, again.stderr
    assert _edges(again) == _edges(done)


@pytest.mark.usefixtures("_small_sample")
def test_a_table_beyond_the_memory_is_streamed(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--set", "max_memory=0.01")
    assert "piece by piece" not in done.stderr
    wide = pd.concat([pd.read_csv(chain)] * 200)
    wide.to_csv("long.csv", index=False)
    done = run("fit", "long.csv", "--set", "max_memory=0.01", "--groups", "none")
    assert done.exit_code == 0, done.stderr
    assert "read piece by piece: a fit in memory would take more than max_memory; 60 of them" in done.stderr


@pytest.mark.parametrize("option", ["--weights", "--groups", "--types", "--experiment"])
def test_options_that_need_rows_are_refused(run: Run, chain: Path, option: str) -> None:
    done = run("fit", chain, "--read", "stream=true", option, "sun=category" if option == "--types" else "sun")
    assert done.exit_code == 2
    assert f"{option} needs all rows in memory" in done.stderr


def test_a_decimal_comma_is_refused(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--read", "stream=true", "--read", "decimal=comma")
    assert done.exit_code == 2
    assert "must have numbers with a decimal point" in done.stderr


def test_the_command_of_several_files_is_kept(run: Run, chain: Path) -> None:
    assert run("moments", chain, "-o", "a.npz").exit_code == 0
    frame = pd.read_csv(chain)
    frame[:50].to_csv("b.csv", index=False)
    done = run("fit", "a.npz", "b.csv", "-o", "run", "-q")
    assert done.exit_code == 0, done.stderr
    assert json.loads(Path("run/run.json").read_text())["argv"][:4] == ["drbo", "fit", "a.npz", "b.csv"]


def test_files_may_stand_in_a_configuration(run: Run, chain: Path) -> None:
    assert run("moments", chain, "-o", "a.npz").exit_code == 0
    Path("run.toml").write_text('[fit]\ndata = ["a.npz"]\n')
    done = run("fit", "--config", "run.toml", "-q")
    assert done.exit_code == 0, done.stderr


def test_categories_are_counted(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=(2, 3_000))
    c = np.where(rng.random(3_000) < 0.8, (a + b) % 3, rng.integers(3, size=3_000))
    pd.DataFrame({"a": np.array(["x", "y", "z"])[a], "b": b, "c": c}).to_csv("table.csv", index=False)
    done = run("fit", "table.csv", "--read", "stream=true")
    assert done.exit_code == 0, done.stderr
    assert "3,000 rows, 3 columns, read piece by piece; 27 different rows were counted" in done.stderr
    assert "3 variables, 27 rows that count as 3000, score bdeu" in done.stdout
    whole = run("fit", "table.csv", "-q")
    assert _edges(done) == _edges(whole)
    assert next(line for line in done.stdout.splitlines() if line.startswith("score")) in whole.stdout


@pytest.mark.usefixtures("_small_sample")
def test_a_stream_is_resampled_and_resumed(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--read", "stream=true", "--bootstrap", "20", "-o", "run")
    assert done.exit_code == 0, done.stderr
    assert "20 resamples" in done.stdout
    assert json.loads(Path("run/run.json").read_text())["resamples"] == 20
    Path("run/resamples.json").unlink()
    again = run("resume", "run")
    assert again.exit_code == 0, again.stderr
    assert _edges(again) == _edges(done)
    more = run("resume", "run", "--bootstrap", "30")
    assert more.exit_code == 2
    assert "30 resamples were asked for, but 20 were drawn" in more.stderr


def test_owners_share_resamples(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain)
    for name, part in (("a", frame[:80]), ("b", frame[80:])):
        part.to_csv(f"{name}.csv", index=False)
        assert run("moments", f"{name}.csv", "-o", f"{name}.npz", "--resamples", "15").exit_code == 0
    both = run("fit", "a.npz", "b.npz", "--bootstrap", "15")
    assert both.exit_code == 0, both.stderr
    assert "15 resamples" in both.stdout
    few = run("fit", "a.npz", "b.npz", "--bootstrap", "16")
    assert few.exit_code == 2
    assert "16 resamples were asked for, but 15 were drawn when the rows were summed up" in few.stderr
    assert "drbo moments --resamples 16" in few.stderr


@pytest.mark.usefixtures("_small_sample")
def test_resamples_that_need_rows_are_refused(run: Run, chain: Path) -> None:
    done = run("fit", chain, "--read", "stream=true", "--bootstrap", "block:5")
    assert done.exit_code == 2
    assert "--bootstrap block:5 needs all rows in memory" in done.stderr


@pytest.mark.usefixtures("_small_sample")
def test_incomplete_rows_are_resampled(run: Run, chain: Path) -> None:
    frame = pd.read_csv(chain)
    frame.loc[::7, "sun"] = np.nan
    frame.loc[::9, frame.columns[1]] = np.nan
    frame.to_csv("holes.csv", index=False)
    done = run("fit", "holes.csv", "--read", "stream=true", "--missing", "em", "--bootstrap", "6", "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "6 resamples" in done.stdout
    assert run("resume", "out").exit_code == 0


def test_counted_rows_are_resampled(run: Run, folder: Path) -> None:
    a, b = np.random.default_rng(0).integers(2, size=(2, 900))
    pd.DataFrame({"a": a, "b": np.where(b, a, 1 - a), "c": a ^ (np.arange(900) % 7 == 0)}).to_csv("t.csv", index=False)
    done = run("fit", "t.csv", "--read", "stream=true", "--bootstrap", "10", "--score", "bdeu")
    assert done.exit_code == 0, done.stderr
    assert "8 different rows were counted" in done.stderr
    assert "10 resamples" in done.stdout


@pytest.mark.usefixtures("_small_sample")
def test_workers_and_pieces_decide_nothing(run: Run, chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.concat([pd.read_csv(chain)] * 5, ignore_index=True)
    frame.iloc[:, 0] += np.arange(1_000) / 1_000
    Path("parts").mkdir()
    for k in range(4):
        frame[250 * k : 250 * k + 250].to_parquet(f"parts/{k}.parquet", row_group_size=100)
    monkeypatch.setattr(parquet_groups, "RUN_ROWS", 200)
    words = ("moments", "parts", "--resamples", "3", "-q")
    for more in ((), ("--workers", "2")):
        assert run(*words, *more, "-o", f"{len(more)}.npz").exit_code == 0
    assert Path("0.npz").read_bytes() == Path("2.npz").read_bytes()
    one, other = (run("fit", "parts", "-q", *more).stdout for more in ((), ("--workers", "2")))
    assert re.sub(r"[\d.]+ s\n", "", one) == re.sub(r"[\d.]+ s\n", "", other)  # but for the seconds


def test_splines_are_fitted_from_two_passes(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3_000))
    frame = pd.DataFrame({"a": a, "b": b, "c": a**2 + b + rng.normal(size=3_000)})
    frame.to_csv("bent.csv", index=False)
    whole = run("fit", "bent.csv", "--score", "splines", "--json")
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 1)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 1_000)
    command = ("fit", "bent.csv", "--read", "stream=true", "--score", "splines", "--bootstrap", "3")
    done = run(*command, "-o", "out", "--json")
    assert done.exit_code == 0, done.stderr
    assert "3,000 rows, 3 columns, read piece by piece twice; 1,000 of them" in done.stderr
    found, same = json.loads(done.stdout), json.loads(whole.stdout)
    assert [edge["source"] + edge["target"] for edge in found["edges"]] == ["ac", "bc"]
    assert found["score"] == pytest.approx(same["score"], rel=0.02)
    assert "knots of splines are quantiles of a random sample of 1,000 rows" in run("report", "out").stdout + str(found)
    again = run("resume", "out", "--json")
    assert json.loads(again.stdout)["score"] == found["score"]
    workers = run(*command, "--workers", "1", "--json")
    assert json.loads(workers.stdout)["score"] == found["score"]


def test_numbers_and_categories_are_fitted_from_three_passes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    group, noise = rng.integers(3, size=2_000), rng.normal(size=(2, 2_000))
    frame = pd.DataFrame({"group": np.array(["u", "v", "w"])[group], "a": (group == 1) + noise[0], "only": "one"})
    frame["b"] = frame["a"] + noise[1]
    frame.to_csv("t.csv", index=False)
    whole = run("fit", "t.csv", "--set", "on_constant=drop", "--json")
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 1)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 500)
    refused = run("fit", "t.csv", "--read", "stream=true")
    assert refused.exit_code == 2
    assert "column 'only' is constant (every row contains one)" in refused.stderr
    done = run(
        "fit", "t.csv", "--read", "stream=true", "--set", "on_constant=drop", "--bootstrap", "3", "-o", "out", "--json"
    )
    assert done.exit_code == 0, done.stderr
    assert "read piece by piece three times; 500 of them" in done.stderr
    found, same = json.loads(done.stdout), json.loads(whole.stdout)
    assert found["score"] == pytest.approx(same["score"], rel=1e-9)
    links = [sorted(sorted((edge["source"], edge["target"])) for edge in one["edges"]) for one in (found, same)]
    assert links[0] == links[1]
    assert "column 'group' is treated as categorical with 3 levels" in Path("out/result.json").read_text()
    assert json.loads(run("resume", "out", "--json").stdout)["score"] == found["score"]
    stream = ("fit", "t.csv", "--read", "stream=true", "--drop", "only", "--score")
    assert "but bic-nv requires numbers" in run(*stream, "bic-nv").stderr
    assert "mixed-cg' needs the rows" in run(*stream, "mixed-cg").stderr
    frame.loc[3, "b"] = np.nan
    frame.drop(columns="only").to_csv("t.csv", index=False)
    assert "requires numeric columns" in run("fit", "t.csv", "--read", "stream=true", "--missing", "em").stderr
    assert run("fit", "t.csv", "--read", "stream=true", "--missing", "drop").exit_code == 0


def test_an_error_of_a_worker_names_file_and_block(run: Run, chain: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(chain)
    frame.iloc[150, 2] = np.inf
    frame.to_parquet("bad.parquet")
    done = run("moments", "bad.parquet", "-o", "x.npz", "--workers", "1")
    assert done.exit_code == 2
    assert "file 'bad.parquet', block 1 (rows 0 to 199): column 'slip' contains a number of size inf" in done.stderr


def test_hidden_causes_are_found_from_shared_moments(run: Run, folder: Path) -> None:
    table = confounded_table()
    for name, part in (("a", table[:700]), ("b", table[700:])):
        part.to_csv(f"{name}.csv", index=False)
        assert run("moments", f"{name}.csv", "-o", f"{name}.npz").exit_code == 0
    done = run("fit", "a.npz", "b.npz", "--hidden")
    assert done.exit_code == 0
    assert "b <-> c" in done.stdout + done.stderr
