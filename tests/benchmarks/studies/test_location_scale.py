"""The likelihood of a spread that depends on the causes, against formulas and against a plain regression."""

import numpy as np
import pytest

from benchmarks.studies.location_scale import SplinesLS, log_spread, run
from drbo import Families
from drbo.data.statistics.statistics import Statistics


def test_a_constant_spread_leaves_the_variance_of_the_residuals(rng):
    x = np.column_stack([np.ones(400), rng.normal(size=400)])
    y = x @ [1.0, 2.0] + rng.normal(size=400)
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    assert log_spread(y, x, x[:, :1]) == pytest.approx(np.log(np.mean(residual**2)), abs=1e-3)


def test_a_spread_that_changes_is_found(rng):
    x = rng.uniform(-1, 1, size=20_000)
    basis = np.column_stack([np.ones_like(x), x])
    y = 0.5 * x + np.exp(1.5 * x) * rng.normal(size=len(x))
    assert log_spread(y, basis, basis) == pytest.approx(3 * x.mean(), abs=0.03)  # the mean of ln variance


def test_the_score_tells_cause_from_effect_by_the_spread(rng):
    x = rng.uniform(-1, 1, size=500)
    score = SplinesLS(Statistics.from_array(np.column_stack([x, np.exp(x) * rng.normal(size=500)])))
    families = Families.from_sets(2, [(0, ()), (0, (1,)), (1, ()), (1, (0,))])
    gains = score.local(families)
    assert gains[3] - gains[2] > gains[1] - gains[0] > 0
    assert score.parameters(families).tolist() == [0, 10, 0, 10]


def test_each_score_has_a_row():
    rows = list(run(seeds=[100], rows=[100], kinds=("heteroscedastic", "null"), scores=("splines", "splines-ls")))
    assert [(row["kind"], row["score"]) for row in rows] == [
        (kind, score) for kind in ("heteroscedastic", "null") for score in ("splines", "splines-ls")
    ]
