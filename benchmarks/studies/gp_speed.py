"""Seconds for a batch of GP families (score gp-nv, n = 1,000) against scikit-learn on the same families.

    python -m benchmarks gp_speed --families 64 --sklearn 16
    python -m benchmarks gp_speed --every-family --device cuda
    python -m benchmarks gp_speed --part fits               whole fits with the default score gp
    python -m benchmarks gp_speed --part evidence           error and seconds of single families of the score gp

scikit-learn's fits are timed one after the other on the first of the same families, with the same threads, and scaled
to their number.

The log evidence of ``gp`` is compared with the highest that a slow search finds with all rows: a grid of length scales
and noises, and Nelder and Mead's method from its two best places. The families are those of the true graph with up to
two parents added or removed (seed 100). Its relatives, splines and random features, are compared with it by what they
say about the difference of two families of a node, times the slope of all these differences.
"""

import os
import time
import warnings
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from benchmarks.parameters import Device, Numbers, SampleSize
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import unit_free, winsorized
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.gp.gp import NOISE_RANGE, SCALE_RANGE, GpScore
from drbo.scores.gp.paper import GpNV
from drbo.scores.gp.rough import START_NOISE, START_SCALES


def random_families(d: int, count: int, rng: np.random.Generator) -> Families:
    """Return families of mixed sizes, without empty ones."""
    nodes = rng.integers(d, size=count)
    parents = rng.random((count, d)) < rng.uniform(0.1, 0.9, size=(count, 1))
    parents[np.arange(count), (nodes + 1) % d] = True
    parents[np.arange(count), nodes] = False
    return Families(nodes.astype(np.intp), parents)


def all_families(d: int) -> Families:
    """Return every family of d nodes that has a parent."""
    nodes, masks = np.divmod(np.arange(d << d), 1 << d)
    kept = ((masks >> nodes) & 1 == 0) & (masks > 0)
    return Families(nodes[kept].astype(np.intp), (masks[kept][:, None] >> np.arange(d)) & 1 == 1)


def quickest(score: GpNV, families: Families, repeats: int) -> tuple[float, float]:
    """Return the best seconds of a few, and the least seconds of CPU."""
    score.local(families[:2])
    wall, cpu = [], []
    for _ in range(repeats):
        start, cpu_start = time.perf_counter(), time.process_time()
        score.local(families)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
    return min(wall), min(cpu)


