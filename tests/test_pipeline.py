"""From a checked table to a result, seen through the estimator."""

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, DrBO, Knowledge, Settings
from drbo.claims.answer.best_known import best_known
from drbo.data.files.simulate import simulate
from drbo.deadline import Deadline, OutOfTimeError, Stop, current
from drbo.errors import TimeLimitError
from drbo.machine.torch_device import has_torch
from drbo.scores.linear import BicEV, BicNV
from tests import rain
from tests.rain import NAMES, ROUTES, SMALL


@pytest.mark.parametrize("max_evals", [60, None], ids=["surrogate", "orders"])
@pytest.mark.parametrize(("name", "kind"), [("bic-ev", BicEV), ("bic-nv", BicNV)])
def test_scores_are_those_of_the_graphs(name, kind, max_evals):
    """Computed again on the table as it was given: values, parts and their order."""
    frame = rain.frame()
    result = rain.model(score=name, score_options={"penalty": 0.1}, max_evals=max_evals).fit(frame).result_
    total, local, price = rain.true_score(kind, frame, result.searched_dag, penalty=0.1)
    assert result.score == pytest.approx(total, abs=1e-8)
    assert result.search.local == pytest.approx(local, abs=1e-10)
    assert result.search.price == pytest.approx(price, abs=1e-10)
    pruned, _, _ = rain.true_score(kind, frame, result.dag, penalty=0.1)
    assert result.pruned_score == pytest.approx(pruned, abs=1e-8)
    assert (result.searched_dag & ~result.dag).any()  # with hardly a penalty there is something to prune


def test_the_record_says_how_it_was_found():
    frame = rain.frame()
    options = {"penalty": 2, "edge_prior": np.zeros((5, 5))}
    result = rain.model(score_options=options, max_evals=60).fit(frame).result_
    assert (result.score_name, result.score_equivalent, result.pruner) == ("bic-ev", False, "f-test")
    assert result.scoring.options == {"penalty": 2, "edge_prior": "array (5, 5)"}
    assert result.scoring.array_options == ("edge_prior",)
    assert (result.seed, result.table.n_rows) == (0, 400)
    assert result.settings == SMALL.with_(max_evals=60, route="surrogate").to_dict()
    optional = {"torch"} if has_torch() else set()
    assert set(result.provenance.versions) == {"drbo", "python", "numpy"} | optional
    assert result.search.found_by
    assert result.stopped
    trace = result.trace
    assert (trace["n_evals"].iloc[-1], trace["n_local"].iloc[-1]) == (result.n_evals, result.n_local)
    assert result.n_evals <= 60
    assert trace["best"].is_monotonic_increasing
    assert trace["best"].iloc[-1] == result.score
    assert (trace["seconds"] >= 0).all()


@pytest.mark.parametrize(
    ("stop", "words"), [(Stop.TIME_LIMIT, "time limit of 0 s reached"), (Stop.INTERRUPTED, "interrupted")]
)
def test_a_run_that_ends_after_the_search_says_so(monkeypatch, stop, words):
    """The search ended by itself, but not what follows it: the graph may miss a proof or the pruning."""

    def late(*arguments):
        found = best_known(*arguments)
        if stop is Stop.INTERRUPTED:
            current().stop()
        else:
            current().limit(0.0)
        return found

    monkeypatch.setattr("drbo.claims.answer.stages.best_known", late)
    with Deadline():
        result = rain.model(max_evals=20).fit(rain.frame()).result_
    assert result.stopped.startswith("budget exhausted: 20 evaluations")
    assert result.stopped.endswith(f"; {words} afterwards")
    assert (result.search.stop, result.search.afterwards) == (Stop.BUDGET, stop)
    assert result.cut_short


