"""Far-out values, pulled in before a regression that is not linear sees them."""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats

#: Values further than this many interquartile ranges outside the quartiles are "far out" (Tukey 1977).
FAR_OUT = 3.0


def winsorized(values: npt.ArrayLike) -> Floats:
    """Return the columns with far-out values pulled in to Tukey's outer fences.

    A Gaussian likelihood pays any price for one wild value: without this an isolated outlier "proves" an edge.
    Fences are three interquartile ranges outside the quartiles: two in a million values of a Gaussian column. A column
    with half of its values equal has no spread to measure by and stays as it is.

    Examples
    --------
    >>> winsorized([[0.0], [1.0], [2.0], [3.0], [100.0]]).ravel().tolist()
    [0.0, 1.0, 2.0, 3.0, 9.0]
    """
    array = np.asarray(values, dtype=np.float64)
    pulled: Floats = np.clip(array, *far_out(array))
    return pulled


def far_out(values: Floats) -> tuple[Floats, Floats]:
    """Return Tukey's outer fences of each column (d,): what lies beyond them is far out."""
    low, high = np.quantile(values, [0.25, 0.75], axis=0)
    reach = np.where(high > low, FAR_OUT * (high - low), np.inf)
    return low - reach, high + reach
