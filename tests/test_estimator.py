import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import estimator_checks_generator

from drbo import DataPolicy, Design, DrBO, Knowledge, Result, Settings
from drbo.claims.refits.refit import TableRefit
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, KnowledgeError, LockError, ScoreError, SettingsError
from drbo.graph.dag import dag_to_cpdag, is_acyclic
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.loop import ProposalSearch
from drbo.search.orders.search import OrderSearch
from tests import rain
from tests.rain import NAMES, ROUTES, SMALL, WEIGHTS
from tests.results import assert_same, saved

# What scikit-learn asks of an estimator.

#: ``score`` is a parameter of ours; these checks take it for the method of that name, which DrBO does not have.
NO_SCORE_METHOD = dict.fromkeys(
    ["check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_pipeline_consistency"],
    "score is a parameter",
)


def _checks():
    """DrBO has the methods of scikit-learn's base class, but does not load it: that takes longer than a fit."""
    model = DrBO(max_evals=4, settings=SMALL)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimator DrBO does not inherit from")
        return list(estimator_checks_generator(model, expected_failed_checks=NO_SCORE_METHOD, mark="xfail"))


@pytest.mark.filterwarnings("ignore:neighbouring rows:UserWarning")  # some of its tables are sorted
@pytest.mark.parametrize(("estimator", "check"), _checks())
def test_scikit_learns_contract(estimator, check):
    state = np.random.get_state()  # noqa: NPY002
    try:
        check(estimator)
    finally:
        np.random.set_state(state)  # noqa: NPY002 - some of the checks themselves draw from the global generator


def test_parameters_are_stored_as_given():
    knowledge = Knowledge(forbidden=["a -> b"])
    model = DrBO(score="bge", knowledge=knowledge, settings=SMALL)
    assert model.get_params()["score"] == "bge"
    assert model.get_params()["knowledge"] is knowledge
    copy = clone(model)
    assert copy.get_params()["score"] == "bge"
    assert copy.set_params(score="bic-nv").get_params()["score"] == "bic-nv"
    assert model.get_params()["score"] == "bge"
    assert "score='bge'" in repr(model)


def test_fit_leaves_parameters_and_data_alone():
    frame, prior = rain.frame(), np.eye(5)
    options = {"edge_prior": prior, "penalty": 2}
    model = rain.model(score_options=options, knowledge=Knowledge(max_parents=3))
    before, content = dict(model.get_params()), frame.copy()
    model.fit(frame)
    assert all(model.get_params()[name] is value for name, value in before.items())
    pd.testing.assert_frame_equal(frame, content)
    assert options == {"edge_prior": prior, "penalty": 2}
    assert (prior == np.eye(5)).all()
    array = content.to_numpy().copy()
    rain.model().fit(array)
    assert (array == content.to_numpy()).all()


def test_a_fitted_model_survives_pickling():
    model = rain.model().fit(rain.frame())
    copy = pickle.loads(pickle.dumps(model))
    assert (copy.adjacency_ == model.adjacency_).all()
    assert copy.get_params()["score"] == "bic-ev"
    assert copy.score_on(rain.frame()) == model.score_on(rain.frame())


@pytest.mark.parametrize(
    "ask", [lambda model: model.bootstrap(rain.frame()), lambda model: model.stability(rain.frame()),
            lambda model: model.effects(rain.frame(), "rain", "wet"), lambda model: model.score_on(rain.frame())],
    ids=["bootstrap", "stability", "effects", "score_on"],
)  # fmt: skip
def test_only_fit_fits(ask):
    with pytest.raises(NotFittedError):
        ask(DrBO())


def test_parameters_are_keywords():
    with pytest.raises(TypeError, match="positional"):
        DrBO("bge")


# What is found.


@ROUTES
def test_the_graph_of_an_easy_table_is_found(max_evals):
    model = rain.model(max_evals=max_evals).fit(rain.frame())
    assert (model.result_.search.found_by == "order search") == (max_evals is None)
    truth = {(NAMES[i], NAMES[j]) for i, j in np.argwhere(WEIGHTS)}
    assert rain.edges(model) == truth
    assert model.adjacency_.dtype.kind == "i"
    assert is_acyclic(model.adjacency_.astype(bool))


