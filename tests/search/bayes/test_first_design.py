import numpy as np
import pytest
import torch
from scipy.stats import kstest

from drbo.graph import is_acyclic
from drbo.knowledge import Constraints, Knowledge
from drbo.search.bayes.first_design import latin_hypercube, repaired


@pytest.mark.parametrize(("n", "dim"), [(1, 1), (1, 30), (64, 3), (7, 270)])
def test_every_coordinate_has_one_point_in_each_of_n_strips(n, dim, rng):
    points = latin_hypercube(n, dim, rng)
    assert points.shape == (n, dim)
    assert points.dtype == torch.float32
    assert float(points.abs().max()) <= 1.0
    strips = np.floor((points.double().numpy() + 1) / 2 * n).clip(0, n - 1)
    assert (np.sort(strips, axis=0) == np.arange(n)[:, None]).all()


def test_points_are_uniform_and_coordinates_unrelated():
    points = np.concatenate([latin_hypercube(16, 4, np.random.default_rng(seed)).numpy() for seed in range(200)])
    for coordinate in points.T:
        assert kstest(coordinate, "uniform", args=(-1, 2)).pvalue > 1e-3
    off_diagonal = np.corrcoef(points, rowvar=False) - np.eye(4)
    assert np.abs(off_diagonal).max() < 0.1


def test_the_generator_decides():
    first, again, other = (latin_hypercube(8, 5, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


class TestRepaired:
    @staticmethod
    def dag(rng, d=8):
        order = rng.permutation(d)
        return np.triu(rng.random((d, d)) < 0.5, 1)[np.ix_(order, order)]

    def test_without_knowledge_nothing_changes(self, rng):
        dag = self.dag(rng)
        assert (repaired(dag, Constraints.none(8)) == dag).all()

    def test_the_knowledge_holds_afterwards(self, rng):
        names = [f"x{k}" for k in range(8)]
        known = Knowledge(required=["x3 -> x0", "x0 -> x5"], forbidden=["x1 -> x2"], roots=["x7"], max_parents=2)
        limits = known.compile(names)
        for _ in range(50):
            dag = self.dag(rng)
            made = repaired(dag, limits)
            assert limits.violations(made) == []
            assert is_acyclic(made)
            assert not (made & ~dag & ~limits.required).any()
