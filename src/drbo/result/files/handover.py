"""Graphs in the words of other programs: DOT, GML, GraphML, dagitty, bnlearn, lavaan, causal-learn and pgmpy.

Names are data: where a language can hold any name, names are quoted; where it cannot, a name that would change the
meaning is refused. Graphs are written here and read back by :func:`drbo.result.files.export.read_graph` as JSON, CSV or
NPZ; GraphML is never read, as XML from strangers is not safe. The module is long because it holds a form for each of
eight programs.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools
from drbo.data.files.files import write_file
from drbo.data.files.names import check_names
from drbo.errors import ResultError
from drbo.graph.dag import check_dag, check_pdag, topological_order
from drbo.result.files.export import Marks, to_networkx, write_graph

if TYPE_CHECKING:
    import networkx as nx

Names = Sequence[str] | None
Weights = npt.ArrayLike | None

#: Names that R takes without quotes: letters, digits, dots and underscores, not beginning with a digit.
_R_NAME = re.compile(r"(?:[A-Za-z]|\.(?![0-9]))[A-Za-z0-9._]*")
_R_WORDS = re.compile("if|else|repeat|while|function|for|in|next|break|TRUE|FALSE|NULL|Inf|NaN|NA")


def to_dot(
    pdag: npt.ArrayLike,
    names: Sequence[str] | None = None,
    weights: npt.ArrayLike | None = None,
    marks: Marks | None = None,
) -> str:
    r"""Return a graph in the language of Graphviz; weights become labels, an undirected edge has no arrowhead.

    Marks are those of a DAG, written as attributes: an assumed direction has a hollow arrowhead, an open one none.

    Examples
    --------
    >>> print(to_dot([[0, 1], [0, 0]], ['a "b"', "c"]))
    digraph {
      "a \"b\"";
      "c";
      "a \"b\"" -> "c";
    }
    """
    graph, labels = _checked(pdag, names)
    values = None if weights is None else np.asarray(weights, dtype=np.float64)
    quoted = quoted_for_dot(labels)
    lines = [f"  {name};" for name in quoted]
    for (i, j, undirected), mark in _marked(graph, marks):
        direction = "open" if undirected else mark.get("direction", "")
        notes = {"open": ["dir=none"], "assumed": ["arrowhead=empty"]}.get(direction, [])
        notes = notes + ([f'label="{values[i, j]:.3g}"'] if values is not None and not undirected else [])
        notes += [f'{key}="{value}"' for key, value in mark.items() if value]
        lines.append(f"  {quoted[i]} -> {quoted[j]}{' [' + ', '.join(notes) + ']' if notes else ''};")
    return "\n".join(["digraph {", *lines, "}"])


def to_dagitty(pdag: npt.ArrayLike, names: Names = None, marks: Marks | None = None) -> str:
    """Return a graph as dagitty reads it, in R or on its web page: a ``dag``, or a ``pdag`` with undirected edges.

    An edge whose direction is marked as open is undirected.

    Examples
    --------
    >>> print(to_dagitty([[0, 1], [0, 0]], ["dose [mg]", "effect"]))
    dag {
    "dose [mg]"
    "effect"
    "dose [mg]" -> "effect"
    }
    """
    graph, labels = _checked(pdag, names)
    quoted = quoted_for_dagitty(labels)
    lines, kind, found = list[str](), "dag", _edges(graph)
    for (i, j, undirected), mark in zip(found, marks or [{}] * len(found), strict=True):
        is_open = undirected or mark.get("direction") == "open"
        kind = "pdag" if is_open else kind
        lines.append(f"{quoted[i]} {'--' if is_open else '->'} {quoted[j]}")
    return "\n".join([f"{kind} {{", *quoted, *lines, "}"])


def to_bnlearn(dag: npt.ArrayLike, names: Sequence[str] | None = None) -> str:
    """Return a DAG as a model string of the R package bnlearn, for ``model2network()``; causes come first.

    Examples
    --------
    >>> to_bnlearn([[0, 0, 1], [0, 0, 1], [0, 0, 0]], ["a", "b", "c"])
    '[a][b][c|a:b]'
    """
    graph, labels = _checked_dag(dag, names)
    _refuse(labels, lambda name: bool(re.search(r"[\[\]|:\s]", name)) or not name.isprintable(), "bnlearn")
    parts = []
    for node in _order(graph):
        parents = [labels[i] for i in np.flatnonzero(graph[:, node])]
        parts.append(f"[{labels[node]}{'|' + ':'.join(parents) if parents else ''}]")
    return "".join(parts)


def to_lavaan(dag: npt.ArrayLike, names: Sequence[str] | None = None, marks: Marks | None = None) -> str:
    """Return a DAG as regressions of the R package lavaan, a line per effect; a variable without causes has none.

    Marks of the edges become comments before the regressions.

    Examples
    --------
    >>> print(to_lavaan([[0, 1, 1], [0, 0, 1], [0, 0, 0]], ["a", "b", "c"]))
    b ~ a
    c ~ a + b
    """
    graph, labels = _checked_dag(dag, names)
    _refuse(labels, lambda name: not _R_NAME.fullmatch(name) or bool(_R_WORDS.fullmatch(name)), "lavaan")
    notes = [
        (labels[i], labels[j], ", ".join(filter(None, mark.values()))) for (i, j, _), mark in _marked(graph, marks)
    ]
    lines = [f"# {cause} -> {effect}: {note}" for cause, effect, note in notes if note]
    for node in _order(graph):
        parents = [labels[i] for i in np.flatnonzero(graph[:, node])]
        if parents:
            lines.append(f"{labels[node]} ~ {' + '.join(parents)}")
    return "\n".join(lines)


def to_gml(dag: npt.ArrayLike, names: Names = None, weights: Weights = None, marks: Marks | None = None) -> str:
    """Return a DAG in GML, names as labels; ``networkx.parse_gml`` reads it, and DoWhy takes it as it is.

    Examples
    --------
    >>> "label" in to_gml([[0, 1], [0, 0]], ["a", "b"])
    True
    """
    import networkx as nx

    return "\n".join(nx.generate_gml(_network(dag, names, weights, marks)))  # type: ignore[no-untyped-call]


def to_graphml(dag: npt.ArrayLike, names: Names = None, weights: Weights = None, marks: Marks | None = None) -> str:
    """Return a DAG in GraphML, for Gephi, yEd and igraph.

    Examples
    --------
    >>> to_graphml([[0, 1], [0, 0]], ["a", "b"]).count("<edge")
    1
    """
    import networkx as nx

    _refuse(check_names(names, len(np.asarray(dag))), lambda name: not name.isprintable(), "GraphML")
    return "\n".join(nx.generate_graphml(_network(dag, names, weights, marks)))  # type: ignore[no-untyped-call]


def to_causallearn(pdag: npt.ArrayLike, names: Sequence[str] | None = None) -> Any:
    """Return a causal-learn ``GeneralGraph``; it stores a -> b as ``graph[a, b] = -1``, ``graph[b, a] = 1``.

    Examples
    --------
    >>> to_causallearn([[0, 1], [0, 0]], ["a", "b"]).graph.tolist()
    [[0, -1], [1, 0]]
    """
    try:
        from causallearn.graph.Edge import Edge
        from causallearn.graph.Endpoint import Endpoint
        from causallearn.graph.GeneralGraph import GeneralGraph
        from causallearn.graph.GraphNode import GraphNode
    except ImportError as error:
        raise not_installed("causal-learn") from error
    graph, labels = _checked(pdag, names)
    nodes: list[Any] = [GraphNode(name) for name in labels]
    made = GeneralGraph(nodes)
    for i, j, undirected in _edges(graph):
        made.add_edge(Edge(nodes[i], nodes[j], Endpoint.TAIL, Endpoint.TAIL if undirected else Endpoint.ARROW))
    return made


def from_causallearn(graph: Any) -> tuple[Bools, tuple[str, ...]]:
    """Return the adjacency and the names of a causal-learn graph of directed and undirected edges.

    Examples
    --------
    >>> from_causallearn(to_causallearn([[0, 1], [0, 0]], ["a", "b"]))[0].astype(int).tolist()
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


