"""Graphs as tables, networkx objects and files, and back; every file is treated as untrusted.

The module is long because it holds both directions, writing and reading, of each format.
"""

import array
import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.data.files.files import (
    MAX_ARRAY_BYTES,
    MAX_TEXT_BYTES,
    npz_bytes,
    read_bytes,
    read_json,
    read_member,
    read_npy,
    refusing,
    write_file,
)
from drbo.data.files.names import check_names
from drbo.data.files.packed import InputLimit, open_zip
from drbo.deadline import current
from drbo.errors import ResultError, SettingsError

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

#: Cells of a table that are written in one piece.
CELLS = 2**18
MAX_NODES = 2**14  # their square in booleans is what files.MAX_ARRAY_BYTES takes
#: How a text begins that a spreadsheet takes as a formula, also in the wide forms of East Asian keyboards.
FORMULA_SIGNS = set("=+-@＝＋－＠")
GRAPH_ARRAYS = ("dag", "adjacency", "A", "arr_0")
READABLE = "a result folder, .csv, .tsv, .txt, .json, .npz or .npy"

#: What is said about each edge, by its two nodes, row by row.
Notes = Mapping[tuple[int, int], Mapping[str, Any]]


def printable(name: str) -> str:
    r"""Return a name that cannot disturb a terminal or a picture: control characters are written out."""
    return name if name.isprintable() else name.encode("unicode_escape").decode()


def to_networkx(
    dag: npt.ArrayLike,
    names: Sequence[str] | None = None,
    weights: npt.ArrayLike | None = None,
    standardised_weights: npt.ArrayLike | None = None,
    notes: Notes | None = None,
) -> "nx.DiGraph[str]":
    """Return a DiGraph with all names as nodes, and the notes and weights of the edges as their attributes."""
    import networkx as nx

    matrix = np.asarray(dag) != 0
    labels = check_names(names, len(matrix))
    given = {"weight": weights, "standardised_weight": standardised_weights}
    values = {key: np.asarray(array, dtype=np.float64) for key, array in given.items() if array is not None}
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(labels)
    for i, j in np.argwhere(matrix).tolist():
        note = {} if notes is None else notes[i, j]
        graph.add_edge(labels[i], labels[j], **note, **{key: float(array[i, j]) for key, array in values.items()})
    return graph


def edge_table(
    dag: npt.ArrayLike,
    names: Sequence[str] | None = None,
    weights: npt.ArrayLike | None = None,
    standardised_weights: npt.ArrayLike | None = None,
    directed: npt.ArrayLike | None = None,
) -> "pd.DataFrame":
    """Return one row per edge: source, target, the weights that were given, directed."""
    import pandas as pd

    matrix = np.asarray(dag) != 0
    labels = check_names(names, len(matrix))
    source, target = np.nonzero(matrix)
    columns: dict[str, Any] = {
        "source": pd.Series([labels[i] for i in source], dtype=str),
        "target": pd.Series([labels[j] for j in target], dtype=str),
    }
    for key, values in (("weight", weights), ("standardised_weight", standardised_weights)):
        if values is not None:
            columns[key] = np.asarray(values, dtype=np.float64)[source, target]
    columns["directed"] = np.ones(len(source), bool) if directed is None else np.asarray(directed)[source, target]
    return pd.DataFrame(columns)


def adjacency_frame(dag: npt.ArrayLike, names: Sequence[str] | None = None) -> "pd.DataFrame":
    """Return the 0/1 adjacency with names on both sides: row -> column."""
    import pandas as pd

    matrix = np.asarray(dag) != 0
    labels = check_names(names, len(matrix))
    return pd.DataFrame(matrix.astype(np.int64), index=list(labels), columns=list(labels))


def write_graph(
    path: str | Path, dag: npt.ArrayLike, names: Sequence[str] | None = None, notes: Notes | None = None
) -> None:
    """Write a graph as .csv (edge list: nodes without edges are left out), .json or .npz, by the ending of the name.

    An undirected edge of a CPDAG is written once in each direction. Notes on the edges become further columns of the
    list, and lists or arrays of their own in the other formats.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_graph(f"{folder}/graph.json", [[0, 1], [0, 0]], ["rain", "wet"])
    ...     read_graph(f"{folder}/graph.json")[1]
    ('rain', 'wet')
    """
    path = Path(path)
    matrix = np.asarray(dag) != 0
    labels = check_names(names, len(matrix))
    edges = [(labels[i], labels[j]) for i, j in np.argwhere(matrix).tolist()]
    kind = path.suffix.lower()
    rows = list(notes.values()) if notes else []
    noted = {key: [row[key] for row in rows] for key in rows[0]} if rows else {}
    if kind == ".csv":
        lines = [(*edge, *words) for edge, *words in zip(edges, *noted.values(), strict=True)]
        content = csv_bytes([("source", "target", *noted), *lines])
    elif kind == ".json":
        content = json.dumps({"nodes": labels, "edges": edges, **noted}, indent=1).encode()
    elif kind == ".npz":
        arrays = {key: np.array(words, dtype=np.str_) for key, words in noted.items()}
        content = npz_bytes({"dag": matrix, "names": np.array(labels, dtype=np.str_), **arrays})
    else:
        raise ResultError(
            f"a graph can be written as .csv, .json or .npz, got '{path.name}'",
            hint="choose one of these file extensions",
        )
    write_file(path, content)


