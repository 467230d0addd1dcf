"""Two columns about whose direction a method is easily wrong with certainty: x is the cause of y, or nothing is."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]


def hard_pair(kind: str, n: int, seed: int) -> pd.DataFrame:
    """Return a table with the columns x and y in an order drawn with the seed."""
    rng = np.random.default_rng([list(HARD_PAIRS).index(kind), n, seed])
    x, y = HARD_PAIRS[kind](n, rng)
    frame = pd.DataFrame({"x": x, "y": y})
    return frame[["x", "y"] if rng.random() < 0.5 else ["y", "x"]]


def censored(n: int, rng: np.random.Generator) -> Pair:
    """Weibull times whose scale depends on x; observation ends at the quantile of 70%."""
    x = rng.normal(size=n)
    times = np.exp(rng.uniform(0.4, 1.0) * x) * rng.weibull(rng.uniform(1.0, 2.5), n)
    return x, np.minimum(times, np.quantile(times, 0.7))


def error_in_cause(n: int, rng: np.random.Generator) -> Pair:
    """A saturating effect of x, which is observed with an error of half its spread."""
    x = rng.normal(size=n)
    return x + 0.5 * rng.normal(size=n), np.tanh(1.5 * x) + 0.3 * rng.normal(size=n)


def error_in_linear_cause(n: int, rng: np.random.Generator) -> Pair:
    """Exponential columns with a linear effect of x, which is observed with an error of 0.7 of its spread."""
    x = rng.exponential(size=n) - 1
    return x + 0.7 * rng.normal(size=n), rng.uniform(0.7, 1.3) * x + rng.exponential(size=n)


def floor(n: int, rng: np.random.Generator) -> Pair:
    """A linear effect that is never seen below -0.5."""
    x = rng.normal(size=n)
    return x, np.maximum(x + rng.uniform(0.5, 1.0) * rng.normal(size=n), -0.5)


def beta(n: int, rng: np.random.Generator) -> Pair:
    """Beta regression with a logit link."""
    x, precision = rng.normal(size=n), rng.uniform(4, 12)
    mean = 1 / (1 + np.exp(-rng.uniform(0.7, 1.5) * x))
    return x, rng.beta(mean * precision, (1 - mean) * precision)


def zero_inflated(n: int, rng: np.random.Generator) -> Pair:
    """Counts with more zeros on counts with more zeros."""
    x = rng.poisson(3.0, n) * (rng.random(n) > 0.25)
    rate = np.exp(0.3 + rng.uniform(0.4, 0.8) * np.log1p(x))
    return x.astype(float), (rng.poisson(rate) * (rng.random(n) > 0.25)).astype(float)


def mixture(n: int, rng: np.random.Generator) -> Pair:
    """No edge: two groups of rows that differ in the means and spreads of both columns."""
    group = rng.random(n) < rng.uniform(0.3, 0.7)
    means, spreads = rng.uniform(1.0, 2.5, 2) * rng.choice([-1, 1], 2), rng.uniform(0.5, 1.5, 2)
    x, y = (group * means[j] + np.where(group, spreads[j], 1.0) * rng.normal(size=n) for j in range(2))
    return x, y


def hidden_exponential(n: int, rng: np.random.Generator) -> Pair:
    """No edge: a hidden cause that acts on both columns through an exponential."""
    hidden = rng.normal(size=n)
    x, y = (np.exp(rng.uniform(0.5, 0.9) * hidden) + rng.uniform(0.3, 0.8) * rng.normal(size=n) for _ in range(2))
    return x, y


def heteroscedastic(n: int, rng: np.random.Generator) -> Pair:
    """A linear effect with noise whose spread grows with x."""
    x = rng.normal(size=n)
    return x, rng.uniform(0.7, 1.3) * x + 0.7 * np.exp(rng.uniform(0.4, 0.8) * x) * rng.normal(size=n)


#: Makers of each kind; new kinds go to the end, because the place is part of the seed.
HARD_PAIRS: dict[str, Callable[[int, np.random.Generator], Pair]] = {
    "censored": censored,
    "error in the cause, nonlinear": error_in_cause,
    "error in the cause, linear": error_in_linear_cause,
    "floor on the effect": floor,
    "beta regression": beta,
    "zero-inflated counts": zero_inflated,
    "mixture, no edge": mixture,
    "hidden cause through exp, no edge": hidden_exponential,
    "heteroscedastic": heteroscedastic,
}
#: Kinds in which neither column causes the other.
NO_EDGE = ("mixture, no edge", "hidden cause through exp, no edge")
