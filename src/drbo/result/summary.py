"""A result in plain words for a terminal; all text from tables and files is made printable first."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from drbo.result.export import printable

if TYPE_CHECKING:
    from drbo.result.result import Result

Floats = npt.NDArray[np.float64]

SHOWN_EDGES = 60  # in each list
#: Why the same call may give another graph, where ``Result.cut_short``.
CUT_SHORT = "The run was stopped early, so another run may find a different graph."


def summary(result: "Result") -> str:
    """Return the graph, what is known about it and how it was found; the class comes first if it is the result."""
    n_edges, n_searched = int(result.dag.sum()), int(result.searched_dag.sum())
    lines = [
        f"{len(result.names)} variables, {result.table.n_rows} rows, score {printable(result.score_name)}",
        "",
        *_graph_lines(result),
        "",
        f"score        {result.score:.6f} before pruning, {result.pruned_score:.6f} after",
        f"pruning      {printable(result.pruner)}: {n_searched - n_edges} of {n_searched} edges removed",
        f"search       {result.n_evals} evaluations, {result.n_local} local scores, {result.seconds:.1f} s",
        *_proof_lines(result),
        *_frequency_lines(result),
        "assumed      no hidden common causes; FCI in causal-learn does not assume this (to_causallearn(), "
        "docs/hidden.md)",
        f"found by     {printable(result.search.found_by) or 'not recorded'}",
        f"stopped      {printable(result.stopped) or 'not recorded'}",
        *([f"{'':<12} {CUT_SHORT}"] if result.cut_short else []),
    ]
    lines += [f"{'' if k else 'why':<12} {printable(reason)}" for k, reason in enumerate(result.reasons)]
    return "\n".join(lines)


def _graph_lines(result: "Result") -> list[str]:
    n_edges = int(result.dag.sum())
    lines, title = [], f"DAG: {n_edges} edges"
    if result.score_equivalent:
        undirected, mpdag = int(result.undirected.sum()) // 2, result.mpdag
        kind = "CPDAG" if (mpdag == result.cpdag).all() else "MPDAG, the CPDAG refined by background knowledge"
        lines = [
            f"Equivalence class ({kind}): {n_edges - undirected} directed and {undirected} undirected edges",
            *_edge_lines(mpdag, result.names, None, None),
            "",
        ]
        title = f"DAG (one member of the class): {n_edges} edges"
    return [*lines, title, *_edge_lines(result.dag, result.names, result.weights, result.standardised_weights)]


def _edge_lines(
    graph: npt.NDArray[np.bool_], names: tuple[str, ...], weights: Floats | None, standardised: Floats | None
) -> list[str]:
    """Return one line per edge, with its weights where there are some; a long list is cut."""
    edges = [(i, j) for i, j in np.argwhere(graph).tolist() if i < j or not graph[j, i]]
    shown = [printable(name) for name in names]
    heads = [f"{shown[i]} {'--' if graph[j, i] else '->'} {shown[j]}" for i, j in edges[:SHOWN_EDGES]]
    width = max(map(len, heads), default=0)
    lines = []
    for head, (i, j) in zip(heads, edges, strict=False):
        weight = "" if weights is None else f"  {weights[i, j]:+.4g}"
        scaled = "" if standardised is None else f"  (standardised {standardised[i, j]:+.2f})"
        lines.append(f"  {head:<{width}}{weight:<12}{scaled}".rstrip())
    if len(edges) > SHOWN_EDGES:
        lines.append(f"  ... and {len(edges) - SHOWN_EDGES} more: see edges()")
    return lines


def _proof_lines(result: "Result") -> list[str]:
    """Return what is proved, and how far behind the next class is."""
    lines = []
    if result.proof is not None:
        gap, before = result.gap, " before pruning" if (result.dag != result.searched_dag).any() else ""
        proved = "the optimum" if gap == 0 else f"at most {gap:.6g} below the optimum"
        lines.append(f"proof        the graph{before} is {proved} of {printable(result.proof.valid_for)}")
    if len(result.top) > 1:
        over = printable(result.claims.over)
        lines.append(f"runner-up    the next-best equivalence class scores {result.top[1].behind:.6g} lower ({over})")
    return lines


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
