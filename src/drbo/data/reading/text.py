"""Tables as text, read block by block: the memory is that of the table and of one block, whatever the file holds."""

import codecs
import io
import re
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.data.files.packed import NO_LIMIT, InputLimit
from drbo.data.reading.dialect import (
    HEAD_BYTES,
    EncodingError,
    as_utf8,
    checked_encoding,
    encoding_of,
    separator_of,
    single_spaced,
)
from drbo.data.reading.lines import Lines, NotUtf8Error, pieces_of
from drbo.data.reading.number_text import numbers_from_text
from drbo.data.reading.source import FileSource
from drbo.errors import DataError, DrboError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

#: A number as text; also what :mod:`drbo.data.checks.check` calls a number.
NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*")
#: Threads that parse blocks: each holds one, and what it becomes.
PARSING_THREADS = 2

#: The encoding of text that is not UTF-8, if its bytes do not say more: that of Windows in Western Europe.
OTHER_ENCODING = "cp1252"

_SHOWN_MARKS = {"\t": "tab", " ": "space"}
_CELL_BYTES = 8


class Dialect(NamedTuple):
    """How a text file is cut into cells."""

    separator: str
    header: bool
    zipped: bool
    encoding: str
    aligned: bool = False  # any number of spaces stands between two cells


@dataclass(frozen=True)
class TextSource(FileSource):
    """A text file; the first lines say what its options leave open."""

    def _dialect(self, limit: InputLimit, encoding: str | None = None) -> Dialect:
        """Return how the file is cut into cells, in this encoding or its own."""
        given, name = self.options, self.path.name.lower()
        zipped = name.endswith(".gz")
        separator = given.separator or ("\t" if name.removesuffix(".gz").endswith((".tsv", ".tab")) else None)
        encoding = encoding or (given.encoding and checked_encoding(given.encoding))
        if separator is not None and (len(separator) != 1 or separator in '"\r\n' or not separator.isascii()):
            raise SettingsError(
                f"separator must be one ASCII character, got {separator!r}", hint="for example ';' or a tab"
            )
        head = next(pieces_of(self.path, zipped, limit), b"")[:HEAD_BYTES]
        chosen = encoding or encoding_of(head)
        if separator is not None:
            return Dialect(separator, given.header, zipped, chosen)
        text = codecs.decode(head, chosen, "ignore").removeprefix("\ufeff")
        if len(head) == HEAD_BYTES:  # the last line is cut
            text = text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text
        mark = separator_of(text)
        return Dialect(mark, given.header, zipped, chosen, aligned=mark == " ")

    def _pieces(self) -> Iterator["pd.DataFrame"]:
        """Yield the rows, some thousand at a time; the numbers have a decimal point."""
        for frame in _frames(self.path, [], self._dialect(NO_LIMIT), NO_LIMIT, ended=True):
            yield numbers_from_text(frame, [], decimal=".")

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        decimal = self.options.decimal
        try:
            return _read(self.path, self._dialect(limit), limit, decimal, notes)
        except NotUtf8Error as error:
            if self.options.encoding is not None or error.damaged:
                raise
            try:
                frame = _read(self.path, self._dialect(limit, OTHER_ENCODING), limit, decimal, notes)
            except EncodingError:
                raise error from None
            notes.insert(0, f"{OTHER_ENCODING} encoding")
            return frame


def _read(path: Path, how: Dialect, limit: InputLimit, decimal: str | None, notes: list[str]) -> "pd.DataFrame":
    """Return the table; what was assumed is added to the notes."""

    def again(as_text: list[str]) -> "pd.DataFrame":
        return _joined(list(_frames(path, as_text, how, limit)))

    frames = list(_frames(path, [], how, limit))
    # A column that holds numbers in one block and text in another is text: read once more, for the cells as written.
    as_text = [name for name in _changing(frames) if not _is_truth([frame[name] for frame in frames])]
    frame = again(as_text) if as_text else _joined(frames)
    said = [f"{how.encoding} encoding"] * how.encoding.startswith("utf-16")
    said += [f"separator {_SHOWN_MARKS.get(how.separator, repr(how.separator))}"] * (how.separator != ",")
    frame = numbers_from_text(
        frame,
        said,
        decimal=decimal,
        most="," if how.separator == ";" else ".",
        again=lambda names: again(as_text + names),
    )
    notes += said
    return frame


def _joined(frames: list["pd.DataFrame"]) -> "pd.DataFrame":
    """Return the blocks as one frame; numbers are moved block by block, so that they are never in memory twice."""
    import pandas as pd

    if len(frames) == 1:
        return frames[0]
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
    path: Path, as_text: list[str], how: Dialect, limit: InputLimit, *, ended: bool = False
) -> Iterator["pd.DataFrame"]:
    """Yield the rows of the file, some thousand at a time; these columns as text.

    The parser of pandas runs in threads, some blocks ahead: it takes most of the time, and holds no lock. The blocks
    before one that cannot be read are yielded first. ``ended``: see :class:`~drbo.data.reading.lines.Lines`.
    """
    waiting: deque[Future[pd.DataFrame]] = deque()
    wrong: DrboError | None = None
    blocks = _blocks(path, how, limit, ended=ended)
    with ThreadPoolExecutor(PARSING_THREADS) as pool, closing(blocks):
        while True:
            block = None
            try:
                block, parts = next(blocks, (None, {}))
            except DrboError as error:
                wrong = error
            if block is not None:
                waiting.append(pool.submit(_parsed, path, block, as_text, **parts))
            elif not waiting:
                break
            if block is None or len(waiting) > PARSING_THREADS:
                yield waiting.popleft().result()
    if wrong is not None:
        raise wrong


def _blocks(path: Path, how: Dialect, limit: InputLimit, *, ended: bool) -> Generator[tuple[bytes, dict[str, Any]]]:
    """Yield blocks of whole lines, and for each how it is to be parsed."""
    lines = Lines(path, how.separator, ended=ended)
    names: list[str] = []
    n_rows = 0
    pieces = as_utf8(pieces_of(path, how.zipped, limit), how.encoding, f"file '{path}'")
    for block, n_records in lines.blocks(single_spaced(pieces) if how.aligned else pieces):
        has_header = how.header and not names
        if not names:
            names = _header_names(path, lines.first) if how.header else numbered(len(lines.first))
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
