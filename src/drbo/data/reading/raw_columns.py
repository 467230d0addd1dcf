"""Columns as raw buffers, each behind a short header: what one process of drbo tells another, without pickle and Arrow.

A column is a record: the length of a header, the header as JSON, and buffers whose sizes the header names. Whoever
reads a record believes nothing of it: sizes, types, codes and cells are checked, and what is wrong raises an error.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from drbo.data.files.files import read_json
from drbo.data.reading.lines import MAX_COLUMNS

#: Bytes of a header, which holds a name or an error.
MAX_HEADER = 2**24
_LENGTH = struct.Struct("<I")
_NUMBERS = "biufcmM"  # numpy's letters of kinds
_TEXTS = ("object", "str", "string")
_MASKED = (
    *(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *("Float32", "Float64", "boolean"),
)
_PLAIN, _NONE, _NAN, _NA = range(4)

#: Cells of mixed columns that are not text: their type, what they are as text, and how they come back.
_CELLS: tuple[tuple[type, Callable[[Any], str], Callable[[str], Any]], ...] = (
    (bool, str, lambda text: text == "True"),
    (int, lambda cell: format(cell, "x"), lambda text: int(text, 16)),
    (float, float.hex, float.fromhex),
    (bytes, lambda cell: cell.decode("latin-1"), lambda text: text.encode("latin-1")),
    (Decimal, str, Decimal),
    (datetime, datetime.isoformat, datetime.fromisoformat),
    (date, date.isoformat, date.fromisoformat),
    (time, time.isoformat, time.fromisoformat),
    (timedelta, lambda cell: f"{cell // timedelta(microseconds=1):x}", lambda text: timedelta(0, 0, int(text, 16))),
    (dict, lambda _: "", lambda _: {}),  # of what no table may hold, the kind is enough
    (list, lambda _: "", lambda _: []),
)
_FIRST_CELL = 4

Bytes = npt.NDArray[np.uint8]


class ByteSource(Protocol):
    """Bytes that arrive in order."""

    left: int  # that may still be taken

    def take(self, size: int) -> Bytes:
        """Return so many bytes, or raise an error."""


def write_header(write: Callable[[Any], object], header: Mapping[str, Any]) -> None:
    """Write a header alone."""
    raw = json.dumps(header).encode()
    write(_LENGTH.pack(len(raw)) + raw)


def read_header(source: ByteSource) -> dict[str, Any]:
    """Return a header."""
    (length,) = _LENGTH.unpack(source.take(_LENGTH.size).tobytes())
    if length > MAX_HEADER:
        raise ValueError(f"a header of {length} bytes")
    header = read_json(source.take(length).tobytes())
    if not isinstance(header, dict):
        raise ValueError("a header that is no object")
    return header


def write_columns(write: Callable[[Any], object], columns: Mapping[str, Any]) -> None:
    """Write arrays or pandas Series of the same length, by their names."""
    n_rows = len(next(iter(columns.values()))) if columns else 0
    write_header(write, {"columns": len(columns), "rows": n_rows})
    for name, column in columns.items():
        _write(write, name, column)


def read_columns(source: ByteSource, header: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that follow a header, as arrays of numpy or pandas, by their names."""
    count, n_rows = _natural(header["columns"]), _natural(header["rows"])
    if count > MAX_COLUMNS:
        raise ValueError(f"{count} columns")
    found: dict[str, Any] = {}
    for _ in range(count):
        about = read_header(source)
        if not isinstance(name := about["name"], str) or name in found:
            raise ValueError(f"a column called {name!r:.80}")
        found[name] = _read(source, about, n_rows)
    return found


def _write(write: Callable[[Any], object], name: str, column: Any) -> None:
    """Write a column as a record; that of categories is followed by a record of them."""
    about, buffers, categories = _taken_apart(column)
    write_header(write, {"name": name, **about, "sizes": [buffer.nbytes for buffer in buffers]})
    for buffer in buffers:
        write(buffer.view(np.uint8).data)
    if categories is not None:
        _write(write, "", categories)


