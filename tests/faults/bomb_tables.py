"""Small files of other programs that would take minutes or gigabytes: Parquet, Feather, Excel, SQLite, DuckDB."""

import io
import json
import sqlite3
import struct
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.data.workbooks import MAIN, write_xlsx

#: Levels of a database tree, and the children of each page: more rows than anybody can read.
LEVELS, FAN = 12, 20
PAGE = 512
#: Columns that each double the work of the one before.
DOUBLING = 60


def column_of(kind: str, size: int, times: int) -> Any:
    """Return a column of one value many times, stored once."""
    import pyarrow

    values = {
        "texts": lambda: pyarrow.array(["x" * size]),
        "bytes": lambda: pyarrow.array([b"x" * size]),
        "large texts": lambda: pyarrow.array(["x" * size], type=pyarrow.large_string()),
        "fixed bytes": lambda: pyarrow.array([b"x" * size], type=pyarrow.binary(size)),
        "numbers": lambda: pyarrow.array([1.5]),
    }[kind]()
    return pyarrow.DictionaryArray.from_arrays(np.zeros(times, dtype=np.int32), values)


def parquet_of(*, coded: bool = True, codec: str = "zstd", **columns: Any) -> bytes:
    """Return a Parquet file; ``coded``: it says that repeated values are stored once."""
    import pyarrow
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    table = pyarrow.table(columns)
    pq.write_table(table, buffer, compression=codec, data_page_size=2**30, store_schema=coded)
    return buffer.getvalue()


def feather_of(codec: str = "zstd", rows: int | None = None, **columns: Any) -> bytes:
    """Return a Feather file, in batches of so many rows."""
    import pyarrow
    from pyarrow import feather

    buffer = io.BytesIO()
    feather.write_feather(pyarrow.table(columns), buffer, compression=codec, chunksize=rows)
    return buffer.getvalue()


def workbook(**parts: str) -> bytes:
    """Return a workbook of which some parts are replaced."""
    with tempfile.TemporaryDirectory() as folder:
        write_xlsx(Path(folder) / "t.xlsx", {"s": [["a", "b"], [1, 2], [2, 5], [3, 3]]}, **parts)
        return (Path(folder) / "t.xlsx").read_bytes()


def archive_of(parts: dict[str, str]) -> bytes:
    """Return an archive of packed texts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def far_cell() -> bytes:
    """Return a worksheet whose two cells are in opposite corners."""
    cells = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    return workbook(sheet1=f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>')


def shared_text(size: int, times: int) -> bytes:
    """Return a worksheet that shows one long text in many cells."""
    rows = "".join(
        f'<row r="{i}"><c r="A{i}" t="s"><v>0</v></c><c r="B{i}"><v>{i}</v></c></row>' for i in range(1, times + 1)
    )
    texts = f'<sst xmlns="{MAIN}"><si><t>{"x" * size}</t></si></sst>'
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
    return workbook(sheet1=sheet, sharedStrings=texts)


def long_sheet(size: int) -> bytes:
    """Return a worksheet of blanks."""
    return workbook(sheet1=f'<worksheet xmlns="{MAIN}"><sheetData>{" " * size}</sheetData></worksheet>')


def open_document() -> bytes:
    """Return a table of OpenDocument whose rows and cells are repeated a million times."""
    names = 'xmlns:t="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    names += ' xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    row = '<t:table-row t:number-rows-repeated="1048576">'
    cell = '<t:table-cell office:value-type="float" office:value="1" t:number-columns-repeated="16384"/>'
    body = f'<office:spreadsheet><t:table t:name="s">{row}{cell}</t:table-row></t:table></office:spreadsheet>'
    return archive_of({
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<manifest/>",
        "content.xml": f"<office:document-content {names}><office:body>{body}</office:body></office:document-content>",
    })  # fmt: skip


def binary_workbook() -> bytes:
    """Return the parts of a workbook in the binary format, with a sheet of zeros."""
    return archive_of({"[Content_Types].xml": "<Types/>", "xl/workbook.bin": "\0" * 10**7,
                       "xl/worksheets/sheet1.bin": "\0" * 10**8})  # fmt: skip


def database(*statements: str, rows: Sequence[Sequence[Any]] = ((1, 2.0), (2, 3.0), (3, 5.0), (4, 1.0))) -> bytes:
    """Return an SQLite database with a table t (a, b), after further statements."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.db"
        base = sqlite3.connect(path)
        base.execute(f"PRAGMA page_size = {PAGE}")
        for statement in statements or ("CREATE TABLE t (a INTEGER, b REAL)",):
            base.execute(statement)
        if rows:
            base.executemany("INSERT INTO t (a, b) VALUES (?, ?)", rows)
        base.commit()
        base.close()
        return path.read_bytes()


def doubling() -> list[str]:
    """Return the columns g0, g1, ..., each twice the one before it."""
    columns = ["g0 INTEGER GENERATED ALWAYS AS (b) VIRTUAL"]
    columns += [f"g{k} INTEGER GENERATED ALWAYS AS (g{k - 1} + g{k - 1}) VIRTUAL" for k in range(1, DOUBLING)]
    return columns


