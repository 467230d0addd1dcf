"""A second opinion about marks: the best DAG, less the edges that a test removes, in the manner of GFCI.

Ogarrio, Spirtes & Ramsey (2016) take adjacent pairs and unshielded colliders from a DAG that was found by score, and
remove edges whose ends are independent given some other columns. Its marks need not be those of any graph; here they
only tell which marks of a scored graph a method of another kind finds as well.
"""

from itertools import combinations

import numpy as np

from drbo.arrays import Bools
from drbo.deadline import current
from drbo.graph.dag import topological_order
from drbo.graph.marks import ARROW, CIRCLE, NO_EDGE, Marks
from drbo.graph.pag import oriented
from drbo.independence.set_tests import PartialCorrelations as PartialCorrelations  # exported: the usual tests
from drbo.independence.set_tests import SetTests

#: A pair with a larger p-value given some set counts as independent.
ALPHA = 0.01
#: Members of a set of columns further away than neighbours.
MOST_FAR = 2


class _Skeleton:
    """The pairs that no test has separated, and what separates the others."""

    def __init__(self, dag: Bools, tests: SetTests, alpha: float) -> None:
        self.dag, self._tests, self._alpha = dag, tests, alpha
        self.linked: Bools = dag | dag.T
        self.separators: dict[tuple[int, int], set[int]] = {}

    def _remove(self, i: int, j: int, given: tuple[int, ...]) -> None:
        self.linked[i, j] = self.linked[j, i] = False
        self.separators[i, j] = self.separators[j, i] = set(given)

    def test_triangles(self) -> None:
        """Remove edges of triangles, given sets of neighbours, small sets first and the clearest edge first."""
        for size in range(self._tests.most_members + 1):
            before, found = self.linked.copy(), []
            for i, j in np.argwhere(np.triu(before)).tolist():
                current().check()
                if not (before[i] & before[j]).any():
                    continue
                around = [[v for v in np.flatnonzero(before[end]).tolist() if v not in (i, j)] for end in (i, j)]
                p_value, given = max(self._tests.best(i, j, nodes, size) for nodes in around)
                if p_value > self._alpha:
                    found.append((p_value, i, j, given))
            for _, i, j, given in sorted(found, reverse=True):
                if (self.linked[i] & self.linked[j]).any():
                    self._remove(i, j, given)

    def test_further(self, marks: Marks) -> None:
        """Remove edges given columns that may lie on inducing paths, further away than neighbours."""
        deadline, around = current(), [np.flatnonzero(row).tolist() for row in marks != NO_EDGE]
        heads = [set(np.flatnonzero(column).tolist()) for column in (marks == ARROW).T]  # of edges into each node
        for i, j in np.argwhere(np.triu(self.linked)).tolist():
            deadline.check()
            for near, far in ((i, j), (j, i)):
                candidates = sorted(_possible_separators(around, heads, near, far))
                if self.linked[near, candidates].all():
                    continue
                p_value, given = max(self._tests.best(i, j, candidates, size) for size in range(1, MOST_FAR + 1))
                if p_value > self._alpha:
                    self._remove(i, j, given)
                    break

    def marked(self) -> Marks:
        """Return circles everywhere but at unshielded colliders."""
        marks = np.where(self.linked, CIRCLE, NO_EDGE).astype(np.int8)
        for b in range(len(marks)):
            for a, c in combinations(np.flatnonzero(self.linked[b]).tolist(), 2):
                if not self.linked[a, c] and self.is_collider(a, b, c):
                    marks[a, b] = marks[c, b] = ARROW
        return marks

    def is_collider(self, a: int, b: int, c: int) -> bool:
        """Tell whether the set that separates a and c leaves b out; of pairs without an edge in the DAG, the DAG."""
        if (a, c) in self.separators:
            return b not in self.separators[a, c]
        return bool(self.dag[a, b] and self.dag[c, b])


def second_opinion(dag: Bools, tests: SetTests, alpha: float = ALPHA) -> Marks:
    """Return the marks that tests on the edges of a DAG give.

    Examples
    --------
    >>> tests = PartialCorrelations(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 1.0]]), 500)
    >>> second_opinion(np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool), tests).tolist()
    [[0, 0, 2], [0, 0, 2], [1, 1, 0]]
    """
    found = _Skeleton(dag, tests, alpha)
    found.test_triangles()
    found.test_further(found.marked())
    place = np.argsort(topological_order(dag))

    def is_collider(t: int, b: int, c: int) -> bool:
        if (t, c) in found.separators:
            return b not in found.separators[t, c]
        return not dag[b, t if place[t] > place[c] else c]  # the parents of the later one separate the two

    return oriented(found.marked(), is_collider)


def _possible_separators(around: list[list[int]], heads: list[set[int]], start: int, other: int) -> set[int]:
    """Return the nodes on paths from a node on which every inner node is a collider or in a triangle.

    ``around`` and ``heads`` are the neighbours of every node, and those whose edges have an arrowhead at it.
    """
    seen, found = set(), set()
    queue = [(start, v) for v in around[start] if v != other]
    while queue:
        u, v = queue.pop()
        if (u, v) in seen:
            continue
        seen.add((u, v))
        found.add(v)
        collides = u in heads[v]
        for w in around[v]:
            if w not in (u, start) and (w in around[u] or (collides and w in heads[v])):
                queue.append((v, w))
    return found - {start, other}
