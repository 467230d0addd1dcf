"""Hard pairs: what misleads in each."""

import pytest

from benchmarks.experiments.hard_pairs import HARD_PAIRS, NO_EDGE, hard_pair


@pytest.mark.parametrize("kind", HARD_PAIRS)
def test_every_kind_has_two_related_columns(kind):
    frame = hard_pair(kind, 1_000, 100)
    assert set(frame) == {"x", "y"}
    assert abs(frame["x"].corr(frame["y"], method="spearman")) > 0.15
    assert frame.equals(hard_pair(kind, 1_000, 100))


def test_columns_end_where_their_kind_says():
    censored = hard_pair("censored", 1_000, 100)["y"]
    assert (censored == censored.max()).mean() == pytest.approx(0.3, abs=0.01)
    floor = hard_pair("floor on the effect", 1_000, 100)["y"]
    assert floor.min() == -0.5
    assert (floor == -0.5).mean() > 0.2
    assert hard_pair("beta regression", 1_000, 100)["y"].between(0, 1).all()
    assert set(NO_EDGE) < set(HARD_PAIRS)


def test_the_order_of_the_columns_says_nothing():
    assert {tuple(hard_pair("beta regression", 50, seed)) for seed in range(100, 110)} == {("x", "y"), ("y", "x")}
