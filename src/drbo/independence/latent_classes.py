"""Do two classes of rows explain a dependence? A hidden cause with two states, such as a species or a site.

Within each class the columns are independent and normal. Such tables have residuals that look like those of additive
noise in one direction, although no column causes the other.
"""

import numpy as np
from scipy.special import logsumexp

from drbo.arrays import Floats

#: Steps of the EM algorithm at most, and the gain of the log likelihood per row below which they end.
MAX_STEPS, LEAST_GAIN = 200, 1e-6
#: Smallest variance of a class, where the whole column has variance 1.
LEAST_VARIANCE = 0.02
#: How sure the first step is that a row above the median of a column is in one class, and a row below it in the other.
FIRST_SHARE = 0.9
#: Parameters of a smooth curve, about.
CURVE_PARAMETERS = 5


def classes_gain(cause: Floats, effect: Floats, residual: Floats) -> float:
    """Return by how much two classes have a higher log likelihood than an arrow, less its BIC penalty.

    The arrow has densities of one or two normal components for the cause and for the residual of the effect.

    Parameters
    ----------
    cause, effect : (n,) both columns, or what other causes leave of them.
    residual : (n,) of the effect, given the cause.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=500)
    >>> a, b = 2.0 * group + rng.normal(size=(2, 500))
    >>> classes_gain(a, b, b - np.polyval(np.polyfit(a, b, 1), a)) > 0
    True
    >>> c = a + rng.normal(size=500)
    >>> classes_gain(a, c, c - a) > 0
    False
    """
    pair, noise = _standardised(np.column_stack([cause, effect])), _standardised(residual[:, None])
    fitted = float(np.log(residual.std() / effect.std()))
    penalty = 0.5 * CURVE_PARAMETERS * float(np.log(len(pair)))
    arrow = _density(pair[:, :1]) + _density(noise) - len(pair) * fitted - penalty
    return float(_mixture(pair, 2) - arrow)


def _standardised(values: Floats) -> Floats:
    centred: Floats = values - values.mean(axis=0)
    scaled: Floats = centred / centred.std(axis=0)
    return scaled


def _density(column: Floats) -> float:
    """Return the BIC of a column of one or two normal components, whichever is higher."""
    return max(_mixture(column, 1), _mixture(column, 2))


def _mixture(values: Floats, n_classes: int) -> float:
    """Return the log likelihood of normal classes with independent columns, less half the BIC penalty."""
    n, d = values.shape
    parameters = n_classes * (2 * d + 1) - 1
    starts = [np.ones((n, 1))] if n_classes == 1 else [_halves(column) for column in values.T]
    return max(_climbed(values, start) for start in starts) - 0.5 * parameters * float(np.log(n))


def _halves(column: Floats) -> Floats:
    """Return shares (n, 2) of classes that a column separates at its median."""
    above = np.where(column > np.median(column), FIRST_SHARE, 1 - FIRST_SHARE)
    return np.column_stack([above, 1 - above])


def _climbed(values: Floats, shares: Floats) -> float:
    """Return the log likelihood to which the EM algorithm climbs from shares (n, k) of classes."""
    found = -np.inf
    for _ in range(MAX_STEPS):
        weights = shares.sum(axis=0)
        means = shares.T @ values / weights[:, None]
        variances = np.maximum(shares.T @ values**2 / weights[:, None] - means**2, LEAST_VARIANCE)
        scaled = (values[:, None] - means) ** 2 / variances + np.log(2 * np.pi * variances)
        joint = np.log(weights / len(values)) - 0.5 * scaled.sum(axis=2)
        rows = logsumexp(joint, axis=1)
        shares, before, found = np.exp(joint - rows[:, None]), found, float(rows.sum())
        if found - before < LEAST_GAIN * len(values):
            break
    return found
