"""Several results as one."""

import numpy as np
import pytest

from drbo.errors import ResultError
from drbo.result.pooling import pooled
from tests.results import make_result


def _result(edges, score=0.0, equivalent=True):
    dag = np.zeros((3, 3), dtype=bool)
    for i, j in edges:
        dag[i, j] = True
    return make_result(dag, score=score, score_equivalent=equivalent)


def test_shares_are_counted_on_classes():
    one = pooled([_result([(0, 1)]), _result([(1, 0)])], "seeds", 7)
    assert one.confidence.undirected[0, 1] == 1.0
    assert (one.confidence.n, one.confidence.kind, one.confidence.seed) == (2, "seeds", 7)
    other = pooled([_result([(0, 1)], equivalent=False), _result([(1, 0)], equivalent=False)], "seeds", 7)
    assert other.confidence.directed[0, 1] == 0.5


def test_the_typical_result_is_kept_with_its_score():
    results = [_result([(0, 1), (1, 2)], 1.0), _result([(0, 1)], 2.0), _result([], 3.0)]
    assert pooled(results, "imputation", 0).score == 2.0


def test_nothing_cannot_be_pooled():
    with pytest.raises(ResultError, match="no results"):
        pooled([], "imputation", 0)
