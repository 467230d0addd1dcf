"""The large trials of ``make test-faults``, and the page docs/faults.md that is made from their outcome.

    python -m tests.faults.campaign kills --times 100
    python -m tests.faults.campaign fuzz --times 10000
    python -m tests.faults.campaign dask --times 10
    python -m tests.faults.campaign size
    python -m tests.faults.campaign page

Each trial adds its outcome to ``outcome.json`` beside this file; the page is written from there, never by hand.
"""

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

OUTCOME = Path(__file__).with_name("outcome.json")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "faults.md"

#: Searches that are killed: the networks, and the order search.
SEARCHES: dict[str, dict[str, Any]] = {
    "networks": {"score": "bge", "max_evals": 150},
    "orders": {"score": "bic-nv", "settings": {"order_patience": 60}},
}


def table(seed: int = 1) -> Any:
    """Return the data of all trials."""
    from drbo.data.simulate import simulate

    return simulate("8ER2", n=100, seed=seed).X


def fit(name: str, folder: Path | None) -> Any:
    """Run a search; with a folder it is saved after every iteration, so that many kills meet a save."""
    from drbo import DrBO, Settings

    options = dict(SEARCHES[name])
    if "settings" in options:
        options["settings"] = Settings(**options["settings"])
    save_always()
    return DrBO(random_state=1, checkpoint=folder, **options).fit(table()).result_


def save_always() -> None:
    """Save after every iteration, whatever it costs."""
    from drbo.search import saving

    saving.LARGEST_SHARE = 1e9
    saving.Saver.__init__.__kwdefaults__["every"] = 0.0


def fingerprint(result: Any) -> str:
    """Return all that a search did, as text; the clock is no part of it."""
    trace = {name: column.tolist() for name, column in result.trace_columns.items() if name != "seconds"}
    parts = [result.dag.tolist(), result.searched_dag.tolist(), result.score, result.pruned_score]
    return json.dumps([*parts, result.local.tolist(), trace, result.stopped, result.n_evals, result.n_local])


