"""How long an iteration of the loop takes, how that grows, and what the fast rules do to the learning curve.

    python -m benchmarks speed                                    # iteration times beside the bare layer-1 product
    python -m benchmarks speed --part growth                      # over nodes and over past evaluations
    python -m benchmarks speed --part together                    # several data sets as one program, beside one alone
    python -m benchmarks speed --part curves --graphs 20ER4,30ER8 # fast rules against the paper's, pair by pair
    python -m benchmarks speed --part report                      # docs/speed.md and its plot from the rows

Fast rules: shared masks and the statistics of the training batch; the paper's: a mask per row and BatchNorm over all
candidates. Everything else is the ``paper`` preset in both. A time is the best of five. CPU time is that of all threads
together: it says what the work costs when neighbours share the cores.
"""

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.linear import BicEV
from drbo.search.bayes.screen import screened
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Search, run
from drbo.search.paper.lockstep import Lockstep
from drbo.search.recombine import Recombiner
from drbo.search.stopping import Limits, Recorder
from drbo.settings import Settings

RULES = {"fast": {"masks": "shared", "batch_norm": "training"}, "paper": {}}
#: (graph, candidates) of the iteration table; the graph decides only what the scores look like.
CASES = ("10ER2:10000", "30ER8:10000", "30ER8:100000", "100ER2:10000", "100ER2:100000")
WARM_UP, REPEATS = 4, 5
#: Cases of the table of several data sets, and how many of them.
JOINT_CASES, JOINT = ("10ER2:10000", "10ER2:100000", "30ER8:10000", "30ER8:100000"), (1, 2, 5, 10)
#: Evaluations at which a learning curve is read.
STEPS = tuple(64 * 2**k for k in range(20))
#: From this many nodes on, networks see this many candidate parents.
SCREEN_FROM, SCREENED = 300, 48
KEYS = {
    "iteration": ("graph", "candidates", "rules", "device"),
    "together": ("graph", "candidates", "rules", "data_sets", "device"),
    "growth": ("over", "nodes", "past", "candidates", "device"),
    "curves": ("graph", "seed", "rules", "candidates", "n_evals"),
}


def new_search(graph: str, seed: int, device: str, changes: dict, candidate_parents: int | None = None) -> Search:
    """Return a search on simulated data, with the rules of the paper but for the changes."""
    values = simulate(graph, n=1_000, seed=seed).X
    score = BicEV(Table.from_array(values))
    settings = Settings.preset("paper").with_(max_evals=10**9, **changes)
    constraints = screened(values, candidate_parents) if candidate_parents else None
    return Search(score, settings, constraints=constraints, seed=seed, device=device)


def timed(state: Search | Lockstep) -> np.ndarray:
    """Return the wall seconds (row 0) and CPU seconds (row 1) of propose, evaluate and learn in one iteration."""
    states = state.states if isinstance(state, Lockstep) else [state]
    device = states[0].generator.device
    clock = [_now(device)]
    vectors = state.propose()
    clock.append(_now(device))
    batch = state.evaluate(vectors)
    clock.append(_now(device))
    state.learn(batch)
    clock.append(_now(device))
    for each in states:
        each.iteration += 1  # in the first iteration a design is proposed, not the surrogate's choice
    return np.diff(clock, axis=0).T


def best_of(state: Search | Lockstep) -> np.ndarray:
    """Return the wall (row 0) and CPU (row 1) milliseconds of the parts, each of the best of a few iterations."""
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
    hidden = Settings().hidden
    generator = torch.Generator(device).manual_seed(0)
    inputs = torch.randint(2, (nodes, candidates, nodes), generator=generator, device=device).float()
    weights = torch.rand(nodes, nodes, hidden, generator=generator, device=device)
    seconds, cpu = [], []
    for _ in range(REPEATS + 1):
        if device == "cuda":
            torch.cuda.synchronize()
        start, used = time.perf_counter(), time.process_time()
        torch.bmm(inputs, weights)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - used)
    return min(seconds), min(cpu)


