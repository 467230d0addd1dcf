"""Tables as Parquet: what the file unpacks to is known, and refused if it is too much, before pyarrow reads it.

pyarrow unpacks whole pages at the size that the header of each page claims, so the headers of all pages are read first.
They and the footer that leads to them are structs of Thrift's compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). pyarrow's own description of the
columns is not asked for: it ends the process on some damaged files. The module is long because the parser of these
structs serves no other module.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from drbo.data.files.packed import InputLimit
from drbo.data.reading.lines import check_width
from drbo.errors import DataError, ResultError

MAX_FOOTER = 2**25
MAX_CHUNKS = MAX_PAGES = 2**17
MAX_VALUES = 2**23  # of a footer; a reader in Python takes a second for three million
HEADER_BYTES = (2**12, 2**16, 2**20)  # of a page; it may hold the smallest and the largest text of the page
MAX_CELL = 2**20  # bytes of a column of fixed width
MAX_DEPTH = 8

#: Types of the compact protocol.
_TRUTH = (1, 2)
_STOP, _BYTE, _VARINTS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 0, 3, (4, 5, 6), 7, 8, (9, 10), 12
#: Fields of a footer, a row group, a column chunk, its description, and a page header.
_ROW_GROUPS, _COLUMNS, _N_ROWS, _ABOUT = 4, 1, 3, 3
_N_VALUES, _CHUNK_SIZE, _DATA, _DICTIONARY = 5, 7, 9, 11
_UNPACKED_SIZE, _PACKED_SIZE = 2, 3
_CELL_BYTES = 8


class Chunk(NamedTuple):
    """The cells of a column in one row group."""

    group: int
    column: int
    n_cells: int
    start: int  # of its pages in the file
    size: int


def read_parquet(path: Path, _notes: list[str], limit: InputLimit) -> Any:
    """Return the table of a Parquet file as a pyarrow table; one that unpacks to too much is refused before."""
    with refusing_parquet(path) as (pyarrow, parquet):
        table = _table(pyarrow, parquet, path, limit)
        pyarrow.default_memory_pool().release_unused()
        return table


@contextmanager
def refusing_parquet(path: Path) -> Iterator[tuple[Any, Any]]:
    """Give pyarrow and its reader of Parquet; what a damaged file provokes in them becomes an error that names it."""
    pyarrow, parquet = load_pyarrow(path, "parquet")
    try:
        yield pyarrow, parquet
    except (pyarrow.ArrowException, OSError, IndexError) as error:
        raise DataError(f"file '{path}' is not a complete Parquet file", hint="write it again") from error


def load_pyarrow(path: Path, module: str) -> tuple[Any, Any]:
    """Return pyarrow and one of its modules."""
    try:
        return import_module("pyarrow"), import_module(f"pyarrow.{module}")
    except ImportError as error:
        raise DataError(
            f"file '{path}': reading it needs pyarrow, which is not installed",
            hint="pip install drbo[parquet]",
        ) from error


def _table(pyarrow: Any, parquet: Any, path: Path, limit: InputLimit) -> Any:
    """Return the table; repeated texts are stored once, and once they stay until their full size is known."""
    packed, what = path.stat().st_size, f"file '{path}'"
    schema = checked_schema(pyarrow, parquet, path, limit)
    texts = [field.name for field in schema if _is_text(pyarrow, field.type)]
    table = parquet.ParquetFile(path, read_dictionary=texts).read()
    check_written_out(pyarrow, table, limit, packed, what)
    return table.cast(schema)


def checked_schema(pyarrow: Any, parquet: Any, path: Path, limit: InputLimit, *, pages: bool = True) -> Any:
    """Return names and types of the columns, after a look at what all cells, or all pages, unpack to."""
    packed, what = path.stat().st_size, f"file '{path}'"
    with path.open("rb") as stream:
        footer = footer_of(stream, packed, what)
        schema = parquet.read_schema(path)
        check_schema(pyarrow, schema, what)
        chunks = list(chunks_of(footer, what))
        widths = [_width(pyarrow, field.type) for field in schema]
        cells = sum(chunk.n_cells * widths[min(chunk.column, len(widths) - 1)] for chunk in chunks)
        limit.check_unpacked(cells * _CELL_BYTES, packed, what)
        if pages:
            check_pages(stream, chunks, packed, limit, what)
    return schema


def n_cells(path: Path) -> int:
    """Return how many cells the footer of a file speaks of."""
    what = f"file '{path}'"
    with refusing_parquet(path), path.open("rb") as stream:
        return sum(chunk.n_cells for chunk in chunks_of(footer_of(stream, path.stat().st_size, what), what))


def footer_of(stream: IO[bytes], packed: int, what: str) -> bytes:
    """Return the description of the file, at its end."""
    stream.seek(-8, os.SEEK_END)
    length, mark = int.from_bytes(stream.read(4), "little"), stream.read(4)
    if mark != b"PAR1" or length > packed - 8:
        raise OSError("no footer")
    if length > MAX_FOOTER:
        raise ResultError(f"{what} has a footer of more than {MAX_FOOTER} bytes", hint="write it again")
    stream.seek(-8 - length, os.SEEK_END)
    return stream.read(length)


def _width(pyarrow: Any, kind: Any) -> int:
    """Return how many numbers a cell takes as much room as."""
    return -(-kind.byte_width // _CELL_BYTES) if pyarrow.types.is_fixed_size_binary(kind) else 1


def check_schema(pyarrow: Any, schema: Any, what: str) -> None:
    """Refuse too many columns, and columns whose cells are lists, structs and the like."""
    check_width(len(schema), what)
    for field in schema:
        kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
        wide = pyarrow.types.is_fixed_size_binary(kind) and kind.byte_width > MAX_CELL
        if pyarrow.types.is_nested(kind) or pyarrow.types.is_run_end_encoded(kind) or wide:
            raise DataError(
                f"{what}: column '{field.name}' contains {kind!s:.80}, but only numbers and text are allowed",
                hint="drop the column, or split it into several columns",
            )


def chunks_of(footer: bytes, what: str) -> Iterator[Chunk]:
    """Yield the column chunks that a footer describes."""
    reader, count = _Thrift(footer), 0
    for number, kind in reader.fields():
        if number != _ROW_GROUPS or kind not in _LISTS:
            reader.skip(kind)
            continue
        for group in range(reader.length(_STRUCT)):
            columns, n_rows = list[dict[int, int]](), 0
            for part, sort in reader.fields():
                if part == _COLUMNS and sort in _LISTS:
                    columns = [reader.described() for _ in range(reader.length(_STRUCT))]
                elif part == _N_ROWS and sort in _VARINTS:
                    n_rows = reader.integer()
                else:
                    reader.skip(sort)
            count += len(columns)
            if count > MAX_CHUNKS:
                raise ResultError(
                    f"{what} has more than {MAX_CHUNKS} column chunks", hint="write the file with larger row groups"
                )
            for column, about in enumerate(columns):
                cells, dictionary = max(n_rows, about.get(_N_VALUES, 0)), about.get(_DICTIONARY, 0)
                data = about.get(_DATA, 0)
                start = min(dictionary, data or dictionary) if dictionary > 0 else data  # without rows: no data
                yield Chunk(group, column, cells, start, about.get(_CHUNK_SIZE, 0))


def check_pages(stream: IO[bytes], chunks: list[Chunk], packed: int, limit: InputLimit, what: str) -> None:
    """Add up what the pages of chunks of so many bytes unpack to, by their own headers."""
    total = pages = 0
    size = stream.seek(0, os.SEEK_END)
    for chunk in chunks:
        place, end = chunk.start, min(size, chunk.start + chunk.size)
        if place < 0:
            raise OSError("a chunk before the file")
        while place < end:
            unpacked, taken, length = _page_sizes(stream, place)
            total, pages, place = total + unpacked, pages + 1, place + length + taken
            limit.check_unpacked(total, packed, what)
            if pages > MAX_PAGES:
                raise ResultError(
                    f"{what} has more than {MAX_PAGES} pages", hint="write the file with larger row groups"
                )


def _page_sizes(stream: IO[bytes], place: int) -> tuple[int, int, int]:
    """Return what a page unpacks to, what it takes in the file, and the length of its header."""
    for most in HEADER_BYTES:
        stream.seek(place)
        raw = stream.read(most)
        reader = _Thrift(raw)
        try:
            fields = reader.integers()
        except IndexError:
            if len(raw) < most:
                break
            continue
        unpacked, packed = fields.get(_UNPACKED_SIZE, -1), fields.get(_PACKED_SIZE, -1)
        if unpacked < 0 or packed < 0:
            break
        return unpacked, packed, reader.at
    raise OSError("a page without a size")


class _Thrift:
    """A struct of the compact protocol at the beginning of some bytes; IndexError: they end too early."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self.at, self._left = raw, 0, MAX_VALUES

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and type of each field; whoever asks reads or skips its value before the next one."""
        number = 0
        self._count()
        while (head := self._byte()) & 15 != _STOP:
            number = number + (head >> 4) if head >> 4 else self.integer()
            self._count()
            yield number, head & 15

    def integers(self) -> dict[int, int]:
        """Return the whole numbers among the fields."""
        found = {}
        for number, kind in self.fields():
            if kind in _VARINTS:
                found[number] = self.integer()
            else:
                self.skip(kind)
        return found

    def described(self) -> dict[int, int]:
        """Return the whole numbers of the description of a column chunk."""
        found: dict[int, int] = {}
        for number, kind in self.fields():
            if number == _ABOUT and kind == _STRUCT:
                found = self.integers()
            else:
                self.skip(kind)
        return found

    def length(self, kind: int) -> int:
        """Return the number of items of a list, which must be of this type."""
        head = self._byte()
        if head & 15 != kind:
            raise OSError(f"a list of type {head & 15}")
        return head >> 4 if head >> 4 < 15 else self._varint()

    def skip(self, kind: int, depth: int = MAX_DEPTH) -> None:
        """Pass over a value."""
        if not depth:
            raise OSError("values nested too deeply")
        if kind in _VARINTS:
            self._varint()
        elif kind in (_BYTE, _DOUBLE):
            self._pass(1 if kind == _BYTE else 8)
        elif kind == _BINARY:
            self._pass(self._varint())
        elif kind in _LISTS:
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._count()
                self.skip(_BYTE if head & 15 in _TRUTH else head & 15, depth - 1)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth - 1)
        elif kind not in _TRUTH:  # in a struct true and false have no bytes of their own
            raise OSError(f"a field of type {kind}")

    def integer(self) -> int:
        """Return a whole number."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)  # zigzag

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise OSError("too many values")

    def _byte(self) -> int:
        self.at += 1
        return self._raw[self.at - 1]

    def _pass(self, count: int) -> None:
        self.at += count
        if self.at > len(self._raw):
            raise IndexError("the bytes end early")

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise OSError("a number of more than 64 bits")


def check_written_out(pyarrow: Any, table: Any, limit: InputLimit, packed: int, what: str) -> None:
    """Refuse a table whose texts, of which repeated ones are stored once, would take too much written out."""
    size = sum(
        _text_bytes(column)
        for column in table.columns
        if pyarrow.types.is_dictionary(column.type) and _is_text(pyarrow, column.type.value_type)
    )
    limit.check_unpacked(table.nbytes + size, packed, what)


def _is_text(pyarrow: Any, kind: Any) -> bool:
    return kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary())


def _text_bytes(column: Any) -> int:
    """Return the bytes of a column of coded texts, written out."""
    total = 0
    for chunk in column.chunks:
        lengths = np.array([len(text or "") for text in chunk.dictionary.to_pylist()], dtype=np.int64)
        codes = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
        total += int(lengths[codes].sum())
    return total
