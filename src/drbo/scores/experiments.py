"""Linear BIC of a table from several experiments: which mechanisms change where is part of the score."""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.data.moments import Moments, moments
from drbo.data.table import Table
from drbo.errors import ScoreError, SettingsError
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.linear import COLLINEAR_PIVOT, RESIDUAL_FLOOR
from drbo.threads import crew

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: What may happen to a node in an experiment, as the compiled kernel takes it.
SHARED, FREE, SOFT, HARD = range(4)
#: Standard deviations of the noise by which intercepts drift, if nothing else is said.
DRIFT = 0.3
#: A column with fewer distinct values than this share of its rows was recorded in steps.
STEPPED_SHARE = 0.5


class Changes(NamedTuple):
    """What families are worth, and which experiments change the mechanism of their node."""

    worth: Floats  # (m,)
    changed: Bools  # (m, E)


class ExperimentBIC(Score):
    r"""Linear BIC with a noise variance per node, over the experiments of a table.

    A family is a node, its parents and the set S of experiments that change the node's mechanism. Experiments outside S
    share one regression; each experiment in S has a regression of its own. On the scale of ``bic-nv``, which is twice
    that of a log evidence, a family with p parents is worth

    .. math::
        \max_S \Big[-N_S \ln \mathrm{MSE} - c\,(p + 2) \ln N_S
        - \sum_{e \in S} \big(n_e \ln \mathrm{MSE}_e + c\,(p + 2) \ln n_e + 2 \ln d\big)\Big]

    with :math:`N_S` the rows outside S and c the penalty. The term :math:`2 \ln d` is a prior of about one target per
    experiment. The control is never in S. A known target is in S without that term; a hard one has no parents there,
    and neither has an experiment with fewer than 2 (p + 2) rows. No variance is below that of rounding to the step in
    which the column was recorded (its square / 12). With one experiment this is ``bic-nv``.

    S is found by changing one experiment at a time, from "none changes the node" and from "all do", until no change
    pays. Graphs tie if they have the same class together with the targets (Yang, Katcoff & Uhler 2018).

    Parameters
    ----------
    table : with its experiments; without any, all rows are those of the control.
    others : ``"unknown"``: an experiment with known targets may change other columns, too; ``"none"``: it does not.
    drift : intercepts of mechanisms that an experiment does not change may still deviate a little in it, with so many
        times the standard deviation of the noise; True: 0.3. Shifts of that size are then no targets. The deviations
        are integrated out.
    penalty, edge_prior : as in :class:`~drbo.scores.base.Score`.

    Examples
    --------
    >>> from drbo.data.experiments import Experiments
    >>> rng = np.random.default_rng(0)
    >>> heated = np.repeat([0, 1], 100)
    >>> heat = rng.normal(size=200) + 3 * heated
    >>> values = np.column_stack([heat, heat + rng.normal(size=200)])
    >>> table = Table(values, ("heat", "growth"), ("numeric",) * 2, (None,) * 2,
    ...     experiments=Experiments(heated, ("control", "heated")))
    >>> score = ExperimentBIC(table)
    >>> score.changes(Families.from_sets(2, [(0, ()), (1, (0,))])).changed.tolist()
    [[False, True], [False, False]]
    """

    name = "bic-experiments"
    score_equivalent = False
    assumption = "the experiments"
    evidence_scale = 2.0
    row_weights = "any"
    cheap = True
    by_experiment = True

    def __init__(
        self,
        table: Table,
        *,
        penalty: float | Literal["ebic"] = 1.0,
        edge_prior: npt.ArrayLike | None = None,
        others: Literal["unknown", "none"] = "unknown",
        drift: float | bool = False,
    ) -> None:
        super().__init__(table, penalty=penalty, edge_prior=edge_prior)
        self._need_numbers(table)
        if others not in ("unknown", "none"):
            raise SettingsError(
                f"others must be 'unknown' or 'none', got {others!r}",
                hint="'none': an experiment with known targets changes nothing else",
            )
        if not isinstance(drift, (int, float)) or not 0 <= drift < np.inf:
            raise SettingsError(
                f"drift must be True, False or a number of standard deviations >= 0, got {drift!r}",
                hint=f"True is {DRIFT}",
            )
        self.drift = DRIFT if drift is True else float(drift)
        found = _moments(table)
        self.labels = ("control",) if table.experiments is None else table.experiments.labels
        self.rows = np.array([part.n for part in found])  # (E,)
        self._set_rows(np.full(self.n_nodes, self.rows.sum()), self.penalty)
        self.states = _states(table, others)  # (E, d)
        share = self.rows / self.rows.sum()
        centre = share @ np.array([part.mean for part in found])
        shifts = np.array([part.mean - centre for part in found])
        variance = share @ np.array([np.diag(part.covariance) + s**2 for part, s in zip(found, shifts, strict=True)])
        if (variance <= 0).any():
            raise ScoreError(f"column '{self.names[int(np.argmin(variance))]}' is constant")
        scale = np.sqrt(variance)
        self.log_variance = np.log(variance)  # (d,)
        self._means = shifts / scale  # (E, d)
        self._covariances = np.array([part.covariance for part in found]) / np.outer(scale, scale)  # (E, d, d)
        steps = np.array([recording_step(column) for column in table.values.T])
        self._floors = np.maximum(steps**2 / 12 / variance, RESIDUAL_FLOOR)  # (d,)
        self.gain = self.n_rows

    def local(self, families: Families) -> Floats:
        """Return the worth of each family without the price of its parents, per row."""
        factor = 1.0 if isinstance(self.penalty, str) else self.penalty
        kept = factor * (families.sizes + 2) * np.log(self.n_rows[families.nodes])
        found: Floats = (self.changes(families).worth + kept) / self.n_rows[families.nodes]
        return found

    def changes(self, families: Families, fixed: npt.NDArray[np.int64] | None = None) -> Changes:
        """Return the worth of families and the sets S; ``fixed`` (E, d) replaces what may change."""
        sizes = families.sizes
        starts = np.concatenate([[0], np.cumsum(sizes)])
        nodes, members = (np.ascontiguousarray(part) for part in (families.nodes, np.nonzero(families.parents)[1]))
        work = int(((sizes + 1) ** 2 * (sizes + 8)).sum()) * len(self.rows)
        factor = 1.0 if isinstance(self.penalty, str) else self.penalty
        worth, changed = _core.experiment_families(
            self._means, self._covariances, self.rows, self._floors, self.states if fixed is None else fixed,
            factor, 2 * np.log(self.n_nodes), COLLINEAR_PIVOT, self.drift**2, nodes, starts, members, crew(work),
        )  # fmt: skip
        return Changes(worth - self.n_rows[nodes] * self.log_variance[nodes], changed)

    def parameters(self, families: Families) -> npt.NDArray[np.intp]:
        """Return the number of parents: each has one weight, beside those of changed mechanisms."""
        return families.sizes

    def shared_covariances(self, changed: Bools) -> Floats:  # (d, E) -> (d, d, d)
        """Return, for each node, the covariance in standard units of all columns over experiments outside its S."""
        shared = np.empty((self.n_nodes,) * 3)
        for node, left in enumerate(~changed):
            weight = self.rows[left] / self.rows[left].sum()
            mean = weight @ self._means[left]
            second = self._covariances[left] + self._means[left][:, :, None] * self._means[left][:, None, :]
            shared[node] = np.tensordot(weight, second, 1) - np.outer(mean, mean)
        return shared


