"""How long a call takes, and an iteration of the loop; how that grows, and what the fast rules do to learning curves.

    python -m benchmarks speed                                    # whole calls, as a user makes them
    python -m benchmarks speed --part iteration                   # iteration times beside the bare layer-1 product
    python -m benchmarks speed --part growth                      # over nodes and over past evaluations
    python -m benchmarks speed --part curves --graphs 20ER4,30ER8 # fast rules against the paper's, pair by pair

Fast rules: shared masks and the statistics of the training batch; the paper's: a mask per row and BatchNorm over all
candidates. Everything else is the ``paper`` preset in both. A time is the best of five. CPU time is that of all threads
together: it says what the work costs when neighbours share the cores. A call is ``DrBO(...).fit(X)``, with all that
follows the search; each has a process of its own, and the first one there compiles what a GPU needs.
"""

import resource
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Annotated, Any

import numpy as np
import torch

from benchmarks.methods.metrics import dag_score
from benchmarks.parameters import Device, Graphs, Names, Numbers, SampleSize, Seeds, Workers
from benchmarks.rows import Row, commit
from benchmarks.studies.study import best_device, in_parallel, study
from drbo import DrBO
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicEV
from drbo.scores.registry import build_score
from drbo.search.bayes.screen import screened
from drbo.search.loop import ProposalSearch
from drbo.search.recombine import Recombiner
from drbo.search.stopping import Limits, Recorder
from drbo.search.strategy import new_search
from drbo.settings import Settings

DEVICE = best_device()
RULES = {"fast": {"masks": "shared", "batch_norm": "training"}, "paper": {}}
#: (graph, candidates) of the iteration table; the graph decides only what the scores look like.
CASES = ("10ER2:10000", "30ER8:10000", "30ER8:100000", "100ER2:10000", "100ER2:100000")
#: (preset, score, graph) of whole calls; scores of Gaussian processes get data of their own kind.
CALLS = ("default:bic-ev:30ER8", "paper:bic-ev:30ER8", "paper:bic-ev:100ER2", "paper-gp:gp-ev:10ER4")
WARM_UP, REPEATS = 4, 5
#: Evaluations at which a learning curve is read.
STEPS = tuple(64 * 2**k for k in range(20))
#: From this many nodes on, networks see this many candidate parents.
SCREEN_FROM, SCREENED = 300, 48
Cases = Annotated[Names, "graph:candidates"]
Calls = Annotated[Names, "preset:score:graph"]
Rules = Annotated[Names, "fast, paper"]


def paper_search(
    graph: str, seed: int, device: str, changes: dict[str, Any], candidate_parents: int | None = None
) -> ProposalSearch:
    """Return a search on simulated data, with the rules of the paper but for the changes."""
    values = simulate(graph, n=1_000, seed=seed).X
    score = BicEV(Statistics.from_array(values))
    settings = Settings.preset("paper").with_(max_evals=10**9, **changes)
    constraints = screened(values, candidate_parents) if candidate_parents else None
    search = new_search(score, settings, constraints=constraints, seed=seed, device=device)
    assert isinstance(search, ProposalSearch)
    return search


def timed(state: ProposalSearch) -> np.ndarray:
    """Return the wall seconds (row 0) and CPU seconds (row 1) of propose, evaluate and learn in one iteration."""
    device = state.proposer.generator.device
    clock = [_now(device)]
    vectors = state.propose()
    clock.append(_now(device))
    batch = state.evaluate(vectors)
    clock.append(_now(device))
    state.learn(batch)
    clock.append(_now(device))
    state.rounds += 1  # in the first round a design is proposed, not the surrogate's choice
    return np.diff(clock, axis=0).T


def best_of(state: ProposalSearch, warm_up: int = WARM_UP) -> np.ndarray:
    """Return the wall (row 0) and CPU (row 1) milliseconds of the parts, each of the best of a few iterations."""
    for _ in range(warm_up):
        timed(state)
    runs = np.array([timed(state) for _ in range(REPEATS)])  # (repeats, 2, 3)
    return 1e3 * np.stack([runs[runs[:, clock].sum(1).argmin(), clock] for clock in (0, 1)])


def _now(device: torch.device) -> tuple[float, float]:
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter(), time.process_time()


def part_columns(parts: np.ndarray) -> dict[str, float]:
    """Return the columns of a row for the wall and CPU milliseconds of the parts."""
    names = ("propose", "evaluate", "learn")
    wall = {f"{name}_ms": round(float(value), 1) for name, value in zip(names, parts[0], strict=True)}
    cpu = {f"{name}_cpu_ms": round(float(value), 1) for name, value in zip(names, parts[1], strict=True)}
    return {**wall, **cpu, "cpu_ms": round(float(parts[1].sum()), 1)}


