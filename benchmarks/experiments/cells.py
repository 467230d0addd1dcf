"""Run an experiment cell by cell, and go on where it stopped.

    python -m benchmarks raw --methods "drbo default,dagma linear" --seeds 0-4
    python -m benchmarks raw --workers 4              # or --dask ADDRESS; Dask's workers need --no-nanny
    python -m benchmarks experiments --quick          # a small slice of each

A cell is one method on one data set. Its row goes to benchmarks/rows/run/EXPERIMENT.csv as soon as it is there, with
an address: the hash of the experiment, the data, the method, its settings and the versions. A cell whose address is
there is not run again, unless it ran out of a shorter time limit. A failure or a time-out is a row that says so.
"""

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import drbo
from benchmarks.experiments import EXPERIMENTS
from benchmarks.experiments.data import DataSet, sortabilities
from benchmarks.methods import METHODS, Answer, Task, Worker
from benchmarks.methods.metrics import dag_score, measure, measure_search, unpack
from benchmarks.parameters import Device, Numbers, Workers
from benchmarks.rows import Row, load, save, stamp
from drbo.scores.registry import build_score

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
class Request:
    """Which cells are run, and where: the options of the command line."""

    methods: Annotated[str | None, "comma-separated; those of the experiment if none is named"] = None
    data: Annotated[str | None, "comma-separated names of data sets; all of the experiment if none is named"] = None
    seeds: Annotated[Numbers | None, 'such as "0-4,7"; those of the experiment if none is given'] = None
    limit: Annotated[float | None, "seconds of a cell; that of the experiment if none is given"] = None
    device: Device = "cpu"
    workers: Workers = 1
    dask: Annotated[str | None, "address of a Dask scheduler whose workers see this folder, instead of --workers"] = (
        None
    )
    measure: Annotated[bool, "only compute the figures of the rows again"] = False


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


def run_cell(cell: Cell, seconds: float) -> tuple[Row, list[Row]]:
    """Return the row of a cell and the points of its curve; ``seconds`` is what an anytime method may take."""
    data, drawn, method = cell.data, cell.data.draw(cell.seed), METHODS[cell.method]
    options = {
        "penalty": PENALTY,
        "seconds": seconds,
        "degree": float(drawn.dag.sum() / len(drawn.dag)),
        "score_options": data.score_options,
    }
    task = Task(data.table(drawn), data.score, options, cell.seed, data.prune, cell.device)
    score = build_score(data.score, task.table, task.scoring)
    answer = _worker().ask(cell.method, task, cell.limit)
    key = dict(zip(KEY, cell.key, strict=True))
    best = data.best_dag(cell.seed, score)
    row = {
        **key,
        "address": cell.address,
        "settings": json.dumps(dict(method.settings), sort_keys=True),
        "library": method.library,
        "n": len(drawn.X),
        "n_edges": int(drawn.dag.sum()),
        **sortabilities(drawn),
        "score": data.score,
        "true_score": repr(dag_score(score, drawn.dag)),
        **({} if best is None else {"optimum": repr(dag_score(score, best))}),
        **measure(answer, score, drawn.dag),
        **measure_search(answer, score, drawn.dag),
        "seconds": round(answer.seconds, 3),
        "cpu_seconds": round(answer.cpu_seconds, 3),
        "limit": cell.limit,
        **stamp(cell.device),
    }
    points = []
    for step in answer.steps if cell.curves else ():
        figures = measure(Answer(step.graph, step.seconds, 0.0), score, drawn.dag)
        kept = {name: figures.get(name, "") for name in ("shd", "shd_c", "found_score")}
        points.append({**key, "step": step.step, "step_seconds": round(step.seconds, 3), **kept})
    return row, points


