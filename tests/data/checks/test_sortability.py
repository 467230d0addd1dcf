import numpy as np
import pytest

from drbo.data.checks.sortability import explained, sortability


def test_sortability_counts_paths_of_every_length():
    chain = np.diag(np.ones(3), 1)
    assert sortability(chain, [1, 2, 3, 4]) == 1.0
    assert sortability(chain, [4, 3, 2, 1]) == 0.0
    assert sortability(chain, [1, 1, 1, 1]) == 0.5
    assert sortability(np.zeros((3, 3)), [1, 2, 3]) is None
    # a -> b -> c and a -> c: the pair (a, c) counts once for length 1 and once for length 2
    triangle = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert sortability(triangle, [1, 3, 2]) == pytest.approx(3 / 4)


def test_explained_is_the_r2_of_a_regression_on_the_others(rng):
    values = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 3))
    for j, share in enumerate(explained(values)):
        others = np.column_stack([np.ones(200), np.delete(values, j, axis=1)])
        residual = values[:, j] - others @ np.linalg.lstsq(others, values[:, j])[0]
        assert share == pytest.approx(1 - residual.var() / values[:, j].var())


def test_every_path_length_counts_once_for_a_pair(rng):
    for _ in range(20):
        dag = np.triu(rng.random((8, 8)) < 0.4, 1)
        value = rng.integers(5, size=8).astype(float)
        power, right, total = dag.astype(float), 0.0, 0
        while power.any():
            for i, j in np.argwhere(power):
                right += 1.0 if value[i] < value[j] else 0.5 * (value[i] == value[j])
                total += 1
            power = power @ dag
        expected = right / total if total else None
        assert sortability(dag, value) == (expected if expected is None else pytest.approx(expected))
