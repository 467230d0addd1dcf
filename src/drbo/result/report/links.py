"""The links of two graphs over the same variables: which of them both have, and how the others differ."""

from dataclasses import dataclass

from drbo.result.files.export import printable
from drbo.result.report.edge_columns import COLUMNS
from drbo.result.result import Result

#: How a link can differ, in the order of the table; {0} and {1} are the runs.
DIFFERENCES = {
    "only-0": "only in {0}",
    "only-1": "only in {1}",
    "turned": "other direction",
    "told-0": "direction less sure in {0}",
    "told-1": "direction less sure in {1}",
    "both": "the same in both",
}
#: Figures of an edge that are shown for both runs, where both have them.
MEASURES = ("standardised_weight", "p_link", "link_frequency", "margin_removed")
ARROWS = {("none", "solid"): "→", ("none", "hollow"): "⇾", ("solid", "none"): "←", ("hollow", "none"): "⇽"}
SURE = {"circle": -1, "none": 0, "hollow": 1, "solid": 2}  # how much the end of an edge tells
SPOKEN = {"→": "causes", "⇾": "is assumed to cause", "←": "is caused by", "⇽": "is assumed to be caused by"}


@dataclass(frozen=True)
class Side:
    """What one run says about a link."""

    sign: str = ""  # between both variables; empty: not linked
    spoken: str = "not linked"  # the sign for a screen reader
    direction: str = "not linked"  # supported, assumed or open
    figures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Link:
    """What both runs say about two variables."""

    a: str
    b: str
    kind: str  # a key of DIFFERENCES
    number: int  # what the pictures call it
    pair: frozenset[int]  # places of both variables
    sides: tuple[Side, Side]

    @property
    def words(self) -> str:
        """The link as a phrase."""
        return f"{printable(self.a)}–{printable(self.b)}"


def shared_measures(results: tuple[Result, Result]) -> list[str]:
    """Return the figures of edges that both results have."""
    tables = [result.edges().columns for result in results]
    return [name for name in MEASURES if all(name in columns for columns in tables)]


def links_of(results: tuple[Result, Result], places: tuple[list[int], list[int]], measures: list[str]) -> list[Link]:
    """Return the links of two results, those that differ first.

    Parameters
    ----------
    results : both over the same names, maybe in another order.
    places : for every variable of the pictures, its place in each result.
    measures : names of the figures of each link.
    """
    names = [results[0].names[k] for k in places[0]]
    ends = [_ends_by_pair(result, place) for result, place in zip(results, places, strict=True)]
    said = [_said_by_pair(result, measures) for result in results]
    found = []
    for number, pair in enumerate(sorted(ends[0].keys() | ends[1].keys(), key=sorted)):
        (i, j), both = sorted(pair), [one.get(pair) for one in ends]
        if both[0] is not None and ARROWS.get(both[0], "") in ("←", "⇽"):
            i, j = j, i  # arrows of the first run are read from left to right
            both = [one and one[::-1] for one in both]
        sides = [
            Side() if one is None else _side(one, *about[frozenset((names[i], names[j]))])
            for one, about in zip(both, said, strict=True)
        ]
        found.append(Link(names[i], names[j], _difference(both), number, pair, (sides[0], sides[1])))
    order = list(DIFFERENCES)
    return sorted(found, key=lambda link: order.index(link.kind))


def _side(ends: tuple[str, str], direction: str, figures: tuple[str, ...]) -> Side:
    sign = ARROWS.get(ends, _marks(ends))
    return Side(sign, SPOKEN.get(sign, "is linked to"), direction, figures)


def _ends_by_pair(result: Result, place: list[int]) -> dict[frozenset[int], tuple[str, str]]:
    """Return how both ends of each link look, that of the variable that comes first in the pictures first."""
    shown = {k: at for at, k in enumerate(place)}
    found: dict[frozenset[int], tuple[str, str]] = {}
    for (i, j), ends in result.reading.ends().items():
        a, b = shown[i], shown[j]
        found[frozenset((a, b))] = ends if a < b else ends[::-1]
    return found


def _said_by_pair(result: Result, measures: list[str]) -> dict[frozenset[str], tuple[str, tuple[str, ...]]]:
    """Return the direction and the figures of every link, as they are written."""
    found = {}
    for record in result.edges().to_dict("records"):
        figures = tuple(COLUMNS[name].write(record[name]) for name in measures)
        found[frozenset((record["source"], record["target"]))] = (str(record["direction"]), figures)
    return found


def _difference(ends: list[tuple[str, str] | None]) -> str:
    """Return how two runs differ about a link, given its ends in both.

    Examples
    --------
    >>> _difference([("none", "solid"), None]), _difference([("none", "solid"), ("solid", "none")])
    ('only-0', 'turned')
    """
    first, second = ends
    if first is None or second is None:
        return "only-1" if first is None else "only-0"
    if first == second:
        return "both"
    heads = [tuple(end in ("solid", "hollow") for end in one) for one in (first, second)]
    sure = [sum(SURE[end] for end in one) for one in (first, second)]
    if (all(any(one) for one in heads) and heads[0] != heads[1]) or sure[0] == sure[1]:
        return "turned"
    return "told-0" if sure[0] < sure[1] else "told-1"


def _marks(ends: tuple[str, str]) -> str:
    """Return the marks of an edge between two names."""
    if ends == ("none", "none"):
        return "—"
    left = {"none": "—", "circle": "o"}.get(ends[0], "←")
    return left + {"none": "—", "circle": "o"}.get(ends[1], "→")
