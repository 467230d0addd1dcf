"""The tables of the golden cases, each from a seed and nothing of drbo."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

Make = Callable[[], pd.DataFrame]
EFFECTS: dict[str, Callable[[Any], Any]] = {
    "linear": lambda x: x,
    "curved": lambda x: 2 * np.sin(1.5 * x) + 0.5 * x,
    "square": lambda x: x**2 - 1,
}
LABELS = np.array(["plain", "heat", "cool"])


def _same(given: Any) -> Any:
    return given


def grown(
    d: int = 6,
    n: int = 300,
    seed: int = 0,
    effect: str = "linear",
    degree: float = 1.2,
    shape: Callable[[Any], Any] = _same,
    then: Callable[[pd.DataFrame], pd.DataFrame] = _same,
) -> Make:
    """Return what makes rows of a random graph with ``degree`` parents per node.

    ``shape`` changes the noise (n, d) before it acts, and ``then`` finishes the table.
    """

    def make() -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        weights = rng.uniform(0.6, 1.4, size=(d, d)) * rng.choice([-1, 1], size=(d, d))
        weights *= np.triu(rng.random((d, d)) < 2 * degree / max(1, d - 1), 1)
        x = shape(rng.normal(size=(n, d)) * rng.uniform(0.7, 1.3, size=d))
        for j in range(d):
            for i in np.flatnonzero(weights[:, j]):
                x[:, j] += weights[i, j] * EFFECTS[effect](x[:, i])
        return then(pd.DataFrame(x[:, rng.permutation(d)], columns=[f"x{k}" for k in range(d)]))

    return make


def heavy(d: int = 6, n: int = 300, seed: int = 0) -> Make:
    """Return a table whose noise has heavy tails."""
    return grown(d, n, seed, shape=lambda noise: noise * np.abs(noise) ** 0.5)


def series(d: int = 5, n: int = 300, seed: int = 0) -> Make:
    """Return a table whose rows depend on the rows before."""

    def shape(noise: Any) -> Any:
        for row in range(1, n):
            noise[row] += 0.9 * noise[row - 1]
        return noise

    return grown(d, n, seed, shape=shape)


def experiments(d: int = 5, n: int = 360, seed: int = 0, effect: str = "linear") -> Make:
    """Return rows of three experiments, named in the column "run": one shifts a column, one widens another."""

    def shape(noise: Any) -> Any:
        noise[n // 3 : 2 * n // 3, 1] += 3
        noise[2 * n // 3 :, 2] *= 4
        return noise

    return with_column(grown(d, n, seed, effect, shape=shape), "run", lambda n: LABELS[np.arange(n) * 3 // n])


def panel(d: int = 5, n: int = 300, seed: int = 0) -> Make:
    """Return ten rows of each patient, named in the column "patient"."""
    rows = np.arange(n) // 10
    means = 2 * np.random.default_rng(8).normal(size=(rows[-1] + 1, d))[rows]
    return grown(d, n, seed, then=lambda frame: (frame + means).assign(patient=[f"p{k}" for k in rows]))


def mixed(d: int = 6, n: int = 300, seed: int = 0, levels: int = 2, every: int = 2) -> Make:
    """Return a table in which every so many columns hold categories of equal size."""

    def then(frame: pd.DataFrame) -> pd.DataFrame:
        for name in frame.columns[::every]:
            frame[name] = [f"level {k}" for k in frame[name].rank().to_numpy().astype(int) * levels // (n + 1)]
        return frame

    return grown(d, n, seed, then=then)


def categories(d: int = 6, n: int = 400, seed: int = 0) -> Make:
    return mixed(d, n, seed, levels=3, every=1)


def binary(d: int = 5, n: int = 300, seed: int = 0) -> Make:
    return grown(d, n, seed, then=lambda frame: (frame > frame.median()).astype(float))


def confounded(n: int = 800) -> pd.DataFrame:
    """Return rows of a -> b <- H -> c <- d and b -> e, without H."""
    rng = np.random.default_rng(0)
    a, d, hidden, *noise = rng.normal(size=(6, n))
    b, c = a + hidden + noise[0], d + hidden + noise[1]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": b + noise[2]})


def bent(scaled: float = 0.0) -> pd.DataFrame:
    """Return a cause with a curved effect, whose noise may have a spread that depends on the cause."""
    cause, noise = np.random.default_rng(0).uniform(-1, 1, size=(2, 1200))
    return pd.DataFrame({"cause": cause, "effect": np.exp(2 * cause) + (0.3 + scaled * np.abs(cause)) * noise})


def spread() -> pd.DataFrame:
    return bent(4.0)


def far() -> pd.DataFrame:
    """Return a curved effect of a cause that an experiment moves to where the curve is steeper."""
    cause, noise = 0.5 * np.random.default_rng(0).normal(size=(2, 600))
    cause[300:] += 2
    return pd.DataFrame({"cause": cause, "effect": cause**2 + noise, "run": np.repeat(LABELS[:2], 300)})


def sensors() -> pd.DataFrame:
    """Return two sensors of one hidden source, each of which one experiment shifts."""
    source, one, two = np.random.default_rng(0).normal(size=(3, 900))
    run = np.repeat(LABELS, 300)
    one, two = source + 0.5 * one + 3 * (run == "heat"), source + 0.5 * two + 3 * (run == "cool")
    return pd.DataFrame({"one": one, "two": two, "run": run})


def with_gaps(make: Make, share: float = 0.04) -> Make:
    return lambda: (frame := make()).mask(np.random.default_rng(7).random(frame.shape) < share)


def with_column(make: Make, name: str, values: Callable[[int], Any]) -> Make:
    """Return a table with one more column, whose values depend on the number of rows."""
    return lambda: (frame := make()).assign(**{name: values(len(frame))})
