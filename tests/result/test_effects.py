"""Effects as sets over a class, against the enumeration of all its DAGs."""

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from drbo import DrBO, Knowledge
from drbo.claims.refits.resampling import Refitted
from drbo.constraints import Constraints
from drbo.data.checks.check import check_table
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import MarkedGraph
from drbo.result.effects import HELD_OUT, SEEN, effects, resampled_effects
from drbo.result.mixture import Doubt
from tests.graph.test_adjustment import all_members

NAMES = tuple("abcde")


def _dag(rng, d=5, share=0.5):
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < share, 1)[np.ix_(order, order)]


def _exact_rows(covariance):
    """Rows whose sample covariance (divided by n) is exactly the given one."""
    d = len(covariance)
    noise = np.random.default_rng(0).normal(size=(50, d))
    centred = noise - noise.mean(axis=0)
    whitened = centred @ np.linalg.inv(np.linalg.cholesky(centred.T @ centred / 50)).T
    return whitened @ np.linalg.cholesky(covariance).T


def _population(rng, dag):
    weights = dag * rng.uniform(0.5, 1.5, size=dag.shape)
    mix = np.linalg.inv(np.eye(len(dag)) - weights)
    return mix.T @ np.diag(rng.uniform(0.5, 2.0, size=len(dag))) @ mix


def _total(covariance, dag):
    """Total effects in a DAG by path tracing: weights by regression on the parents, then the sum over paths."""
    weights = np.zeros(dag.shape)
    for j in range(len(dag)):
        parents = np.flatnonzero(dag[:, j])
        if len(parents):
            weights[parents, j] = np.linalg.solve(covariance[np.ix_(parents, parents)], covariance[parents, j])
    return np.linalg.inv(np.eye(len(dag)) - weights) - np.eye(len(dag)), weights


def _rounded(values):
    return sorted({round(float(value), 8) + 0.0 for value in values})


def test_sets_are_those_of_all_dags_of_the_class(rng):
    for _ in range(15):
        dag = _dag(rng)
        covariance = _population(rng, dag)
        cpdag = dag_to_cpdag(dag)
        table = Statistics.from_array(_exact_rows(covariance), names=NAMES)
        members = [_total(covariance, member) for member in all_members(cpdag)]
        pairs = [(a, b) for a in NAMES for b in NAMES if a != b]
        found = effects(cpdag, table, basis=HELD_OUT, pairs=pairs)
        for one in found.effects:
            i, j = NAMES.index(one.source), NAMES.index(one.target)
            assert _rounded(one.total) == _rounded(total[i, j] for total, _ in members)
            assert _rounded(one.direct) == _rounded(weights[i, j] for _, weights in members)
            if one.identified:
                assert len(_rounded(total[i, j] for total, _ in members)) == 1


def test_standard_errors_are_those_of_a_regression(rng):
    x = rng.normal(size=(80, 3))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 0] - x[:, 1]
    dag = np.triu(np.ones((3, 3)), 1)
    one = effects(dag, Statistics.from_array(x), basis=HELD_OUT, pairs=[("x1", "x2")]).effects[0]
    fit = sm.OLS(x[:, 2], sm.add_constant(x[:, [1, 0]])).fit()
    assert one.total[0] == pytest.approx(fit.params[1])
    assert (one.high - one.low) / 2 == pytest.approx(1.959964 * fit.bse[1])
    assert one.adjust_for == (("x0",),)


