import numpy as np
import pytest
from scipy.stats import multivariate_normal

from drbo.scores.families import Families
from drbo.search.bayes import surrogate as process
from drbo.search.bayes.surrogate import GpSurrogate, _Node

pytestmark = pytest.mark.floats

D = 6


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def families(rng, n, node=0):
    sets = rng.random((n, D)) < 0.4
    sets[:, node] = False
    return np.unique(sets, axis=0)


def covariance(left, right, theta, trend, along=None):
    """The kernel written out, one pair at a time; ``along``: the cheap values of both sides."""
    matrix = np.empty((len(left), len(right)))
    for a, x in enumerate(left):
        for b, y in enumerate(right):
            apart = int((x != y).sum())
            together = int((x & y).sum())
            matrix[a, b] = process.LEVEL_VARIANCE + trend * 4 / D * together + (1 - trend) * np.exp(-theta * apart)
            if along is not None:
                matrix[a, b] += process.RELATIVE_VARIANCE * along[0][a] * along[1][b]
    return matrix


def values_of(sets, rng):
    return sets @ np.linspace(-1, 1, D) + 0.2 * rng.normal(size=len(sets))


def values_at(drawn, node, parents, cheap=None):
    """Evaluate the drawn functions (S, m) of a node, term by term, at parent sets (m, D)."""
    x, rows = parents.astype(float), slice(drawn.starts[node], drawn.starts[node + 1])
    known = drawn.signs[:, rows].T > 0
    apart = (x[:, None] != known[None]).sum(axis=2)
    parity = (-1.0) ** (x @ drawn.members[node])
    total = drawn.offset[:, node, None] + drawn.slope[:, node] @ x.T
    if cheap is not None:
        total = total + drawn.relative[:, node, None] * cheap
    return total + drawn.weight[:, rows] @ drawn.decay[node][apart].T + drawn.amplitude[:, node] @ parity.T


@pytest.mark.parametrize("relative", [False, True])
def test_the_mean_is_that_of_the_posterior(rng, relative):
    sets = families(rng, 20)
    local = values_of(sets, rng)
    cheap = 2 * local + rng.normal(size=len(sets)) if relative else None
    surrogate = GpSurrogate(D, relative)
    surrogate.add(np.zeros(len(sets), dtype=np.intp), sets, local, np.zeros((D, D), dtype=bool), cheap)
    node = surrogate._nodes[0]
    others = families(rng, 12)
    cheap_there = rng.normal(size=len(others)) if relative else None
    along = [(each - cheap.mean()) / cheap.std() for each in (cheap_there, cheap)] if relative else None
    across = covariance(others, sets, node.theta, node.trend, along)
    known = covariance(sets, sets, node.theta, node.trend, along and [along[1], along[1]])
    target = (local - local.mean()) / local.std()
    noise = node.noise * np.minimum(process.LEAST_NOISE + (target - target.min()) ** 2, 1.0)
    expected = local.mean() + local.std() * across @ np.linalg.solve(known + np.diag(noise), target)
    found = surrogate.mean(Families(np.zeros(len(others), dtype=np.intp), others), cheap_there)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("relative", [False, True])