def test_a_result_survives_saving(tmp_path):
    model = rain.model(score_options={"penalty": 1.5, "edge_prior": np.zeros((5, 5))}).fit(rain.frame())
    copy = Result.load(model.result_.save(tmp_path / "run"))
    assert "array(" in model.result_.line
    assert copy.line == ""  # a line of a file is shown only if it is nothing but a fit with plain values
    assert_same(copy, replace(saved(model.result_), line=""))


def test_the_default_choices_name_their_reasons():
    model = rain.model(score="auto").fit(rain.frame())
    assert model.result_.score_name == "bic-nv"
    assert model.result_.scoring.options == {"penalty": 1.0}  # rain.model tests every edge after the search
    for word in ("score bic-nv", "penalty 1"):
        assert any(word in reason for reason in model.result_.reasons)
    assert rain.model(score_options={"penalty": 2}).fit(rain.frame()).result_.scoring.options == {"penalty": 2}
    assert model.result_.score_equivalent
    assert (model.result_.cpdag == dag_to_cpdag(model.adjacency_.astype(bool))).all()


# What may be passed.


@ROUTES
@pytest.mark.parametrize("score", ["bic-ev", "bic-nv"])
def test_the_order_of_rows_and_columns_does_not_matter(score, max_evals, rng):
    """Bit by bit: the same graph by names, the same score, the same trace, the same hash."""
    frame = rain.frame()
    first = rain.model(score=score, max_evals=max_evals).fit(frame)
    for _ in range(2):
        columns = rng.permutation(NAMES)
        second = rain.model(score=score, max_evals=max_evals).fit(frame.iloc[rng.permutation(400)][columns])
        assert second.result_.names == tuple(columns)
        assert rain.edges(second) == rain.edges(first)
        assert second.score_ == first.score_
        assert second.result_.table.sha256 == first.result_.table.sha256
        pd.testing.assert_series_equal(second.result_.trace["best"], first.result_.trace["best"])
        place = [NAMES.index(name) for name in columns]
        assert (second.result_.search.local == first.result_.search.local[place]).all()
        assert second.weights_ == pytest.approx(first.weights_[np.ix_(place, place)])


@ROUTES
def test_names_do_not_matter(max_evals):
    """Other names in another alphabetic order: the same equivalence class by position."""
    first = rain.model(score="bic-nv", max_evals=max_evals).fit(rain.frame())
    renamed = rain.frame().set_axis(["z", "y", "x", "w", "v"], axis=1)
    second = rain.model(score="bic-nv", max_evals=max_evals).fit(renamed)
    assert second.score_ == first.score_
    assert (second.result_.cpdag == first.result_.cpdag).all()
    assert (second.adjacency_ == first.adjacency_).all()


def test_a_second_fit_leaves_no_trace_of_the_first():
    other = pd.DataFrame(np.random.default_rng(5).normal(size=(50, 3)))
    model = rain.model(score="bic-nv", policy=DataPolicy(on_constant="drop")).fit(rain.frame().assign(year=2024.0))
    again = model.fit(other.to_numpy())
    fresh = rain.model(score="bic-nv", policy=DataPolicy(on_constant="drop")).fit(other.to_numpy())
    assert again is model
    assert set(vars(model)) == set(vars(fresh))
    assert model.result_.names == fresh.result_.names
    assert (model.adjacency_ == fresh.adjacency_).all()
    assert model.score_ == fresh.score_
    assert model.n_features_in_ == 3
    assert list(model.graph_.nodes) == ["x0", "x1", "x2"]
    assert model.result_.reasons == fresh.result_.reasons


# Randomness.


