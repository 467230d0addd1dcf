"""Tables as Feather files (version 2, an Arrow IPC file): what they unpack to is known before pyarrow reads them.

The footer and the header of each batch are FlatBuffers tables (https://flatbuffers.dev/internals/); a compressed buffer
begins with the size that it unpacks to (https://arrow.apache.org/docs/format/Columnar.html).
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from drbo.data.files.packed import InputLimit
from drbo.data.reading.frames import as_frame
from drbo.data.reading.guard import read_guarded
from drbo.data.reading.parquet import check_schema, check_written_out, load_pyarrow
from drbo.data.reading.source import FileSource
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

MAX_FOOTER = 2**25
MAX_BATCHES = 2**17
_MAGIC, _OLD_MAGIC = b"ARROW1", b"FEA1"
#: Fields of a footer, a message, a dictionary and a record batch; the types of messages.
_DICTIONARIES, _BATCHES = 2, 3
_TYPE, _CONTENT = 1, 2
_DATA = 1
_NODES, _BUFFERS, _COMPRESSION = 1, 2, 3
_IS_DICTIONARY, _IS_BATCH = 2, 3
_CELL_BYTES = 8


@dataclass(frozen=True)
class FeatherSource(FileSource):
    """A Feather file."""

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        return as_frame(read_guarded("feather", self.path, limit, notes))


def read_feather(path: Path, _notes: list[str], limit: InputLimit) -> Any:
    """Return the table of a Feather file as a pyarrow table; one that unpacks to too much is refused before."""
    pyarrow, ipc = load_pyarrow(path, "ipc")
    what = f"file '{path}'"
    try:
        with path.open("rb") as stream:
            _check_size(stream, what, limit)
        with ipc.open_file(str(path)) as reader:
            check_schema(pyarrow, reader.schema, what)
            table = reader.read_all()
        table.validate(full=True)
        check_written_out(pyarrow, table, limit, path.stat().st_size, what)
        return table
    except (pyarrow.ArrowException, OSError, IndexError, struct.error) as error:
        raise DataError(f"{what} is not a complete Feather file: {error!s:.80}", hint="write it again") from error


def _check_size(stream: IO[bytes], what: str, limit: InputLimit) -> None:
    """Add up what all batches unpack to, by their own headers."""
    packed = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    start = stream.read(6)
    if start[:4] == _OLD_MAGIC:
        raise DataError(f"{what} is a Feather file of version 1", hint="write it again with pandas.to_feather")
    stream.seek(max(0, packed - 10))
    length, end = struct.unpack("<i6s", stream.read(10))
    if start != _MAGIC or end != _MAGIC or not 0 < length <= min(MAX_FOOTER, packed - 10):
        raise OSError("no footer")
    stream.seek(packed - 10 - length)
    footer = _Table.root(stream.read(length))
    total = count = 0
    for field in (_DICTIONARIES, _BATCHES):
        for place, head, _ in footer.structs(field, "<qixxxxq"):
            count += 1
            if count > MAX_BATCHES:
                raise DataError(f"{what} has more than {MAX_BATCHES} batches", hint="write it with larger batches")
            for size in _sizes(stream, place, head, packed):
                total += size
                limit.check_unpacked(total, packed, what)


def _sizes(stream: IO[bytes], place: int, head: int, packed: int) -> Iterator[int]:
    """Yield the bytes that the cells of a batch and its buffers take."""
    if not (0 <= place <= packed and 8 < head <= MAX_FOOTER):
        raise OSError("a batch outside of the file")
    stream.seek(place)
    raw = stream.read(head)
    message = _Table.root(raw[8 if raw[:4] == b"\xff\xff\xff\xff" else 4 :])
    kind, batch = message.byte(_TYPE), message.table(_CONTENT)
    if kind == _IS_DICTIONARY and batch is not None:
        batch = batch.table(_DATA)
    if kind not in (_IS_DICTIONARY, _IS_BATCH) or batch is None:
        raise OSError("a batch of an unknown kind")
    for (n_cells,) in batch.structs(_NODES, "<qxxxxxxxx"):
        yield _natural(n_cells) * _CELL_BYTES
    compressed = batch.table(_COMPRESSION) is not None
    for offset, length in batch.structs(_BUFFERS, "<qq"):
        if not compressed or not length:
            yield _natural(length)
            continue
        stream.seek(place + head + _natural(offset))
        (unpacked,) = struct.unpack("<q", stream.read(8))
        yield length if unpacked == -1 else _natural(unpacked)


def _natural(number: int) -> int:
    if number < 0:
        raise OSError("a negative size")
    return number


class _Table:
    """A FlatBuffers table within some bytes; struct.error or IndexError: they end too early."""

    def __init__(self, raw: bytes, place: int) -> None:
        if not 0 <= place < len(raw):
            raise IndexError("a table outside of the file")
        self._raw, self._place = raw, place
        self._fields = place - struct.unpack_from("<i", raw, place)[0]
        if self._fields < 0:
            raise IndexError("a table without fields")

    @classmethod
    def root(cls, raw: bytes) -> "_Table":
        return cls(raw, struct.unpack_from("<I", raw)[0])

    def _at(self, field: int) -> int:
        """Return the place of the value of a field; 0: there is none."""
        size = struct.unpack_from("<H", self._raw, self._fields)[0]
        if 4 + 2 * field >= size:
            return 0
        offset = struct.unpack_from("<H", self._raw, self._fields + 4 + 2 * field)[0]
        return self._place + offset if offset else 0

    def byte(self, field: int) -> int:
        place = self._at(field)
        return self._raw[place] if place else 0

    def table(self, field: int) -> "_Table | None":
        place = self._at(field)
        return _Table(self._raw, place + struct.unpack_from("<I", self._raw, place)[0]) if place else None

    def structs(self, field: int, form: str) -> Iterator[tuple[int, ...]]:
        """Yield the structs of a vector."""
        place = self._at(field)
        if not place:
            return
        place += struct.unpack_from("<I", self._raw, place)[0]
        count, size = struct.unpack_from("<I", self._raw, place)[0], struct.calcsize(form)
        for k in range(count):  # each takes bytes of the file, so they end
            yield struct.unpack_from(form, self._raw, place + 4 + k * size)
