"""Tables as Excel workbooks (``.xlsx``, ``.xlsm``); formulas and macros are not run.

calamine, which reads them, keeps every cell between the first and the last one, and a copy of a text for each cell that
shows it. So what the parts of the archive lead to is known, and refused if it is too much, before it reads them.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from drbo.data.files.packed import InputLimit, open_zip
from drbo.data.reading.frames import as_frame, cells_as_frame
from drbo.data.reading.guard import read_guarded
from drbo.data.reading.number_text import numbers_from_text
from drbo.data.reading.source import FileSource
from drbo.errors import DataError, name_hint

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS = 2**20  # of a worksheet
MAX_TAG = 2**24  # bytes of a tag and the text after it
_PIECE = 2**20
_CELL_BYTES = 32
_AGAIN = "save it again as .xlsx"
#: The parts that hold the tables of formats which calamine also reads, by rules that are not checked here: .ods, .xlsb.
_OTHER_FORMATS = frozenset(("content.xml", "xl/workbook.bin"))
_PLACE = re.compile(rb"""\br\s*=\s*["']([^"']*)["']""")
_CELL = re.compile(rb"([A-Z]{1,3})([1-9]\d{0,6})|([1-9]\d{0,6})")
_SHARED = re.compile(rb"""\bt\s*=\s*["']s["']""")
#: What a cell shows in place of a value.
ERRORS = ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!")


@dataclass(frozen=True)
class ExcelSource(FileSource):
    """A worksheet."""

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        given = self.options
        frame = read_guarded("excel", self.path, limit, notes, sheet=given.sheet, header=given.header)
        return numbers_from_text(as_frame(frame), notes, decimal=given.decimal)


def read_excel(path: Path, notes: list[str], limit: InputLimit, *, sheet: str | None, header: bool) -> "pd.DataFrame":
    """Return the table of a worksheet: the first one, or that of this name or number."""
    try:
        calamine: Any = import_module("python_calamine")
    except ImportError as error:
        raise DataError(
            f"file '{path}': reading Excel needs python-calamine, which is not installed",
            hint="pip install drbo[excel]",
        ) from error
    with path.open("rb") as stream:
        _check_size(stream, f"file '{path}'", limit)
        try:
            with calamine.CalamineWorkbook.from_filelike(stream) as book:
                name = _sheet(path, list(book.sheet_names), sheet, notes)
                rows = book.get_sheet_by_name(name).to_python()
        except (calamine.CalamineError, OSError) as error:
            raise DataError(
                f"file '{path}' is not a complete Excel workbook, or it has a password: {error!s:.200}",
                hint="save it again as .xlsx without a password",
            ) from error
    empty = frozenset(("", *ERRORS))
    cells = [[None if isinstance(cell, str) and cell in empty else cell for cell in row] for row in rows]
    return cells_as_frame(cells, f"file '{path}', sheet '{name}'", header=header, notes=notes)


def _sheet(path: Path, names: list[str], wanted: str | None, notes: list[str]) -> str:
    """Return the name of the worksheet to read."""
    if not names:
        raise DataError(f"file '{path}' has no worksheet", hint="save the table as a worksheet of its own")
    if wanted is None:
        if len(names) > 1:
            notes.append(f"sheet '{names[0]}' of {len(names)}")
        return names[0]
    if wanted in names:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return names[int(wanted) - 1]
    raise DataError(f"file '{path}' has no sheet '{wanted:.80}'", hint=name_hint(wanted, names, "sheets"))


def _check_size(stream: IO[bytes], what: str, limit: InputLimit) -> None:
    """Refuse a workbook whose cells would take more memory than a table may."""
    try:
        with open_zip(stream, what, limit) as archive:
            if others := _OTHER_FORMATS & {member.filename.lower() for member in archive.filelist}:
                raise DataError(f"{what} is not an Excel workbook: it contains '{min(others)}'", hint=_AGAIN)
            parts = [_measured(archive, member, what) for member in archive.filelist]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise DataError(
            f"{what} is not an Excel workbook: {error!s:.200}", hint="save it again as .xlsx, without a password"
        ) from error
    longest = max((part[1] for part in parts), default=0)
    for places, _, shared in parts:
        limit.check(places * _CELL_BYTES + shared * longest, what)
    stream.seek(0)


def _measured(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str) -> tuple[int, int, int]:
    """Return the places between the first and the last cell of a part, its longest shared text, and cells with one."""
    rows = columns = shared = longest = since = 0  # since: bytes after the last shared text
    is_sheet = is_texts = False
    for text in _tags(archive, member, what):
        is_sheet |= b"sheetData" in text
        is_texts |= b"sst" in text
        if is_sheet:
            high, wide = _extent(text, what)
            rows, columns = max(rows, high), max(columns, wide)
            shared += len(_SHARED.findall(text))
        if is_texts:
            starts = [match.start() for match in re.finditer(rb"\bsi\b", text)]
            gaps = [b - a for a, b in zip([-since, *starts], [*starts, len(text)], strict=True)]
            longest, since = max(longest, *gaps), gaps[-1]
    return rows * columns, longest, shared


def _tags(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str) -> Iterator[bytes]:
    """Yield the text of a part in pieces that cut no tag."""
    rest = b""
    with archive.open(member) as stream:
        while piece := stream.read(_PIECE):
            text = rest + piece
            cut = max(0, text.rfind(b"<"))
            rest = text[cut:]
            if len(rest) > MAX_TAG or (b"\0" in piece and member.filename.endswith(".xml")):
                raise DataError(f"{what} has a part that is not plain text: '{member.filename:.80}'", hint=_AGAIN)
            yield text[:cut]
    yield rest


def _extent(text: bytes, what: str) -> tuple[int, int]:
    """Return the last row and column that a part of a worksheet names."""
    rows = columns = 0
    for match in _PLACE.finditer(text):
        place = _CELL.fullmatch(match[1])
        if place is None or int(place[2] or place[3]) > MAX_ROWS:
            raise DataError(f"{what} has a cell at {match[1]!r:.40}", hint=_AGAIN)
        rows = max(rows, int(place[2] or place[3]))
        column = 0
        for letter in place[1] or b"":
            column = 26 * column + letter - 64
        columns = max(columns, column)
    return rows, columns
