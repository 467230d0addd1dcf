"""Gaussian processes by inducing points: exact where all points are such, else the posterior of their formula."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from benchmarks.methods import inducing
from benchmarks.methods.variants import NOISE, draw_posterior


@pytest.fixture
def data():
    """Distinct vectors of three nodes, values and vectors asked."""
    rng = np.random.default_rng(0)
    seen = np.stack([rng.permutation(np.unique(rng.integers(0, 2, (60, 7)), axis=0))[:30] for _ in range(3)])
    values = (seen @ rng.normal(size=(3, 7, 1)))[..., 0] + rng.normal(size=(3, 30))
    asked = rng.integers(0, 2, (3, 11, 7))
    return tuple(torch.as_tensor(array, dtype=torch.float64) for array in (seen, values, asked))


def test_with_all_points_it_is_the_exact_process(data, monkeypatch):
    monkeypatch.setattr(inducing, "NOISES", (NOISE,))
    monkeypatch.setattr(inducing, "JITTER", 1e-12)
    seen, values, asked = data
    for noise in (torch.zeros(3, 11), torch.ones(3, 11)):
        found = inducing.draw(seen, values, asked, noise, count=30)
        exact = [draw_posterior(*parts) for parts in zip(seen, values, asked, noise, strict=True)]
        assert found.numpy() == pytest.approx(torch.stack(exact).numpy(), abs=1e-5)


def test_the_bound_is_the_evidence_with_all_points_and_below_it_with_fewer(data):
    seen, values, _ = data
    target = (values - values.mean(1, keepdim=True)) / values.std(1, correction=0, keepdim=True)
    kernel = inducing.rbf(seen, seen, 2.0) + 0.1 * torch.eye(30)
    evidence = [multivariate_normal(cov=k.numpy()).logpdf(y.numpy()) for k, y in zip(kernel, target, strict=True)]
    assert inducing.fit(seen, seen, target, 2.0, (0.1,))[0].bound.numpy() == pytest.approx(evidence, abs=1e-2)
    assert (inducing.fit(seen[:, :10], seen, target, 2.0, (0.1,))[0].bound.numpy() < evidence).all()


def test_fewer_points_give_titsias_posterior(data, monkeypatch):
    monkeypatch.setattr(inducing, "LENGTH_SCALES", (2.0,))
    monkeypatch.setattr(inducing, "NOISES", (0.1,))
    seen, values, asked = data
    found = [inducing.draw(seen, values, asked, torch.full((3, 11), z), count=8) for z in (0.0, 1.0)]
    chosen = inducing.choose(seen, 8)
    for node in range(3):
        y = values[node].numpy()
        scaled = (y - y.mean()) / y.std()
        points, rows, new = seen[node, chosen[node]], seen[node], asked[node]
        own, cross, ask = (inducing.rbf(points[None], other[None], 2.0)[0].numpy() for other in (points, rows, new))
        own = own + inducing.JITTER * np.eye(8)
        inverse = np.linalg.inv(own + cross @ cross.T / 0.1)  # Titsias (2009), equation 6
        mean = ask.T @ inverse @ cross @ scaled / 0.1
        variance = 1 - np.diag(ask.T @ np.linalg.solve(own, ask)) + np.diag(ask.T @ inverse @ ask)
        assert found[0][node].numpy() == pytest.approx(y.mean() + y.std() * mean, abs=1e-8)
        assert (found[1] - found[0])[node].numpy() == pytest.approx(y.std() * np.sqrt(variance), abs=1e-6)


def test_points_are_distinct_while_there_are_distinct_ones(data):
    seen = data[0].repeat(1, 2, 1)  # every vector twice
    chosen = inducing.choose(seen, 30) % 30
    assert [sorted(rows) for rows in chosen.tolist()] == [list(range(30))] * 3
    assert inducing.choose(seen, 100).shape == (3, 60)


def test_it_is_gpytorchs_posterior(data):
    gpytorch = pytest.importorskip("gpytorch")
    seen, values, asked = (part[0] for part in data)
    target = (values - values.mean()) / values.std(correction=0)
    points = seen[inducing.choose(seen[None], 8)[0]]
    fitted = inducing.fit(points[None], seen[None], target[None], 2.0, (0.1,))[0]
    across = torch.linalg.solve_triangular(fitted.factor, inducing.rbf(points[None], asked[None], 2.0), upper=False)
    mean = torch.linalg.solve_triangular(fitted.inner, across, upper=False)[0].T @ fitted.weights[0]

    class Model(gpytorch.models.ExactGP):
        def __init__(self):
            likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
            likelihood.noise = 0.1
            super().__init__(seen, target, likelihood)
            self.mean_module, base = gpytorch.means.ZeroMean(), gpytorch.kernels.RBFKernel().double()
            base.lengthscale = 2.0
            self.covar_module = gpytorch.kernels.InducingPointKernel(base, points.clone(), likelihood)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    with torch.no_grad(), gpytorch.settings.sgpr_diagonal_correction(False):  # else it is FITC's
        other = Model().double().eval()(asked).mean
    assert mean.numpy() == pytest.approx(other.numpy(), abs=1e-3)
