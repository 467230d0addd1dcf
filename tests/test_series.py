"""Series from the door of a user: ``DrBO(design=Design(time=...)).fit``."""

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, Design, DrBO, Knowledge, Result, Settings
from drbo.errors import SettingsError


def series(n=250, seed=0):
    """Return a frame in which a acts on b two days later, and b on c on the same day."""
    rng = np.random.default_rng(seed)
    x, noise = np.zeros((n, 3)), rng.normal(size=(n, 3))
    for t in range(2, n):
        x[t, 0] = 0.5 * x[t - 1, 0] + noise[t, 0]
        x[t, 1] = 0.4 * x[t - 1, 1] + 0.6 * x[t - 2, 0] + noise[t, 1]
        x[t, 2] = 0.4 * x[t - 1, 2] + 0.5 * x[t, 1] + noise[t, 2]
    return pd.DataFrame(x, columns=list("abc")).assign(day=pd.date_range("2021-01-01", periods=n).astype(str))


TRUE = {("a[-1]", "a"), ("b[-1]", "b"), ("c[-1]", "c"), ("a[-2]", "b"), ("b", "c")}


@pytest.fixture(scope="module")
def model():
    return DrBO(design=Design(time="day", max_lag=2), score="bic-nv", random_state=0).fit(series())


def test_the_past_is_found(model):
    result = model.result_
    assert {(one.cause, one.effect) for one in result.directions} == TRUE
    assert result.gap == 0
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert {one.ground for one in result.directions if "[" in one.cause} <= {"time", ""}


def test_it_is_saved_seen_scored_and_fitted_again(model, tmp_path):
    frame = series()
    loaded = Result.load(model.result_.save(tmp_path))
    assert loaded.series is not None
    assert loaded.series.design.get_params() == Design(time="day", max_lag=2).get_params()
    assert loaded.has_seen(frame)
    assert model.score_on(frame) == pytest.approx(model.result_.pruned_score)
    assert DrBO.like(loaded).fit(frame).score_ == pytest.approx(model.score_)
    assert model.bootstrap(frame, n=2).kind == "cluster"


def test_a_saved_search_goes_on(tmp_path):
    frame = series(80)
    model = DrBO(design=Design(time="day", max_lag=1), score="bic-nv", random_state=0)
    first = model.fit(frame, checkpoint=tmp_path)
    again = DrBO.resume(tmp_path)
    assert again.score_ == first.score_
    assert again.result_.series is not None


def test_rows_in_order_need_no_column_of_times():
    found = DrBO(design=Design(max_lag=2), score="bic-nv", random_state=0).fit(series()[list("abc")]).result_
    assert {(one.cause, one.effect) for one in found.directions} == TRUE


def test_knowledge_holds(model):
    known = Knowledge(forbidden=["a -> b"], required=["c[-2] -> a"])
    found = DrBO(design=Design(time="day", max_lag=2), knowledge=known, score="bic-nv", random_state=0).fit(series())
    edges = {(one.cause, one.effect) for one in found.result_.directions}
    assert ("c[-2]", "a") in edges
    assert not {("a", "b"), ("a[-1]", "b"), ("a[-2]", "b")} & edges


def test_units_may_differ_in_their_means():
    parts = [series(60, seed).assign(who=str(seed), a=lambda f, s=seed: f.a + 20 * s) for seed in range(4)]
    frame = pd.concat(parts, ignore_index=True)
    design = Design(time="day", unit="who", max_lag=2)
    found = DrBO(design=design, score="bic-nv", random_state=0).fit(frame).result_
    assert {(one.cause, one.effect) for one in found.directions} == TRUE
    assert found.table.n_groups == 4


def test_categories_have_a_past():
    frame = series(200).assign(c=lambda f: np.where(f.b.shift(1, fill_value=0) > 0, "hot", "cold"))
    found = DrBO(design=Design(time="day", max_lag=1), random_state=0).fit(frame).result_
    assert ("b[-1]", "c") in {(one.cause, one.effect) for one in found.directions}
    assert found.score_name == "mixed"


def test_missing_cells_follow_the_policy():
    frame = series(120)
    frame.loc[50, "a"] = np.nan
    for missing in ("drop", "em"):
        model = DrBO(design=Design(time="day", max_lag=1), policy=DataPolicy(missing=missing), score="bic-nv")
        assert ("b", "c") in {(one.cause, one.effect) for one in model.fit(frame).result_.directions}


def test_what_does_not_go_together_is_refused():
    for given in ({"unit": "u"}, {"season": 7}, {"time": "t", "groups": "g"}, {"time": "t", "unit": "t"}):
        with pytest.raises(SettingsError):
            Design(**given)
    with pytest.raises(SettingsError, match="hidden causes cannot be combined with rows that have a past"):
        DrBO(design=Design(max_lag=1), hidden=True).fit(series()[list("abc")])
    with pytest.raises(SettingsError, match="sample weights"):
        DrBO(design=Design(max_lag=1)).fit(series()[list("abc")], sample_weight=np.ones(250))


def test_the_order_of_columns_decides_nothing(model):
    other = series()[["c", "day", "a", "b"]]
    found = DrBO(design=Design(time="day", max_lag=2), score="bic-nv", random_state=0).fit(other)
    assert found.score_ == model.score_
    assert found.result_.settings == Settings.from_dict(model.result_.settings).to_dict()
