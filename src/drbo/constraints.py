"""The constraints that knowledge puts on a search over the columns of one table, as arrays.

Contradictions are found when the constraints are made, before any search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Indices
from drbo.errors import KnowledgeError
from drbo.graph.dag import check_dag, descendants, find_cycle
from drbo.knowledge import Knowledge

CLASHES_SHOWN = 100


@dataclass(frozen=True, eq=False)
class Constraints:
    """Knowledge about the columns of one table, ready for the search; made by :meth:`of`.

    Besides forbidden edges, an edge is not allowed if together with the required edges it would close a cycle, let a
    later tier cause an earlier one, or exceed the maximum number of parents.

    Examples
    --------
    >>> limits = Constraints.of(Knowledge(forbidden=["a -> b"]), ["a", "b"])
    >>> limits.violations([[0, 1], [0, 0]])
    ["'a -> b' is present but forbidden"]
    >>> limits.is_trivial, Constraints.none(3).is_trivial
    (False, True)
    """

    names: tuple[str, ...]
    allowed: Bools  # (d, d): i -> j may be present; holds for every required edge, never on the diagonal
    required: Bools  # (d, d)
    tier: Indices  # (d,): 1, 2, ... from early to late; 0: in no tier
    max_parents: Indices  # (d,): d - 1 where there is no limit
    knowledge: Knowledge = field(default_factory=Knowledge)  # the statements themselves, for messages

    @classmethod
    def of(cls, known: Knowledge, names: Sequence[str]) -> Self:
        """Return the constraints on these columns, or raise a KnowledgeError that lists every contradiction.

        Examples
        --------
        >>> known = Knowledge(required=["smoking -> cancer"], tiers=[["age", "sex"], ["smoking"]], max_parents=3)
        >>> limits = Constraints.of(known, ["age", "cancer", "sex", "smoking"])
        >>> bool(limits.allowed[0, 3]), bool(limits.allowed[3, 0]), bool(limits.required[3, 1])
        (True, False, True)
        >>> Constraints.of(Knowledge(required=["a -> b"], roots=["b"]), ["a", "b"])
        Traceback (most recent call last):
        ...
        drbo.errors.KnowledgeError: 'a -> b' is required but 'b' is a root (drop or change one of these statements)
        """
        known.check_names(names)
        index = {name: i for i, name in enumerate(names)}
        required = np.zeros((len(names), len(names)), dtype=bool)
        for a, b in known.required:
            required[index[a], index[b]] = True
        max_parents = _max_parents(known, names)
        tier = np.array([known.tier_of.get(name, 0) for name in names], dtype=np.intp)
        problems = _contradictions(known, names, required, tier, max_parents)
        if problems:
            count = f"{len(problems)} contradictions: " if len(problems) > 1 else ""
            more = "; ..." if len(problems) > CLASHES_SHOWN else ""
            shown = "; ".join(problems[:CLASHES_SHOWN])
            raise KnowledgeError(f"{count}{shown}{more}", hint="drop or change one of these statements")
        allowed = _allowed(known, names, tier) & ~_precedence(required, tier).T
        full = required.sum(axis=0) == max_parents  # no room beside the required parents
        allowed[:, full] = required[:, full]
        return cls(tuple(names), allowed, required, tier, max_parents, known)

    @classmethod
    def none(cls, d: int) -> Self:
        """Return constraints that allow every DAG."""
        names = tuple(f"x{i}" for i in range(d))
        limits = np.full(d, max(d - 1, 0))
        return cls(names, ~np.eye(d, dtype=bool), np.zeros((d, d), dtype=bool), np.zeros(d, dtype=np.intp), limits)

    @cached_property
    def before(self) -> Bools:
        """(d, d) True where i comes before j in every order, by the required edges; (0, 0) where there are none."""
        return descendants(self.required) if self.required.any() else np.zeros((0, 0), dtype=bool)

    @cached_property
    def is_trivial(self) -> bool:
        """Whether every DAG is allowed."""
        d = len(self.names)
        everything = int(self.allowed.sum()) == d * (d - 1)
        return everything and not self.required.any() and bool((self.max_parents >= d - 1).all())

    def allow(
        self,
        nodes: Indices,  # (m,)
        parents: Bools,  # (m, d)
    ) -> bool:
        """Tell whether all of these families satisfy the knowledge.

        Examples
        --------
        >>> limits = Constraints.of(Knowledge(forbidden=["a -> b"]), ["a", "b"])
        >>> [limits.allow(np.array([node]), np.array([[node == 1, node == 0]])) for node in (0, 1)]  # b -> a, a -> b
        [True, False]
        """
        if (nodes >= len(self.names)).any():
            return False
        forbidden, missing = parents & ~self.allowed.T[nodes], ~parents & self.required.T[nodes]
        return not (forbidden.any() or missing.any() or (parents.sum(axis=1) > self.max_parents[nodes]).any())

    def permuted(self, order: npt.ArrayLike) -> "Constraints":
        """Return the constraints with the columns in another order; new column k is the old ``order[k]``."""
        o = np.asarray(order, dtype=np.intp)
        pairs = np.ix_(o, o)
        names = tuple(self.names[i] for i in o)
        tier, limits = self.tier[o], self.max_parents[o]
        return Constraints(names, self.allowed[pairs], self.required[pairs], tier, limits, self.knowledge)

    def violations(self, dag: npt.ArrayLike) -> list[str]:
        """Return every violated statement in words; the list is empty if the DAG satisfies all of them."""
        edges = check_dag(dag, self.names)
        found = [f"{self._edge(i, j)} is required but missing" for i, j in np.argwhere(self.required & ~edges)]
        before = _precedence(self.required, self.tier)
        for i, j in np.argwhere(edges & ~self.allowed):
            reasons = self.knowledge.bans(self.names[i], self.names[j])
            if not reasons and before[j, i]:
                reasons = [f"the required edges and tiers place '{self.names[j]}' before '{self.names[i]}'"]
            found += [f"{self._edge(i, j)} is present but {why}" for why in reasons]
        for node in np.flatnonzero(edges.sum(axis=0) > self.max_parents):
            parents = ", ".join(self.names[parent] for parent in np.flatnonzero(edges[:, node]))
            found.append(f"max_parents of '{self.names[node]}' is {self.max_parents[node]} but it has {parents}")
        return found

    def _edge(self, i: int, j: int) -> str:
        return f"'{self.names[i]} -> {self.names[j]}'"


def _max_parents(known: Knowledge, names: Sequence[str]) -> Indices:  # (d,)
    limit_of = known.max_parents if isinstance(known.max_parents, Mapping) else dict.fromkeys(names, known.max_parents)
    most = max(len(names) - 1, 0)
    limits = (limit_of.get(name) for name in names)
    return np.array([most if limit is None else min(limit, most) for limit in limits], dtype=np.intp)


def _allowed(known: Knowledge, names: Sequence[str], tier: Indices) -> Bools:
    """Return which edges the statements allow one by one; the order of the tiers is a matter of paths."""
    index = {name: i for i, name in enumerate(names)}
    allowed = ~np.eye(len(names), dtype=bool)
    for a, b in known.forbidden:
        allowed[index[a], index[b]] = False
    allowed[:, [index[name] for name in known.roots]] = False
    allowed[[index[name] for name in known.leaves]] = False
    outside = set(known.context)
    context = np.array([name in outside for name in names], dtype=bool)
    allowed &= context[:, None] | ~context  # no path may lead from the variables under study to their context
    if known.forbid_within_tiers:
        allowed &= (tier[:, None] != tier) | (tier == 0)
    return allowed


def _contradictions(
    known: Knowledge,
    names: Sequence[str],
    required: Bools,
    tier: Indices,
    max_parents: Indices,
) -> list[str]:
    """Return the statements that cannot all hold, in words."""
    tiers_of: dict[str, list[str]] = {}
    for number, group in enumerate(known.tiers, 1):
        for name in group:
            tiers_of.setdefault(name, []).append(str(number))
    problems = [f"'{name}' is in tiers {' and '.join(found)}" for name, found in tiers_of.items() if len(found) > 1]
    problems += [f"'{a} -> {b}' is required but {why}" for a, b in known.required for why in known.bans(a, b)]
    for node in np.flatnonzero(required.sum(axis=0) > max_parents).tolist():
        parents = np.flatnonzero(required[:, node]).tolist()
        edges = ", ".join(f"'{names[parent]} -> {names[node]}'" for parent in parents)
        verb = "are" if len(parents) > 1 else "is"
        problems.append(f"{edges} {verb} required but max_parents of '{names[node]}' is {max_parents[node]}")
    cycle = find_cycle(required)
    if cycle is not None:
        problems.append(f"the required edges form a cycle: {_path_words([*cycle, cycle[0]], names)}")
    elif not problems:
        problems += _paths_against_tiers(names, required, tier)
    return problems


def _precedence(required: Bools, tier: Indices) -> Bools:
    """Return which nodes must come before which: by required edges, by tiers, and by what follows from both."""
    return descendants(required | ((tier[:, None] < tier) & (tier[:, None] > 0)))


def _paths_against_tiers(names: Sequence[str], required: Bools, tier: Indices) -> list[str]:
    """Return the first required path from a later tier to an earlier one, in words."""
    reach = descendants(required)
    clashes = np.argwhere(reach & (tier[:, None] > tier) & (tier > 0))
    if not len(clashes):
        return []
    node, end = clashes[0].tolist()
    path = [node]
    while node != end:
        node = int(np.flatnonzero(required[node] & (reach[:, end] | (np.arange(len(tier)) == end)))[0])
        path.append(node)
    first, last = path[0], path[-1]
    where = f"'{names[first]}' is in tier {tier[first]} and '{names[last]}' in tier {tier[last]}"
    return [f"'{_path_words(path, names)}' is required but {where}"]


def _path_words(path: Sequence[int], names: Sequence[str]) -> str:
    return " -> ".join(names[node] for node in path)
