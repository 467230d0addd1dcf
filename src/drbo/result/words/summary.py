"""A result in plain words for a terminal; all text from tables and files is made printable first."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from drbo.data.checks.facts import FEWEST, FEWEST_ROWS
from drbo.result.files.export import printable
from drbo.result.words.arm_words import arm_lines
from drbo.result.words.outcome_words import about_outcome

if TYPE_CHECKING:
    from drbo.claims.directions import EdgeDirection
    from drbo.result.records import SearchRecord
    from drbo.result.result import Result

#: Grounds of supported directions that have other words than their names.
GROUND_WORDS = {"tests": "tests agree"}
SHOWN_EDGES = 60  # in each list
SHOWN_TARGETS = 10
SHOWN_SUSPECTS = 5  # edges at which a hidden cause is likely
#: Why the same call may give another graph, where ``Result.cut_short``.
CUT_SHORT = "The run was stopped early, so another run may find a different graph."


def summary(result: "Result") -> str:
    """Return the graph, what is known about it and how it was found, in plain words."""
    read, parts = result.reading, result.reading.lines()
    lines = [words, ""] if (words := few_rows(result)) else []
    lines += [] if result.outcome is None else [about_outcome(result, result.outcome), ""]
    lines += [
        f"{read.variables}, {rows_in_words(result)}, score {printable(result.score_name)}{read.allowed}",
        "",
        *parts.title,
        *_edge_lines(result),
        "",
        *arm_lines(result),
        *parts.scores,
        f"search       {result.n_evals} evaluations, {result.n_local} local scores computed, {result.seconds:.1f} s",
        *fidelity_lines(result.search),
        *parts.proof,
        *parts.frequencies,
        *_experiment_lines(result),
        *parts.assumptions,
        *parts.found_by,
        f"stopped      {printable(result.stopped) or 'not recorded'}",
        *([f"{'':<12} {CUT_SHORT}"] if result.cut_short else []),
        *parts.signs,
    ]
    lines += [f"{'' if k else 'why':<12} {printable(reason)}" for k, reason in enumerate(result.reasons)]
    lines += [f"{'' if k else 'ask':<12} {printable(text)}" for k, text in enumerate(read.questions())]
    return "\n".join(lines)


def few_rows(result: "Result") -> str:
    """Return the sentence that comes before all others where hardly anything can be found; empty: there are rows."""
    n = result.table.n_rows
    return f"{FEWEST.format(n)}.".capitalize() if 0 < n < FEWEST_ROWS else ""


def fidelity_lines(search: "SearchRecord") -> list[str]:
    """Return what was spent on cheaper versions of the score, and all of it in units of a local score."""
    shown = [f"{one.n_local} by {printable(one.name)} at {one.cost:.3g} each" for one in search.fidelities]
    total = search.n_local + sum(one.cost * one.n_local for one in search.fidelities)
    return [f"tried first  {', '.join(shown)}; the cost of {total:.0f} local scores in all"] if shown else []


def rows_in_words(result: "Result") -> str:
    """Return how many rows the graph was learned from, and the groups that they belong to."""
    table = result.table
    if not table.n_groups:
        counted = f" that count as {table.n_effective:.6g}" if table.n_effective > table.n_rows else ""
        return f"{table.n_rows} rows{counted}"
    by = f" by '{printable(table.groups)}'" if table.groups else ""
    return f"{table.n_rows} rows in {table.n_groups} groups{by} (worth {table.n_effective:.0f} rows)"


def counted(directions: "Sequence[EdgeDirection]") -> str:
    """Return how many directions are supported, on which grounds, assumed and open."""
    kinds = Counter(one.direction for one in directions)
    grounds = Counter(one.ground.replace("-", " ") for one in directions if one.direction == "supported")
    listed = ", ".join(f"{count} {ground}" for ground, count in sorted(grounds.items()))
    supported = f"{kinds['supported']} supported{f' ({listed})' if listed else ''}"
    return f"{supported}, {kinds['assumed']} assumed, {kinds['open']} open"


def _edge_lines(result: "Result") -> list[str]:
    """Return one line per edge, with its weights or frequencies where there are some; a long list is cut."""
    table = result.edges()
    rows, n_more = table.head(SHOWN_EDGES).to_dict("records"), len(table) - SHOWN_EDGES
    heads = [
        f"{printable(row['source'])} {sign} {printable(row['target'])}"
        for row, sign in zip(rows, result.reading.signs(), strict=False)
    ]
    width, lines = max(map(len, heads), default=0), []
    for head, row in zip(heads, rows, strict=True):
        weight = f"  {row['weight']:+.4g}" if "weight" in row else ""
        scaled = f"  (standardised {row['standardised_weight']:+.2f})" if "standardised_weight" in row else ""
        ground = GROUND_WORDS.get(row["ground"], row["ground"].replace("-", " "))
        words = f"{row['direction']}: {ground}" if ground else row["direction"]
        words += ", contradicted by the noise check" if row.get("contradicted") else ""
        words += " (visible)" if row.get("visible") else ""
        if "source_arrow" in row:
            ends = [row[f"{end}_{row[f'mark_{end}']}"] for end in ("source", "target")]
            words += f"  {row['link_frequency']:.0%} ({ends[0]:.0%}, {ends[1]:.0%})"
        lines.append(f"  {head:<{width}}{f'{weight:<12}{scaled}' if weight or scaled else ''}  {words}")
    return lines + ([f"  ... and {n_more} more: see edges()"] if n_more > 0 else [])


def before_pruning(result: "Result") -> str:
    """Return words that tell the graph of a proof from the graph that is shown; empty where they are the same."""
    return " before pruning" if (result.dag != result.searched_dag).any() else ""


def than_before_pruning(result: "Result") -> str:
    """Return words that tell which graph a runner-up scores lower than; empty if it is the one that is shown."""
    before = before_pruning(result)
    return before and f" than the graph{before}"


def runner_up(result: "Result") -> tuple[float, str] | None:
    """Return how far behind the next graph is, and what it is: the next class, or this graph with an arrow reversed.

    A score that ties equivalent graphs has the same score for all members of a class, so there the next graph is in
    another class. Other scores prefer one member, and a reversed arrow may be the closest alternative.
    """
    found = [(result.top[1].behind, "the next-best equivalence class")] if len(result.top) > 1 else []
    if not result.score_equivalent and result.margins is not None and result.searched_dag.any():
        margins = np.where(result.searched_dag, result.margins.reversed, np.nan)
        if not np.isnan(margins).all():
            i, j = np.unravel_index(np.nanargmin(margins), margins.shape)
            reversed_arrow = f"the best graph with {result.names[i]} -> {result.names[j]} reversed"
            found.append((float(margins[i, j]), reversed_arrow))
    return min(found, default=None)


def _experiment_lines(result: "Result") -> list[str]:
    """Return what experiments change, those with the largest margins first."""
    if (found := result.claims.experiments) is None:
        return []
    from drbo.claims.checks.experiment_check import form_remarks  # a saved result does without the scores behind it

    shown = [f"{printable(one.experiment)}: {printable(one.column)}" for one in found.targets[:SHOWN_TARGETS]]
    more = len(found.targets) - len(shown)
    words = "; ".join(shown) + (f"; {more} more: see targets" if more else "")
    counts = f"{len(found.labels) - 1} beside the control '{printable(found.labels[0])}' ({found.rows[0]} rows)"
    remarks = ["small drift between experiments also looks like targets (docs/guide/experiments.md)"] if shown else []
    return [
        f"experiments  {counts}",
        f"targets      {len(found.targets)}" + (f": {words}" if shown else ""),
        *(f"{'':<12} {printable(line)}" for line in (*form_remarks(found, result.scoring.regression), *remarks)),
    ]


def hidden_words(result: "Result") -> str:
    """Return where a hidden cause is likely, and what to try; empty where nothing speaks for one."""
    found = [f"{one.cause} -> {one.effect}" for one in result.claims.denials if one.likely]
    if not found:
        return ""
    more = f" and {len(found) - SHOWN_SUSPECTS} more edges" if len(found) > SHOWN_SUSPECTS else ""
    return f"a hidden cause is likely at {', '.join(found[:SHOWN_SUSPECTS])}{more}: try --hidden (DrBO(hidden=True))"