def in_child(work: Callable[[], str], answer: Path) -> int:
    """Do work in a forked process that writes its answer into a file; return its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        answer.write_text(work())
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def kill_once(name: str, folder: Path, seconds: float) -> str:
    """Start a search, kill it after some time, go on with it; return its fingerprint and how often it was started."""
    from drbo import DrBO
    from drbo.errors import CheckpointError

    def go_on() -> str:
        save_always()
        try:
            return fingerprint(DrBO.resume(folder / "run").result_)
        except CheckpointError as error:
            if "holds no saved search" not in error.message:  # killed before the first save: nothing was done yet
                raise
            return fingerprint(fit(name, folder / "run"))

    child = in_child(lambda: fingerprint(fit(name, folder / "run")), folder / "first")
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    child = in_child(go_on, folder / "second")
    os.waitpid(child, 0)
    return (folder / "second").read_text() if (folder / "second").exists() else ""


def kills(times: int, seed: int = 0) -> dict[str, Any]:
    """Kill searches at random moments, and compare what became of them with the uninterrupted ones."""
    import torch

    torch.set_num_threads(1)
    rng, same, rows = random.Random(seed), 0, []
    expected, whole = {}, {}
    for name in SEARCHES:
        for _ in range(
            2
        ):  # once for the compiler: what it made goes along with a fork, as long as there are no threads
            start = time.monotonic()
            expected[name] = fingerprint(fit(name, None))
            whole[name] = time.monotonic() - start
    for number in range(times):
        name = list(SEARCHES)[number % len(SEARCHES)]
        with tempfile.TemporaryDirectory() as place:
            moment = rng.random() * whole[name]
            found = kill_once(name, Path(place), moment)
        same += found == expected[name]
        rows.append(round(moment / whole[name], 3))
    return {"tried": times, "failed": times - same, "note": f"kills at {min(rows):.0%} to {max(rows):.0%} of the run"}


def fuzzed(times: int, seed: int = 11) -> list[dict[str, Any]]:
    """Fuzz every reader."""
    from tests.faults.fuzz import READERS

    rows = []
    for reader in READERS:
        command = [sys.executable, "-m", "tests.faults.fuzz", reader, "--cases", str(times), "--seed", str(seed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        outcome = json.loads(done.stdout) if done.stdout else {"cases": 0, "escapes": 1, "slowest": 0.0}
        note = f"slowest case {outcome['slowest']} s"
        rows.append({"reader": reader, "tried": outcome["cases"], "failed": outcome["escapes"], "note": note})
    return rows


def size(n_nodes: int = 100, n_dags: int = 50_000) -> dict[str, Any]:
    """Measure the checkpoint of a long search: a history of random DAGs and a cache of all their families."""
    from drbo.data.simulate import simulate
    from drbo.data.table import Table
    from drbo.scores.base import Families
    from drbo.scores.linear import BicEV
    from drbo.search import checkpoint
    from drbo.search.loop import Search
    from drbo.settings import Settings

    rng = np.random.default_rng(0)
    data = Table.from_array(simulate(f"{n_nodes}ER2", n=300, seed=0).X)
    settings = Settings.preset("paper").with_(n_candidates=1_000)
    state = Search(BicEV(data), settings, seed=1)
    center = np.triu(rng.random((n_nodes, n_nodes)) < 0.05, 1)
    keys: dict[bytes, float] = {}
    for _ in range(n_dags // 1000):
        dags = center[None] ^ np.triu(rng.random((1000, n_nodes, n_nodes)) < 0.002, 1)
        local = rng.normal(size=(1000, n_nodes))
        _history(state).append(dags, local)
        keys.update(zip(Families.from_dags(dags).keys(), local.ravel().tolist(), strict=True))
    state.evaluator._values, state.evaluator._order = keys, list(keys)
    with tempfile.TemporaryDirectory() as place:
        start = time.perf_counter()
        n_bytes = checkpoint.save(Path(place), state, {})
        saved = time.perf_counter() - start
        start = time.perf_counter()
        found = checkpoint.load(Path(place)).restore(Search(BicEV(data), settings, seed=1))
        loaded = time.perf_counter() - start
    assert len(found.evaluator._values) == len(keys)
    return {
        "bytes": n_bytes,
        "families": len(keys),
        "save_seconds": round(saved, 2),
        "load_seconds": round(loaded, 2),
    }


def _history(state: Any) -> Any:
    return state.proposer.history if hasattr(state, "proposer") else state.history


def dask(times: int, every: float = 8.0) -> dict[str, Any]:
    """Kill workers of a Dask cluster during a search with Gaussian processes; compare with the search at home."""
    import distributed

    from drbo import DrBO
    from drbo.data.simulate import simulate

    x = simulate("6ER2", model="gp", n=200, seed=2).X
    options = {"score": "gp", "max_evals": 60, "random_state": 1}
    start = time.monotonic()
    alone = fingerprint(DrBO(**options).fit(x).result_)
    at_home = time.monotonic() - start
    killed, runs, same = 0, 0, 0
    cluster = distributed.LocalCluster(4, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        while killed < times:
            stop = _killer(client, every)
            together = fingerprint(DrBO(executor=client.get_executor(pure=False), **options).fit(x).result_)
            killed, runs, same = killed + stop(), runs + 1, same + (together == alone)
    note = f"{killed} workers killed in {runs} searches of {at_home:.0f} s at home"
    return {"tried": killed, "failed": runs - same, "note": note}


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
    outcome[name] = {"value": value, "machine": f"{os.cpu_count()} cores {platform.machine()}"}
    OUTCOME.write_text(json.dumps(outcome, indent=1, sort_keys=True) + "\n")


def page() -> str:
    """Return docs/faults.md."""
    outcome = {name: item["value"] for name, item in json.loads(OUTCOME.read_text()).items()}
    rows = []
    if "kills" in outcome:
        promise = "a search that is killed goes on, and its history is that of the uninterrupted one, byte for byte"
        rows.append([promise, "campaign kills", outcome["kills"]])
    for before in outcome.get("kills before", []):
        rows.append(["the same, with an earlier order search", "campaign kills", before])
    if "dask" in outcome:
        promise = "killed workers of a Dask cluster lose nothing, and the result is that of one process"
        rows.append([promise, "campaign dask", outcome["dask"]])
    for row in outcome.get("fuzz", []):
        promise = f"a hostile {row['reader']} file is refused in words or read: no traceback, hang or full memory"
        rows.append([promise, f"fuzz {row['reader']}", row])
    lines = [
        "# What has been tried to break it",
        "",
        "Made by `make test-faults` from the outcome of its trials (`tests/faults/outcome.json`); not written by hand.",
        "",
        "| promise | trial | times tried | failures | |",
        "|---|---|---|---|---|",
        *(f"| {p} | `{t}` | {v['tried']:,} | {v['failed']} | {v['note']} |" for p, t, v in rows),
    ]
    if "size" in outcome:
        found = outcome["size"]
        lines += [
            "",
            f"A checkpoint of 50,000 evaluations of 100 nodes ({found['families']:,} distinct families) takes "
            f"{found['bytes'] / 1e6:.0f} MB, is written in {found['save_seconds']} s and read in "
            f"{found['load_seconds']} s. Saving takes at most 2% of the time of a search: the next save waits until "
            "then.",
        ]
    lines += ["", "## Tests", "", "Also in `make test`, in smaller numbers: `tests/faults`.", ""]
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        words = path.read_text().split('"""')[1].split("\n")[0]
        lines.append(f"- `{path.name}`: {words}")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run one trial, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trial", choices=["kills", "fuzz", "dask", "size", "page"])
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    if options.trial == "page":
        PAGE.write_text(page())
        return 0
    trials: dict[str, Callable[[], Any]] = {
        "kills": lambda: kills(options.times),
        "fuzz": lambda: fuzzed(options.times),
        "dask": lambda: dask(options.times),
        "size": size,
    }
    outcome = trials[options.trial]()
    print(json.dumps(outcome))
    record(options.trial, outcome)
    rows = outcome if isinstance(outcome, list) else [outcome]
    return int(any(row.get("failed", 0) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
