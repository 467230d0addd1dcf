"""Screening: which columns a node considers as parents where there are too many to consider all of them every time.

Correlation proposes candidates, and what a graph leaves unexplained is checked against every column: a column that
would pay as a parent but is not a candidate becomes one. A search that ends with nothing to add has missed no single
edge that the screening hid.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from drbo import _core
from drbo.arrays import Bools, Floats, Ints
from drbo.data.statistics.square import steps
from drbo.scores.forms import GramForm
from drbo.search.state import Fields

#: Candidates of a node for each doubling of the number of columns.
PER_DOUBLING = 8
#: Columns are screened where there are more than this many times the candidates of a node.
WORTH_IT = 8
#: Nodes whose correlations are ranked, or that are checked, together.
BLOCK = 64
#: What an addition must gain.
LEAST_GAIN = 1e-7


class Lists(NamedTuple):
    """The candidates of every node, in rising order."""

    starts: Ints  # (d + 1,) where those of each node begin
    listed: Ints


def n_candidates(n_nodes: int) -> int:
    """Return how many of the most correlated columns a node considers."""
    return PER_DOUBLING * (n_nodes - 1).bit_length()


def is_screened(form: GramForm) -> bool:
    """Tell whether columns are screened: many of them, and a linear score with the same rows for all."""
    many = form.n_nodes > WORTH_IT * n_candidates(form.n_nodes)
    return many and not form.has_bases and form.constants is None and len(form.grams) == 1


class Screening:
    """The candidate parents of every node, and what checks against all columns found.

    A pair of columns is screened both ways: each is a candidate of the other.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> x[:, 2] += x[:, 0]
    >>> screening = Screening(np.corrcoef(x.T), np.zeros((4, 4), dtype=bool), 1)
    >>> screening.lists.listed[: screening.lists.starts[1]].tolist()  # of the first node
    [2]
    """

    def __init__(self, correlation: Floats, required: Bools, count: int | None = None) -> None:
        self.n_nodes = len(correlation)
        self.count = min(count or n_candidates(self.n_nodes), self.n_nodes - 1)
        self.checks: list[int] = []  # pairs that each check added
        self._pairs = np.union1d(self._keys(*self._correlated(correlation)), self._keys(*np.nonzero(required)))
        self.added = np.empty((0, 2), dtype=np.int64)
        self.lists = self._listed()

    def check(
        self,
        order: Ints,
        parents: Callable[[Ints], list[Ints]],
        steps_of: Callable[[Lists], _core.RegressionSteps],
    ) -> int:
        """Add the pairs that pay as an edge of a graph along an order and are no candidates; return how many.

        Parameters
        ----------
        order : of the nodes.
        parents : returns the parents of some nodes.
        steps_of : makes steps with some candidates.
        """
        place, found = np.argsort(order), [np.empty((0, 2), dtype=np.int64)]
        for nodes in self._blocks():
            sets = parents(nodes)
            width = max(1, *map(len, sets))
            padded = np.array([np.append(one, np.full(width - len(one), -1)) for one in sets], dtype=np.int64)
            sizes = np.array([len(one) for one in sets], dtype=np.int64)
            _, gains, _, _ = steps_of(self._everything(nodes)).expand(nodes, padded, sizes)
            row, other = np.nonzero((gains > LEAST_GAIN) & (place < place[nodes][:, None]))
            found.append(np.column_stack([other, nodes[row]]))
        pairs = np.concatenate(found)
        new = np.setdiff1d(self._keys(*pairs.T), self._pairs)
        self.checks.append(len(new) // 2)
        self._add(new)
        return self.checks[-1]

    def capture(self) -> dict[str, Ints]:
        """Return what the checks found."""
        return {"added": self.added, "checks": np.array(self.checks, dtype=np.int64)}

    def restore(self, fields: Fields) -> None:
        """Set what the checks found."""
        self.checks = fields.array("checks", np.int64, (None,), 0, self.n_nodes**2).tolist()
        added = fields.array("added", np.int64, (None, 2), 0, self.n_nodes - 1)
        self._add(np.setdiff1d(self._keys(*added.T), self._pairs))

    @property
    def words(self) -> str:
        """What was screened, and what the checks found."""
        counted = f"{sum(self.checks):,} pair{'' if sum(self.checks) == 1 else 's'}"
        if not self.checks:
            outcome = "time ran out before the residuals were checked against all columns"
        elif self.checks[-1]:
            outcome = f"checks against all columns added {counted}; time ran out before screening converged"
        else:
            outcome = f"residuals were checked against all columns: {counted} added, none left"
        return (
            f"candidate parents were screened: the {self.count} most correlated of {self.n_nodes - 1:,} columns for "
            f"each; {outcome}"
        )

    def _blocks(self) -> Iterator[Ints]:
        for part in steps(self.n_nodes):
            for first in range(part.start, part.stop, BLOCK):
                yield np.arange(first, min(first + BLOCK, part.stop))

    def _correlated(self, correlation: Floats) -> tuple[Ints, Ints]:
        """Return pairs of each node with the columns that are correlated most with it."""
        found = list[Ints]()
        for nodes in self._blocks():
            strength = np.abs(correlation[nodes])
            strength[np.arange(len(nodes)), nodes] = -1.0
            least = np.partition(strength, -self.count, axis=1)[:, -self.count]
            row, other = np.nonzero(strength >= least[:, None])  # equal ones all: no sorting decides
            found.append(np.stack([nodes[row], other]))
        first, second = np.concatenate(found, axis=1)
        return first, second

    def _keys(self, a: npt.NDArray[np.integer], b: npt.NDArray[np.integer]) -> Ints:
        """Return a number for each pair, both ways: the node first, then its candidate."""
        return np.unique(np.concatenate([a * self.n_nodes + b, b * self.n_nodes + a])).astype(np.int64)

    def _add(self, keys: Ints) -> None:
        pairs = np.column_stack(np.divmod(keys, self.n_nodes))
        self.added = np.concatenate([self.added, pairs[pairs[:, 0] < pairs[:, 1]]])
        self._pairs = np.union1d(self._pairs, keys)
        self.lists = self._listed()

    def _listed(self) -> Lists:
        nodes, others = np.divmod(self._pairs, self.n_nodes)
        return Lists(np.searchsorted(nodes, np.arange(self.n_nodes + 1)).astype(np.int64), others)

    def _everything(self, nodes: Ints) -> Lists:
        """Return all columns as candidates of some nodes that follow each other."""
        d, starts = self.n_nodes, np.zeros(self.n_nodes + 1, dtype=np.int64)
        starts[nodes + 1] = d
        return Lists(np.cumsum(starts), np.tile(np.arange(d, dtype=np.int64), len(nodes)))
