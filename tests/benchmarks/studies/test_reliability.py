"""All DAGs of a few nodes, and tables drawn from them."""

import numpy as np
import pytest

from benchmarks.studies import reliability
from drbo.graph import is_acyclic


@pytest.mark.parametrize(("n_nodes", "count"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29_281)])  # OEIS A003024
def test_every_dag_is_listed_once(n_nodes, count):
    dags = reliability.all_dags(n_nodes)
    assert len(np.unique(dags.reshape(len(dags), -1), axis=0)) == len(dags) == count
    assert all(is_acyclic(dag) for dag in dags[:: max(1, count // 50)])


def test_every_edge_is_counted_once():
    rows = list(reliability.run(scores=("bdeu",), seeds=range(2)))
    assert sum(row["count"] for row in rows) == 2 * 20
