"""Graphs in the words of other programs: DOT, GML, GraphML, dagitty, bnlearn, lavaan, pcalg, causal-learn and pgmpy.

Names are data: where a language can hold any name, names are quoted; where it cannot, a name that would change the
meaning is refused. Graphs are written here and read back by :func:`drbo.result.files.export.read_graph` as JSON, CSV or
NPZ; GraphML is never read, as XML from strangers is not safe. The module is long because it holds a form for each of
nine programs.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.data.files.files import write_file
from drbo.data.files.names import check_names
from drbo.errors import ResultError
from drbo.graph.dag import topological_order
from drbo.graph.marks import ARROW, CIRCLE, TAIL, MarkedGraph
from drbo.result.files.export import Notes, csv_bytes, to_networkx, write_graph

if TYPE_CHECKING:
    import pandas as pd

Weights = npt.ArrayLike | None

#: Names that R takes without quotes: letters, digits, dots and underscores, not beginning with a digit.
_R_NAME = re.compile(r"(?:[A-Za-z]|\.(?![0-9]))[A-Za-z0-9._]*")
_R_WORDS = re.compile("if|else|repeat|while|function|for|in|next|break|TRUE|FALSE|NULL|Inf|NaN|NA")


def to_dot(graph: MarkedGraph, weights: Weights = None, notes: Notes | None = None) -> str:
    r"""Return a graph in the language of Graphviz; weights become labels, an undirected edge has no arrowhead.

    Notes are those of a DAG, written as attributes: an assumed direction has a hollow arrowhead, an open one none.

    Examples
    --------
    >>> print(to_dot(MarkedGraph.of([[0, 1], [0, 0]], ['a "b"', "c"])))
    digraph {
      "a \"b\"";
      "c";
      "a \"b\"" -> "c";
    }
    >>> print(to_dot(MarkedGraph(("a", "b"), np.array([[0, 2], [2, 0]]), "pag")).splitlines()[3])
      "a" -> "b" [dir=both, arrowtail=normal, arrowhead=normal];
    """
    values = None if weights is None else np.asarray(weights, dtype=np.float64)
    quoted, heads = _quoted_for_dot(graph.names), {CIRCLE: "odot", ARROW: "normal", TAIL: "none"}
    lines = [f"  {name};" for name in quoted]
    for i, j, at_first, at_second in graph.edges():
        note, undirected = notes[i, j] if notes else {}, at_second == TAIL
        if graph.of_dags:
            direction = "open" if undirected else note.get("direction", "")
            shown = {"open": ["dir=none"], "assumed": ["arrowhead=empty"]}.get(direction, [])
            shown = shown + ([f'label="{values[i, j]:.3g}"'] if values is not None and not undirected else [])
            shown += [f'{key}="{value}"' for key, value in note.items() if value]
        else:
            shown = ["dir=both", f"arrowtail={heads[at_first]}", f"arrowhead={heads[at_second]}"]
        lines.append(f"  {quoted[i]} -> {quoted[j]}{' [' + ', '.join(shown) + ']' if shown else ''};")
    return "\n".join(["digraph {", *lines, "}"])


def to_dagitty(graph: MarkedGraph, notes: Notes | None = None) -> str:
    """Return a graph as dagitty reads it, in R or on its web page: a ``dag``, ``pdag``, or ``pag`` with @ for a circle.

    An edge whose direction is noted as open is undirected.

    Examples
    --------
    >>> print(to_dagitty(MarkedGraph(("dose [mg]", "effect"), np.array([[0, 2], [1, 0]]), "pag")))
    pag {
    "dose [mg]"
    "effect"
    "dose [mg]" @-> "effect"
    }
    """
    quoted = _quoted_for_dagitty(graph.names)
    left, right = {CIRCLE: "@", ARROW: "<", TAIL: ""}, {CIRCLE: "@", ARROW: ">", TAIL: ""}
    lines, kind = list[str](), "dag" if graph.of_dags else "pag"
    for i, j, at_first, at_second in graph.edges():
        sign = f"{left[at_first]}-{right[at_second]}"
        if kind != "pag" and notes and notes[i, j]["direction"] == "open":
            sign = "-"
        kind = "pdag" if kind == "dag" and sign == "-" else kind
        lines.append(f"{quoted[i]} {sign if len(sign) > 1 else '--'} {quoted[j]}")
    return "\n".join([f"{kind} {{", *quoted, *lines, "}"])


def to_pcalg(graph: MarkedGraph) -> str:
    """Return the matrix ``amat`` of pcalg's class fciAlgo as CSV; in R: ``as.matrix(read.csv(file, row.names = 1))``.

    Examples
    --------
    >>> print(to_pcalg(MarkedGraph(("a", "b"), np.array([[0, 2], [1, 0]]), "pag")))
    ,a,b
    a,0,2
    b,1,0
    """
    rows = [["", *graph.names], *([name, *row] for name, row in zip(graph.names, graph.marks.tolist(), strict=True))]
    return csv_bytes(rows).decode().rstrip("\n")


def to_bnlearn(graph: MarkedGraph) -> str:
    """Return a DAG as a model string of the R package bnlearn, for ``model2network()``; causes come first.

    Examples
    --------
    >>> to_bnlearn(MarkedGraph.of([[0, 0, 1], [0, 0, 1], [0, 0, 0]], ["a", "b", "c"]))
    '[a][b][c|a:b]'
    """
    dag, labels = _only_arrows(graph), graph.names
    _refuse(labels, lambda name: bool(re.search(r"[\[\]|:\s]", name)) or not name.isprintable(), "bnlearn")
    parts = []
    for node in topological_order(dag).tolist():
        parents = [labels[i] for i in np.flatnonzero(dag[:, node])]
        parts.append(f"[{labels[node]}{'|' + ':'.join(parents) if parents else ''}]")
    return "".join(parts)


def to_lavaan(graph: MarkedGraph, notes: Notes | None = None) -> str:
    """Return a DAG as regressions of the R package lavaan, a line per effect; a variable without causes has none.

    Notes on the edges become comments before the regressions.

    Examples
    --------
    >>> print(to_lavaan(MarkedGraph.of([[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["a", "b", "c"])))
    b ~ a
    c ~ a + b
    """
    dag, labels = _only_arrows(graph), graph.names
    _refuse(labels, lambda name: not _R_NAME.fullmatch(name) or bool(_R_WORDS.fullmatch(name)), "lavaan")
    said = [(labels[i], labels[j], ", ".join(filter(None, note.values()))) for (i, j), note in (notes or {}).items()]
    lines = [f"# {cause} -> {effect}: {words}" for cause, effect, words in said if words]
    for node in topological_order(dag).tolist():
        parents = [labels[i] for i in np.flatnonzero(dag[:, node])]
        if parents:
            lines.append(f"{labels[node]} ~ {' + '.join(parents)}")
    return "\n".join(lines)


def to_gml(graph: MarkedGraph, weights: Weights = None, notes: Notes | None = None) -> str:
    """Return a DAG in GML, names as labels; ``networkx.parse_gml`` reads it, and DoWhy takes it as it is.

    Examples
    --------
    >>> "label" in to_gml(MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"]))
    True
    """
    import networkx as nx

    made = to_networkx(_only_arrows(graph), graph.names, weights, notes=notes)
    return "\n".join(nx.generate_gml(made))  # type: ignore[no-untyped-call]


def to_graphml(graph: MarkedGraph, weights: Weights = None, notes: Notes | None = None) -> str:
    """Return a DAG in GraphML, for Gephi, yEd and igraph.

    Examples
    --------
    >>> to_graphml(MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"])).count("<edge")
    1
    """
    import networkx as nx

    _refuse(graph.names, lambda name: not name.isprintable(), "GraphML")
    made = to_networkx(_only_arrows(graph), graph.names, weights, notes=notes)
    return "\n".join(nx.generate_graphml(made))  # type: ignore[no-untyped-call]


def to_causallearn(graph: MarkedGraph) -> Any:
    """Return a causal-learn ``GeneralGraph``; it stores a -> b as ``graph[a, b] = -1``, ``graph[b, a] = 1``.

    Examples
    --------
    >>> to_causallearn(MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"])).graph.tolist()
    [[0, -1], [1, 0]]
    """
    try:
        from causallearn.graph.Edge import Edge
        from causallearn.graph.Endpoint import Endpoint
        from causallearn.graph.GeneralGraph import GeneralGraph
        from causallearn.graph.GraphNode import GraphNode
    except ImportError as error:
        raise _not_installed("causal-learn") from error
    ends = {CIRCLE: Endpoint.CIRCLE, ARROW: Endpoint.ARROW, TAIL: Endpoint.TAIL}
    nodes: list[Any] = [GraphNode(name) for name in graph.names]
    made = GeneralGraph(nodes)
    for i, j, at_first, at_second in graph.edges():
        made.add_edge(Edge(nodes[i], nodes[j], ends[at_first], ends[at_second]))
    return made


def from_causallearn(graph: Any) -> tuple[Bools, tuple[str, ...]]:
    """Return the adjacency and the names of a causal-learn graph of directed and undirected edges.

    Examples
    --------
    >>> from_causallearn(to_causallearn(MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"])))[0].astype(int).tolist()
    [[0, 1], [0, 0]]
    """
    ends = np.asarray(graph.graph)
    allowed = ((ends == 0) & (ends.T == 0)) | ((ends == -1) & np.isin(ends.T, (-1, 1))) | ((ends == 1) & (ends.T == -1))
    if not allowed.all():
        i, j = np.argwhere(~allowed)[0]
        names = [node.get_name() for node in graph.get_nodes()]
        raise ResultError(
            f"the edge between '{names[i]}' and '{names[j]}' is neither directed nor undirected",
            hint="graphs with bidirected edges or circle marks are not supported",
        )
    return ends == -1, check_names([node.get_name() for node in graph.get_nodes()], len(ends))


def to_pgmpy(graph: MarkedGraph, notes: Notes | None = None) -> Any:
    """Return a pgmpy ``DAG`` with all variables, for networks or adjustment sets; notes are attributes of edges."""
    try:
        from pgmpy.base import DAG
    except ImportError as error:
        raise _not_installed("pgmpy") from error
    made, labels = DAG(), graph.names
    made.add_nodes_from(labels)
    for i, j in np.argwhere(_only_arrows(graph)).tolist():
        made.add_edge(labels[i], labels[j])
        made.edges[labels[i], labels[j]].update(notes[i, j] if notes else {})
    return made


#: What is written for the ending of a file name; .csv, .json and .npz are those of write_graph.
WRITERS: dict[str, Callable[..., str]] = {
    ".dot": to_dot,
    ".gml": to_gml,
    ".graphml": to_graphml,
    ".dagitty": to_dagitty,
    ".bnlearn": to_bnlearn,
    ".lavaan": to_lavaan,
    ".pcalg": to_pcalg,
}
#: Formats without an open edge: they get the DAG, one member of its class.
ONLY_ARROWS = (".bnlearn", ".lavaan")
ENDINGS = (".csv", ".json", ".npz", *WRITERS)
#: Those that hold a DAG or its class, and those that hold the marks of a PAG.
OF_ARROWS = tuple(ending for ending in ENDINGS if ending != ".pcalg")
OF_MARKS = (".csv", ".json", ".dot", ".dagitty", ".pcalg")


def hand_over(
    path: str | Path, graph: MarkedGraph, weights: npt.ArrayLike | None = None, notes: Notes | None = None
) -> Path:
    """Write a graph in the form that the ending of the name asks for, and return the path.

    dagitty, bnlearn and lavaan cannot hold weights, which are left out there, nor can bnlearn hold notes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hand_over(f"{folder}/graph.bnlearn", MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"])).read_text()
    '[a][b|a]\\n'
    """
    path = Path(path)
    kind, of_dags = path.suffix.lower(), graph.of_dags
    allowed = OF_ARROWS if of_dags else OF_MARKS
    if kind not in allowed:
        what = "a graph" if of_dags else "a graph with hidden causes"
        raise ResultError(
            f"{what} can be exported to {', '.join(allowed)}, got '{path.name}'",
            hint="choose one of these file extensions",
        )
    if kind not in WRITERS:
        write_graph(path, graph.adjacency if of_dags else _noted(graph, notes), graph.names, notes)
        return path
    both = (weights, notes)
    more = {".dot": both, ".gml": both, ".graphml": both, ".lavaan": (notes,), ".dagitty": (notes,)}
    text = WRITERS[kind](graph, *more.get(kind, ()))
    write_file(path, f"{text}\n".encode())
    return path


def write_sheet(path: str | Path, table: "pd.DataFrame") -> Path:
    """Write a table as CSV for a spreadsheet: no text in it is taken as a formula. Return the path."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise ResultError(f"a table for spreadsheets is written as .csv, got '{path.name}'", hint="name it edges.csv")
    write_file(path, csv_bytes([list(table), *table.itertuples(index=False)], guarded=True))
    return path


def _noted(graph: MarkedGraph, notes: Notes | None) -> Bools:
    """Return (d, d) the edges as the notes list them."""
    found = np.zeros_like(graph.skeleton)
    for edge in notes or {}:
        found[edge] = True
    return found


def _only_arrows(graph: MarkedGraph) -> Bools:
    """Return the matrix of a DAG; a graph with undirected edges is refused."""
    if graph.undirected.any():
        raise ResultError(
            "this format does not support undirected edges, but the graph has some",
            hint="export the DAG, which is one member of the equivalence class",
        )
    return graph.directed


def _quoted_for_dot(names: Sequence[str]) -> list[str]:
    escaped = (name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name in names)
    return [f'"{name}"' for name in escaped]


def _quoted_for_dagitty(names: Sequence[str]) -> list[str]:
    """Return names in the quotes of dagitty, which knows no escapes."""
    _refuse(names, lambda name: '"' in name or "\\" in name or not name.isprintable(), "dagitty")
    return [f'"{name}"' for name in names]


def _refuse(names: Sequence[str], bad: Callable[[str], bool], program: str) -> None:
    wrong = next((name for name in names if bad(name)), None)
    if wrong is not None:
        raise ResultError(f"{program} does not support the name {wrong!r}", hint="rename the column first")


def _not_installed(package: str) -> ResultError:
    return ResultError(f"{package} is not installed", hint=f"pip install {package}")
