"""A result in plain words for a terminal; all text from tables and files is made printable first."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from drbo.claims.experiment_check import form_remarks
from drbo.claims.questions import questions
from drbo.result.files.export import printable

if TYPE_CHECKING:
    from drbo.claims.directions import EdgeDirection
    from drbo.result.records import SearchRecord
    from drbo.result.result import Result

#: How a direction is written between two names.
ARROWS = {"supported": "->", "assumed": "-?>", "open": "--"}
#: What a supported direction rests on, beside that no cause is hidden.
GROUNDS = {
    "class": "directions by class rest on independences in the table, none of them a coincidence (faithfulness)",
    "noise-check": "directions by noise check rest on additive noise whose shape does not depend on the causes",
}
SHOWN_EDGES = 60  # in each list
SHOWN_TARGETS = 10
SHOWN_SUSPECTS = 5  # edges at which a hidden cause is likely
#: Why the same call may give another graph, where ``Result.cut_short``.
CUT_SHORT = "The run was stopped early, so another run may find a different graph."


def summary(result: "Result") -> str:
    """Return the graph, what is known about it and how it was found, in plain words."""
    lines = [
        f"{len(result.names)} variables, {rows_in_words(result)}, score {printable(result.score_name)}",
        "",
        *_graph_lines(result),
        "",
        *_score_lines(result),
        f"search       {result.n_evals} evaluations, {result.n_local} local scores, {result.seconds:.1f} s",
        *fidelity_lines(result.search),
        *_proof_lines(result),
        *_frequency_lines(result),
        *_experiment_lines(result),
        *_assumption_lines(result),
        f"found by     {printable(result.search.found_by) or 'not recorded'}",
        f"stopped      {printable(result.stopped) or 'not recorded'}",
        *([f"{'':<12} {CUT_SHORT}"] if result.cut_short else []),
    ]
    lines += [f"{'' if k else 'why':<12} {printable(reason)}" for k, reason in enumerate(result.reasons)]
    lines += [f"{'' if k else 'ask':<12} {printable(text)}" for k, text in enumerate(questions(result.directions))]
    return "\n".join(lines)


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


def _graph_lines(result: "Result") -> list[str]:
    """Return the edges with what is said about their directions; the size of the class first, if it is the result."""
    n_edges = int(result.dag.sum())
    lines, title = [], f"DAG: {n_edges} edges"
    if result.score_equivalent:
        mpdag = result.mpdag
        undirected = int((mpdag & mpdag.T).sum()) // 2
        refined = "MPDAG, the CPDAG refined by background knowledge"
        if result.claims.experiments is not None:
            refined = "interventional: the CPDAG refined by experiments and background knowledge"
        kind = "CPDAG" if (mpdag == result.cpdag).all() else refined
        lines = [f"Equivalence class ({kind}): {n_edges - undirected} directed and {undirected} undirected edges"]
        title = f"DAG (one member of the class): {n_edges} edges"
    if n_edges:
        title += f"; directions: {counted(result.directions)}"
    return [*lines, title, *_edge_lines(result)]


def _score_lines(result: "Result") -> list[str]:
    """Return the score, and what a test after the search removed."""
    if result.pruner == "none":
        return [f"score        {result.score:.6f}"]
    n_edges, n_searched = int(result.dag.sum()), int(result.searched_dag.sum())
    return [
        f"score        {result.score:.6f} before pruning, {result.pruned_score:.6f} after",
        f"pruning      {printable(result.pruner)}: {n_searched - n_edges} of {n_searched} edges removed",
    ]


def counted(directions: "Sequence[EdgeDirection]") -> str:
    """Return how many directions are supported, on which grounds, assumed and open.

    Examples
    --------
    >>> from drbo.claims.directions import EdgeDirection
    >>> counted([EdgeDirection("a", "b", "supported", "class", False, "", None, None)] * 2)
    '2 supported (2 class), 0 assumed, 0 open'
    """
    kinds = Counter(one.direction for one in directions)
    grounds = Counter(one.ground.replace("-", " ") for one in directions if one.direction == "supported")
    listed = ", ".join(f"{count} {ground}" for ground, count in sorted(grounds.items()))
    supported = f"{kinds['supported']} supported{f' ({listed})' if listed else ''}"
    return f"{supported}, {kinds['assumed']} assumed, {kinds['open']} open"


def _edge_lines(result: "Result") -> list[str]:
    """Return one line per edge, with its weights where there are some; a long list is cut."""
    edges, shown = np.argwhere(result.dag).tolist(), [printable(name) for name in result.names]
    found = list(zip(edges, result.directions, strict=True))[:SHOWN_EDGES]
    heads = [f"{shown[i]} {ARROWS[one.direction]} {shown[j]}" for (i, j), one in found]
    width, lines = max(map(len, heads), default=0), []
    for head, ((i, j), one) in zip(heads, found, strict=True):
        weight = "" if result.weights is None else f"  {result.weights[i, j]:+.4g}"
        standardised = result.standardised_weights
        scaled = "" if standardised is None else f"  (standardised {standardised[i, j]:+.2f})"
        words = f"{one.direction}: {one.ground.replace('-', ' ')}" if one.ground else one.direction
        against = ", contradicted by the noise check" if one.contradicted else ""
        numbers = f"{weight:<12}{scaled}" if weight or scaled else ""
        lines.append(f"  {head:<{width}}{numbers}  {words}{against}")
    if len(edges) > SHOWN_EDGES:
        lines.append(f"  ... and {len(edges) - SHOWN_EDGES} more: see edges()")
    return lines


def _proof_lines(result: "Result") -> list[str]:
    """Return what is proved, how far behind the next graph is, and the prior of probabilities."""
    lines = []
    if result.proof is not None:
        proved = "the optimum" if result.gap == 0 else f"at most {result.gap:.6g} below the optimum"
        lines.append(
            f"proof        the graph{before_pruning(result)} is {proved} of {printable(result.proof.valid_for)}"
        )
    if (found := runner_up(result)) is not None:
        behind, what = found
        lower = f"{behind:.6g} lower{than_before_pruning(result)}"
        lines.append(f"runner-up    {printable(what)} scores {lower} ({printable(result.claims.over)})")
    if result.posterior is not None:
        lines.append(f"prior        of the probabilities of edges: {printable(result.claims.prior)}")
    return lines


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
            reversed_arrow = f"the best graph with {result.names[j]} -> {result.names[i]} instead of the reverse"
            found.append((float(margins[i, j]), reversed_arrow))
    return min(found, default=None)


def _experiment_lines(result: "Result") -> list[str]:
    """Return what experiments change, those with the largest margins first."""
    if (found := result.claims.experiments) is None:
        return []
    shown = [f"{printable(one.experiment)}: {printable(one.column)}" for one in found.targets[:SHOWN_TARGETS]]
    more = len(found.targets) - len(shown)
    words = "; ".join(shown) + (f"; {more} more: see targets" if more else "")
    counts = f"{len(found.labels) - 1} beside the control '{printable(found.labels[0])}' ({found.rows[0]} rows)"
    remarks = ["small drift between experiments also looks like targets (docs/experiments.md)"] if shown else []
    return [
        f"experiments  {counts}",
        f"targets      {len(found.targets)}" + (f": {words}" if shown else ""),
        *(f"{'':<12} {printable(line)}" for line in (*form_remarks(found, result.scoring.regression), *remarks)),
    ]


def _assumption_lines(result: "Result") -> list[str]:
    """Return what the arrows rest on."""
    lines = ["assumptions  no common cause is hidden; --hidden does not assume this (docs/hidden.md)"]
    if words := hidden_words(result):
        lines.append(f"{'':<12} {printable(words)}")
    grounds = {one.ground for one in result.directions}
    lines += [f"{'':<12} {words}" for ground, words in GROUNDS.items() if ground in grounds]
    if any(one.direction == "assumed" for one in result.directions):
        rest = "the margins of the score" if result.score_equivalent else printable(result.scoring.assumption)
        lines.append(f"{'':<12} assumed directions rest on {rest}, which the data do not confirm (docs/directions.md)")
    return lines


def hidden_words(result: "Result") -> str:
    """Return where a hidden cause is likely, and what to try; empty where nothing speaks for one."""
    found = [f"{one.cause} -> {one.effect}" for one in result.claims.denials if one.likely]
    if not found:
        return ""
    more = f" and {len(found) - SHOWN_SUSPECTS} more edges" if len(found) > SHOWN_SUSPECTS else ""
    return f"a hidden cause is likely at {', '.join(found[:SHOWN_SUSPECTS])}{more}: try --hidden (DrBO(hidden=True))"


def _frequency_lines(result: "Result") -> list[str]:
    """Return what the frequencies of edges come from, and the least of them."""
    if (found := result.confidence) is None:
        return []
    what = {"imputation": "imputed tables", "seeds": "seeds"}.get(found.kind, "resamples")
    links = found.adjacent[result.dag]
    least = f", the weakest edge in {100 * links.min():.0f}% of them" if len(links) else ""
    others = int((np.triu(found.adjacent, 1) >= found.cut).sum()) if found.cut > 0 else 0
    links_above = f"{others} links at or above the threshold of {found.cut:.2f}"
    return [f"frequencies  {found.count} {what}{least}; {links_above}: see edges()"]
