"""Seeds and readers of tables in the formats of other programs: Excel, Feather, SQLite, encodings, standard input.

Every table is also described, as ``drbo check`` does it, because a description never stops at the first problem.
"""

import gzip
import io
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.data.workbooks import write_xlsx

TEXT = "größe;preis;stadt\n1,80;1.250,50 €;Köln\n1,65;999,00 €;Ulm\n1,71;12,00 €;Köln\n1,90;7,25 €;Bonn\n"
ROWS: list[list[Any]] = [["a", "b", "c"], [1, 2.5, "x"], [2, 3.5, "y"], [3, None, "x"], [4, 1.5, "y"]]


def described(*ways: tuple[str | Path, dict[str, Any]]) -> None:
    """Read a table in several ways, describe it, and check it; the last refusal is raised once all were tried."""
    from drbo.data.checks.advice import look_at
    from drbo.data.checks.check import check_table
    from drbo.data.reading.read import read_table
    from drbo.errors import DrboError

    refusal = None
    for path, how in ways:
        try:
            frame = read_table(path, notes=[], **how)
            look_at(frame)
            check_table(frame, on_constant="drop", on_collinear="keep", missing="drop")
        except DrboError as error:
            refusal = error
    if refusal is not None:
        raise refusal


def excel_seeds() -> list[bytes]:
    titled = [["Report", None, None], [None] * 3, *ROWS, ["#N/A", "1.250,50 €", True]]
    found = []
    for sheets in ({"s": ROWS}, {"one": titled, "two": [["a", "b"], [1, 2], [3, 4]]}, {"s": [[1, 2], [3, 4], [5, 7]]}):
        with tempfile.TemporaryDirectory() as folder:
            write_xlsx(Path(folder) / "t.xlsx", sheets)
            found.append((Path(folder) / "t.xlsx").read_bytes())
    return found


def feather_seeds() -> list[bytes]:
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.5, 3, 4], "b": [1, 2, 3, 5], "c": list("xyxy"), "e": [True, False, True, True]})
    frame["d"] = frame["c"].astype("category")
    dates = pd.DataFrame({"t": pd.date_range("2020-01-01", periods=4), "n": [1.0, None, 2.0, 3.0]})
    found = []
    for table, codec in ((frame, "uncompressed"), (frame, "lz4"), (dates, "zstd")):
        buffer = io.BytesIO()
        table.to_feather(buffer, compression=codec)
        found.append(buffer.getvalue())
    return found


def sqlite_seeds() -> list[bytes]:
    statements = (
        "CREATE TABLE t (a REAL, b INTEGER, c TEXT)",
        'CREATE TABLE "odd ""name" (x, y BLOB)',
        "CREATE VIEW v AS SELECT a, b FROM t",
    )
    found = []
    for count in (1, 2, 3):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.db"
            base = sqlite3.connect(path)
            base.execute("PRAGMA page_size = 512")
            for statement in statements[:count]:
                base.execute(statement)
            base.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS[1:])
            if count > 1:
                base.execute('INSERT INTO "odd ""name" VALUES (?, ?)', ("1,5", b"\0\xff"))
            base.commit()
            base.close()
            found.append(path.read_bytes())
    return found


def duckdb_seeds() -> list[bytes]:
    from tests.faults.bomb_tables import duck_database

    few = "CREATE TABLE t AS SELECT range AS a, range * 1.5 AS b, 'x' || range AS c FROM range(9)"
    return [
        duck_database(few),
        duck_database(few, 'CREATE TABLE "odd ""name" (x INTEGER)', "CREATE VIEW v AS SELECT 1"),
        duck_database("CREATE TABLE t AS SELECT range % 2 = 0 AS a, DATE '2020-01-01' + range::INT AS b FROM range(9)"),
        duck_database("CREATE TABLE t AS SELECT NULL::DOUBLE AS a, range::DECIMAL(9, 2) AS b FROM range(9)"),
        duck_database("CREATE TABLE t AS SELECT 'x' || (range % 3) AS a, range AS b FROM range(3000)"),
        duck_database("CREATE SCHEMA s", "CREATE TABLE s.t AS SELECT range AS a, -range AS b FROM range(9)"),
    ]


def encoding_seeds() -> list[bytes]:
    return [TEXT.encode(name) for name in ("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be", "utf-16-le")]


def stdin_seeds() -> list[bytes]:
    text = b"a,b\n1,2\n2,3.5\n3,1\n4,7\n"
    return [text, gzip.compress(text, mtime=0), *feather_seeds()[:1], *sqlite_seeds()[:1], *excel_seeds()[:1]]


def read_excel(raw: bytes, folder: Path) -> None:
    (folder / "t.xlsx").write_bytes(raw)
    described((folder / "t.xlsx", {"sheet": "2", "header": False}), (folder / "t.xlsx", {}))


def read_feather(raw: bytes, folder: Path) -> None:
    (folder / "t.feather").write_bytes(raw)
    described((folder / "t.feather", {}))


def json_lines_seeds() -> list[bytes]:
    rows = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]
    return ["".join(f"{json.dumps(row)}\n" for row in rows[:count]).encode() for count in (4, 3)]


def read_json_lines(raw: bytes, folder: Path) -> None:
    (folder / "t.jsonl").write_bytes(raw)
    described((folder / "t.jsonl", {}))


def read_sqlite(raw: bytes, folder: Path) -> None:
    (folder / "t.db").write_bytes(raw)
    described((folder / "t.db", {}), (f"{folder / 't.db'}::v", {}), (f"{folder / 't.db'}::t", {}))


def read_duckdb(raw: bytes, folder: Path) -> None:
    (folder / "t.duckdb").write_bytes(raw)
    described((folder / "t.duckdb", {}), (f"{folder / 't.duckdb'}::t", {}))


def read_encodings(raw: bytes, folder: Path) -> None:
    """Read a text of an unknown encoding, and as the one that a person named."""
    path = folder / "t.txt"
    path.write_bytes(raw)
    marks = {"separator": ";", "decimal": ","}
    described((path, {"encoding": "cp1252"}), (path, {"encoding": "utf-16"}), (path, marks), (path, {}))


def read_stdin(raw: bytes, folder: Path) -> None:
    """Read a table from standard input, whatever its first bytes say."""
    del folder
    before = sys.stdin
    sys.stdin = SimpleNamespace(buffer=io.BytesIO(raw), isatty=lambda: False)  # type: ignore[assignment]
    try:
        described(("-", {}))
    finally:
        sys.stdin = before
