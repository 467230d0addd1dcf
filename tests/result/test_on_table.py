"""A result and a table: its own rows, and others."""

import numpy as np
import pytest

from drbo import DrBO
from drbo.errors import DataError
from drbo.result import on_table


@pytest.fixture
def fitted(rng):
    x = rng.normal(size=(200, 3))
    x[:, 2] += x[:, 0] + x[:, 1]
    return DrBO(score="bic-nv", random_state=0).fit(x).result_, x


def test_the_rows_of_the_fit_are_recognised_in_any_order(fitted, rng):
    result, x = fitted
    assert on_table.has_seen(result, x[rng.permutation(200)])
    assert not on_table.has_seen(result, x[:100])
    assert not on_table.has_seen(result, x[:, :2])


def test_judging_on_the_rows_of_the_fit_warns(fitted):
    result, x = fitted
    with pytest.warns(UserWarning, match="learned from these rows"):
        found = on_table.judgement(result, x, {"n_random": 19, "n_permutations": 19, "path": False})
    assert found.score_name == "bic-nv"


def test_effects_of_all_columns_are_those_that_are_not_zero(fitted, rng):
    result, x = fitted
    every = on_table.effects_between(result, x, None, None, "error").effects
    assert {(one.source, one.target) for one in every} == {("x0", "x2"), ("x1", "x2")}
    one = on_table.effects_between(result, rng.normal(size=(50, 3)), "x0", "x1", "error").effects[0]
    assert not any(one.total)
    with pytest.raises(DataError, match="has no column 'x2'"):
        on_table.effects_between(result, x[:, :2], None, None, "error")
    assert np.isfinite(one.low)
