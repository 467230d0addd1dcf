"""Which experiment next? The information that an experiment is expected to give about the directions of a graph.

An experiment sets one column at random, with the spread that it has in the table. With enough rows it shows the
direction of every edge at that column, because only effects follow what is set. Its information about a question is the
entropy of the answer over the graphs that are left (:mod:`drbo.claims.orientations`) less the entropy that is expected
after the experiment (Lindley 1956; for graphs He & Geng 2008; Hauser & Bühlmann 2014).

With few rows an edge is shown with a probability below 1. The log-likelihood ratio of n rows for "the other column
follows" against "it does not" is about normal with mean nk and variance 2nk, where ``k = -ln(1 - r^2) / 2`` and r is
the correlation of the two columns in the experiment if the other one follows. An edge is settled at odds of 100.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import log, prod

import numpy as np
from scipy.special import ndtr

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.orientations import MOST_LISTED, SAMPLED, Ways, closure, entropy
from drbo.deadline import current
from drbo.graph.dag import topological_order

#: An experiment settles a direction if the evidence for it is this many times that for the reverse (Jeffreys).
DECISIVE_ODDS = 100.0
#: Takes the transitive closures (M, d, d) of graphs; graphs with equal numbers (M,) answer the question alike.
Question = Callable[[Bools], Indices]

#: An experiment has enough rows if it settles all edges at its column with this probability.
ENOUGH = 0.8
#: More rows than this are not asked for.
MOST_ROWS = 10**6
#: Edges that may or may not be shown: up to so many, all cases are summed; of more, so many cases are drawn.
MOST_UNSURE, CASES = 6, 64
#: Shown with a probability this close to 0 or 1: never or always.
NEARLY = 0.005
#: Cells of the graphs whose paths are looked at together; the deadline is, in between.
CELLS = 2**22
#: Graphs over which the response to an experiment is averaged.
MOST_AVERAGED = 200
#: Less information than this, in bits, is rounding.
LEAST_GAIN = 1e-9
#: Least variance that columns keep when their causes are known.
LEAST_VARIANCE = 1e-3


def causes(source: int, target: int) -> Question:
    """Return the question whether one column causes another, directly or not."""
    return lambda below: below[:, source, target].astype(np.intp)


def causes_of(target: int) -> Question:
    """Return the question which columns cause one of them."""
    return lambda below: np.unique(below[:, :, target], axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True, eq=False)
class Left:
    """The graphs that are left.

    Examples
    --------
    >>> from drbo.claims.orientations import ways_left
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> left = Left(ways_left(chain, np.triu(chain)), np.zeros((3, 3), dtype=bool))
    >>> [round(left.information([node]), 3) for node in range(3)]  # one end tells the graph with a third of the odds
    [0.918, 1.585, 0.918]
    >>> left.about(causes(0, 2)).information([0]), round(left.about(causes(0, 2)).entropy, 3)
    (0.9182958340544896, 0.918)
    """

    parts: tuple[Ways, ...]
    settled: Bools  # (d, d) the arrows that all graphs have
    shown: Floats | None = None  # (d, d) probability that an experiment on one column shows an edge to another
    answers: Indices | None = field(default=None, repr=False)  # (M,) to a question, by the ways of the only part

    def about(self, question: Question) -> "Left":
        """Return the same graphs with the answer of each to a question."""
        if not self.parts:
            return self
        joint = self._joint()
        below = np.concatenate(list(self._paths(joint.edges, joint.forward)))
        return Left((joint,), self.settled, self.shown, question(below))

    @cached_property
    def entropy(self) -> float:
        """What is not known, in bits."""
        return sum(self._known(part, np.arange(len(part.edges))) for part in self.parts)

    def information(self, nodes: Sequence[int]) -> float:
        """Return the expected information, in bits, of one experiment on each of some columns."""
        return sum(self._expected(part, nodes) for part in self.parts)

    def _known(self, part: Ways, seen: Indices) -> float:
        """Return the information in the directions of some edges of a part."""
        if self.answers is None:
            return part.entropy(seen)
        group, weight = part.groups(seen), part.probability
        pairs = group * (self.answers.max() + 1) + self.answers
        answer, both = (entropy(np.bincount(one, weight)) for one in (self.answers, pairs))
        return max(0.0, answer + entropy(np.bincount(group, weight)) - both)

    def _expected(self, part: Ways, nodes: Sequence[int]) -> float:
        chance = self._chance(part, nodes)
        always, unsure = np.flatnonzero(chance > 1 - NEARLY), np.flatnonzero((chance > NEARLY) & (chance <= 1 - NEARLY))
        if len(unsure) <= MOST_UNSURE:
            cases = np.array(list(product([False, True], repeat=len(unsure))), dtype=bool)
            weights = np.where(cases, chance[unsure], 1 - chance[unsure]).prod(axis=1)
        else:
            cases = np.random.default_rng(0).random((CASES, len(chance)))[:, unsure] < chance[unsure]
            weights = np.full(CASES, 1 / CASES)
        found = [self._known(part, np.concatenate([always, unsure[case]])) for case in cases]
        return float(weights @ found)

    def _chance(self, part: Ways, nodes: Sequence[int]) -> Floats:
        """Return (k,) the probability that each edge of a part is shown by some experiment."""
        hidden = np.ones(len(part.edges))
        for node in nodes:
            for k in part.at(node).tolist():
                hidden[k] *= 0.0 if self.shown is None else 1 - self.shown[node, part.edges[k].sum() - node]
        found: Floats = 1 - hidden
        return found

    @property
    def nodes(self) -> list[int]:
        """The columns with an edge that is not settled."""
        return sorted({node for part in self.parts for node in part.edges.ravel().tolist()})

    def graphs(self) -> tuple[Bools, Floats]:
        """Return graphs (M, d, d) that are left, at most a few hundred, and their probabilities."""
        if not self.parts:
            return self.settled[None], np.ones(1)
        joint = self._joint()
        kept = np.arange(len(joint.forward))
        if len(kept) > MOST_AVERAGED:
            kept = np.random.default_rng(0).choice(kept, MOST_AVERAGED, p=joint.probability)
            return self._graphs(joint.edges, joint.forward[kept]), np.full(MOST_AVERAGED, 1 / MOST_AVERAGED)
        return self._graphs(joint.edges, joint.forward), joint.probability

    def _joint(self) -> Ways:
        """Return the ways of all parts together: all of them, or a sample."""
        sizes = [len(part.forward) for part in self.parts]
        listed = all(part.listed for part in self.parts) and prod(sizes) <= MOST_LISTED
        if listed:
            rows = np.array(list(product(*map(range, sizes))), dtype=np.intp).reshape(-1, len(sizes))
        else:
            rng = np.random.default_rng(0)
            drawn = [rng.choice(n, SAMPLED, p=part.probability) for n, part in zip(sizes, self.parts, strict=True)]
            rows = np.stack(drawn, axis=1)
        edges = np.concatenate([part.edges for part in self.parts])
        forward = np.concatenate([part.forward[rows[:, k]] for k, part in enumerate(self.parts)], axis=1)
        cyclic = [np.diagonal(below, axis1=1, axis2=2).any(axis=1) for below in self._paths(edges, forward)]
        kept = ~np.concatenate(cyclic)  # assumed arrows of several parts may make a cycle
        return Ways(edges, forward[kept], np.full(int(kept.sum()), 1 / kept.sum()), listed)

    def _paths(self, edges: Indices, forward: Bools) -> Iterator[Bools]:
        """Yield the transitive closures of graphs, some at a time."""
        step = max(1, CELLS // self.settled.size)
        for start in range(0, len(forward), step):
            current().check()
            yield closure(self._graphs(edges, forward[start : start + step]))

    def _graphs(self, edges: Indices, forward: Bools) -> Bools:
        first, second = edges.T
        found = np.repeat(self.settled[None], len(forward), axis=0)
        found[:, first, second] |= forward
        found[:, second, first] |= ~forward
        return found


@dataclass(frozen=True, eq=False)
class Mixture:
    """Several cases of what is left, such as the classes of graphs drawn from a posterior, each with its share.

    Information is that within each case, on average: experiments are not credited for telling one case from another.
    """

    cases: tuple[tuple[float, Left], ...]

    @cached_property
    def entropy(self) -> float:
        """What is not known, in bits."""
        return sum(share * left.entropy for share, left in self.cases)

    @cached_property
    def nodes(self) -> list[int]:
        """The columns with an edge that is not settled in some case."""
        return sorted({node for _, left in self.cases for node in left.nodes})

    def information(self, nodes: Sequence[int]) -> float:
        """Return the expected information, in bits, of one experiment on each of some columns."""
        return sum(share * left.information(nodes) for share, left in self.cases)

    def _gains(self, left: Sequence[int], chosen: list[int], known: float) -> Iterator[float]:
        """Yield the information that each further column adds; the deadline ends it."""
        deadline = current()
        for node in left:
            deadline.check()
            yield self.information([*chosen, node]) - known

    def batch(self, size: int, costs: Floats) -> list[int]:
        """Return so many columns, each with the most information per cost beside those before it; fewer if none adds.

        The information of a set of columns has diminishing returns, so with equal costs the sum of such a choice is at
        least 0.63 of the best one's (Nemhauser, Wolsey & Fisher 1978).
        """
        chosen, known = list[int](), 0.0
        while len(chosen) < size:
            left = [node for node in self.nodes if node not in chosen and np.isfinite(costs[node])]
            gains = list(self._gains(left, chosen, known))
            if max(gains, default=0.0) < LEAST_GAIN:
                break
            best = int(np.argmax(np.round(np.array(gains) / costs[left], 9)))
            chosen.append(left[best])
            known += gains[best]
        return chosen


def implied_correlation(dag: Bools, weights: Floats) -> Floats:
    """Return the correlations (d, d) that a DAG with standardised linear weights (d, d) implies."""
    found = np.eye(len(dag))
    before: list[int] = []
    for node in topological_order(dag).tolist():
        found[node, before] = found[before, node] = found[before] @ weights[:, node]
        explained = weights[:, node] @ found @ weights[:, node]
        if explained > 1 - LEAST_VARIANCE:  # the weights were not fitted to these rows alone
            found[node, before] = found[before, node] = found[before, node] * np.sqrt((1 - LEAST_VARIANCE) / explained)
        before.append(node)
    return found


def information_per_row(correlation: Floats, graphs: Bools, probability: Floats) -> Floats:
    """Return (d, d) what a row of an experiment on i is expected to tell about an edge between i and j, in nats.

    It is ``-ln(1 - r^2) / 2``, averaged over the graphs (M, d, d) in which i is a direct cause of j; 0: there are none.
    """
    d = len(correlation)
    total, weight = np.zeros((d, d)), np.zeros((d, d))
    deadline = current()
    for graph, share in zip(graphs, probability, strict=True):
        deadline.check()
        slopes, noise = np.zeros((d, d)), np.ones(d)
        for node in range(d):
            parents = np.flatnonzero(graph[:, node])
            block = correlation[np.ix_(parents, parents)] + 1e-9 * np.eye(len(parents))
            slopes[parents, node] = np.linalg.solve(block, correlation[parents, node])
            noise[node] = max(1 - slopes[parents, node] @ correlation[parents, node], LEAST_VARIANCE)
        effects = np.linalg.inv(np.eye(d) - slopes)
        for node in np.flatnonzero(graph.any(axis=1)).tolist():
            around = effects - np.outer(effects[:, node], effects[node])  # paths that do not pass the column
            others = np.where(np.arange(d) == node, 0.0, noise) @ around**2
            follows = graph[node]
            total[node, follows] += share * 0.5 * np.log1p((effects[node] ** 2 / np.maximum(others, 1e-12))[follows])
            weight[node, follows] += share
    return np.divide(total, weight, out=np.zeros((d, d)), where=weight > 0)


def chance_to_show(per_row: Floats, rows: float) -> Floats:
    """Return the probability that an edge is settled by so many rows, each of which tells so much (in nats)."""
    mean = np.maximum(per_row * rows, 1e-12)
    found: Floats = ndtr((mean - log(DECISIVE_ODDS)) / np.sqrt(2 * mean))
    return found


def rows_needed(per_row: Floats) -> int | None:
    """Return the rows that settle all of some edges with probability 0.8; None: more than a million."""
    low, high = 0, MOST_ROWS
    if chance_to_show(per_row, high).prod() < ENOUGH:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance_to_show(per_row, middle).prod() >= ENOUGH else (middle, high)
    return high
