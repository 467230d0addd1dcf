import numpy as np
import pytest

from drbo import DrBO
from drbo.claims.checks.hidden_check import (
    DOUBT,
    MOST_COLUMNS,
    POSSIBLE,
    HiddenCauses,
    Suspects,
    doubts,
    one_factor_misfit,
    suspected,
)
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import descendants
from drbo.scores.bge import BGe
from drbo.scores.linear import BicEV, BicNV
from tests.claims.contexts import context_of
from tests.hidden import confounded_table

N = 1000


def _collider_dag():
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[0, 2] = dag[1, 2] = dag[3, 2] = True
    return dag


def test_an_edge_of_a_hidden_cause_is_suspected():
    score = BicNV(Statistics.from_array(confounded_table().to_numpy()[:, :4]), penalty=1.5)
    found = suspected(score, _collider_dag(), 0).likely
    assert np.argwhere(found).tolist() == [[0, 2], [1, 2]]  # a -> c only makes up for what b -> c says too much


def test_clean_tables_are_silent():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        dag = np.triu(rng.random((8, 8)) < 0.35, 1)
        X = rng.normal(size=(N, 8)) @ np.linalg.inv(np.eye(8) - dag * rng.uniform(0.5, 1.0, (8, 8)))
        assert not suspected(BicNV(Statistics.from_array(X), penalty=2.0), dag, seed).likely.any()


def test_one_factor_is_told_from_a_clique(rng):
    factor = rng.normal(size=(N, 1)) * [1.0, 0.8, -0.9, 1.2] + rng.normal(size=(N, 4))
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    assert suspected(BicNV(Statistics.from_array(factor), penalty=2.0), dag, 0).likely.sum() == 6
    weights = dag * np.array([0.7, -0.5, 0.8, 0.6])
    clique = rng.normal(size=(N, 4)) @ np.linalg.inv(np.eye(4) - weights)
    assert not suspected(BicNV(Statistics.from_array(clique), penalty=2.0), dag, 0).likely.any()


def test_the_misfit_is_zero_for_a_factor_and_at_least_zero_otherwise(rng):
    signs = np.array([0.5, -0.6, 0.7, -0.8])
    exact = np.outer(signs, signs)
    np.fill_diagonal(exact, 1.0)
    assert one_factor_misfit(exact) == pytest.approx(0.0, abs=1e-12)
    for _ in range(20):
        assert one_factor_misfit(np.corrcoef(rng.normal(size=(4, 50)))) >= -1e-12


def test_what_cannot_be_checked_says_so(rng):
    table = Statistics.from_array(confounded_table().to_numpy()[:, :4])
    claim, dag = HiddenCauses(), _collider_dag()
    for score, relevant in ((BicNV(table), True), (BicEV(table), False), (BGe(table), False)):
        assert claim.relevant(context_of(score, table, dag)) == relevant
    assert not claim.relevant(context_of(BicNV(table), table, np.zeros((4, 4), dtype=bool)))
    large = MOST_COLUMNS + 1
    wide = Statistics.from_array(rng.normal(size=(30, large)))
    found = claim.too_much(context_of(BicNV(wide), wide, np.eye(large, k=1, dtype=bool)))
    assert found == "the table has more than 100 columns"


def test_doubts_say_how_likely_a_hidden_cause_is():
    likely, possible = np.zeros((2, 3, 3), dtype=bool)
    likely[0, 1] = likely[2, 0] = possible[1, 0] = possible[2, 0] = True
    found = doubts(Suspects(likely, possible), ["a", "b", "c"])
    assert [(one.cause, one.effect, one.likely) for one in found] == [
        ("a", "b", True), ("b", "a", False), ("c", "a", True)
    ]  # fmt: skip
    assert [one.sentence for one in found] == [DOUBT, POSSIBLE, DOUBT]
    assert {one.grounds for one in found} == {("class",)}


def test_most_wrong_class_arrows_beside_a_common_cause_of_many_columns_are_assumed():
    right, wrong = 0, 0
    for seed in range(30, 41):
        full = simulate("10ER2", n=1000, seed=seed)
        kept = np.delete(np.arange(10), int(np.argmax(full.dag.sum(axis=1))))
        result = DrBO(score="bic-nv", random_state=seed).fit(full.X[:, kept]).result_
        above = descendants(full.dag)[np.ix_(kept, kept)]
        for one in result.directions:
            is_right = above[result.names.index(one.cause), result.names.index(one.effect)]
            right += one.ground == "class" and is_right
            wrong += one.ground == "class" and not is_right
    assert right >= 6 * wrong
    assert right >= 5


@pytest.mark.parametrize("n", [500, 2000])
def test_no_arrow_beside_a_hidden_cause_is_supported(n):
    """a -> b <- H -> c <- d: a DAG needs a link of d with b, or of a with c."""
    for seed in range(6):
        a, d, hidden, *noise = np.random.default_rng(seed).normal(size=(5, n))
        X = np.column_stack([a, a + hidden + noise[0], d + hidden + noise[1], d])
        result = DrBO(score="bic-nv", random_state=seed).fit(X).result_
        assert not {(one.cause, one.effect) for one in result.directions if one.direction == "supported"} & {
            ("x3", "x1"), ("x0", "x2"), ("x1", "x2"), ("x2", "x1")
        }  # fmt: skip


def test_class_arrows_there_are_assumed_and_the_summary_names_the_option():
    result = DrBO(score="bic-nv", random_state=0).fit(confounded_table()).result_
    doubted = {(one.cause, one.effect) for one in result.claims.denials if one.likely}
    assert doubted
    for one in result.directions:
        if (one.cause, one.effect) in doubted:
            assert one.direction != "supported"
    assert any(DOUBT in one.sentence for one in result.directions)
    assert "a hidden cause is likely at" in result.summary()
    assert "--hidden" in result.summary()
