"""Kinds of tables that are met in practice, drawn by other mechanisms than those of kinds.py.

Each has 8 to 20 columns with 1 to 1.5 parents on average and at most four, and a random order of columns. Three kinds
are nuisances: the graph is linear, and the columns were rescaled, shifted by batch, or closed to a sum of 1.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.signal import lfilter

from benchmarks.experiments.kinds import additive_function, linear_function, unit
from drbo.graph.dag import descendants, topological_order

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
#: Draws a column of n values given its parents (n, k).
Mechanism = Callable[[Floats, np.random.Generator], Floats]

COLUMNS, PARENTS, MOST_PARENTS = (8, 20), (1.0, 1.5), 4
HIDDEN_ROOTS, CHILDREN_OF_HIDDEN = 3, 3
#: Units of the hidden layer of a random network.
N_UNITS = 10
#: Levels of an ordered code; shares of its levels are drawn from a Dirichlet distribution with this parameter.
N_CODES, EVEN = 5, 3.0
#: Share of columns that are categories in a table of both.
CATEGORIES = 0.45
#: Autocorrelation of the noise over the rows.
MEMORY = 0.8
#: Of a snapshot: time step, steps, size of the noise.
STEP, STEPS, JITTER = 0.05, 200, 0.15
N_BATCHES = 4
MOST_COUNT = 500.0


class Drawn(NamedTuple):
    """A table, the graph that it was drawn from, hidden columns last, and how many of these there are."""

    frame: pd.DataFrame
    dag: Bools
    n_hidden: int

    @property
    def shown(self) -> Bools:
        """The graph of the columns of the table alone."""
        d = len(self.dag) - self.n_hidden
        return self.dag[:d, :d]

    @property
    def causes(self) -> Bools:
        """Which column is a cause of which, directly or not: ancestors."""
        d = len(self.dag) - self.n_hidden
        return np.asarray(descendants(self.dag)[:d, :d])


def drawn(kind: str, n: int, seed: int) -> Drawn:
    """Return a table of one kind."""
    rng = np.random.default_rng([list(FIELD_KINDS).index(kind), n, seed])
    dag = sparse_dag(int(rng.integers(COLUMNS[0], COLUMNS[1] + 1)), rng)
    if kind == "hidden causes":
        dag = with_hidden_roots(dag, rng)
    values = FIELD_KINDS[kind](dag, n, rng)
    frame = pd.DataFrame({f"x{j}": values[j] for j in range(len(values))})
    return Drawn(frame, dag, len(dag) - len(values))


def sparse_dag(d: int, rng: np.random.Generator) -> Bools:
    """Return a random graph with 1 to 1.5 parents on average and at most four."""
    order, wanted = rng.permutation(d), round(rng.uniform(*PARENTS) * d)
    pairs = rng.permutation([(order[a], order[b]) for a in range(d) for b in range(a + 1, d)])
    dag = np.zeros((d, d), dtype=np.bool_)
    for source, target in pairs:
        if dag[:, target].sum() < MOST_PARENTS:
            dag[source, target] = True
        if dag.sum() == wanted:
            break
    return dag


def with_hidden_roots(dag: Bools, rng: np.random.Generator) -> Bools:
    """Add three hidden roots with three children each."""
    d = len(dag)
    wide = np.zeros((d + HIDDEN_ROOTS, d + HIDDEN_ROOTS), dtype=np.bool_)
    wide[:d, :d] = dag
    for root in range(d, d + HIDDEN_ROOTS):
        wide[root, rng.choice(d, CHILDREN_OF_HIDDEN, replace=False)] = True
    return wide


def grown(dag: Bools, n: int, rng: np.random.Generator, mechanism: Mechanism) -> Floats:
    """Return all columns (n, d), each drawn given its parents."""
    values = np.zeros((n, len(dag)))
    for node in topological_order(dag):
        values[:, node] = mechanism(values[:, dag[:, node]], rng)
    return values


def by(mechanism: Mechanism) -> Callable[[Bools, int, np.random.Generator], Floats]:
    """Return the maker of a kind whose columns are all drawn by one mechanism."""
    return lambda dag, n, rng: grown(dag, n, rng, mechanism).T


def units(parents: Floats) -> Floats:
    """Return columns with mean 0 and variance 1."""
    return np.asarray((parents - parents.mean(axis=0)) / (parents.std(axis=0) + 1e-12))


def weights(k: int, low: float, high: float, rng: np.random.Generator) -> Floats:
    """Return weights of either sign."""
    return np.asarray(rng.uniform(low, high, k) * rng.choice([-1, 1], k))


def gaussian(parents: Floats, rng: np.random.Generator) -> Floats:
    """A linear function and Gaussian noise."""
    return linear_function(parents, rng) + rng.uniform(0.6, 1.4) * rng.normal(size=len(parents))


def network(parents: Floats, rng: np.random.Generator) -> Floats:
    """A random network with one hidden layer of tanh units, and Gaussian noise."""
    n, k = parents.shape
    if k == 0:
        return rng.normal(size=n)
    hidden = np.tanh(units(parents) @ rng.normal(size=(k, N_UNITS)) + rng.normal(size=N_UNITS))
    return unit(hidden @ rng.normal(size=N_UNITS)) + rng.uniform(0.3, 0.8) * rng.normal(size=n)


def response(parent: Floats, rng: np.random.Generator) -> Callable[[Floats], Floats]:
    """Draw a Hill function of one parent that rises or falls, half of it where the parent is typical."""
    half, power, rises = rng.uniform(0.5, 1.5) * float(np.median(parent)), rng.uniform(2, 4), rng.random() < 0.5

    def hill(x: Floats) -> Floats:
        share = x**power / (x**power + half**power)
        return share if rises else 1 - share

    return hill


def hill_product(parents: Floats, rng: np.random.Generator) -> Floats:
    """A basal rate and the product of a Hill function of each parent, times log-normal noise."""
    n, k = parents.shape
    if k == 0:
        return np.exp(0.5 * rng.normal(size=n))
    rate = 0.1 + np.prod([response(column, rng)(column) for column in parents.T], axis=0)
    return np.asarray(rate * np.exp(0.3 * rng.normal(size=n)) / np.median(rate))


def post_nonlinear(parents: Floats, rng: np.random.Generator) -> Floats:
    """An additive model seen through a cube, softplus, logistic function or sinh."""
    n, k = parents.shape
    noise = rng.normal(size=n)
    inner = unit(additive_function(parents, rng) / k**0.5 + rng.uniform(0.4, 0.9) * noise) if k else noise
    outer: tuple[Callable[[Floats], Floats], ...] = (
        lambda x: x**3,
        lambda x: np.log1p(np.exp(2 * x)),
        lambda x: 1 / (1 + np.exp(-2 * x)),
        np.sinh,
    )
    return unit(outer[rng.integers(len(outer))](inner))


def gamma(parents: Floats, rng: np.random.Generator) -> Floats:
    """Gamma noise with a log link of the logs of the parents."""
    n, k = parents.shape
    mean = np.exp(units(np.log(parents)) @ weights(k, 0.3, 0.8, rng))
    shape = rng.uniform(1.5, 6.0)
    return np.maximum(rng.gamma(shape, mean / shape, n), 1e-6)


def ordinal(parents: Floats, rng: np.random.Generator) -> Floats:
    """Five ordered codes, cut at random quantiles from a linear function of the codes of the parents and noise."""
    n, k = parents.shape
    latent = units(parents) @ weights(k, 0.6, 1.2, rng) + rng.normal(size=n)
    cuts = np.quantile(latent, rng.dirichlet(np.full(N_CODES, EVEN)).cumsum()[:-1])
    return np.searchsorted(cuts, latent) + 1.0


def zero_inflated(parents: Floats, rng: np.random.Generator) -> Floats:
    """Poisson counts with a log link, and more zeros."""
    n, k = parents.shape
    rate = np.exp(rng.uniform(0.3, 1.5) + units(np.log1p(parents)) @ weights(k, 0.3, 0.7, rng))
    return rng.poisson(np.minimum(rate, MOST_COUNT)) * (rng.random(n) > rng.uniform(0.1, 0.4)).astype(float)


def heavy_tailed(parents: Floats, rng: np.random.Generator) -> Floats:
    """A linear function and noise from Student's t with 2.2 degrees of freedom."""
    return linear_function(parents, rng) + rng.uniform(0.6, 1.4) * rng.standard_t(2.2, size=len(parents))