def csv_bytes(rows: Iterable[Sequence[Any]], *, guarded: bool = False) -> bytes:
    r"""Return rows as machine-readable CSV: names are quoted where needed, never changed.

    ``guarded``: for a spreadsheet, which would take some texts as formulas; they get an apostrophe in front.

    Examples
    --------
    >>> csv_bytes([("source", "target"), ("a,b", "c")])
    b'source,target\n"a,b",c\n'
    >>> csv_bytes([("=1+1", -1.5)], guarded=True)
    b"'=1+1,-1.5\n"
    """
    table = [[_guarded(cell) if guarded else cell for cell in row] for row in rows]
    hidden = any("\r" in str(cell) for row in table for cell in row)  # QUOTE_MINIMAL overlooks a carriage return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if hidden else csv.QUOTE_MINIMAL)
    writer.writerows(table)
    return buffer.getvalue().encode()


def frame_bytes(frame: "pd.DataFrame") -> bytes:
    """Return a data frame as CSV; the deadline is looked at between pieces of it."""
    rows, pieces = max(1, CELLS // max(1, frame.shape[1])), list[str]()
    for start in range(0, max(1, len(frame)), rows):
        current().check()
        pieces.append(frame.iloc[start : start + rows].to_csv(index=False, header=start == 0))
    return "".join(pieces).encode()


def table_bytes(values: Floats, names: Sequence[str], path: Path | None = None, *, whole: bool = False) -> bytes:
    """Return a table (n, d) as .csv or .npz, by the end of a file's name, or as CSV; ``whole``: without decimals.

    Examples
    --------
    >>> table_bytes(np.array([[1.0, 0.0]]), ["a", "b"], whole=True)
    b'a,b\\n1,0\\n'
    """
    kind = ".csv" if path is None else path.suffix.lower()
    if kind == ".csv":
        return csv_bytes([names, *(values.astype(np.int64) if whole else values).tolist()])
    if kind == ".npz":
        return npz_bytes({"X": values, "names": np.array(names, dtype=np.str_)})
    raise SettingsError(
        f"a table can be written as .csv or .npz, got '{path}'", hint="choose one of these file extensions"
    )


def _guarded(cell: Any) -> Any:
    return f"'{cell}" if isinstance(cell, str) and cell.lstrip()[:1] in FORMULA_SIGNS else cell


def read_graph(path: str | Path, names: Sequence[str] | None = None) -> tuple[Bools, tuple[str, ...]]:
    """Return the adjacency (d, d) and the names of a graph from a file, cycles and all.

    Parameters
    ----------
    path : a result folder or its result.json; .csv or .tsv with an edge list (columns source,target or from,to or
        cause,effect; further columns are ignored) or an adjacency table, with or without names; .npz or .npy with an
        array dag, adjacency or A; .json as ``{"nodes": [...], "edges": [["a", "b"], ...]}``. An edge that is there in
        both directions is undirected.
    names : the nodes in the order that is wanted. Without them the file's own names count, or x0, x1, ...; an edge
        list then has its nodes in the order of their first edge.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "graph.csv"
    ...     _ = file.write_text("from,to\\nrain,wet\\n")
    ...     adjacency, found = read_graph(file)
    >>> found, adjacency.astype(int).tolist()
    (('rain', 'wet'), [[0, 1], [0, 0]])
    """
    path = Path(path)
    if names is not None:
        names = check_names(names, len(names))
    with refusing(path):
        if path.is_dir() or path.name == "result.json":
            from drbo.result.result import Result

            result = Result.load(path if path.is_dir() else path.parent)
            return align(result.dag.copy(), result.names, names, path)
        kind = path.suffix.lower()
        if kind in (".csv", ".tsv", ".txt"):
            from drbo.result.files.graph_text import read_text

            return read_text(path, names)
        if kind == ".json":
            return _read_json(path, names)
        if kind in (".npz", ".npy"):
            return _read_array(path, names)
    raise ResultError(f"{path} is not {READABLE}", hint="use the extension that matches the content of the file")


def align(
    adjacency: Bools, found: Sequence[str] | None, names: Sequence[str] | None, path: Path
) -> tuple[Bools, tuple[str, ...]]:
    """Return the graph with its nodes, those found in the file, in the wanted order."""
    found = check_names(found, len(adjacency))
    if names is None:
        return adjacency, found
    for label, here, there in (("lacks", names, found), ("has the unknown", found, names)):
        missing = sorted(set(here) - set(there))
        if missing:
            raise ResultError(
                f"{path} {label} node {missing[0]!r}", hint="the graph and the table must have the same variables"
            )
    index = {name: k for k, name in enumerate(found)}
    order = [index[name] for name in names]
    return adjacency[np.ix_(order, order)], tuple(names)


def from_edges(
    edges: Iterable[tuple[str, Any, Any]],  # where it stands, source, target
    nodes: Sequence[str] | None,
) -> tuple[Bools, tuple[str, ...]]:
    """Return the graph of an edge list; without nodes they come in the order of their first edge."""
    index = {} if nodes is None else {name: k for k, name in enumerate(check_names(nodes, len(nodes)))}
    pairs = array.array("q")
    for where, *ends in edges:
        if len(index) > MAX_NODES:
            break
        for end in ends:
            if not isinstance(end, str) or not end:
                raise ResultError(f"{where}: a node must be a name, got {end!r}")
            if nodes is None:
                index.setdefault(end, len(index))
            elif end not in index:
                raise ResultError(
                    f"{where}: {end!r} is not a node", hint=f"the nodes are {', '.join(list(index)[:20])}"
                )
        pairs.extend(index[end] for end in ends)
    if not 0 < len(index) <= MAX_NODES:
        raise ResultError(
            f"a graph must have 1 to {MAX_NODES} nodes, got {len(index)}",
            hint="check that the file is complete and names its nodes",
        )
    adjacency = np.zeros((len(index), len(index)), dtype=bool)
    adjacency[tuple(np.array(pairs, dtype=np.intp).reshape(-1, 2).T)] = True
    return adjacency, tuple(index)


def _read_json(path: Path, names: Sequence[str] | None) -> tuple[Bools, tuple[str, ...]]:
    content = read_json(read_bytes(path, MAX_TEXT_BYTES))
    if not isinstance(content, dict) or not isinstance(content.get("edges"), list):
        raise ResultError(f'{path} must contain {{"nodes": [...], "edges": [["a", "b"], ...]}}')
    nodes = content.get("nodes")
    if nodes is not None and not isinstance(nodes, list):
        raise ResultError(f"{path}: nodes must be a list of names, got {nodes!r:.80}")
    edges = []
    for k, edge in enumerate(content["edges"]):
        if not isinstance(edge, list) or len(edge) != 2:
            raise ResultError(f"{path} edge {k}: an edge must be a pair of names, got {edge!r:.80}")
        edges.append((f"{path} edge {k}", edge[0], edge[1]))
    if nodes is None:
        return from_edges(edges, names)
    return align(*from_edges(edges, nodes), names, path)


def _read_array(path: Path, names: Sequence[str] | None) -> tuple[Bools, tuple[str, ...]]:
    most = MAX_ARRAY_BYTES + MAX_TEXT_BYTES
    raw = io.BytesIO(read_bytes(path, most))
    found = None
    if path.suffix.lower() == ".npy":
        matrix = read_npy(raw, f"{path}")
    else:
        with open_zip(raw, f"{path}", InputLimit(most, math.inf, hint="check that it is the right file")) as archive:
            members = set(archive.namelist())
            key = next((key for key in GRAPH_ARRAYS if f"{key}.npy" in members), None)
            if key is None:
                raise ResultError(
                    f"{path} must contain an array named {', '.join(GRAPH_ARRAYS)}, got {sorted(members)[:9]}"
                )
            matrix = read_member(archive, key, f"{path} {key}")
            if "names.npy" in members:
                found = [str(name) for name in read_member(archive, "names", f"{path} names").ravel()]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind == "U" or not len(matrix):
        raise ResultError(f"{path} must contain a square matrix of numbers, got {matrix.dtype} of shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ResultError(f"{path} has entries that are not finite", hint="use 0 for no edge")
    return align(matrix != 0, found or names, names, path)