def peak_memory(device: str) -> float:
    """Return the GiB that this process has held at most, on the device or in memory."""
    if device == "cuda":
        return torch.cuda.max_memory_allocated() / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def iteration_row(case: str, rules: str, device: str) -> table.Row:
    """Time the iterations of one case."""
    graph, candidates = case.split(":")[0], int(case.split(":")[1])
    state = new_search(graph, 100, device, {"n_candidates": candidates, **RULES[rules]})
    for _ in range(WARM_UP):
        timed(state)
    parts = best_of(state)
    total = float(parts[0].sum())
    bare, bare_cpu = (1e3 * value for value in bare_product(state.proposer.space.n_nodes, candidates, device))
    return {
        "graph": graph,
        "candidates": candidates,
        "rules": rules,
        "nodes": state.proposer.space.n_nodes,
        **part_columns(parts),
        "iteration_ms": round(total, 1),
        "bare_product_ms": round(bare, 1),
        "ratio": round(total / bare, 2),
        "bare_cpu_ms": round(bare_cpu, 1),
        "threads": torch.get_num_threads(),
        **table.stamp(device),
    }


def together_rows(case: str, rules: str, device: str) -> list[table.Row]:
    """Time the iterations of several data sets in lockstep, beside those of a search alone."""
    graph, candidates = case.split(":")[0], int(case.split(":")[1])
    changes = {"n_candidates": candidates, **RULES[rules]}
    alone = new_search(graph, 100, device, changes)
    nodes, found = alone.evaluator.score.n_nodes, []
    for _ in range(WARM_UP):
        timed(alone)
    one = float(best_of(alone)[0].sum())
    bare = 1e3 * bare_product(nodes, candidates, device)[0]
    for count in JOINT:
        group = Lockstep([new_search(graph, 100 + k, device, changes) for k in range(count)])
        for _ in range(WARM_UP):
            timed(group)
        parts = best_of(group)
        total = float(parts[0].sum())
        found.append(
            {
                "graph": graph,
                "candidates": candidates,
                "rules": rules,
                "nodes": nodes,
                "data_sets": count,
                **part_columns(parts),
                "together_ms": round(total, 1),
                "alone_ms": round(one, 1),
                "one_by_one_ms": round(count * one, 1),
                "times_one": round(total / one, 2),
                "bare_product_ms": round(bare, 1),
                **table.stamp(device),
            }
        )
    return found


def growth_row(over: str, nodes: int, past: int, candidates: int, device: str) -> table.Row:
    """Time iterations of a search of a given size that has a given past."""
    screening = SCREENED if nodes >= SCREEN_FROM else None
    changes = {"n_candidates": candidates, **RULES["fast"]}
    state = new_search(f"{nodes}ER2", 100, device, changes, screening)
    for _ in range(2):
        timed(state)
    while len(state.proposer.history) < past:  # DAGs of the trust region, evaluated as the search would
        n = min(2_000, past - len(state.proposer.history))
        vectors = state.proposer.region.candidates(state.proposer.center, n, state.generator).vectors()
        batch = state.evaluator.evaluate(state.proposer.space.decode(vectors).cpu().numpy())
        state.proposer.history.append(batch.dags, batch.local)
    parts = best_of(state)
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
        **table.stamp(device),
    }


def curve_rows(graph: str, seed: int, rules: str, options: argparse.Namespace) -> list[table.Row]:
    """Run one search and return its best score at each step."""
    torch.set_num_threads(1 if options.workers > 1 else torch.get_num_threads())
    changes = {"n_candidates": options.candidates, **RULES[rules]}
    data = simulate(graph, n=1_000, seed=seed)
    score = BicEV(Table.from_array(data.X))
    settings = Settings.preset("paper").with_(max_evals=options.evals, **changes)
    recorder, start = Recorder(), time.perf_counter()
    run(Search(score, settings, seed=seed, device=options.device), [recorder, Limits(settings)])
    seconds = time.perf_counter() - start
    scale = 1_000 * len(data.dag)
    truth = Evaluator(score, settings).evaluate(data.dag[None]).scores[0] / scale
    evals, best = recorder.columns()["n_evals"], recorder.columns()["best"] / scale
    return [
        {
            "graph": graph,
            "seed": seed,
            "rules": rules,
            "candidates": options.candidates,
            "n_evals": step,
            "score": round(float(best[np.searchsorted(evals, step)]), 6),
            "true_score": round(float(truth), 6),
            "seconds": round(seconds, 2),
            **table.stamp(options.device),
        }
        for step in [step for step in STEPS if step < options.evals] + [options.evals]
    ]


def run_iterations(options: argparse.Namespace) -> list[table.Row]:
    found = []
    for case in options.cases.split(",") if options.cases else CASES:
        for rules in options.rules.split(","):
            row = iteration_row(case, rules, options.device)
            found.append(row)
            print(
                f"d = {row['nodes']:>4}, C = {row['candidates']:>7,}, {rules:<5} rules: {row['iteration_ms']:>8.1f} ms "
                f"(propose {row['propose_ms']}, evaluate {row['evaluate_ms']}, learn {row['learn_ms']}); "
                f"bare product {row['bare_product_ms']} ms, ratio {row['ratio']}; {row['machine']}",
                flush=True,
            )
    return found