def test_the_random_state_decides():
    frame = rain.frame()
    traces = {}
    for state in (3, np.int64(3), 4):
        model = rain.model(random_state=state).fit(frame)
        traces.setdefault(int(state), []).append(model.result_.trace.drop(columns="seconds"))
    pd.testing.assert_frame_equal(*traces[3])
    assert not traces[3][0].equals(traces[4][0])


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_seeds_too(make):
    first, second = (rain.model(random_state=make(7)).fit(rain.frame()) for _ in range(2))
    assert first.result_.seed == second.result_.seed
    generator = make(7)
    seeds = {rain.model(random_state=generator, max_evals=4).fit(rain.frame()).result_.seed for _ in range(2)}
    assert len(seeds) == 2  # a generator moves on


def test_no_random_state_is_recorded_and_can_be_repeated():
    frame = rain.frame()
    first, second = (rain.model(random_state=None, max_evals=20).fit(frame) for _ in range(2))
    assert first.result_.seed != second.result_.seed
    again = rain.model(random_state=first.result_.seed, max_evals=20).fit(frame)
    assert again.score_ == first.score_
    assert (again.result_.searched_dag == first.result_.searched_dag).all()


class Pool(ThreadPoolExecutor):
    """Says whether it had anything to do."""

    used = False

    def submit(self, *arguments, **options):
        self.used = True
        return super().submit(*arguments, **options)


def test_a_worker_that_is_not_needed_changes_nothing():
    frame = rain.frame()
    alone = rain.model(max_evals=30).fit(frame)
    with Pool(1) as executor:  # several would make proposals ahead, with other results
        together = rain.model(max_evals=30, executor=executor).fit(frame)
    assert not executor.used  # a linear score is done before a worker has heard of it
    assert together.score_ == alone.score_
    assert (together.adjacency_ == alone.adjacency_).all()
    pd.testing.assert_series_equal(together.result_.trace["best"], alone.result_.trace["best"])


# Scores of any kind.


class Halved(BicEV):
    """A user's class with an option of its own."""

    name = "halved"

    def __init__(self, table, share=0.5, **options):
        super().__init__(table, **options)
        self.share_of_ln_n = share
        self.parameter_price = self.parameter_price * share


class Plain:
    """A user's object that knows one method."""

    def __init__(self, table):
        self.inner = BicNV(table)

    def local_one(self, node, parents):
        family = Families.from_sets(self.inner.n_nodes, [(node, parents)])
        return float(self.inner.n_rows[node] * self.inner.local(family)[0] + self.inner.family_price(family)[0])


class NoParents(BicNV):
    """A linear score in name only: it wants no edges whatever the data say."""

    def local(self, families):
        return -families.parents.sum(axis=1) - 0.0


def test_a_plain_function_is_searched(rng):
    values = rng.normal(size=(200, 4))
    values[:, 2] += 2 * values[:, 0]
    inner = Plain(Statistics.from_array(values))

    def score(node, parents):
        return inner.local_one(node, parents)

    result = DrBO(score=score, max_evals=60, random_state=0).fit(values).result_
    expected = DrBO(score="bic-nv", score_options={"penalty": 1}, prune="none", random_state=0).fit(values).result_
    assert result.score == pytest.approx(expected.score)
    assert (result.score_name, result.call.count("score=score")) == ("score", 1)
    with pytest.raises(SettingsError, match="column 'x4' was dropped, but a score given as a function or an object"):
        DrBO(score=score, policy=DataPolicy(on_constant="drop")).fit(np.column_stack([values, np.ones(200)]))


@ROUTES
def test_a_subclass_is_asked_for_its_own_values(max_evals):
    """What it changed must not be replaced by the compiled climbs of the score it was made from."""
    assert rain.edges(rain.model(score=NoParents, max_evals=max_evals).fit(rain.frame())) == set()
    assert rain.edges(rain.model(score=NoParents, settings=SMALL.with_(route="orders")).fit(rain.frame())) == set()


