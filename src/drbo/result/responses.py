"""Impulse responses: what a change of one series by one unit does to another one, so many steps later.

The effects of the graph are estimated by least squares and followed through all later rows, where a column of the past
follows from its own past as well: the columns of a window alone would miss that. Intervals come from resamples of the
stretches of the series (Künsch 1989), for the same graph.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.errors import DataError
from drbo.graph.window import places
from drbo.result.effects import ASSUMED, TAILS

if TYPE_CHECKING:
    import pandas as pd

#: Resamples of the stretches of a series.
RESAMPLES = 200


@dataclass(frozen=True, kw_only=True)
class Response:
    """What a change of the source by one unit does to the target after 0, 1, ... steps, with 95% intervals."""

    source: str
    target: str
    effects: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Responses:
    """Responses of series to each other; see :meth:`drbo.Result.effects`."""

    responses: tuple[Response, ...]
    basis: str
    n_rows: int
    left_out: str = ""

    def table(self) -> "pd.DataFrame":
        """Return one row per pair and step: the effect and its interval."""
        import pandas as pd

        rows = [
            {"source": one.source, "target": one.target, "horizon": step, "effect": effect, "low": low, "high": high}
            for one in self.responses
            for step, (effect, low, high) in enumerate(zip(one.effects, one.low, one.high, strict=True))
        ]
        return pd.DataFrame(rows, columns=["source", "target", "horizon", "effect", "low", "high"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        listed = [asdict(one) for one in self.responses]
        return {"basis": self.basis, "assumed": ASSUMED, "n_rows": self.n_rows, "left_out": self.left_out,
                "responses": listed}  # fmt: skip

    def summary(self) -> str:
        """Return the responses in plain words."""
        lines = [f"Responses to a change by one unit, {self.basis} ({self.n_rows} rows); assumed: {ASSUMED}"]
        if not self.responses:
            lines.append("  no variable has an effect on another one in this graph")
        for one in self.responses:
            lines += ["", f"{one.source} -> {one.target}"]
            for step, (effect, low, high) in enumerate(zip(one.effects, one.low, one.high, strict=True)):
                when = "at once" if step == 0 else f"{step} step{'s' * (step > 1)} later"
                lines.append(f"  {when:<14} {effect:.4g}   95% interval {low:.4g} to {high:.4g}")
        return "\n".join(lines)


def responses(
    dag: Bools,  # (d, d) over the columns of a window
    table: Statistics,
    pairs: Sequence[tuple[str, str]] | None,
    *,
    basis: str,
    horizon: int,
    seed: int,
) -> Responses:
    """Return what a change of one series does to another one, for all steps up to a horizon.

    Parameters
    ----------
    table : the rows of a window, with the columns of the graph.
    pairs : names of source and target; None: all pairs with an effect.
    """
    present, place = places(table.names, table.lags)
    for name in (name for pair in pairs or () for name in pair):
        if name not in present:
            raise DataError(
                f"'{name}' is no variable of the present", hint=f"effects are told for every step: use {present[0]!r}"
            )
    if "categorical" in table.kinds:
        text = table.names[table.kinds.index("categorical")]
        raise DataError(f"column '{text}' is categorical, but responses are those of numbers", hint="drop it")
    lags = np.array(table.lags)
    grams = _grams(table)
    followed = _followed(_effects(grams.sum(axis=0), dag, place, lags, len(present)), horizon)
    rng, drawn = np.random.default_rng(seed), list[Floats]()
    for _ in range(RESAMPLES):
        current().check()
        gram = grams[rng.integers(len(grams), size=len(grams))].sum(axis=0)
        drawn.append(_followed(_effects(gram, dag, place, lags, len(present)), horizon))
    low, high = np.percentile(drawn, TAILS, axis=0)
    found, number = list[Response](), {name: k for k, name in enumerate(present)}
    asked = [(a, b) for a in present for b in present if a != b] if pairs is None else pairs
    for source, target in asked:
        at = slice(None), number[target], number[source]
        if pairs is not None or followed[at].any():
            figures = {
                "effects": followed[at], "low": low[at], "high": high[at]
            }  # fmt: skip
            plain = {name: tuple(float(value) for value in values) for name, values in figures.items()}
            found.append(Response(source=source, target=target, **plain))
    return Responses(responses=tuple(found), basis=basis, n_rows=table.n_rows)


def _grams(table: Statistics) -> Floats:
    """Return the sums of squares and products (m, d, d) of every stretch of rows."""
    values = table.values - table.values.mean(axis=0)
    blocks = np.arange(len(values)) if table.blocks is None else table.blocks
    stretches = [values[blocks == block] for block in np.unique(blocks)]
    return np.stack([part.T @ part for part in stretches])


def _effects(gram: Floats, dag: Bools, place: Indices, lags: Indices, d: int) -> Floats:
    """Return the effects (L + 1, d, d) by least squares: [l, j, i] of series i on j after l steps."""
    found = np.zeros((int(lags.max()) + 1, d, d))
    for node in np.flatnonzero(lags == 0).tolist():
        parents = np.flatnonzero(dag[:, node] & (place >= 0))
        if len(parents):
            weights = np.linalg.lstsq(gram[np.ix_(parents, parents)], gram[parents, node], rcond=None)[0]
            found[lags[parents], place[node], place[parents]] = weights
    return found


def _followed(effects: Floats, horizon: int) -> Floats:
    """Return the responses (horizon + 1, d, d): [h, j, i] of series j to a change of i, h steps later."""
    most, d = len(effects) - 1, effects.shape[1]
    inner = np.linalg.inv(np.eye(d) - effects[0])
    found = [inner]
    for step in range(1, horizon + 1):
        past = sum(effects[lag] @ found[step - lag] for lag in range(1, min(step, most) + 1))
        found.append(inner @ past)
    return np.stack(found)