def endless_table() -> bytes:
    """Return a database of a few pages whose tree leads to the same rows again and again."""
    raw = bytearray(database(rows=[(k, k / 7) for k in range(400)]))
    root = 1  # the page of the table, from 0: the first page describes the tables
    assert raw[root * PAGE] == 5, "not an inner page"
    leaf = struct.unpack_from(">I", raw, root * PAGE + 8)[0]
    last = leaf
    for _ in range(LEVELS):
        raw += _inner_page(last)
        last = len(raw) // PAGE
    raw[root * PAGE : (root + 1) * PAGE] = _inner_page(last)
    struct.pack_into(">I", raw, 28, len(raw) // PAGE)
    return bytes(raw)


def _inner_page(child: int) -> bytes:
    """Return a page of a tree all of whose children are one page."""
    page = bytearray(PAGE)
    struct.pack_into(">BHHHBI", page, 0, 5, 0, FAN, PAGE - 5 * FAN, 0, child)
    for k in range(FAN):
        place = PAGE - 5 * (k + 1)
        struct.pack_into(">H", page, 12 + 2 * k, place)
        struct.pack_into(">IB", page, place, child, k + 1)
    return bytes(page)


def duck_database(*statements: str) -> bytes:
    """Return a DuckDB database after some statements."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        with duckdb.connect(str(path)) as base:
            for statement in ("SET enable_progress_bar = false", *statements):
                base.execute(statement)
        return path.read_bytes()


_FEW = "CREATE TABLE t AS SELECT range AS a, range * 1.5 AS b FROM range(10)"
_OTHER = _FEW.replace(" t ", " u ")
_COUNTLESS = "SELECT count(*) FROM range(100000000) x, range(100000000) y"

BOMBS: dict[str, dict[str, Callable[[], bytes]]] = {
    "parquet": {
        "coded long texts": lambda: parquet_of(a=column_of("texts", 2**20, 6000), b=np.zeros(6000)),
        "coded long bytes": lambda: parquet_of(a=column_of("bytes", 2**20, 6000), b=np.zeros(6000)),
        "coded numbers": lambda: parquet_of(a=column_of("numbers", 8, 2**24), b=column_of("numbers", 8, 2**24)),
        "wide cells": lambda: parquet_of(a=column_of("fixed bytes", 2**15, 6000), b=np.zeros(6000)),
    },
    "feather": {
        "zeros": lambda: feather_of(a=np.zeros(2**26), b=np.zeros(2**26)),
        "coded long texts": lambda: feather_of(a=column_of("texts", 2**20, 6000), b=np.zeros(6000)),
        "coded large texts": lambda: feather_of(a=column_of("large texts", 2**20, 6000), b=np.zeros(6000)),
        "coded numbers": lambda: feather_of(a=column_of("numbers", 8, 2**27)),
        "countless batches": lambda: feather_of("uncompressed", 1, a=np.zeros(135_000)),
        "wide cells": lambda: feather_of(a=column_of("fixed bytes", 2**19, 4000), b=np.zeros(4000)),
    },
    "excel": {
        "two cells far apart": far_cell,
        "a text in many cells": lambda: shared_text(2**20, 5000),
        "a sheet of blanks": lambda: long_sheet(2**27),
        "an OpenDocument table": open_document,
        "a binary workbook": binary_workbook,
        "countless parts": lambda: archive_of({f"xl/worksheets/s{k}.xml": "<a/>" for k in range(15_000)}),
    },
    "sqlite": {
        "columns that double": lambda: database(f"CREATE TABLE t (a INTEGER, b REAL, {', '.join(doubling())})"),
        "an endless tree": endless_table,
        "a view that never ends": lambda: database(
            "CREATE TABLE u (a, b)",
            "CREATE VIEW t AS WITH RECURSIVE c(a, b) AS (SELECT 1, 2 UNION ALL SELECT a + 1, b FROM c) SELECT * FROM c",
            rows=(),
        ),
        "a check that doubles": lambda: database(
            f"CREATE TABLE t (a INTEGER, b REAL, {', '.join(doubling()[:20])}, CHECK (g19 IS NOT 7))"
        ),
        "an index of formulas": lambda: database(
            "CREATE TABLE t (a INTEGER, b REAL)", f"CREATE INDEX i ON t ({'+'.join(['a'] * 900)}, b)"
        ),
    },
    "duckdb": {
        "columns that double": lambda: duck_database(
            "CREATE TABLE t (a INTEGER, b DOUBLE, g0 DOUBLE GENERATED ALWAYS AS (b), "
            + ", ".join(f"g{k} DOUBLE GENERATED ALWAYS AS (g{k - 1} + g{k - 1})" for k in range(1, 10)) + ")",
            "INSERT INTO t (a, b) VALUES (1, 2), (2, 3), (3, 5)",
        ),
        "a view that never ends": lambda: duck_database(f"CREATE VIEW t AS {_COUNTLESS}"),
        "a view in place of a table": lambda: duck_database(_OTHER, f"CREATE VIEW t AS {_COUNTLESS}"),
        "a macro": lambda: duck_database(_FEW, f"CREATE MACRO t(x) AS TABLE {_COUNTLESS}"),
        "one value many times": lambda: duck_database(
            "CREATE TABLE t AS SELECT 1.5 AS a, 2 AS b FROM range(20000000)"
        ),
        "a long text many times": lambda: duck_database(
            "CREATE TABLE t AS SELECT repeat('x', 100000) AS a, range AS b FROM range(1000)"
        ),
    },
    "json lines": {
        "a line without end": lambda: b'{"a": "' + b"x" * 30_000_000,
        "missing cells": lambda: json.dumps({f"c{k}": k for k in range(10_000)}).encode() + b'\n{"c0":1}' * 200_000,
        "nested lists": lambda: b"[" * 1_000_000,
        "millions of keys": lambda: b"{" + b",".join(b'"%d":1' % k for k in range(500_000)) + b"}",
        "blank lines": lambda: b"\n" * 30_000_000,
        "a long number": lambda: b'{"a": ' + b"9" * 8_000_000 + b"}",
    },
}  # fmt: skip
