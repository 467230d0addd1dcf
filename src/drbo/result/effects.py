"""Total and direct linear effects as sets: one value for each graph that the data leave possible.

These are the graphs of the equivalence class, with assumed arrows at the cause tried both ways. An estimate is only as
good as the graph. It assumes linear relations, no hidden common causes, and rows that were not used to select the
graph, or a bootstrap that repeats the selection.

The module is long because it holds the estimates, their intervals over resamples, and their summary in words.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.claims.refits.resampling import Refit, Refitted, Resampling
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import OutOfTimeError, current
from drbo.errors import DataError, TimeLimitError
from drbo.graph.adjustment import member_dags, minimal_set, optimal_set, with_flips
from drbo.graph.dag import check_pdag, descendants
from drbo.result.mixture import LEAST_SHARE, Doubt, interval
from drbo.result.slopes import Slopes

if TYPE_CHECKING:
    import pandas as pd


#: A DAG of the class and its transitive closure.
Member = tuple[Bools, Bools]

NORMAL_95 = 1.959963984540054  # standard errors of a 95% interval
#: Cells of the DAGs that are kept for further pairs of columns.
MOST_CELLS = 2**28
TAILS = (2.5, 97.5)  # percentiles of an interval over resamples
SEEN = "conditional on this graph, because they are estimated from the rows that it was learned from"
HELD_OUT = "held-out rows"
ASSUMED = "linear relations, no hidden common causes"


@dataclass(frozen=True, kw_only=True)
class Effect:
    """The effect of a change of the source by one unit on the target, in each graph that is possible.

    A categorical source has one effect per level but the first, named by ``contrast``. ``total`` has an entry for each
    possible parent set of the source, ``direct`` for each possible parent set of the target; equal values are listed
    once. The 95% intervals cover the values of all graphs, and that the graph may lack an edge, or have one too many:
    without an effect in a graph the interval is not 0 unless what was stated rules an effect out.

    Examples
    --------
    >>> Effect(source="a", target="b", total=(0.0, 1.5), direct=(0.0, 1.5), low=-0.1, high=1.8, adjust_for=(None, ()),
    ...     minimal=(None, ()), identified=False).least
    0.0
    """

    source: str
    target: str
    total: tuple[float, ...]
    direct: tuple[float, ...]
    low: float
    high: float
    adjust_for: tuple[tuple[str, ...] | None, ...]  # optimal set behind each total effect; None: no effect, no set
    minimal: tuple[tuple[str, ...] | None, ...]  # a minimal set instead
    identified: bool  # all possible graphs agree
    contrast: str = ""  # of a categorical source: which level instead of which
    level: str = ""  # of a categorical target: the one whose share is the outcome
    probability: float | None = None  # that there is an effect; the mean over all graphs
    share_nonzero: float | None = None  # of resamples

    @property
    def least(self) -> float:
        """The smallest absolute total effect in the class, a lower bound on the true one (Maathuis et al. 2009)."""
        return min(abs(value) for value in self.total)


@dataclass(frozen=True, kw_only=True)
class Effects:
    """Effects between pairs of columns, and the rows that they were estimated from; see :meth:`drbo.Result.effects`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> x[:, 2] += x[:, 0] + 2 * x[:, 1]
    >>> collider = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    >>> found = effects(collider, Statistics.from_array(x, names=["a", "b", "c"]), basis=HELD_OUT, pairs=[("b", "c")])
    >>> [round(value) for value in found.effects[0].total], found.effects[0].adjust_for
    ([2], (('a',),))
    """

    effects: tuple[Effect, ...]
    basis: str
    n_rows: int
    left_out: str = ""  # what there was no time for, in words

    def table(self) -> "pd.DataFrame":
        """Return one row per pair: the range of the total and direct effects, and the interval of the total one."""
        import pandas as pd

        rows = [
            {
                "source": one.source,
                "target": one.target,
                "contrast": one.contrast,
                "level": one.level,
                "total_min": min(one.total),
                "total_max": max(one.total),
                "low": one.low,
                "high": one.high,
                "direct_min": min(one.direct),
                "direct_max": max(one.direct),
                "identified": one.identified,
                "probability": one.probability,
            }
            for one in self.effects
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        listed = [asdict(one) | {"least": one.least} for one in self.effects]
        return {"basis": self.basis, "assumed": ASSUMED, "n_rows": self.n_rows, "left_out": self.left_out,
                "effects": listed}  # fmt: skip

    def summary(self) -> str:
        """Return the effects in plain words."""
        lines = [f"Linear effects, {self.basis} ({self.n_rows} rows); assumed: {ASSUMED}"]
        lines += [f"  {self.left_out}"] * bool(self.left_out)
        if not self.effects:
            lines.append("  no variable has a linear effect on a numeric one in any possible graph")
        for one in self.effects:
            lines += ["", *_words(one)]
        return "\n".join(lines)


def _words(one: Effect) -> list[str]:
    total = ", ".join(f"{value:.4g}" for value in one.total)
    level, contrast = f" = {one.level}" * bool(one.level), f": {one.contrast}" * bool(one.contrast)
    lines = [
        f"{one.source} -> {one.target}{level}{contrast}",
        f"  total effect   {total}   95% interval {one.low:.4g} to {one.high:.4g}",
    ]
    lines.append(f"  direct effect  {', '.join(f'{value:.4g}' for value in one.direct)}")
    if one.probability is not None:
        lines.append(f"  an effect      has probability {one.probability:.2f}; the interval counts graphs without it")
    if one.share_nonzero is not None:
        lines.append(
            f"  resamples      {100 * one.share_nonzero:.0f}% have a nonzero effect in every graph of their "
            "equivalence class"
        )
        return lines
    sets = ["no directed path" if chosen is None else ", ".join(chosen) or "nothing" for chosen in one.adjust_for]
    lines.append(f"  adjusted for   {'; '.join(sets)}")
    fewer = [", ".join(chosen) or "nothing" for chosen in one.minimal if chosen is not None]
    if one.minimal != one.adjust_for:
        lines.append(f"  minimal set    {'; '.join(fewer)}")
    if not one.identified:
        lines.append("  open and assumed directions leave it undecided which of these values is the effect")
    return lines


def effects(
    graph: npt.ArrayLike,  # (d, d) DAG, CPDAG or MPDAG
    table: Statistics,
    *,
    basis: str,
    pairs: list[tuple[str, str]] | None = None,
    assumed: Bools | None = None,  # (d, d)
    doubt: Doubt | None = None,
) -> Effects:
    """Return the effects of pairs of columns, or of all pairs with an effect in some possible graph.

    The total effect is the coefficient of the source in the regression of the target on the source and the optimal
    adjustment set of each member of the class (Witte et al. 2020), 0 without a directed path; the direct one that in
    the regression on the target's parents.

    Parameters
    ----------
    graph : over the columns of the table.
    table : the rows to estimate from.
    basis : what kind of rows these are, in words.
    pairs : names of sources and targets. Of a categorical target, the outcomes are the shares of its levels.
    assumed : arrows of the graph whose direction is not supported. Those at the source, and at the target for direct
        effects, are tried both ways.
    doubt : what is known beside the graph; None: intervals are conditional on the graph.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 2))
    >>> x[:, 1] += x[:, 0]
    >>> open_edge = [[0, 1], [1, 0]]
    >>> found = effects(open_edge, Statistics.from_array(x), basis=HELD_OUT, pairs=[("x0", "x1")])
    >>> [round(value, 1) for value in found.effects[0].total], found.effects[0].identified
    ([1.0, 0.0], False)
    """
    given = check_pdag(graph, table.names)
    slopes, wanted = Slopes(table), column_pairs(pairs, table)
    members: dict[int, list[Member]] = {}

    def dags(node: int) -> list[Member]:
        if node not in members:
            if sum(map(len, members.values())) * given.size > MOST_CELLS:
                members.clear()
            members[node] = [(dag, descendants(dag)) for dag in with_flips(member_dags(given, node), assumed, node)]
        return members[node]

    found, left_out = list[Effect](), list[str]()
    for source, target in pairs_in_time(wanted, left_out):
        if pairs is None and not any(below[source, target] for _, below in dags(source)):
            continue
        found += _effects(slopes, table.names, source, target, dags(source), dags(target), doubt)
    return Effects(effects=tuple(found), basis=basis, n_rows=table.n_rows, left_out="".join(left_out))


def resampled_effects(
    refit: Refit, table: Statistics, pairs: list[tuple[str, str]], *, n: int, seed: int,
    progress: Callable[[int, int], None] | None = None,
) -> Effects:  # fmt: skip
    """Return effects over bootstrap graphs: each resample chooses its own graph and gives its own set of effects.

    ``total`` and ``direct`` are the means over resamples of the smallest and the largest value of their sets; the
    interval goes from the 2.5th percentile of the smallest to the 97.5th of the largest values.

    Parameters
    ----------
    refit : takes rows and a seed and returns a graph over the columns of the table.
    table : the whole table.
    pairs, n, seed, progress : which effects, from how many resamples.
    """
    ranges: dict[tuple[str, str, str], list[list[float]]] = {}
    done = 0
    for refitted, drawn in resampled_graphs(refit, table, n=n, seed=seed, progress=progress):
        part = effects(refitted.graph.adjacency, drawn, basis="", pairs=pairs)
        for one in part.effects:
            values = [min(one.total), max(one.total), min(one.direct), max(one.direct), one.least]
            ranges.setdefault((one.source, one.target, one.contrast), []).append(values)
        done += 1
    found = []
    for (source, target, contrast), sets in ranges.items():
        spread = np.array(sets)
        mean = spread.mean(axis=0)
        found.append(
            Effect(
                source=source, target=target, contrast=contrast, total=_distinct(mean[:2]), direct=_distinct(mean[2:4]),
                low=float(np.percentile(spread[:, 0], TAILS[0])), high=float(np.percentile(spread[:, 1], TAILS[1])),
                adjust_for=(), minimal=(), identified=bool((spread[:, 0] == spread[:, 1]).all()),
                share_nonzero=float((spread[:, 4] > 0).mean()),
            )
        )  # fmt: skip
    count = str(n) if done == n else f"{done} of {n}"
    return Effects(effects=tuple(found), basis=f"over the graphs of {count} bootstrap resamples", n_rows=table.n_rows)


def resampled_graphs(
    refit: Refit, table: Statistics, *, n: int, seed: int, progress: Callable[[int, int], None] | None = None
) -> Iterator[tuple[Refitted, Statistics]]:
    """Yield what each bootstrap resample gives, and its rows of the control, until the time is over.

    Examples
    --------
    >>> table = Statistics.from_array(np.arange(20.0).reshape(10, 2) ** 2)
    >>> from drbo.graph.marks import MarkedGraph
    >>> one = Refitted(MarkedGraph.of(np.zeros((2, 2)), table.names))
    >>> [drawn.n_rows for _, drawn in resampled_graphs(lambda rows, seed: one, table, n=2, seed=0)]
    [10, 10]
    """
    done = 0
    try:
        plan = Resampling(n).of_experiments(table.experiments)
        for k, (rows, _) in enumerate(plan.draws(table.n_rows, seed)):
            current().check()
            found = refit(rows, int(np.random.default_rng([seed, k]).integers(2**31)))
            yield found, table.take(rows, np.arange(table.n_columns)).control_rows
            done = k + 1
            if progress is not None:
                progress(done, n)
    except OutOfTimeError as late:
        if not done:
            raise TimeLimitError(f"no resample was finished: {late}", hint="raise time_limit") from late


def column_pairs(pairs: list[tuple[str, str]] | None, table: Statistics) -> list[tuple[int, int]]:
    """Return the places of named sources and targets, or of all pairs with a numeric target.

    Examples
    --------
    >>> column_pairs([("x1", "x0")], Statistics.from_array(np.eye(2)))
    [(1, 0)]
    """
    if pairs is None:
        numeric = [j for j, levels in enumerate(table.levels) if levels is None]
        return [(i, j) for i in range(table.n_columns) for j in numeric if i != j]
    found = [(table.index(a), table.index(b)) for a, b in pairs]
    for source, target in found:
        if source == target:
            raise DataError(f"'{table.names[target]}' is both the source and the target", hint="name two variables")
    return found


def pairs_in_time(pairs: list[tuple[int, int]], left_out: list[str]) -> Iterator[tuple[int, int]]:
    """Yield pairs of columns until the time is over; then say in ``left_out`` how many were not looked at.

    Raises an OutOfTimeError where there was no time for the first one.

    Examples
    --------
    >>> words = []
    >>> list(pairs_in_time([(0, 1)], words)), words
    ([(0, 1)], [])
    """
    deadline = current()
    for k, pair in enumerate(pairs):
        if k == 0:
            deadline.check()
        elif (reason := deadline.reason) is not None:
            left_out.append(f"{reason.words}: {len(pairs) - k:,} of {len(pairs):,} pairs of columns were not examined")
            return
        yield pair


def _effects(
    slopes: Slopes, names: tuple[str, ...], source: int, target: int, by_source: list[Member], by_target: list[Member],
    doubt: Doubt | None,
) -> Iterator[Effect]:  # fmt: skip
    """Yield the different values of one pair over the possible graphs, for each contrast of the source."""
    levels, contrasts = slopes.outcomes(target), slopes.contrasts(source)
    shape = len(contrasts), len(levels)
    values: dict[tuple[int, ...] | None, Floats] = {}
    fewest: dict[tuple[int, ...] | None, list[int] | None] = {}
    low, high, shares = np.full(shape, np.inf), np.full(shape, -np.inf), list[Floats]()
    for dag, below in by_source:
        chosen = optimal_set(dag, source, target, below)
        fewer = None if chosen is None else minimal_set(dag, source, target, below)
        if chosen is None and doubt is not None and doubt.is_randomised(source) and doubt.possible(source)[target]:
            chosen = fewer = []  # it is estimated although the graph has no path
        key = None if chosen is None else tuple(chosen)
        first, last, share, value = _one_graph(slopes, source, target, dag, below, chosen, doubt)
        low, high = np.minimum(low, first), np.maximum(high, last)
        shares.append(share)
        values.setdefault(key, value)
        fewest.setdefault(key, fewer)
    direct = [_direct(slopes, source, target, dag) for dag, _ in by_target]
    randomised = doubt is not None and doubt.is_randomised(source)
    for k, m in np.ndindex(shape):
        yield Effect(
            source=names[source],
            target=names[target],
            contrast=contrasts[k],
            level=levels[m],
            total=tuple(float(value[k, m]) for value in values.values()),
            direct=_distinct(value[k, m] for value in direct),
            low=float(low[k, m]),
            high=float(high[k, m]),
            adjust_for=tuple(_named(key, names) for key in values),
            minimal=tuple(_named(fewest[key], names) for key in values),
            identified=len(values) == 1,
            probability=None if doubt is None or randomised else float(np.mean([share[k, m] for share in shares])),
        )


def _direct(slopes: Slopes, source: int, target: int, dag: Bools) -> Floats:
    """Return the direct effect in one graph: (contrasts, levels)."""
    if not dag[source, target]:
        return np.zeros((len(slopes.contrasts(source)), len(slopes.outcomes(target))))
    return slopes.of(source, target, [node for node in np.flatnonzero(dag[:, target]).tolist() if node != source])[0]


def _one_graph(
    slopes: Slopes, source: int, target: int, dag: Bools, below: Bools, chosen: list[int] | None, doubt: Doubt | None
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the interval, the probability of an effect, and its value in one graph, each (contrasts, levels)."""
    none = np.zeros((len(slopes.contrasts(source)), len(slopes.outcomes(target))))
    if chosen is None and (doubt is None or below[target, source] or not doubt.possible(source)[target]):
        return none, none, none, none
    others = np.flatnonzero(dag[:, source]).tolist() if chosen is None else chosen
    value, error = slopes.of(source, target, others)
    if doubt is None:
        return value - NORMAL_95 * error, value + NORMAL_95 * error, none + 1, value
    direct = chosen is None or bool(dag[source, target])
    share = doubt.share(source, target, value.ravel(), error.ravel(), slopes.n, direct=direct).reshape(value.shape)
    counted = np.maximum(share, LEAST_SHARE)
    ends = [interval(*one) for one in zip(value.ravel(), error.ravel(), counted.ravel(), strict=True)]
    low, high = (np.array(side).reshape(value.shape) for side in zip(*ends, strict=True))
    return low, high, share, none if chosen is None else value


def _named(chosen: Any, names: tuple[str, ...]) -> tuple[str, ...] | None:
    return None if chosen is None else tuple(names[node] for node in chosen)


def _distinct(values: Any) -> tuple[float, ...]:
    return tuple(dict.fromkeys(float(value) for value in values))
