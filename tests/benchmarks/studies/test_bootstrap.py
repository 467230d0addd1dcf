"""The bootstrap benchmark on a small slice, and its committed rows."""

import numpy as np

from benchmarks.rows import read
from benchmarks.studies import bootstrap
from tests.results import shares


def test_a_slice_runs():
    [row] = bootstrap.cost(graphs=("6ER1",), seeds=[0], rows=60, resamples=3, workers=1)
    assert row["warm_cpu_seconds"] > 0
    assert 0 <= row["mean_difference"] <= 1


def test_differences_count_links_once_and_arrows_both_ways():
    one, two = (shares([graph], names=["a", "b"]) for graph in ([[0, 1], [0, 0]], [[0, 0], [1, 0]]))
    assert bootstrap.difference(one, two).tolist() == [1.0, 1.0, 0.0]


def test_warm_starts_of_the_committed_rows_change_little():
    """At most 0.03 on average and 0.1 at the 95th percentile, at 8 times the cost of a fit or less."""
    found = read("bootstrap")
    assert len(found) >= 5
    assert np.mean([float(row["mean_difference"]) for row in found]) <= 0.03
    assert np.mean([float(row["p95_difference"]) for row in found]) <= 0.1
    assert max(float(row["warm_over_fit"]) for row in found) <= 8
