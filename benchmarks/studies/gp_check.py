"""The paper's GP score against its published fingerprints and against scikit-learn's regressor.

    DRBO_DATA=... python -m benchmarks gp_check

Fingerprints: the score / (n d) of the true graphs of the GraN-DAG sets 1 to 5 (alpha = 1) and of Sachs (standardised,
distances divided by their median, alpha = 1e-8), computed by the authors' rules; 2e-4 is the tolerance of length-scale
optimisers. Then random families of the five sets: the log of the MSE where both optimisers end at the same scale,
and the log marginal likelihood, which must never be worse than scikit-learn's.
"""

import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks import gran_dag
from benchmarks.methods.metrics import dag_score
from benchmarks.parameters import Numbers
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families
from drbo.scores.gp.paper import GpNV

#: Score / (n d) of the true graphs.
FINGERPRINTS = {1: 2.025187, 2: 2.104144, 3: 1.964476, 4: 1.595706, 5: 1.905034}
SACHS = 1.164726
TOLERANCE = 2e-4
#: Length scales closer than this, in logs, are the same.
SAME_SCALE = 1e-4


def fingerprint(name: str, score: GpNV, dag: npt.NDArray[np.bool_], scale: int, expected: float) -> Row:
    """Return the score of a true graph beside the published one."""
    value = dag_score(score, dag) / scale
    row = {"data": name, "check": "fingerprint", "value": round(value, 6), "expected": expected}
    return {**row, "ok": abs(value - expected) <= TOLERANCE}


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


def against_sklearn(name: str, values: npt.NDArray[np.float64], count: int, rng: np.random.Generator) -> Row:
    """Compare random families of one data set with scikit-learn's fits."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    families = random_families(values.shape[1], count, rng)
    fit = GpNV(Statistics.from_array(values)).fit(families)
    shortfall, differences = [], []
    for row in range(count):
        inputs, y = values[:, families.parents[row]], values[:, families.nodes[row]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a length scale at the end of its range
            other = GaussianProcessRegressor(RBF(1.0, (1.0, 1e5)), alpha=1.0).fit(inputs, y)
        shortfall.append(other.log_marginal_likelihood_value_ - fit.log_likelihood[row])
        if abs(np.log(fit.length_scale[row]) - other.kernel_.theta[0]) < SAME_SCALE:
            differences.append(abs(np.log(np.mean((y - other.predict(inputs)) ** 2)) - fit.log_mse[row]))
    return {
        "data": name,
        "check": "scikit-learn",
        "families": count,
        "same_length_scale": len(differences),
        "largest_difference": f"{max(differences):.1e}",
        "likelihood_shortfall": f"{max(shortfall):.1e}",
        "ok": max(differences) <= 1e-4 and max(shortfall) <= 1e-4,
    }


@study("gp_check", "data check", sets=(1,), families=2)
def run(
    sets: Annotated[Numbers, "GraN-DAG's data sets"] = gran_dag.SETS,
    families: Annotated[int, "random families, divided among the data sets"] = 200,
) -> Iterator[Row]:
    """Yield the fingerprints, then the comparison with scikit-learn."""
    for number in sets:
        values, dag = gran_dag.data_set(number)
        yield fingerprint(f"set {number}", GpNV(Statistics.from_array(values)), dag, values.size, FINGERPRINTS[number])
    values, dag = sachs(gran_dag.data_folder() / "sachs")
    score = GpNV(Statistics.from_array(values), alpha=1e-8, median_scale=True, standardize=True)
    yield fingerprint("sachs", score, dag, values.size, SACHS)
    rng = np.random.default_rng(4)
    for number in sets:
        yield against_sklearn(f"set {number}", gran_dag.data_set(number)[0], -(-families // len(sets)), rng)
