"""All programs have the same covariance of the same file, and edges are counted as rows are added."""

import sys

import numpy as np
import pytest

from benchmarks import covariance_jobs
from benchmarks.gran_dag import Unavailable
from benchmarks.studies import big_tables
from drbo.data.statistics import sums

pytest.importorskip("pyarrow")


def test_all_programs_agree(tmp_path):
    path = tmp_path / "table.parquet"
    big_tables.write_table(path, 500, 4)
    found = {name: job(path)[1] for name, job in covariance_jobs.METHODS.items() if name not in ("duckdb", "drbo fit")}
    for matrix in found.values():
        assert np.allclose(matrix, found["numpy.cov"], rtol=1e-5)


def test_a_fit_is_timed_as_a_whole(tmp_path):
    path = tmp_path / "table.parquet"
    big_tables.write_table(path, 500, 4)
    _, edges = covariance_jobs.drbo_fit(path)
    assert 0 < len(edges) <= 6


def test_tables_are_kept(tmp_path):
    for _ in range(2):
        assert not list(big_tables.passes(rows=(300,), columns=3, methods=(), keep=str(tmp_path)))
    assert [file.name for file in tmp_path.iterdir()] == ["300x3.parquet"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_program_runs_in_a_process_of_its_own():
    (row,) = big_tables.passes(rows=(500,), columns=3, methods=("drbo",))
    assert row["cpu_seconds"] > 0
    assert 0.01 < row["gib"] < 2
    with pytest.raises(Unavailable, match="duckdb"):
        list(big_tables.passes(rows=(500,), columns=3, methods=("duckdb",), duckdb_python="false"))


def test_edges_are_counted_as_rows_are_added():
    rows = list(big_tables.strength(rows=(400, 1_000), seeds=(3,)))
    assert [row["rows"] for row in rows] == [400, 1_000]
    assert all(row["edges"] == row["edges_without"] for row in rows)  # a least strength is asked of long tables only


def test_answers_of_pieces_are_compared_with_those_in_memory(monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 1)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 300)
    rows = list(big_tables.answers(rows=(900,), seeds=(1,), kinds=("missing cells", "categories")))
    assert [row["kind"] for row in rows] == ["missing cells", "categories"]
    assert all(row["edges"] > 5 for row in rows)
    assert float(rows[-1]["difference"]) < 1e-9
    assert rows[-1]["same_class"]