def test_draws_have_the_mean_and_spread_of_the_posterior(rng, monkeypatch, relative):
    monkeypatch.setattr(process, "N_FEATURES", 1_000)
    sets = families(rng, 25)
    local = values_of(sets, rng)
    cheap = 2 * local + rng.normal(size=len(sets)) if relative else None
    surrogate = GpSurrogate(D, relative)
    for node in range(D):
        surrogate.add(np.full(len(sets), node), sets, local, np.zeros((D, D), dtype=bool), cheap)
    fitted = surrogate._nodes[0]
    new = families(np.random.default_rng(9), 12)
    new_cheap = 2 * values_of(new, rng) if relative else None
    drawn = values_at(surrogate.draw(1_500, rng), 0, new, new_cheap)
    old_along, new_along = None, None
    if relative:
        old_along, new_along = ((side - cheap.mean()) / cheap.std() for side in (cheap, new_cheap))

    def kernel(left, right, *sides):
        return covariance(left, right, fitted.theta, fitted.trend, sides if relative else None)

    z, spread = (local - local.mean()) / local.std(), local.std()
    noise = fitted.noise * np.minimum(process.LEAST_NOISE + (z - z.min()) ** 2, 1.0)
    inner = kernel(sets, sets, old_along, old_along) + np.diag(noise)
    across = kernel(new, sets, new_along, old_along)
    scale = z @ np.linalg.solve(inner, z) / len(z)
    mean = local.mean() + spread * across @ np.linalg.solve(inner, z)
    own = kernel(new, new, new_along, new_along)
    deviation = spread * np.sqrt(scale * np.diag(own - across @ np.linalg.solve(inner, across.T)))
    assert np.abs(drawn.mean(axis=0) - mean).max() < 0.1 * deviation.max() + 0.01
    assert drawn.std(axis=0) == pytest.approx(deviation, rel=0.25, abs=0.01)


def test_a_cold_draw_is_the_mean(rng):
    sets = families(rng, 20)
    surrogate = GpSurrogate(D)
    for node in range(D):
        surrogate.add(np.full(len(sets), node), sets, values_of(sets, rng), np.zeros((D, D), dtype=bool))
    drawn = surrogate.draw(3, rng, temperature=0.0)
    assert np.ptp(values_at(drawn, 0, families(rng, 10)), axis=0).max() < 1e-9


def test_hyperparameters_have_the_highest_likelihood(rng):
    sets = families(rng, 30)
    node = _Node(D)
    node.add(sets.astype(float), values_of(sets, rng), np.zeros(len(sets)), np.arange(len(sets)))
    z = node.standardized()
    found = {}
    for theta in process.THETAS:
        for trend in process.TRENDS:
            for noise in process.NOISES:
                spread = noise * np.minimum(process.LEAST_NOISE + (z - z.min()) ** 2, 1.0)
                matrix = covariance(sets, sets, theta, trend) + np.diag(spread)
                scale = z @ np.linalg.solve(matrix, z) / len(z)
                found[theta, trend, noise] = multivariate_normal(cov=scale * matrix).logpdf(z)
    assert max(found, key=found.get) == (node.theta, node.trend, node.noise)


def test_a_factor_that_grew_is_the_factor(rng):
    sets = families(rng, 40).astype(float)
    local, cheap = values_of(sets, rng), rng.normal(size=len(sets))
    node = _Node(D)
    node.add(sets[:24], local[:24], cheap[:24], np.arange(24))
    tuned_at = node.tuned_at
    node.add(sets[24:], local[24:], cheap[24:], np.arange(24, 40))
    assert len(node.values) < process.GROWTH * tuned_at + 1
    if node.tuned_at == tuned_at:
        assert node.factor @ node.factor.T == pytest.approx(
            covariance(sets > 0, sets > 0, node.theta, node.trend), rel=1e-9, abs=2 * node.noise
        )


def test_only_the_nearest_families_are_kept(rng, monkeypatch):
    monkeypatch.setattr(process, "MAX_FAMILIES", 20)
    monkeypatch.setattr(process, "KEPT_FAMILIES", 10)
    sets = families(rng, 60)
    surrogate = GpSurrogate(D)
    center = np.zeros((D, D), dtype=bool)
    center[1, 0] = True
    surrogate.add(np.zeros(len(sets), dtype=int), sets, values_of(sets, rng), center)
    kept = surrogate._nodes[0]
    assert len(sets) > 20
    assert len(kept.values) == 10
    assert kept.factor.shape == (10, 10)
    distance = np.abs(sets - center[:, 0].astype(float)).sum(axis=1)
    assert np.abs(kept.sets - center[:, 0]).sum(axis=1).max() <= np.sort(distance)[9]
