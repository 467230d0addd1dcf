"""BIC of a table from several experiments, with lines or splines: which mechanisms change is part of the score."""

from typing import Any, ClassVar, Literal

import numpy as np

from drbo import _core
from drbo.arrays import Bools, Floats, Indices, Ints
from drbo.data.statistics.moments import Moments, moments
from drbo.data.statistics.regressions import edge_weights
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.units import unit_free, winsorized
from drbo.errors import ScoreError, SettingsError
from drbo.machine.threads import crew
from drbo.scores.by_experiment import SHARED, ByExperiment, Changes
from drbo.scores.families import Families
from drbo.scores.forms import COLLINEAR_PIVOT, RESIDUAL_FLOOR
from drbo.scores.options import check_numbers
from drbo.scores.splines import OUTER_KNOTS, checked_df, natural_spline

#: Standard deviations of the noise by which intercepts drift, if nothing else is said.
DRIFT = 0.3
#: A column with fewer distinct values than this share of its rows was recorded in steps.
STEPPED_SHARE = 0.5
#: Products of spline functions in all experiments, at most: 256 MiB. Larger tables are not searched for bends.
MOST_PRODUCTS = 2**25


class ExperimentBIC(ByExperiment):
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
    drift : intercepts of mechanisms that an experiment does not change may still deviate a little in it, with so many
        times the standard deviation of the noise; True: 0.3. Shifts of that size are then no targets. The deviations
        are integrated out.
    options : those of :class:`ByExperiment`.

    Examples
    --------
    >>> from drbo.data.checks.experiments import Experiments
    >>> rng = np.random.default_rng(0)
    >>> heated = np.repeat([0, 1], 100)
    >>> heat = rng.normal(size=200) + 3 * heated
    >>> values = np.column_stack([heat, heat + rng.normal(size=200)])
    >>> table = Statistics(values, ("heat", "growth"), ("numeric",) * 2, (None,) * 2,
    ...     experiments=Experiments(heated, ("control", "heated")))
    >>> score = ExperimentBIC(table)
    >>> score.changes(Families.from_sets(2, [(0, ()), (1, (0,))])).changed.tolist()
    [[False, True], [False, False]]
    """

    name = "bic-experiments"
    row_weights: Literal["none", "counts", "any"] = "any"
    cheap = True
    mechanism: Literal["linear", "splines"] | None = "linear"

    def __init__(self, table: Statistics, *, drift: float | bool = False, **options: Any) -> None:
        super().__init__(table, **options)
        check_numbers(table, self.name)
        if not isinstance(drift, (int, float)) or not 0 <= drift < np.inf:
            raise SettingsError(
                f"drift must be True, False or a number of standard deviations >= 0, got {drift!r}",
                hint=f"True is {DRIFT}",
            )
        self.drift = DRIFT if drift is True else float(drift)
        constant = np.ptp(table.values, axis=0) == 0
        if constant.any():
            raise ScoreError(f"column '{self.names[int(np.argmax(constant))]}' is constant")
        values, self.owner = self._expanded(table)  # D columns as they enter, first the variables themselves
        found = _moments(values, table)
        self.rows = np.array([part.n for part in found])  # (E,)
        self._set_rows(np.full(self.n_nodes, self.rows.sum()), self.penalty)
        share = self.rows / self.rows.sum()
        centre = share @ np.array([part.mean for part in found])
        shifts = np.array([part.mean - centre for part in found])
        variance = share @ np.array([np.diag(part.covariance) + s**2 for part, s in zip(found, shifts, strict=True)])
        scale = np.sqrt(variance)
        self.log_variance = np.log(variance[: self.n_nodes])  # (d,)
        self._means = shifts / scale  # (E, D)
        self._covariances = np.array([part.covariance for part in found]) / np.outer(scale, scale)  # (E, D, D)
        steps = np.array([recording_step(column) for column in values.T[: self.n_nodes]])
        self._floors = np.ones(len(variance))  # (D,)
        self._floors[: self.n_nodes] = np.maximum(steps**2 / 12 / variance[: self.n_nodes], RESIDUAL_FLOOR)
        self.gain = self.n_rows

    def _expanded(self, table: Statistics) -> tuple[Floats, Indices]:
        """Return the variables, functions of them (n, D), and the variable behind each of the last columns."""
        return table.values, np.arange(self.n_nodes)

    def changes(self, families: Families, fixed: Ints | None = None) -> Changes:
        """Return the worth of families and the sets S; ``fixed`` (E, d) replaces what may change."""
        entering = families.parents[:, self.owner]
        sizes, width = entering.sum(axis=1), len(self._floors)
        nodes, starts, members = Families(families.nodes, entering).flat()
        states = np.full((len(self.rows), width), SHARED, dtype=np.int64)
        states[:, : self.n_nodes] = self.states if fixed is None else fixed
        work = int(((sizes + 1) ** 2 * (sizes + 8)).sum()) * len(self.rows)
        worth, changed = _core.experiment_families(
            self._means, self._covariances, self.rows, self._floors, states, self.charge, 2 * np.log(self.n_nodes),
            COLLINEAR_PIVOT, self.drift**2, nodes, starts, members + width - len(self.owner), crew(work),
        )  # fmt: skip
        return Changes(worth - self.n_rows[nodes] * self.log_variance[nodes], changed)

    def charged(self, families: Families) -> Indices:
        """Return the weights of a regression, its intercept and its variance."""
        return np.asarray(families.parents[:, self.owner].sum(axis=1) + 2)

    def parameters(self, families: Families) -> Indices:
        """Return the number of parents: each has one weight, beside those of changed mechanisms."""
        return families.sizes

    def weights(self, table: Statistics, dag: Bools) -> tuple[Floats, Floats] | None:
        """Return the least-squares weights of each node over the experiments that do not change it."""
        place = np.array([table.names.index(name) for name in self.names])
        graph, standardised = dag[np.ix_(place, place)], np.zeros(dag.shape)
        left = ~self.changes(Families.from_dags(graph[None])).changed
        for node in np.flatnonzero(graph.any(axis=0)).tolist():
            covariance = self._shared_covariance(np.append(np.flatnonzero(graph[:, node]), node), left[node])
            family = np.zeros(covariance.shape, dtype=bool)
            family[:-1, -1] = True
            weights = edge_weights(covariance, family, covariance=True)[0][:-1, -1]
            standardised[place[graph[:, node]], place[node]] = weights
        deviations = np.empty(len(place))
        deviations[place] = np.exp(self.log_variance / 2)
        return standardised * deviations / deviations[:, None], standardised

    def _shared_covariance(self, family: Indices, left: Bools) -> Floats:
        """Return the covariance of some columns of variance 1, over the experiments that are left."""
        weight, means = self.rows[left] / self.rows[left].sum(), self._means[left][:, family]
        covariances = self._covariances[np.ix_(np.flatnonzero(left), family, family)]
        mean = weight @ means
        second = covariances + means[:, :, None] * means[:, None, :]
        found: Floats = np.tensordot(weight, second, 1) - np.outer(mean, mean)
        return found

    def bent(self, table: Statistics, families: Families) -> Bools | None:
        """Return (m, E) True where curved effects explain a column better than straight ones, and without a change."""
        products = len(self.labels) * (self.n_nodes * (1 + ExperimentSplines.DF)) ** 2
        if self.mechanism != "linear" or table.weights is not None or products > MOST_PRODUCTS:
            return None
        options = {"penalty": self.penalty, "drift": self.drift}
        straight, curved = (
            ExperimentSplines(table, df=df, **options).changes(families, self.states)
            for df in (1, ExperimentSplines.DF)
        )
        return np.asarray((curved.worth > straight.worth)[:, None] & ~curved.changed)


class ExperimentSplines(ExperimentBIC):
    """The same with curved effects: every parent enters by the functions of a natural cubic spline.

    A mechanism with p parents has about ``df p + 2`` parameters, and one of its own costs that many: fewer changes are
    found than with straight lines, and bent relations are not mistaken for changes. The inner knots are quantiles of
    all rows, the outer ones those of the experiments that reach furthest. Far-out values are pulled in within each
    experiment. With one experiment this is ``splines``.

    Parameters
    ----------
    table, options : as in :class:`ExperimentBIC`.
    df : parameters per parent, as in :class:`~drbo.scores.splines.SplineScore`.

    Examples
    --------
    >>> from drbo.data.checks.experiments import Experiments
    >>> rng = np.random.default_rng(0)
    >>> heated = np.repeat([0, 1], 200)
    >>> heat = rng.normal(size=400) + 2 * heated
    >>> values = np.column_stack([heat, heat**2 + rng.normal(size=400)])
    >>> table = Statistics(values, ("heat", "growth"), ("numeric",) * 2, (None,) * 2,
    ...     experiments=Experiments(heated, ("control", "heated")))
    >>> [kind(table).changes(Families.from_sets(2, [(1, (0,))])).changed[0, 1].item() for kind in
    ...     (ExperimentBIC, ExperimentSplines)]
    [True, False]
    """

    name = "splines-experiments"
    assumption = "nonlinear effects with additive noise"
    regression = "splines"
    row_weights = "none"
    cheap = True
    mechanism = "splines"
    DF: ClassVar[int] = 5  # parameters per parent, if nothing else is said

    def __init__(self, table: Statistics, *, df: int = DF, **options: Any) -> None:
        self.df = checked_df(df)
        super().__init__(table, **options)

    def _expanded(self, table: Statistics) -> tuple[Floats, Indices]:
        codes, columns = table.runs.codes, np.array(table.values)
        parts = [codes == code for code in np.unique(codes)]
        for rows in parts:
            columns[rows] = winsorized(table.values[rows])
        columns = unit_free(columns)
        reach = np.array([np.quantile(columns[rows], OUTER_KNOTS, axis=0) for rows in parts])  # (E, 2, d)
        outer = zip(reach[:, 0].min(axis=0), reach[:, 1].max(axis=0), strict=True)
        bases = [natural_spline(x, self.df, ends) for x, ends in zip(columns.T, outer, strict=True)]
        owner = np.repeat(np.arange(table.n_columns), [basis.shape[1] for basis in bases])
        return np.hstack([columns, *(basis * table.n_rows**0.5 for basis in bases)]), owner

    def weights(self, table: Statistics, dag: Bools) -> None:
        """Return None: effects are curved."""

    def parameters(self, families: Families) -> Indices:
        """Return ``df`` per parent, as in ``splines``, beside those of changed mechanisms."""
        return self.df * families.sizes


def recording_step(column: Floats) -> float:
    """Return the typical distance of neighbouring values of a column that was recorded in steps; 0: it was not."""
    distinct = np.unique(column)
    stepped = 2 <= len(distinct) < STEPPED_SHARE * len(column) + 1
    return float(np.median(np.diff(distinct))) if stepped and len(distinct) < len(column) else 0.0


def _moments(values: Floats, table: Statistics) -> list[Moments]:
    """Return the moments of columns in each experiment of a table, the control first."""
    found, runs = [], table.runs
    for code in range(len(runs.labels)):
        rows: Any = runs.codes == code if len(runs.labels) > 1 else slice(None)
        found.append(moments(values[rows], None if table.weights is None else table.weights[rows]))
    return found
