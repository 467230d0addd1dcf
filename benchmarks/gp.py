"""Nonlinear data with Gaussian processes (GraN-DAG's 10-node, 40-edge sets 1 to 5), score gp-nv.

    DRBO_DATA=... python -m benchmarks gp --seeds 3 --evals 2000

The optimum of the score is known: the table of all local scores beside the data gives it by dynamic programming.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from drbo.claims.prune import prune
from drbo.data.table import Table
from drbo.metrics import compare
from drbo.scores.base import Families, Score
from drbo.scores.gp_paper import GpNV
from drbo.scores.splines import SplineScore
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Search, run
from drbo.search.subset_dp import best_dag
from drbo.settings import Settings

KEY = ("id", "preset", "evals", "device", "seed")
#: Optimisers of the length scale differ by this much of the score per row and node.
TOLERANCE = 2e-4


class TableScore(Score):
    """BIC with a noise variance per node from a table of all ln MSE, as if each were expensive."""

    name = "gp-table"
    cheap = True  # route auto may climb over orders: a look-up costs nothing

    def __init__(self, data: Table, values: np.ndarray) -> None:
        super().__init__(data)
        self.data, self.values = data, values
        self.gain = torch.as_tensor(-self.n_rows)

    def local(self, families: Families) -> np.ndarray:
        """Look the families up."""
        found: np.ndarray = self.values[families.nodes, families.parents @ (1 << np.arange(self.n_nodes))]
        return found

    def relative(self) -> Score:
        """Additive splines, as for the score whose table this is."""
        return SplineScore(self.data)

    def parameters(self, nodes: torch.Tensor, parents: torch.Tensor) -> torch.Tensor:
        """One weight per parent, as in the paper."""
        return parents.sum(-1)


def optimum(values: np.ndarray, n: int) -> np.ndarray:
    """Return the best DAG under the table of local scores (d, 2^d) of one data set."""
    d = len(values)
    nodes, masks = np.divmod(np.arange(d << d), 1 << d)
    kept = (masks >> nodes) & 1 == 0
    nodes, masks = nodes[kept], masks[kept]
    shares = -n * values[nodes, masks] - np.bitwise_count(masks) * np.log(n)
    return best_dag(d, nodes, masks, shares)


def one_run(
    number: int, seed: int, data: np.ndarray, truth: np.ndarray, best: np.ndarray, options: argparse.Namespace
) -> table.Row:
    """Search one data set and return its row."""
    score = GpNV(Table.from_array(data), device=options.device)
    settings = Settings.preset(options.preset).with_(max_evals=options.evals)
    scale = data.size
    start, cpu_start = time.perf_counter(), time.process_time()
    outcome = run(Search(score, settings, seed=seed, device=options.device))
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    top = Evaluator(score, settings).evaluate(best[None]).scores[0]
    found = outcome.best.dags[0]
    pruned, _ = prune("cam", data, found)
    return {
        "id": number,
        "preset": options.preset,
        "evals": options.evals,
        "seed": seed,
        "score": round(float(outcome.best.scores[0]) / scale, 6),
        "optimum": round(float(top) / scale, 6),
        "optimum_reached": bool(outcome.best.scores[0] / scale >= top / scale - TOLERANCE),
        "shd": compare(found, truth).shd,
        "shd_cam": compare(pruned, truth).shd,
        "shd_optimum": compare(best, truth).shd,
        "n_evals": outcome.n_evals,
        "n_local": outcome.n_local,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_seconds, 2),
        **table.stamp(options.device),
    }


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="paper-gp", choices=["paper-gp", "default"])
    parser.add_argument("--ids", default="1,2,3,4,5")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--evals", type=int, default=2_000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args(arguments)
    if "DRBO_DATA" not in os.environ:
        raise SystemExit("set DRBO_DATA to the folder that holds gran_dag/")
    folder = Path(os.environ["DRBO_DATA"]) / "gran_dag"
    sets = np.load(folder / "p10_e40_n1000_gp_ids1to5.npz")
    tables = np.load(folder / "gp_local_scores_ids1to5.npz")
    found = []
    for number in map(int, options.ids.split(",")):
        data, truth = sets["X"][number - 1], sets["A"][number - 1].astype(bool)
        best = optimum(tables[f"T{number}"], len(data))
        for seed in range(options.seeds):
            row = one_run(number, seed, data, truth, best, options)
            found.append(row)
            if options.save:
                table.save(options.save, [row], KEY)
            print(
                f"set {number} seed {seed}: score/(nd) {row['score']} (optimum {row['optimum']}), SHD {row['shd']} "
                f"(the optimum's own: {row['shd_optimum']}), after CAM pruning {row['shd_cam']}, "
                f"{row['n_evals']} evaluations, {row['n_local']} local scores, {row['seconds']} s "
                f"({row['cpu_seconds']} s of CPU)",
                flush=True,
            )
    reached = sum(row["optimum_reached"] for row in found)
    print(f"\noptimum reached in {reached} of {len(found)} runs, on {found[0]['machine']}")
    for words, name in (("SHD", "shd"), ("SHD after CAM pruning", "shd_cam"), ("local scores", "n_local")):
        print(f"{words} {table.spread(row[name] for row in found)}")
    print(f"seconds {table.spread(row['seconds'] for row in found)}")