def recording_step(column: Floats) -> float:
    """Return the typical distance of neighbouring values of a column that was recorded in steps; 0: it was not.

    Examples
    --------
    >>> recording_step(np.array([0.5, 1.0, 0.5, 1.5, 1.0, 1.0])), recording_step(np.array([0.1, 0.25, 0.7]))
    (0.5, 0.0)
    """
    distinct = np.unique(column)
    stepped = 2 <= len(distinct) < STEPPED_SHARE * len(column) + 1
    return float(np.median(np.diff(distinct))) if stepped and len(distinct) < len(column) else 0.0


def _moments(table: Table) -> list[Moments]:
    """Return the moments of each experiment, the control first."""
    if table.experiments is None:
        return [moments(table.values, table.weights)]
    found = []
    for code in range(len(table.experiments.labels)):
        rows = table.experiments.codes == code
        found.append(moments(table.values[rows], None if table.weights is None else table.weights[rows]))
    return found


def _states(table: Table, others: str) -> npt.NDArray[np.int64]:
    """Return what may happen to each column in each experiment (E, d)."""
    if table.experiments is None:
        return np.full((1, table.n_columns), SHARED, dtype=np.int64)
    kinds = table.experiments.kinds(table.names)
    states = np.select([kinds == "soft", kinds == "hard"], [SOFT, HARD], FREE).astype(np.int64)
    if others == "none":
        listed = (kinds != "").any(axis=1)
        states[listed[:, None] & (states == FREE)] = SHARED
    states[0] = SHARED
    return states
