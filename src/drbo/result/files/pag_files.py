"""A partial ancestral graph in the words of other programs: causal-learn, dagitty, pcalg, Graphviz, CSV and JSON."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.data.files.files import write_file
from drbo.errors import ResultError
from drbo.graph.mag import ARROW, CIRCLE, NO_EDGE, TAIL, Marks
from drbo.result.files.export import csv_bytes
from drbo.result.files.handover import not_installed, quoted_for_dagitty, quoted_for_dot

if TYPE_CHECKING:
    from drbo.result.hidden import HiddenResult


def to_causallearn(pag: Marks, names: Sequence[str]) -> Any:
    """Return a causal-learn ``GeneralGraph`` of directed, bidirected and circle edges.

    Examples
    --------
    >>> to_causallearn(np.array([[0, 2], [1, 0]], dtype=np.int8), ["a", "b"]).graph.tolist()  # a o-> b
    [[0, 2], [1, 0]]
    """
    try:
        from causallearn.graph.Edge import Edge
        from causallearn.graph.Endpoint import Endpoint
        from causallearn.graph.GeneralGraph import GeneralGraph
        from causallearn.graph.GraphNode import GraphNode
    except ImportError as error:
        raise not_installed("causal-learn") from error
    ends = {CIRCLE: Endpoint.CIRCLE, ARROW: Endpoint.ARROW, TAIL: Endpoint.TAIL}
    nodes: list[Any] = [GraphNode(name) for name in names]
    made = GeneralGraph(nodes)
    for i, j in _pairs(pag):
        made.add_edge(Edge(nodes[i], nodes[j], ends[int(pag[j, i])], ends[int(pag[i, j])]))
    return made


def to_dagitty(pag: Marks, names: Sequence[str]) -> str:
    """Return a PAG as dagitty reads it, with @ for a circle.

    Examples
    --------
    >>> print(to_dagitty(np.array([[0, 2], [1, 0]], dtype=np.int8), ["a", "b"]))
    pag {
    "a"
    "b"
    "a" @-> "b"
    }
    """
    quoted = quoted_for_dagitty(names)
    left, right = {CIRCLE: "@", ARROW: "<", TAIL: ""}, {CIRCLE: "@", ARROW: ">", TAIL: ""}
    edges = []
    for i, j in _pairs(pag):
        sign = f"{left[int(pag[j, i])]}-{right[int(pag[i, j])]}"
        edges.append(f"{quoted[i]} {sign if len(sign) > 1 else '--'} {quoted[j]}")
    return "\n".join(["pag {", *quoted, *edges, "}"])


def to_dot(pag: Marks, names: Sequence[str]) -> str:
    """Return a PAG in the language of Graphviz.

    Examples
    --------
    >>> print(to_dot(np.array([[0, 2], [2, 0]], dtype=np.int8), ["a", "b"]).splitlines()[3])
      "a" -> "b" [dir=both, arrowtail=normal, arrowhead=normal];
    """
    quoted = quoted_for_dot(names)
    heads = {CIRCLE: "odot", ARROW: "normal", TAIL: "none"}
    lines = [f"  {name};" for name in quoted]
    for i, j in _pairs(pag):
        ends = f"arrowtail={heads[int(pag[j, i])]}, arrowhead={heads[int(pag[i, j])]}"
        lines.append(f"  {quoted[i]} -> {quoted[j]} [dir=both, {ends}];")
    return "\n".join(["digraph {", *lines, "}"])


def to_pcalg(pag: Marks, names: Sequence[str]) -> str:
    """Return the matrix ``amat`` of pcalg's class fciAlgo as CSV; in R: ``as.matrix(read.csv(file, row.names = 1))``.

    Examples
    --------
    >>> print(to_pcalg(np.array([[0, 2], [1, 0]], dtype=np.int8), ["a", "b"]))
    ,a,b
    a,0,2
    b,1,0
    """
    rows = [["", *names], *([name, *row] for name, row in zip(names, pag.tolist(), strict=True))]
    return csv_bytes(rows).decode().rstrip("\n")


WRITERS: dict[str, Callable[[Marks, Sequence[str]], str]] = {
    ".dot": to_dot,
    ".dagitty": to_dagitty,
    ".pcalg": to_pcalg,
}
ENDINGS = (".csv", ".json", *WRITERS)


def hand_over(path: str | Path, result: "HiddenResult") -> Path:
    """Write the PAG of a result in the form that the ending of the name asks for, and return the path."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise ResultError(
            f"a graph with hidden causes can be exported to {', '.join(ENDINGS)}, got '{path.name}'",
            hint="choose one of these file extensions",
        )
    if kind in WRITERS:
        content = f"{WRITERS[kind](result.pag, result.names)}\n".encode()
    else:
        table = result.edges()
        if kind == ".csv":
            content = csv_bytes([list(table), *table.itertuples(index=False)])
        else:
            rows = {str(key): table[key].tolist() for key in table if key not in ("source", "target")}
            edges = table[["source", "target"]].to_numpy().tolist()
            content = json.dumps({"nodes": list(result.names), "edges": edges, **rows}, indent=1).encode()
    write_file(path, content)
    return path


def _pairs(pag: Marks) -> list[tuple[int, int]]:
    """Return every edge once, so that an arrow that only one end has points to the second node."""
    found = np.argwhere(np.triu(pag != NO_EDGE)).tolist()
    return [(j, i) if pag[j, i] == ARROW and pag[i, j] != ARROW else (i, j) for i, j in found]
