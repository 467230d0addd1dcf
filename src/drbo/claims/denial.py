"""What speaks against the directions of edges, and which claims were made: the records behind every verdict."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

#: What supports the direction of an edge: what the user stated, a randomised cause, an experiment, residuals that tell
#: cause from effect, all graphs of the equivalence class, the order of time, or tests that allow hidden causes. Empty:
#: nothing.
Ground = Literal["given", "randomised", "experiment", "noise-check", "class", "time", "tests", ""]
#: ``ran``: the claim was made. ``irrelevant``: it has nothing to say about such a table. ``skipped``: it was left out.
Status = Literal["ran", "irrelevant", "skipped"]


@dataclass(frozen=True, kw_only=True)
class Denial:
    """What speaks against the direction of one edge."""

    cause: str  # as the edge is drawn
    effect: str
    claim: str  # that denies it
    grounds: tuple[Ground, ...]  # that do not support it then
    sentence: str  # why, in words
    likely: bool = False  # a hidden cause is likely here: :mod:`drbo.claims.checks.hidden_check`


def by_edge(found: Iterable[Denial]) -> dict[tuple[str, str], list[Denial]]:
    """Return denials by the arrow that they deny."""
    edges: dict[tuple[str, str], list[Denial]] = {}
    for one in found:
        edges.setdefault((one.cause, one.effect), []).append(one)
    return edges


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """Whether a claim was made about the answer."""

    name: str
    status: Status
    why: str = ""  # it was skipped, in words
    grounds: tuple[Ground, ...] = ()  # that it could have denied: they support no arrow where it was skipped


class _OfEdge(Protocol):
    """A record of one edge."""

    @property
    def cause(self) -> str: ...
    @property
    def effect(self) -> str: ...


EdgeRecord = TypeVar("EdgeRecord", bound=_OfEdge)


def in_order(found: Iterable[EdgeRecord], names: Sequence[str]) -> tuple[EdgeRecord, ...]:
    """Return records of edges in the order of the columns; those of one edge stay as they are."""
    place = {name: k for k, name in enumerate(names)}
    return tuple(sorted(found, key=lambda one: (place[one.cause], place[one.effect])))