@ROUTES
def test_resamples_and_fits_like_a_fit_take_its_route_again(max_evals, monkeypatch):
    """What the score declares by then changes nothing."""
    model = rain.model(score="bic-nv", max_evals=max_evals).fit(rain.frame())
    route, taken = model.result_.settings["route"], []
    assert route == ("orders" if max_evals is None else "surrogate")
    monkeypatch.setattr(BicNV, "cheap", max_evals is not None)
    search = TableRefit._search
    monkeypatch.setattr(TableRefit, "_search", lambda *given: taken.append(search(*given)) or taken[-1])
    model.bootstrap(rain.frame(), n=2)
    assert [type(made) for made in taken] == [OrderSearch if max_evals is None else ProposalSearch] * 2
    assert DrBO.like(model.result_).fit(rain.frame()).result_.settings["route"] == route


def test_a_fit_like_one_of_the_paper_is_the_same_fit():
    settings = Settings.preset("paper").with_(max_evals=100, n_candidates=200)
    first = DrBO(preset="paper", settings=settings, random_state=0).fit(rain.frame()).result_
    again = DrBO.like(first).fit(rain.frame()).result_
    assert first.settings == again.settings
    assert (first.score, first.n_local) == (again.score, again.n_local)
    assert (first.dag == again.dag).all()


def test_a_resumed_search_takes_its_route_again(tmp_path, monkeypatch):
    first = DrBO(score="bic-nv", random_state=0).fit(rain.frame(), checkpoint=tmp_path).result_
    monkeypatch.setattr(BicNV, "cheap", False)
    again = DrBO.resume(tmp_path).result_
    assert first.settings["route"] == again.settings["route"] == "orders"
    assert (first.dag == again.dag).all()
    assert first.score == again.score


def test_a_class_with_options():
    result = rain.model(score=Halved, score_options={"share": 0.25, "penalty": 2}).fit(rain.frame()).result_
    assert result.score_name == "halved"
    expected, _, _ = rain.true_score(BicEV, rain.frame(), result.searched_dag, penalty=0.5)
    assert result.score == pytest.approx(expected)


def test_an_object_sees_the_columns_in_the_order_of_the_table():
    frame = rain.frame()[["fall", "wet", "rain", "slippery", "sprinkler"]]
    table = Statistics.from_array(frame.to_numpy(), list(frame.columns))
    result = rain.model(score=Plain(table), prune="auto").fit(frame).result_
    expected, _, _ = rain.true_score(BicNV, frame, result.searched_dag)
    assert result.score == pytest.approx(expected)
    assert result.score_name == "Plain"
    assert result.weights is None
    assert result.pruner == "none"
    ready = rain.model(score=BicEV(table)).fit(frame)
    assert rain.edges(ready) == rain.edges(rain.model().fit(frame))