def _rows(seed=0, n=400):
    x = np.random.default_rng(seed).normal(size=(n, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] += 2 * x[:, 2]
    return pd.DataFrame(x, columns=list("abcd"))


def _decisive():
    """A model that finds the arrows of the collider supported, not assumed."""
    return DrBO(score="bic-nv", score_options={"penalty": 2.0}, random_state=0)


def test_a_result_says_what_its_effects_rest_on():
    train, held = _rows(0), _rows(1)
    result = _decisive().fit(train).result_
    seen, new = result.effects(train, "c", "d"), result.effects(held, "c", "d")
    assert (seen.basis, new.basis) == (SEEN, HELD_OUT)
    assert "conditional on this graph" in seen.summary()
    assert new.effects[0].total[0] == pytest.approx(2.0, abs=0.15)
    assert new.effects[0].low < 2.0 < new.effects[0].high
    content = json.loads(json.dumps(new.to_dict(), allow_nan=False))
    assert content["effects"][0]["identified"] is True


def test_without_names_only_effects_that_exist_are_listed():
    result = _decisive().fit(_rows(0)).result_
    table = result.effects(_rows(1)).table()
    assert set(zip(table["source"], table["target"], strict=True)) == {
        ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"),
    }  # fmt: skip
    assert set(result.effects(_rows(1), target="d").table()["source"]) == {"a", "b", "c"}
    assert result.effects(_rows(1), "d", "a").effects[0].total == (0.0,)


def test_graphs_that_are_forgotten_to_save_memory_are_made_again(rng, monkeypatch):
    dag = _dag(rng)
    table = Statistics.from_array(rng.normal(size=(50, 5)), NAMES)
    expected = effects(dag, table, basis=HELD_OUT, assumed=dag)
    monkeypatch.setattr("drbo.result.effects.MOST_CELLS", 0)
    assert effects(dag, table, basis=HELD_OUT, assumed=dag) == expected


def test_knowledge_closes_a_set():
    x = _rows(0)[["a", "c"]]
    free = DrBO(score="bic-nv", random_state=0).fit(x).result_.effects(_rows(1), "a", "c").effects[0]
    known = DrBO(score="bic-nv", knowledge=Knowledge(tiers=[["a"], ["c"]]), random_state=0).fit(x)
    told = known.result_.effects(_rows(1), "a", "c").effects[0]
    assert sorted(round(value) for value in free.total) == [0, 1]
    assert (free.identified, told.identified) == (False, True)
    assert [round(value) for value in told.total] == [1]
    assert free.least == 0.0


def test_bootstrap_graphs_widen_the_interval_to_what_the_graph_leaves_open():
    x = _rows(0, n=200)
    found = DrBO(score="bic-nv", random_state=0).fit(x).effects(x, "c", "d", n=20)
    one = found.effects[0]
    assert "20 bootstrap resamples" in found.basis
    assert one.low < 2.0 < one.high
    assert one.share_nonzero == 1.0
    assert "resamples" in found.summary()
    pair = x[["a", "c"]]
    open_ = DrBO(score="bic-nv", random_state=0).fit(pair).effects(pair, "a", "c", n=10).effects[0]
    assert open_.low == 0.0
    assert open_.share_nonzero == 0.0


def test_resampled_effects_count_every_graph():
    table = Statistics.from_array(_rows().to_numpy(), names=list("abcd"))
    edge, empty = (
        Refitted(MarkedGraph.of(graph, "abcd")) for graph in (np.eye(4, k=1) * [0, 0, 0, 1], np.zeros((4, 4)))
    )
    graphs = iter([edge, empty, edge, edge])
    done = []
    found = resampled_effects(
        lambda rows, seed: next(graphs), table, [("c", "d")], n=4, seed=0, progress=lambda k, n: done.append((k, n))
    )
    assert found.effects[0].share_nonzero == 0.75
    assert found.effects[0].total[0] == pytest.approx(0.75 * 2, abs=0.1)
    assert done[-1] == (4, 4)


def test_what_has_no_linear_effect_is_refused():
    result = DrBO(score="bic-nv", random_state=0).fit(_rows()).result_
    with pytest.raises(DataError, match="no variable 'z'"):
        result.effects(_rows(), "a", "z")
    with pytest.raises(DataError, match="both the source and the target"):
        result.effects(_rows(), "a", "a")
    with pytest.raises(DataError, match="no column 'd'"):
        result.effects(_rows().drop(columns="d"), "a", "c")
    with pytest.raises(DataError, match="too few to adjust"):
        result.effects(_rows(n=3), "a", "d")


def test_assumed_arrows_are_tried_both_ways():
    table = Statistics.from_array(_rows().to_numpy(), names="abcd")
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 2] = dag[1, 2] = dag[2, 3] = True
    assumed = np.zeros_like(dag)
    assumed[2, 3] = True
    sure = effects(dag, table, basis=HELD_OUT, pairs=[("c", "d")]).effects[0]
    unsure = effects(dag, table, basis=HELD_OUT, pairs=[("c", "d")], assumed=assumed).effects[0]
    assert sure.identified
    assert not unsure.identified
    assert set(unsure.total) == {*sure.total, 0.0}


