"""Logistic BIC for binary data: one logistic regression per family, many families at once."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from drbo.arrays import Floats, Indices
from drbo.data.statistics.levels import configurations
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.scores.base import BATCH_BYTES, Score
from drbo.scores.discrete import merge_rows
from drbo.scores.families import Families, row_groups

#: Weight of the squared coefficients: bounds them under separation; moves the log-likelihood by less than 1e-5.
RIDGE = 1e-10
#: Share of the trace of the information matrix added to its diagonal: damps steps along collinear directions.
DAMPING = 1e-13
#: A fit is finished when a Newton step promises less log-likelihood than this.
TOLERANCE = 1e-9
#: A likelihood that falls by less than this share of itself is rounding.
ROUNDING = 1e-14
#: Distinct rows up to which a local score with a few parents is cheap.
CHEAP_ROWS = 50_000
MAX_STEPS = 100
MAX_HALVINGS = 30


class LogisticBIC(Score):
    """Logistic BIC for binary data: ``2 sum_i LocalMLL_i - penalty |G| ln n``.

    ``local`` is LocalMLL, the maximised log-likelihood of a logistic regression (with intercept) of the node on its
    parents. Every column must have exactly two distinct values, which are read as 0 and 1 in their order.

    Where the parents separate the classes the likelihood has no maximum: it grows with the coefficients towards a
    bound. A tiny ridge keeps them finite, and ``local`` ends within 1e-5 of the bound.

    Examples
    --------
    >>> table = Statistics.from_array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1], [1, 0]])
    >>> score = LogisticBIC(table)
    >>> score.local(Families.from_sets(2, [(1, ()), (1, (0,))])).round(3).tolist()
    [-4.159, -3.819]
    """

    name = "logistic"
    assumption = "logistic regressions"
    words = ("Variables are binary; effects are additive on the logit scale.",)
    cell = 256  # the last bit of a product depends on how many there are
    evidence_scale = 2.0
    nested = True
    cheap = True
    independence = "g-test"

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        # Equal rows are merged, and d binary columns have at most 2^d distinct ones.
        self.cheap = self.cheap and min(table.n_rows, 2**self.n_nodes) <= CHEAP_ROWS
        self.gain = 2.0
        binary = _two_levels(table)
        self._counted = []  # per group of nodes with the same rows: columns (d, u) and how often each row occurs
        self._group_of = np.zeros(self.n_nodes, dtype=np.intp)
        for number, (members, rows) in enumerate(row_groups(self.targets, table.n_rows, self.n_nodes)):
            self._group_of[members] = number
            self._counted.append(merge_rows(binary[:, rows], np.full(self.n_nodes, 2)))

    def local(self, families: Families) -> Floats:
        """Return the maximised log-likelihood of each family."""
        values = np.empty(len(families))
        sizes = families.parents.sum(axis=1)
        groups = self._group_of[families.nodes]
        for group, size in sorted(set(zip(groups.tolist(), sizes.tolist(), strict=True))):
            columns, repeats = self._counted[group]
            rows = np.flatnonzero((groups == group) & (sizes == size))
            tabled = 2**size <= columns.shape[1]  # then all configurations are fewer than the rows
            problem = _tabled if tabled else _listed
            step = max(1, BATCH_BYTES // (32 * (2**size if tabled else columns.shape[1] * (size + 1))))
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                parents = families.padded(part, size)
                values[part] = maximised_likelihood(*problem(columns, repeats, families.nodes[part], parents))
        return values

    def parameters(self, families: Families) -> Indices:
        """Return the number of parents: each has one weight."""
        return families.sizes


def maximised_likelihood(
    design: Floats,  # (F, G, k), or (1, G, k) where all fits share it; the first column is the intercept
    total: Floats,  # (F, G) weight of each row
    ones: Floats,  # (F, G) weight of its ones
) -> Floats:
    """Return the maximised log-likelihood (F,) of F logistic regressions, by Newton's method with step halving."""
    shared = len(design) == 1
    rate = (ones.sum(axis=1) / total.sum(axis=1)).clip(1e-12, 1 - 1e-12)
    coefficients = np.zeros((len(total), design.shape[2]))
    coefficients[:, 0] = np.log(rate / (1 - rate))
    predictor = np.repeat(coefficients[:, :1], total.shape[1], axis=1)
    active = np.arange(len(total))
    for _ in range(MAX_STEPS):
        part = design if shared else design[active]
        weights = total[active], ones[active]
        step, promise = _newton_step(part, *weights, coefficients[active], predictor[active])
        move = step @ part[0].T if shared else (part @ step[:, :, None])[:, :, 0]
        scale = _halve(*weights, coefficients[active], step, predictor[active], move)
        coefficients[active] += scale * step
        predictor[active] += scale * move
        active = active[(promise > TOLERANCE) & (scale[:, 0] > 0)]
        if len(active) == 0:
            break
    return _likelihood(total, ones, predictor)


