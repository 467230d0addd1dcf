"""Seconds for a batch of GP families (score gp-nv, n = 1,000) against scikit-learn on the same families.

    python -m benchmarks gp_speed --families 64 --sklearn 16
    python -m benchmarks gp_speed --every-family --device cuda
    python -m benchmarks gp_speed --part fits               whole fits with the default score gp

scikit-learn's fits are timed one after the other on the first of the same families, with the same threads, and scaled
to their number.
"""

import os
import time
import warnings
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import torch

from benchmarks.parameters import Device, Numbers, SampleSize
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.families import Families
from drbo.scores.gp_paper import GpNV


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
    score = GpNV(Table.from_array(values), device=device)
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
