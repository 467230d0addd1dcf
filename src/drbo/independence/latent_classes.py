"""Do two classes of rows explain a dependence? A hidden cause with two states, such as a species or a site.

Within each class the columns are independent and normal. Such tables have residuals that look like those of additive
noise in one direction, although no column causes the other.
"""

import numpy as np

from drbo import _core
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
    n, d = len(values), int(values.shape[1])
    penalty = 0.5 * (n_classes * (2 * d + 1) - 1) * float(np.log(n))
    if n_classes == 1:
        return -0.5 * n * float(np.log(2 * np.pi * values.var(axis=0)).sum() + d) - penalty
    columns = np.ascontiguousarray(values.T)
    starts = [_first_class(column) for column in columns]
    return max(_core.climb_classes(columns, start, MAX_STEPS, LEAST_GAIN, LEAST_VARIANCE) for start in starts) - penalty


def _first_class(column: Floats) -> Floats:
    """Return the shares (n,) of the first of two classes that a column separates at its median."""
    shares: Floats = np.where(column > np.median(column), FIRST_SHARE, 1 - FIRST_SHARE)
    return shares
