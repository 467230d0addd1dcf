"""Rank HSIC: a fast test of independence that detects any kind of dependence.

The Hilbert-Schmidt independence criterion (Gretton et al. 2008) of two columns, each replaced by the normal scores of
its ranks, so that neither outliers nor units matter. Both kernels are Gaussian and approximated with fixed landmarks
(Nystrom), so the time grows linearly with the rows. The null distribution is approximated by a gamma distribution with
the exact mean and variance over all permutations of the rows (Kazi-Aoual et al. 1995) and the skewness of the limit.
No permutations are drawn, so the same data always give the same p-value.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, ndtri

from drbo import _core
from drbo.arrays import Floats
from drbo.data.statistics.units import normal_scores

#: Landmarks of the kernel, at equally likely quantiles of the standard normal distribution.
N_LANDMARKS = 24
#: Kernel exp(-(u - v)^2 / width^2), with the median distance of two standard normal numbers.
WIDTH = float(2**0.5 * ndtri(0.75))
#: Eigenvectors of the kernel with less than this share of the largest eigenvalue are dropped.
LEAST_EIGENVALUE = 1e-6
#: With fewer rows the test has no power and returns 1.
MIN_ROWS = 10
#: More rows estimate the dependence better, but count as no more than this: exact tests of many rows reject every real
#: table for deviations that do not matter.
MOST_WORTH = 1_000
#: Rows are taken to be no more like the rows before them than this.
MOST_ALIKE = 0.999


class RankFeatures(NamedTuple):
    """One side of a test: kernel features of a column and the sums that its null distribution needs."""

    features: Floats  # (n, r), columns of mean 0
    total: float  # trace of the kernel matrix K = features @ features.T
    squares: float  # trace of K^2
    cubes: float  # trace of K^3
    diagonal: float  # sum of the squared diagonal of K
    lagged: float = 0.0  # autocorrelation of the features with the row before, where that matters

    @property
    def of_series(self) -> "RankFeatures":
        """The same of rows in an order in which neighbours may be alike."""
        alike = float((self.features[1:] * self.features[:-1]).sum()) / max(self.total, 1e-300)
        return self._replace(lagged=min(max(alike, 0.0), MOST_ALIKE))

    @classmethod
    def centred(cls, features: Floats) -> "RankFeatures":
        """Centre features and compute their sums."""
        features = features - features.mean(axis=0)
        gram = features.T @ features
        lengths = np.square(features).sum(axis=1)
        return cls(
            features,
            float(lengths.sum()),
            float(np.square(gram).sum()),
            float(((gram @ gram) * gram).sum()),
            float(np.square(lengths).sum()),
        )


class Independence(NamedTuple):
    """The outcome of one test."""

    p_value: float
    dependence: float  # effect size from 0 (independent) to 1 (each side is a function of the other)


def rank_features(column: npt.ArrayLike) -> RankFeatures:
    """Return the features of a numeric column; equal values share the mean of their ranks."""
    x = np.ascontiguousarray(column, dtype=np.float64)
    if not len(x):
        return RankFeatures.centred(_kernel_features(x))
    untied = _untied(len(x))
    features = _core.by_rank(x, untied.features)
    if features is not None:
        return untied._replace(features=features)
    return RankFeatures.centred(_kernel_features(normal_scores(x)))


def category_features(codes: npt.ArrayLike) -> RankFeatures:
    """Return the features of a categorical column: two rows are alike if they are of one level."""
    levels, place = np.unique(np.asarray(codes), return_inverse=True)
    return RankFeatures.centred(np.eye(len(levels))[place])


def independence(left: RankFeatures, right: RankFeatures) -> Independence:
    """Test whether two columns are independent.

    The statistic is the squared Frobenius norm of the cross-covariance of the features. With more than 1,000 rows, the
    p-value is the one that the same dependence would have in 1,000 rows: what the statistic exceeds its mean under
    independence by grows with the rows and is scaled down. The effect size is a kernel correlation: the root of the
    share that the statistic takes of its largest value, after its mean under independence was subtracted from both.
    Rows that are like the rows before them count as fewer (:func:`share_of_rows`).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.normal(size=(2, 500))
    >>> independence(rank_features(x), rank_features(noise)).p_value > 0.05
    True
    >>> independence(rank_features(x), rank_features(x**2 + noise)).p_value < 1e-6
    True
    """
    n = len(left.features)
    if n < MIN_ROWS or min(left.squares, right.squares) <= 0.0:  # a constant is independent of everything
        return Independence(1.0, 0.0)
    statistic = _core.cross_squares(left.features, right.features)
    mean, variance, skewness = _null_moments(left, right, n)
    share = share_of_rows(left, right)
    excess = (statistic - mean / share) / max((left.squares * right.squares) ** 0.5 - mean / share, 1e-300)
    counted = mean + (statistic - mean / share) * min(share, MOST_WORTH / n)
    return Independence(_gamma_tail(counted, mean, variance, skewness), min(max(excess, 0.0), 1.0) ** 0.5)


def share_of_rows(left: RankFeatures, right: RankFeatures) -> float:
    """Return how many independent rows a row of two series is worth for a test of their independence.

    The statistic of two series whose features have the autocorrelations r and s, each of order 1, is
    (1 + rs) / (1 - rs) times as large under independence (Bartlett 1935).

    Examples
    --------
    >>> import numpy as np
    >>> steps = np.random.default_rng(0).normal(size=(2, 500))
    >>> noise, walk = (rank_features(column).of_series for column in (steps[0], np.cumsum(steps[1])))
    >>> share_of_rows(noise, walk) > 0.9, share_of_rows(walk, walk) < 0.1
    (True, True)
    """
    both = left.lagged * right.lagged
    return (1.0 - both) / (1.0 + both)


def _null_moments(left: RankFeatures, right: RankFeatures, n: int) -> tuple[float, float, float]:
    """Return mean, variance and skewness of the statistic under independence."""
    mean = left.total * right.total / (n - 1)
    spread = [(n - 1) * side.squares - side.total**2 for side in (left, right)]
    uneven = [n * (n + 1) * side.diagonal - (n - 1) * (side.total**2 + 2 * side.squares) for side in (left, right)]
    variance = 2 * spread[0] * spread[1] / ((n - 1) ** 2 * (n + 1) * (n - 2))
    variance += uneven[0] * uneven[1] / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
    skewness = 8 * left.cubes * right.cubes / (2 * left.squares * right.squares) ** 1.5
    return mean, variance, skewness


def _gamma_tail(statistic: float, mean: float, variance: float, skewness: float) -> float:
    """Return P(X >= statistic) of the shifted gamma distribution (Pearson's type III) with these moments."""
    if variance <= 0.0:
        return 1.0
    shape = 4.0 / skewness**2
    scale = variance**0.5 * skewness / 2.0
    return float(gammaincc(shape, max(0.0, (statistic - mean) / scale + shape)))


@lru_cache(maxsize=1)
def _landmarks() -> tuple[Floats, Floats]:
    """Return the landmarks (m,) and the map (m, r) from kernel values at them to features."""
    points: Floats = ndtri((np.arange(N_LANDMARKS) + 0.5) / N_LANDMARKS)
    eigenvalues, vectors = np.linalg.eigh(np.exp(-(((points[:, None] - points) / WIDTH) ** 2)))
    kept = eigenvalues > LEAST_EIGENVALUE * eigenvalues[-1]
    return points, vectors[:, kept] / np.sqrt(eigenvalues[kept])


def _kernel_features(scores: Floats) -> Floats:
    points, to_features = _landmarks()
    features: Floats = np.exp(-(((scores[:, None] - points) / WIDTH) ** 2)) @ to_features
    return features


@lru_cache(maxsize=4)
def _untied(n_rows: int) -> RankFeatures:
    """Return the features of the ranks 1, ..., n: those of every column without ties are a permutation of them."""
    return RankFeatures.centred(_kernel_features(normal_scores(np.arange(n_rows))))
