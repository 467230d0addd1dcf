"""Tables as text, read block by block: the memory is that of the table and of one block, whatever the file holds.

The module is long because it reads quoted and plain text in blocks, and reports the line of every error.
"""

import codecs
import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.data.packed import InputLimit, gzip_pieces
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

#: A number as text; also what :mod:`drbo.data.check` calls a number.
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
#: Widest table: a search holds several numbers for each pair of columns.
MAX_COLUMNS = 2**14
#: Text that is parsed at a time, and the longest line.
BLOCK_BYTES = 2**23
#: Threads that parse blocks: each holds one, and what it becomes.
PARSING_THREADS = 2

_SEPARATORS = ",;\t"
_CELL_BYTES = 8
_BLANK = np.isin(np.arange(256), [9, 11, 12, 28, 29, 30, 31, 32])  # the white space of ASCII within a line


def read_text(
    path: Path, *, separator: str | None, header: bool, zipped: bool, limit: InputLimit
) -> "pd.DataFrame":  # fmt: skip
    """Return the table of a text file; see :func:`drbo.data.read.read_table`."""
    if separator is not None and (len(separator) != 1 or separator in '"\r\n' or not separator.isascii()):
        raise SettingsError(
            f"separator must be one ASCII character, got {separator!r}", hint="for example ';' or a tab"
        )
    how: dict[str, Any] = {"separator": separator, "header": header, "zipped": zipped, "limit": limit}
    frames = list(_frames(path, [], **how))
    # A column that holds numbers in one block and text in another is text: read once more, for the cells as written.
    if as_text := [name for name in _changing(frames) if not _is_truth([frame[name] for frame in frames])]:
        frames = list(_frames(path, as_text, **how))
    return frames[0] if len(frames) == 1 else _joined(frames)


def _joined(frames: list["pd.DataFrame"]) -> "pd.DataFrame":
    """Return the blocks as one frame; numbers are moved block by block, so that they are never in memory twice."""
    import pandas as pd

    n_rows, names = sum(len(frame) for frame in frames), frames[0].columns
    if any(kind != np.float64 for frame in frames for kind in frame.dtypes):
        return pd.concat(frames, ignore_index=True)
    values = np.empty((n_rows, len(names)), order="F")
    end = n_rows
    while frames:  # from the last block on: memory goes back to the system from its end
        frame = frames.pop()
        start = end - len(frame)
        for place, (_, column) in enumerate(frame.items()):
            values[start:end, place] = column
        end = start
    return pd.DataFrame(values, columns=names, copy=False)


def _changing(frames: list["pd.DataFrame"]) -> list[str]:
    """Return the columns that are not of one kind in all blocks; all numbers are of one kind."""
    kinds = zip(*(frame.dtypes for frame in frames), strict=True)
    pairs = zip(frames[0], kinds, strict=True)
    return [
        str(name)
        for name, found in pairs
        if len(set(found)) > 1 and not all(getattr(kind, "kind", "O") in "iuf" for kind in found)
    ]


def _is_truth(parts: list["pd.Series[Any]"]) -> bool:
    """Tell whether a column holds truth values and holes alone."""
    from pandas.api.types import infer_dtype

    return all(part.isna().all() or infer_dtype(part, skipna=True) == "boolean" for part in parts)


