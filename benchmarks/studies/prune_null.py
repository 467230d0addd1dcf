"""How often the pruners keep a parent that has no effect.

    python -m benchmarks prune_null --tests 20000
    python -m benchmarks prune_null --part kci --tests 1000

CAM: every node is a sum of smooth functions of some of its parents plus noise. The other parents have no effect, and
only their tests are counted. Parents are independent in half of the sets; in the other half they share a common cause,
so that idle parents correlate with true ones. Parents, common cause and noise all have the named distribution.
KCI: two variables with two common causes, given these.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from benchmarks.parameters import Numbers, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import in_parallel, study
from drbo.claims.answer.cam import prune_cam
from drbo.claims.answer.kci import kci_test

KEY = "pruner distribution n level seed"
ALPHA = 0.001
DISTRIBUTIONS = ("gaussian", "uniform", "t3")
EFFECTS = (lambda x: x, lambda x: np.sin(2 * x), np.tanh, lambda x: x**2 / 3)
Floats = npt.NDArray[np.float64]
Tests = Annotated[int, "null tests for each distribution"]
Seed = Annotated[int, "seed of the data"]
Sizes = Annotated[Numbers, "sample sizes"]


def draw(distribution: str, shape: int | tuple[int, int], rng: np.random.Generator) -> Floats:
    """Draw independent numbers."""
    if distribution == "gaussian":
        return rng.normal(size=shape)
    if distribution == "uniform":
        return rng.uniform(-(3**0.5), 3**0.5, size=shape)
    return rng.standard_t(3, size=shape)


def cam_p_values(distribution: str, n_rows: int, n_tests: int, seed: int) -> Floats:
    """Return p-values of idle parents beside 1 to 8 other parents, any number of them true."""
    rng = np.random.default_rng([seed, DISTRIBUTIONS.index(distribution), n_rows])
    found: list[float] = []
    while len(found) < n_tests:
        others = int(rng.integers(1, 9))
        n_true = rng.integers(0, others + 1)
        parents = draw(distribution, (n_rows, others + 1), rng)
        if rng.random() < 0.5:
            parents += 0.7 * draw(distribution, (n_rows, 1), rng)
        node = draw(distribution, n_rows, rng)
        for column in parents.T[:n_true]:
            node = node + EFFECTS[rng.integers(len(EFFECTS))](column)
        dag = np.zeros((others + 2, others + 2), dtype=bool)
        dag[:-1, -1] = True
        _, p_values = prune_cam(np.column_stack([parents, node]), dag, alpha=ALPHA)
        found.extend(p_values[n_true:-1, -1])
    return np.array(found[:n_tests])


def kci_p_values(distribution: str, n_rows: int, n_tests: int, seed: int) -> Floats:
    """Return p-values of x and y given their two common causes."""
    rng = np.random.default_rng([seed, DISTRIBUTIONS.index(distribution), n_rows])
    found = []
    for _ in range(n_tests):
        z = draw(distribution, (n_rows, 2), rng)
        x = np.tanh(z[:, 0]) + z[:, 1] + draw(distribution, n_rows, rng)
        y = np.sin(2 * z[:, 0]) + z[:, 1] + draw(distribution, n_rows, rng)
        found.append(kci_test(x, y, z))
    return np.array(found)


def rejections(
    pruner: str,
    test: Callable[..., Floats],
    levels: Sequence[float],
    sizes: Numbers,
    n_tests: int,
    seed: int,
    workers: int,
) -> Iterator[Row]:
    """Yield, for each distribution and size and for all sizes together, how often a test rejects at each level."""
    jobs = [(name, n, -(-n_tests // len(sizes)), seed) for name in DISTRIBUTIONS for n in sizes]
    found = dict(zip([job[:2] for job in jobs], in_parallel(test, jobs, workers), strict=True))
    every = {(name, "all"): np.concatenate([found[name, n] for n in sizes]) for name in DISTRIBUTIONS}
    for (name, n), p_values in {**found, **every, ("all", "all"): np.concatenate(list(found.values()))}.items():
        for level in levels:
            rejected = int((p_values < level).sum())
            low, high = binomtest(rejected, len(p_values)).proportion_ci(0.95)
            yield {
                **{"pruner": pruner, "distribution": name, "n": n, "level": level, "seed": seed},
                **{"tests": len(p_values), "rejected": rejected, "rate": round(rejected / len(p_values), 5)},
                **{"low": round(low, 5), "high": round(high, 5), "ok": low <= level <= high},
            }


@study("prune_null", KEY, tests=3, rows=(100,))
def cam(tests: Tests = 20_000, rows: Sizes = (200, 500, 1000), seed: Seed = 0, workers: Workers = 1) -> Iterator[Row]:
    """Count rejections of CAM's test."""
    yield from rejections("cam", cam_p_values, (ALPHA,), rows, tests, seed, workers)


@study("prune_null", KEY, tests=2, rows=(60,))
def kci(tests: Tests = 1_000, rows: Sizes = (200, 400), seed: Seed = 0, workers: Workers = 1) -> Iterator[Row]:
    """Count rejections of the kernel test."""
    yield from rejections("kci", kci_p_values, (0.05, ALPHA), rows, tests, seed, workers)