@ROUTES
@pytest.mark.parametrize("prune", ["f-test", "threshold"])
def test_required_edges_are_never_pruned(prune, max_evals, rng):
    frame = pd.DataFrame(rng.normal(size=(100, 4)), columns=list("abcd"))
    knowledge = Knowledge(required=["c -> a"], forbidden=["a -> b"])
    options = {"score": "bic-nv", "prune": prune, "max_evals": max_evals}
    model = rain.model(knowledge=knowledge, **options).fit(frame)
    assert ("c", "a") in rain.edges(model)
    assert ("a", "b") not in rain.edges(model)
    assert rain.edges(rain.model(**options).fit(frame)) == set()


@pytest.mark.parametrize("score", ["bic-nv", "bge", "bic-ev"])
def test_small_tables_of_cheap_scores_are_solved_and_explained(score):
    result = DrBO(score=score, random_state=0).fit(rain.frame()).result_
    assert (result.gap, result.proof.valid_for) == (0.0, "all DAGs on 5 columns")
    assert result.proof.upper_bound == pytest.approx(result.score)
    table = result.edges()
    kept = table["margin_removed"].to_numpy()
    assert (kept > 0).all()
    turned = table.loc[table["reason"] == "tie", "margin_reversed"]
    assert (turned == 0).all()
    if score == "bic-ev":
        assert result.posterior is None
        assert "assumption: equal noise variances" in set(table["reason"])
    else:
        assert ((result.posterior >= 0) & (result.posterior <= 1)).all()
        assert table["p_link"].min() > 0.2
    assert result.top[0].behind == 0 < result.top[1].behind


def test_exact_is_off_where_evaluations_are_rationed_unless_asked_for():
    assert rain.model(max_evals=3).fit(rain.frame()).result_.proof is None
    assert DrBO(score="bge", random_state=0, exact=False).fit(rain.frame()).result_.proof is None
    asked = rain.model(max_evals=3, exact=True).fit(rain.frame()).result_
    assert asked.gap == 0
    assert asked.n_local >= 5 * 16


def test_a_large_sparse_graph_is_proved_and_a_dense_one_says_that_no_bound_was_reached():
    small = Settings(max_memory=0.01, order_patience=1)
    wide = np.random.default_rng(0).normal(size=(200, 21))
    wide[:, 1] += wide[:, 0]
    for exact in (True, "auto"):
        model = DrBO(score="bic-ev" if exact is True else "bic-nv", exact=exact, random_state=0, settings=small)
        assert model.fit(wide).result_.gap == 0
        assert model.result_.proof.valid_for == "all DAGs on 21 columns"
    dense = simulate("21ER8", "linear", n=300, seed=0).X
    with pytest.warns(UserWarning, match="no bound was found, because too many parent sets"):
        found = DrBO(score="bic-ev", exact=True, random_state=0, settings=small).fit(dense).result_
    assert found.proof is None
    assert any("no bound" in reason for reason in found.reasons)


def test_what_is_known_does_not_depend_on_the_order_of_the_columns():
    frame = rain.frame()
    other = frame[[NAMES[k] for k in (3, 1, 4, 0, 2)]]
    one, two = (DrBO(score="bge", random_state=0).fit(table).result_ for table in (frame, other))
    columns = [two.names.index(name) for name in one.names]
    np.testing.assert_allclose(two.posterior[np.ix_(columns, columns)], one.posterior, atol=1e-9)
    assert [entry.score for entry in one.top] == pytest.approx([entry.score for entry in two.top])


def _curved():
    rng, n = np.random.default_rng(3), 1500
    dose = rng.uniform(-1, 1, size=n)
    response = np.exp(1.5 * dose) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"response": response, "dose": dose, "sex": rng.integers(2, size=n).astype(float)})


def test_the_noise_check_is_part_of_the_result_whatever_the_order_of_rows_and_columns():
    frame = _curved().round(2)  # equal values are spread at random
    one = DrBO(score="splines", random_state=0).fit(frame).result_
    two = DrBO(score="splines", random_state=0).fit(frame[["dose", "sex", "response"]].sample(frac=1, random_state=1))
    assert [(edge.cause, edge.effect) for edge in one.claims.noise] == [("dose", "response")]
    assert one.claims.noise == two.result_.claims.noise
    assert (one.directions[0].direction, one.directions[0].ground) == ("supported", "noise-check")
    assert two.graph_.edges["dose", "response"]["ground"] == "noise-check"