def standardised(parents: Floats, rng: np.random.Generator) -> Floats:
    """A linear column that is standardised before it has children."""
    return unit(gaussian(parents, rng))


def weak(parents: Floats, rng: np.random.Generator) -> Floats:
    """Weights of 0.08 to 0.5 in standard units."""
    return units(parents) @ weights(parents.shape[1], 0.08, 0.5, rng) + rng.normal(size=len(parents))


def serial(parents: Floats, rng: np.random.Generator) -> Floats:
    """A linear function, and noise that remembers the row before."""
    noise = lfilter([1.0], [1.0, -MEMORY], rng.normal(size=len(parents) + 100))[100:]
    return linear_function(parents, rng) + rng.uniform(0.6, 1.4) * unit(noise)


def with_categories(dag: Bools, n: int, rng: np.random.Generator) -> list[npt.NDArray[np.generic]]:
    """Multinomial logit columns among linear ones: children see an indicator for each level."""
    d, seen, columns = len(dag), dict[int, Floats](), dict[int, npt.NDArray[np.generic]]()
    category = np.isin(np.arange(d), rng.choice(d, round(CATEGORIES * d), replace=False))
    for node in topological_order(dag).tolist():
        width = int(rng.integers(2, 5)) if category[node] else 1
        signal = np.zeros((n, width))
        for parent in np.flatnonzero(dag[:, node]).tolist():
            shape = (seen[parent].shape[1], width)
            signal += seen[parent] @ (rng.choice([-1.0, 1.0], shape) * rng.uniform(0.7, 1.5, shape))
        if category[node]:
            level = np.argmax(signal + rng.gumbel(size=(n, width)), axis=1)
            seen[node], columns[node] = np.eye(width)[level], np.array(list("abcd"), dtype=object)[level]
        else:
            columns[node] = signal[:, 0] + rng.uniform(0.6, 1.4) * rng.normal(size=n)
            seen[node] = units(columns[node][:, None])
    return [columns[node] for node in range(d)]