def to_pgmpy(dag: npt.ArrayLike, names: Sequence[str] | None = None, marks: Marks | None = None) -> Any:
    """Return a pgmpy ``DAG`` with all variables, for networks or adjustment sets; marks are attributes of edges."""
    try:
        from pgmpy.base import DAG
    except ImportError as error:
        raise not_installed("pgmpy") from error
    graph, labels = _checked_dag(dag, names)
    made = DAG()
    made.add_nodes_from(labels)
    for (i, j, _), mark in _marked(graph, marks):
        made.add_edge(labels[i], labels[j])
        made.edges[labels[i], labels[j]].update(mark)
    return made


#: What is written for the ending of a file name; .csv, .json and .npz are those of write_graph.
WRITERS: dict[str, Callable[..., str]] = {
    ".dot": to_dot,
    ".gml": to_gml,
    ".graphml": to_graphml,
    ".dagitty": to_dagitty,
    ".bnlearn": to_bnlearn,
    ".lavaan": to_lavaan,
}
#: Formats without an open edge: they get the DAG, one member of its class.
ONLY_ARROWS = (".bnlearn", ".lavaan")
ENDINGS = (".csv", ".json", ".npz", *WRITERS)


def hand_over(
    path: str | Path,
    pdag: npt.ArrayLike,
    names: Sequence[str] | None = None,
    weights: npt.ArrayLike | None = None,
    marks: Marks | None = None,
) -> Path:
    """Write a graph in the form that the ending of the name asks for, and return the path.

    dagitty, bnlearn and lavaan cannot hold weights, which are left out there, nor can bnlearn hold marks.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hand_over(f"{folder}/graph.bnlearn", [[0, 1], [0, 0]], ["a", "b"]).read_text()
    '[a][b|a]\\n'
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in ENDINGS:
        raise ResultError(
            f"a graph can be exported to {', '.join(ENDINGS)}, got '{path.name}'",
            hint="choose one of these file extensions",
        )
    if kind not in WRITERS:
        write_graph(path, pdag, names, marks)
        return path
    both = (weights, marks)
    more = {".dot": both, ".gml": both, ".graphml": both, ".lavaan": (marks,), ".dagitty": (marks,)}
    text = WRITERS[kind](pdag, names, *more.get(kind, ()))
    write_file(path, f"{text}\n".encode())
    return path


def _checked(pdag: npt.ArrayLike, names: Sequence[str] | None) -> tuple[Bools, tuple[str, ...]]:
    graph = check_pdag(pdag)
    return graph, check_names(names, len(graph))


def _checked_dag(dag: npt.ArrayLike, names: Sequence[str] | None) -> tuple[Bools, tuple[str, ...]]:
    graph = np.asarray(dag) != 0
    if (graph & graph.T).any():
        raise ResultError(
            "this format does not support undirected edges, but the graph has some",
            hint="export the DAG, which is one member of the equivalence class",
        )
    return check_dag(graph), check_names(names, len(graph))


def _edges(graph: Bools) -> list[tuple[int, int, bool]]:
    """Return the edges, an undirected one once."""
    return [(i, j, bool(graph[j, i])) for i, j in np.argwhere(graph).tolist() if i < j or not graph[j, i]]


def _marked(graph: Bools, marks: Marks | None) -> list[tuple[tuple[int, int, bool], Mapping[str, str]]]:
    edges = _edges(graph)
    return list(zip(edges, marks or [{}] * len(edges), strict=True))


def _order(dag: Bools) -> list[int]:
    return [int(node) for node in topological_order(dag)]


def _network(
    dag: npt.ArrayLike, names: Sequence[str] | None, weights: npt.ArrayLike | None, marks: Marks | None
) -> "nx.DiGraph[str]":
    graph, labels = _checked_dag(dag, names)
    return to_networkx(graph, labels, weights, marks=marks)


def quoted_for_dot(names: Sequence[str]) -> list[str]:
    """Return names in the quotes of Graphviz."""
    escaped = (name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for name in names)
    return [f'"{name}"' for name in escaped]


def quoted_for_dagitty(names: Sequence[str]) -> list[str]:
    """Return names in the quotes of dagitty, which knows no escapes."""
    _refuse(names, lambda name: '"' in name or "\\" in name or not name.isprintable(), "dagitty")
    return [f'"{name}"' for name in names]


def _refuse(names: Sequence[str], bad: Callable[[str], bool], program: str) -> None:
    wrong = next((name for name in names if bad(name)), None)
    if wrong is not None:
        raise ResultError(f"{program} does not support the name {wrong!r}", hint="rename the column first")


def not_installed(package: str) -> ResultError:
    """Return the error that says how to install a package."""
    return ResultError(f"{package} is not installed", hint=f"pip install {package}")
