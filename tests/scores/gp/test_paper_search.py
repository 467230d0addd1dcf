import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.scores.gp import paper_search as gp_paper_search
from drbo.scores.gp.kernels import ParentSets
from drbo.scores.gp.paper import GpNV
from drbo.scores.gp.paper_search import LengthScaleSearch
from tests.scores.conftest import N, all_families


@pytest.mark.parametrize(("scale", "alpha"), [(1.0, 1.0), (3.0, 0.01), (1.0, 1e-8), (30.0, 1.0)])
def test_no_length_scale_of_a_fine_grid_is_better(values, scale, alpha):
    families = all_families(4)
    fit = GpNV(Statistics.from_array(scale * values), alpha=alpha).fit(families)
    for row in range(0, len(families), 4):
        inputs, y = scale * values[:, families.parents[row]], scale * values[:, families.nodes[row]]
        distance = ((inputs[:, None] - inputs[None]) ** 2).sum(axis=2)
        scales = np.exp(np.concatenate([np.linspace(0, 5, 51), np.linspace(5.1, np.log(1e5), 15)]))
        kernels = np.exp(-0.5 * distance / scales[:, None, None] ** 2) + alpha * np.eye(N)
        half = np.linalg.solve(np.linalg.cholesky(kernels), np.broadcast_to(y[:, None], (len(scales), N, 1)))
        likelihood = -0.5 * ((half**2).sum(axis=(1, 2)) + np.linalg.slogdet(kernels)[1] + N * np.log(2 * np.pi))
        assert fit.log_likelihood[row] >= likelihood.max() - 1e-3 - 1e-6 * abs(likelihood.max())


@pytest.mark.parametrize("median_scale", [False, True])
def test_the_longest_scale_needs_no_factorisation(values, median_scale):
    families = all_families(4)
    (_, data), *_ = GpNV(Statistics.from_array(values + 1.0))._parts(families)
    search = LengthScaleSearch(data, ParentSets.of(families), 1.0, median_scale)
    every = np.arange(len(search.sets.parents))
    end = np.full((len(every), 1), search.axis.nodes[0])
    factorised = search._evaluate(every, search.sets.children, end)
    for formula, exact in zip(search._flat(), factorised, strict=True):
        finite = np.isfinite(formula)
        assert formula[finite] == pytest.approx(exact[..., 0][finite], rel=1e-5)
        assert np.array_equal(finite, np.isfinite(exact[..., 0]))


def test_interpolation_is_exact_for_polynomials(rng):
    points = np.sort(rng.uniform(0, 6, size=(7, 6)), axis=1)
    polynomials = [np.polynomial.Polynomial(rng.normal(size=6)) for _ in range(7)]
    values = np.stack([p(x) for p, x in zip(polynomials, points, strict=True)])
    u = rng.uniform(0, 6, size=7)
    u[0] = points[0, 2]  # at a point itself
    expected = [p(x) for p, x in zip(polynomials, u, strict=True)]
    assert gp_paper_search._interpolate(points, values, u) == pytest.approx(expected, rel=1e-6)
    slopes = [p.deriv()(x) for p, x in zip(polynomials, points[:, 1], strict=True)]
    assert gp_paper_search._slope_at(points, values, 1) == pytest.approx(slopes, rel=1e-6)