def run_together(options: argparse.Namespace) -> list[table.Row]:
    found = []
    for case in options.cases.split(",") if options.cases else JOINT_CASES:
        for rules in options.rules.split(","):
            for row in together_rows(case, rules, options.device):
                found.append(row)
                print(
                    f"d = {row['nodes']:>4}, C = {row['candidates']:>7,}, {rules} rules, {row['data_sets']:>2} data "
                    f"sets: {row['together_ms']:>8.1f} ms (propose {row['propose_ms']}, evaluate {row['evaluate_ms']}, "
                    f"learn {row['learn_ms']}), one by one {row['one_by_one_ms']} ms; {row['times_one']} times one "
                    f"alone; bare product {row['bare_product_ms']} ms; {row['machine']}",
                    flush=True,
                )
    return found


def run_growth(options: argparse.Namespace) -> list[table.Row]:
    jobs = [("nodes", nodes, 0, 10_000) for nodes in (10, 30, 100, 300, 1_000) if nodes <= options.most_nodes]
    jobs += [("evaluations", 30, past, 10_000) for past in (1_000, 3_000, 10_000, 30_000, 100_000)]
    found = []
    for job in jobs:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:  # the peak of each is its own
            row = pool.submit(growth_row, *job, options.device).result()
        found.append(row)
        print({key: row[key] for key in list(row)[:15]}, flush=True)
    return found


def run_curves(options: argparse.Namespace) -> list[table.Row]:
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    jobs = [(graph, seed, rules) for graph in options.graphs.split(",") for seed in seeds for rules in RULES]
    found: list[table.Row] = []
    with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
        runner = pool.map if options.workers > 1 else map
        for part in runner(curve_rows, *zip(*jobs, strict=True), [options] * len(jobs)):
            found += part
            last = part[-1]
            print(
                f"{last['graph']} seed {last['seed']} {last['rules']}: area {area(part):.4f}, final score "
                f"{last['score']} (true graph {last['true_score']}), {last['seconds']} s",
                flush=True,
            )
    for graph in options.graphs.split(","):
        ratio = area_ratios([row for row in found if row["graph"] == graph])
        print(f"{graph}: area, fast / paper: {np.round(ratio, 3).tolist()}, geometric mean {geometric_mean(ratio):.3f}")
    return found


def area(curve: list[table.Row]) -> float:
    """Return the mean gap between the true graph's score and the best found, from the steps of one curve."""
    points = sorted((int(row["n_evals"]), float(row["true_score"]) - float(row["score"])) for row in curve)
    evals, gaps = np.array(points).T
    return float(np.trapezoid(gaps, evals) / (evals[-1] - evals[0]))


def area_ratios(rows: list[table.Row]) -> list[float]:
    """Return, seed by seed, the area of the fast rules divided by that of the paper's."""
    curves: dict[tuple[int, str], list[table.Row]] = {}
    for row in rows:
        curves.setdefault((int(row["seed"]), row["rules"]), []).append(row)
    seeds = sorted({seed for seed, _ in curves})
    return [area(curves[seed, "fast"]) / area(curves[seed, "paper"]) for seed in seeds]


def geometric_mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=[*KEYS, "report"], default="iteration")
    parser.add_argument("--cases", help="graph:candidates, comma-separated; of the iteration table and of together")
    parser.add_argument("--rules", default="fast", help="fast, paper, or both with a comma")
    parser.add_argument("--graphs", default="20ER4,30ER8", help="of the curves")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evals", type=int, default=10_000)
    parser.add_argument("--candidates", type=int, default=100_000, help="of the curves")
    parser.add_argument("--most-nodes", type=int, default=1_000, help="largest graph of the growth table")
    parser.add_argument("--workers", type=int, default=1, help="searches at a time, for the curves")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--save", type=Path, help="folder that gets the rows: speed_PART.csv")
    options = parser.parse_args(arguments)
    if options.part == "report":
        from benchmarks.reports.speed import write

        write()
        return
    parts = {"iteration": run_iterations, "together": run_together, "growth": run_growth, "curves": run_curves}
    found = parts[options.part](options)
    if options.save:
        table.save(options.save / f"speed_{options.part}.csv", found, KEYS[options.part])
