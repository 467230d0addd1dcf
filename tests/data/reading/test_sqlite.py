import sqlite3

import pytest

from drbo.data.reading.read import read_table
from drbo.errors import DataError


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "data.db"
    with sqlite3.connect(path) as link:
        link.execute("CREATE TABLE people (height REAL, city TEXT, n INTEGER)")
        link.executemany("INSERT INTO people VALUES (?, ?, ?)", [(1.8, "Ulm", 1), (None, "Bonn", 2), (1.6, "Ulm", 3)])
    link.close()
    return path


def _change(path, *commands):
    with sqlite3.connect(path) as link:
        for command in commands:
            link.execute(command)
    link.close()


def test_the_only_table_or_the_one_that_is_named(database):
    notes = []
    frame = read_table(database, notes=notes)
    assert notes == ["table 'people'"]
    assert frame["city"].tolist() == ["Ulm", "Bonn", "Ulm"]
    assert frame["height"].isna().tolist() == [False, True, False]
    _change(database, 'CREATE TABLE "two words" (a, b)', 'INSERT INTO "two words" VALUES (1, 2), (3, 4)')
    assert read_table(f"{database}::two words").to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(DataError, match="2 tables: people, two words") as caught:
        read_table(database)
    assert "data.db::patients" in caught.value.hint
    with pytest.raises(DataError, match="no table 'other'"):
        read_table(f"{database}::other")


def test_nothing_is_written_and_limits_hold(database):
    before = database.read_bytes(), sorted(database.parent.iterdir())
    read_table(database)
    assert (database.read_bytes(), sorted(database.parent.iterdir())) == before
    with pytest.raises(DataError, match="needs more than"):
        read_table(database, max_input=len(before[0]) - 1)
    _change(database, "INSERT INTO people VALUES (1.0, zeroblob(3000000), 4)")
    with pytest.raises(DataError, match=r"data\.db"):
        read_table(database)


def test_views_are_not_run_and_computed_cells_are_bounded(database):
    _change(
        database,
        "CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT x, x AS y FROM c",
        "CREATE TABLE made (a, b AS (hex(zeroblob(2000000))))",
        "INSERT INTO made (a) VALUES (1)",
    )
    with pytest.raises(DataError, match="no table 'endless'"):
        read_table(f"{database}::endless")
    with pytest.raises(DataError, match="not a plain one"):
        read_table(f"{database}::made")


def test_what_is_no_database(tmp_path):
    (tmp_path / "t.db").write_bytes(b"SQLite format 3\0" + b"x" * 2000)
    with pytest.raises(DataError, match="not a complete SQLite database"):
        read_table(tmp_path / "t.db")
