"""Unpacks compressed files within limits, because a few bytes can expand to fill the memory."""

import io
import math
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO

from drbo.errors import ResultError

#: Largest table, unpacked.
MAX_INPUT = 2**32
#: A packed file may unpack to FREE_BYTES, beyond that to MAX_RATIO times its own size. Tables of measurements pack to
#: a third or a tenth of their size, those of rare counts to a fiftieth; gzip can pack zeros to a thousandth.
FREE_BYTES = 2**26
MAX_RATIO = 100
#: What to do about a table beyond the limit.
TOO_LARGE = "use a sample of its rows or fewer columns, or raise the limit with max_input=..."
#: Most members of a gzip file, and largest directory and most members of a ZIP file.
MAX_GZIP_MEMBERS = 2**17
MAX_ZIP_DIRECTORY = 2**20
MAX_ZIP_MEMBERS = 2**10

_PIECE = 2**20
_PACKED_PIECE = 2**14
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(frozen=True)
class InputLimit:
    """How much a table may unpack to: ``max_bytes`` in all, and a packed one ``ratio`` times its size."""

    max_bytes: int = MAX_INPUT
    ratio: float = MAX_RATIO
    hint: str = TOO_LARGE

    @classmethod
    def of(cls, max_input: int | None) -> "InputLimit":
        """Return the default, or the limit that a person gave, which holds whatever the ratio."""
        return cls() if max_input is None else cls(max_input, math.inf)

    def room(self, packed: int) -> int:
        """Return the bytes that a packed file of this size may unpack to."""
        return int(min(self.max_bytes, max(FREE_BYTES, self.ratio * packed)))

    def check(self, n_bytes: int, what: str) -> None:
        """Refuse a table that takes so many bytes in memory."""
        if n_bytes > self.max_bytes:
            raise ResultError(f"{what} needs more than {self.max_bytes} bytes", hint=self.hint)

    def check_unpacked(self, n_bytes: int, packed: int, what: str) -> None:
        """Refuse a packed file of ``packed`` bytes that unpacks to so many."""
        self.check(n_bytes, what)
        if n_bytes > self.room(packed):
            raise ResultError(
                f"{what} decompresses to more than {self.room(packed)} bytes, which is over {self.ratio:g} "
                "times its size",
                hint="it may be a decompression bomb; if you trust the file, raise the limit with max_input=...",
            )


#: What is read piece by piece may be of any size, but what is packed unpacks to no more than a multiple of it.
NO_LIMIT = InputLimit(2**62, MAX_RATIO)


def gzip_pieces(stream: IO[bytes], limit: InputLimit, what: str) -> Iterator[bytes]:
    """Yield the content of a gzip file piece by piece, and refuse one that unpacks to more than the limit."""
    packed = stream.seek(0, os.SEEK_END)
    pieces = _gzip_pieces(stream, packed, limit, what)
    # A small file is unpacked before the first piece is used: a bomb is refused before time is spent on its content.
    yield from list(pieces) if limit.room(packed) <= FREE_BYTES else pieces


def _gzip_pieces(stream: IO[bytes], packed: int, limit: InputLimit, what: str) -> Iterator[bytes]:
    stream.seek(0)
    total, members, unpacker = 0, 0, None
    raw = stream.read(_PACKED_PIECE)
    while raw:
        if unpacker is None:
            unpacker, members = zlib.decompressobj(wbits=31), members + 1  # gzip, with its header and checksum
        piece = unpacker.decompress(raw, _PIECE)
        total += len(piece)
        limit.check_unpacked(total, packed, what)
        if members > MAX_GZIP_MEMBERS:
            raise ResultError(
                f"{what} has more than {MAX_GZIP_MEMBERS} gzip members", hint="compress it again as a single member"
            )
        if piece:
            yield piece
        if unpacker.eof:
            raw, unpacker = unpacker.unused_data.lstrip(b"\0"), None  # another member may follow; tapes are padded
            while not raw and (more := stream.read(_PACKED_PIECE)):
                raw = more.lstrip(b"\0")
        else:
            raw = unpacker.unconsumed_tail or stream.read(_PACKED_PIECE)
    if unpacker is not None or not members:
        raise ResultError(f"{what} is not a complete gzip file", hint="download or compress it again")


class SmallReads(io.BufferedIOBase):
    """A stream that refuses to read much at once, so that no directory of an archive fills the memory.

    Its members, whose sizes the directory says, may be read at once when that is ``open``.
    """

    def __init__(self, stream: IO[bytes], what: str) -> None:
        self._stream, self._what, self.open = stream, what, False

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def read(self, size: int | None = -1, /) -> bytes:
        if self.open:
            return self._stream.read(-1 if size is None else size)
        most = MAX_ZIP_DIRECTORY + 1
        raw = self._stream.read(most if size is None or size < 0 else min(size, most))
        if len(raw) == most:
            raise ResultError(f"{self._what} has a directory of more than {MAX_ZIP_DIRECTORY} bytes")
        return raw


@contextmanager
def open_zip(stream: IO[bytes], what: str, limit: InputLimit) -> Iterator[zipfile.ZipFile]:
    """Open a ZIP archive, such as an .npz file, whose members together unpack to no more than the limit.

    A member cannot yield more bytes than the directory says, so the directory is what is checked.
    """
    packed = stream.seek(0, os.SEEK_END)
    with zipfile.ZipFile(SmallReads(stream, what)) as archive:
        if len(archive.filelist) > MAX_ZIP_MEMBERS:
            raise ResultError(f"{what} has {len(archive.filelist)} members, but at most {MAX_ZIP_MEMBERS} are allowed")
        if any(
            member.compress_type not in _METHODS for member in archive.filelist
        ):  # zipfile does not bound the others
            raise ResultError(f"{what} uses an unusual compression method", hint="write it again with the usual one")
        limit.check_unpacked(sum(member.file_size for member in archive.filelist), packed, what)
        yield archive
