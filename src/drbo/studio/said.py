"""What somebody said on the page: how columns are used, and what is known about causes.

Everything here comes from a browser: names and values are checked before they are used.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, get_args

from drbo.design import DataPolicy, Design, Missing
from drbo.errors import SettingsError
from drbo.knowledge import Knowledge

LONGEST_NAME, MOST_STATEMENTS = 1_000, 5_000
#: Percentages at which somebody may be sure of an answer; at 100 no data outvote it.
LEAST_SURE, SURE = 51, 100
#: What says how the table is used; the rest is knowledge.
TABLE = ("drop", "types", "na", "missing", "groups", "randomised", "outcome")
#: How a statement about a pair is listed.
PAIRS = {"forbid": "{0} is no direct cause of {1}", "require": "{0} is a direct cause of {1}"}


class Answered(NamedTuple):
    """What somebody answered: that of two columns only one can be a cause of the other, and how sure that is."""

    cause: str
    other: str
    sure: int  # per cent
    used: bool  # False: the data outvoted it

    @property
    def words(self) -> str:
        """The answer as a statement."""
        what = PAIRS["forbid"].format(self.other, self.cause)
        return f"{what}: answered, {self.sure}% sure{'' if self.used else '; outvoted by the data, and not used'}"

    @classmethod
    def read(cls, parts: Any) -> "Answered":
        """Read an answer that a browser or a file sent."""
        ((cause, other, sure, used),) = _lists([parts], 4)
        whole = isinstance(sure, int) and not isinstance(sure, bool) and LEAST_SURE <= sure <= SURE
        if not whole or not isinstance(used, bool):
            raise SettingsError(f"an answer is sure by {LEAST_SURE} to {SURE} per cent, got {sure!r:.80}")
        return cls(checked_name(cause), checked_name(other), sure, used)


@dataclass(frozen=True)
class Said:
    """All statements, in the order in which they were made.

    Examples
    --------
    >>> said = Said().edited({"do": "forbid", "a": "wet", "b": "rain"}).edited({"do": "tier", "name": "rain", "to": 1})
    >>> [one["words"] for one in said.statements()]
    ['rain: tier 1', 'wet is no direct cause of rain']
    >>> said.knowledge.forbidden
    (('wet', 'rain'),)
    """

    drop: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()
    na: tuple[str, ...] = ()
    missing: str = "error"
    groups: str = ""
    tiers: tuple[tuple[str, ...], ...] = ()
    roots: tuple[str, ...] = ()
    forbid: tuple[tuple[str, str], ...] = ()
    require: tuple[tuple[str, str], ...] = ()
    randomised: tuple[str, ...] = ()
    outcome: str = ""
    answers: tuple["Answered", ...] = ()

    @classmethod
    def from_mapping(cls, content: Any) -> "Said":
        """Read what :meth:`to_mapping` returns, from a file that anybody may have written."""
        if not isinstance(content, dict) or set(content) - {one.name for one in fields(cls)}:
            raise SettingsError("the statements of a studio must be an object with known names")
        pairs: dict[str, Any] = {name: pairs_of(content.get(name, [])) for name in ("types", "forbid", "require")}
        lists: dict[str, Any] = {
            name: tuple(map(checked_name, _list(content.get(name, []))))
            for name in ("drop", "na", "roots", "randomised")
        }
        answers = tuple(map(Answered.read, _list(content.get("answers", []))))
        tiers = tuple(tuple(map(checked_name, _list(tier))) for tier in _list(content.get("tiers", [])))
        made = cls(missing=_missing(content.get("missing", "error")), groups=_text(content.get("groups", "")),
                   outcome=_text(content.get("outcome", "")), answers=answers,
                   tiers=tuple(filter(None, tiers)), **pairs, **lists)  # fmt: skip
        made.knowledge, made.design  # noqa: B018 - they refuse what they cannot be
        return made

    def to_mapping(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    @cached_property
    def knowledge(self) -> Knowledge:
        """What is known about causes."""
        answered = tuple((one.other, one.cause) for one in self.answers if one.used)
        forbidden = (*self.forbid, *answered)
        return Knowledge(forbidden=forbidden, required=self.require, tiers=self.tiers, roots=self.roots)

    @property
    def design(self) -> Design:
        """How the rows came about."""
        return Design(groups=self.groups or None, randomised=self.randomised, outcome=self.outcome or None)

    @property
    def policy(self) -> DataPolicy:
        """What to do about columns and cells."""
        missing: Any = self.missing
        return DataPolicy(missing=missing, types=dict(self.types) or None, na=self.na)

    def same_table(self, other: "Said") -> bool:
        """Tell whether both read the same columns in the same way, so that knowledge alone differs."""
        return all(getattr(self, name) == getattr(other, name) for name in TABLE)

    def statements(self) -> list[dict[str, Any]]:
        """Return every statement in words, with the edit that takes it back."""
        found = [_statement(f"{name} is left out", do="keep", name=name) for name in self.drop]
        found += [_statement(f"{name} holds: {kind}", do="type", name=name, type="") for name, kind in self.types]
        if self.na:
            found.append(_statement(f"cells that mean a missing value: {', '.join(self.na)}", do="na", values=[]))
        if self.missing != "error":
            found.append(_statement(f"missing values: {self.missing}", do="missing", value="error"))
        if self.groups:
            found.append(_statement(f"rows with the same {self.groups} belong together", do="groups", name=""))
        for number, tier in enumerate(self.tiers, 1):
            found += [_statement(f"{name}: tier {number}", do="tier", name=name, to=0) for name in tier]
        found += [_statement(f"nothing in the table causes {name}", do="root", name=name) for name in self.roots]
        found += [_statement(f"chance alone decided {name}", do="randomised", name=name) for name in self.randomised]
        if self.outcome:
            found.append(_statement(f"{self.outcome} is the outcome", do="outcome", name=""))
        found += [_statement(one.words, do="retract", a=one.cause, b=one.other) for one in self.answers]
        for kind, words in PAIRS.items():
            found += [_statement(words.format(a, b), do=kind, a=a, b=b) for a, b in getattr(self, kind)]
        return found

    def edited(self, edit: Mapping[str, Any]) -> "Said":
        """Return the statements after an edit; one that is made twice is taken back."""
        kind = edit.get("do")
        if kind in PAIRS:
            pair, other = (
                (checked_name(edit.get("a")), checked_name(edit.get("b"))),
                "require" if kind == "forbid" else "forbid",
            )
            rest = tuple(one for one in getattr(self, other) if one != pair)
            return self._with({kind: _toggled(getattr(self, kind), pair), other: rest})
        if kind in ("answer", "retract"):
            a, b = checked_name(edit.get("a")), checked_name(edit.get("b"))
            rest = tuple(one for one in self.answers if {one.cause, one.other} != {a, b})
            new = [] if kind == "retract" else [Answered.read([a, b, edit.get("sure"), edit.get("used", True)])]
            return self._with({"answers": (*rest, *new)})
        if kind in ("root", "randomised"):
            field = {"root": "roots"}.get(kind, kind)
            return self._with({field: _toggled(getattr(self, field), checked_name(edit.get("name")))})
        if kind == "tier":
            return self._with({"tiers": self._moved(checked_name(edit.get("name")), edit.get("to"))})
        if kind in ("drop", "keep"):
            return self._dropped(checked_name(edit.get("name")), drop=kind == "drop")
        if kind == "type":
            name, value = checked_name(edit.get("name")), _text(edit.get("type"))
            rest_types = tuple(one for one in self.types if one[0] != name)
            return self._with({"types": (*rest_types, (name, value)) if value else rest_types})
        if kind in ("groups", "outcome"):
            return self._with({kind: _text(edit.get("name"))})
        if kind == "missing":
            return self._with({"missing": _missing(edit.get("value"))})
        if kind == "na":
            return self._with({"na": tuple(map(checked_name, _list(edit.get("values"))))})
        raise SettingsError(f"there is no edit {kind!r:.80}")

    def solved(self, remedies: Mapping[str, Any]) -> "Said":
        """Return the statements with what solves the problems of the table."""
        drop = tuple(dict.fromkeys((*self.drop, *remedies["drop"])))
        types = tuple((dict(self.types) | remedies["types"]).items())
        na = tuple(dict.fromkeys((*self.na, *remedies["na"])))
        made = self._with({"types": types, "na": na, "missing": remedies["missing"] or self.missing})
        for name in drop:
            made = made._dropped(name, drop=True)
        return made

    def _with(self, changes: Mapping[str, Any]) -> "Said":
        made = replace(self, **changes)
        made.design  # noqa: B018 - refuses what it cannot be
        if len(made.forbid) + len(made.require) + len(made.answers) > MOST_STATEMENTS:
            raise SettingsError(f"at most {MOST_STATEMENTS:,} statements are taken")
        return made

    def _moved(self, name: str, to: Any) -> tuple[tuple[str, ...], ...]:
        if not isinstance(to, int) or isinstance(to, bool) or not 0 <= to <= len(self.tiers) + 1:
            raise SettingsError(f"a tier must be a number from 0 to {len(self.tiers) + 1}, got {to!r:.80}")
        tiers = [[one for one in tier if one != name] for tier in (*self.tiers, ())]
        if to:
            tiers[to - 1].append(name)
        return tuple(tuple(tier) for tier in tiers if tier)

    def _dropped(self, name: str, *, drop: bool) -> "Said":
        """Leave a column out, with everything that was said about it, or take it back in."""
        if not drop:
            return self._with({"drop": tuple(one for one in self.drop if one != name)})
        return replace(
            self,
            drop=tuple(dict.fromkeys((*self.drop, name))),
            types=tuple(one for one in self.types if one[0] != name),
            groups="" if self.groups == name else self.groups,
            outcome="" if self.outcome == name else self.outcome,
            randomised=tuple(one for one in self.randomised if one != name),
            answers=tuple(one for one in self.answers if name not in (one.cause, one.other)),
            tiers=self._moved(name, 0),
            roots=tuple(one for one in self.roots if one != name),
            forbid=tuple(one for one in self.forbid if name not in one),
            require=tuple(one for one in self.require if name not in one),
        )


def _statement(words: str, **edit: Any) -> dict[str, Any]:
    return {"words": words, "undo": edit}


def _toggled(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    return tuple(one for one in items if one != item) if item in items else (*items, item)


def checked_name(value: Any) -> str:
    """Return a name that a browser or a file sent, or refuse it."""
    if not (name := _text(value)):
        raise SettingsError("a name must not be empty")
    return name


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_NAME or "\0" in value:
        raise SettingsError(f"a text of at most {LONGEST_NAME} characters is needed, got {value!r:.80}")
    return value


def _missing(value: Any) -> str:
    if value not in get_args(Missing):
        raise SettingsError(f"missing must be one of {', '.join(get_args(Missing))}, got {value!r:.80}")
    return str(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) > MOST_STATEMENTS:
        raise SettingsError(f"a list is needed, got {value!r:.80}")
    return list(value)


def pairs_of(value: Any) -> tuple[tuple[str, str], ...]:
    """Return pairs of names that a browser or a file sent, or refuse them."""
    return tuple((checked_name(a), checked_name(b)) for a, b in _lists(value, 2))


def _lists(value: Any, size: int) -> list[list[Any]]:
    found = [_list(item) for item in _list(value)]
    if any(len(item) != size for item in found):
        raise SettingsError(f"lists of {size} are needed, got {value!r:.80}")
    return found
