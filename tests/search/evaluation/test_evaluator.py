from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline
from drbo.errors import ScoreError
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings


class Counting(BicNV):
    """Remembers every family it was asked about."""

    def __init__(self, table, **options):
        super().__init__(table, **options)
        self.asked = []

    def local(self, families):
        self.asked += families.keys()
        return super().local(families)


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(80, 4)))


def _dags(rng, count, d=4):
    return np.stack([np.triu(rng.random((d, d)) < 0.5, 1) for _ in range(count)])


def test_scores_are_those_of_the_score(table, rng):
    dags = _dags(rng, 12)
    for cls in (BicNV, BicEV):
        score = cls(table)
        evaluated = Evaluator(score, Settings()).evaluate(dags)
        for dag, value in zip(dags, evaluated.scores, strict=True):
            families = Families.from_dags(dag[None])
            price = score.family_price(families)
            assert value == pytest.approx(float(score.combine(score.local(families), price)))


def test_no_family_is_computed_twice_and_all_are_counted(table, rng):
    score = Counting(table)
    evaluator = Evaluator(score, Settings())
    dags = _dags(rng, 30)
    first = evaluator.evaluate(dags)
    again = evaluator.evaluate(dags)
    assert (first.scores == again.scores).all()
    assert len(score.asked) == len(set(score.asked)) == evaluator.n_local
    assert set(score.asked) == set(Families.from_dags(dags).keys())


def test_only_dags_with_an_unknown_family_cost(table):
    evaluator = Evaluator(BicNV(table), Settings(max_evals=2))
    chain = np.zeros((3, 4, 4), dtype=bool)
    chain[1, 0, 1] = True
    chain[2, 0, 1] = chain[2, 0, 2] = True
    evaluator.evaluate(chain[:2])
    assert evaluator.n_evals == 2
    assert evaluator.down_to(0)
    assert len(evaluator.evaluate(chain)) == 2  # the third has an unknown family: cut
    assert len(evaluator.evaluate(chain[:2])) == 2  # known DAGs stay free
    assert evaluator.n_evals == 2


def test_the_papers_count_counts_every_dag(table):
    evaluator = Evaluator(BicNV(table), Settings(max_evals=3).with_(count_known=True))
    empty = np.zeros((5, 4, 4), dtype=bool)
    assert len(evaluator.evaluate(empty)) == 3
    assert evaluator.n_evals == 3


def test_max_local_is_never_passed(table, rng):
    evaluator = Evaluator(BicNV(table), Settings(max_local=9))
    evaluator.evaluate(_dags(rng, 50))
    assert evaluator.n_local <= 9


def test_single_families_are_charged_as_shares_of_a_dag(table):
    evaluator = Evaluator(BicNV(table), Settings())
    evaluator.families(Families.from_sets(4, [(0, (1,)), (1, (2,)), (2, (3,)), (0, (1, 2)), (3, ())]))
    assert (evaluator.n_local, evaluator.n_evals) == (5, 2)
    evaluator.families(Families.from_sets(4, [(0, (1,))]))
    assert (evaluator.n_local, evaluator.n_evals) == (5, 2)


def test_one_dag_is_scored_beyond_the_budget_and_the_time(table, rng):
    evaluator = Evaluator(BicNV(table), Settings().with_(max_evals=1, count_known=True))
    dag = _dags(rng, 1)[0]
    with Deadline(0.0):
        first = evaluator.evaluate_one(dag)
    assert evaluator.n_evals == 1
    again = evaluator.evaluate_one(dag)  # known families cost nothing
    assert (again.scores == first.scores).all()
    assert evaluator.n_evals == 1


def test_known_returns_everything_once(table, rng):
    evaluator = Evaluator(BicNV(table), Settings())
    evaluator.evaluate(_dags(rng, 5))
    families, local = evaluator.known()
    assert len(set(families.keys())) == len(families) == evaluator.n_local
    assert np.allclose(BicNV(table).local(families), local)
    assert len(evaluator.known(since=3)[0]) == evaluator.n_local - 3


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_gives_the_same_numbers(table, rng, pool):
    dags = _dags(rng, 40)
    alone = Evaluator(BicNV(table), Settings()).evaluate(dags)
    with pool(2) as executor:
        together = Evaluator(BicNV(table), Settings(), executor).evaluate(dags)
    assert (alone.scores == together.scores).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_local_score_is_named(table, value):
    class Broken(Score):
        def local_one(self, node, parents):
            return value if node == 2 and parents == (1,) else 0.0

    dag = np.zeros((1, 4, 4), dtype=bool)
    dag[0, 1, 2] = True
    with pytest.raises(ScoreError, match=r"node 'x2' with parents \['x1'\]"):
        Evaluator(Broken(table), Settings()).evaluate(dag)


def test_a_wrong_shape_is_named(table):
    class Short(Score):
        def local(self, families):
            return np.zeros(1)

    with pytest.raises(ScoreError, match="must return one value per family, got shape"):
        Evaluator(Short(table), Settings()).evaluate(np.zeros((1, 4, 4), dtype=bool))
