"""Cuts the text of a file into blocks of whole lines, and names the line of every error."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from drbo.arrays import Indices
from drbo.data.files.packed import InputLimit, gzip_pieces
from drbo.errors import DataError

#: Widest table: a search holds several numbers for each pair of columns.
MAX_COLUMNS = 2**14
#: Text that is parsed at a time, and the longest line.
BLOCK_BYTES = 2**23

_BLANK = np.isin(np.arange(256), [9, 11, 12, 28, 29, 30, 31, 32])  # the white space of ASCII within a line


class NotUtf8Error(DataError):
    """A byte of a text file is not UTF-8; ``damaged``: other characters before it are."""

    damaged = False


def check_width(n_columns: int, what: str) -> None:
    """Refuse a table that is too wide."""
    if n_columns > MAX_COLUMNS:
        raise DataError(
            f"{what} has {n_columns} columns, but at most {MAX_COLUMNS} are allowed", hint="select fewer columns"
        )


def pieces_of(path: Path, zipped: bool, limit: InputLimit) -> Iterator[bytes]:
    """Yield the text of a file in pieces of at most a block, unpacked."""
    with path.open("rb") as stream:
        if zipped:
            yield from gzip_pieces(stream, limit, f"file '{path}'")
            return
        total = 0
        while piece := stream.read(BLOCK_BYTES):
            total += len(piece)
            limit.check(total, f"file '{path}'")
            yield piece


class Lines:
    """Cuts text into blocks of whole lines, and checks that every line has as many cells as the first one.

    pandas fills short lines without a word, so the cells are counted here. Blank lines do not count. With ``ended`` the
    last line must have a line end: without one, the file may have been cut off.
    """

    def __init__(self, path: Path, separator: str, *, ended: bool = False) -> None:
        self.path, self.separator = path, separator
        self._ended = ended
        self._only_ascii = True  # so far
        self.first: list[str] = []  # cells of the first line
        self._n_lines = self._n_bytes = 0  # before the block
        self._rest = b""  # the begun line at the end of the block before

    def blocks(self, pieces: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
        """Yield blocks of text, each with the number of its lines that are not blank."""
        for block, last in self._gathered(pieces):
            end, n_records = self._measured(block, last)
            if not end and len(block) > 2 * BLOCK_BYTES:
                raise DataError(
                    f"file '{self.path}': line {self._n_lines + 1} is longer than {BLOCK_BYTES} bytes",
                    hint="look for a stray quote, and check that the file is a table",
                )
            self._rest = block[end:]
            if n_records:
                yield block[:end], n_records
            self._n_lines += _line_ends(block, end)
            self._n_bytes += end

    def _gathered(self, pieces: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Yield blocks that begin where the last whole line ended, and whether each is the last one."""
        waiting, size, begun = list[bytes](), 0, False
        for piece in chain(pieces, [None]):
            if piece is not None:
                waiting.append(piece)
                size += len(piece)
                if len(self._rest) + size < BLOCK_BYTES:
                    continue
            block = b"".join([self._rest, *waiting])
            yield (block if begun else self._without_mark(block)), piece is None
            waiting, size, begun = [], 0, True

    def _without_mark(self, block: bytes) -> bytes:
        """Leave out a byte order mark of UTF-8."""
        plain = block.removeprefix(codecs.BOM_UTF8)
        self._n_bytes = len(block) - len(plain)
        return plain

    def _measured(self, block: bytes, last: bool) -> tuple[int, int]:
        """Return where the last whole line ends, and the number of lines up to there that are not blank."""
        self._check_utf8(block, last)
        if last and self._ended and block[max(block.rfind(b"\n"), block.rfind(b"\r")) + 1 :].strip():
            raise DataError(
                f"file '{self.path}' ends within line {self._n_lines + _line_ends(block, len(block)) + 1}: it may have "
                "been cut off",
                hint="write or download it again; if it is complete, end its last line: 'echo >> FILE' does it",
            )
        if not self.first and not self._begin(block, last):
            return (len(block) if last else 0 if block.strip() else _last_line_end(block)), 0
        if b'"' in block:
            end, counts, numbers = self._quoted(block, last)
        else:
            end = len(block) if last else _last_line_end(block)
            counts, numbers = self._plain(block[:end])
        wrong = np.flatnonzero(counts != len(self.first))
        if len(wrong):
            line = self._n_lines + int(numbers[wrong[0]])
            raise DataError(
                f"file '{self.path}', line {line}: {counts[wrong[0]]} cells, but the first line has {len(self.first)}",
                hint="every line needs the same number of cells; look for a missing separator or a stray quote",
            )
        return end, len(counts)

    def _begin(self, block: bytes, last: bool) -> bool:
        """Find the cells of the first line; False: it is not there yet."""
        visible = re.search(rb"\S", block)
        ends = [] if visible is None else [block.find(mark, visible.start()) for mark in (b"\n", b"\r")]
        if visible is None or (not last and max(ends) < 0):
            return False
        start = max(block.rfind(mark, 0, visible.start()) for mark in (b"\n", b"\r")) + 1
        line = block[start : min((end for end in ends if end >= 0), default=len(block))]
        self.first = self._cells(block[start:] if b'"' in line else line)
        if len(self.first) == 1:
            raise DataError(
                f"file '{self.path}' has only one column, {self.first[0]!r:.300}, when split at {self.separator!r}",
                hint="a table needs at least 2 columns; if the file uses another separator, give separator=...",
            )
        check_width(len(self.first), f"file '{self.path}'")
        return True

    def _cells(self, raw: bytes) -> list[str]:
        text = io.StringIO(raw.decode(errors="replace"), newline="")
        try:
            return next(csv.reader(text, delimiter=self.separator), [])
        except csv.Error as error:
            raise DataError(f"file '{self.path}', line 1: {error}", hint="look for stray quotes") from error

    def _plain(self, block: bytes) -> tuple[Indices, Indices]:
        """Return the number of cells and the number of each line that is not blank, where there are no quotes."""
        if b"\r" in block:
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        codes = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(codes == ord("\n"))
        if len(codes) and codes[-1] != ord("\n"):
            ends = np.append(ends, len(codes))
        places = np.searchsorted(np.flatnonzero(codes == ord(self.separator)), ends)
        counts = np.diff(places, prepend=0)
        bare = counts == 0
        if bare.any():  # a line of one cell is blank or too short
            visible = np.flatnonzero(~_BLANK[codes] & (codes != ord("\n")))
            bare &= np.diff(np.searchsorted(visible, ends), prepend=0) == 0
        numbers = np.flatnonzero(~bare)
        return counts[numbers] + 1, numbers + 1

    def _quoted(self, block: bytes, last: bool) -> tuple[int, Indices, Indices]:
        """Return the same as :meth:`_plain` for text with quotes, after where its last whole line ends."""
        text = io.StringIO(block.decode("latin-1"), newline="")  # one character per byte
        reader = csv.reader(iter(text.readline, ""), delimiter=self.separator)
        counts, numbers, end = list[int](), list[int](), 0
        try:
            for cells in reader:
                if not last and text.tell() == len(block):
                    break  # it may go on in the next block
                end = text.tell()
                if len(cells) > 1 or (cells and cells[0].strip()):
                    counts.append(len(cells))
                    numbers.append(reader.line_num)
        except csv.Error as error:
            line = self._n_lines + reader.line_num
            raise DataError(f"file '{self.path}', line {line}: {error}", hint="look for stray quotes") from error
        return len(block) if last else end, np.array(counts, dtype=np.intp), np.array(numbers, dtype=np.intp)

    def _check_utf8(self, block: bytes, last: bool) -> None:
        """Say where the text is not UTF-8; a character that is cut by the end of the block is whole in the next one."""
        if block.isascii():
            return
        try:
            codecs.utf_8_decode(block, "strict", last)
        except UnicodeDecodeError as error:
            line = self._n_lines + _line_ends(block, error.start) + 1
            offset = self._n_bytes + error.start
            found = NotUtf8Error(
                f"file '{self.path}' is not UTF-8 text: byte 0x{block[error.start]:02x} at offset {offset} "
                f"(line {line})",
                hint="give its encoding, such as encoding='cp1252', or save it as UTF-8",
            )
            found.damaged = not (self._only_ascii and block[: error.start].isascii())
            raise found from error
        self._only_ascii = False


def _last_line_end(block: bytes) -> int:
    """Return where the last whole line ends; a carriage return at the very end may be the half of a line end."""
    return max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1


def _line_ends(block: bytes, end: int) -> int:
    """Return the number of line ends before a place: line feeds, carriage returns, or both together."""
    feeds, has_returns = block.count(b"\n", 0, end), b"\r" in block
    return feeds + (block.count(b"\r", 0, end) - block.count(b"\r\n", 0, end) if has_returns else 0)