def test_categories_are_adjusted_for_and_have_contrasts(rng):
    arm = rng.choice(["high", "low", "none"], size=600)
    dose = rng.normal(size=600) + 2.0 * (arm == "high")
    outcome = dose + 3.0 * (arm == "low") + rng.normal(size=600)
    table = check_table(pd.DataFrame({"arm": arm, "dose": dose, "outcome": outcome}))[0]
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    found = effects(dag, table, basis=HELD_OUT)
    by_dose = next(one for one in found.effects if one.source == "dose")
    assert by_dose.total[0] == pytest.approx(1.0, abs=0.15)
    assert by_dose.adjust_for == (("arm",),)
    arms = {one.contrast: one for one in found.effects if one.target == "outcome" and one.source == "arm"}
    assert arms["low instead of high"].total[0] == pytest.approx(1.0, abs=0.4)  # 3 less 2 by way of the dose
    assert arms["low instead of high"].direct[0] == pytest.approx(3.0, abs=0.4)
    shares = effects(dag, table, basis=HELD_OUT, pairs=[("outcome", "arm")]).effects
    assert [(one.level, one.total) for one in shares] == [("low", (0.0,)), ("none", (0.0,))]


def test_a_link_that_the_graph_lacks_widens_the_interval(rng):
    x = rng.normal(size=(200, 2))
    x[:, 1] += 0.15 * x[:, 0]
    table, none = Statistics.from_array(x, names=["a", "b"]), np.zeros((2, 2), dtype=bool)
    limits = Constraints.of(Knowledge(), ["a", "b"])

    def found(doubt, pair=("a", "b")):
        return effects(none, table, basis=HELD_OUT, pairs=[pair], doubt=doubt).effects[0]

    fit = sm.OLS(x[:, 1], sm.add_constant(x[:, 0])).fit()
    link = np.array([[0.0, 0.2], [0.2, 0.0]])
    one = found(Doubt(limits, link))
    draws = np.where(rng.random(400_000) < 0.2, rng.normal(fit.params[1], fit.bse[1], 400_000), 0.0)
    assert one.total == (0.0,)
    assert one.probability == 0.2
    assert (one.low, one.high) == pytest.approx(tuple(np.percentile(draws, [2.5, 97.5])), abs=0.005)
    by_evidence = found(Doubt(limits))
    bayes_factor = np.exp(fit.tvalues[1] ** 2 / 2) / np.sqrt(200)
    assert by_evidence.probability == pytest.approx(bayes_factor / (1 + bayes_factor), rel=0.02)
    assert (found(None).low, found(None).high) == (0.0, 0.0)  # conditional on the graph
    root = Doubt(Constraints.of(Knowledge(roots=["a"]), ["a", "b"]), link)
    assert (found(root, ("b", "a")).low, found(root, ("b", "a")).high) == (0.0, 0.0)  # ruled out
    trial = found(Doubt(limits, link, randomised=("a",)))
    assert trial.total == pytest.approx((fit.params[1],))
    assert (trial.probability, trial.adjust_for) == (None, ((),))
