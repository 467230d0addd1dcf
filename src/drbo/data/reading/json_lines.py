"""Tables as JSON Lines (``.jsonl``, ``.ndjson``): an object in each line; the keys of the first one are the columns."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from drbo.data.files.files import read_json
from drbo.data.files.packed import InputLimit
from drbo.data.reading.frames import columns_as_frame
from drbo.data.reading.lines import BLOCK_BYTES, check_width
from drbo.data.reading.number_text import numbers_from_text
from drbo.data.reading.source import CELL_BYTES, FileSource
from drbo.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

_CELLS_AT_ONCE = 10_000


@dataclass(frozen=True)
class JsonLinesSource(FileSource):
    """A file with one JSON object in each line; a key that a line lacks is a missing value."""

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        rows, size, packed = list[list[Any]](), 0, self.path.stat().st_size
        pieces = self._rows()
        names = next(pieces)
        for some in pieces:
            size += CELL_BYTES * len(some) * len(names)  # a short line may stand for many missing cells
            limit.check_unpacked(size, packed, self.name)
            rows += some
        frame = columns_as_frame(names, rows, range(len(names)), self.name)
        return numbers_from_text(frame, notes, decimal=self.options.decimal)

    def _pieces(self) -> Iterator["pd.DataFrame"]:
        import pandas as pd

        pieces = self._rows()
        names = next(pieces)
        for some in pieces:
            yield pd.DataFrame(some, columns=names).infer_objects()

    def _rows(self) -> Iterator[list[Any]]:
        """Yield the names of the columns, and then the rows, some thousand at a time."""
        names, some = list[str](), list[list[Any]]()
        with self.path.open("rb") as stream:
            for number, line in enumerate(iter(partial(stream.readline, BLOCK_BYTES + 1), b""), 1):
                cells = self._cells(line, number)
                if not names:
                    names = list(cells)
                    check_width(len(names), self.name)
                    yield names
                if strange := cells.keys() - set(names):
                    raise DataError(
                        f"{self.name}, line {number}: the key '{min(strange):.80}' is not in the first line",
                        hint="give every line the keys of the first one",
                    )
                some.append([cells.get(name) for name in names])
                if len(some) * len(names) >= _CELLS_AT_ONCE:
                    yield some
                    some = []
        if not names:
            raise DataError(f"{self.name} is empty", hint="check the path; the table may not have been written")
        if some:
            yield some

    def _cells(self, line: bytes, number: int) -> dict[str, Any]:
        """Return the object in a line."""
        what, hint = f"{self.name}, line {number}", "write one object per line, with a number or a text for every key"
        if len(line) > BLOCK_BYTES:
            raise DataError(f"{what} has more than {BLOCK_BYTES} bytes", hint=hint)
        try:
            cells = read_json(line)
        except ValueError as error:
            raise DataError(f"{what} is not JSON: {error!s:.200}", hint=hint) from error
        if not isinstance(cells, dict) or not cells:
            raise DataError(f"{what} is not an object with keys", hint=hint)
        if nested := [key for key, value in cells.items() if isinstance(value, dict | list)]:
            raise DataError(f"{what}: '{nested[0]:.80}' is not a single value", hint=hint)
        return cells
