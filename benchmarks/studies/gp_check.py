"""The paper's GP score against its published fingerprints and against scikit-learn's regressor.

    DRBO_DATA=... python -m benchmarks gp_check --save benchmarks/rows/gp_check.csv

Fingerprints: the score / (n d) of the true graphs of the GraN-DAG sets 1 to 5 (alpha = 1) and of Sachs (standardised,
distances divided by their median, alpha = 1e-8), computed by the authors' rules; 2e-4 is the tolerance of length-scale
optimisers. Then random families of the five sets: the log of the MSE where both optimisers end at the same scale,
and the log marginal likelihood, which must never be worse than scikit-learn's.
"""

import argparse
import csv
import os
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import rows as table
from benchmarks.methods.metrics import dag_score
from drbo.data.table import Table
from drbo.scores.base import Families
from drbo.scores.gp_paper import GpNV

KEY = ("data", "check")
#: Score / (n d) of the true graphs.
FINGERPRINTS = {"set 1": 2.025187, "set 2": 2.104144, "set 3": 1.964476, "set 4": 1.595706, "set 5": 1.905034}
SACHS = 1.164726
TOLERANCE = 2e-4
#: Length scales closer than this, in logs, are the same.
SAME_SCALE = 1e-4


def fingerprints(folder: Path) -> list[table.Row]:
    """Return the scores of the true graphs beside the published ones."""
    sets = np.load(folder / "gran_dag" / "p10_e40_n1000_gp_ids1to5.npz")
    found = []
    for number, (name, expected) in enumerate(FINGERPRINTS.items()):
        values, dag = sets["X"][number], sets["A"][number].astype(bool)
        found.append(fingerprint(name, GpNV(Table.from_array(values)), dag, values.size, expected))
    values, dag = sachs(folder / "sachs")
    score = GpNV(Table.from_array(values), alpha=1e-8, median_scale=True, standardize=True)
    return [*found, fingerprint("sachs", score, dag, values.size, SACHS)]


def fingerprint(name: str, score: GpNV, dag: npt.NDArray[np.bool_], scale: int, expected: float) -> table.Row:
    value = dag_score(score, dag) / scale
    row = {"data": name, "check": "fingerprint", "value": round(value, 6), "expected": expected}
    good = abs(value - expected) <= TOLERANCE
    print(
        f"{name}: score/(nd) of the true graph {value:.6f}, expected {expected}: {'ok' if good else 'OUT'}", flush=True
    )
    return {**row, "ok": good, **table.stamp("cpu")}


def sachs(folder: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the Sachs data and their 17 known edges."""
    with (folder / "observations.csv").open() as file:
        names, *lines = csv.reader(file)
    dag = np.zeros((len(names), len(names)), dtype=bool)
    with (folder / "edges.csv").open() as file:
        for source, target in list(csv.reader(file))[1:]:
            dag[names.index(source), names.index(target)] = True
    return np.array(lines, dtype=float), dag


def random_families(d: int, count: int, rng: np.random.Generator) -> Families:
    """Return families with 1 to d - 1 parents, every number equally likely."""
    orders = [rng.permutation(d) for _ in range(count)]
    return Families.from_sets(d, [(order[0], order[1 : 1 + rng.integers(1, d)]) for order in orders])


def against_sklearn(name: str, values: npt.NDArray[np.float64], count: int, rng: np.random.Generator) -> table.Row:
    """Compare random families of one data set with scikit-learn's fits."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    families = random_families(values.shape[1], count, rng)
    fit = GpNV(Table.from_array(values)).fit(families)
    shortfall, differences = [], []
    for row in range(count):
        inputs, y = values[:, families.parents[row]], values[:, families.nodes[row]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a length scale at the end of its range
            other = GaussianProcessRegressor(RBF(1.0, (1.0, 1e5)), alpha=1.0).fit(inputs, y)
        shortfall.append(other.log_marginal_likelihood_value_ - fit.log_likelihood[row])
        if abs(np.log(fit.length_scale[row]) - other.kernel_.theta[0]) < SAME_SCALE:
            differences.append(abs(np.log(np.mean((y - other.predict(inputs)) ** 2)) - fit.log_mse[row]))
    print(
        f"{name}: {count} families, the same length scale in {len(differences)}, there ln MSE differs by at most "
        f"{max(differences):.1e}; log likelihood worse than scikit-learn's by at most {max(shortfall):.1e}",
        flush=True,
    )
    return {
        "data": name,
        "check": "scikit-learn",
        "families": count,
        "same_length_scale": len(differences),
        "largest_difference": f"{max(differences):.1e}",
        "likelihood_shortfall": f"{max(shortfall):.1e}",
        "ok": max(differences) <= 1e-4 and max(shortfall) <= 1e-4,
        **table.stamp("cpu"),
    }


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", type=int, default=200)
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows")
    options = parser.parse_args(arguments)
    if "DRBO_DATA" not in os.environ:
        raise SystemExit("set DRBO_DATA to the folder that holds gran_dag/ and sachs/")
    folder = Path(os.environ["DRBO_DATA"])
    found = fingerprints(folder)
    rng = np.random.default_rng(4)
    for number, values in enumerate(np.load(folder / "gran_dag" / "p10_e40_n1000_gp_ids1to5.npz")["X"]):
        found.append(against_sklearn(f"set {number + 1}", values, -(-options.families // 5), rng))
    if options.save:
        table.save(options.save, found, KEY)
