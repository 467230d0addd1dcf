"""Is a column normal? The test of Anderson and Darling."""

from math import exp

import numpy as np
from scipy.special import log_ndtr

from drbo.arrays import Floats

#: Below this value of the statistic the p-value is above 0.1.
MIDDLE = 0.6


def normality(column: Floats) -> float:
    """Return the p-value of normality, with mean and variance estimated (Anderson & Darling 1954).

    The approximation is that of D'Agostino & Stephens (1986, "Goodness-of-fit techniques", table 4.9). It is exact
    enough below 0.1; larger p-values are shown as 0.5.
    """
    n, spread = len(column), column.std(ddof=1)
    if spread == 0.0:
        return 0.0
    z = np.sort((column - column.mean()) / spread)
    odd = 2.0 * np.arange(n) + 1.0
    statistic = -n - float(odd @ (log_ndtr(z) + log_ndtr(-z[::-1]))) / n
    statistic *= 1.0 + 0.75 / n + 2.25 / n**2
    if statistic < MIDDLE:
        return 0.5
    return exp(1.2937 - 5.709 * statistic + 0.0186 * min(statistic, 10.0) ** 2)