def _newton_step(
    design: Floats, total: Floats, ones: Floats, coefficients: Floats, predictor: Floats
) -> tuple[Floats, Floats]:
    """Return the step (F, k) and the rise of the objective that it promises (F,): near the maximum, the gap to it."""
    size = design.shape[2]
    probability = expit(predictor)
    excess = ones - total * probability
    weight = total * probability * (1 - probability)
    if len(design) == 1:
        gradient = excess @ design[0]
        products = (design[0][:, :, None] * design[0][:, None, :]).reshape(-1, size * size)
        information = (weight @ products).reshape(-1, size, size)
    else:
        gradient = (excess[:, None] @ design)[:, 0]
        information = (design * weight[:, :, None]).swapaxes(1, 2) @ design
    gradient -= RIDGE * coefficients
    damping = RIDGE + DAMPING * np.trace(information, axis1=1, axis2=2)
    information += damping[:, None, None] * np.eye(size)
    step: Floats = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
    return step, (gradient * step).sum(axis=1) / 2


def _halve(total: Floats, ones: Floats, coefficients: Floats, step: Floats, predictor: Floats, move: Floats) -> Floats:
    """Return (F, 1) the largest of 1, 1/2, 1/4, ... that does not lower the objective; 0 where there is none."""
    before = _objective(total, ones, coefficients, predictor)
    scale = np.ones((len(step), 1))
    for _ in range(MAX_HALVINGS):
        after = _objective(total, ones, coefficients + scale * step, predictor + scale * move)
        worse = after < before - ROUNDING * np.abs(before)
        if not worse.any():
            return scale
        scale[worse] /= 2
    scale[worse] = 0
    return scale


def _objective(total: Floats, ones: Floats, coefficients: Floats, predictor: Floats) -> Floats:
    ridge: Floats = RIDGE / 2 * (coefficients**2).sum(axis=1)
    return _likelihood(total, ones, predictor) - ridge


def _likelihood(total: Floats, ones: Floats, predictor: Floats) -> Floats:
    # ln(1 + exp(x)) = max(x, 0) + ln(1 + exp(-|x|)): all terms are positive, so nearly perfect fits lose no digits.
    loss = total * np.log1p(np.exp(-np.abs(predictor)))
    loss += np.where(predictor > 0, (total - ones) * predictor, -ones * predictor)
    likelihood: Floats = -loss.sum(axis=1)
    return likelihood


def _tabled(
    columns: npt.NDArray[np.int32],  # (d, u)
    repeats: Floats | None,
    nodes: Indices,  # (F,)
    parents: Indices,  # (F, p)
) -> tuple[Floats, Floats, Floats]:
    """Return the design (1, 2^p, p + 1) of all parent configurations and their counts (F, 2^p): all, and of ones."""
    size = parents.shape[1]
    counts = np.empty((len(nodes), 2**size, 2))
    for row, (node, members) in enumerate(zip(nodes, parents, strict=True)):
        code, _ = configurations(columns[[*members, node]], np.full(size + 1, 2))
        counts[row] = np.bincount(code, repeats, minlength=2 ** (size + 1)).reshape(-1, 2)
    bits = np.arange(2**size)[:, None] >> np.arange(size - 1, -1, -1) & 1  # the first parent is the top digit
    return _with_intercept(bits[None]), counts.sum(axis=2), counts[:, :, 1]


def _listed(
    columns: npt.NDArray[np.int32],
    repeats: Floats | None,
    nodes: Indices,
    parents: Indices,
) -> tuple[Floats, Floats, Floats]:
    """Return the design (F, u, p + 1) of the rows and their weights (F, u): all, and of ones."""
    weights = np.ones(columns.shape[1]) if repeats is None else repeats
    total = np.tile(weights, (len(nodes), 1))
    return _with_intercept(columns[parents].swapaxes(1, 2)), total, total * columns[nodes]


def _with_intercept(columns: npt.NDArray[Any]) -> Floats:
    return np.concatenate([np.ones((*columns.shape[:-1], 1)), columns], axis=-1)


def _two_levels(table: Statistics) -> npt.NDArray[np.int32]:
    """Return the columns (d, n) as 0 and 1, or say which one has not two distinct values."""
    binary = np.empty((table.n_columns, table.n_rows), dtype=np.int32)
    for column, name in enumerate(table.names):
        values = np.unique(table.values[:, column])
        if len(values) != 2:
            raise ScoreError(
                f"column '{name}' has {len(values)} distinct value{'s' * (len(values) != 1)}, but logistic "
                "requires exactly 2",
                hint="use score='auto', which chooses a score for more values; drop a constant column",
            )
        binary[column] = table.values[:, column] == values[1]
    return binary