def test_a_score_of_a_module(tmp_path, monkeypatch):
    (tmp_path / "own_score_for_fit.py").write_text(
        "from drbo.scores.linear import BicEV\n\n\nclass Mine(BicEV):\n    name = 'mine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    try:
        model = rain.model(score="own_score_for_fit:Mine").fit(rain.frame())
    finally:
        sys.modules.pop("own_score_for_fit", None)
    assert model.result_.score_name == "mine"
    assert rain.edges(model) == rain.edges(rain.model().fit(rain.frame()))


# Another table.


def test_the_graph_can_be_scored_on_another_table():
    model = rain.model(score_options={"penalty": 2}).fit(rain.frame())
    assert model.score_on(rain.frame()) == pytest.approx(model.result_.pruned_score)
    other = rain.frame(seed=1, n=50)
    expected, _, _ = rain.true_score(BicEV, other, model.adjacency_, penalty=2)
    assert model.score_on(other) == pytest.approx(expected)
    assert model.score_on(other.iloc[::-1]) == pytest.approx(expected)


def test_dropped_columns_do_not_count_in_another_table(rng):
    prior = rng.normal(size=(6, 6))
    options = {"penalty": 1, "edge_prior": prior}
    model = rain.model(policy=DataPolicy(on_constant="drop"), score_options=options).fit(
        rain.frame().assign(one=1.0)[["one", *NAMES]]
    )
    other = rain.frame(seed=1, n=50)
    expected, _, _ = rain.true_score(BicEV, other, model.adjacency_, edge_prior=prior[1:, 1:])
    assert model.score_on(other.assign(one=2.0)[["one", *NAMES]]) == pytest.approx(expected)


def test_what_cannot_be_scored_is_refused():
    with pytest.raises(NotFittedError):
        DrBO().score_on(rain.frame())
    model = rain.model().fit(rain.frame())
    with pytest.raises(ValueError, match="feature names should match"):
        model.score_on(rain.frame()[NAMES[::-1]])
    with pytest.raises(DataError, match="missing values in column 'wet'"):
        model.score_on(rain.frame().assign(wet=np.nan))
    frame = rain.frame()
    ready = rain.model(score=BicEV(Statistics.from_array(frame.to_numpy()))).fit(frame)
    with pytest.raises(SettingsError, match="a score object is bound to its own data"):
        ready.score_on(frame)


# Options.


def test_the_papers_preset():
    """Its settings, its score and its pruning; the first design alone, so that no large batch is ranked."""
    model = DrBO(preset="paper", max_evals=64, random_state=0).fit(rain.frame())
    result = model.result_
    assert (result.score_name, result.pruner, result.n_evals) == ("bic-ev", "threshold", 64)
    assert result.settings == Settings.preset("paper").with_(max_evals=64).to_dict()
    assert ((np.abs(model.weights_) > 0) == result.dag).all()
    full = LinearRegression()
    for i, j in np.argwhere(result.searched_dag):
        parents = np.flatnonzero(result.searched_dag[:, j])
        weight = full.fit(rain.frame().to_numpy()[:, parents], rain.frame().to_numpy()[:, j]).coef_[
            list(parents).index(i)
        ]
        assert result.dag[i, j] == (abs(weight) > 0.3)
    assert any("preset 'paper'" in reason for reason in result.reasons)


def test_keywords_win_over_the_presets_choices():
    result = DrBO(preset="paper", score="bic-nv", prune="none", max_evals=8, random_state=0).fit(rain.frame()).result_
    assert (result.score_name, result.pruner) == ("bic-nv", "none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_evals": 10, "settings": SMALL.with_(max_evals=20)}, "max_evals=10 overrides max_evals=20"),
        ({"time_limit": 60.0, "settings": SMALL.with_(time_limit=5.0)}, "time_limit=60.0 overrides time_limit=5.0"),
    ],
)
def test_a_clash_is_told_and_recorded(options, message):
    with pytest.warns(UserWarning, match=message) as caught:
        model = rain.model(**{"max_evals": None, **options}).fit(rain.frame())
    assert caught[0].filename == __file__
    assert any(message in reason for reason in model.result_.reasons)
    assert model.result_.settings["max_evals"] == options.get("max_evals", SMALL.max_evals)


def test_no_clash_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rain.model(max_evals=10, settings=SMALL).fit(rain.frame())
        rain.model(max_evals=10, settings=SMALL.with_(max_evals=10)).fit(rain.frame())


@ROUTES
def test_knowledge_follows_the_columns(max_evals, rng):
    knowledge = Knowledge(tiers=[["fall", "wet"], ["rain", "sprinkler", "slippery"]], max_parents=2)
    for _ in range(3):
        model = rain.model(score="bic-nv", knowledge=knowledge, max_evals=max_evals).fit(
            rain.frame()[rng.permutation(NAMES)]
        )
        assert Constraints.of(knowledge, model.result_.names).violations(model.result_.searched_dag) == []
        assert Constraints.of(knowledge, model.result_.names).violations(model.result_.dag) == []


