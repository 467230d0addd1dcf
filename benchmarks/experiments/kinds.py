"""Ten kinds of simulated tables for claims about directions: which noise, which functions, hidden causes or none.

Four more have linear relations that were measured on bent scales, or heavy tails.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

KINDS = (
    "additive",
    "joint",
    "linear",
    "non-gaussian",
    "heteroscedastic",
    "multiplicative",
    "post-nonlinear",
    "hidden additive",
    "hidden linear",
    "hidden non-gaussian",
)
#: Linear relations whose columns are skewed or saturate, each on a scale of its own, or whose noise has heavy tails.
SCALES = ("lognormal", "saturating", "monotone", "heavy tails")
HIDDEN = "hidden "
N_HIDDEN, CHILDREN_OF_HIDDEN = 2, 3
#: Edges per node.
DENSITY = 1.2
#: Length scales of random functions of one parent and of all parents.
LENGTHS, JOINT_LENGTHS = (0.7, 1.5), (0.9, 1.6)
#: Random Fourier features of a function.
N_WAVES = 200
#: Cubes are cut off at so many standard deviations.
MOST = 6.0


def simulated(
    kind: str, n: int, seed: int, n_nodes: int | None = None, n_edges: int | None = None
) -> tuple[Floats, Bools]:
    """Return a table of one kind and its DAG; hidden columns are left out of both."""
    rng = np.random.default_rng([(*KINDS, *SCALES).index(kind), n, seed])
    hidden = N_HIDDEN if kind.startswith(HIDDEN) else 0
    d = n_nodes or int(rng.integers(10, 13))
    order = rng.permutation(d)
    pairs = rng.permutation([(order[a], order[b]) for a in range(d) for b in range(a + 1, d)])
    pairs = pairs[: n_edges or round(DENSITY * d)]
    dag = np.zeros((d + hidden, d + hidden), dtype=bool)
    dag[pairs[:, 0], pairs[:, 1]] = True
    for cause in range(d, d + hidden):
        dag[cause, rng.choice(d, CHILDREN_OF_HIDDEN, replace=False)] = True
    values = np.zeros((n, d + hidden))
    for node in (*range(d, d + hidden), *order):
        values[:, node] = unit(child(kind.removeprefix(HIDDEN), values[:, dag[:, node]], rng))
    return values[:, :d], dag[:d, :d]


def child(kind: str, parents: Floats, rng: np.random.Generator) -> Floats:
    """Draw a column given its parents."""
    n, k = parents.shape
    gaussian, level = rng.normal(size=n), rng.uniform(0.35, 0.9)
    if kind in SCALES:
        return measured(kind, linear_function(parents, rng) / max(1, k) ** 0.5, gaussian, rng)
    if kind in ("linear", "non-gaussian"):
        draws = (rng.laplace, rng.uniform, rng.exponential, rng.gumbel)
        noise = gaussian if kind == "linear" else draws[rng.integers(4)](size=n)
        return linear_function(parents, rng) + rng.uniform(0.6, 1.4) * unit(noise)
    if k == 0:
        return gaussian if rng.random() < 0.5 else rng.uniform(-1, 1, n)
    mechanisms: dict[str, Callable[[], Floats]] = {
        "additive": lambda: additive_function(parents, rng) + level * k**0.5 * gaussian,
        "joint": lambda: random_function(parents, rng, JOINT_LENGTHS) + level * gaussian,
        "heteroscedastic": lambda: (
            additive_function(parents, rng) / k**0.5
            + 1.2 * level * np.exp(0.7 * random_function(parents[:, rng.integers(k)], rng)) * gaussian
        ),
        "multiplicative": lambda: (
            np.log1p(np.exp(2 * additive_function(parents, rng) / k**0.5)) * np.exp(0.6 * gaussian)
        ),
        "post-nonlinear": lambda: np.clip(
            unit((linear_function(parents, rng) / k**0.5 + 1.2 * level * gaussian) ** 3), -MOST, MOST
        ),
    }
    return mechanisms[kind]()


def measured(kind: str, effect: Floats, gaussian: Floats, rng: np.random.Generator) -> Floats:
    """Add noise to the effect of all parents, and bend the scale of the sum."""
    if kind == "heavy tails":
        return effect + rng.uniform(0.6, 1.4) * rng.standard_t(2.2, size=len(effect))
    values = unit(effect + rng.uniform(0.5, 1.2) * gaussian)
    if kind == "lognormal":
        return np.asarray(np.exp(rng.uniform(0.5, 1.2) * values))
    if kind == "saturating":
        bent = 1 / (1 + np.exp(-rng.uniform(1, 4) * (values - rng.uniform(-1, 1))))
        return np.asarray(bent + 0.05 * rng.normal(size=len(effect)))
    bends: tuple[Callable[[Floats], Floats], ...] = (np.exp, lambda x: x**3, lambda x: np.tanh(2 * x), np.cbrt)
    return bends[rng.integers(len(bends))](values)


def random_function(points: Floats, rng: np.random.Generator, lengths: tuple[float, float] = LENGTHS) -> Floats:
    """Draw a smooth function, nearly a Gaussian process with an RBF kernel, and return its values, of variance 1."""
    points = points.reshape(len(points), -1)
    scale = rng.uniform(*lengths) * points.shape[1] ** 0.5
    frequencies = rng.normal(size=(points.shape[1], N_WAVES)) / scale
    waves = np.cos(points @ frequencies + rng.uniform(0, 2 * np.pi, N_WAVES))
    return unit(waves @ rng.normal(size=N_WAVES))


def additive_function(parents: Floats, rng: np.random.Generator) -> Floats:
    """Draw a sum of smooth functions of one parent each."""
    return np.sum([random_function(column, rng) for column in parents.T], axis=0)


def linear_function(parents: Floats, rng: np.random.Generator) -> Floats:
    """Draw a linear function with weights of 0.5 to 1.2 and random signs."""
    k = parents.shape[1]
    return parents @ (rng.uniform(0.5, 1.2, k) * rng.choice([-1, 1], k))


def unit(column: Floats) -> Floats:
    """Return a column with mean 0 and variance 1."""
    return (column - column.mean()) / (column.std() + 1e-12)