def _taken_apart(column: Any) -> tuple[dict[str, Any], list[Any], Any]:
    """Return what is said of a column, its buffers, and its categories, if it has some."""
    if isinstance(kind := column.dtype, np.dtype) and kind.kind in _NUMBERS:
        values = np.ascontiguousarray(np.asarray(column))
        return {"kind": "numbers", "type": values.dtype.str, "rows": len(values)}, [values], None
    import pandas as pd

    if isinstance(kind, pd.CategoricalDtype):
        codes = np.ascontiguousarray(column.cat.codes)
        about = {"kind": "categories", "type": codes.dtype.str, "rows": len(codes), "ordered": bool(kind.ordered)}
        return about, [codes], pd.Series(kind.categories)
    if isinstance(kind, pd.DatetimeTZDtype):
        return _taken_apart(column.dt.tz_convert(None))
    if str(kind) in _MASKED:
        mask = column.isna().to_numpy()
        values = np.ascontiguousarray(column.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0)))
        about = {"kind": "masked", "type": values.dtype.str, "rows": len(values), "name of type": str(kind)}
        return about, [values, mask], None
    if str(kind) not in _TEXTS:
        column = column.astype(object)
    elif (coded := _coded(column)) is not None:
        return {"kind": "texts", "type": coded[0].dtype.str, "rows": len(column)}, [coded[0]], coded[1]
    tags, texts = _tagged(column)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    joined = np.frombuffer("".join(texts).encode(errors="surrogatepass"), dtype=np.uint8)
    return {"kind": "cells", "type": str(column.dtype), "rows": len(texts)}, [tags, lengths, joined], None


def _coded(column: Any) -> Any:
    """Return texts of which most are repeated as codes and different texts; None: they are not of this kind."""
    import pandas as pd

    if column.dtype == object and pd.api.types.infer_dtype(column, skipna=False) != "string":
        return None
    codes, texts = pd.factorize(column)
    return (
        (codes.astype(np.int32), pd.Series(texts, dtype=column.dtype))
        if 0 < 2 * len(texts) <= len(codes) < 2**31
        else None
    )


def _tagged(column: Any) -> tuple[Any, list[str]]:
    """Return the kind of each cell, and each cell as text."""
    import pandas as pd

    missing = pd.isna(column).to_numpy(dtype=bool)
    tags = np.where(missing, _NAN, _PLAIN).astype(np.uint8)
    cells = column.tolist()
    for k in np.flatnonzero(missing).tolist():
        tags[k] = _NONE if cells[k] is None else _NA if cells[k] is pd.NA else _NAN
        cells[k] = ""
    if any(type(cell) is not str for cell in cells):
        for k, cell in enumerate(cells):
            if not missing[k] and type(cell) is not str:
                tags[k], cells[k] = _cell(cell)
    return tags, cells