def test_columns_that_say_nothing_can_be_dropped():
    frame = rain.frame().assign(year=2024.0, wet_mm=lambda table: 10 * table["wet"] + 3)
    with pytest.raises(DataError, match="column 'year' is constant"):
        rain.model().fit(frame)
    with pytest.raises(DataError, match="column 'wet_mm' is a linear function of column 'wet'"):
        rain.model(policy=DataPolicy(on_constant="drop")).fit(frame)
    model = rain.model(policy=DataPolicy(on_constant="drop", on_collinear="drop")).fit(frame)
    assert model.result_.names == tuple(NAMES)
    assert model.n_features_in_ == 7
    assert model.adjacency_.shape == (5, 5)
    assert sum("dropped column" in reason for reason in model.result_.reasons) == 2
    kept = rain.model(policy=DataPolicy(on_constant="drop", on_collinear="keep")).fit(frame)
    assert "wet_mm" in kept.result_.names


@pytest.mark.parametrize("max_evals", [10_000, None], ids=["surrogate", "orders"])
def test_a_time_limit_ends_the_search(max_evals):
    result = rain.model(max_evals=max_evals, time_limit=0).fit(rain.frame()).result_
    assert result.stopped == "time limit of 0 s reached"
    assert result.cut_short
    assert len(result.trace) == 1


def test_a_callback_sees_the_search_and_may_end_it():
    steps = []

    def enough(progress):
        steps.append(progress.n_evals)
        return "enough" if progress.iteration == 2 else None

    result = rain.model(score="bic-nv").fit(rain.frame(), callbacks=[enough]).result_
    assert result.stopped == "enough"
    assert result.trace["n_evals"].tolist() == steps


@ROUTES
def test_an_interrupt_gives_the_best_so_far(max_evals):
    def interrupt(progress):
        raise KeyboardInterrupt

    model = rain.model(max_evals=max_evals).fit(rain.frame(), callbacks=[interrupt])
    assert model.result_.stopped == "interrupted"
    assert is_acyclic(model.adjacency_.astype(bool))


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"device": "gpu"}, SettingsError, "device must be auto, cpu or cuda, got 'gpu'"),
        ({"prune": "strong"}, SettingsError, "prune must be one of auto, none, .*, got 'strong'"),
        ({"preset": "papre"}, SettingsError, "preset must be one of default, paper, .*, got 'papre'"),
        ({"settings": {"dropout": 0.3}}, SettingsError, "settings must be a Settings object, got dict"),
        ({"knowledge": ["rain -> wet"]}, SettingsError, "knowledge must be a Knowledge object, got list"),
        ({"knowledge": {"root": ["rain"]}}, KnowledgeError, "knowledge has no field 'root'"),
        ({"knowledge": Knowledge(roots=["rainn"])}, KnowledgeError, "'rainn' .* did you mean 'rain'"),
        ({"max_evals": 0}, SettingsError, "max_evals must be at least 1, got 0"),
        ({"time_limit": -1}, SettingsError, "time_limit must be at least 0, got -1"),
        ({"random_state": -1}, SettingsError, "random_state must be at least 0, got -1"),
        ({"random_state": "lucky"}, SettingsError, "random_state must be a whole number, .*, got 'lucky'"),
        ({"score": "bic"}, SettingsError, "score must be one of .*, got 'bic'"),
        ({"score_options": {"penality": 1}}, SettingsError, "score 'bic-ev' has no option penality"),
        (
            {"score_options": {"edge_prior": np.eye(4)}},
            SettingsError,
            r"edge_prior must have shape \(5, 5\), got \(4, 4\)",
        ),
        (
            {"score_options": {"edge_prior": np.eye(6)}},
            SettingsError,
            r"edge_prior must have shape \(5, 5\), got \(6, 6\)",
        ),
        ({"score_options": {"targets": np.eye(5)}}, SettingsError, "targets is no longer an option of a score"),
        ({"design": {"groups": "rain"}}, SettingsError, "design must be a Design object, got {'groups': 'rain'}"),
        ({"policy": "drop"}, SettingsError, "policy must be a DataPolicy object, got 'drop'"),
        (
            {"design": Design(experiment="rain"), "prune": "cam"},
            SettingsError,
            "prune 'cam' tests edges on pooled rows",
        ),
        ({"score": BicEV(Statistics.from_array(np.eye(4)))}, ScoreError, "built for 4 columns, but the table has 5"),
    ],
)
def test_bad_options_are_refused(options, kind, message):
    with pytest.raises(kind, match=message):
        rain.model(**options).fit(rain.frame())


