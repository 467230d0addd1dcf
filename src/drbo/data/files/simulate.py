"""Random graphs and data drawn from them: the experiments of the paper, and tables to try things on.

A seed makes one numpy Generator. :func:`simulate` draws from it the graph, then the weights, then the noise, so
``simulate("30ER8", seed=s)`` is data set s of an experiment, the same on every machine with the same numpy.

The module is long because every kind of data in the paper's experiments has its own generator.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats
from drbo.data.files import datasets
from drbo.deadline import current
from drbo.errors import DataError, SettingsError
from drbo.graph.dag import check_dag, topological_order
from drbo.machine.threads import one_blas_thread

Noise = Literal["gaussian", "exponential", "gumbel", "laplace", "uniform"]
Model = Literal["linear", "gp", "cos", "logistic"]

_GRAPH_NAME = re.compile(r"(\d+)(ER|SF)(\d+(?:\.\d+)?)", re.IGNORECASE)
#: Added to the diagonal of a kernel matrix so that it can be factorised; a ten-thousandth of the noise's deviation.
_JITTER = 1e-8

_NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "gaussian": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.exponential(1.0, shape),
    "gumbel": lambda rng, shape: rng.gumbel(0.0, 1.0, shape),
    "laplace": lambda rng, shape: rng.laplace(0.0, 1.0, shape),
    "uniform": lambda rng, shape: rng.uniform(-1.0, 1.0, shape),
}
_MODEL_OPTIONS: dict[str, tuple[str, ...]] = {
    "linear": ("low", "high", "noise", "noise_scale"),
    "gp": ("root_variance", "noise_variance", "length_scale"),
    "cos": ("low", "high"),
    "logistic": ("low", "high"),
}


@dataclass(frozen=True, eq=False)
class Simulated:
    """A simulated table with the truth behind it; ``weights`` is None where the model has none."""

    X: Floats  # (n, d)
    dag: Bools  # (d, d); dag[i, j]: i -> j
    weights: Floats | None  # (d, d)
    names: tuple[str, ...]


def simulate(
    graph: str | npt.ArrayLike, model: Model = "linear", n: int = 1000, seed: int = 0, **options: Any
) -> Simulated:
    """Draw a graph (unless it is given), its weights and n rows.

    Parameters
    ----------
    graph : ``"30ER8"`` or ``"20SF2"`` (nodes, kind, edges per node), the name of a data set that ships with the
        package (``"alarm"``), or an adjacency matrix.
    model : ``"linear"``, ``"gp"``, ``"cos"`` or ``"logistic"``; see the function ``simulate_<model>``.
    n : number of rows.
    seed : seed of the numpy Generator that draws graph, weights and noise, in this order.
    options : of ``simulate_<model>``; ``low`` and ``high`` of :func:`linear_weights`.

    Examples
    --------
    >>> data = simulate("10ER2", n=200, seed=3, noise="laplace")
    >>> data.X.shape, bool((simulate("10ER2", n=200, seed=3, noise="laplace").X == data.X).all())
    ((200, 10), True)
    """
    if model not in get_args(Model):
        raise SettingsError(f"model must be one of {', '.join(get_args(Model))}, got {model!r}")
    unknown = sorted(set(options) - set(_MODEL_OPTIONS[model]))
    if unknown:
        raise SettingsError(
            f"unknown option '{unknown[0]}' for model '{model}'",
            hint=f"its options are {', '.join(_MODEL_OPTIONS[model])}",
        )
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise SettingsError(f"seed must be a whole number >= 0, got {seed!r}")
    rng = np.random.default_rng(seed)
    dag, names = _graph(graph, rng)
    if model == "gp":
        return Simulated(simulate_gp(dag, n, rng, **options), dag, None, names)
    weights = linear_weights(dag, rng, **{key: options.pop(key) for key in ("low", "high") if key in options})
    simulators: dict[str, Callable[..., Floats]]
    simulators = {"linear": simulate_linear, "cos": simulate_cos, "logistic": simulate_logistic}
    return Simulated(simulators[model](weights, n, rng, **options), dag, weights, names)


def _graph(graph: str | npt.ArrayLike, rng: np.random.Generator) -> tuple[Bools, tuple[str, ...]]:
    if not isinstance(graph, str):
        dag = check_dag(graph)
    elif _GRAPH_NAME.fullmatch(graph):
        n_nodes, kind, degree = parse_graph_name(graph)
        dag = random_dag(n_nodes, degree, rng, kind)
    else:
        names = [size.name for size in datasets.available()]
        if graph not in names:
            raise SettingsError(
                f"unknown graph {graph!r}",
                hint=f"use a random graph such as 30ER8 or 20SF2, or one of {', '.join(names)}",
            )
        known = datasets.load(graph)
        return known.dag, known.names
    return dag, tuple(f"x{j}" for j in range(len(dag)))


def is_graph_name(word: str) -> bool:
    """Tell whether a word names a random graph, or a network that ships with the package.

    Examples
    --------
    >>> is_graph_name("20ER1.5"), is_graph_name("alarm"), is_graph_name("graph.csv")
    (True, True, False)
    """
    return bool(_GRAPH_NAME.fullmatch(word)) or word in [size.name for size in datasets.available()]


def parse_graph_name(name: str) -> tuple[int, Literal["er", "sf"], float]:
    """Split a name such as ``30ER8`` into number of nodes, kind and edges per node."""
    match = _GRAPH_NAME.fullmatch(name)
    if match is None:
        raise SettingsError(
            f"the name of a random graph must look like 30ER8 or 20SF2, got {name!r}",
            hint="number of nodes, ER or SF, edges per node",
        )
    return int(match[1]), "er" if match[2].lower() == "er" else "sf", float(match[3])


def random_dag(n_nodes: int, degree: float, rng: np.random.Generator, kind: Literal["er", "sf"] = "er") -> Bools:
    """Return a random DAG with ``n_nodes * degree`` edges, on average (er) or exactly (sf), or as many as fit.

    ``er`` (Erdos & Renyi): every pair is joined with probability ``2 degree / (n_nodes - 1)``. ``sf`` (Barabasi &
    Albert): nodes come one by one and attach to earlier ones in proportion to the edges these have. The edges then
    follow a random order of the nodes.

    Examples
    --------
    >>> dag = random_dag(20, 2, np.random.default_rng(0), kind="sf")
    >>> dag.shape, int(dag.sum())
    ((20, 20), 40)
    """
    if not isinstance(n_nodes, (int, np.integer)) or n_nodes < 1:
        raise SettingsError(f"n_nodes must be a whole number of at least 1, got {n_nodes!r}")
    if not (np.isfinite(degree) and degree >= 0):
        raise SettingsError(f"degree must be a number >= 0, got {degree}")
    if kind == "er":
        probability = min(1.0, 2 * degree / max(1, n_nodes - 1))
        joined = np.tril(rng.random((n_nodes, n_nodes)) < probability, k=-1)
    elif kind == "sf":
        joined = _preferential_attachment(n_nodes, degree, rng)
    else:
        raise SettingsError(f"kind must be 'er' or 'sf', got {kind!r}")
    joined = joined | joined.T
    place = rng.permutation(n_nodes)
    return joined & (place[:, None] < place[None, :])


def _preferential_attachment(n_nodes: int, degree: float, rng: np.random.Generator) -> Bools:
    """Join each node to earlier ones; the node at position t gets min(t, k) edges, some get one more.

    The first k nodes find fewer than k nodes to join, so k is taken as large as the wanted number of edges allows;
    the edges still missing go to nodes drawn at random.
    """
    positions = np.arange(n_nodes)
    wanted = min(round(n_nodes * degree), n_nodes * (n_nodes - 1) // 2)
    k = 0
    while np.minimum(positions, k + 1).sum() <= wanted and k < n_nodes - 1:
        k += 1
    counts = np.minimum(positions, k)
    counts[rng.permutation(positions[positions > k])[: wanted - counts.sum()]] += 1
    joined = np.zeros((n_nodes, n_nodes), dtype=bool)
    edges = np.zeros(n_nodes)
    for t in np.flatnonzero(counts):
        weight = edges[:t] if edges[:t].any() else np.ones(t)
        chosen = rng.choice(t, size=counts[t], replace=False, p=weight / weight.sum())
        joined[t, chosen] = True
        edges[chosen] += 1
        edges[t] += counts[t]
    label = rng.permutation(n_nodes)  # a hub may stand anywhere
    return joined[np.ix_(label, label)]


def linear_weights(dag: npt.ArrayLike, rng: np.random.Generator, low: float = 0.5, high: float = 2.0) -> Floats:
    """Return a weight for each edge, uniform on [-high, -low] and [low, high] as in the paper; 0 where no edge is."""
    edges = check_dag(dag)
    _check_range("(low, high)", (low, high))
    size = rng.uniform(low, high, edges.shape)
    sign = rng.choice([-1.0, 1.0], edges.shape)
    return np.where(edges, sign * size, 0.0)


def simulate_linear(
    graph: npt.ArrayLike,
    n: int,
    rng: np.random.Generator,
    noise: Noise = "gaussian",
    noise_scale: float | tuple[float, float] = 1.0,
) -> Floats:
    """Draw n rows of ``x_j = sum_i W_ij x_i + e_j``.

    Parameters
    ----------
    graph : (d, d). Floats are the weights W; booleans or integers are a DAG, whose weights are drawn by
        :func:`linear_weights`.
    noise : N(0, 1), Exp(1), Gumbel(0, 1), Laplace(0, 1) or U(-1, 1), as in the paper's appendix; not centred.
    noise_scale : factor of the noise; a pair (low, high) draws one factor per node from U[low, high].

    Examples
    --------
    >>> X = simulate_linear([[0.0, 2.0], [0.0, 0.0]], 1000, np.random.default_rng(0))
    >>> bool(abs(np.polyfit(X[:, 0], X[:, 1], 1)[0] - 2.0) < 0.2)
    True
    """
    if noise not in _NOISES:
        raise SettingsError(f"noise must be one of {', '.join(_NOISES)}, got {noise!r}")
    scale = noise_scale if isinstance(noise_scale, tuple) else (noise_scale, noise_scale)
    _check_range("noise_scale", scale)
    weights = _weights(graph, rng)
    shape = (_check_rows(n), len(weights))
    errors = _NOISES[noise](rng, shape) * rng.uniform(*scale, shape[1])
    return _grow(weights, errors, lambda values, node, error: values @ weights[:, node] + error)


def simulate_cos(graph: npt.ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Draw n rows of ``x_j = sum_i B_ij cos(x_i) + e_j`` with standard normal noise (Zhang et al. 2022).

    ``graph`` is read as in :func:`simulate_linear`.

    Examples
    --------
    >>> simulate_cos([[0, 1], [0, 0]], 5, np.random.default_rng(0)).shape
    (5, 2)
    """
    weights = _weights(graph, rng)
    errors = rng.standard_normal((_check_rows(n), len(weights)))
    return _grow(weights, errors, lambda values, node, error: np.cos(values) @ weights[:, node] + error)


