"""What a fit was asked for, and the search that it stands for."""

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, Design, DrBO, Knowledge, Settings
from drbo.choices import Choices, ScoreChoice
from drbo.data.checks.prepare import Preparation
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.problem import NO_ORDER, Request, call_of, prepare, seed_of, where
from drbo.scores.linear import BicNV
from tests import rain
from tests.rain import NAMES, ROUTES


class NoParents(BicNV):
    """A linear score in name only: it wants no edges whatever the data say."""

    def local(self, families):
        return -families.parents.sum(axis=1) - 0.0


class Cheap(NoParents):
    cheap = True


@pytest.mark.parametrize(
    ("score", "changes", "route", "reason"),
    [
        ("bic-nv", {}, "orders", "local scores of bic-nv are cheap"),
        ("bic-nv", {"max_local": 300}, "surrogate", "the number of evaluations is limited"),
        ("bic-nv", {"route": "surrogate"}, "surrogate", "set by the settings"),
        ("bic-nv", {"route": "paper", "max_evals": 30}, "paper", "set by the settings"),
        (NoParents, {}, "surrogate", "bic-nv does not declare its local scores cheap"),
        (NoParents, {"route": "orders"}, "orders", "set by the settings"),
        (Cheap, {}, "orders", "local scores of bic-nv are cheap"),
    ],
)
def test_the_route_and_its_reason_are_told(score, changes, route, reason):
    settings = Settings(order_patience=1, patience=2).with_(batch_size=8, n_candidates=64, hidden=8, n_grads=2)
    result = (
        DrBO(score=score, settings=settings.with_(**changes), random_state=0, exact=False).fit(rain.frame()).result_
    )
    assert result.settings["route"] == route
    assert any(text.startswith(f"route {route}: {reason}") for text in result.reasons)
    assert (result.search.found_by == "order search") == (route == "orders")


def test_an_edge_prior_follows_its_columns(rng):
    """Independent columns, a strong belief in one edge, columns shuffled, one of them dropped."""
    frame = pd.DataFrame(rng.normal(size=(80, 4)), columns=["a", "b", "c", "d"]).assign(one=1.0)
    for columns in (["a", "b", "c", "d", "one"], ["one", "d", "b", "a", "c"], ["c", "one", "a", "d", "b"]):
        prior = pd.DataFrame(0.0, index=columns, columns=columns)
        prior.loc["d", "b"] = 50.0
        model = rain.model(
            score="bic-nv",
            policy=DataPolicy(on_constant="drop"),
            prune="none",
            score_options={"edge_prior": prior.to_numpy()},
        )
        model.fit(frame[columns])
        assert rain.edges(model) == {("d", "b")}


@ROUTES
def test_hard_targets_follow_rows_and_columns(max_evals, rng):
    run = rng.choice(["plain", "dry", "shut"], size=400)
    known = {"dry": {"rain": "hard", "wet": "hard"}, "shut": {"sprinkler": "hard"}}
    frame = rain.frame().assign(run=run)
    design, policy = Design(experiment="run", control="plain", targets=known), DataPolicy(on_constant="drop")
    options = {"score": "bic-nv", "design": design, "policy": policy, "max_evals": max_evals, "prune": "none"}
    options |= {"score_options": {"penalty": 1}}
    first = rain.model(**options).fit(frame)
    targets = np.array([[name in known.get(label, {}) for name in NAMES] for label in run])
    expected, _, _ = rain.true_score(BicNV, frame[NAMES], first.result_.searched_dag, targets=targets)
    assert first.score_ == pytest.approx(expected)
    assert not first.result_.score_equivalent
    rows, columns = rng.permutation(400), rng.permutation([*NAMES, "run"])
    shuffled = frame.iloc[rows][columns].assign(one=3.0)
    second = rain.model(**options).fit(shuffled)
    assert second.score_ == first.score_
    assert rain.edges(second) == rain.edges(first)


def test_exact_refuses_more_columns_than_it_can_hold_before_anything_is_spent():
    wide = np.random.default_rng(0).normal(size=(50, 24))
    with pytest.raises(SettingsError, match=r"exact needs 53\.4 GiB for 24 columns with score 'splines'"):
        DrBO(score="splines", exact=True).fit(wide)
    with pytest.raises(SettingsError, match="exact must be one of"):
        DrBO(score="bic-nv", exact="maybe").fit(wide)


def test_a_gpu_that_is_not_there(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SettingsError, match="device 'cuda' is not available here") as caught:
        rain.model(device="cuda").fit(rain.frame())
    assert "device='auto' or 'cpu'" in caught.value.hint
    assert (
        rain.model(device="auto", max_evals=4).fit(rain.frame()).score_
        == rain.model(device="cpu", max_evals=4).fit(rain.frame()).score_
    )


