"""The study of calibration: its tables, its bins and its error."""

import numpy as np
import pytest

from benchmarks.studies import calibration
from benchmarks.studies.calibration import D, Network, drawn, posteriors, resamples, summarised
from drbo.graph.dag import is_acyclic


@pytest.mark.parametrize("kind", calibration.KINDS)
def test_tables_and_their_graphs(kind):
    values, dag = drawn(kind, 60, seed=2)
    assert values.shape == (60, D)
    assert is_acyclic(dag)
    np.testing.assert_array_equal(drawn(kind, 60, seed=2)[0], values)


def test_densities_take_turns():
    edges = [np.mean([drawn("linear", 10, 4 * k + turn)[1].sum() for k in range(30)]) for turn in range(4)]
    assert edges == pytest.approx([5, 10, 20, 30], rel=0.15)


def _networks(rng, wrong):
    """Return networks whose links have the given probability, up to an error, and no arrows to speak of."""
    found = []
    for _ in range(40):
        given = rng.uniform(0.1, 0.9 - wrong, size=45)
        found.append(Network((given, rng.random(45) < given + wrong), (given, np.ones(45, dtype=bool))))
    return found


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_the_error_is_the_distance_between_given_and_found(wrong, rng):
    whole, *bins = summarised(_networks(rng, wrong), "links")
    assert whole["error"] == pytest.approx(wrong, abs=0.05)
    assert whole["low"] <= whole["error"] + 0.01 <= whole["high"] + 0.05
    assert sum(row["count"] for row in bins) == whole["count"] == 40 * 45
    assert {row["count"] for row in bins} == {180}


def test_probabilities_near_0_and_1_are_left_out():
    given = np.concatenate([np.full(30, 0.01), np.linspace(0.1, 0.9, 15)])
    network = Network((given, given > 0.5), (given, given > 0.5))
    assert next(summarised([network], "links"))["count"] == 15
    assert list(summarised([Network((given[:30], given[:30] > 0), network.arrows)], "links")) == []


@pytest.mark.parametrize("part", [posteriors, resamples])
def test_a_slice_runs(part):
    options = {} if part is posteriors else {"resamples": 4}
    rows = list(part(seeds=range(2), rows=(100,), kinds=("linear",), **options))
    assert {row["graphs"] for row in rows} == {"sparse"}
    assert {row["edge"] for row in rows} >= {"links"}
