"""The constraints that knowledge puts on a search over the columns of one table, as arrays.

Contradictions are found when the constraints are made, before any search. The module is long because knowledge about
series is spelled out for every lag.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    lags: tuple[int, ...] = ()  # (d,) of the columns of a window of time: those of the past are roots; empty: no time

    @classmethod
    def of(cls, known: Knowledge, names: Sequence[str], lags: Sequence[int] = ()) -> Self:
        """Return the constraints on these columns, or raise a KnowledgeError that lists every contradiction.

        ``lags`` of the columns of a window of time: statements on a series hold for its past too, and the past has no
        causes.

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
        known = at_lags(known, names, lags) if lags else known
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
        allowed = _allowed(known, names, tier)
        if known.required or known.tiers:
            allowed &= ~_precedence(required, tier).T
        full = required.sum(axis=0) == max_parents  # no room beside the required parents
        allowed[:, full] = required[:, full]
        return cls(tuple(names), allowed, required, tier, max_parents, known, tuple(lags))

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
        free, pairs = self.is_trivial, np.ix_(o, o)
        names = tuple(self.names[i] for i in o)
        tier, limits = self.tier[o], self.max_parents[o]
        lags = tuple(self.lags[i] for i in o) if self.lags else ()
        allowed = self.allowed if free else self.allowed[pairs]  # of ten thousand columns, maybe
        required = self.required if free else self.required[pairs]
        return Constraints(names, allowed, required, tier, limits, self.knowledge, lags)

    @cached_property
    def past(self) -> Bools:
        """(d,) True for columns of earlier rows, which have no causes in a window of time."""
        return np.array(self.lags, dtype=np.intp) > 0 if self.lags else np.zeros(len(self.names), dtype=bool)

    def possible_effects(self, node: int) -> Bools:
        """Return (d,) True for the other columns to which some path of allowed edges leads.

        Examples
        --------
        >>> limits = Constraints.of(Knowledge(tiers=[["a"], ["b"], ["c"]]), ["a", "b", "c"])
        >>> limits.possible_effects(1).tolist()
        [False, False, True]
        """
        found, last = np.zeros(len(self.names), dtype=bool), np.zeros(len(self.names), dtype=bool)
        last[node] = True
        while last.any():
            last = self.allowed[last].any(axis=0) & ~found
            found |= last
        found[node] = False
        return found

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
    cycle = find_cycle(required) if known.required else None
    if cycle is not None:
        problems.append(f"the required edges form a cycle: {_path_words([*cycle, cycle[0]], names)}")
    elif known.required and not problems:
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


def at_lags(known: Knowledge, names: Sequence[str], lags: Sequence[int]) -> Knowledge:
    """Return the knowledge about the columns of a window of time: statements on a series hold for its past too.

    ``dose -> outcome`` speaks of the dose at every lag, ``dose[-1] -> outcome`` of one, ``dose[0] -> outcome`` of the
    same time. The past has no causes in a window.

    Parameters
    ----------
    names : (d,) of the columns; those of the present have the names of their series.
    lags : (d,) of each column.

    Examples
    --------
    >>> found = at_lags(Knowledge(forbidden=["a -> b"]), ["a", "b", "a[-1]", "b[-1]"], [0, 0, 1, 1])
    >>> found.forbidden, found.roots
    ((('a', 'b'), ('a[-1]', 'b')), ('a[-1]', 'b[-1]'))
    >>> at_lags(Knowledge(required=["a -> b"]), ["a", "b", "a[-1]", "b[-1]"], [0, 0, 1, 1])
    Traceback (most recent call last):
    ...
    drbo.errors.KnowledgeError: required 'a -> b' does not say at which lag (write 'a[-1] -> b', ...)
    """
    window = _Window(names, lags)
    past = [name for name, lag in zip(names, lags, strict=True) if lag]
    forbidden = [edge for cause, effect in known.forbidden for edge in window.edges(cause, effect)]
    required = [window.one(cause, effect) for cause, effect in known.required]
    forbidden += window.earlier_tiers(known) + window.outside(known)
    return replace(known, forbidden=forbidden, required=required, roots=past, leaves=(), context=())


class _Window:
    """The columns of a window by the name of their series."""

    def __init__(self, names: Sequence[str], lags: Sequence[int]) -> None:
        self.at: dict[str, dict[int, str]] = {name: {0: name} for name, lag in zip(names, lags, strict=True) if not lag}
        self.series = {name: name for name in self.at}
        for name, lag in zip(names, lags, strict=True):
            if lag and (series := name.removesuffix(f"[-{lag}]")) in self.at:
                self.at[series][lag], self.series[name] = name, series
        self.present = {f"{name}[0]": name for name in self.at}

    def edges(self, cause: str, effect: str) -> list[tuple[str, str]]:
        """Return the edges between columns that one between names stands for."""
        target = self._target("forbidden", cause, effect)
        sources = list(self.at[cause].values()) if cause in self.at else [self.present.get(cause, cause)]
        return [(source, target) for source in sources if source != target]

    def one(self, cause: str, effect: str) -> tuple[str, str]:
        """Return the edge of a statement that needs a lag."""
        target = self._target("required", cause, effect)
        if cause in self.at:
            raise KnowledgeError(
                f"required '{cause} -> {effect}' does not say at which lag",
                hint=f"write '{cause}[-1] -> {effect}', or '{cause}[0] -> {effect}' for the same time",
            )
        return self.present.get(cause, cause), target

    def _target(self, what: str, cause: str, effect: str) -> str:
        if effect in self.series and effect not in self.at:
            raise KnowledgeError(
                f"{what} '{cause} -> {effect}' has its effect in the past, of which no causes are searched for",
                hint=f"write the effect as '{self.series[effect]}', and the lag at the cause",
            )
        return self.present.get(effect, effect)

    def earlier_tiers(self, known: Knowledge) -> list[tuple[str, str]]:
        """Return the edges from the past of later tiers to earlier ones, and those within tiers that allow none."""
        tier_of, found = known.tier_of, list[tuple[str, str]]()
        for cause, first in tier_of.items():
            for effect, second in tier_of.items():
                within = known.forbid_within_tiers and first == second and cause != effect
                if (first > second or within) and cause in self.at:
                    found += [(column, effect) for lag, column in self.at[cause].items() if lag]
        return found

    def outside(self, known: Knowledge) -> list[tuple[str, str]]:
        """Return the edges that roots, leaves and context rule out; a series may follow from its own past."""
        for name in (*known.roots, *known.leaves, *known.context):
            if name not in self.at:
                known.check_names(list(self.at))
        found, context = list[tuple[str, str]](), set(known.context)
        for cause, columns in self.at.items():
            for effect in self.at:
                out = effect in known.roots or cause in known.leaves or (effect in context and cause not in context)
                if out and cause != effect:
                    found += [(column, effect) for column in columns.values()]
        return found
