"""All programs have the same covariance of the same file, and edges are counted as rows are added."""

import sys

import numpy as np
import pytest

from benchmarks import covariance_jobs
from benchmarks.gran_dag import Unavailable
from benchmarks.studies import big_tables

pytest.importorskip("pyarrow")


def test_all_programs_agree(tmp_path):
    path = tmp_path / "table.parquet"
    big_tables.write_table(path, 500, 4)
    found = {name: job(path)[1] for name, job in covariance_jobs.METHODS.items() if name != "duckdb"}
    for matrix in found.values():
        assert np.allclose(matrix, found["numpy.cov"], rtol=1e-5)


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
