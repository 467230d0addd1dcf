"""Columns without units: standardised, so that no unit of measurement can decide anything."""

import numpy as np
import numpy.typing as npt

#: Digits after the point of standardised columns that count.
UNIT_DIGITS = 9


def standardized(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the columns with mean 0 and variance 1; a constant column becomes 0, a missing cell stays NaN.

    Examples
    --------
    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if np.isnan(values).any():
        centred = values - np.nanmean(values, axis=0)
        deviation = np.nanstd(centred, axis=0)
    else:
        centred = values - values.mean(axis=0)
        deviation = centred.std(axis=0)
    scaled: npt.NDArray[np.float64] = centred / np.where(deviation > 0, deviation, 1.0)
    return scaled


def unit_free(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return standardised columns that are the same to the last bit in all units, but for rare cases.

    The rounding errors of other units sit in the digits that are cut off; left in, they decide ties, and from there on
    a search takes another way.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> bool((unit_free(x) == unit_free(x * [0.03, 700.0])).all())
    True
    """
    rounded: npt.NDArray[np.float64] = np.round(standardized(values), UNIT_DIGITS)
    return rounded