def _frames(
    path: Path, as_text: list[str], *, separator: str | None, header: bool, zipped: bool, limit: InputLimit
) -> Iterator["pd.DataFrame"]:
    """Yield the rows of the file, some thousand at a time; these columns as text.

    The parser of pandas runs in threads, some blocks ahead: it takes most of the time, and holds no lock.
    """
    waiting: deque[Future[pd.DataFrame]] = deque()
    with ThreadPoolExecutor(PARSING_THREADS) as pool:
        for block, how in _blocks(path, separator, header, zipped, limit):
            waiting.append(pool.submit(_parsed, path, block, as_text, **how))
            if len(waiting) > PARSING_THREADS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _blocks(
    path: Path, separator: str | None, header: bool, zipped: bool, limit: InputLimit
) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield blocks of whole lines, and for each how it is to be parsed."""
    lines = _Lines(path, separator)
    names: list[str] = []
    n_rows = 0
    for block, n_records in lines.blocks(_pieces(path, zipped, limit)):
        has_header = header and not names
        if not names:
            names = _header_names(path, lines.first) if header else numbered(len(lines.first))
        n_here = n_records - has_header
        if not n_here:
            continue
        n_rows += n_here
        limit.check(n_rows * len(names) * _CELL_BYTES, f"file '{path}'")
        yield block, {"names": names, "n_rows": n_here, "header": 0 if has_header else None, "sep": lines.separator}
    if not names:
        raise DataError(f"file '{path}' is empty", hint="a table needs column names and at least 3 rows")
    if not n_rows:
        raise DataError(f"file '{path}' has column names but no rows", hint="a table needs at least 3 rows")


def _parsed(path: Path, block: bytes, as_text: list[str], n_rows: int, **how: Any) -> "pd.DataFrame":
    """Return the rows of a block of text."""
    import pandas as pd

    options: dict[str, Any] = {"index_col": False, "low_memory": False, "dtype": dict.fromkeys(as_text, str)}
    if [int(part) for part in pd.__version__.split(".")[:2]] < [3, 1]:  # loses the last bit otherwise
        options["float_precision"] = "round_trip"
    try:
        frame: pd.DataFrame = pd.read_csv(io.BytesIO(block), **how, **options)
    except ValueError as error:
        message = f"file '{path}' cannot be read as a table: {error}"
        raise DataError(message, hint="look for stray quotes") from error
    if len(frame) != n_rows:
        raise DataError(
            f"file '{path}' has {n_rows} or {len(frame)} rows, depending on how its quotes are read",
            hint="look for stray quotes",
        )
    return frame


def _pieces(path: Path, zipped: bool, limit: InputLimit) -> Iterator[bytes]:
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


class _Lines:
    """Cuts text into blocks of whole lines, and checks that every line has as many cells as the first one.

    pandas fills short lines without a word, so the cells are counted here. Blank lines do not count.
    """

    def __init__(self, path: Path, separator: str | None) -> None:
        self.path = path
        self.separator = separator or ","
        self._sniffs = separator is None
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
        """Leave out a byte order mark of UTF-8; refuse that of UTF-16."""
        if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise DataError(f"file '{self.path}' is UTF-16 text, not UTF-8", hint="save it as 'CSV UTF-8'")
        plain = block.removeprefix(codecs.BOM_UTF8)
        self._n_bytes = len(block) - len(plain)
        return plain

    def _measured(self, block: bytes, last: bool) -> tuple[int, int]:
        """Return where the last whole line ends, and the number of lines up to there that are not blank."""
        self._check_utf8(block, last)
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
        """Find the separator and the cells of the first line; False: it is not there yet."""
        visible = re.search(rb"\S", block)
        ends = [] if visible is None else [block.find(mark, visible.start()) for mark in (b"\n", b"\r")]
        if visible is None or (not last and max(ends) < 0):
            return False
        start = max(block.rfind(mark, 0, visible.start()) for mark in (b"\n", b"\r")) + 1
        line = block[start : min((end for end in ends if end >= 0), default=len(block))]
        if self._sniffs:  # what cuts it into the most cells; the comma wins ties
            self.separator = max(_SEPARATORS, key=lambda mark: len(self._cells(line, mark)))
        self.first = self._cells(block[start:] if b'"' in line else line, self.separator)
        if len(self.first) == 1:
            raise DataError(
                f"file '{self.path}' has only one column, {self.first[0]!r:.300}, when split at {self.separator!r}",
                hint="a table needs at least 2 columns; if the file uses another separator, give separator=...",
            )
        if len(self.first) > MAX_COLUMNS:
            raise DataError(
                f"file '{self.path}' has {len(self.first)} columns, but at most {MAX_COLUMNS} are allowed",
                hint="select fewer columns",
            )
        return True

    def _cells(self, raw: bytes, separator: str) -> list[str]:
        text = io.StringIO(raw.decode(errors="replace"), newline="")
        try:
            return next(csv.reader(text, delimiter=separator), [])
        except csv.Error as error:
            raise DataError(f"file '{self.path}', line 1: {error}", hint="look for stray quotes") from error

    def _plain(self, block: bytes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
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

    def _quoted(self, block: bytes, last: bool) -> tuple[int, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
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
            raise DataError(
                f"file '{self.path}' is not UTF-8 text: byte 0x{block[error.start]:02x} at offset {offset} "
                f"(line {line})",
                hint="save it as UTF-8, or read it yourself: pandas.read_csv(path, encoding='latin-1')",
            ) from error


def _last_line_end(block: bytes) -> int:
    """Return where the last whole line ends; a carriage return at the very end may be the half of a line end."""
    return max(block.rfind(b"\n"), block.rfind(b"\r", 0, -1)) + 1


def _line_ends(block: bytes, end: int) -> int:
    """Return the number of line ends before a place: line feeds, carriage returns, or both together."""
    feeds, has_returns = block.count(b"\n", 0, end), b"\r" in block
    return feeds + (block.count(b"\r", 0, end) - block.count(b"\r\n", 0, end) if has_returns else 0)


def _header_names(path: Path, first: list[str]) -> list[str]:
    names = [cell.strip() for cell in first]
    if all(NUMBER.fullmatch(name) for name in names):
        raise DataError(
            f"file '{path}' has no column names: its first line contains only numbers: {', '.join(names[:3])}",
            hint="add a header line with names, or read the file with header=False",
        )
    if "" in names:
        raise DataError(
            f"file '{path}': column {names.index('') + 1} of {len(names)} has no name",
            hint="name it; if it is the row index of a pandas frame, save the frame with index=False",
        )
    check_unique(names, f"file '{path}': ")
    return names


def check_unique(names: Sequence[str], where: str = "") -> None:
    """Refuse a name that two columns have.

    Examples
    --------
    >>> check_unique(["a", "b", "a"])
    Traceback (most recent call last):
        ...
    drbo.errors.DataError: column name 'a' is used more than once (columns 1, 3) (give every column a unique name)
    """
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = ", ".join(str(j + 1) for j, name in enumerate(names) if name == repeated[0])
        raise DataError(
            f"{where}column name '{repeated[0]}' is used more than once (columns {places})",
            hint="give every column a unique name",
        )


def is_unicode(name: str) -> bool:
    r"""Tell whether a text can be written: Python also holds halves of surrogate pairs, which no file can.

    Examples
    --------
    >>> is_unicode("dose [µg]"), is_unicode("\ud800")
    (True, False)
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def numbered(count: int) -> list[str]:
    """Return names for columns that have none.

    Examples
    --------
    >>> numbered(2)
    ['x0', 'x1']
    """
    return [f"x{j}" for j in range(count)]
