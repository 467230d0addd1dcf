"""Reads graphs from text: edge lists and adjacency tables, recognised by header and shape."""

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from drbo.arrays import Bools
from drbo.data.files.files import MAX_TEXT_BYTES, read_bytes
from drbo.errors import ResultError
from drbo.result.files.export import align, from_edges

MAX_LINES = 2**22
EDGE_HEADERS = (("source", "target"), ("from", "to"), ("cause", "effect"))

Row = tuple[int, list[str]]  # line number, cells


def read_text(path: Path, names: Sequence[str] | None) -> tuple[Bools, tuple[str, ...]]:
    """Return the adjacency (d, d) and the names of a graph; see :func:`drbo.result.files.export.read_graph`."""
    rows = _rows(path)
    first = list(islice(rows, 4))
    if not first:
        raise ResultError(f"{path} is empty", hint="an edge list must begin with the line source,target")
    header = [cell.strip().lower() for cell in first[0][1]]
    for pair in EDGE_HEADERS:
        if set(pair) <= set(header):
            body = chain(first[1:], rows)
            return from_edges(_edges(body, header.index(pair[0]), header.index(pair[1]), names, path), names)
    numeric = [all(_number(cell) is not None for cell in cells) for _, cells in first]
    is_table = numeric == [True, True] or numeric == [False, True, True]
    if len(header) == 2 and not is_table:
        return from_edges(_edges(chain(first, rows), 0, 1, names, path), names)
    return _read_table(chain(first, rows), names, path)


def _rows(path: Path) -> Iterator[Row]:
    """Yield the lines that are not blank; the first one tells the separator."""
    raw = read_bytes(path, MAX_TEXT_BYTES)
    if raw.count(b"\n") + raw.count(b"\r") - raw.count(b"\r\n") > MAX_LINES:
        raise ResultError(
            f"{path} has more than {MAX_LINES} lines", hint="write the graph as an adjacency matrix in a .npz file"
        )
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    first = next((line for line in text if line.strip()), "")
    separator = "\t" if path.suffix.lower() == ".tsv" else next((mark for mark in ",;\t" if mark in first), ",")
    text.seek(0)
    reader = csv.reader(text, delimiter=separator, strict=True)
    return ((reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells))


def _node(cell: str, names: frozenset[str] | None) -> str:
    """Return the name in a cell; blanks around it count only where such a name is known."""
    return cell if names is not None and cell in names else cell.strip()


def _edges(
    rows: Iterable[Row], source: int, target: int, names: Sequence[str] | None, path: Path
) -> Iterator[tuple[str, str, str]]:
    known = None if names is None else frozenset(names)
    for line, cells in rows:
        where = f"{path} line {line}"
        if len(cells) <= max(source, target):
            raise ResultError(f"{where}: an edge needs a source and a target, got {cells!r}")
        yield where, _node(cells[source], known), _node(cells[target], known)


def _read_table(rows: Iterator[Row], names: Sequence[str] | None, path: Path) -> tuple[Bools, tuple[str, ...]]:
    """Read an adjacency table: plain numbers, names in the header, or names in the header and the first column."""
    table = _Matrix(path)
    for line, cells in rows:
        table.add(line, cells)
    width, n_lines = len(table.header), table.n_lines
    plain = n_lines == width and all(_number(cell) is not None for cell in table.header)
    labelled = n_lines == width and not plain
    if not plain and not labelled and n_lines != width + 1:
        raise ResultError(
            f"{path} is neither an edge list nor an adjacency matrix: {n_lines} lines of {width} cells",
            hint="an edge list begins with the line source,target; an adjacency matrix has a line and a column for "
            "each node",
        )
    adjacency = table.numbers(first_line=0 if plain else 1, first_column=int(labelled))
    if plain:
        return align(adjacency, names, names, path)
    known = None if names is None else frozenset(names)
    found = [_node(cell, known) for cell in table.header[labelled:]]
    if labelled:
        sides = [_node(cell, known) for cell in table.first_column[1:]]
        if sorted(sides) != sorted(found):
            wrong = sorted(set(sides) ^ set(found))
            raise ResultError(f"{path}: lines and columns must have the same names, but only one side has {wrong[:1]}")
        line_of = {name: k for k, name in enumerate(sides)}
        adjacency = adjacency[[line_of[name] for name in found]]
    return align(adjacency, found, names, path)


class _Matrix:
    """The lines of a table, each kept as the truth values of its numbers: a byte per cell."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.n_lines = 0
        self.header: list[str] = []
        self.first_column: list[str] = []
        self._lines: list[Bools] = []
        self._wrong: list[tuple[int, int, str]] = []  # the first cells of lines, and after these, that are no numbers

    def add(self, line: int, cells: list[str]) -> None:
        """Take one more line; beyond a square they are only counted."""
        self.header = self.header or cells
        if len(cells) != len(self.header):
            raise ResultError(
                f"{self._path} line {line}: expected {len(self.header)} cells as in the first line, got {len(cells)}"
            )
        self.n_lines += 1
        if self.n_lines > len(cells) + 1:
            return
        values = [_number(cell) for cell in cells]
        bad = [k for k, value in enumerate(values) if value is None or not math.isfinite(value)]
        for k in (*bad[:1], *[k for k in bad[:2] if k][:1]):
            words = f"line {line}: an adjacency matrix must contain numbers, got {cells[k]!r}"
            self._wrong.append((self.n_lines - 1, k, words))
        self.first_column.append(cells[0])
        self._lines.append(np.array([value != 0 for value in values], dtype=bool))

    def numbers(self, first_line: int, first_column: int) -> Bools:
        """Return which numbers from there on are not 0."""
        for line, column, words in self._wrong:
            if line >= first_line and column >= first_column:
                raise ResultError(f"{self._path} {words}", hint="use 0 for no edge")
        return np.stack(self._lines[first_line:])[:, first_column:]


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
