"""Partial ancestral graphs (PAGs): the marks on which all MAGs with the same separations agree.

The rules are those of Zhang (2008), R1 to R4 and R8 to R10; R5 to R7 are for rows selected by something hidden, which
is assumed away. They find every common arrow and tail; with knowledge they are sound but may leave a mark open that the
knowledge decides.
"""

from collections.abc import Callable, Iterator
from itertools import combinations, product

import numpy as np

from drbo.arrays import Bools
from drbo.graph.mag import Mag
from drbo.graph.marks import ARROW, CIRCLE, NO_EDGE, TAIL, Marks

#: Whether b is a collider on the discriminating path (t, ..., b, c).
IsCollider = Callable[[int, int, int], bool]


def pag_of(graph: Mag, never: Bools | None = None, always: Bools | None = None) -> Marks:
    """Return the PAG of a maximal ancestral graph.

    Parameters
    ----------
    graph : any member of the class.
    never, always : (d, d) what is known: i is no ancestor of j, i is one. The graph must obey it.
    """
    marks = graph.marks()
    adjacent = marks != NO_EDGE
    pag = np.where(adjacent, CIRCLE, NO_EDGE).astype(np.int8)
    for b in range(len(pag)):
        for a, c in combinations(np.flatnonzero(marks[:, b] == ARROW).tolist(), 2):
            if not adjacent[a, c]:
                pag[a, b] = pag[c, b] = ARROW
    if never is not None:
        pag[(adjacent & never).T] = ARROW
    if always is not None:
        pag[(adjacent & always).T] = TAIL
        pag[adjacent & always] = ARROW
    return oriented(pag, lambda _, b, c: bool(marks[c, b] == ARROW))


def oriented(pag: Marks, is_collider: IsCollider) -> Marks:
    """Return the marks, closed under the rules; unshielded colliders must be marked already."""
    rules = _Rules(pag.copy(), is_collider)
    while rules.near() or rules.discriminating_paths() or rules.tails():
        pass
    return rules.marks


def visible(pag: Marks) -> Bools:
    """Return (d, d) which arrows i -> j cannot also have a hidden common cause (Zhang 2008, definition 8)."""
    found = np.zeros(pag.shape, dtype=bool)
    parent = (pag == ARROW) & (pag.T == TAIL)
    for a, b in np.argwhere(parent).tolist():
        queue, seen = [a], {a, b}
        while queue and not found[a, b]:
            v = queue.pop()
            for c in np.flatnonzero(pag[:, v] == ARROW).tolist():
                if pag[c, b] == NO_EDGE and c != b:
                    found[a, b] = True
                elif c not in seen and parent[c, b] and pag[v, c] == ARROW:
                    seen.add(c)
                    queue.append(c)
    return found


def member_of(pag: Marks) -> Mag:
    """Return a member of the class that a PAG stands for (Zhang 2008, theorem 2); of other marks, some graph.

    Circles at arrows become tails, and the edges with two circles a DAG without unshielded colliders.
    """
    marks = pag.copy()
    marks[(pag == CIRCLE) & (pag.T == ARROW)] = TAIL
    marks[(pag == CIRCLE) & (pag.T == TAIL)] = ARROW
    free, weight, done = (pag == CIRCLE) & (pag.T == CIRCLE), np.zeros(len(pag)), np.zeros(len(pag), dtype=bool)
    for _ in range(len(pag)):  # maximum cardinality search of a chordal graph
        node = int(np.argmax(np.where(done, -1, weight)))
        later = np.flatnonzero(free[node] & ~done)
        marks[node, later], marks[later, node] = ARROW, TAIL
        weight[later] += 1
        done[node] = True
    return Mag.of_marks(marks)


def is_legal(pag: Marks) -> bool:
    """Tell whether marks are the PAG of some maximal ancestral graph."""
    member = member_of(pag)
    if (member.adjacent != (pag != NO_EDGE)).any() or not (member.is_ancestral() and member.is_maximal()):
        return False
    return bool((pag_of(member) == pag).all())


