"""The best of all DAGs, found by listing them."""

import numpy as np
import pytest

from benchmarks.studies import equivalence
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.graph import is_acyclic
from drbo.scores.base import Families, build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.subset_dp import best_dag
from drbo.settings import Settings


@pytest.mark.parametrize(("n_nodes", "count"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29_281)])  # OEIS A003024
def test_every_dag_is_listed_once(n_nodes, count):
    dags = equivalence.all_dags(n_nodes)
    assert len(np.unique(dags.reshape(len(dags), -1), axis=0)) == len(dags) == count
    assert all(is_acyclic(dag) for dag in dags[:: max(1, count // 50)])


@pytest.mark.parametrize("name", ["bge", "logistic"])
def test_the_best_score_is_that_of_dynamic_programming(name):
    data = simulate("4ER1", equivalence.MODELS[name], n=300, seed=1)
    score = build_score(name, Table.from_array(data.X), equivalence.OPTIONS)
    dags = equivalence.all_dags(4)
    families = Families.from_dags(dags)
    shares = float(score.gain) * score.local(families) + score.family_price(families)
    best = best_dag(4, families.nodes, families.parents @ (1 << np.arange(4)), shares)
    expected = Evaluator(score, Settings()).evaluate(best[None]).scores[0]
    assert equivalence.best_score(score, dags) == pytest.approx(expected, rel=1e-12)
