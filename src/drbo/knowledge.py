"""Background knowledge about the graph, as the user states it: by name, in Python, TOML or on the command line.

The module is long because statements are read from four sources and checked in words.
"""

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Self

from drbo.errors import KnowledgeError
from drbo.toml import read_toml

NAMES_SHOWN = 20  # columns listed in a hint
UNKNOWN_SHOWN = 10  # names in one error: each is compared with all columns


@dataclass(frozen=True)
class Knowledge:
    """Background knowledge that every resulting graph satisfies.

    Parameters
    ----------
    forbidden : edges that must be absent, as pairs ``(a, b)`` or strings ``"a -> b"``.
    required : edges that must be present, written the same way.
    tiers : groups of variables from earliest to latest; no edge leads from a later tier to an earlier one. A variable
        without a tier is unconstrained, and a path through such variables may still lead from a later tier to an
        earlier one. Required edges must not form such a path, and no edge may complete one that they begin. To rule
        out all such paths, assign every variable to a tier.
    forbid_within_tiers : also forbid all edges between variables of the same tier.
    roots : variables without parents.
    context : variables outside the system under study, such as site, batch or treatment arm. They form a tier before
        all others: they may cause each other and all other variables, but no other variable causes them.
    leaves : variables without children.
    max_parents : maximum number of parents, for every variable or, as a mapping, for each variable that it names.

    Examples
    --------
    >>> known = Knowledge(required=["smoking -> cancer"], tiers=[["age", "sex"], ["smoking"]], max_parents=3)
    >>> known.bans("smoking", "age")
    ["'smoking' is in tier 2 and 'age' in tier 1"]
    >>> known.check_names(["age", "sex", "smoking", "cancr"])
    Traceback (most recent call last):
    ...
    drbo.errors.KnowledgeError: unknown name in the knowledge: 'cancer' (in required 'smoking -> cancer') is not a
    column; did you mean 'cancr'? (...)
    """

    forbidden: Sequence[tuple[str, str]] = ()
    required: Sequence[tuple[str, str]] = ()
    tiers: Sequence[Sequence[str]] = ()
    forbid_within_tiers: bool = False
    roots: Sequence[str] = ()
    leaves: Sequence[str] = ()
    max_parents: int | Mapping[str, int] | None = None
    context: Sequence[str] = ()

    def __post_init__(self) -> None:
        clean = {
            "forbidden": _edges("forbidden", self.forbidden),
            "required": _edges("required", self.required),
            "tiers": tuple(_names(f"tier {k}", tier) for k, tier in enumerate(_listed("tiers", self.tiers), 1)),
            "roots": _names("roots", self.roots),
            "leaves": _names("leaves", self.leaves),
            "context": _names("context", self.context),
            "max_parents": _limits(self.max_parents),
        }
        for key, value in clean.items():
            object.__setattr__(self, key, value)
        if not isinstance(self.forbid_within_tiers, bool):
            raise KnowledgeError(f"forbid_within_tiers must be true or false, got {self.forbid_within_tiers!r}")
        if () in self.tiers:
            raise KnowledgeError(
                f"tier {self.tiers.index(()) + 1} is empty", hint="every tier must name at least one variable"
            )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Build from a table with the names of the parameters as keys, as read from TOML or JSON.

        Examples
        --------
        >>> Knowledge.from_mapping({"required": [["a", "b"], "b -> c"]}).required
        (('a', 'b'), ('b', 'c'))
        """
        allowed = [part.name for part in fields(cls)]
        unknown = [str(key) for key in mapping if key not in allowed]
        if unknown:
            listed = ", ".join(map(repr, unknown[:UNKNOWN_SHOWN]))
            raise KnowledgeError(f"knowledge has no field {listed}", hint=f"allowed are {', '.join(allowed)}")
        return cls(**mapping)

    @classmethod
    def from_toml(cls, path: str | Path) -> Self:
        """Read a TOML file with the names of the parameters as keys, at its top or in a table ``[knowledge]``.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "known.toml")
        ...     _ = file.write_text('knowledge = {required = ["a -> b"], max_parents = {b = 2}}')
        ...     Knowledge.from_toml(file).to_mapping()
        {'required': [['a', 'b']], 'max_parents': {'b': 2}}
        """
        try:
            content = read_toml(path)
        except OSError as error:
            raise KnowledgeError(
                f"knowledge file '{path}' cannot be read: {error.strerror}", hint="check the path and the spelling"
            ) from error
        except ValueError as error:
            raise KnowledgeError(
                f"knowledge file '{path}' is not valid TOML: {error}", hint='for example: required = ["a -> b"]'
            ) from error
        table = content.get("knowledge", content)
        if not isinstance(table, dict):
            raise KnowledgeError(
                f"'knowledge' in '{path}' must be a table, got {table!r}", hint="write [knowledge] on a line of its own"
            )
        try:
            return cls.from_mapping(table)
        except KnowledgeError as error:
            raise KnowledgeError(f"knowledge file '{path}': {error.message}", hint=error.hint) from error

    def joined(self, other: "Knowledge") -> "Knowledge":
        """Return the union of both; tiers, and a max_parents for all variables, may come from only one of them.

        Examples
        --------
        >>> Knowledge(roots=["a"]).joined(Knowledge(roots=["b"], max_parents=2)).to_mapping()
        {'roots': ['a', 'b'], 'max_parents': 2}
        """
        for part, single in (("tiers", (self.tiers, other.tiers)), ("max_parents", _limits_of(self, other))):
            if all(single):
                raise KnowledgeError(f"{part} is given twice", hint="remove one of them")
        lists = ("forbidden", "required", "tiers", "roots", "leaves", "context")
        together: dict[str, Any] = {part: (*getattr(self, part), *getattr(other, part)) for part in lists}
        limit = self.max_parents if other.max_parents is None else other.max_parents
        within = self.forbid_within_tiers or other.forbid_within_tiers
        return Knowledge(**together, forbid_within_tiers=within, max_parents=limit)

    @classmethod
    def from_strings(
        cls,
        require: Iterable[str] = (),
        forbid: Iterable[str] = (),
        tiers: str = "",
        roots: Iterable[str] = (),
        leaves: Iterable[str] = (),
        max_parents: int | None = None,
        forbid_within_tiers: bool = False,
        context: Iterable[str] = (),
    ) -> Self:
        """Build from the strings of the command line: edges ``a->b``, tiers ``a,b;c,d`` from earliest to latest.

        Examples
        --------
        >>> Knowledge.from_strings(require=["a->b"], tiers="a,b; c").tiers
        (('a', 'b'), ('c',))
        """
        groups = [[name.strip() for name in tier.split(",")] for tier in tiers.split(";")] if tiers.strip() else []
        return cls(
            forbidden=_edges("forbid", list(forbid)),
            required=_edges("require", list(require)),
            tiers=groups,
            forbid_within_tiers=forbid_within_tiers,
            roots=list(roots),
            leaves=list(leaves),
            max_parents=max_parents,
            context=list(context),
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return lists and numbers for JSON, which :meth:`from_mapping` can read; empty fields are omitted."""
        parts: dict[str, Any] = {
            "forbidden": [list(edge) for edge in self.forbidden],
            "required": [list(edge) for edge in self.required],
            "tiers": [list(tier) for tier in self.tiers],
            "forbid_within_tiers": self.forbid_within_tiers,
            "roots": list(self.roots),
            "leaves": list(self.leaves),
            "context": list(self.context),
        }
        full = {key: value for key, value in parts.items() if value}
        return full if self.max_parents is None else {**full, "max_parents": self.max_parents}

    def bans(self, a: str, b: str) -> list[str]:
        """Return the reasons that forbid the edge a -> b, worded to complete 'a -> b is required but ...'."""
        reasons = []
        if (a, b) in self._sets["forbidden"]:
            reasons.append("forbidden")
        if b in self._sets["roots"]:
            reasons.append(f"'{b}' is a root")
        if a in self._sets["leaves"]:
            reasons.append(f"'{a}' is a leaf")
        if b in self._sets["context"] and a not in self._sets["context"]:
            reasons.append(f"'{b}' is a context variable and '{a}' is not")
        first, second = self.tier_of.get(a, 0), self.tier_of.get(b, 0)
        if first > second > 0:
            reasons.append(f"'{a}' is in tier {first} and '{b}' in tier {second}")
        if self.forbid_within_tiers and first == second > 0:
            reasons.append(f"'{a}' and '{b}' are both in tier {first} and edges within tiers are forbidden")
        return reasons

    @cached_property
    def tier_of(self) -> dict[str, int]:
        """The tier of each variable that has one, from 1."""
        return {name: number for number, tier in enumerate(self.tiers, 1) for name in tier}

    @cached_property
    def _sets(self) -> dict[str, frozenset[Any]]:
        """The lists that are asked about every edge."""
        return {name: frozenset(getattr(self, name)) for name in ("forbidden", "roots", "leaves", "context")}

    def mentions(self) -> Iterator[tuple[str, str]]:
        """Yield every name with the statement that holds it."""
        for kind, edges in (("forbidden", self.forbidden), ("required", self.required)):
            yield from ((name, f"{kind} '{a} -> {b}'") for a, b in edges for name in (a, b))
        for number, tier in enumerate(self.tiers, 1):
            yield from ((name, f"tier {number}") for name in tier)
        limited = self.max_parents if isinstance(self.max_parents, Mapping) else ()
        for kind, group in (
            ("roots", self.roots),
            ("leaves", self.leaves),
            ("max_parents", limited),
            ("context", self.context),
        ):
            yield from ((name, kind) for name in group)

    def check_names(self, names: Sequence[str]) -> None:
        """Raise a KnowledgeError that lists every name that is not among these columns."""
        known = set(names)
        unknown: dict[str, str] = {}
        for name, where in self.mentions():
            if name not in known:
                unknown.setdefault(name, where)
        if not unknown:
            return
        problems = []
        for name, where in islice(unknown.items(), UNKNOWN_SHOWN):
            close = get_close_matches(name, names, n=1)
            guess = f"; did you mean '{close[0]}'?" if close else ""
            problems.append(f"'{name}' (in {where}) is not a column{guess}")
        if len(unknown) > UNKNOWN_SHOWN:
            problems.append(f"and {len(unknown) - UNKNOWN_SHOWN} more")
        more = ", ..." if len(names) > NAMES_SHOWN else ""
        raise KnowledgeError(
            f"unknown name in the knowledge: {'; '.join(problems)}",
            hint="knowledge can only name columns that are part of the search; the columns are "
            f"{', '.join(names[:NAMES_SHOWN])}{more}",
        )


