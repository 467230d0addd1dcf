"""Fits of tables from several experiments, from the frame to the result and back."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO, Knowledge, load
from drbo.errors import SettingsError


def runs(seed=0, control=300, rows=100):
    """a -> b -> c -> d <- a; 'hot' shifts a, 'cold' shifts c, and 'pressed' multiplies the noise of b."""
    rng, parts = np.random.default_rng(seed), []
    for label in ("observational", "hot", "cold", "pressed"):
        n = control if label == "observational" else rows
        a = rng.normal(size=n) + 2 * (label == "hot")
        b = 1.2 * a + rng.normal(size=n) * (2 if label == "pressed" else 1)
        c = rng.normal(size=n) - 0.9 * b + 1.5 * (label == "cold")
        d = 0.8 * c + 0.7 * a + rng.normal(size=n)
        parts.append(pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "run": label}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def model():
    return DrBO(design=Design(experiment="run"), random_state=0).fit(runs())


def targets(result):
    return set(zip(result.targets["experiment"], result.targets["column"], strict=True))


TRUE = {("hot", "a"), ("cold", "c"), ("pressed", "b")}


def test_graph_targets_and_reasons(model):
    result = model.result_
    assert set(model.graph_.edges) == {("a", "b"), ("b", "c"), ("c", "d"), ("a", "d")}
    assert targets(result) == TRUE
    assert {one.ground for one in result.directions} == {"experiment"}
    assert result.why()["a", "b"] == "Experiment 'hot' changes 'a', and 'b' follows"
    assert "interventional" in result.summary()
    assert result.gap == 0
    assert model.weights_[0, 1] == pytest.approx(1.2, abs=0.15)


def test_the_order_of_rows_and_columns_does_not_matter(model):
    shuffled = runs().sample(frac=1, random_state=1)[["d", "run", "b", "a", "c"]]
    again = DrBO(design=Design(experiment="run"), random_state=0).fit(shuffled).result_
    assert again.score == model.result_.score
    assert again.targets.equals(model.result_.targets)
    assert set(again.to_networkx().edges) == set(model.graph_.edges)


def test_a_result_is_saved_and_used_again(model, tmp_path):
    result, frame = model.result_, runs()
    copy = load(result.save(tmp_path))
    assert copy.targets.equals(result.targets)
    assert (copy.mpdag == result.mpdag).all()
    assert copy.score_of(result.dag, frame) == pytest.approx(result.score)
    assert model.score_on(frame) == pytest.approx(result.score)
    assert DrBO.like(copy).fit(frame).score_ == result.score
    control = frame[frame["run"] == "observational"].drop(columns="run")
    assert copy.effects(frame, "a", "d").effects == copy.effects(control, "a", "d").effects
    assert copy.judge(runs(seed=1), n_permutations=19, n_random=19).n_rows == 300


def test_resamples_keep_experiments_and_count_targets():
    frame = runs(seed=2)
    model = DrBO(design=Design(experiment="run"), random_state=0).fit(frame)
    model.bootstrap(frame, n=5)
    assert (model.result_.targets["frequency"] == 1.0).all()
    with pytest.raises(SettingsError, match="kind 'cluster' cannot be combined with experiments"):
        model.bootstrap(frame, n=5, kind="cluster", clusters=np.arange(600))
    found = model.effects(frame, "a", "b", n=5).effects[0]
    assert found.low < 1.2 < found.high + 0.3


def test_a_search_is_resumed_with_its_experiments(tmp_path):
    known = {"hot": {"a": "hard"}}
    model = DrBO(design=Design(experiment="run", targets=known), random_state=0).fit(runs(), checkpoint=tmp_path)
    again = DrBO.resume(tmp_path)
    assert again.score_ == model.score_
    assert again.result_.targets.equals(model.result_.targets)
    assert set(model.result_.targets["kind"]) == {"hard", "found"}


def test_known_targets_may_be_all_there_are():
    design = Design(experiment="run", targets={"hot": "a"})
    closed = DrBO(design=design, score_options={"others": "none"}, random_state=0).fit(runs(seed=3)).result_
    assert closed.scoring.options["others"] == "none"
    assert {column for label, column in targets(closed) if label == "hot"} == {"a"}


def bent_runs(seed=0):
    """a -> b -> c, none of it straight; 'hot' shifts a, 'cold' shifts c."""
    rng, parts = np.random.default_rng(seed), []
    for label in ("observational", "hot", "cold"):
        n = 300 if label == "observational" else 120
        a = rng.normal(size=n) + 2 * (label == "hot")
        b = 2.5 * np.tanh(1.5 * a) + 0.7 * rng.normal(size=n)
        c = b**2 / 2 + rng.normal(size=n) + 3 * (label == "cold")
        parts.append(pd.DataFrame({"a": a, "b": b, "c": c, "run": label}))
    return pd.concat(parts, ignore_index=True)


def class_runs(seed=0):
    """The first table with every column cut into three classes."""
    frame = runs(seed, control=600, rows=200)
    cut = {name: pd.cut(frame[name], [-np.inf, -0.8, 0.8, np.inf], labels=["low", "mid", "high"]) for name in "abcd"}
    return pd.DataFrame(cut).astype(str).assign(run=frame["run"])


KINDS = {"bic-experiments": runs, "splines-experiments": bent_runs, "discrete-experiments": class_runs}


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    frame = KINDS[request.param]()
    return request.param, frame, DrBO(design=Design(experiment="run"), random_state=0).fit(frame)


def test_auto_chooses_and_the_best_graph_is_proved(kind):
    name, _, model = kind
    assert model.result_.scoring.name == name
    assert {("a", "b"), ("b", "c")} <= set(model.graph_.edges)
    assert {("hot", "a"), ("cold", "c")} <= targets(model.result_) <= TRUE
    assert model.result_.gap == 0
    assert (model.weights_ is not None) == (name == "bic-experiments")


def test_knowledge_is_obeyed(kind):
    name, frame, _ = kind
    known = Knowledge(forbidden=[("a", "b")], required=[("c", "a")])
    model = DrBO(design=Design(experiment="run"), knowledge=known, random_state=0).fit(frame)
    assert model.result_.scoring.name == name
    assert ("a", "b") not in model.graph_.edges
    assert ("c", "a") in model.graph_.edges


def test_resamples_effects_and_judgement(kind, tmp_path):
    name, frame, fitted = kind
    model = DrBO.like(fitted.result_).fit(frame)
    model.bootstrap(frame, n=3)
    assert set(model.result_.targets["frequency"]) <= {0.0, 1 / 3, 2 / 3, 1.0}
    copy = load(model.result_.save(tmp_path))
    assert copy.targets.equals(model.result_.targets)
    if name == "discrete-experiments":
        assert copy.probabilities(frame, "a", "high", "b").levels
    else:
        assert copy.effects(frame, "a", "b").effects
    control = int((frame["run"] == "observational").sum())
    assert copy.judge(KINDS[name](seed=1), n_permutations=19, n_random=19).n_rows == control


def test_known_targets_resume_and_workers(kind, tmp_path):
    _, frame, fitted = kind
    design = Design(experiment="run", targets={"hot": {"a": "hard"}, "cold": "c"})
    model = DrBO(design=design, random_state=0).fit(frame, checkpoint=tmp_path)
    assert {"hard", "soft"} <= set(model.result_.targets["kind"])
    again = DrBO.resume(tmp_path)
    assert again.score_ == model.score_
    assert again.result_.targets.equals(model.result_.targets)
    with ThreadPoolExecutor(2) as crew:
        shared = DrBO(design=Design(experiment="run"), random_state=0, executor=crew).fit(frame)
    assert shared.score_ == fitted.score_
    assert shared.result_.targets.equals(fitted.result_.targets)


def test_numbers_beside_categories_are_refused():
    frame = runs().assign(kind=np.tile(["x", "y"], 300))
    with pytest.raises(SettingsError, match="column 'kind' is categorical and others are numeric, but with experim"):
        DrBO(design=Design(experiment="run")).fit(frame)


def test_other_scores_take_known_hard_targets_only():
    with pytest.raises(SettingsError, match="score 'bge' requires known hard targets for every experiment"):
        DrBO(score="bge", design=Design(experiment="run", targets={"hot": {"a": "hard"}})).fit(runs())
    with pytest.raises(SettingsError, match="a score given as a function or an object cannot take experiments"):
        DrBO(score=lambda node, parents: 0.0, design=Design(experiment="run")).fit(runs())
