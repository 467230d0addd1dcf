"""How often the pruners keep a parent that has no effect.

    python -m benchmarks.studies.prune_null --tests 20000 --seed 0

CAM: every node is a sum of smooth functions of some of its parents plus noise. The other parents have no effect, and
only their tests are counted. Parents are independent in half of the sets; in the other half they share a common cause,
so that idle parents correlate with true ones. Parents, common cause and noise all have the named distribution.
KCI: two variables with two common causes, given these.
"""

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

import numpy as np
from scipy.stats import binomtest
from threadpoolctl import threadpool_limits

from drbo.claims.cam import prune_cam
from drbo.claims.kci import kci_test

ALPHA = 0.001
DISTRIBUTIONS = ("gaussian", "uniform", "t3")
ROWS = (200, 500, 1000)
KCI_ROWS = (200, 400)
EFFECTS = (lambda x: x, lambda x: np.sin(2 * x), np.tanh, lambda x: x**2 / 3)


def draw(distribution, shape, rng):
    if distribution == "gaussian":
        return rng.normal(size=shape)
    if distribution == "uniform":
        return rng.uniform(-(3**0.5), 3**0.5, size=shape)
    return rng.standard_t(3, size=shape)


def cam_p_values(distribution, n_rows, n_tests, seed):
    """Return p-values of idle parents beside 1 to 8 other parents, any number of them true."""
    rng = np.random.default_rng([seed, DISTRIBUTIONS.index(distribution), n_rows])
    found = []
    while len(found) < n_tests:
        others = rng.integers(1, 9)
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


def kci_p_values(distribution, n_rows, n_tests, seed):
    """Return p-values of x and y given their two common causes."""
    rng = np.random.default_rng([seed, DISTRIBUTIONS.index(distribution), n_rows])
    found = []
    for _ in range(n_tests):
        z = draw(distribution, (n_rows, 2), rng)
        x = np.tanh(z[:, 0]) + z[:, 1] + draw(distribution, n_rows, rng)
        y = np.sin(2 * z[:, 0]) + z[:, 1] + draw(distribution, n_rows, rng)
        found.append(kci_test(x, y, z))
    return np.array(found)


def line(label, p_values, level):
    rejected = int((p_values < level).sum())
    low, high = binomtest(rejected, len(p_values)).proportion_ci(0.95)
    verdict = "ok" if low <= level <= high else "OUT"
    rate = rejected / len(p_values)
    return f"{label:<22}{len(p_values):>8}{rejected:>9}{rate:>10.5f}  [{low:.5f}, {high:.5f}]  {verdict}"


def table(title, task, levels, settings, n_tests, seed):
    with ProcessPoolExecutor(initializer=threadpool_limits, initargs=(1,)) as pool:
        names, rows = zip(*settings, strict=True)
        found = list(pool.map(task, names, rows, repeat(n_tests), repeat(seed)))
    for level in levels:
        print(f"\n{title}, rejections at {level}\n{'data':<22}{'tests':>8}{'rejected':>9}{'rate':>10}  95% interval")
        for (name, n_rows), p_values in zip(settings, found, strict=True):
            print(line(f"{name}, n={n_rows}", p_values, level))
        for name in DISTRIBUTIONS:
            same = [p_values for other, p_values in zip(names, found, strict=True) if other == name]
            print(line(f"{name}, all", np.concatenate(same), level))
        print(line("all", np.concatenate(found), level))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=20_000, help="null tests of CAM for each distribution")
    parser.add_argument("--kci-tests", type=int, default=0, help="null tests of KCI for each distribution")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.perf_counter()
    for title, task, n_tests, sizes, levels in (
        ("CAM", cam_p_values, options.tests, ROWS, (ALPHA,)),
        ("KCI", kci_p_values, options.kci_tests, KCI_ROWS, (0.05, ALPHA)),
    ):
        if n_tests:
            settings = [(name, n_rows) for name in DISTRIBUTIONS for n_rows in sizes]
            table(title, task, levels, settings, -(-n_tests // len(sizes)), options.seed)
    print(f"\nseed {options.seed}, {time.perf_counter() - start:.0f} s, {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
