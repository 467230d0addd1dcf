"""Run an experiment cell by cell, and go on where it stopped.

    python -m benchmarks run raw --methods "drbo default,dagma linear" --seeds 0-4
    python -m benchmarks run raw --workers 4          # or --dask ADDRESS; Dask's workers need --no-nanny
    python -m benchmarks run all --quick

A cell is one method on one data set. Its row goes to benchmarks/rows/run/EXPERIMENT.csv as soon as it is there, with
an address: the hash of the experiment, the data, the method, its settings and the versions. A cell whose address is
there is not run again, unless it ran out of a shorter time limit. A failure or a time-out is a row that says so.
"""

import argparse
import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

import drbo
from benchmarks import rows as table
from benchmarks.experiments import EXPERIMENTS, Experiment
from benchmarks.experiments.data import DataSet, sortabilities
from benchmarks.methods import METHODS, Answer, Task, Worker
from benchmarks.methods.base import scoring
from benchmarks.methods.metrics import dag_score, measure, unpack
from drbo.data.table import Table
from drbo.scores.base import build_score

FOLDER = table.FOLDER / "run"
QUICK_FOLDER = Path("build") / "bench-quick"
KEY = ("data", "method", "seed", "repeat")
CURVE_KEY = (*KEY, "step")
#: Methods without a seed are run this often.
REPEATS = 5
#: Every answer is scored with this penalty, and methods with our score maximise it.
PENALTY = 1.0
#: Whose seconds anytime methods are given, and how many where it has no row.
PACE, PACE_DEFAULT = "drbo default", 10.0
#: --quick: rows of a table, seconds of a cell.
QUICK_ROWS, QUICK_LIMIT = 200, 20.0
_local = threading.local()


