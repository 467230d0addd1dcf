import numpy as np
import pytest
import torch

from drbo.scores.base import Families
from drbo.scores.linear import residual_variances
from drbo.scores.regressions import residuals


def _families(rng, count, d):
    nodes = rng.integers(d, size=count)
    parents = rng.random((count, d)) < rng.random((count, 1))
    parents[np.arange(count), nodes] = False
    return Families(nodes, parents)


def test_residuals_are_those_of_solving_the_normal_equations(rng):
    correlation = np.corrcoef(rng.normal(size=(100, 12)) @ rng.normal(size=(12, 12)), rowvar=False)
    families = _families(rng, 60, 12)
    found = residual_variances(correlation, families)
    for value, node, mask in zip(found, families.nodes, families.parents, strict=True):
        weights = np.linalg.solve(correlation[np.ix_(mask, mask)], correlation[mask, node])
        assert value == pytest.approx(1.0 - weights @ correlation[mask, node], rel=1e-7)


def test_collinear_parents_are_named_and_empty_families_leave_everything():
    correlation = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
    residual = np.zeros(3)
    starts, members = np.array([0, 2, 2, 3]), np.array([0, 1, 0])
    residuals(0, 3, correlation, np.array([2, 2, 2]), starts, members, 1e-11, residual)
    assert np.isnan(residual[0])
    assert residual[1:].tolist() == [1.0, 0.75]


def test_threads_do_not_change_the_answer(rng, monkeypatch):
    correlation = np.corrcoef(rng.normal(size=(100, 30)), rowvar=False)
    families = _families(rng, 200, 30)
    alone = residual_variances(correlation, families)
    monkeypatch.setattr("drbo.threads.SMALL_WORK", 1)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert (residual_variances(correlation, families) == alone).all()
    finally:
        torch.set_num_threads(before)
