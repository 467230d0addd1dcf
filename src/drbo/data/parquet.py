"""Tables as Parquet: what the file unpacks to is known, and refused if it is too much, before pyarrow reads it.

pyarrow unpacks whole pages at the size that the header of each page claims, so these headers are read first. They are
structs of Thrift's compact protocol (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md).
"""

import os
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

from drbo.data.packed import InputLimit
from drbo.data.text import MAX_COLUMNS
from drbo.errors import DataError, ResultError

MAX_FOOTER = 2**25
MAX_PAGES = 2**17
HEADER_BYTES = (2**12, 2**16, 2**20)  # of a page; it may hold the smallest and the largest text of the page
MAX_CELL = 2**20  # bytes of a column of fixed width
MAX_DEPTH = 8

#: Types of the compact protocol.
_TRUTH = (1, 2)
_STOP, _BYTE, _VARINTS, _DOUBLE, _BINARY, _LISTS, _STRUCT = 0, 3, (4, 5, 6), 7, 8, (9, 10), 12
_UNPACKED_SIZE, _PACKED_SIZE = 2, 3  # fields of a page header
_CELL_BYTES = 8


def read_parquet(path: Path, limit: InputLimit) -> Any:
    """Return the table of a Parquet file as a pyarrow table; one that unpacks to too much is refused before."""
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(
            f"file '{path}': reading Parquet needs pyarrow, which is not installed",
            hint="pip install drbo[parquet]",
        ) from error
    try:
        table = _table(pyarrow, parquet, path, limit)
        pyarrow.default_memory_pool().release_unused()
        return table
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"file '{path}' is no complete Parquet file", hint="write it again") from error


def _table(pyarrow: Any, parquet: Any, path: Path, limit: InputLimit) -> Any:
    """Return the table; repeated texts are stored once, and once they stay until their full size is known."""
    packed, what = path.stat().st_size, f"file '{path}'"
    with path.open("rb") as stream:
        stream.seek(-8, os.SEEK_END)
        length, mark = int.from_bytes(stream.read(4), "little"), stream.read(4)
        if mark == b"PAR1" and length > MAX_FOOTER:
            raise ResultError(f"{what} has a footer of more than {MAX_FOOTER} bytes", hint="write it again")
        schema = parquet.read_schema(path)
        if len(schema) > MAX_COLUMNS:
            raise DataError(
                f"{what} has {len(schema)} columns, at most {MAX_COLUMNS} can be searched", hint="take fewer columns"
            )
        _check_types(pyarrow, schema, what)
        kinds = (pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary())
        texts = [field.name for field in schema if field.type in kinds]
        file = parquet.ParquetFile(path, read_dictionary=texts, pre_buffer=False)  # no copy of the file in memory
        limit.check_unpacked(_cells(file.metadata) * _CELL_BYTES, packed, what)
        _check_pages(stream, file.metadata, packed, limit, what)
    table = file.read()
    size = sum(_text_bytes(table, name) for name in texts if name in table.column_names)
    limit.check_unpacked(table.nbytes + size, packed, what)
    return table.cast(schema)


def _check_types(pyarrow: Any, schema: Any, what: str) -> None:
    """Refuse columns whose cells are lists, structs and the like."""
    for field in schema:
        kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
        wide = pyarrow.types.is_fixed_size_binary(kind) and kind.byte_width > MAX_CELL
        if pyarrow.types.is_nested(kind) or wide:
            raise DataError(
                f"{what}: column '{field.name}' holds {kind!s:.80}, a table holds numbers and text",
                hint="leave the column out, or take its parts apart",
            )


def _cells(metadata: Any) -> int:
    """Return the number of cells that the row groups claim, in units of a number; wide cells count as several."""
    total = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            width = max(1, -(-metadata.schema.column(j).length // _CELL_BYTES))
            total += max(group.num_rows, group.column(j).num_values) * width
    return total


def _check_pages(stream: IO[bytes], metadata: Any, packed: int, limit: InputLimit, what: str) -> None:
    """Add up what the pages unpack to, by their own headers."""
    total = pages = 0
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            chunk = group.column(j)
            first = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
            place = chunk.data_page_offset if not first else min(first, chunk.data_page_offset)
            end = min(packed, place + chunk.total_compressed_size)
            while place < end:
                unpacked, size, length = _page_sizes(stream, place)
                total, pages, place = total + unpacked, pages + 1, place + length + size
                limit.check_unpacked(total, packed, what)
                if pages > MAX_PAGES:
                    raise ResultError(f"{what} has more than {MAX_PAGES} pages", hint="write it again")


def _page_sizes(stream: IO[bytes], place: int) -> tuple[int, int, int]:
    """Return what a page unpacks to, what it takes in the file, and the length of its header."""
    for most in HEADER_BYTES:
        stream.seek(place)
        try:
            return _Header(raw := stream.read(most)).sizes()
        except IndexError:
            if len(raw) < most:
                break
    raise OSError("the header of a page ends early")


class _Header:
    """A struct of Thrift's compact protocol at the beginning of some bytes; IndexError: they end too early."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, 0

    def sizes(self) -> tuple[int, int, int]:
        """Return what a page unpacks to, what it takes in the file, and the length of its header."""
        fields = self._struct(MAX_DEPTH)
        unpacked, packed = fields.get(_UNPACKED_SIZE, -1), fields.get(_PACKED_SIZE, -1)
        if unpacked < 0 or packed < 0:
            raise OSError("a page without a size")
        return unpacked, packed, self._at

    def _struct(self, depth: int) -> dict[int, int]:
        """Return the whole numbers among the fields."""
        if not depth:
            raise OSError("structs nested too deeply")
        fields, number = dict[int, int](), 0
        while (head := self._byte()) & 15 != _STOP:
            number = number + (head >> 4) if head >> 4 else self._integer()
            value = self._value(head & 15, depth)
            if value is not None:
                fields[number] = value
        return fields

    def _value(self, kind: int, depth: int) -> int | None:
        if kind in _VARINTS:
            return self._integer()
        if kind in (_BYTE, _DOUBLE):
            self._skip(1 if kind == _BYTE else 8)
        elif kind == _BINARY:
            self._skip(self._varint())
        elif kind in _LISTS:
            head = self._byte()
            for _ in range(head >> 4 if head >> 4 < 15 else self._varint()):
                self._skip(1) if head & 15 in _TRUTH else self._value(head & 15, depth - 1)
        elif kind == _STRUCT:
            self._struct(depth - 1)
        elif kind not in _TRUTH:  # in a struct true and false have no bytes of their own
            raise OSError(f"a field of type {kind}")
        return None

    def _byte(self) -> int:
        self._at += 1
        return self._raw[self._at - 1]

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._raw):
            raise IndexError("the header ends early")

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

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)  # zigzag


def _text_bytes(table: Any, name: str) -> int:
    """Return the bytes of a column of texts, written out."""
    total = 0
    for chunk in table.column(name).chunks:
        if not hasattr(chunk, "dictionary"):
            total += chunk.nbytes
            continue
        lengths = np.array([len(text or "") for text in chunk.dictionary.to_pylist()], dtype=np.int64)
        codes = chunk.indices.drop_null().to_numpy(zero_copy_only=False)
        total += int(lengths[codes].sum())
    return total
