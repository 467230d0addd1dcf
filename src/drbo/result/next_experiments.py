"""What to change next: experiments ranked by the information that they are expected to give, per cost."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.claims.next_experiment import (
    LEAST_GAIN,
    Left,
    Mixture,
    Question,
    causes,
    causes_of,
    chance_to_show,
    implied_correlation,
    information_per_row,
    rows_needed,
)
from drbo.claims.orientations import Ways, ways_left
from drbo.deadline import OutOfTimeError, current
from drbo.errors import SettingsError
from drbo.graph.dag import cpdag_to_dag, meek_closure
from drbo.result.on_data import drawn_classes
from drbo.result.words.ranked_experiments import NamedEdge, NextExperiment, NextExperiments

if TYPE_CHECKING:
    from drbo.result.result import Result

#: What every ranking rests on.
ASSUMPTIONS = (
    "the score is right about links and supported arrows, and no cause is hidden",
    "an experiment sets one column at random, with the spread that it has in the table, and changes nothing else",
    "all remaining graphs are equally likely: an assumed arrow on its own has probability 0.5",
)
LINEAR = "relations are linear, as strong as in the graph; an edge is settled at odds of 100"
PERFECT = "every experiment has enough rows (how many is known for linear scores only)"
EFFECTS_ON = "effects-on:"
#: Graphs that are drawn from a posterior, and about how many of these and their equals responses are averaged over.
DRAWN, RESPONSES = 500, 500


def next_experiments(
    result: "Result",
    X: Any = None,
    *,
    goal: str = "graph",
    rows: int | None = 200,
    batch: int = 1,
    costs: Mapping[str, float] | None = None,
) -> NextExperiments:
    """Return the experiments that would tell most about the open and assumed directions of a result.

    Parameters
    ----------
    X : the table of the fit. With it, information is averaged over the classes of graphs that are drawn from the
        posterior of the score; without it, the class of the graph is taken as right.
    goal : ``"graph"``: all directions; ``"a->b"``: whether a causes b, directly or not; ``"effects-on:b"``: which
        columns cause b.
    rows : planned for each experiment; None: enough to settle every edge at its column.
    batch : experiments that are made at the same time.
    costs : of an experiment on each column, 1 if not given; infinity: the column cannot be changed.
    """
    names, (question, words) = result.names, _question(goal, result.names)
    prices = _prices(costs, names)
    for name, value in (("rows", rows), ("batch", batch)):
        if value is not None and value < 1:
            raise SettingsError(f"{name} must be at least 1, got {value}", hint=f"omit {name} for the default")
    best, per_row = _left(result, rows)
    if not best.parts:
        return NextExperiments(goal=words, rows=rows)
    cases, basis = ([(1.0, best)], _basis(best.parts)) if X is None else _drawn(result, X, rows)
    asked, with_enough_rows = (
        Mixture(tuple((share, one if question is None else one.about(question)) for share, one in given))
        for given in (cases, [(share, replace(one, shown=None)) for share, one in cases])
    )
    waiting, found, left_out, chosen = [v for v in asked.nodes if isfinite(prices[v])], [], "", list[int]()
    count = len(waiting)
    try:
        while waiting:
            current().check()
            if with_enough_rows.information([node := waiting[0]]) > LEAST_GAIN:
                found.append(_experiment(result, best, asked, node, prices[node], per_row))
            waiting.pop(0)
        chosen = asked.batch(batch, prices)
    except OutOfTimeError as late:
        if not found:
            raise
        left_out = f"{late}: {len(waiting)} of {count} columns were not examined, and no set of them was chosen"
    assumed = unsettled_graph(result)[1]
    return NextExperiments(
        goal=words,
        unknown=asked.entropy,
        open=_named_edges(names, [edge for edge in _edges(best) if not assumed[edge]]),
        assumed=_named_edges(names, [edge for edge in _edges(best) if assumed[edge]]),
        rows=rows,
        experiments=tuple(sorted(found, key=lambda one: (-round(one.per_cost, 9), one.column))),
        batch=tuple(names[node] for node in chosen),
        batch_information=asked.information(chosen),
        basis=basis,
        assumptions=(*ASSUMPTIONS, PERFECT if per_row is None else LINEAR),
        left_out=left_out,
    )


def _left(result: "Result", rows: int | None) -> tuple[Left, Floats | None]:
    """Return the graphs that are left, and what a row tells about each edge; None: every experiment has enough rows."""
    graph, assumed = unsettled_graph(result)
    left = Left(ways_left(graph, result.dag, assumed, seed=result.seed), graph & ~graph.T & ~assumed)
    if rows is None or result.standardised_weights is None or not left.parts:
        return left, None
    per_row = information_per_row(implied_correlation(result.dag, result.standardised_weights), *left.graphs())
    return replace(left, shown=chance_to_show(per_row, rows)), per_row


def _drawn(result: "Result", X: Any, rows: int | None) -> tuple[list[tuple[float, Left]], str]:
    """Return what is left in the classes of graphs from the posterior, with their shares, and how they were drawn.

    Arrows that are supported or assumed in the result are so in the drawn graphs that have them.
    """
    drawn, how = drawn_classes(result, X, DRAWN)
    supported, turnable = _with(result, "supported"), _with(result, "assumed")
    cases = []
    for share, graph in drawn:
        current().check()
        for i, j in np.argwhere(supported).tolist():
            if graph[i, j] and graph[j, i]:
                graph[j, i] = False
                graph = meek_closure(graph)
        assumed = graph & ~graph.T & (turnable | turnable.T)
        parts = ways_left(graph, cpdag_to_dag(graph), assumed, seed=result.seed)
        cases.append((share, Left(parts, graph & ~graph.T & ~assumed)))
    if rows is None or result.standardised_weights is None:
        return cases, how
    every = [left.graphs()[0] for _, left in cases]
    step = max(1, sum(map(len, every)) // RESPONSES)
    some = np.concatenate(every)[::step]
    correlation = implied_correlation(result.dag, result.standardised_weights)
    per_row = information_per_row(correlation, some, np.full(len(some), 1 / len(some)))
    shown = chance_to_show(np.where(per_row > 0, per_row, per_row.T), rows)  # a direction that none of these graphs has
    return [(share, replace(left, shown=shown)) for share, left in cases], how


def unsettled_graph(result: "Result") -> tuple[Bools, Bools]:
    """Return the class of a result with its supported arrows, and the arrows in it that are only assumed.

    Supported arrows that the class leaves open (by the noise check) are directed, with what follows from them.
    """
    graph = meek_closure(result.mpdag & ~_with(result, "supported").T)
    return graph, _with(result, "assumed") & ~graph.T


def _with(result: "Result", direction: str) -> Bools:
    """Return (d, d) the arrows whose direction is supported, assumed or open."""
    found = np.zeros_like(result.dag)
    found[result.dag] = [one.direction == direction for one in result.directions]
    return found


def _experiment(
    result: "Result", left: Left, asked: Mixture, node: int, cost: float, per_row: Floats | None
) -> NextExperiment:
    """Return what an experiment on a column would tell."""
    names, settles, after, settled = result.names, list[NamedEdge](), list[tuple[str, str, float]](), 0.0
    rows: list[float] = []
    for part in left.parts:
        seen = part.at(node)
        chance = part.open_after(seen)
        settled += float((1 - chance).sum()) if len(seen) else 0.0
        for k, (i, j) in enumerate(part.edges.tolist()):
            if k in seen:
                settles.append((names[i], names[j]))
                rows.append(0.0 if per_row is None else float(per_row[node, j if i == node else i]))
            elif chance[k] > 0:
                after.append((names[i], names[j], float(chance[k])))
    return NextExperiment(
        column=names[node],
        cost=cost,
        information=asked.information([node]),
        settles=tuple(settles),
        settled_in_all=settled,
        rows_needed=None if per_row is None else rows_needed(np.array(rows)),
        open_after=tuple(sorted(after, key=lambda one: (-round(one[2], 9), one[:2]))),
        done=_done(result, names[node]),
    )


def _done(result: "Result", column: str) -> tuple[str, ...]:
    """Return the experiments of the table that change a column."""
    found = result.claims.experiments
    return () if found is None else tuple(sorted(one.experiment for one in found.targets if one.column == column))


def _edges(left: Left) -> list[tuple[int, int]]:
    return sorted((int(i), int(j)) for part in left.parts for i, j in part.edges)


def _named_edges(names: Sequence[str], edges: Sequence[tuple[int, int]]) -> tuple[NamedEdge, ...]:
    return tuple((names[i], names[j]) for i, j in edges)


def _basis(parts: Sequence[Ways]) -> str:
    """Return the number of graphs that are left, in words."""
    if not all(part.listed for part in parts):
        return "a sample of the remaining graphs"
    count = prod(len(part.forward) for part in parts)
    return f"{count:,} graphs remain"


def _question(goal: str, names: Sequence[str]) -> tuple[Question | None, str]:
    """Return the question that a goal asks, None for the whole graph, and the question in words."""
    if goal == "graph":
        return None, "the graph"
    if goal.startswith(EFFECTS_ON):
        target = _place(goal.removeprefix(EFFECTS_ON), names)
        return causes_of(target), f"what causes {names[target]}"
    source, arrow, effect = goal.partition("->")
    if not arrow:
        raise SettingsError(
            f"a goal must be graph, A->B or {EFFECTS_ON}B, got {goal!r}",
            hint=f"for example --goal '{names[0]}->{names[-1]}'",
        )
    first, second = _place(source, names), _place(effect, names)
    if first == second:
        raise SettingsError(f"a goal needs two different columns, got {goal!r}", hint="name a cause and an effect")
    return causes(first, second), f"whether {names[first]} causes {names[second]}"


def _place(word: str, names: Sequence[str]) -> int:
    if (name := word.strip()) not in names:
        raise SettingsError(
            f"the goal names '{name}', which is not a column of the graph",
            hint=f"the columns are {', '.join(names)}"[:300],
        )
    return list(names).index(name)


def _prices(costs: Mapping[str, float] | None, names: Sequence[str]) -> Floats:
    """Return (d,) the cost of an experiment on each column; 1 where none is given."""
    found = np.ones(len(names))
    for name, cost in (costs or {}).items():
        if name not in names:
            raise SettingsError(
                f"costs names '{name}', which is not a column of the graph",
                hint=f"the columns are {', '.join(names)}"[:300],
            )
        if not cost > 0:
            raise SettingsError(
                f"the cost of an experiment on '{name}' must be above 0, got {cost}",
                hint="give inf for a column that cannot be changed",
            )
        found[list(names).index(name)] = cost
    return found
