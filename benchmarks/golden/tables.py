"""The tables of the golden cases, each from a seed and nothing of drbo."""

from collections.abc import Callable
from functools import partial
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


def _grown(d: int, n: int, seed: int, effect: str, degree: float, draw: Callable[..., Any], adapt: Any) -> pd.DataFrame:
    """Return rows of a random graph with ``degree`` parents per node; ``adapt`` changes the noise before it acts."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    weights = rng.uniform(0.6, 1.4, size=(d, d)) * rng.choice([-1, 1], size=(d, d))
    weights *= np.triu(rng.random((d, d)) < 2 * degree / max(1, d - 1), 1)
    x = adapt(draw(rng, (n, d)) * rng.uniform(0.7, 1.3, size=d))
    for j in range(d):
        for i in np.flatnonzero(weights[:, j]):
            x[:, j] += weights[i, j] * EFFECTS[effect](x[:, i])
    return pd.DataFrame(x[:, order], columns=[f"x{k}" for k in range(d)])


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.normal(size=shape)


def _laplace(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.laplace(size=shape)


def _series(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    steps = rng.normal(size=shape)
    for row in range(1, len(steps)):
        steps[row] += 0.9 * steps[row - 1]
    return steps


def _same(noise: Any) -> Any:
    return noise


def grown(
    d: int = 6,
    n: int = 300,
    seed: int = 0,
    effect: str = "linear",
    degree: float = 1.2,
    draw: Callable[..., Any] = _normal,
    adapt: Callable[[Any], Any] = _same,
    then: Callable[[pd.DataFrame], pd.DataFrame] = _same,
) -> Make:
    """Return what makes a table of numbers; ``then`` finishes it."""
    return lambda: then(_grown(d, n, seed, effect, degree, draw, adapt))


laplace, series = partial(grown, draw=_laplace), partial(grown, draw=_series)


def _cut(levels: int, every: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Return what makes categories of equal size of every so many columns."""

    def then(frame: pd.DataFrame) -> pd.DataFrame:
        for name in frame.columns[::every]:
            frame[name] = [f"level {k}" for k in frame[name].rank().to_numpy().astype(int) * levels // (len(frame) + 1)]
        return frame

    return then


def categories(d: int = 6, n: int = 400, seed: int = 0, levels: int = 3) -> Make:
    return grown(d, n, seed, then=_cut(levels, 1))


def mixed(d: int = 6, n: int = 300, seed: int = 0) -> Make:
    return grown(d, n, seed, then=_cut(2, 2))


def binary(d: int = 5, n: int = 300, seed: int = 0) -> Make:
    return grown(d, n, seed, then=lambda frame: (frame > frame.median()).astype(float))


def with_gaps(make: Make, share: float = 0.04) -> Make:
    return lambda: (frame := make()).mask(np.random.default_rng(7).random(frame.shape) < share)


def with_column(make: Make, name: str, values: Callable[[int], Any]) -> Make:
    """Return a table with one more column, whose values depend on the number of rows."""
    return lambda: (frame := make()).assign(**{name: values(len(frame))})


def _heated(noise: Any) -> Any:
    """Shift one column in the second third of the rows, and widen another in the last."""
    third = len(noise) // 3
    noise[third : 2 * third, 1] += 3
    noise[2 * third :, 2] *= 4
    return noise


def experiments(d: int = 5, n: int = 360, seed: int = 0, **options: Any) -> Make:
    """Return rows of three experiments, named in the column "run"."""
    return with_column(grown(d, n, seed, adapt=_heated, **options), "run", lambda n: LABELS[np.arange(n) * 3 // n])


def _patient_means(frame: pd.DataFrame) -> pd.DataFrame:
    rng, rows = np.random.default_rng(8), np.arange(len(frame)) // 10
    return (frame + rng.normal(size=(rows[-1] + 1, frame.shape[1]))[rows] * 2).assign(patient=[f"p{k}" for k in rows])


def panel(d: int = 5, n: int = 300, seed: int = 0) -> Make:
    """Return ten rows of each patient, named in the column "patient"."""
    return grown(d, n, seed, then=_patient_means)


def confounded(n: int = 800) -> pd.DataFrame:
    """Return rows of a -> b <- H -> c <- d and b -> e, without H."""
    rng = np.random.default_rng(0)
    a, d, hidden, *noise = rng.normal(size=(6, n))
    b, c = a + hidden + noise[0], d + hidden + noise[1]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": b + noise[2]})