class _Rules:
    """The orientation rules; each method applies some of them once and tells whether a mark changed."""

    def __init__(self, marks: Marks, is_collider: IsCollider) -> None:
        self.marks = marks
        self._is_collider = is_collider
        self._adjacent: Bools = marks != NO_EDGE
        self._around = [np.flatnonzero(row).tolist() for row in self._adjacent]

    def near(self) -> bool:
        """R1 to R3, until they change nothing."""
        changed, more = False, True
        while more:
            more = False
            for b, around in enumerate(self._around):
                into = [a for a in around if self.marks[a, b] == ARROW]
                for a, c in product(into, around):
                    more |= a != c and (self._r1(a, b, c) or self._r2(a, b, c))
                for t in around if len(into) > 1 else []:
                    more |= self.marks[t, b] == CIRCLE and self._r3(t, b, into)
            changed |= more
        return changed

    def _r1(self, a: int, b: int, c: int) -> bool:
        """Orient a *-> b o-* c with a and c apart as b -> c."""
        if self.marks[c, b] != CIRCLE or self._adjacent[a, c]:
            return False
        self.marks[c, b], self.marks[b, c] = TAIL, ARROW
        return True

    def _r2(self, a: int, b: int, c: int) -> bool:
        """Orient a -> b *-> c or a *-> b -> c with a *-o c as a *-> c."""
        marks = self.marks
        if marks[a, c] != CIRCLE or marks[b, c] != ARROW or (marks[b, a] != TAIL and marks[c, b] != TAIL):
            return False
        marks[a, c] = ARROW
        return True

    def _r3(self, t: int, b: int, into: list[int]) -> bool:
        """Orient t *-o b with a *-> b <-* c, a and c apart, a *-o t o-* c as t *-> b."""
        ends = [a for a in into if self.marks[a, t] == CIRCLE]
        if all(self._adjacent[a, c] for a, c in combinations(ends, 2)):
            return False
        self.marks[t, b] = ARROW
        return True

    def discriminating_paths(self) -> bool:
        """R4: on a discriminating path (t, ..., a, b, c), b is either a collider or the source of b -> c."""
        changed, marks = False, self.marks
        for b, c in np.argwhere((marks == CIRCLE).T).tolist():  # b o-* c
            found = self._discriminating(b, c) if marks[c, b] == CIRCLE else None
            if found is None:
                continue
            t, a = found
            if self._is_collider(t, b, c):
                marks[a, b] = marks[b, a] = marks[b, c] = marks[c, b] = ARROW
            else:
                marks[c, b], marks[b, c] = TAIL, ARROW
            changed = True
        return changed

    def _discriminating(self, b: int, c: int) -> tuple[int, int] | None:
        """Return t and a of a discriminating path: all between t and b are colliders and parents of c, t is apart."""
        parent_of_c = (self.marks[:, c] == ARROW) & (self.marks[c] == TAIL)
        for a in self._around[b]:
            if a == c or not parent_of_c[a] or self.marks[b, a] != ARROW:
                continue
            queue, seen = [a], {a, b, c}
            while queue:
                v = queue.pop(0)
                for t in self._around[v]:
                    if t in seen or self.marks[t, v] != ARROW:
                        continue
                    if not self._adjacent[t, c]:
                        return t, a
                    seen.add(t)
                    if parent_of_c[t] and self.marks[v, t] == ARROW:
                        queue.append(t)
        return None

    def tails(self) -> bool:
        """R8 to R10: turn a o-> c into a -> c."""
        changed = False
        for c, a in np.argwhere((self.marks == CIRCLE) & (self.marks.T == ARROW)).tolist():
            if self._r8(a, c) or self._r9(a, c) or self._r10(a, c):
                self.marks[c, a] = TAIL
                changed = True
        return changed

    def _parents(self, c: int) -> list[int]:
        return np.flatnonzero((self.marks[:, c] == ARROW) & (self.marks[c] == TAIL)).tolist()

    def _r8(self, a: int, c: int) -> bool:
        """a -> b -> c."""
        return any(self.marks[b, a] == TAIL and self.marks[a, b] == ARROW for b in self._parents(c))

    def _r9(self, a: int, c: int) -> bool:
        """An uncovered, possibly directed path leads from a over b to c, with b and c apart."""
        return any(b != c and not self._adjacent[b, c] and c in self._reached(a, b) for b in self._around[a])

    def _r10(self, a: int, c: int) -> bool:
        """Two such paths lead from a to two parents of c, and their second nodes differ and are apart."""
        parents = set(self._parents(c)) - {a}
        if len(parents) < 2:
            return False
        reached = {m: parents & set(self._reached(a, m)) for m in self._around[a] if m != c}
        for m, w in combinations([m for m, ends in reached.items() if ends], 2):
            if not self._adjacent[m, w] and len(reached[m] | reached[w]) > 1:
                return True
        return False

    def _may_lead(self, u: int, v: int) -> bool:
        return bool(self.marks[u, v] not in (NO_EDGE, TAIL) and self.marks[v, u] != ARROW)

    def _reached(self, first: int, second: int) -> Iterator[int]:
        """Yield where uncovered, possibly directed paths lead that begin with two nodes.

        The search is over walks, but such a walk never returns: after an arrow R1 makes the rest of it directed, and
        the edges with two circles form a chordal graph, in which every cycle is covered somewhere.
        """
        if not self._may_lead(first, second):
            return
        queue, seen = [(first, second)], {(first, second)}
        while queue:
            u, v = queue.pop()
            yield v
            for w in self._around[v]:
                step = (v, w)
                if w not in (u, first) and step not in seen and not self._adjacent[u, w] and self._may_lead(v, w):
                    seen.add(step)
                    queue.append(step)