def selected(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Only the quarter of the rows with the greatest sum of two columns."""
    values = grown(dag, 4 * n, rng, gaussian)
    first, second = rng.choice(len(dag), 2, replace=False)
    return values[np.sort(np.argsort(-units(values[:, [first, second]]).sum(axis=1))[:n])].T


def with_errors(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Half of the columns were measured with an error of 0.4 to 0.9 of their spread."""
    values, d = grown(dag, n, rng, gaussian), len(dag)
    for node in rng.choice(d, d // 2, replace=False):
        values[:, node] += rng.uniform(0.4, 0.9) * values[:, node].std() * rng.normal(size=n)
    return values.T


def without_hidden(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Linear columns, without the hidden roots."""
    return grown(dag, n, rng, gaussian)[:, :-HIDDEN_ROOTS].T


def snapshot(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Langevin dynamics with products of Hill functions, seen once: every row has rates of its own."""
    d, typical = len(dag), np.ones(1)
    loss = np.exp(0.3 * rng.normal(size=(n, d)))
    hills = [[(i, response(typical, rng)) for i in np.flatnonzero(dag[:, j])] for j in range(d)]
    values = np.exp(0.2 * rng.normal(size=(n, d)))
    for _ in range(STEPS):
        made = np.ones((n, d))
        for j, parts in enumerate(hills):
            if parts:
                made[:, j] = 0.1 + 2 ** len(parts) * np.prod([hill(values[:, i]) for i, hill in parts], axis=0)
        noise = JITTER * np.sqrt(STEP * values) * rng.normal(size=(n, d))
        values = np.maximum(values + STEP * (made - loss * values) + noise, 1e-3)
    return values.T


def log_normal(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Exponentials of linear columns, each on a scale of its own."""
    values = units(grown(dag, n, rng, gaussian))
    return np.exp(values * rng.uniform(0.5, 1.2, len(dag))).T


def batches(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Linear columns, and a shift of every column by batch, in an order of rows that does not show it."""
    values = units(grown(dag, n, rng, gaussian))
    return (values + rng.normal(0, 0.7, (N_BATCHES, len(dag)))[rng.integers(N_BATCHES, size=n)]).T


def composition(dag: Bools, n: int, rng: np.random.Generator) -> Floats:
    """Shares of a whole: exponentials of linear columns, divided by their sum."""
    values = np.exp(0.7 * units(grown(dag, n, rng, gaussian)))
    return (values / values.sum(axis=1, keepdims=True)).T


#: Makers of the columns of each kind; new kinds go to the end, because the place is part of the seed.
FIELD_KINDS: dict[str, Callable[[Bools, int, np.random.Generator], Floats | list[npt.NDArray[np.generic]]]] = {
    "networks": by(network),
    "Hill functions": by(hill_product),
    "post-nonlinear": by(post_nonlinear),
    "gamma": by(gamma),
    "ordinal": by(ordinal),
    "zero-inflated counts": by(zero_inflated),
    "heavy tails": by(heavy_tailed),
    "internally standardised": by(standardised),
    "weak": by(weak),
    "multinomial logit": with_categories,
    "serial noise": by(serial),
    "selection": selected,
    "measurement error": with_errors,
    "hidden causes": without_hidden,
    "dynamics": snapshot,
    "log-normal": log_normal,
    "batches": batches,
    "compositions": composition,
}
