import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.knowledge import Knowledge
from drbo.search.bayes.screen import screened


def test_true_parents_are_kept():
    data = simulate("100ER2", n=1_000, seed=100)
    allowed = screened(data.X, 24).allowed
    assert allowed.sum(axis=0).max() == 24
    assert not allowed.diagonal().any()
    assert (allowed & data.dag).sum() > 0.95 * data.dag.sum()


@pytest.mark.parametrize("function", [np.abs, np.square, np.tanh, lambda x: np.sign(x) * x**2])
def test_nonlinear_parents_are_seen(function, rng):
    x = rng.normal(size=(400, 12))
    x[:, 5] = function(x[:, 9]) + 0.2 * x[:, 5]
    limits = screened(x, 2)
    assert limits.allowed[9, 5]
    assert limits.allowed[5, 9]


def test_knowledge_comes_first(rng):
    names = list("abcdef")
    x = rng.normal(size=(50, 6))
    x[:, 0] = x[:, 1] + 0.01 * x[:, 0]
    known = Constraints.of(Knowledge(required=["f -> a", "e -> a"], forbidden=["b -> a"]), names)
    limits = screened(x, 3, known)
    assert limits.allowed[:, 0].sum() == 3
    assert limits.allowed[[4, 5], 0].all()
    assert not limits.allowed[1, 0]
    assert limits.allowed[0, 1]
    assert (limits.required == known.required).all()
    assert known.allowed[2, 0]  # what was handed in stays as it was


def test_more_variables_than_rows_and_room_for_all(rng):
    x = rng.normal(size=(10, 15))
    x[:, 3] = 1.0  # constant: no dependence at all
    assert (screened(x, 4).allowed.sum(axis=0) == 4).all()
    assert (screened(x, 99).allowed.sum(axis=0) == 14).all()