def sklearn_seconds(values: np.ndarray, families: Families) -> tuple[float, float]:
    """Return the seconds, also of CPU, of scikit-learn's regressor on the same families, once."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    start, cpu_start = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for node, parents in zip(families.nodes, families.parents, strict=True):
            model = GaussianProcessRegressor(RBF(1.0, (1.0, 1e5)), alpha=1.0)
            model.fit(values[:, parents], values[:, node]).predict(values[:, parents])
    return time.perf_counter() - start, time.process_time() - cpu_start


@study("gp_speed", "families n device", families=4, sklearn=2, rows=100)
def run(
    families: Annotated[int, "families of mixed sizes"] = 64,
    sklearn: Annotated[int, "families that scikit-learn is timed on"] = 64,
    every_family: Annotated[bool, "all families of the 10 nodes, without scikit-learn"] = False,
    rows: SampleSize = 1_000,
    repeats: Annotated[int, "times of which the best counts"] = 3,
    device: Device = "cpu",
) -> Iterator[Row]:
    """Yield one row."""
    values = simulate("10ER4", model="gp", n=rows, seed=0).X
    score = GpNV(Statistics.from_array(values), device=device)
    asked = all_families(10) if every_family else random_families(10, families, np.random.default_rng(0))
    seconds, cpu = quickest(score, asked, repeats)
    row: Row = {"families": len(asked), "n": rows, "threads": torch.get_num_threads()}
    row |= {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3)}
    if not every_family:
        count = min(sklearn, len(asked))
        other, other_cpu = (value * len(asked) / count for value in sklearn_seconds(values, asked[:count]))
        row |= {"sklearn_timed_on": count, "sklearn_seconds": round(other, 2), "ratio": round(other / seconds, 2)}
        row |= {"sklearn_cpu_seconds": round(other_cpu, 2), "cpu_ratio": round(other_cpu / cpu, 2)}
    yield row


@study("gp_fits", "nodes n seed machine", nodes=(4,), rows=60)
def fits(
    nodes: Annotated[Numbers, "numbers of nodes"] = (10, 20), rows: SampleSize = 1_000, seed: Annotated[int, "data"] = 0
) -> Iterator[Row]:
    """Yield the seconds of a default fit for each number of nodes."""
    for d in nodes:
        values = simulate(f"{d}ER2", model="gp", n=rows, seed=seed).X
        start, cpu_start = time.perf_counter(), time.process_time()
        result = DrBO(score="gp", random_state=seed).fit(values).result_
        cpu = time.process_time() - cpu_start
        row: Row = {"nodes": d, "n": rows, "seed": seed, "threads": torch.get_num_threads(), "n_local": result.n_local}
        row |= {"seconds": round(time.perf_counter() - start, 1), "cpu_seconds": round(cpu, 1)}
        yield row | {"score": repr(float(result.score)), "load": os.getloadavg()[0]}


def families_near(dag: npt.NDArray[np.bool_], count: int, rng: np.random.Generator) -> Families:
    """Return families of a graph with one or two parents added or removed, none of them empty."""
    nodes = np.resize(rng.permutation(len(dag)), count)
    parents = dag.T[nodes].copy()
    for row, node in enumerate(nodes.tolist()):
        others = [j for j in range(len(dag)) if j != node]
        parents[row, rng.choice(others, size=int(rng.integers(1, 3)), replace=False)] ^= True
        if not parents[row].any():
            parents[row, rng.choice(others)] = True
    return Families(nodes, parents)


def slow_evidence(inputs: npt.NDArray[np.float64], target: npt.NDArray[np.float64]) -> float:
    """Return the highest log evidence over length scale and noise, the amplitude in closed form; or that of noise."""
    n, root = len(target), inputs.shape[1] ** 0.5
    squared = cdist(inputs, inputs, "sqeuclidean")

    def cost(place: npt.NDArray[np.float64]) -> float:
        scale, noise = np.exp(place)
        inside = SCALE_RANGE[0] <= scale / root <= SCALE_RANGE[1] and NOISE_RANGE[0] <= noise <= NOISE_RANGE[1]
        if not inside:
            return np.inf
        factor = cho_factor(np.exp(-0.5 * squared / scale**2) + noise * np.eye(n), lower=True)
        amplitude = target @ cho_solve(factor, target) / n
        spread = 2 * np.log(np.diag(factor[0])).sum()
        return float(0.5 * (n * (np.log(2 * np.pi * amplitude) + 1) + spread))

    starts = [np.log([scale * root, noise / (1 + scale**2)]) for scale in START_SCALES for noise in START_NOISE]
    best = sorted(starts, key=cost)[:2]
    found = [minimize(cost, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-4}).fun for start in best]
    return -min([*found, 0.5 * n * (np.log(2 * np.pi) + 1)])


def cpu_of(score: Score, families: Families) -> tuple[npt.NDArray[np.float64], float]:
    """Return local scores, and CPU milliseconds of each."""
    score.local(families[:2])
    start = time.process_time()
    values = score.local(families)
    return values, 1e3 * (time.process_time() - start) / len(families)


def follows(true: npt.NDArray[np.float64], cheap: npt.NDArray[np.float64], nodes: npt.NDArray[np.intp]) -> Row:
    """Return how far differences between two families of a node follow those of a cheaper version."""
    pairs = [(i, j) for i in range(len(nodes)) for j in range(i) if nodes[i] == nodes[j]]
    first, second = (np.array([values[i] - values[j] for i, j in pairs]) for values in (true, cheap))
    slope = first @ second / max(second @ second, 1e-300)
    errors = np.abs(first - slope * second)
    return {
        "correlation": round(float(np.corrcoef(first, second)[0, 1]), 3),
        "error": round(float(np.median(errors)), 2),
    }


@study("gp_evidence", "n machine", rows=(40,), families=40, checked=1)
def evidence(
    rows: Annotated[Numbers, "rows of the tables"] = (100, 300, 500, 1_000),
    families: Annotated[int, "families that are timed"] = 60,
    checked: Annotated[int, "families that the slow search is made for"] = 12,
) -> Iterator[Row]:
    """Yield for each number of rows the error of the log evidence, and milliseconds and worth of the relatives."""
    for n in rows:
        data = simulate("20ER2", model="gp", n=n, seed=100)
        score, asked = (
            GpScore(Statistics.from_array(data.X)),
            families_near(data.dag, families, np.random.default_rng(0)),
        )
        true, seconds = cpu_of(score, asked)
        columns, errors = unit_free(winsorized(data.X)), []
        for row in range(checked):
            node, parents = asked.nodes[row], asked.parents[row]
            errors.append(true[row] - slow_evidence(columns[:, parents], columns[:, node]))
        row_: Row = {"n": n, "families": families, "checked": checked, "milliseconds": round(seconds, 1)}
        row_ |= {"lowest": round(min(errors), 4), "highest": round(max(errors), 4)}
        for relative in score.relatives():
            cheap, own = cpu_of(relative.score, asked)
            told = {"cost": round(relative.cost, 4), "milliseconds": round(own, 3), **follows(true, cheap, asked.nodes)}
            row_ |= {f"{relative.score.name} {name}": value for name, value in told.items()}
        yield row_
