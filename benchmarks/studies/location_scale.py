"""Would a score whose noise may change its spread with the causes find better graphs than the spline scores?

    python -m benchmarks location_scale

``splines-ls``: mean and log variance of a column are both additive in natural splines of its parents, by maximum
likelihood, with twice the parameters of ``splines``. Tables of six columns, of the kinds of ``directions``, and
independent columns (``null``). Seeds 100 and up: nothing is reported on them but this choice.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.experiments.kinds import KINDS, SCALES, simulated
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.false_edges import independent
from benchmarks.studies.study import study
from drbo import DrBO, Families
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import unit_free, winsorized
from drbo.graph.metrics import shd
from drbo.scores.base import Score
from drbo.scores.splines import natural_spline

Floats = npt.NDArray[np.float64]
COLUMNS, EDGES, DF = 6, 7, 5
#: Steps of the likelihood, and the logarithms of the largest and smallest variance, relative to the mean.
STEPS, MOST = 6, 5.0
#: Plain tables of ``directions``, and the scales on which they are measured.
PLAIN = (*KINDS[:7], *SCALES)


def log_spread(response: Floats, mean: Floats, spread: Floats) -> float:
    """Return the smallest mean log variance of a response whose mean and log variance are linear in two bases."""
    eta = np.full(len(response), np.log(response.var()))
    best = float(eta.mean())
    for _ in range(STEPS):
        root = np.exp(-0.5 * eta)
        fitted = mean @ np.linalg.lstsq(mean * root[:, None], response * root, rcond=None)[0]
        squares = np.square(response - fitted)
        level = np.log(np.mean(squares / np.exp(eta)))  # of all variances at once
        best, eta = min(best, float(eta.mean() + level)), eta + level
        step = np.clip(squares / np.exp(eta) - 1.0, None, 2.0)  # Fisher scoring, cut off where it would overshoot
        eta = spread @ np.linalg.lstsq(spread, eta + step, rcond=None)[0]
        eta = np.clip(eta, eta.mean() - MOST, eta.mean() + MOST)
    return best


class SplinesLS(Score):
    """Additive splines for the mean and the log variance of every column: ``-n sum_i mean(ln var_i) - penalty``."""

    name = "splines-ls"
    assumption = "nonlinear effects, noise whose spread depends on the causes"
    evidence_scale = 2.0
    cheap = True

    def __init__(self, table: Statistics, **options: object) -> None:
        super().__init__(table, **options)
        self.columns = unit_free(winsorized(table.values))
        self.bases = [natural_spline(column, DF) * len(column) ** 0.5 for column in self.columns.T]
        self.gain = self.n_rows

    def local(self, families: Families) -> Floats:
        """Return minus the mean log variance that the parents leave."""
        found = []
        for node, parents in zip(families.nodes, families.parents, strict=True):
            one = np.ones((len(self.columns), 1))
            basis = np.hstack([one, *(self.bases[k] for k in np.flatnonzero(parents))])
            found.append(-log_spread(self.columns[:, node], basis, basis))
        return np.array(found)

    def parameters(self, families: Families) -> npt.NDArray[np.intp]:
        """Return those of the mean and of the spread."""
        return 2 * DF * families.sizes


@study("location_scale", "kind n seed score", seeds=range(100, 101), kinds=("additive",), rows=(100,))
def run(
    seeds: Seeds = range(100, 104),
    rows: Annotated[Numbers, "rows of the tables"] = (1_000,),
    kinds: Annotated[Names, "kinds of tables, and null"] = (*PLAIN, "null"),
    scores: Annotated[Names, "scores"] = ("splines", "splines-ranks", "splines-ls"),
) -> Iterator[Row]:
    """Yield how the graph of every score compares with the true one."""
    for kind in kinds:
        for n in rows:
            for seed in seeds:
                if kind == "null":
                    values = independent("t3", n, seed, units=False, d=COLUMNS).to_numpy()
                    truth = np.zeros((COLUMNS, COLUMNS), dtype=bool)
                else:
                    values, truth = simulated(kind, n, seed, n_nodes=COLUMNS, n_edges=EDGES)
                for name in scores:
                    score = f"{__name__}:SplinesLS" if name == "splines-ls" else name
                    options = {"penalty": "ebic"}
                    result = DrBO(score=score, score_options=options, random_state=seed).fit(values).result_
                    found = {"edges": int(result.dag.sum()), "shd": shd(result.dag, truth)}
                    yield {"kind": kind, "n": n, "seed": seed, "score": name, **found}
