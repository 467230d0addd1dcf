"""The ranking of experiments for a result: goals, costs, batches, rows, and its words."""

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO, Knowledge, Result
from drbo.claims.record import Claims, ExperimentRecord, Target
from drbo.errors import ResultError, SettingsError
from drbo.result.next_experiments import unsettled_graph
from drbo.result.records import Scoring, SearchRecord

NAMES = ("rain", "wet", "slip", "sun")
CHAIN = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])


def _result(dag=CHAIN, equivalent=True, weights=None, **more):
    return Result(
        names=NAMES,
        dag=dag,
        pruned_score=0.0,
        search=SearchRecord(dag=dag, score=0.0),
        scoring=Scoring(name="bic-nv", equivalent=equivalent),
        standardised_weights=weights,
        **more,
    )


def test_the_middle_of_a_chain_settles_it():
    found = _result().next_experiments()
    assert found.unknown == pytest.approx(np.log2(3))
    assert [one.column for one in found.experiments] == ["wet", "rain", "slip"]
    best, end = found.experiments[:2]
    assert best.settles == (("rain", "wet"), ("wet", "slip"))
    assert best.open_after == ()
    assert best.settled_in_all == 2
    assert end.open_after == (("wet", "slip", pytest.approx(2 / 3)),)
    assert end.settled_in_all == pytest.approx(4 / 3)
    assert found.open == (("rain", "wet"), ("wet", "slip"))


def test_assumed_arrows_are_coins():
    collider = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    found = _result(collider).next_experiments()
    assert found.assumed == (("rain", "slip"), ("wet", "slip"))
    assert found.unknown == pytest.approx(2.0)
    assert found.experiments[0].column == "slip"


def test_rows_make_strong_effects_come_first():
    weights = CHAIN * np.array([0.9, 0.05, 0.0, 0.0])[:, None]
    found = _result(weights=weights).next_experiments(rows=100)
    by_column = {one.column: one for one in found.experiments}
    assert found.experiments[0].column in ("rain", "wet")
    assert by_column["rain"].rows_needed < 20
    assert by_column["slip"].rows_needed > 1000
    assert 0 <= by_column["slip"].information < 0.01
    assert by_column["rain"].information > by_column["slip"].information
    assert "to settle them with probability 0.8" in found.summary()
    many = _result(weights=weights).next_experiments(rows=10**6)
    assert many.experiments[0].column == "wet"


def test_goals():
    known = {"knowledge": Knowledge(forbidden=["slip -> wet"])}  # then both arrows of the chain follow or not
    found = _result(**known).next_experiments(goal="rain->slip")
    assert found.unknown == pytest.approx(1.0)
    assert [one.column for one in found.experiments] == ["rain", "wet"]
    causes = _result().next_experiments(goal="effects-on:slip")
    assert causes.goal == "what causes slip"
    assert causes.experiments[0].column == "wet"
    fixed = _result().next_experiments(costs=dict.fromkeys(NAMES, float("inf")))
    assert "no column that can be changed helps" in fixed.summary()
    nothing = _result().next_experiments(goal="sun->wet")
    assert nothing.experiments == ()
    assert "all remaining graphs agree" in nothing.summary()


def test_costs_and_batches():
    found = _result().next_experiments(costs={"wet": 10.0, "slip": float("inf")}, batch=2)
    assert [one.column for one in found.experiments] == ["rain", "wet"]
    assert found.batch == ("rain", "wet")
    assert "Best 2 at the same time: rain, wet" in found.summary()
    assert "per cost (10)" in found.summary()
    assert _result().next_experiments(batch=2).batch == ("wet",)  # nothing is left for a second one


def test_nothing_is_open():
    stated = Knowledge(required=["rain -> wet", "wet -> slip"])
    found = _result(knowledge=stated).next_experiments()
    assert found.experiments == ()
    assert found.summary().startswith("Nothing is open")


def test_supported_arrows_direct_what_follows():
    stated = Knowledge(forbidden=["wet -> rain"])
    graph, assumed = unsettled_graph(_result(knowledge=stated))
    assert graph.astype(int).tolist() == CHAIN.tolist()  # slip would be in a new collider
    assert assumed.astype(int).tolist() == [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_an_experiment_that_was_made_is_named():
    target = Target(experiment="wetted", column="wet", margin=1.0)
    record = ExperimentRecord(column="run", labels=("plain", "wetted"), rows=(50, 50), targets=(target,))
    found = _result(claims=Claims(experiments=record)).next_experiments()
    best = next(one for one in found.experiments if one.column == "wet")
    assert best.done == ("wetted",)
    assert "wetted changes this column already" in found.summary()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"goal": "rain"}, "a goal must be graph"),
        ({"goal": "rain->fog"}, "names 'fog', which is not a column"),
        ({"goal": "rain->rain"}, "two different columns"),
        ({"rows": 0}, "rows must be at least 1"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"costs": {"fog": 1.0}}, "costs names 'fog'"),
        ({"costs": {"wet": 0.0}}, "must be above 0, got 0.0"),
        ({"costs": {"wet": float("nan")}}, "must be above 0, got nan"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(SettingsError, match=words):
        _result().next_experiments(**options)


def test_information_over_the_posterior_of_the_table(rng):
    x = rng.normal(size=(400, 4))
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    x[:, 3] += 0.12 * x[:, 0]  # a link that is far from certain
    table = pd.DataFrame(x, columns=list(NAMES))
    result = DrBO(score="bic-nv", random_state=0).fit(table).result_
    plain, drawn = result.next_experiments(), result.next_experiments(table)
    assert "draws from the exact posterior over all DAGs" in drawn.basis
    assert drawn.experiments[0].column == plain.experiments[0].column == "wet"
    assert drawn.unknown != plain.unknown
    assert {one.column for one in drawn.experiments} >= {one.column for one in plain.experiments}
    assert drawn == result.next_experiments(table)  # seeded
    goal = result.next_experiments(table, goal="rain->slip", rows=None)
    assert 0 < goal.unknown <= 1


def test_information_over_the_posterior_of_experiments(rng):
    x = rng.normal(size=(400, 3))
    run = np.repeat(["observational", "shifted"], 200)
    x[run == "shifted", 0] += 2.0
    x[:, 1] += x[:, 0]
    x[:, 2] += x[:, 1]
    table = pd.DataFrame(x, columns=list("abc")).assign(run=run)
    result = DrBO(design=Design(experiment="run"), random_state=0).fit(table).result_
    assert result.next_experiments(table).summary()


def test_hidden_causes_are_refused():
    x = np.random.default_rng(0).normal(size=(100, 2))
    x[:, 1] += x[:, 0]
    result = DrBO(hidden=True, score="bic-nv", random_state=0).fit(pd.DataFrame(x, columns=["a", "b"])).result_
    with pytest.raises(ResultError, match="does not support a graph with hidden causes"):
        result.next_experiments()
