import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from drbo.independence import latent_classes
from drbo.independence.latent_classes import classes_gain


def _line(cause, effect):
    return effect - np.polyval(np.polyfit(cause, effect, 1), cause)


@pytest.mark.parametrize("seed", range(5))
def test_classes_explain_classes_and_arrows_explain_arrows(seed):
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=600)
    a, b = 2.5 * group + rng.normal(size=(2, 600))
    assert classes_gain(a, b, _line(a, b)) > 0
    for cause in (rng.normal(size=600), rng.uniform(size=600), rng.exponential(size=600)):
        effect = cause / cause.std() + rng.normal(size=600)
        assert classes_gain(cause, effect, _line(cause, effect)) < 0


def test_the_likelihood_is_that_of_a_mixture_with_diagonal_covariances(rng):
    group = rng.integers(2, size=800)
    values = 4.0 * group[:, None] + rng.normal(size=(800, 2))
    values = (values - values.mean(axis=0)) / values.std(axis=0)
    found = latent_classes._mixture(values, 2) + 0.5 * 9 * np.log(800)
    expected = GaussianMixture(2, covariance_type="diag", n_init=5, random_state=0, tol=1e-8).fit(values)
    assert found == pytest.approx(expected.score(values) * 800, abs=0.01)


def test_units_do_not_matter(rng):
    a = rng.normal(size=300)
    b = a + rng.normal(size=300)
    gain = classes_gain(a, b, _line(a, b))
    assert classes_gain(1e3 * a - 7, 1e-3 * b, 1e-3 * _line(a, b)) == pytest.approx(gain, rel=1e-6)
