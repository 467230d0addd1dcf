"""Pruning by odds: is the weight of a doubtful edge more like those of clear edges, or more like noise?

Where noise variances are equal, weights of different edges can be compared. The clear edges of the graph show how large
real weights are, and how many of the pairs are joined. For a doubtful edge with weight w and standard error s, Bayes'
rule then compares two explanations (Efron 2010, "Large-Scale Inference"): no edge, w ~ N(0, s^2); or an edge like the
clear ones, w ~ their smoothed distribution, blurred by s. An edge with w = 0.5, s = 0.16 and one with w = 0.1, s = 0.03
have the same p-value; among clear edges that all exceed 0.4 the first is kept and the second is not.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.answer.prune import DEFAULT_THRESHOLDS, PRUNERS, Details
from drbo.data.statistics.moments import Moments
from drbo.data.statistics.regressions import Regressions

#: An edge is clear when its weight is more than this many standard errors.
CLEAR = 5.0
#: With fewer clear edges nothing is known about real weights: the F test decides.
LEAST_CLEAR = 10
#: A normal distribution's interquartile range, in standard deviations.
NORMAL_QUARTILES = 1.349


@dataclass(frozen=True)
class Clear:
    """What the clear edges of a graph show: their weights, a bandwidth to smooth them, the share of joined pairs."""

    sizes: Floats  # (k,)
    bandwidth: float
    share: float

    def probability(
        self,
        weights: npt.ArrayLike,  # (m,)
        errors: npt.ArrayLike,  # (m,) standard errors; inf: nothing is known about the weight
    ) -> Floats:
        """Return how likely edges with these weights are real."""
        size, error = np.abs(np.asarray(weights, dtype=float)), np.asarray(errors, dtype=float)
        known = np.isfinite(error) & (error > 0)
        spread = np.hypot(self.bandwidth, error[known])[:, None]
        sides = np.stack([size[known][:, None] - self.sizes, size[known][:, None] + self.sizes])
        real = np.exp(-0.5 * (sides / spread) ** 2).sum(axis=0).mean(axis=1) / (2 * spread[:, 0])
        noise = np.exp(-0.5 * (size[known] / error[known]) ** 2) / error[known]
        probability = np.where(error == 0, 1.0, 0.0)
        with np.errstate(invalid="ignore"):  # 0 / 0: as far from the clear edges as from 0
            probability[known] = np.nan_to_num(
                self.share * real / (self.share * real + (1 - self.share) * noise), nan=1.0
            )
        return probability


def clear_edges(regressions: Regressions, dag: Bools) -> Clear | None:
    """Return what the clear edges show; None where they are too few."""
    sizes: list[float] = []
    for node in np.flatnonzero(dag.any(axis=0)):
        weights, errors = _raw(regressions, node, np.flatnonzero(dag[:, node]))
        sizes += np.abs(weights[np.abs(weights) > CLEAR * errors]).tolist()
    if len(sizes) < LEAST_CLEAR:
        return None
    d, deviation = len(dag), float(np.std(sizes))
    quartiles = float(np.subtract(*np.percentile(sizes, [75, 25]))) / NORMAL_QUARTILES
    spread = min(deviation, quartiles) or deviation or float(np.mean(sizes))
    bandwidth = 0.9 * spread * len(sizes) ** -0.2  # Silverman's rule
    return Clear(np.array(sizes), bandwidth, (len(sizes) + 1) / (d * (d - 1) / 2 + 2))


def prune_odds(values: Floats | Moments, dag: Bools, *, required: Bools, alpha: float) -> tuple[Bools, Details]:
    """Drop, node by node, the least likely parent while its probability is at most ``alpha``; fit again after each."""
    regressions = Regressions.of(values, len(dag))
    clear = clear_edges(regressions, dag)
    if clear is None:
        return PRUNERS["f-test"](values, dag, required=required, alpha=DEFAULT_THRESHOLDS["f-test"])
    kept = dag.copy()
    probability = np.full(dag.shape, np.nan)
    for node in np.flatnonzero(dag.any(axis=0)):
        while (parents := np.flatnonzero(kept[:, node])).size:
            probability[parents, node] = clear.probability(*_raw(regressions, node, parents))
            free = parents[~required[parents, node]]
            unlikely = free[probability[free, node] <= alpha]
            if len(unlikely) == 0:
                break
            kept[unlikely[np.argmin(probability[unlikely, node])], node] = False
    return kept, {"statistic": "probability", "values": probability}


def _raw(regressions: Regressions, node: np.intp, parents: Indices) -> tuple[Floats, Floats]:
    """Return weights and standard errors of a node's parents, in the units of the data."""
    weights, errors, _ = regressions.fit(int(node), parents)
    scale = regressions.deviation[node] / regressions.deviation[parents]
    return weights * scale, errors * scale
