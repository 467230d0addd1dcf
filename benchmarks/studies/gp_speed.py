"""Seconds for a batch of GP families (score gp-nv, n = 1,000) against scikit-learn on the same families.

    python -m benchmarks gp_speed --families 64 --sklearn 16
    python -m benchmarks gp_speed --all --device cuda

scikit-learn's fits are timed one after the other on the first of the same families, with the same threads, and scaled
to their number.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.base import Families
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


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", type=int, default=64)
    parser.add_argument("--sklearn", type=int, default=64, help="families that scikit-learn is timed on")
    parser.add_argument("--all", action="store_true", help="all families of the 10 nodes, without scikit-learn")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--save", type=Path, help="CSV file that gets the row")
    options = parser.parse_args(arguments)
    values = simulate("10ER4", model="gp", n=1_000, seed=0).X
    score = GpNV(Table.from_array(values), device=options.device)
    rng = np.random.default_rng(0)
    families = all_families(10) if options.all else random_families(10, options.families, rng)
    seconds, cpu = quickest(score, families, options.repeats)
    threads = torch.get_num_threads()
    where = f"{table.machine(options.device)}, {threads} threads"
    print(f"drbo: {len(families)} families in {seconds:.2f} s ({cpu:.2f} s of CPU), ", end="")
    print(f"best of {options.repeats} ({where})", flush=True)
    row = {"families": len(families), "n": len(values), "threads": threads}
    row |= {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3)}
    if not options.all:
        count = min(options.sklearn, len(families))
        other, other_cpu = (value * len(families) / count for value in sklearn_seconds(values, families[:count]))
        words = "the same families" if count == len(families) else f"scaled from the first {count} of the same families"
        print(f"scikit-learn: {other:.2f} s ({other_cpu:.2f} s of CPU), {words}; ", end="")
        print(f"drbo is {other / seconds:.1f} times as quick ({other_cpu / cpu:.1f} in seconds of CPU)")
        row |= {"sklearn_timed_on": count, "sklearn_seconds": round(other, 2), "ratio": round(other / seconds, 2)}
        row |= {"sklearn_cpu_seconds": round(other_cpu, 2), "cpu_ratio": round(other_cpu / cpu, 2)}
    if options.save:
        table.save(options.save, [{**row, **table.stamp(options.device)}], ("families", "n", "device"))
