"""Do halves of the rows tell the same directions? A direction that half of the rows turns around is not known.

The rows are split into random halves. Each half is searched from the graph of the whole table and checked as that was,
by every claim but this one, for the arrows that are not decided yet. A direction is stable if most halves support it
(complementary pairs: Shah & Samworth 2013, "Variable selection with error control"). With many rows the first half
tells whether brief searches find as much as long ones, which they mostly do; then all others are searched briefly.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.answer.stages import STAGES, Answer
from drbo.claims.checks.noise_check import NoiseChecks, NoiseClaim
from drbo.claims.claim import SEED, Claim, Context, Inquiry, Ruling, denials
from drbo.claims.denial import Ground
from drbo.claims.record import ConfirmedEdge
from drbo.claims.refits.warm import MANY_ROWS
from drbo.claims.runner import run_claims
from drbo.claims.verdicts import supported
from drbo.claims.why import mpdag
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import current
from drbo.search.orders.listed import SAME
from drbo.search.outcome import Outcome

#: Halves of the rows, two for each random split, and how many of them must support a direction.
HALVES, LEAST = 10, 6
#: A half has at least so many rows.
LEAST_ROWS = 20
#: What is said about a direction that halves do not confirm.
UNSTABLE = "Only {} of {} halves of the rows support this direction."


class Stability(Claim):
    """The claim that halves of the rows support the same directions."""

    name, title = "stability", "the fits of half of the rows"
    denies = ("experiment", "noise-check", "class", "time")
    repeated = False

    def relevant(self, context: Context) -> bool:
        return context.has_arrows

    def too_much(self, context: Context) -> str:
        inquiry = context.inquiry
        if not supported(context):
            return ""
        if not inquiry.table.whole:
            return "only sums of the rows are known"
        if inquiry.table.complete_rows.n_rows < 2 * LEAST_ROWS:
            return f"halves of the table have fewer than {LEAST_ROWS} rows"
        return ""

    def run(self, context: Context) -> Ruling:
        grounds = supported(context)
        counts = dict.fromkeys(grounds, (0, 0))  # halves that support an arrow, of those that were asked about it
        brief = False
        for k in range(HALVES):
            asked = {arrow: grounds[arrow] for arrow, told in counts.items() if _is_undecided(*told)}
            if not asked:
                break
            current().check()
            half, brief = _half(context, k, asked, brief)
            found = set(supported(half)) | _leaning(half, context, asked)
            counts |= {arrow: (counts[arrow][0] + (arrow in found), k + 1) for arrow in asked}
        unstable = {arrow: UNSTABLE.format(n, tried) for arrow, (n, tried) in counts.items() if n < LEAST}
        told = (ConfirmedEdge(cause=i, effect=j, confirmed=n, tried=k) for (i, j), (n, k) in counts.items())
        return Ruling(tuple(told), denials(self, unstable))


def _is_undecided(count: int, tried: int) -> bool:
    """Tell whether further halves could decide about an arrow."""
    return count < LEAST <= count + HALVES - tried


def half_rows(table: Statistics, k: int) -> Indices:
    """Return half of the rows of a table: halves 0 and 1 make up the table, and so on.

    Groups of rows and stretches of time stay together, and every experiment is split. Rare values are in both halves
    where a column would be constant without them.

    Examples
    --------
    >>> table = Statistics.from_array(np.arange(10.0).reshape(5, 2))
    >>> sorted([*half_rows(table, 0).tolist(), *half_rows(table, 1).tolist()])
    [0, 1, 2, 3, 4]
    """
    rng = np.random.default_rng([SEED, k // 2])
    units = np.arange(table.n_rows) if table.clusters is None else table.clusters
    strata = np.zeros(table.n_rows, dtype=np.intp) if table.clusters is not None else table.runs.codes
    chosen = list[Indices]()
    for stratum in np.unique(strata):
        members = rng.permutation(np.unique(units[strata == stratum]))
        middle = len(members) // 2
        chosen.append(members[:middle] if k % 2 == 0 else members[middle:])
    return _varied(table.values, units, np.flatnonzero(np.isin(units, np.concatenate(chosen))))


def _varied(values: Floats, units: Indices, rows: Indices) -> Indices:
    """Add a unit with another value to half of the rows for every column that is constant in it, but not in the table.

    No score takes a constant column, and a value that occurs once can only be in one of two halves.
    """
    low, high = np.fmin.reduce(values[rows]), np.fmax.reduce(values[rows])
    for column in np.flatnonzero(low == high).tolist():
        others = np.flatnonzero((values[:, column] < low[column]) | (values[:, column] > low[column]))
        rows = np.union1d(rows, np.flatnonzero(np.isin(units, units[others[:1]])))
    return rows


def _half(context: Context, k: int, asked: Collection[tuple[str, str]], brief: bool) -> tuple[Context, bool]:
    """Search half of the rows, and make all claims about the arrows asked about that the class of its graph allows.

    They end where none of these arrows is supported any more. Returns also whether brief searches do for other halves.
    """
    inquiry = context.inquiry
    table = inquiry.table.take(half_rows(inquiry.table, k), np.arange(inquiry.table.n_columns))
    answer = context.answer
    part = replace(inquiry, table=table, given=table)
    if inquiry.can_search_again and inquiry.refit is not None:
        refit, start = replace(inquiry.refit, brief=brief), answer.outcome.best.dags[0]
        score, evaluator, outcome = refit.again(table, k, start)
        if k == 0 and table.n_rows >= MANY_ROWS:
            quick = replace(refit, brief=True)
            brief = _as_good(quick.again(table, k, start).outcome, outcome)
            refit = quick if brief else refit
        answer, part = Answer.of(outcome), replace(part, score=score, evaluator=evaluator, refit=refit)
        if not (possible := _possible(asked, answer, inquiry)).any():
            return Context(inquiry=part, answer=answer), brief
        part = replace(part, asked=possible | possible.T)
        for stage in STAGES:
            answer = stage(answer, part)
    again = Context(inquiry=part, answer=answer)
    for claim in (one for one in context.claims if one.repeated and one.denies):
        run_claims([claim], again)
        if supported(again).keys().isdisjoint(asked):  # no further claim can support one of them
            break
    return again, brief


def _as_good(one: Outcome, other: Outcome) -> bool:
    """Tell whether a search found as much as another one."""
    found, best = one.best.scores[0], other.best.scores[0]
    return bool(found >= best - SAME * abs(best))


def _possible(asked: Iterable[tuple[str, str]], answer: Answer, inquiry: Inquiry) -> Bools:
    """Return which of the arrows (d, d) are in the graph of an answer, or in another member of its class."""
    place = {name: k for k, name in enumerate(inquiry.table.names)}
    arrows = np.zeros_like(answer.dag)
    for cause, effect in asked:
        arrows[place[cause], place[effect]] = True
    return arrows & mpdag(answer.dag, inquiry.constraints)


def _leaning(half: Context, context: Context, grounds: Mapping[tuple[str, str], Ground]) -> set[tuple[str, str]]:
    """Return the arrows of the noise check to which the residuals of half of the rows lean as well."""
    place = {name: k for k, name in enumerate(half.table.names)}
    arrows = [arrow for arrow, ground in grounds.items() if ground == "noise-check"]
    checks = NoiseChecks(half.inquiry.tests, context.answer.dag) if arrows else None
    noises = {(one.cause, one.effect): one.check.noise for one in context.done.get(NoiseClaim.name, ()) if one.check}
    return {(i, j) for i, j in arrows if checks is not None and checks.leans(place[i], place[j], noises[i, j])}
