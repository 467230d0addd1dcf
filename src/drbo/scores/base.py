"""The score interface.

The module is long because every score shares its options, and their checks are here.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistic, Statistics
from drbo.data.statistics.sums import Bases
from drbo.deadline import current
from drbo.errors import ScoreError
from drbo.independence.set_tests import PartialCorrelations, SetTests, set_tests_of
from drbo.scores.families import Families
from drbo.scores.forms import Form, Gaussian
from drbo.scores.options import checked_gamma, checked_penalty, checked_prior, checked_strength, checked_targets
from drbo.scores.sums import sum_nodes

if TYPE_CHECKING:
    from drbo.scores.by_experiment import FoundChange

#: Weight of ln d per edge (Foygel & Drton 2010). With 0.5 every score whose edges are not tested after the search finds
#: at most half an edge, on average, among 20 independent columns (benchmarks/studies/false_edges.py).
EBIC_GAMMA = 0.5
#: A score that can be told which rows to use is tried on one of so many parts of them, if that has so many rows.
ROWS_PART, LEAST_ROWS = 4, 20
#: Bytes of one batch of families that are fitted together.
BATCH_BYTES = 2**27
#: Random families by which it is seen whether the parameters of a family add up over its parents.
PRICED_FAMILIES = 64
#: What says how much a graph is worth: a subclass that changes any of it is no longer what its parent declared.
VALUE = frozenset({"local", "local_one", "credited", "parameters", "family_price", "combine", "share", "level_of"})


class Score:
    """A decomposable score of a DAG; higher is better.

    The score of a DAG is ``combine(local, price)``. ``local`` is the expensive part, such as one regression or one
    contingency table per family, and is what a surrogate learns. ``price`` is exact and cheap: the edge penalty and
    the edge prior. The same ``combine`` is used for true and predicted local values; by default it is
    ``sum(gain * local + price)``.

    A subclass sets ``gain`` and implements :meth:`local`; the simplest subclass implements only
    ``local_one(node, parents) -> float``.

    Parameters
    ----------
    table : the checked data.
    penalty : multiplier of ``ln n`` per free parameter; 1 is the paper's BIC. With 1, a few of the d (d - 1) possible
        edges are accepted by chance if n is small compared with d. Use 2 if false edges are worse than missed ones;
        ``"ebic"`` adds ``2 gamma ln d`` per edge on the scale of the log evidence (Foygel & Drton 2010), which limits
        the number of false edges for any d.
    edge_prior : (d, d) log-odds of each edge i -> j, added on the scale of the log evidence.
    targets : (n, d) True where a node was set by intervention in a row; the score of that node ignores the row.
    gamma : weight of ``ln d`` in the penalty ``"ebic"``; no other penalty has it.
    min_strength : share s of what the other parents leave unexplained that a parent must explain at least (partial R2).
        A parameter costs ``-n ln(1 - s)`` if that is more than the penalty: with many rows the smallest misfit is
        significant, and graphs fill up. The best DAG of a linear score then has no weaker edge, unless it is required.

    Examples
    --------
    >>> class FewEdges(Score):
    ...     def local_one(self, node, parents):
    ...         return 1.0 - len(parents)
    >>> table = Statistics.from_array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> FewEdges(table).local(Families.from_sets(2, [(0, ()), (1, (0,))])).tolist()
    [1.0, 0.0]
    """

    name: str = "custom"
    #: Markov-equivalent DAGs have equal scores.
    score_equivalent: bool = False
    #: What directs an edge that equivalent DAGs disagree on; read only where the score is not equal for them.
    assumption: str = "the score distinguishes equivalent graphs"
    #: The regression on whose residuals its arrows rest: class arrows then need families whose residuals pass a check.
    #: "splines" is for effects of any shape with additive noise, "ranks" for the same between normal scores of ranks;
    #: None: arrows rest on something else.
    regression: Literal["linear", "splines", "ranks"] | None = None
    #: The score is this many times a log evidence (2 for a BIC on the paper's scale); None: it is none.
    evidence_scale: float | None = None
    #: The score rises with every parent that is added to ``local``: a superset never fits worse.
    nested: bool = False
    #: What weights of rows it can use: none, the same for all rows, whole numbers, or any.
    row_weights: Literal["none", "equal", "counts", "any"] = "none"
    #: What it needs to know of a table. Complete rows tell all: their means and covariances ("moments"), sums over
    #: functions of the columns ("bases", see :meth:`basis_functions`) and counts. Missing cells leave moments alone.
    needs: frozenset[Statistic] = frozenset({"rows"})
    #: A local score costs at most about 0.2 ms on this table, so that a search may ask for tens of thousands: route
    #: "auto" then climbs over orders (docs/guide/search.md). Nothing is timed. A subclass that computes local values
    #: of its own says so itself. A score whose cost depends on the table sets it in ``__init__``.
    cheap: bool = False
    #: It factorises kernel matrices with torch, and takes the options ``device`` and ``max_memory``.
    kernels: bool = False
    #: Many local scores at a time take hardly longer than one, as on a GPU: a search then asks for large batches.
    batches: bool = False
    #: It compares the experiments of a table; others leave out the cells that experiments are known to have set.
    by_experiment: bool = False
    #: The regression whose residuals are tested within every experiment, where it compares some; None: there is none.
    mechanism: Literal["linear", "splines"] | None = None
    #: One noise variance for all nodes: ``combine`` is ``-N ln(sum_i n_i exp(-local_i) / N) + sum_i price_i``.
    equal_variance: bool = False
    #: What its model assumes, in sentences for a report.
    words: tuple[str, ...] = ()
    #: The test of independence that suits its relations: see :func:`drbo.result.judge.judge`.
    independence: Literal["gaussian", "g-test", "kci"] = "gaussian"
    #: What removes weak edges after the search, if nothing else is said. "none": the penalty keeps them out, and the
    #: graph shown is the optimum of the score.
    default_pruner: str = "none"
    #: ``min_strength`` of tables with very many rows, if nothing else is said.
    default_strength: float = 0.0
    #: Families in one call of :meth:`local`, for a score whose last bits depend on what is computed together: all
    #: executors then cut a batch at the same places and get the same numbers. None: a batch may be cut anywhere.
    cell: int | None = None

    def __init__(
        self,
        table: Statistics,
        *,
        penalty: float | Literal["ebic"] = 1.0,
        edge_prior: npt.ArrayLike | None = None,
        targets: npt.ArrayLike | None = None,
        gamma: float = EBIC_GAMMA,
        min_strength: float = 0.0,
    ) -> None:
        self.names = table.names
        self._n_table_rows = table.n_rows
        self.n_nodes = table.n_columns
        self.gamma = checked_gamma(gamma)
        self.min_strength = checked_strength(min_strength)
        self.gain: float | Floats = 1.0  # d(score) / d(local), above 0: a number or (d,)
        self._prior = checked_prior(edge_prior, self.n_nodes)
        self.targets = checked_targets(targets, table.n_rows, self.n_nodes)
        if table.weights is None and self.targets is None:
            self._set_rows(np.full(self.n_nodes, table.n_counted), penalty)
            return
        times = np.ones(table.n_rows) if table.weights is None else table.weights
        counted = np.ones((table.n_rows, self.n_nodes), dtype=bool) if self.targets is None else ~self.targets
        self._set_rows(times @ counted, penalty)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        if "cheap" not in own and not {"local", "local_one"}.isdisjoint(own):
            cls.cheap = False
        if "equal_variance" not in own and "combine" in own:
            cls.equal_variance = False
        if not VALUE.isdisjoint(own):
            for name in {"compiled", "family_work", "words"}.difference(own):
                setattr(cls, name, getattr(Score, name))

    @classmethod
    def basis_functions(cls, sample: Floats) -> Bases | None:  # noqa: ARG003 - subclasses do
        """Return the functions of columns of numbers whose sums it needs, by a sample (n, d); None: it has none."""
        return None

    @staticmethod
    def scales(table: Statistics) -> Statistics:
        """Return a table with its columns on the scales between which relations are looked for: those it has."""
        return table

    def _set_rows(self, n_rows: npt.NDArray[Any], penalty: float | Literal["ebic"]) -> None:
        """Set the rows that count for each node and, from them, the price of one parameter."""
        if (n_rows < 3).any():
            node = int(np.argmin(n_rows))
            raise ScoreError(
                f"node '{self.names[node]}' has only {n_rows[node]:.3g} rows without intervention, but 3 are needed",
                hint="drop the node, or mark fewer of its rows as targets",
            )
        self.n_rows = n_rows.astype(np.float64)  # (d,)
        self.penalty = checked_penalty(penalty)
        factor = 1.0 if isinstance(self.penalty, str) else self.penalty
        least = -self.n_rows * np.log1p(-self.min_strength)
        self.parameter_price: Floats = np.maximum(factor * np.log(self.n_rows), least)  # (d,)
        self.evidence_price: Floats = np.log(self.n_rows)  # (d,) what a parameter costs in a log evidence
        self.edge_price = 0.0
        if self.penalty == "ebic":  # 4 gamma ln d per edge on the scale of a BIC, which is 2 log evidences
            self.edge_price = 2 * self.gamma * np.log(self.n_nodes) * (self.evidence_scale or 1.0)

    @property
    def has_prior(self) -> bool:
        """Whether some edges have a prior of their own."""
        return self._prior is not None and bool(self._prior.any())

    def local(self, families: Families) -> Floats:
        """Return the local values of a batch of families."""
        return self._one_by_one(families, np.arange(self._n_table_rows) if self.takes_rows else None)

    def _one_by_one(self, families: Families, rows: Indices | None) -> Floats:
        values, deadline = np.empty(len(families)), current()
        one: Callable[..., float] = self.local_one
        if rows is not None:
            one = partial(one, rows=rows)
        for row, (node, parents) in enumerate(zip(families.nodes.tolist(), families.parents, strict=True)):
            deadline.check()
            values[row] = float(one(node, tuple(np.flatnonzero(parents).tolist())))
        return values

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the local value of one family; the simplest way to write a score.

        With a third argument, ``rows`` (m,), it is told which rows of the table to use: see :meth:`relatives`.
        """
        raise NotImplementedError("a score must implement local() or local_one()")

    @property
    def takes_rows(self) -> bool:
        """Whether ``local_one`` can be told which rows to use."""
        return "rows" in inspect.signature(self.local_one).parameters

    def credited(self, families: Families) -> Bools:
        """Return which families (m,) may be credited for their parents: those with fewer parameters than rows.

        With more parameters than rows, every fit is perfect. ``score_equivalent`` refers to DAGs of credited families.
        """
        return np.ones(len(families), dtype=bool)

    def parameters(self, families: Families) -> npt.NDArray[Any] | None:
        """Return the number of free parameters (m,) that the penalty counts; None: the score has no penalty."""
        return None

    def family_price(self, families: Families) -> Floats:
        """Return the exact, cheap part (m,) of each family: minus its penalty, plus its edge prior."""
        total = np.zeros(len(families))
        count = self.parameters(families)
        if count is not None:
            total -= count * self.parameter_price[families.nodes]
        if self.edge_price:
            total -= self.edge_price * families.sizes
        if self._prior is not None:
            weight = (self.evidence_scale or 1.0) * self._prior.T[families.nodes]  # (m, d)
            total += sum_nodes(families.parents * weight)
        return total

    def price_table(self) -> Floats | None:
        """Return (d, d) what each edge i -> j costs at [j, i]; None where the price of a family is no sum over them."""
        if type(self).family_price is not Score.family_price:
            return None
        rng = np.random.default_rng(0)
        nodes = rng.integers(self.n_nodes, size=PRICED_FAMILIES)
        parents = rng.random((PRICED_FAMILIES, self.n_nodes)) < rng.random((PRICED_FAMILIES, 1))
        parents[np.arange(PRICED_FAMILIES), nodes] = False
        parents[0] = False
        found, table = self.parameters(Families(nodes, parents)), self._single_parameters()
        adds_up = found is None or np.allclose((table[nodes] * parents).sum(axis=1), found)
        return self._single_prices() if adds_up else None

    def _single_prices(self) -> Floats:
        """Return (d, d) what a node j with the one parent i costs at [j, i]."""
        total = np.zeros((self.n_nodes, self.n_nodes))
        total -= self._single_parameters() * self.parameter_price[:, None]
        if self.edge_price:
            total -= self.edge_price
        if self._prior is not None:
            total += (self.evidence_scale or 1.0) * self._prior.T
        return 0.0 - total

    def _single_parameters(self) -> Floats:
        """Return (d, d) the parameters of a node j with the one parent i at [j, i].

        They are taken to be a product of a number of the node and a number of the parent: those of a row and of a
        column say those of all pairs.
        """
        d = self.n_nodes
        single = np.eye(d, dtype=bool)
        of_parent = self.parameters(Families(np.zeros(d, dtype=np.intp), single))  # (d,) of node 0 with each parent
        of_node = self.parameters(Families(np.arange(d), np.tile(single[0], (d, 1))))  # (d,) of each node with parent 0
        if of_parent is None or of_node is None or not of_parent[0]:
            return np.zeros((d, d))
        table: Floats = np.outer(of_node, of_parent) / of_parent[0]
        return table

    def sparsity_price(self, families: Families) -> Floats:
        """Return what the penalty takes from each family (m,) beyond its log evidence, which is a BIC with penalty 1.

        A larger penalty prefers sparse graphs, as a prior does. Edge probabilities have a prior of their own instead.
        """
        total = self.edge_price * families.sizes
        count = self.parameters(families)
        if count is not None:
            total = total + count * (self.parameter_price - self.evidence_price)[families.nodes]
        return np.asarray(total, dtype=np.float64)

    def combine(self, local: Floats, price: Floats) -> Floats:
        """Return the scores (...) of DAGs from the local values and prices (..., d) of their families."""
        return sum_nodes(self.share(local, price))

    def share(self, local: Floats, price: Floats, level: float | None = None, nodes: Indices | None = None) -> Floats:
        """Return the contribution of each family to an additive form of the score.

        The last axis is all nodes, or the given ``nodes``. A score that is not additive is maximised through
        additive lower bounds, each exact at its ``level`` (:meth:`level_of`).
        """
        gain = self.gain if nodes is None or isinstance(self.gain, float) else self.gain[nodes]
        return gain * local + price

    def level_of(self, local: Floats) -> float | None:
        """Return the level at which :meth:`share` is exact for the DAG with these local values; None: at any."""
        return None

    def compiled(self) -> Form | None:
        """Return the arrays from which compiled code computes this score; None: it asks for :meth:`local` instead.

        A subclass that changes what a graph is worth has none, unless it says so itself.
        :func:`drbo.testing.check_score` compares the form with the score.
        """
        return None

    def gaussian(self) -> Gaussian | None:
        """Return the linear relations that the score looks at, whatever the shape of the noise.

        None: it looks at others, or some nodes have rows of their own.
        """
        return None

    def weights(self, table: Statistics, dag: Bools) -> tuple[Floats, Floats] | None:
        """Return the weights (d, d) of the edges of a graph over a table, raw and standardised; None: it has none."""
        return None

    def changes_in(self, table: Statistics, dag: Bools) -> "tuple[FoundChange, ...] | None":
        """Return what each experiment changes in a graph over a table; None: it does not compare experiments."""
        return None

    def bent(self, table: Statistics, families: Families) -> Bools | None:
        """Return (m, E) True where what looks like a change may be a bend; None: nobody looked."""
        return None

    def set_tests(self, table: Statistics, seed: int) -> SetTests | None:
        """Return the tests of conditional independence that belong to its likelihood; None: rows are not known.

        Partial correlations where it looks at linear relations, else likelihood ratios of counts or of indicators.
        """
        if (linear := self.gaussian()) is not None:
            return PartialCorrelations(linear.correlation, linear.n_rows)
        return set_tests_of(table.control_rows, seed, counted=self.independence == "g-test")

    def family_work(self) -> float | None:
        """Return about how many simple steps an average family takes, where tables of all may be made unasked.

        None: they are made only if compiled code makes them.
        """
        return None

    def local_work(self) -> float | None:
        """Return about how many simple steps, a nanosecond of one core each, a local score takes; None: unknown.

        A search ranks columns for whole parent sets only as long as that takes less than the local scores; where it
        does not know these, it always does.
        """
        return None

    @classmethod
    def default_penalty(cls, table: Statistics, tested: bool) -> tuple[float | str, str]:  # noqa: ARG003 - subclasses do
        """Return the penalty that leaves at most half an edge, on average, among independent columns, and why.

        Parameters
        ----------
        tested : every edge is tested after the search.
        """
        if tested:
            return 1.0, "penalty 1: every edge is tested after the search"
        return "ebic", (
            "penalty ebic: it accounts for the number of possible edges, because edges are not tested afterwards"
        )

    def relatives(self) -> "Sequence[Relative]":
        """Return cheaper versions of this score, correlated with it, each with its cost.

        A search tries families by them first and learns from the true score how far each can be trusted. One that costs
        nothing, about a thousandth of this score, is asked for every family that a surrogate looks at. By default there
        is one where ``local_one`` can be told which rows to use: a part of them.
        """
        n = self._n_table_rows
        count = -(-n // ROWS_PART)
        return (Relative(_FewerRows(self, count), count / n),) if self.takes_rows and count >= LEAST_ROWS else ()


class _FewerRows(Score):
    """A score on some of its rows, the same ones for all families."""

    def __init__(self, whole: Score, count: int) -> None:
        self.names, self.n_nodes, self.name = whole.names, whole.n_nodes, f"{whole.name} on {count} rows"
        self._whole = whole
        self._rows = np.sort(np.random.default_rng(0).permutation(whole._n_table_rows)[:count])

    def local(self, families: Families) -> Floats:
        return self._whole._one_by_one(families, self._rows)


class Relative(NamedTuple):
    """A cheaper version of a score; its local values may have any scale."""

    score: Score
    cost: float  # of one family, as a share of the cost of its true local score: from 0 to less than 1
