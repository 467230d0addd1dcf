import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from drbo.search.bayes.descent import descend


def _cost(at):
    return np.array([rosen(row) for row in at]), np.array([rosen_der(row) for row in at])


def test_all_functions_reach_their_minimum():
    starts = np.random.default_rng(0).uniform(-1.5, 1.5, size=(5, 4))
    ends = descend(_cost, starts, np.full(4, -2.0), np.full(4, 2.0), 200)
    for start, end in zip(starts, ends, strict=True):  # some starts lead to the minimum beside the lowest one
        theirs = minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", bounds=[(-2, 2)] * 4)
        assert rosen(end) < max(theirs.fun, 1e-6) + 1e-3 or rosen(end) == pytest.approx(3.7, abs=0.1)


def test_bounds_hold_and_their_minimum_is_found():
    bound = np.array([0.4, 0.3])

    def cost(at):
        assert (at <= bound).all()
        return _cost(at)

    end = descend(cost, np.zeros((1, 2)), np.full(2, -2.0), bound, 100)[0]
    theirs = minimize(rosen, np.zeros(2), jac=rosen_der, method="L-BFGS-B", bounds=[(-2, 0.4), (-2, 0.3)])
    assert end == pytest.approx(theirs.x, abs=1e-4)


def test_each_function_has_steps_of_its_own():
    """What one of them does changes nothing for the others."""
    starts = np.random.default_rng(1).uniform(-1.5, 1.5, size=(4, 3))
    bounds = np.full(3, -2.0), np.full(3, 2.0)
    together = descend(_cost, starts, *bounds, 30)
    alone = np.concatenate([descend(_cost, start[None], *bounds, 30) for start in starts])
    assert together == pytest.approx(alone, abs=1e-9)


def test_no_more_evaluations_than_allowed():
    calls = []
    descend(lambda at: (calls.append(1), _cost(at))[1], np.zeros((2, 3)), np.full(3, -2.0), np.full(3, 2.0), 7)
    assert len(calls) == 7