def _cell(cell: Any) -> tuple[int, str]:
    """Return the kind of a cell that is not missing, and the cell as text."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, bytearray | memoryview):
        cell = bytes(cell)
    for place, (kind, as_text, _) in enumerate(_CELLS):
        if isinstance(cell, kind):
            return _FIRST_CELL + place, as_text(cell)
    if isinstance(cell, tuple | set | np.ndarray):
        return _FIRST_CELL + len(_CELLS) - 1, ""
    return _PLAIN, str(cell)


def _read(source: ByteSource, about: Mapping[str, Any], n_rows: int) -> Any:
    """Return the column of a record with this header."""
    if _natural(about["rows"]) != n_rows:
        raise ValueError("columns of different lengths")
    if about["kind"] == "cells":
        return _cells(source, about, n_rows)
    kind = np.dtype(str(about["type"]))
    if kind.hasobject or kind.kind not in _NUMBERS or kind.names or kind.subdtype:
        raise ValueError(f"numbers of type {kind}")
    sizes = [n_rows * kind.itemsize] + [n_rows] * (about["kind"] == "masked")
    if about["sizes"] != sizes:
        raise ValueError(f"buffers of {about['sizes']!r:.80} bytes in place of {sizes}")
    raw = source.take(sizes[0])
    if kind.kind == "b":
        _check_truth(raw)
    numbers = raw.view(kind)
    if about["kind"] == "numbers":
        return numbers
    if about["kind"] == "masked":
        return _masked(numbers, source.take(n_rows), about["name of type"])
    if about["kind"] in ("categories", "texts"):
        import pandas as pd

        again = read_header(source)
        if again["kind"] not in (("cells", "numbers", "masked") if about["kind"] == "categories" else ("cells",)):
            raise ValueError(f"codes of {again['kind']!r:.80}")
        values = _read(source, again, _natural(again["rows"]))
        if about["kind"] == "texts":
            return _written_out(values, numbers, source.left)
        return pd.Categorical.from_codes(
            numbers, categories=pd.Index(values, dtype=values.dtype), ordered=bool(about["ordered"])
        )
    raise ValueError(f"a column of kind {about['kind']!r:.80}")


def _written_out(texts: Any, codes: Any, most: int) -> Any:
    """Return texts by their codes, which must not take more bytes than ``most``."""
    import pandas as pd

    lengths = np.array([len(text) for text in texts] + [0], dtype=np.int64)
    least = 0 if isinstance(texts, pd.Series) else -1  # is missing
    if codes.dtype != np.int32 or codes.min(initial=0) < least or codes.max(initial=-1) >= len(texts):
        raise ValueError("codes without a text")
    if int(lengths[codes].sum()) > most:
        raise ValueError("texts that take too much written out")
    if isinstance(texts, pd.Series):
        return pd.Series(texts.to_numpy()[codes], dtype=object)
    return texts.take(codes, allow_fill=True)


def _masked(numbers: Any, missing: Bytes, name: Any) -> Any:
    """Return numbers of a type of pandas that has missing values."""
    import pandas as pd

    if name not in _MASKED:
        raise ValueError(f"numbers of type {name!r:.80}")
    _check_truth(missing)
    found = pd.array(numbers, dtype=name)
    found[missing.view(bool)] = pd.NA
    return found


def _cells(source: ByteSource, about: Mapping[str, Any], n_rows: int) -> Any:
    """Return the cells of a column of texts, or of mixed types."""
    import pandas as pd

    first, second, size = (_natural(number) for number in about["sizes"])
    if (first, second) != (n_rows, 8 * n_rows) or about["type"] not in _TEXTS:
        raise ValueError("cells without a length")
    tags, lengths = source.take(n_rows), source.take(8 * n_rows).view(np.int64)
    joined = source.take(size).tobytes().decode(errors="surrogatepass")
    if n_rows and (lengths.min() < 0 or lengths.max() > len(joined)):
        raise ValueError("cells beyond their text")
    ends = np.cumsum(lengths)
    if n_rows and (ends.min() < 0 or ends[-1] != len(joined)):
        raise ValueError("cells beyond their text")
    once: dict[str, str] = {}
    cells: list[Any] = [once.setdefault(text, text) for text in _cut(joined, ends.tolist())]
    missing = {_NONE: None, _NAN: np.nan, _NA: pd.NA}
    for k in np.flatnonzero(tags).tolist():
        tag = int(tags[k])
        cells[k] = missing[tag] if tag < _FIRST_CELL else _CELLS[tag - _FIRST_CELL][2](cells[k])
    if about["type"] != "object":
        kind: Any = about["type"]
        return pd.array(cells, dtype=kind)
    return pd.Series(np.fromiter(cells, dtype=object, count=n_rows), dtype=object)  # an array would become text again


def _cut(joined: str, ends: list[int]) -> Iterator[str]:
    start = 0
    for end in ends:
        yield joined[start:end]
        start = end


def _check_truth(values: Bytes) -> None:
    if values.max(initial=0) > 1:
        raise ValueError("a truth value that is neither 0 nor 1")


def _natural(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"a count of {number!r:.80}")
    return number