@dataclass(frozen=True)
class Cell:
    """One method on one data set."""

    experiment: str
    data: DataSet
    method: str
    seed: int
    repeat: int
    device: str
    limit: float
    curves: bool

    @property
    def key(self) -> tuple[str, ...]:
        """What its row is found by."""
        return (self.data.name, self.method, str(self.seed), str(self.repeat))

    @property
    def address(self) -> str:
        """The hash of everything that the row depends on."""
        method = METHODS[self.method]
        content = {
            "experiment": self.experiment,
            "data": self.data.describe(),
            "seed": self.seed,
            "repeat": self.repeat,
            "method": self.method,
            "settings": dict(method.settings),
            "version": [drbo.__version__, method.library],
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def run_cell(cell: Cell, seconds: float) -> tuple[table.Row, list[table.Row]]:
    """Return the row of a cell and the points of its curve; ``seconds`` is what an anytime method may take."""
    drawn = cell.data.draw(cell.seed)
    columns = Table.from_array(drawn.X)
    score = build_score(cell.data.score, columns, scoring(cell.data.score, PENALTY, cell.device))
    task = Task(
        columns,
        cell.data.score,
        {"penalty": PENALTY, "seconds": seconds, "degree": float(drawn.dag.sum() / len(drawn.dag))},
        cell.seed,
        cell.data.prune,
        cell.device,
    )
    answer = _worker().ask(cell.method, task, cell.limit)
    method = METHODS[cell.method]
    key = dict(zip(KEY, cell.key, strict=True))
    row = {
        **key,
        "address": cell.address,
        "settings": json.dumps(dict(method.settings), sort_keys=True),
        "library": method.library,
        "n": len(drawn.X),
        "n_edges": int(drawn.dag.sum()),
        **sortabilities(drawn),
        "score": cell.data.score,
        "true_score": repr(dag_score(score, drawn.dag)),
        **measure(answer, score, drawn.dag),
        "seconds": round(answer.seconds, 3),
        "cpu_seconds": round(answer.cpu_seconds, 3),
        "limit": cell.limit,
        **table.stamp(cell.device),
    }
    points = []
    for step in answer.steps if cell.curves else ():
        figures = measure(Answer(step.graph, step.seconds, 0.0), score, drawn.dag)
        kept = {name: figures.get(name, "") for name in ("shd", "shd_c", "found_score")}
        points.append({**key, "step": step.step, "step_seconds": round(step.seconds, 3), **kept})
    return row, points


def measure_again(row: table.Row, data: DataSet) -> table.Row:
    """Return a row with its figures computed anew from the graph it holds."""
    drawn = data.draw(int(row["seed"]))
    score = build_score(data.score, Table.from_array(drawn.X), {"penalty": PENALTY})
    answer = Answer(unpack(row["graph"], len(drawn.dag)), 0.0, 0.0, row["note"])
    return {**row, **measure(answer, score, drawn.dag)}


def _worker() -> Worker:
    """Return the process of this thread."""
    if not hasattr(_local, "worker"):
        _local.worker = Worker()
    return _local.worker  # type: ignore[no-any-return]


def cells(name: str, experiment: Experiment, options: argparse.Namespace) -> Iterator[Cell]:
    """Yield the cells that were asked for."""
    sets = experiment.data
    if options.quick:
        sets = (replace(sets[0], n=min(sets[0].n, QUICK_ROWS)),)
    wanted = chosen(options.data, [data.name for data in sets]) if options.data else None
    limit = options.limit or (QUICK_LIMIT if options.quick else experiment.limit)
    for data in sets:
        if wanted is not None and data.name not in wanted:
            continue
        methods, seeds = (experiment.quick, 1) if options.quick else experiment.plan(data.name)
        if options.methods:
            methods = chosen(options.methods, METHODS)
        for seed in numbers(options.seeds) if options.seeds else range(seeds):
            for method in methods:
                for repeat in range(1 if METHODS[method].seeded or options.quick else REPEATS):
                    yield Cell(name, data, method, seed, repeat, options.device, limit, experiment.curves)


def chosen(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Read a comma-separated list of names, some of which have commas themselves: the longest known name counts."""
    parts, found = text.split(","), list[str]()
    while parts:
        ends = range(len(parts), 0, -1)
        end = next((end for end in ends if ",".join(parts[:end]).strip() in known), None)
        if end is None:
            raise SystemExit(f"unknown name: {parts[0].strip()!r}; known: {', '.join(known)}")
        found.append(",".join(parts[:end]).strip())
        parts = parts[end:]
    return tuple(found)


def numbers(text: str) -> list[int]:
    """Read "0-4,7" as 0, 1, 2, 3, 4, 7."""
    ends = [part.split("-") for part in text.split(",")]
    return [number for part in ends for number in range(int(part[0]), int(part[-1]) + 1)]


def is_done(cell: Cell, row: table.Row | None) -> bool:
    """Return whether a row answers a cell: the same address, and not out of a shorter time."""
    if row is None or row["address"] != cell.address:
        return False
    late = row["note"].startswith(("no answer in", "stopped after"))
    return not late or float(row["limit"]) >= cell.limit


def run_experiment(name: str, options: argparse.Namespace, executor: Executor) -> int:
    """Run what is missing; return the number of cells that were run."""
    folder = options.folder or (QUICK_FOLDER if options.quick else FOLDER)
    path, curves = folder / f"{name}.csv", folder / f"{name}_curves.csv"
    known = {tuple(row[part] for part in KEY): row for row in table.load(path)}
    lacking = {data.missing for data in EXPERIMENTS[name].data} - {""}
    if lacking:
        print(f"{name}: left out: {'; '.join(sorted(lacking))}")
        return 0
    wanted = list(cells(name, EXPERIMENTS[name], options))
    missing = [cell for cell in wanted if not is_done(cell, known.get(cell.key))]
    print(f"{name}: {len(wanted)} cells, {len(wanted) - len(missing)} there already", flush=True)
    first = [cell for cell in missing if not METHODS[cell.method].anytime]
    last = [cell for cell in missing if METHODS[cell.method].anytime]  # they need the seconds of ours
    done = 0
    for part in (first, last):
        jobs = {executor.submit(run_cell, cell, _pace(cell, known)): cell for cell in part}
        for job in as_completed(jobs):
            cell, (row, points) = jobs[job], job.result()
            known[cell.key] = row
            table.save(path, [row], KEY)
            if points:
                table.save(curves, points, CURVE_KEY)
            done += 1
            print(f"[{done}/{len(missing)}] {_words(row)}", flush=True)
    return done


def _pace(cell: Cell, known: dict[tuple[str, ...], table.Row]) -> float:
    row = known.get((cell.data.name, PACE, str(cell.seed), "0"))
    return float(row["seconds"]) if row else PACE_DEFAULT


def _words(row: table.Row) -> str:
    figures = f"SHD {row.get('shd', '-')}, SHD-C {row['shd_c']}, " if row["n_found"] != "" else ""
    return f"{row['data']}, {row['method']}, seed {row['seed']}: {figures}{row['seconds']} s {row['note']}".rstrip()


def measure_all(names: Iterable[str]) -> None:
    """Compute the figures of all rows again, as after a change of a metric or where a library was missing."""
    for name in names:
        sets = {data.name: data for data in EXPERIMENTS[name].data}
        path = FOLDER / f"{name}.csv"
        rows = [measure_again(row, sets[row["data"]]) if row.get("graph") else row for row in table.load(path)]
        table.save(path, rows, KEY)
        print(f"{name}: {len(rows)} rows measured again")


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        "python -m benchmarks run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("experiment", choices=[*EXPERIMENTS, "all"])
    options.add_argument("--quick", action="store_true", help="a small slice, into build/bench-quick")
    options.add_argument("--methods", help="comma-separated; default: those of the experiment")
    options.add_argument("--data", help="comma-separated names of data sets; default: all of the experiment")
    options.add_argument("--seeds", help='such as "0-4,7"; default: those of the experiment')
    options.add_argument("--limit", type=float, help="seconds of a cell; default: that of the experiment")
    options.add_argument("--device", default="cpu", help="cpu or cuda, for methods that can use it")
    where = options.add_mutually_exclusive_group()
    where.add_argument("--workers", type=int, default=1, help="cells at a time")
    where.add_argument("--dask", metavar="ADDRESS", help="of a Dask scheduler; its workers must see this folder")
    options.add_argument("--folder", type=Path, help="folder of the rows; default: benchmarks/rows/run")
    options.add_argument("--measure", action="store_true", help="only compute the figures of the rows again")
    return options


def main(arguments: list[str]) -> None:
    """Run from the command line."""
    options = parser().parse_args(arguments)
    names = list(EXPERIMENTS) if options.experiment == "all" else [options.experiment]
    if options.measure:
        measure_all(names)
        return
    if options.dask:
        from distributed import Client

        executor: Executor = Client(options.dask).get_executor()
    else:
        executor = ThreadPoolExecutor(options.workers)
    with executor:
        total = sum(run_experiment(name, options, executor) for name in names)
    print(f"{total} cells run")