def bare_product(nodes: int, candidates: int, device: str) -> tuple[float, float]:
    """Return the seconds, and CPU seconds, of the dense layer-1 product of all candidates: the yardstick."""
    hidden = Settings().paper.hidden
    generator = torch.Generator(device).manual_seed(0)
    inputs = torch.randint(2, (nodes, candidates, nodes), generator=generator, device=device).float()
    weights = torch.rand(nodes, nodes, hidden, generator=generator, device=device)
    spent = []
    for _ in range(REPEATS + 1):
        start = _now(weights.device)
        torch.bmm(inputs, weights)
        spent.append(np.subtract(_now(weights.device), start))
    seconds, cpu = np.min(spent, axis=0).tolist()
    return seconds, cpu


def peak_memory(device: str) -> float:
    """Return the GiB that this process has held at most, on the device or in memory."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def call_rows(
    case: str, seeds: Sequence[int], n: int, evals: int | None, candidates: int | None, calls: int, device: str
) -> list[Row]:
    """Time ``DrBO(...).fit(X)``: a row for each seed of the data; the first call of all is that of the first row."""
    preset, name, graph = case.split(":")
    settings = Settings.preset(preset)
    if candidates is not None:
        settings = settings.with_(n_candidates=candidates)
    if evals is not None:
        settings = settings.with_(max_evals=evals)
    rows = list[Row]()
    for seed in seeds:
        data, spent = simulate(graph, "gp" if name.startswith("gp") else "linear", n=n, seed=seed), []
        for _ in range(calls if seed == seeds[0] else 1):
            model = DrBO(score=name, preset=preset, settings=settings, device=device, random_state=0)
            start = time.perf_counter(), time.process_time()
            found = model.fit(data.X).result_
            spent.append(np.subtract((time.perf_counter(), time.process_time()), start))
        best = min(spent[1:] or spent, key=lambda both: both[0])
        first = spent[0] if calls > 1 and seed == seeds[0] else None
        score = build_score(name, Statistics.from_array(data.X), {"device": device} if name.startswith("gp") else {})
        rows.append({
            **{"preset": preset, "score_name": name, "graph": graph, "n": n, "seed": seed},
            "candidates": settings.paper.n_candidates if settings.route == "paper" else "",
            **{"n_evals": found.n_evals, "n_local": found.n_local, "score": round(found.score, 6)},
            **{"true_score": round(dag_score(score, data.dag), 6), "shd": int((found.dag != data.dag).sum())},
            "first_seconds": "" if first is None else round(float(first[0]), 2),
            "first_cpu_seconds": "" if first is None else round(float(first[1]), 2),
            **{"seconds": round(float(best[0]), 2), "cpu_seconds": round(float(best[1]), 2)},
            **{"stop": str(found.search.stop.name.lower()), "threads": torch.get_num_threads(), "commit": commit()},
        })  # fmt: skip
    return rows


@study(
    "speed_call",
    "preset score_name graph n seed candidates n_evals threads device commit",
    cases=("paper:bic-ev:5ER1",),
    evals=200,
    candidates=200,
)
def call(
    cases: Calls = CALLS,
    seeds: Seeds = range(1),
    rows: SampleSize = 1_000,
    evals: Annotated[int | None, "evaluations, if not those of the preset"] = None,
    candidates: Annotated[int | None, "candidates of an iteration, if not those of the preset"] = None,
    calls: Annotated[int, "calls in a row, for the first seed"] = 2,
    device: Device = DEVICE,
) -> Iterator[Row]:
    """Time whole calls, as a user makes them."""
    for case in cases:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            job = pool.submit(call_rows, case, list(seeds), rows, evals, candidates, calls, device)
            yield from job.result()


@study("speed_iteration", "graph candidates rules device", cases=("5ER1:200",))
def iteration(cases: Cases = CASES, rules: Rules = ("fast",), device: Device = DEVICE) -> Iterator[Row]:
    """Time the iterations of each case."""
    for case, rule in ((case, rule) for case in cases for rule in rules):
        graph, candidates = case.split(":")[0], int(case.split(":")[1])
        state = paper_search(graph, 100, device, {"n_candidates": candidates, **RULES[rule]})
        nodes, parts = state.evaluator.score.n_nodes, best_of(state)
        total = float(parts[0].sum())
        bare, bare_cpu = (1e3 * value for value in bare_product(nodes, candidates, device))
        yield {
            "graph": graph,
            "candidates": candidates,
            "rules": rule,
            "nodes": nodes,
            **part_columns(parts),
            "iteration_ms": round(total, 1),
            "bare_product_ms": round(bare, 1),
            "ratio": round(total / bare, 2),
            "bare_cpu_ms": round(bare_cpu, 1),
            "threads": torch.get_num_threads(),
        }


def growth_row(over: str, nodes: int, past: int, candidates: int, device: str) -> Row:
    """Time iterations of a search of a given size that has a given past."""
    screening = SCREENED if nodes >= SCREEN_FROM else None
    changes = {"n_candidates": candidates, **RULES["fast"]}
    state = paper_search(f"{nodes}ER2", 100, device, changes, screening)
    for _ in range(2):
        timed(state)
    while len(state.proposer.history) < past:  # DAGs of the trust region, evaluated as the search would
        n = min(2_000, past - len(state.proposer.history))
        vectors = state.proposer.region.candidates(state.proposer.center, n, state.proposer.generator).vectors()
        batch = state.evaluator.evaluate(state.proposer.space.decode(vectors).cpu().numpy())
        state.proposer.history.append(batch.dags, batch.local)
    parts = best_of(state, warm_up=0)
    assert state.best is not None
    recombine = []
    if over == "evaluations":
        recombiner, found = Recombiner(state.evaluator), state.best
        for number in range(5):  # the first one takes in the whole past: later ones are those of an iteration
            start = time.process_time()
            found = recombiner.best(found, np.random.default_rng(number))
            recombine.append(time.process_time() - start)
    return {
        "over": over,
        "nodes": nodes,
        "past": past,
        "candidates": candidates,
        "candidate_parents": screening or nodes - 1,
        **part_columns(parts),
        "recombine_cpu_ms": round(1e3 * min(recombine), 1) if recombine else "",
        "n_local": state.evaluator.n_local,
        "peak_gib": round(peak_memory(device), 2),
        "threads": torch.get_num_threads(),
    }


@study("speed_growth", "over nodes past candidates device", nodes=(5,), past=(200,), candidates=100)
def growth(
    nodes: Annotated[Numbers, "nodes of searches without a past"] = (10, 30, 100, 300, 1_000),
    past: Annotated[Numbers, "past evaluations of searches with 30 nodes"] = (1_000, 3_000, 10_000, 30_000, 100_000),
    candidates: Annotated[int, "candidates of an iteration"] = 10_000,
    device: Device = DEVICE,
) -> Iterator[Row]:
    """Time iterations over nodes and over past evaluations; each in a process of its own, whose peak is measured."""
    jobs = [("nodes", d, 0) for d in nodes] + [("evaluations", 30, evals) for evals in past]
    for job in jobs:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            yield pool.submit(growth_row, *job, candidates, device).result()


def curve_rows(graph: str, seed: int, rules: str, candidates: int, evals: int, device: str) -> list[Row]:
    """Run one search and return its best score at each step."""
    data = simulate(graph, n=1_000, seed=seed)
    score, scale = BicEV(Statistics.from_array(data.X)), 1_000 * len(data.dag)
    settings = Settings.preset("paper").with_(max_evals=evals, n_candidates=candidates, **RULES[rules])
    recorder, start = Recorder(), time.perf_counter()
    new_search(score, settings, seed=seed, device=device).run([recorder, Limits(settings)])
    seconds = time.perf_counter() - start
    truth = dag_score(score, data.dag) / scale
    spent, best = recorder.columns()["n_evals"], recorder.columns()["best"] / scale
    return [
        {
            "graph": graph,
            "seed": seed,
            "rules": rules,
            "candidates": candidates,
            "n_evals": step,
            "score": round(float(best[np.searchsorted(spent, step)]), 6),
            "true_score": round(truth, 6),
            "seconds": round(seconds, 2),
        }
        for step in [step for step in STEPS if step < evals] + [evals]
    ]


@study(
    "speed_curves", "graph seed rules candidates n_evals", graphs=("5ER1",), seeds=range(1), candidates=200, evals=300
)
def curves(
    graphs: Graphs = ("20ER4", "30ER8"),
    seeds: Seeds = range(10),
    candidates: Annotated[int, "candidates of an iteration"] = 100_000,
    evals: Annotated[int, "evaluations of a search"] = 10_000,
    device: Device = DEVICE,
    workers: Workers = 1,
) -> Iterator[Row]:
    """Yield the learning curves of both rules."""
    searches = [(graph, seed, rules) for graph in graphs for seed in seeds for rules in RULES]
    for part in in_parallel(curve_rows, [(*one, candidates, evals, device) for one in searches], workers):
        yield from part