class TestStart:
    TABLE = np.random.default_rng(8).normal(size=(200, 5)) @ (np.eye(5) + np.triu(np.ones((5, 5)), 1))

    def test_a_search_is_never_worse_than_its_start(self):
        best = DrBO(score="bge", random_state=0, max_evals=400).fit(self.TABLE)
        few = {"score": "bge", "max_evals": 2, "exact": False, "settings": Settings().with_(polish=False)}
        again = DrBO(random_state=1, **few).fit(self.TABLE, start=best.result_.searched_dag).result_
        assert again.score >= best.score_ - 1e-9
        assert again.search.found_by == "given start"

    def test_the_order_search_takes_one_too(self):
        best = DrBO(score="bic-nv", random_state=0).fit(self.TABLE)
        short = Settings(order_patience=1)
        again = DrBO(score="bic-nv", settings=short, random_state=3).fit(self.TABLE, start=best.adjacency_)
        assert again.score_ >= best.result_.pruned_score - 1e-9

    def test_columns_may_be_turned_and_dropped(self):
        frame = pd.DataFrame(self.TABLE, columns=list("abcde")).assign(one=1.0)[["e", "one", "d", "c", "b", "a"]]
        start = np.zeros((6, 6))
        start[5, 4] = start[4, 3] = 1
        model = DrBO(score="bic-nv", policy=DataPolicy(on_constant="drop"), random_state=0).fit(frame, start=start)
        assert model.result_.names == ("e", "d", "c", "b", "a")

    def test_knowledge_goes_before_the_start(self):
        start = np.zeros((5, 5))
        start[0, 1] = 1
        known = Knowledge(required=["x1 -> x0"])
        model = DrBO(score="bic-nv", knowledge=known, random_state=0).fit(self.TABLE, start=start)
        assert model.result_.searched_dag[1, 0]

    @pytest.mark.parametrize(("start", "words"), [(np.ones((5, 5)), "start: the graph has a self-loop"),
                                                  (np.zeros((4, 4)), "start must have shape")])  # fmt: skip
    def test_what_is_no_dag_is_refused(self, start, words):
        with pytest.raises(SettingsError, match=words):
            DrBO(score="bic-nv").fit(self.TABLE, start=start)


def test_the_result_says_how_to_repeat_it_and_what_was_known():
    table = np.random.default_rng(5).normal(size=(60, 3))
    known = Knowledge(tiers=[["x0"], ["x1", "x2"]])
    model = DrBO(score="bic-nv", knowledge=known, settings=Settings(order_patience=3), random_state=11).fit(table)
    result = model.result_
    assert result.knowledge == known
    assert [column.name for column in result.table.audit.columns] == ["x0", "x1", "x2"]
    assert "random_state=11" in result.call
    names = {"DrBO": DrBO, "Knowledge": Knowledge, "Settings": Settings, "table": table}
    again = eval(result.call, names).result_
    assert again.score == result.score
    assert again.settings == result.settings


def _request(**changes):
    given = {"choices": Choices(score="bic-nv"), "settings": Settings(), "seed": 3, "parameters": {}}
    return Request(**given | changes)


def test_a_problem_is_ready_to_run():
    data = Preparation().prepare(rain.frame())
    problem = prepare(_request(), data)
    assert problem.settings.route == "orders"
    assert problem.choice.name == "bic-nv"
    assert problem.score.n_nodes == 5
    assert problem.table is data.table
    assert not problem.is_hurried
    outcome = problem.course.state.run()
    found = problem.job.restored(outcome.best.dags[0])
    assert outcome.best.scores[0] == pytest.approx(
        rain.true_score(BicNV, rain.frame(), found, **problem.choice.options)[0]
    )


def test_completed_copies_of_a_table_share_one_choice_of_the_score():
    choice = ScoreChoice("bge", {}, ("chosen before",))
    problem = prepare(_request(), Preparation().prepare(rain.frame()), choice=choice)
    assert problem.score.name == "bge"
    assert "chosen before" in problem.reasons


def test_a_table_that_there_is_no_time_to_sort_is_told(monkeypatch):
    monkeypatch.setattr(Statistics, "is_hurried", True)
    problem = prepare(_request(), Preparation().prepare(rain.frame()))
    assert problem.is_hurried
    assert NO_ORDER in problem.reasons


@pytest.mark.parametrize("route", ["surrogate", "orders"])
def test_screening_is_for_searches_with_a_surrogate(route):
    settings = Settings(route=route, candidate_parents=2)
    limits = prepare(_request(settings=settings), Preparation().prepare(rain.frame())).limits
    assert limits.allowed.sum(axis=0).max() == (2 if route == "surrogate" else 4)


@pytest.mark.parametrize("make", [int, np.int64, np.random.default_rng, np.random.RandomState])
def test_equal_states_give_equal_seeds(make):
    assert seed_of(make(3)) == seed_of(make(3)) < 2**31


def test_a_number_is_its_own_seed():
    assert seed_of(3) == seed_of(np.int64(3)) == 3


@pytest.mark.parametrize("given", [-1, "lucky"])
def test_what_is_no_seed_is_refused(given):
    with pytest.raises(SettingsError, match="random_state must be"):
        seed_of(given)


def test_only_scores_with_kernels_hear_of_the_device():
    assert where("gp", "cuda", Settings(max_memory=2.0)) == {"device": "cuda", "max_memory": 2.0}
    assert where("bic-nv", "cuda", Settings()) == {}
    assert where(BicNV(Statistics.from_array(np.eye(3))), "cuda", Settings()) == {}


def test_the_call_leaves_out_defaults_and_what_only_watches():
    defaults = DrBO().get_params(deep=False)
    given = defaults | {"score": "bge", "device": "cpu", "design": Design(groups=[1, 1, 2], control="plain")}
    words = "DrBO(design=Design(control='plain', groups=groups), random_state=7, score='bge').fit(table, start=start)"
    assert call_of(given, defaults, 7, started=True) == words
