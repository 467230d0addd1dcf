"""Multinomial BIC of categories from several experiments: which mechanisms change where is part of the score."""

from typing import Any

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Ints
from drbo.data.statistics.levels import level_codes
from drbo.data.statistics.statistics import Statistics
from drbo.machine.threads import crew
from drbo.scores.by_experiment import ByExperiment, Changes
from drbo.scores.discrete import configuration_counts, merge_rows
from drbo.scores.families import Families


class ExperimentCounts(ByExperiment):
    r"""Multinomial BIC over the experiments of a table of categories.

    As in :class:`~drbo.scores.experiments.ExperimentBIC`, a family is a node, its parents and the set S of experiments
    that change the node's mechanism. Experiments outside S share one table of probabilities; each experiment in S has
    its own. With k = (r - 1) q parameters of a table, r levels of the node and q of its parents together, it is worth

    .. math::
        \max_S \Big[2 \ln L - c\,k \ln N_S + \sum_{e \in S} \big(2 \ln L_e - c\,k \ln n_e - 2 \ln d\big)\Big]

    with :math:`N_S` the rows outside S, c the penalty, and S found in the same way. A hard target has no parents in its
    experiment, and neither has an experiment with fewer than 2 k rows. With one experiment this is ``bic-discrete``.

    Columns are as for :class:`~drbo.scores.discrete.DiscreteBIC`; options are those of
    :class:`~drbo.scores.by_experiment.ByExperiment`.

    Examples
    --------
    >>> from drbo.data.checks.experiments import Experiments
    >>> rng = np.random.default_rng(0)
    >>> watered = np.repeat([0, 1], 200)
    >>> wet = rng.random(400) < np.where(watered, 0.9, 0.3)
    >>> grows = rng.random(400) < np.where(wet, 0.8, 0.2)
    >>> table = Statistics(np.column_stack([wet, grows]) * 1.0, ("wet", "grows"), ("categorical",) * 2, ((0, 1),) * 2,
    ...     experiments=Experiments(watered, ("control", "watered")))
    >>> ExperimentCounts(table).changes(Families.from_sets(2, [(0, ()), (1, (0,))])).changed.tolist()
    [[False, True], [False, False]]
    """

    name = "discrete-experiments"
    needs = frozenset({"counts"})
    row_weights = "counts"
    cheap = True

    def __init__(self, table: Statistics, **options: Any) -> None:
        super().__init__(table, **options)
        codes, self.cardinalities = level_codes(table, self.name)
        experiment = table.runs.codes.astype(np.int32)
        order = np.argsort(experiment, kind="stable")
        with_experiment = np.vstack([experiment, codes])[:, order]  # the first digit: rows stay sorted by it
        times = None if table.weights is None else table.weights[order]
        merged, repeats = merge_rows(with_experiment, np.array([len(self.labels), *self.cardinalities]), times)
        self._codes = np.ascontiguousarray(merged[1:])  # (d, u)
        self._repeats = np.ones(merged.shape[1], dtype=np.int64) if repeats is None else repeats.astype(np.int64)
        self._first = np.searchsorted(merged[0], np.arange(len(self.labels) + 1)).astype(np.int64)  # (E + 1,)
        self.gain = 2.0

    def changes(self, families: Families, fixed: Ints | None = None) -> Changes:
        """Return the worth of families and the sets S; ``fixed`` (E, d) replaces what may change."""
        nodes, starts, members = families.flat()
        work = self._codes.shape[1] * int((families.sizes + 8).sum())
        worth, changed = _core.experiment_counts(
            self._codes, self.cardinalities, self._repeats, self._first, self.states if fixed is None else fixed,
            self.charge, 2 * np.log(self.n_nodes), nodes, starts, members, self.parameters(families), crew(work),
        )  # fmt: skip
        return Changes(worth, changed)

    def charged(self, families: Families) -> npt.NDArray[Any]:
        """Return the parameters of a table."""
        return self.parameters(families)

    def parameters(self, families: Families) -> npt.NDArray[Any]:
        """Return ``(r - 1) q``, up to a cap that no useful family reaches, beside those of changed mechanisms."""
        return (self.cardinalities[families.nodes] - 1) * configuration_counts(families.parents, self.cardinalities)
