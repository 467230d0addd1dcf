"""DuckDB tables: read as they are, in pieces or at once, and nothing else that a database names is run or reached."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading.read import open_source, read_table
from drbo.data.reading.source import ReadOptions, frames_of
from drbo.data.statistics.stream import streamed
from drbo.errors import DataError

duckdb = pytest.importorskip("duckdb", reason="needs the extra drbo[big]")


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "data.duckdb"
    _change(
        path,
        "CREATE TABLE people (height DOUBLE, city VARCHAR, n INTEGER)",
        "INSERT INTO people VALUES (1.8, 'Ulm', 1), (NULL, 'Bonn', 2), (1.6, 'Ulm', 3)",
    )
    return path


def _change(path, *commands):
    with duckdb.connect(str(path)) as link:
        for command in commands:
            link.execute(command)


def test_cells_are_read_as_they_are(database):
    frame = read_table(database)
    assert frame["city"].tolist() == ["Ulm", "Bonn", "Ulm"]
    assert frame["height"].isna().tolist() == [False, True, False]
    assert frame["n"].tolist() == [1, 2, 3]


def test_one_of_several_tables_is_named_after_two_colons(database):
    _change(database, 'CREATE TABLE "two ""words" AS SELECT i AS a, 2 * i AS b FROM range(4) r(i)')
    assert read_table(f'{database}::two "words')["b"].tolist() == [0, 2, 4, 6]
    for name, words in (("", r"2 tables: people, two .*data\.duckdb::patients"), ("::other", "no table 'other'")):
        with pytest.raises(DataError, match=words):
            read_table(f"{database}{name}")


def test_a_long_table_comes_in_pieces_and_in_order(tmp_path):
    path = tmp_path / "t.ddb"
    _change(path, "CREATE TABLE t AS SELECT i AS a, i * i AS b, i % 7 AS c FROM range(50000) r(i)")
    frame = pd.DataFrame({"a": np.arange(50_000)}).assign(b=lambda f: f["a"] ** 2, c=lambda f: f["a"] % 7)
    pieces = list(frames_of(open_source(path, ReadOptions(drop=["c"]))))
    assert len(pieces) > 2
    assert np.array_equal(pd.concat(pieces).to_numpy(), frame[["a", "b"]].to_numpy())
    found = streamed(open_source(path))
    assert (found.n, found.names) == (50_000, ("a", "b", "c"))
    assert np.allclose(found.moments.covariance, np.cov(frame.T.to_numpy(dtype=float), bias=True), rtol=1e-12)


def test_nothing_is_written_and_limits_hold(database):
    before = database.read_bytes(), sorted(database.parent.iterdir())
    read_table(database)
    assert (database.read_bytes(), sorted(database.parent.iterdir())) == before
    _change(database, "INSERT INTO people SELECT 1.0, repeat('x', 100000), 4 FROM range(50)")
    with pytest.raises(DataError, match="needs more than"):
        read_table(database, max_input=database.stat().st_size)


def test_views_are_not_run(database):
    secret = database.parent / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    _change(database, f"CREATE VIEW endless AS SELECT * FROM read_csv('{secret}')")
    with pytest.raises(DataError, match="no table 'endless'"):
        read_table(f"{database}::endless")


def test_what_is_no_database(tmp_path, monkeypatch):
    (tmp_path / "t.duckdb").write_bytes(b"x" * 20_000)
    with pytest.raises(DataError, match="not a complete DuckDB database"):
        read_table(tmp_path / "t.duckdb")
    _change(tmp_path / "e.duckdb", "CREATE TABLE t (a INT, b INT)")
    with pytest.raises(DataError, match="column names but no rows"):
        read_table(tmp_path / "e.duckdb")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DataError, match=r"needs DuckDB, which is not installed .pip install drbo.big"):
        read_table(tmp_path / "t.duckdb")


def test_the_command_ends_without_complaints_of_the_database(database):
    command = [sys.executable, "-m", "drbo", "check", str(database)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "height" in done.stdout
    assert "leak" not in done.stderr


def test_no_progress_bar_is_drawn_into_the_output(database):
    code = f"""
import duckdb, pathlib
from drbo.data.files.packed import InputLimit
from drbo.data.reading.duck import duckdb_pieces
links, connect = [], duckdb.connect
assert connect().execute("SELECT current_setting('enable_progress_bar')").fetchone() == (True,)  # as at a prompt
duckdb.connect = lambda *words, **more: links.append(connect(*words, **more)) or links[-1]
pieces = duckdb_pieces(pathlib.Path({str(database)!r}), [], InputLimit(), table="")
assert len(next(pieces)) == 3
assert links[0].execute("SELECT current_setting('enable_progress_bar')").fetchone() == (False,)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