def _limits_of(*statements: Knowledge) -> tuple[bool, ...]:
    return tuple(known.max_parents is not None for known in statements)


def _listed(key: str, value: Any) -> list[Any]:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise KnowledgeError(f"{key} must be a list, got {value!r}")
    return list(value)


def _names(key: str, value: Any) -> tuple[str, ...]:
    """Return the names of a list, each once."""
    names = _listed(key, value)
    for name in names:
        if not isinstance(name, str) or not name:
            raise KnowledgeError(f"{key} must contain names of variables, got {name!r}")
    return tuple(dict.fromkeys(names))


def _edges(key: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Return the edges of a list of pairs or strings 'a -> b', each once."""
    edges = []
    for item in _listed(key, value):
        ends = [part.strip() for part in item.split("->")] if isinstance(item, str) else _listed(key, item)
        if len(ends) != 2 or not all(isinstance(end, str) and end for end in ends):
            raise KnowledgeError(
                f"{key}: an edge must be 'a -> b' or a pair of names, got {item!r}",
                hint="give one edge at a time; if a name contains '->', give the edge as a pair of names",
            )
        if ends[0] == ends[1]:
            raise KnowledgeError(f"{key}: '{ends[0]} -> {ends[1]}' is an edge from a variable to itself")
        edges.append((ends[0], ends[1]))
    return tuple(dict.fromkeys(edges))


def _limits(value: Any) -> int | dict[str, int] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        _names("max_parents", list(value))
        return {name: _limit(limit, f" of '{name}'") for name, limit in value.items()}
    return _limit(value, "")


def _limit(value: Any, whose: str) -> int:
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise KnowledgeError(f"max_parents{whose} must be a whole number >= 0, got {value!r}")
    return number
