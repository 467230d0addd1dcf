"""The bootstrap benchmark on a small slice, and its committed rows."""

import numpy as np

from benchmarks.rows import read
from benchmarks.studies import bootstrap
from drbo.claims.confidence import Confidence


def test_a_slice_runs():
    [row] = bootstrap.cost(graphs=("6ER1",), seeds=[0], rows=60, resamples=3, workers=1)
    assert row["warm_seconds"] > 0
    assert 0 <= row["mean_difference"] <= 1


def test_differences_count_links_once_and_arrows_both_ways():
    one, two = (Confidence.of([graph], names=["a", "b"]) for graph in ([[0, 1], [0, 0]], [[0, 0], [1, 0]]))
    assert bootstrap.difference(one, two).tolist() == [1.0, 1.0, 0.0]


def test_reliability_of_two_tables():
    found = list(bootstrap.reliability(seeds=range(2), resamples=4, workers=1))
    assert len(found) == 20
    assert {row["tables"] for row in found} == {2}
    assert all(row["share_true"] == "" or 0 <= row["share_true"] <= 1 for row in found)


def test_rows_are_committed():
    assert len(read("bootstrap_reliability")) == 40


def test_frequencies_of_the_committed_rows_are_honest():
    """No bin of links or arrows is overconfident by more than 0.1."""
    for row in read("bootstrap_reliability"):
        if row["share_true"] and int(row["count"]) > 50:
            assert float(row["mean_frequency"]) - float(row["share_true"]) < 0.1, row


def test_warm_starts_of_the_committed_rows_change_little():
    """At most 0.03 on average and 0.1 at the 95th percentile, at 8 times the cost of a fit or less."""
    found = read("bootstrap")
    assert len(found) >= 5
    assert np.mean([float(row["mean_difference"]) for row in found]) <= 0.03
    assert np.mean([float(row["p95_difference"]) for row in found]) <= 0.1
    assert max(float(row["warm_over_fit"]) for row in found) <= 8
