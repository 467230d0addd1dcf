"""The large trials of ``make test-faults``, and the page docs/developers/faults.md that is made from their outcome.

    python -m tests.faults.campaign kills --times 100
    python -m tests.faults.campaign moments
    python -m tests.faults.campaign fuzz --times 10000
    python -m tests.faults.campaign forged --times 1000
    python -m tests.faults.campaign repeats --times 20
    python -m tests.faults.campaign dask --times 10
    python -m tests.faults.campaign size
    python -m tests.faults.campaign overhead
    python -m tests.faults.campaign limits
    python -m tests.faults.campaign crowded
    python -m tests.faults.campaign worked
    python -m tests.faults.campaign bombs
    python -m tests.faults.campaign page
    python -m tests.faults.campaign reduced

Each trial adds its outcome to ``outcome.json`` beside this file, with the version and the commit that it tried; the
page is written from there, never by hand. ``reduced`` is what ``make campaign`` runs: a little of everything in a few
minutes, beside each other on two cores. It records nothing.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import drbo
from drbo import Design
from tests.faults.limits import CASES, REDUCED, limits
from tests.faults.repeats import busy_cores, repeats
from tests.forked import Forked, forked

TRIALS = ["kills", "moments", "fuzz", "forged", "repeats", "dask", "size", "overhead", "limits", "crowded", "worked",
          "bombs"]  # fmt: skip
#: Trials whose rows say whether a promise holds; a test refuses rows that are older than so many commits. The others
#: measure, or take a cluster for many minutes.
PROMISES = ["kills", "moments", "fuzz", "forged", "repeats", "limits", "crowded", "worked", "bombs"]
MOST_COMMITS = 200
#: Of the reduced campaign: kills of each search, bombs and forged files for each reader.
REDUCED_KILLS, LEAST_BOMBS, REDUCED_FORGED = 2, 5, 20
MOST_MIB = 1024  # that a file may take before it is refused
GUIDED = 5  # one guided case for so many at random: each takes several times as long

OUTCOME = Path(__file__).with_name("outcome.json")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "developers" / "faults.md"

#: Searches that are killed, one for each route, and one with proposals under way on workers.
SEARCHES: dict[str, dict[str, Any]] = {
    "orders": {"score": "bic-nv", "settings": {"order_patience": 30, "route": "orders"}},
    "orders, series": {"score": "bic-nv", "design": Design(time="t", unit="id", max_lag=2),
                       "settings": {"order_patience": 10, "route": "orders"}},
    "surrogate": {"score": "bge", "settings": {"max_evals": 60, "route": "surrogate"}},
    "surrogate, 3 workers": {"score": "bge", "settings": {"max_evals": 60, "route": "surrogate"}},
    "paper": {"score": "bic-ev", "preset": "paper", "settings": {"max_evals": 200, "n_candidates": 2_000}},
}  # fmt: skip


#: The route of each search that is killed.
REDUCED_ROUTES = {name: name.split(",")[0] for name in SEARCHES}


def table(name: str = "orders") -> Any:
    """Return the data of a search."""
    from drbo.data.files.simulate import simulate

    values = simulate("8ER2", n=100, seed=1).X
    if "design" not in SEARCHES[name]:
        return values
    import pandas as pd

    return pd.DataFrame(values).add_prefix("x").assign(t=np.arange(100) % 50, id=np.arange(100) // 50)


def fit(name: str, folder: Path | None, **changes: Any) -> Any:
    """Run a search; with a folder it is saved after every iteration, so that many kills meet a save."""
    from drbo import DrBO, Settings

    options = dict(SEARCHES[name])
    options["settings"] = Settings.preset(options.get("preset", "default")).with_(**options["settings"] | changes)
    save_always()
    with workers_of(name) as executor:
        return (
            DrBO(random_state=1, device="cpu", executor=executor, **options).fit(table(name), checkpoint=folder).result_
        )


@contextlib.contextmanager
def workers_of(name: str) -> Iterator[Executor | None]:
    """Yield the workers of a search, which are sent all work, however little it is; None: it has none."""
    from drbo.search.evaluation import remote

    if "workers" not in name:
        yield None
        return
    for limit in ("LEAST_SECONDS", "MOST_SECONDS", "PROBE_SECONDS"):
        setattr(remote, limit, 1e-9)
    with ThreadPoolExecutor(3) as executor:
        yield executor


def save_always() -> None:
    """Save after every iteration, whatever it costs."""
    from drbo.search.checkpoint import saver as saving

    saving.LARGEST_SHARE = 1e9
    saving.Saver.__init__.__kwdefaults__["every"] = 0.0


def fingerprint(result: Any) -> str:
    """Return all that a search did, as text; the clock is no part of it."""
    trace = {name: column.tolist() for name, column in result.trace.items() if name != "seconds"}
    parts = [result.dag.tolist(), result.searched_dag.tolist(), result.score, result.pruned_score]
    return json.dumps([*parts, result.search.local.tolist(), trace, result.stopped, result.n_evals, result.n_local])


def state_digest(folder: Path) -> str:
    """Return a digest of the last save: history, cache, networks, optimiser, generators, counters; not of the clock."""
    from drbo.search.checkpoint import files as checkpoint

    with np.load(checkpoint.load(folder).path) as archive:
        arrays = {name: archive[name] for name in sorted(archive.files) if name != "recorder.seconds"}
    parts = [f"{name} {array.dtype} {array.shape}".encode() + array.tobytes() for name, array in arrays.items()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def everything(name: str, folder: Path) -> str:
    """Run a search to its end; return its fingerprint with that of its last save."""
    return fingerprint(fit(name, folder)) + state_digest(folder)


def kill_once(name: str, folder: Path, seconds: float) -> str:
    """Start a search, kill it after some time, go on with it; return its fingerprint and how often it was started."""
    from drbo import DrBO
    from drbo.errors import CheckpointError

    def go_on() -> str:
        save_always()
        try:
            with workers_of(name) as executor:
                found = DrBO.resume(folder / "run", executor=executor).result_
            return fingerprint(found) + state_digest(folder / "run")
        except CheckpointError as error:
            if "does not contain a saved search" not in error.message:  # else killed before the first save
                raise
            return everything(name, folder / "run")

    return _killed(lambda: everything(name, folder / "run"), go_on, folder, seconds)


def kill_bootstrap_once(folder: Path, seconds: float) -> str:
    """Start a fit with a bootstrap on the command line, kill it after some time, resume it; return what was found."""

    def go_on() -> str:
        found = bootstrapped("resume", folder) if (folder / "run").exists() else ""
        return found or bootstrapped("fit", folder)  # killed before the search was saved

    return _killed(lambda: bootstrapped("fit", folder), go_on, folder, seconds)


def bootstrapped(command: str, folder: Path) -> str:
    """Fit a table with resamples, or resume that, by the command line; return the fingerprint with all frequencies.

    Nothing: there is no result.
    """
    from drbo import Result
    from drbo.cli import main

    np.save(folder / "table.npy", table())
    run = str(folder / "run")
    words = ["fit", str(folder / "table.npy"), "-o", run, "--bootstrap", "30", "--seed", "1", "-q"]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        main(words if command == "fit" else ["resume", run, "-q"])
    if not Path(run, "result.json").exists():
        return ""
    result = Result.load(Path(run))
    found = result.confidence
    if found is None:
        return ""
    shares = [part.tolist() for part in (found.directed, found.undirected, found.path)]
    return fingerprint(result) + json.dumps([found.n, shares])


def _killed(start: Callable[[], str], go_on: Callable[[], str], folder: Path, seconds: float) -> str:
    """Start work in a process, kill it after some time, go on with it in another one; return its answer."""
    first = Forked(start)
    time.sleep(seconds)
    first.end(signal.SIGKILL)
    second = forked(lambda: (folder / "answer").write_text(go_on()))
    print(second.err, end="", file=sys.stderr)
    return (folder / "answer").read_text() if second.code == 0 else ""


def kills(times: int, seed: int = 0) -> list[dict[str, Any]]:
    """Kill searches at random moments, and compare what became of them with the uninterrupted ones."""
    from drbo.machine.threads import use_threads

    use_threads(1)
    for name in SEARCHES:  # loads all modules, which a forked process has then
        fit(name, None, max_evals=4, order_patience=1)
    rows = [
        _kills_of(name, times, partial(everything, name), partial(kill_once, name), random.Random(f"{seed} {name}"))
        for name in SEARCHES
    ]
    rng = random.Random(f"{seed} bootstrap")
    return [*rows, _kills_of("bootstrap", times, partial(bootstrapped, "fit"), kill_bootstrap_once, rng)]


def _kills_of(
    name: str, times: int, run: Callable[[Path], str], kill: Callable[[Path, float], str], rng: random.Random
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        start = time.monotonic()
        expected = run(Path(place))
        whole = time.monotonic() - start
    same, moments = 0, []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as place:
            moments.append(rng.random())
            same += kill(Path(place), moments[-1] * whole) == expected
    note = f"kills at {min(moments):.0%} to {max(moments):.0%} of a run of {whole:.1f} s"
    return {"search": name, "tried": times, "failed": times - same, "note": note}


def all_moments() -> list[dict[str, Any]]:
    """End runs of every route at every moment with every signal."""
    from tests.faults.moments import moments

    with tempfile.TemporaryDirectory() as place:
        return moments(Path(place))


def crowded() -> list[dict[str, Any]]:
    """Try the limits of the reduced campaign beside two busy processes."""
    with busy_cores(2):
        return limits(cases=REDUCED, busy=True)


def worked() -> list[dict[str, Any]]:
    """Try all limits that the seconds of the processor tell."""
    return limits(cases=tuple(case for case in CASES if case.by_work and case.limit), by_work=True)


def fuzzed(times: int, seed: int = 11) -> list[dict[str, Any]]:
    """Fuzz every reader: with mutants drawn at random, and with some that atheris chooses, where it is installed."""
    from tests.faults.fuzz import READERS

    rows = []
    for reader in READERS:
        found = [_fuzzed(reader, times, seed, [])]
        if find_spec("atheris") is not None:
            found.append(_fuzzed(reader, times // GUIDED, seed, ["--guided"]))
        note = " + ".join(f"{one['cases']:,} {how}" for one, how in zip(found, ("at random", "guided"), strict=False))
        note += f"; {max(one['answers'] for one in found)} kinds of answers; {_worst(found)}"
        tried, failed = sum(one["cases"] for one in found), sum(map(_failures, found))
        rows.append({"reader": reader, "tried": tried, "failed": failed, "note": note})
    return rows


def guarded(times: int, seed: int = 17) -> list[dict[str, Any]]:
    """Fuzz every reader of tables with a few files, which are read as a user's are: by the guarded process."""
    from tests.faults.bombs import BOMBS
    from tests.faults.fuzz import READERS

    rows = []
    for reader in [name for name in READERS if name in BOMBS]:
        found = _fuzzed(reader, times, seed, ["--guarded"])
        rows.append({"reader": reader, "tried": found["cases"], "failed": _failures(found), "note": _worst([found])})
    return rows