def simulate_logistic(graph: npt.ArrayLike, n: int, rng: np.random.Generator) -> Floats:
    """Draw n rows of 0 and 1, where ``x_j`` is 1 with probability ``1 / (1 + exp(-sum_i W_ij x_i))``.

    ``graph`` is read as in :func:`simulate_linear`. A node without parents is a fair coin.

    Examples
    --------
    >>> np.unique(simulate_logistic([[0, 1], [0, 0]], 50, np.random.default_rng(0))).tolist()
    [0.0, 1.0]
    """
    weights = _weights(graph, rng)
    chances = rng.random((_check_rows(n), len(weights)))

    def flip(values: Floats, node: int, chance: Floats) -> Floats:
        logistic = (1 + np.tanh(values @ weights[:, node] / 2)) / 2  # cannot overflow
        return (chance < logistic).astype(np.float64)

    return _grow(weights, chances, flip)


def simulate_gp(
    dag: npt.ArrayLike,
    n: int,
    rng: np.random.Generator,
    root_variance: tuple[float, float] = (1.0, 2.0),
    noise_variance: tuple[float, float] = (0.4, 0.8),
    length_scale: float = 1.0,
) -> Floats:
    """Draw n rows of ``x_j = f_j(parents) + e_j``, each f_j from a Gaussian process with an RBF kernel.

    The noise is Gaussian; its variance is drawn per node from U[noise_variance], for nodes without parents from
    U[root_variance], as in the data of Lachapelle et al. (2020) that the paper uses. Costs n^3 per node.

    Examples
    --------
    >>> simulate_gp([[0, 1], [0, 0]], 50, np.random.default_rng(0)).shape
    (50, 2)
    """
    edges = check_dag(dag)
    _check_range("root_variance", root_variance)
    _check_range("noise_variance", noise_variance)
    _check_range("length_scale", (length_scale, length_scale))
    roots = edges.sum(axis=0) == 0
    variance = np.where(roots, rng.uniform(*root_variance, len(edges)), rng.uniform(*noise_variance, len(edges)))
    errors = rng.standard_normal((_check_rows(n), len(edges))) * np.sqrt(variance)

    def draw(values: Floats, node: int, error: Floats) -> Floats:
        if roots[node]:
            return error
        return _draw_gp(values[:, edges[:, node]] / length_scale, rng) + error

    return _grow(edges, errors, draw)


