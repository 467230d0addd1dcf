"""Judging a graph on held-out rows: true graphs pass, wrong ones do not, and every figure is what it says."""

import json

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, SettingsError
from drbo.graph.dag import dag_to_cpdag
from drbo.result.judge import LEVEL, judge
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.registry import build_score


def _truth(seed=0, d=7, share=0.4):
    return np.triu(np.random.default_rng(seed).random((d, d)) < share, 1)


def _rows(dag, seed=1, n=400):
    d = len(dag)
    noise = np.random.default_rng(seed).normal(size=(n, d))
    return pd.DataFrame(noise @ np.linalg.inv(np.eye(d) - 0.8 * dag), columns=[f"v{j}" for j in range(d)])


def test_the_true_graph_passes_and_a_shuffled_one_does_not():
    dag = _truth()
    x = _rows(dag)
    good = judge(dag, x, score="bic-nv")
    assert (good.beats_random, good.informative, good.falsified) == (True, True, False)
    assert good.n_discoveries == 0
    order = np.random.default_rng(3).permutation(7)
    bad = judge(dag[np.ix_(order, order)], x, score="bic-nv")
    assert bad.falsified
    assert bad.n_discoveries > 3
    assert bad.score < good.score


def test_shares_of_shuffled_graphs_are_no_smaller_than_chance():
    dag = _truth()
    x = _rows(dag)
    shares = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(7)
        found = judge(dag[np.ix_(order, order)], x, score="bic-nv", n_random=19, n_permutations=39, path=False)
        shares.append(found.markov_share)
    assert np.mean(np.array(shares) <= LEVEL) <= 0.15
    assert np.mean(shares) == pytest.approx(0.5, abs=0.2)


def test_scores_are_those_of_the_held_out_rows():
    dag = _truth()
    x = _rows(dag)
    found = judge(dag, x, score="bic-nv", score_options={"penalty": 2.0}, path=False)
    score = BicNV(Statistics.from_array(x.to_numpy()), penalty=2.0)
    for graph, value in ((dag, found.score), (np.zeros_like(dag), found.empty_score)):
        families = Families.from_dags(graph[None])
        assert value == pytest.approx(float((400 * score.local(families) + score.family_price(families)).sum()))
    assert len(found.random_scores) == 100
    assert found.random_share == pytest.approx((1 + sum(s >= found.score for s in found.random_scores)) / 101)


def test_a_class_is_judged_as_its_members():
    dag = _truth(share=0.3)
    x = _rows(dag)
    one, other = judge(dag, x, score="bic-nv", seed=1), judge(dag_to_cpdag(dag), x, score="bic-nv", seed=1)
    assert one.score == pytest.approx(other.score)


def test_strong_edges_outlive_weak_ones():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    x[:, 1] += 2 * x[:, 0]
    x[:, 2] += 0.25 * x[:, 0]
    dag = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    strong, weak = judge(dag, x, score="bic-nv").penalties
    assert strong["linked_up_to"] == 64.0
    # Without its edge the weak one loses n ln(1 / (1 - r^2)): that is its price in units of ln n.
    r2 = np.corrcoef(x, rowvar=False)[0, 2] ** 2
    price = -400 * np.log(1 - r2) / np.log(400)
    assert weak["linked_up_to"] <= price < 2 * weak["linked_up_to"]
    assert strong["directed_up_to"] is None


def test_counts_and_kernels():
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=500)
    b = np.where(rng.random(500) < 0.9, a, 1 - a)
    c = np.where(rng.random(500) < 0.9, b, 1 - b)
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    found = judge(chain, pd.DataFrame({"a": a, "b": b, "c": c}))
    assert (found.score_name, found.test, found.n_violations) == ("bdeu", "g-test", 0)
    assert all(edge["linked_up_to"] >= 8 for edge in found.penalties)
    x = rng.normal(size=150)
    y = x**2 + 0.3 * rng.normal(size=150)
    table = pd.DataFrame({"x": x, "y": y, "z": np.sin(3 * y) + 0.3 * rng.normal(size=150)})
    found = judge(chain, table, score="splines", n_random=19, n_permutations=19)
    assert (found.test, found.penalties) == ("kci", ())
    assert found.n_violations == 0


def test_a_complete_graph_claims_nothing():
    dag = np.triu(np.ones((3, 3)), 1)
    found = judge(dag, _rows(dag > 0, n=50), score="bic-nv", path=False)
    assert found.n_claims == 0
    assert not found.falsified
    assert "implies no independence" in found.summary()


def test_the_text_and_the_json_say_the_same():
    dag = _truth()
    found = judge(dag, _rows(dag), score="bic-nv")
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["falsified"] is False
    text = found.summary()
    for words in (
        "Score on these rows",
        "Local Markov tests",
        "Permuted nodes",
        "Penalty path",
        "hidden common causes",
    ):
        assert words in text


def test_a_result_judges_with_its_own_score_and_warns_of_rows_it_has_seen():
    dag = _truth()
    train, held = _rows(dag, seed=1), _rows(dag, seed=2)
    result = DrBO(score="bic-nv", random_state=0).fit(train).result_
    found = result.judge(held, path=False)
    assert found.score_name == "bic-nv"
    assert found.names == result.names
    with pytest.warns(UserWarning, match="learned from these rows"):
        result.judge(train.sample(frac=1, random_state=0), path=False)


def test_the_same_seed_gives_the_same_judgement():
    dag = _truth()
    one, other = (judge(dag, _rows(dag), score="bge", seed=3) for _ in range(2))
    assert one == other


def test_what_cannot_be_judged_is_refused():
    dag, x = _truth(), _rows(_truth())
    with pytest.raises(DataError, match="no column 'w'"):
        judge(dag, x, names=["w", *x.columns[1:]])
    with pytest.raises(DataError, match="7 nodes, but the table has 6 columns"):
        judge(dag, x.iloc[:, :6])
    with pytest.raises(SettingsError, match="n_random must be"):
        judge(dag, x, n_random=0)
    with pytest.raises(SettingsError, match="auto or one of gaussian"):
        judge(dag, x, score="bic-nv", test="t")


def test_build_score_is_the_gate():
    with pytest.raises(SettingsError, match="score must be one of"):
        judge(_truth(), _rows(_truth()), score="best")
    assert build_score("bge", Statistics.from_array(_rows(_truth()).to_numpy())).name == "bge"
