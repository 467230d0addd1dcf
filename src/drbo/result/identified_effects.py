"""Linear effects where causes may be hidden: identified, with an estimate, or not identified, and why."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.claims.refits.resampling import Refit
from drbo.data.statistics.statistics import Statistics
from drbo.graph.generalised_adjustment import adjustment
from drbo.graph.mag import Mag
from drbo.graph.marks import Marks
from drbo.result.effects import NORMAL_95, TAILS, column_pairs, pairs_in_time, resampled_graphs
from drbo.result.files.export import printable
from drbo.result.slopes import Slopes

if TYPE_CHECKING:
    import pandas as pd

ASSUMED = "linear relations; hidden common causes are allowed for, rows selected by something hidden are not"
SHOWN_OPEN = 5  # effects that are not identified, where all are asked for


@dataclass(frozen=True, kw_only=True)
class IdentifiedEffect:
    """The total effect of a change of the source by one unit on the target, the same in every graph of the class.

    Examples
    --------
    >>> IdentifiedEffect(source="a", target="b", reason="no set of columns blocks ...").identified
    False
    """

    source: str
    target: str
    total: float | None = None  # None: not identified
    low: float | None = None  # 95% interval
    high: float | None = None
    adjust_for: tuple[str, ...] | None = None  # None: not identified, or the source has no effect on the target
    reason: str = ""  # why it is not identified
    supported: bool = True  # False: without marks that tests do not confirm it would not be identified
    share_identified: float | None = None  # of resamples

    @property
    def identified(self) -> bool:
        """Whether all graphs of the class give the same effect, by adjustment."""
        return self.total is not None


@dataclass(frozen=True, kw_only=True)
class IdentifiedEffects:
    """Effects between pairs of columns where causes may be hidden; see :meth:`drbo.Result.effects`.

    Examples
    --------
    >>> one = IdentifiedEffect(source="a", target="b", total=0.0, low=0.0, high=0.0)
    >>> IdentifiedEffects(effects=(one,), basis="new rows", n_rows=10).table()["total"].tolist()
    [0.0]
    """

    effects: tuple[IdentifiedEffect, ...]
    basis: str
    n_rows: int
    left_out: str = ""  # what there was no time for, in words

    def table(self) -> "pd.DataFrame":
        """Return one row per pair; the effect is NaN where it is not identified."""
        import pandas as pd

        columns = ["source", "target", "identified", "total", "low", "high", "adjust_for", "supported", "reason"]
        rows = [asdict(one) | {"identified": one.identified} for one in self.effects]
        return pd.DataFrame(rows, columns=columns).astype({"total": float, "low": float, "high": float})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        listed = [asdict(one) | {"identified": one.identified} for one in self.effects]
        return {"basis": self.basis, "assumed": ASSUMED, "n_rows": self.n_rows, "left_out": self.left_out,
                "effects": listed}  # fmt: skip

    def summary(self) -> str:
        """Return the effects in plain words."""
        lines = [f"Linear effects, {self.basis} ({self.n_rows} rows); assumed: {ASSUMED}"]
        lines += [f"  {self.left_out}"] * bool(self.left_out)
        known = [one for one in self.effects if one.identified]
        unknown = [one for one in self.effects if not one.identified]
        shown = unknown if len(self.effects) == 1 else unknown[:SHOWN_OPEN]
        if not self.effects:
            lines.append("  no variable can have an effect on another")
        for one in (*known, *shown):
            lines += ["", *_words(one)]
        if len(unknown) > len(shown):
            lines += ["", f"{len(unknown) - len(shown)} more effects are not identified: see --json or table()"]
        return "\n".join(lines)


def _words(one: IdentifiedEffect) -> list[str]:
    lines = [f"{printable(one.source)} -> {printable(one.target)}"]
    if one.total is not None:
        lines.append(f"  total effect   {one.total:.4g}   95% interval {one.low:.4g} to {one.high:.4g}")
    if one.share_identified is not None:
        lines.append(f"  resamples      {100 * one.share_identified:.0f}% identify the effect")
    elif one.identified:
        chosen = one.adjust_for
        words = "no effect in any graph" if chosen is None else ", ".join(map(printable, chosen)) or "nothing"
        lines.append(f"  adjusted for   {words}")
        if not one.supported:
            lines.append("  this rests on assumed marks, which tests do not confirm")
    if one.reason:
        lines.append(f"  not identified by adjustment, because {printable(one.reason)}")
    return lines


def identified_effects(
    pag: Marks,
    member: Mag,
    table: Statistics,
    *,
    basis: str,
    pairs: list[tuple[str, str]] | None = None,
    supported: Marks | None = None,
) -> IdentifiedEffects:
    """Return the effects of pairs of columns, or of all pairs of which one may have an effect on the other.

    Parameters
    ----------
    pag, member : the class, and any graph of it, over the columns of the table.
    table : the rows to estimate from.
    basis : what kind of rows these are, in words.
    pairs : names of sources and targets.
    supported : the marks, with circles at edges whose marks are assumed; None: none is.

    Examples
    --------
    >>> from drbo.graph.pag import pag_of
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 4))
    >>> x[:, 2] += x[:, 0] + x[:, 1]
    >>> x[:, 3] += 2 * x[:, 2]
    >>> y = Mag.of([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    >>> found = identified_effects(pag_of(y), y, Statistics.from_array(x), basis="new rows")
    >>> [(one.source, one.target, round(one.total)) for one in found.effects if one.identified]
    [('x2', 'x3', 2)]
    """
    slopes, found, left_out = Slopes(table), [], list[str]()
    for source, target in pairs_in_time(column_pairs(pairs, table), left_out):
        how = adjustment(pag, member, source, target, table.names)
        ends: dict[str, Any] = {"source": table.names[source], "target": table.names[target]}
        if supported is not None:
            sure = adjustment(supported, member, source, target, table.names)
            ends["supported"] = sure.no_effect or sure.nodes is not None
        if how.nodes is not None:
            ((value,),), ((error,),) = slopes.of(source, target, list(how.nodes))
            low, high = float(value - NORMAL_95 * error), float(value + NORMAL_95 * error)
            chosen = tuple(table.names[node] for node in how.nodes)
            found.append(IdentifiedEffect(**ends, total=float(value), low=low, high=high, adjust_for=chosen))
        elif not how.no_effect:
            found.append(IdentifiedEffect(**ends | {"supported": True}, reason=how.reason))
        elif pairs is not None:
            found.append(IdentifiedEffect(**ends, total=0.0, low=0.0, high=0.0))
    words = "".join(left_out)
    return IdentifiedEffects(effects=tuple(found), basis=basis, n_rows=table.n_rows, left_out=words)


def resampled_identified_effects(
    refit: Refit, table: Statistics, pair: tuple[str, str], *, n: int, seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> IdentifiedEffects:  # fmt: skip
    """Return an effect over bootstrap graphs: the mean and the percentiles of the resamples that identify it.

    Parameters
    ----------
    refit : fits a resample, with hidden causes allowed.
    table : the whole table.
    pair, n, seed, progress : which effect, from how many resamples.
    """
    values, done = list[float](), 0
    for refitted, drawn in resampled_graphs(refit, table, n=n, seed=seed, progress=progress):
        assert refitted.member is not None  # the class is a PAG
        member = Mag.of_marks(refitted.member.marks)
        one = identified_effects(refitted.graph.marks, member, drawn, basis="", pairs=[pair]).effects[0]
        values += [] if one.total is None else [one.total]
        done += 1
    share = len(values) / done
    if values:
        low, high = np.percentile(values, TAILS)
        found = IdentifiedEffect(
            source=pair[0], target=pair[1], total=float(np.mean(values)), low=float(low), high=float(high),
            share_identified=share,
        )  # fmt: skip
    else:
        reason = "no resample identifies it"
        found = IdentifiedEffect(source=pair[0], target=pair[1], reason=reason, share_identified=share)
    count = str(n) if done == n else f"{done} of {n}"
    basis = f"over the graphs of {count} bootstrap resamples"
    return IdentifiedEffects(effects=(found,), basis=basis, n_rows=table.n_rows)