def test_a_fit_that_has_no_time_for_the_noise_check_says_so(monkeypatch):
    def late(*_):
        raise OutOfTimeError

    monkeypatch.setattr("drbo.claims.checks.noise_check.noise_checks", late)
    monkeypatch.setattr("drbo.claims.answer.stages.noise_checks", late)
    result = DrBO(score="splines", random_state=0).fit(_curved()).result_
    assert result.claims.noise == ()
    assert "left out, so directions that it could deny are assumed: the noise check (time ran out)" in result.reasons
    assert {one.direction for one in result.directions} == {"assumed"}
    assert [one.why for one in result.claims.made if one.name == "noise check"] == ["time ran out"]


def test_a_fit_that_has_no_time_to_begin_says_so(rng, monkeypatch):
    monkeypatch.setattr("drbo.data.statistics.moments.GRACE_SECONDS", 0.0)
    holes = np.where(rng.random((50, 4)) < 0.1, np.nan, rng.normal(size=(50, 4)))
    with pytest.raises(TimeLimitError, match="time limit of 0 s reached before there was a result"):
        DrBO(score="bic-nv", policy=DataPolicy(missing="em"), time_limit=0).fit(holes)


def test_who_interrupts_the_checks_gets_those_that_were_made(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("drbo.claims.checks.collider_check.ColliderCheck.run", interrupted)
    result = DrBO(score="bic-nv", random_state=0).fit(rain.frame()).result_
    why = {one.name: one.why for one in result.claims.made if one.status == "skipped"}
    assert set(why.values()) == {"interrupted"}
    assert {"proof", "margins", "classes", "audit"}.isdisjoint(why)
    assert result.search.afterwards is Stop.INTERRUPTED
    assert result.weights is not None
    assert {one.direction for one in result.directions} <= {"assumed", "open"}


def test_a_bootstrap_changes_what_the_class_supports():
    frame = rain.frame()
    model = DrBO(score="bic-nv", random_state=0).fit(frame)
    before = {(one.cause, one.effect): one.ground for one in model.result_.directions}
    found = model.bootstrap(frame, n=5)
    for one in model.result_.directions:
        i, j = (model.result_.names.index(name) for name in (one.cause, one.effect))
        if one.ground == "class":
            assert found.directed[i, j] >= 0.8
    assert before.keys() == {(one.cause, one.effect) for one in model.result_.directions}


def test_knowledge_shows_in_the_class_and_the_reasons():
    known = Knowledge(tiers=[["rain"], ["sprinkler"]])
    result = DrBO(score="bge", random_state=0, knowledge=known).fit(rain.frame()).result_
    assert result.proof.valid_for == "all DAGs on 5 columns that satisfy the knowledge"
    assert result.why()["rain", "sprinkler"] == "knowledge: sprinkler -> rain is ruled out"
    assert not result.mpdag[1, 0]
    assert result.cpdag[1, 0]


def test_without_claims_nothing_that_was_not_checked_is_supported():
    frame = rain.frame()
    asked, bare = (
        DrBO(score="bic-nv", settings=Settings(claims=claims, exact="off"), random_state=0).fit(frame).result_
        for claims in (True, False)
    )
    assert (asked.dag == bare.dag).all()
    status = {one.name: one.status for one in bare.claims.made}
    assert status.pop("audit") == "ran"
    assert set(status.values()) <= {"skipped", "irrelevant"}
    assert "ran" in {one.status for one in asked.claims.made if one.name in status}
    assert (bare.margins, asked.margins is None) == (None, False)
    assert {one.direction for one in bare.directions} <= {"assumed", "open"}
    assert any("claims=False" in reason for reason in bare.reasons)


def test_presets_of_the_paper_leave_claims_out():
    assert not any(Settings.preset(name).claims for name in ("paper", "paper-gp", "paper-sachs"))
    assert Settings.preset("default").claims