def _worst(found: list[dict[str, Any]]) -> str:
    """Return what the worst file took."""
    return f"slowest {max(one['slowest'] for one in found)} s, {max(one['mib'] for one in found)} MiB more at most"


def _failures(found: dict[str, Any]) -> int:
    """Return how many files escaped, and one more if they took too much memory."""
    return int(found["escapes"]) + (found["mib"] > MOST_MIB)


def reduced(part: str) -> int:
    """Run one half of the reduced campaign: ``limits``, or the rest; return how much failed."""
    from drbo.machine.threads import use_threads

    start = time.monotonic()
    if part == "limits":
        rows = limits(cases=REDUCED, busy=True, by_work=True)
    else:
        use_threads(1)
        rows = [*kills(REDUCED_KILLS, seed=3), *bombed(LEAST_BOMBS), *guarded(REDUCED_FORGED)]
        for row in rows:
            print(row, flush=True)
    failed = sum(row["failed"] for row in rows)
    print(
        f"reduced campaign, {part}: {failed} of {len(rows)} rows failed; {time.monotonic() - start:.0f} s", flush=True
    )
    return failed


def _fuzzed(reader: str, times: int, seed: int, words: list[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.faults.fuzz", reader, "--cases", str(times), "--seed", str(seed), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    lines = done.stdout.strip().splitlines()
    if not lines:  # the process died
        print(done.stderr[-2000:], file=sys.stderr)
        return {"cases": 0, "answers": 0, "escapes": 1, "slowest": 0.0, "mib": 0}
    outcome: dict[str, Any] = json.loads(lines[-1])
    if outcome["escapes"]:
        print(outcome["examples"], file=sys.stderr)
    return outcome


def bombed(most: int | None = None) -> list[dict[str, Any]]:
    """Read the bombs of every reader as a user's files are read, in a process whose memory is limited."""
    from tests.faults.bombs import BOMBS, MAX_BYTES, MAX_SECONDS

    rows = []
    for reader in BOMBS:
        words = [sys.executable, "-m", "tests.faults.bombs", reader, *([] if most is None else ["--most", str(most)])]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        tried = len(list(BOMBS[reader])[:most])
        bad = [one for one in found if not one["good"] or one["seconds"] > MAX_SECONDS or one["bytes"] > MAX_BYTES]
        if bad or len(found) < tried:
            print(bad, done.stderr[-2000:], file=sys.stderr)
        note = f"at most {max(one['seconds'] for one in found):.1f} s of CPU" if found else "the process died"
        note += f" and {max(one['bytes'] for one in found) / 2**20:,.0f} MiB" if found else ""
        rows.append({"reader": reader, "tried": tried, "failed": len(bad) + tried - len(found), "note": note})
    return rows


def forged(times: int, seed: int = 11) -> dict[str, Any]:
    """Let searches go on from forged checkpoints."""
    command = [sys.executable, "-m", "tests.faults.attack", "--cases", str(times), "--seed", str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if not done.stdout.strip():  # the process died
        print(done.stderr[-2000:], file=sys.stderr)
        return {"tried": 0, "failed": 1, "note": "the process died"}
    found: dict[str, Any] = json.loads(done.stdout)
    if found["escapes"]:
        print(found["examples"], file=sys.stderr)
    note = f"{found['answers']} kinds of answers, {found['went_on']} searches went on; slowest {found['slowest']} s, "
    return {"tried": times, "failed": found["escapes"], "note": f"{note}{found['megabytes']} MB more memory at most"}


def size(n_nodes: int = 100, n_dags: int = 50_000) -> dict[str, Any]:
    """Measure the checkpoint of a long search: a history of random DAGs and a cache of all their families."""
    from drbo.data.files.simulate import simulate
    from drbo.data.statistics.statistics import Statistics
    from drbo.scores.families import Families
    from drbo.scores.linear import BicEV
    from drbo.search.checkpoint import files as checkpoint
    from drbo.search.strategy import new_search
    from drbo.settings import Settings

    rng = np.random.default_rng(0)
    data = Statistics.from_array(simulate(f"{n_nodes}ER2", n=300, seed=0).X)
    settings = Settings.preset("paper").with_(n_candidates=1_000)
    state = new_search(BicEV(data), settings, seed=1)
    center = np.triu(rng.random((n_nodes, n_nodes)) < 0.05, 1)
    keys: dict[bytes, float] = {}
    for _ in range(n_dags // 1000):
        dags = center[None] ^ np.triu(rng.random((1000, n_nodes, n_nodes)) < 0.002, 1)
        local = rng.normal(size=(1000, n_nodes))
        _history(state).append(dags, local)
        keys.update(zip(Families.from_dags(dags).keys(), local.ravel().tolist(), strict=True))
    state.evaluator._known._values, state.evaluator._known._order = keys, list(keys)
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        n_bytes = checkpoint.save(Path(place), state, {})
        saved = time.perf_counter() - start
        start = time.perf_counter()
        found = new_search(BicEV(data), settings, seed=1)
        checkpoint.load(Path(place)).restore(found)
        loaded = time.perf_counter() - start
    assert found.evaluator.n_local == len(keys)
    return {
        "bytes": n_bytes,
        "families": len(keys),
        "save_seconds": round(saved, 2),
        "load_seconds": round(loaded, 2),
    }


#: Searches whose saves are timed, at the defaults of drbo: a table in words, rows, and the options of the search.
TIMED: list[tuple[str, int, dict[str, Any]]] = [
    ("20ER2", 500, {}),
    ("50ER2", 1000, {}),
    ("20ER2", 500, {"max_evals": 500}),
    ("8ER2", 200, {"score": "gp", "max_evals": 100}),
]


def overhead() -> list[dict[str, Any]]:
    """Measure the part of whole fits that saving takes, at the defaults: seconds inside of the saver."""
    from drbo import DrBO
    from drbo.data.files.simulate import simulate
    from drbo.search.checkpoint.saver import Saver

    rows, real, savers = [], Saver.__init__, []

    def noted(self: Any, *given: Any, **options: Any) -> None:
        savers.append(self)
        real(self, *given, **options)

    noted.__kwdefaults__ = real.__kwdefaults__
    Saver.__init__ = noted  # type: ignore[method-assign]
    for graph, n, options in TIMED:
        x = simulate(graph, n=n, seed=1).X
        for _ in range(2):  # the first time, the compiler works
            with tempfile.TemporaryDirectory() as place:
                start = time.perf_counter()
                DrBO(random_state=1, **options).fit(x, checkpoint=Path(place))
                seconds = time.perf_counter() - start
        words = ", ".join(f"{name} {value}" for name, value in options.items()) or "all defaults"
        row = {"search": f"{graph}, {n} rows, {words}", "seconds": round(seconds, 1), "saves": savers[-1].n_saves}
        rows.append(row | {"share": round(savers[-1].seconds / seconds, 4)})
        print(rows[-1], flush=True)
    Saver.__init__ = real  # type: ignore[method-assign]
    return rows


def _history(state: Any) -> Any:
    return state.proposer.history if hasattr(state, "proposer") else state.history


def dask(times: int, every: float = 15.0) -> dict[str, Any]:
    """Kill workers of a Dask cluster during a search with Gaussian processes; compare with the search at home."""
    import distributed

    from drbo import DrBO
    from drbo.data.files.simulate import simulate

    x = simulate("8ER2", model="gp", n=1200, seed=2).X
    options: dict[str, Any] = {"score": "gp", "max_evals": 200, "random_state": 1}
    with tempfile.TemporaryDirectory() as place:
        start = time.monotonic()
        found = DrBO(**options).fit(x, checkpoint=Path(place)).result_
        alone, at_home = fingerprint(found) + state_digest(Path(place)), time.monotonic() - start
    killed, runs, same = 0, 0, 0
    cluster = distributed.LocalCluster(n_workers=4, threads_per_worker=1, dashboard_address=None, silence_logs=60)
    with cluster, distributed.Client(cluster) as client:
        while killed < times:
            with tempfile.TemporaryDirectory() as place:
                stop = _killer(client, every)
                executor = client.get_executor(pure=False)
                found = DrBO(executor=executor, **options).fit(x, checkpoint=Path(place)).result_
                together = fingerprint(found) + state_digest(Path(place))
            killed, runs, same = killed + stop(), runs + 1, same + (together == alone)
    note = f"4 workers, one killed every {every:g} s, in {runs} search(es) of {at_home:.0f} s at home"
    return {"tried": killed, "failed": runs - same, "note": f"{note}; {found.n_local} local scores, none lost"}


def _killer(client: Any, every: float) -> Callable[[], int]:
    """Kill a worker now and then; the function that is returned ends that and tells how many were killed."""
    import threading

    done, count = threading.Event(), [0]

    def work() -> None:
        rng = random.Random(0)
        while not done.wait(every):
            processes = [info["pid"] for info in client.run(lambda: {"pid": os.getpid()}).values()]
            if processes:
                os.kill(rng.choice(processes), signal.SIGKILL)
                count[0] += 1

    thread = threading.Thread(target=work)
    thread.start()

    def stop() -> int:
        done.set()
        thread.join()
        return count[0]

    return stop


def record(name: str, value: Any) -> None:
    """Keep the outcome of a trial."""
    outcome = json.loads(OUTCOME.read_text()) if OUTCOME.exists() else {}
    machine = f"{os.cpu_count()} cores {platform.machine()}"
    outcome[name] = {"value": value, "machine": machine, "version": drbo.__version__, **provenance()}
    OUTCOME.write_text(json.dumps(outcome, indent=1, sort_keys=True) + "\n")


def record_fuzzed(found: dict[str, tuple[float, int]]) -> None:
    """Add seconds and calls of entry points of the core to those of earlier runs with the same sources of the core."""
    outcome = json.loads(OUTCOME.read_text()) if OUTCOME.exists() else {}
    sources, before = git("rev-parse", "HEAD:src/core"), outcome.get("core", {}).get("value", {})
    total = dict(before["entries"]) if before.get("sources") == sources else {}
    for name, (seconds, calls) in found.items():
        spent, made = total.get(name, (0.0, 0))
        total[name] = round(spent + seconds, 1), made + calls
    record("core", {"sources": sources, "entries": total, "failed": 0})


def provenance() -> dict[str, Any]:
    """Return the commit that is tried and its number; nothing where there is no history."""
    number, commit = git("rev-list", "--count", "HEAD"), git("rev-parse", "--short=10", "HEAD")
    return {"commit": commit, "number": int(number)} if number and commit else {}


def git(*words: str) -> str:
    """Return what git says; nothing where it cannot."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def page() -> str:
    """Return docs/developers/faults.md."""
    kept = json.loads(OUTCOME.read_text())
    outcome = {name: item["value"] for name, item in kept.items()}
    rows = []
    for row in outcome.get("kills", []):
        promise = (
            "a search that is killed goes on: its history and state are those of the uninterrupted one, byte for byte"
        )
        rows.append([f"{promise} ({row['search']})", "campaign kills", row])
    for row in outcome.get("moments", []):
        promise = "a run that a signal ends goes on, or starts again, with the result of an uninterrupted one"
        rows.append([f"{promise} ({row['search']})", "campaign moments", row])
    if "repeats" in outcome:
        promise = "the same table and seed give the same route, graph, score and evaluations, also under load"
        rows.append([promise, "campaign repeats", outcome["repeats"]])
    if "dask" in outcome:
        promise = "killed workers of a Dask cluster lose nothing, and the result is that of one process"
        rows.append([promise, "campaign dask", outcome["dask"]])
    for row in outcome.get("bombs", []):
        promise = f"a bomb for the reader of {row['reader']} is refused within 10 s and 1 GiB"
        rows.append([promise, f"bombs {row['reader']}", row])
    for row in outcome.get("fuzz", []):
        promise = f"a hostile {row['reader']} file is refused in words or read: no traceback, hang or full memory"
        rows.append([promise, f"fuzz {row['reader']}", row])
    if "forged" in outcome:
        promise = (
            "a forged saved search, with checksums that fit, runs no code: it is refused in words, or the search goes "
            "on and ends within its limits"
        )
        rows.append([promise, "campaign forged", outcome["forged"]])
    lines = [
        "# What has been tried to break it",
        "",
        "Made by `make test-faults` from the outcome of its trials (`tests/faults/outcome.json`); not written by hand.",
        "The commit of each trial is below; a test fails where one is older than 200 commits. `make campaign` runs a",
        "little of everything in a few minutes.",
        "",
        "| promise | trial | times tried | failures | |",
        "|---|---|---|---|---|",
        *(f"| {p} | `{t}` | {v['tried']:,} | {v['failed']} | {v['note']} |" for p, t, v in rows),
    ]
    lines += _moments()
    lines += _figures(outcome)
    words = "A trial without a commit was made before commits were recorded, with an earlier state of the program."
    lines += ["", words, "", "| trial | version | commit | machine |", "|---|---|---|---|"]
    for name, item in kept.items():
        commit = f"`{item['commit']}`" if "commit" in item else "not recorded"
        lines.append(f"| {name} | {item.get('version', 'not recorded')} | {commit} | {item['machine']} |")
    lines += ["", "## Tests", "", "Also in `make test`, in smaller numbers: `tests/faults`.", ""]
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        words = path.read_text().split('"""')[1].split("\n")[0]
        lines.append(f"- `{path.name}`: {words}")
    return "\n".join(lines) + "\n"


def _moments() -> list[str]:
    """Return the moments of a run's life, and what follows an end at each of them."""
    from tests.faults.moments import MOMENTS

    lines = [
        "",
        "A run can end at any of these moments: by Ctrl-C, by SIGTERM, or killed (SIGKILL, a crash, a power cut).",
        "",
        "| moment | what follows |",
        "|---|---|",
    ]
    lines += [f"| {one.words} | {one.follows} |" for one in MOMENTS.values()]
    words = "The result is the same but for seconds and for counts: a resumed search over orders may compute some local"
    return [*lines, "", words, "scores again, and counts them again."]


def _figures(outcome: dict[str, Any]) -> list[str]:
    """Return what was measured, in sentences."""
    lines = []
    if found := outcome.get("size"):
        lines += [
            "",
            f"A checkpoint of 50,000 evaluations of 100 nodes ({found['families']:,} distinct families) takes "
            f"{found['bytes'] / 1e6:.0f} MB, is written in {found['save_seconds']} s and read in "
            f"{found['load_seconds']} s.",
        ]
    if found := outcome.get("core"):
        seconds, calls = ([one[k] for one in found["entries"].values()] for k in (0, 1))
        lines += [
            "",
            f"Mutated calls of the {len(seconds)} entry points of the compiled core, watched by AddressSanitizer and "
            f"UndefinedBehaviorSanitizer: {sum(calls):,}, each entry point for {min(seconds):,.0f} to "
            f"{max(seconds):,.0f} s of the processor (ten minutes are aimed at), and nothing found. Seconds of runs "
            "with the same sources of the core add up.",
        ]
    if found := outcome.get("overhead"):
        lines += ["", "| search at the defaults | seconds | saves | part of the time |", "|---|---|---|---|"]
        lines += [f"| {row['search']} | {row['seconds']} | {row['saves']} | {row['share']:.1%} |" for row in found]
    if found := outcome.get("limits"):
        lines += [
            "",
            "A time limit ends a run, saved and reported, within 2 s or a tenth of the limit, counted from the start",
            "of the process; a signal ends it within 2 s. Memory grows with the rows by at most 3 times the table in",
            "float64.",
            "",
            *_limits(found),
        ]
    if found := outcome.get("crowded"):
        lines += [
            "",
            "Beside two busy processes it is 5 s, or a quarter of the limit. Where a pace is given, the machine took",
            "so many times longer for a small fit, and may take so many times as long to end.",
            "",
            *_limits(found),
        ]
    if found := outcome.get("worked"):
        lines += [
            "",
            "The same by a clock that stands still while other programs have the processor: seconds are those of the",
            "run's own work, at most 2 or a tenth of the limit after it, on a machine that did much else.",
            "",
            *_limits(found),
        ]
    if found := outcome.get("soak"):
        first, last = found["memory_mib"]
        lines += [
            "",
            f"{found['searches']:,} searches of random shapes in one process (`make soak`, "
            f"{found['minutes']:.0f} minutes, "
            f"{found['failed']} failures): memory {first} MiB at half time and {last} MiB at the end, "
            f"a slope of {found['slope_mib_per_hour']:+.1f} MiB an hour over the second half; at most "
            f"{found['most_threads']} threads, {found['most_files']} open files and {found['most_processes']} child "
            "process (Python's resource tracker), none of them growing.",
        ]
    return lines


def _limits(found: list[dict[str, Any]]) -> list[str]:
    """Return the table of limits."""
    lines = [
        "| route | table | ends by | seconds | MiB | copies of the table | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        pace = f"pace {row['pace']:g}" if row.get("pace", 1) > 1 else ""
        verdict = "; ".join(part for part in ("fails" if row["failed"] else "holds", row["note"], pace) if part)
        figures = f"{row['seconds']} | {row['memory_mib']:,} | {row.get('copies', '')}"
        lines.append(f"| {row['route']} | {row['table']} | {row['ends']} | {figures} | {verdict} |")
    return lines


def main() -> int:
    """Run one trial, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=[*TRIALS, "page", "reduced"])
    parser.add_argument("--part", choices=["limits", "rest"], default="rest", help="reduced: which half of it")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--only", default="", help="limits: those whose route or table holds these words")
    options = parser.parse_args()
    if options.trial == "page":
        PAGE.write_text(page())
        return 0
    if options.trial == "reduced":
        return int(reduced(options.part) > 0)
    trials: dict[str, Callable[[], Any]] = {
        "bombs": bombed,
        "kills": lambda: kills(options.times),
        "moments": all_moments,
        "fuzz": lambda: fuzzed(options.times),
        "forged": lambda: forged(options.times),
        "repeats": lambda: repeats(options.times),
        "dask": lambda: dask(options.times),
        "size": size,
        "overhead": overhead,
        "limits": lambda: limits(options.only),
        "crowded": crowded,
        "worked": worked,
    }
    outcome = trials[options.trial]()
    print(json.dumps(outcome))
    record(options.trial, outcome)
    rows = outcome if isinstance(outcome, list) else [outcome]
    return int(any(row.get("failed", 0) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