# What one run knows.


class OwnScore:
    def __init__(self, table):
        pass

    def local_one(self, node, parents):
        return -abs(len(parents) - 1.5) - node / 10


def test_a_search_with_a_score_of_ones_own_goes_on_if_it_is_given_again(rng, tmp_path):
    x, small = rng.normal(size=(30, 4)), {"max_evals": 6, "random_state": 0, "prune": "none"}
    DrBO(score=OwnScore, **small).fit(x, checkpoint=tmp_path)
    with pytest.raises(SettingsError, match=r"names the score '.*:OwnScore', but drbo does not load code"):
        DrBO.resume(tmp_path)
    with pytest.raises(SettingsError, match=r"names the score '.*:OwnScore', but 'bge' was given"):
        DrBO.resume(tmp_path, score="bge")
    again = DrBO.resume(tmp_path, score=OwnScore, max_evals=4)
    assert again.result_.score_name == "OwnScore"
    assert again.result_.n_evals > 6
    with pytest.raises(SettingsError, match="the result names the score 'OwnScore'"):
        DrBO.like(again.result_)
    with pytest.raises(SettingsError, match="the result names the score 'OwnScore'"):
        again.result_.judge(x + 1)
    assert DrBO.like(again.result_, score=OwnScore).get_params()["score"] is OwnScore


@pytest.mark.parametrize("options", [{"score": "bge"}, {"score": "bge", "max_evals": 10}])
def test_a_search_that_was_killed_before_it_began_starts_from_what_was_asked_for(rng, tmp_path, monkeypatch, options):
    x = rng.normal(size=(60, 4))
    x[:, 1] += x[:, 0]
    start = np.triu(np.ones((4, 4), dtype=bool), 1)

    def killed(*_arguments):
        raise KeyboardInterrupt

    model = DrBO(**options, knowledge=Knowledge(roots=["x0"]))
    with monkeypatch.context() as patch:
        patch.setattr("drbo.problem.build_score", killed)
        with pytest.raises(KeyboardInterrupt):
            model.fit(x, checkpoint=tmp_path, start=start)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["request.json", "table.npz"]
    again = DrBO.resume(tmp_path)
    seed = again.result_.seed  # drawn before the search
    alone = DrBO(**options, knowledge=Knowledge(roots=["x0"]), random_state=seed).fit(x, start=start)
    assert (again.score_, again.adjacency_.tolist()) == (alone.score_, alone.adjacency_.tolist())
    assert again.result_.n_evals == alone.result_.n_evals


def test_two_searches_do_not_write_into_one_folder(rng, tmp_path):
    x = rng.normal(size=(30, 3))

    def another(_progress):
        with pytest.raises(LockError, match="in use by this process"):
            DrBO(score="bge", random_state=1).fit(x, checkpoint=tmp_path)

    DrBO(score="bge", random_state=0).fit(x, checkpoint=tmp_path, callbacks=[another])
    assert DrBO.resume(tmp_path).result_.seed == 0


def test_statistics_are_fitted_as_they_are(rng):
    a = rng.normal(size=400)
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(size=400), "c": rng.normal(size=400)})
    weights = rng.integers(1, 4, size=400).astype(float)
    table = Statistics.from_array(frame.to_numpy(), list(frame))
    given = DrBO(random_state=0).fit(replace(table, weights=weights))
    assert given.result_.score == DrBO(random_state=0).fit(frame, sample_weight=weights).result_.score
    assert given.feature_names_in_.tolist() == list("abc")
    with pytest.raises(SettingsError, match="statistics cannot be combined with sample weights: they say how"):
        DrBO().fit(table, sample_weight=weights)
    with pytest.raises(DataError, match="column 'b' is constant"):
        DrBO().fit(Statistics.from_array(frame.to_numpy() * [1, 0, 1], list(frame)))