def measure_again(row: Row, data: DataSet) -> Row:
    """Return a row with its figures computed anew from the graph it holds."""
    drawn = data.draw(int(row["seed"]))
    score = build_score(data.score, data.table(drawn), {"penalty": PENALTY, **data.score_options})
    answer = Answer(unpack(row["graph"], len(drawn.dag)), 0.0, 0.0, row["note"])
    return {**row, **measure(answer, score, drawn.dag)}


def _worker() -> Worker:
    """Return the process of this thread."""
    if not hasattr(_local, "worker"):
        _local.worker = Worker()
    return _local.worker  # type: ignore[no-any-return]


def cells(name: str, request: Request, quick: bool) -> Iterator[Cell]:
    """Yield the cells that were asked for."""
    experiment = EXPERIMENTS[name]
    sets = experiment.data
    if quick:
        sets = (replace(sets[0], n=min(sets[0].n, QUICK_ROWS)),)
    names = [data.name for data in sets]
    wanted = chosen(request.data, names) if request.data else names
    limit = request.limit or (QUICK_LIMIT if quick else experiment.limit)
    for data in (data for data in sets if data.name in wanted):
        methods, seeds = (experiment.quick, 1) if quick else experiment.plan(data.name)
        if request.methods:
            methods = chosen(request.methods, METHODS)
        for seed in request.seeds or range(seeds):
            for method in methods:
                for repeat in range(1 if METHODS[method].seeded or quick else REPEATS):
                    yield Cell(name, data, method, seed, repeat, request.device, limit, experiment.curves)


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


def is_done(cell: Cell, row: Row | None) -> bool:
    """Return whether a row answers a cell: the same address, and not out of a shorter time."""
    if row is None or row["address"] != cell.address:
        return False
    late = row["note"].startswith(("no answer in", "stopped after"))
    return not late or float(row["limit"]) >= cell.limit


def run_experiment(name: str, request: Request, quick: bool, folder: Path, executor: Executor) -> int:
    """Run what is missing; return the number of cells that were run."""
    path, curves = folder / f"{name}.csv", folder / f"{name}_curves.csv"
    known = {tuple(row[part] for part in KEY): row for row in load(path)}
    lacking = {data.missing for data in EXPERIMENTS[name].data} - {""}
    if lacking:
        print(f"{name}: left out: {'; '.join(sorted(lacking))}")
        return 0
    wanted = list(cells(name, request, quick))
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
            save(path, [row], KEY)
            if points:
                save(curves, points, CURVE_KEY)
            done += 1
            print(f"[{done}/{len(missing)}] {_words(row)}", flush=True)
    return done


def _pace(cell: Cell, known: dict[tuple[str, ...], Row]) -> float:
    row = known.get((cell.data.name, PACE, str(cell.seed), "0"))
    return float(row["seconds"]) if row else PACE_DEFAULT


def _words(row: Row) -> str:
    figures = f"SHD {row.get('shd', '-')}, SHD-C {row['shd_c']}, " if row["n_found"] != "" else ""
    return f"{row['data']}, {row['method']}, seed {row['seed']}: {figures}{row['seconds']} s {row['note']}".rstrip()


def measure_all(names: Iterable[str], folder: Path) -> None:
    """Compute the figures of all rows again, as after a change of a metric or where a library was missing."""
    for name in names:
        sets = {data.name: data for data in EXPERIMENTS[name].data}
        path = folder / f"{name}.csv"
        rows = [measure_again(row, sets[row["data"]]) if row.get("graph") else row for row in load(path)]
        save(path, rows, KEY)
        print(f"{name}: {len(rows)} rows measured again")


def run(names: Iterable[str], request: Request, quick: bool, folder: Path) -> None:
    """Run experiments one after the other; their rows go to ``folder``."""
    if request.measure:
        measure_all(names, folder)
        return
    if request.dask:
        from distributed import Client

        executor: Executor = Client(request.dask).get_executor()
    else:
        executor = ThreadPoolExecutor(request.workers)
    with executor:
        total = sum(run_experiment(name, request, quick, folder, executor) for name in names)
    print(f"{total} cells run")
