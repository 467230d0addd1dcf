from itertools import permutations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def every_dag():
    """All 543 DAGs on 4 nodes (543, 4, 4)."""
    pairs = np.triu_indices(4, 1)
    found = {}
    for order in permutations(range(4)):
        for code in range(64):
            upper = np.zeros((4, 4), dtype=bool)
            upper[pairs] = [code >> k & 1 for k in range(6)]
            dag = upper[np.ix_(order, order)]
            found[dag.tobytes()] = dag
    assert len(found) == 543
    return np.array(list(found.values()))


@pytest.fixture
def weigh(every_dag):
    """Return the sum of the entries of a table (4, 8) over the families of each DAG."""

    def sums(table):
        columns = [np.delete(every_dag[:, :, node], node, axis=1) @ [1, 2, 4] for node in range(4)]
        return sum(table[node, column] for node, column in enumerate(columns))

    return sums
