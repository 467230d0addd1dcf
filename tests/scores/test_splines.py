import numpy as np
import pytest

from drbo.data.table import Table
from drbo.scores.base import Families
from drbo.scores.gp import standardized, winsorized
from drbo.scores.splines import SplineScore, natural_spline

N = 200


@pytest.fixture
def values(rng):
    x = rng.normal(size=(N, 4))
    x[:, 1] += 2 * np.sin(2 * x[:, 0])
    x[:, 2] += x[:, 1] ** 2 - x[:, 0]
    return x


def test_the_basis_is_orthonormal_centred_and_linear_in_the_tails():
    x = np.linspace(-3, 3, 400)
    basis = natural_spline(x, 5)
    assert basis.T @ basis == pytest.approx(np.eye(5), abs=1e-10)
    assert basis.mean(axis=0) == pytest.approx(0, abs=1e-12)
    for tail in (slice(0, 18), slice(-18, None)):  # beyond the outer knots at 5% and 95%
        assert np.diff(basis[tail], 2, axis=0) == pytest.approx(0, abs=1e-10)


def test_local_is_the_least_squares_fit_on_the_basis(values):
    score = SplineScore(Table.from_array(values))
    families = Families.from_sets(4, [(1, ()), (1, (0,)), (2, (0, 1)), (3, (0, 1, 2))])
    local = score.local(families)
    columns = standardized(winsorized(values))
    for row, (node, parents) in enumerate([(1, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 2])]):
        df = int(score.parameters(*_tensors(families[[row]]))[0, 0]) // max(1, len(parents))
        design = np.column_stack([np.ones(N), *(natural_spline(columns[:, j], df) for j in parents)])
        residual = columns[:, node] - design @ np.linalg.lstsq(design, columns[:, node], rcond=None)[0]
        expected = local[0] if row == 0 else local[row]
        scale = np.log(np.mean(residual**2)) - np.log(np.mean((columns[:, node] - columns[:, node].mean()) ** 2))
        empty = score.local(Families.from_sets(4, [(node, ())]))[0]
        assert expected - empty == pytest.approx(scale, abs=1e-6)


def _tensors(families):
    import torch

    return torch.as_tensor(families.nodes), torch.as_tensor(families.parents)[:, None, :]


def test_units_do_not_matter_and_nonlinear_causes_are_found(values):
    families = Families.from_sets(4, [(1, ()), (1, (0,)), (3, ()), (3, (0,))])
    scaled = values * np.array([0.01, 100.0, 1.0, 30.0]) - 3.0
    shares = []
    for x in (values, scaled):
        score = SplineScore(Table.from_array(x))
        local = score.local(families)
        shares.append(-N * local + score.family_price(families))
    gains = [(share[1] - share[0], share[3] - share[2]) for share in shares]
    assert gains[0] == pytest.approx(gains[1], abs=1e-6)
    assert gains[0][0] > 50
    assert gains[0][1] < 0
