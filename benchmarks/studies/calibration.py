"""Calibration: of the links and arrows given probability p, a share p should be in the true graph.

    python -m benchmarks calibration --seeds 0-199                            # edge probabilities
    python -m benchmarks calibration --part resamples --seeds 0-59            # bootstrap frequencies of the same tables

Network s has 10 columns and 0.5, 1, 2 or 3 edges per column (3: dense), in turn. Weights lie between 0.1 and 1, with
random signs, and the noise has variance 1. ``linear``: Gaussian noise, which is what the scores assume; ``t3``: noise
with heavy tails; ``nonlinear``: effects are bent; ``hidden``: two of 12 columns are left out. The default prior was
chosen on the seeds 100 to 119 of an earlier series of such tables.

Probabilities from 0.05 to 0.95 go into ten bins of equal size. The calibration error is the mean distance between what
is given and what is found in a bin. Its interval comes from 200 resamples of the networks, because pairs of columns of
one network are not independent; that of a bin from the same resamples.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.claims.probabilities.posterior import by_sums, evidence
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.settings import Settings

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

D, N_HIDDEN = 10, 2
DENSITIES, DENSE = (0.5, 1.0, 2.0, 3.0), 3.0
ROWS = (100, 200, 1_000)
KINDS = ("linear", "t3", "nonlinear", "hidden")
BENT: tuple[Callable[[Floats], Floats], ...] = (np.abs, np.tanh, lambda x: np.sin(2 * x))
#: Scores and their options. The last one has the prior of the R package BiDAG.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "bic-nv": ("bic-nv", {}),
    "bge": ("bge", {}),
    "bge, t = 0.5": ("bge", {"t": 0.5}),
}
FROM, TO, N_BINS, RESAMPLED = 0.05, 0.95, 10, 200


class Network(NamedTuple):
    """Probabilities given to the links and arrows of one network, and which of them are there."""

    links: tuple[Floats, Bools]
    arrows: tuple[Floats, Bools]

    @classmethod
    def of(cls, links: Floats, arrows: Floats, dag: Bools) -> "Network":
        """Take pairs of columns for links and ordered pairs for arrows."""
        once, twice = np.triu_indices(D, 1), ~np.eye(D, dtype=bool)
        return cls((links[once], (dag | dag.T)[once]), (arrows[twice], dag[twice]))


def drawn(kind: str, n: int, seed: int) -> tuple[Floats, Bools]:
    """Draw a table and its DAG."""
    rng = np.random.default_rng([seed, n, KINDS.index(kind)])
    d = D + (N_HIDDEN if kind == "hidden" else 0)
    order, chance = rng.permutation(d), DENSITIES[seed % len(DENSITIES)] * 2 / (D - 1)
    dag = np.zeros((d, d), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((d, d)) < chance, 1)
    weights = dag * rng.uniform(0.1, 1.0, (d, d)) * rng.choice([-1, 1], (d, d))
    bent = rng.integers(len(BENT), size=(d, d))
    values = np.zeros((n, d))
    for node in order:
        causes = values.copy()
        if kind == "nonlinear":
            causes = np.column_stack([BENT[bent[k, node]](column) for k, column in enumerate(values.T)])
        noise = rng.standard_t(3, size=n) / 3**0.5 if kind == "t3" else rng.normal(size=n)
        values[:, node] = causes @ weights[:, node] + noise
    return values[:, :D], dag[:D, :D]


def probabilities(method: str, values: Floats) -> Floats:
    """Return the exact posterior of every edge under the default prior, as a fit gives it."""
    name, options = METHODS[method]
    score = build_score(name, Statistics.from_array(values), options)
    tables = all_tables(Evaluator(score, Settings()), Constraints.none(D))
    return by_sums(evidence(tables.shares(score), score), np.zeros((D, D), dtype=bool), None)[0]


def summarised(networks: list[Network], edge: str) -> Iterator[Row]:
    """Yield what was given and found in each bin, and the calibration error, with 95% intervals."""
    parts = [getattr(network, edge) for network in networks]
    shown = [(given[inside], true[inside]) for given, true in parts for inside in [(given >= FROM) & (given <= TO)]]
    given = np.concatenate([part for part, _ in shown])
    if len(given) < N_BINS:
        return
    ends = np.quantile(given, np.linspace(0, 1, N_BINS + 1))[1:-1]
    rng = np.random.default_rng(0)
    draws = [_bins(shown, rng.integers(len(shown), size=len(shown)), ends) for _ in range(RESAMPLED)]
    count, mean, found = _bins(shown, np.arange(len(shown)), ends)
    numbers = {"networks": len(networks), "count": len(given)}
    least, most = np.quantile([_error(*draw) for draw in draws], (0.025, 0.975))
    yield {"bin": "all", **numbers, **_rounded(error=_error(count, mean, found), low=least, high=most)}
    for k in np.flatnonzero(count).tolist():  # equal frequencies can leave a bin empty
        low, high = np.nanquantile([draw[2][k] for draw in draws], (0.025, 0.975))
        shares = _rounded(given=mean[k], found=found[k], low=low, high=high)
        yield {"bin": k, "networks": len(networks), "count": int(count[k]), **shares}


def _bins(shown: list[tuple[Floats, Bools]], chosen: npt.NDArray[Any], ends: Floats) -> tuple[Floats, Floats, Floats]:
    """Return count, mean given and share found of each bin over some networks."""
    given, true = (np.concatenate([shown[k][side] for k in chosen]) for side in (0, 1))
    place = np.searchsorted(ends, given)
    count, total, hits = (np.bincount(place, weights, N_BINS) for weights in (np.ones(len(given)), given, true))
    with np.errstate(invalid="ignore"):
        return count, total / count, hits / count


def _error(count: Floats, mean: Floats, found: Floats) -> float:
    return float(np.nansum(count * np.abs(mean - found)) / count.sum())


def _rounded(**values: float) -> Row:
    return {name: round(float(value), 4) for name, value in values.items()}


def summaries(found: dict[tuple[str, int], list[Network]], kind: str, method: str) -> Iterator[Row]:
    """Yield the rows of sparse and dense networks, of each number of rows and of all together."""
    for graphs in ("sparse", "dense"):
        by_rows = {n: part for (name, n), part in found.items() if name == graphs}
        by_rows |= {"all": [one for part in by_rows.values() for one in part]} if by_rows else {}
        for n, networks in by_rows.items():
            for edge in ("links", "arrows"):
                for row in summarised(networks, edge):
                    if n == "all" or row["bin"] == "all":
                        yield {"kind": kind, "graphs": graphs, "n": n, "method": method, "edge": edge, **row}


def graphs_of(seed: int) -> str:
    """Return whether a network is dense."""
    return "dense" if DENSITIES[seed % len(DENSITIES)] == DENSE else "sparse"


@study("calibration", "kind graphs n method edge bin", seeds=range(4), rows=(100,), kinds=("linear",))
def posteriors(
    seeds: Seeds = range(200),
    rows: Annotated[Numbers, "rows of the tables"] = ROWS,
    kinds: Annotated[Names, "kinds of tables"] = KINDS,
) -> Iterator[Row]:
    """Compare edge probabilities with the truth."""
    for kind in kinds:
        for method in METHODS:
            found: dict[tuple[str, int], list[Network]] = {}
            for seed in seeds:
                for n in rows:
                    values, dag = drawn(kind, n, seed)
                    given = probabilities(method, values)
                    found.setdefault((graphs_of(seed), n), []).append(Network.of(given + given.T, given, dag))
            yield from summaries(found, kind, method)


@study("calibration", "kind graphs n method edge bin", seeds=range(4), rows=(100,), kinds=("linear",), resamples=4)
def resamples(
    seeds: Seeds = range(60),
    rows: Annotated[Numbers, "rows of the tables"] = ROWS,
    kinds: Annotated[Names, "kinds of tables"] = ("linear",),
    resamples: Annotated[int, "resamples of each table"] = 50,
) -> Iterator[Row]:
    """Compare bootstrap frequencies with the truth; an arrow counts where the class of a resample has it."""
    for kind in kinds:
        found: dict[tuple[str, int], list[Network]] = {}
        for seed in seeds:
            for n in rows:
                values, dag = drawn(kind, n, seed)
                shares = DrBO(score="bic-nv", random_state=seed).fit(values).bootstrap(values, n=resamples)
                network = Network.of(shares.adjacent, shares.directed, dag)
                found.setdefault((graphs_of(seed), n), []).append(network)
        yield from summaries(found, kind, f"bootstrap of {resamples}")
