"""The bootstrap benchmark on a small slice, and its committed rows."""

import csv

import numpy as np

from benchmarks import rows
from benchmarks.studies import bootstrap
from drbo.claims.resampling import Confidence

SLICE = ["--graphs", "6ER1", "--seeds", "1", "--rows", "60", "--resamples", "3", "--workers", "1"]


def test_a_slice_runs(tmp_path):
    path = tmp_path / "rows.csv"
    bootstrap.main([*SLICE, "--save", str(path)])
    (row,) = csv.DictReader(path.read_text().splitlines())
    assert float(row["warm_seconds"]) > 0
    assert 0 <= float(row["mean_difference"]) <= 1


def test_differences_count_links_once_and_arrows_both_ways():
    one, two = (Confidence.of([graph], names=["a", "b"]) for graph in ([[0, 1], [0, 0]], [[0, 0], [1, 0]]))
    assert bootstrap.difference(one, two).tolist() == [1.0, 1.0, 0.0]


def test_reliability_of_two_tables(tmp_path):
    path = tmp_path / "rows.csv"
    bootstrap.main(["--reliability", "--tables", "2", "--resamples", "4", "--workers", "1", "--save", str(path)])
    found = list(csv.DictReader(path.read_text().splitlines()))
    assert len(found) == 20
    assert all(not row["share_true"] or 0 <= float(row["share_true"]) <= 1 for row in found)


def test_rows_are_committed():
    assert len(rows.load(rows.FOLDER / "bootstrap_reliability.csv")) == 40


def test_frequencies_of_the_committed_rows_are_honest():
    """No bin of links or arrows is overconfident by more than 0.1."""
    for row in rows.load(rows.FOLDER / "bootstrap_reliability.csv"):
        if row["share_true"] and int(row["count"]) > 50:
            assert float(row["mean_frequency"]) - float(row["share_true"]) < 0.1, row


def test_warm_starts_of_the_committed_rows_change_little():
    """At most 0.03 on average and 0.1 at the 95th percentile, at 8 times the cost of a fit or less."""
    found = rows.load(rows.FOLDER / "bootstrap.csv")
    assert len(found) >= 5
    assert np.mean([float(row["mean_difference"]) for row in found]) <= 0.03
    assert np.mean([float(row["p95_difference"]) for row in found]) <= 0.1
    assert max(float(row["warm_over_fit"]) for row in found) <= 8
