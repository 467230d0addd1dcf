import numpy as np
import pytest
import torch
from scipy.stats import kstest

from drbo.search.starts import latin_hypercube


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