def _draw_gp(points: Floats, rng: np.random.Generator) -> Floats:
    """Draw the values at these points of a function from a Gaussian process with a unit RBF kernel."""
    norms = (points**2).sum(axis=1)
    distances = np.maximum(norms[:, None] + norms[None, :] - 2 * points @ points.T, 0.0)
    kernel = np.exp(-distances / 2) + _JITTER * np.eye(len(points))
    return np.linalg.cholesky(kernel) @ rng.standard_normal(len(points))


def standardize(X: npt.ArrayLike) -> Floats:
    """Return the columns with mean 0 and variance 1 (divided by n).

    Examples
    --------
    >>> standardize([[1.0, 0.0], [3.0, 4.0]]).tolist()
    [[-1.0, -1.0], [1.0, 1.0]]
    """
    values = np.asarray(X, dtype=np.float64)
    deviation: Floats = values.std(axis=0)
    if not (deviation > 0).all():
        raise DataError(
            f"column {int(np.argmin(deviation))} is constant, so it cannot be standardised", hint="drop the column"
        )
    centred: Floats = values - values.mean(axis=0)
    return centred / deviation


def _grow(edges: npt.NDArray[Any], errors: Floats, draw: Callable[[Floats, int, Floats], Floats]) -> Floats:
    """Fill the columns in a topological order; ``draw`` sees the values so far, the node and its noise."""
    values = np.zeros_like(errors)
    with one_blas_thread():  # rounding depends on the number of threads
        for node in topological_order(edges != 0):
            current().check()
            values[:, node] = draw(values, node, errors[:, node])
    return values


def _weights(graph: npt.ArrayLike, rng: np.random.Generator) -> Floats:
    """Return the weights as they are, or drawn where the graph is a matrix of booleans or integers."""
    matrix = np.asarray(graph)
    if matrix.dtype.kind != "f":
        return linear_weights(matrix, rng)
    if not np.isfinite(matrix).all():
        raise DataError("the weights must be finite numbers", hint="use 0 where there is no edge")
    check_dag(matrix != 0)
    return matrix.astype(np.float64)


def _check_rows(n: int) -> int:
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise SettingsError(f"n must be a whole number of at least 1, got {n!r}")
    return n


def _check_range(name: str, limits: tuple[float, float]) -> None:
    if not (len(limits) == 2 and np.isfinite(limits).all() and 0 < limits[0] <= limits[1]):
        raise SettingsError(f"{name} must be positive numbers, the smaller first, got {limits}")
