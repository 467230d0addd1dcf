"""One verdict for each mechanism of a series: what one column does to another one, at whatever lags.

An effect that is spread over several lags is one mechanism. If one of its arrows is in doubt, for example because a
hidden cause may act at that lag, the sizes of the others are in doubt as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from drbo.graph.window import places

if TYPE_CHECKING:
    from drbo.claims.directions import EdgeDirection

#: Grounds that hold for each arrow by itself.
BY_ITSELF = ("given", "experiment")
#: What is said about an arrow whose mechanism is in doubt.
TOGETHER = "'{0}' also acts on '{1}' at another lag ('{2}'), and that is not confirmed."


def one_verdict_each(
    directions: "Iterable[EdgeDirection]", names: Sequence[str], lags: Sequence[int]
) -> "tuple[EdgeDirection, ...]":
    """Return what may be said about edges, where the arrows of a mechanism are supported together or not at all.

    Parameters
    ----------
    names, lags : (d,) of the columns; no lags: rows have no time.
    """
    found = tuple(directions)
    if not lags:
        return found
    present, place = places(names, lags)
    series = {name: present[k] if k >= 0 else name for name, k in zip(names, place.tolist(), strict=True)}
    doubtful = {(series[one.cause], one.effect): one.cause for one in found if one.direction != "supported"}
    told = []
    for one in found:
        mechanism = series[one.cause], one.effect
        if one.direction == "supported" and one.ground not in BY_ITSELF and mechanism in doubtful:
            words = TOGETHER.format(*mechanism, doubtful[mechanism])
            one = replace(one, direction="assumed", ground="", sentence=words)
        told.append(one)
    return tuple(told)
