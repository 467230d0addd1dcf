"""Sample weights and stability over seeds, from the outside."""

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, DrBO, Settings
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError, SettingsError
from drbo.scores.families import Families
from drbo.scores.registry import build_score

NUMERIC, DISCRETE = ("bic-nv", "bic-ev", "bge"), ("bdeu", "bic-discrete")


def _numbers(n=150):
    x = np.random.default_rng(0).normal(size=(n, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] += x[:, 2]
    return pd.DataFrame(x, columns=list("abcd"))


def _groups(n=150):
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=(2, n))
    c = np.where(rng.random(n) < 0.8, (a + b) % 3, rng.integers(3, size=n))
    return pd.DataFrame({"a": a, "b": b, "c": c}).astype("category")


def _table(score):
    return _numbers() if score in NUMERIC else _groups()


def _times(n=150):
    return np.random.default_rng(1).integers(0, 4, size=n)


@pytest.mark.parametrize("score", [*NUMERIC, *DISCRETE])
@pytest.mark.parametrize("intervened", [False, True])
def test_whole_weights_are_repeated_rows_for_every_family(score, intervened):
    rng = np.random.default_rng(2)
    times = rng.integers(1, 4, size=100)
    values = _table(score).to_numpy(dtype=float)[:100]
    d = values.shape[1]
    targets = rng.random((100, d)) < 0.2 if intervened else None
    again = None if targets is None else np.repeat(targets, times, axis=0)
    table = Statistics.from_array(values)
    weighted = Statistics(table.values, table.names, table.kinds, table.levels, times.astype(float))
    repeated = Statistics.from_array(np.repeat(values, times, axis=0))
    one = build_score(score, weighted, {"targets": targets, "penalty": 2})
    other = build_score(score, repeated, {"targets": again, "penalty": 2})
    sets = [(j, [(j + k) % d for k in range(1, size + 1)]) for j in range(d) for size in range(3)]
    families = Families.from_sets(d, sets)
    assert one.local(families) == pytest.approx(other.local(families), rel=1e-6)
    assert one.family_price(families) == pytest.approx(other.family_price(families))
    assert one.n_rows == pytest.approx(other.n_rows)


@pytest.mark.parametrize("score", [*NUMERIC, *DISCRETE])
def test_a_weighted_fit_is_the_fit_of_repeated_rows(score):
    frame, times = _table(score), _times()
    weighted = DrBO(score=score, random_state=0).fit(frame, sample_weight=times)
    rows = np.random.default_rng(5).permutation(np.repeat(np.arange(150), times))
    repeated = DrBO(score=score, random_state=0).fit(frame.iloc[rows])
    assert weighted.score_ == pytest.approx(repeated.score_, rel=1e-6)
    assert (weighted.result_.cpdag == repeated.result_.cpdag).all()
    assert weighted.result_.pruner == repeated.result_.pruner
    if weighted.weights_ is not None and (weighted.adjacency_ == repeated.adjacency_).all():
        assert weighted.weights_ == pytest.approx(repeated.weights_)
    assert weighted.score_on(frame, sample_weight=times) == pytest.approx(weighted.result_.pruned_score)
    assert weighted.result_.proof is not None  # the proof holds for weighted rows too
    assert any("rows count as" in reason for reason in weighted.result_.reasons)


def test_weights_of_one_change_nothing():
    frame = _numbers()
    one, other = DrBO(random_state=0).fit(frame), DrBO(random_state=0).fit(frame, sample_weight=np.ones(150))
    assert one.score_ == other.score_
    assert one.result_.reasons == other.result_.reasons


def test_parts_of_rows_are_weights_too():
    frame = _numbers()
    whole = DrBO(score="bic-nv", random_state=0).fit(frame, sample_weight=np.full(150, 2.0))
    parts = DrBO(score="bic-nv", random_state=0).fit(pd.concat([frame] * 4), sample_weight=np.full(600, 0.5))
    assert parts.score_ == pytest.approx(whole.score_)


def test_weights_follow_their_rows():
    frame, times = _numbers(), _times()
    order = np.random.default_rng(3).permutation(150)
    one = DrBO(score="bge", random_state=0).fit(frame, sample_weight=times)
    other = DrBO(score="bge", random_state=0).fit(frame.iloc[order], sample_weight=times[order])
    assert one.score_ == pytest.approx(other.score_, rel=1e-12)
    assert one.result_.table.sha256 == other.result_.table.sha256


def test_weights_and_missing_values_together():
    frame, times = _numbers(), _times()
    holed = frame.mask(np.random.default_rng(4).random(frame.shape) < 0.1)
    kept = holed.notna().all(axis=1) & (times > 0)
    dropped = DrBO(score="bic-nv", policy=DataPolicy(missing="drop"), random_state=0).fit(holed, sample_weight=times)
    alone = DrBO(score="bic-nv", random_state=0).fit(frame[kept], sample_weight=times[kept])
    assert dropped.score_ == pytest.approx(alone.score_)
    em = DrBO(score="bic-nv", policy=DataPolicy(missing="em"), random_state=0).fit(holed, sample_weight=times)
    assert em.score_on(holed, sample_weight=times) == pytest.approx(em.result_.pruned_score)
    imputed = DrBO(score="bic-nv", policy=DataPolicy(missing="impute", imputations=2), random_state=0).fit(
        holed, sample_weight=times
    )
    assert imputed.result_.confidence.n == 2


def test_a_weighted_bootstrap_and_a_resumed_search(tmp_path):
    frame, times = _numbers(), _times()
    groups = np.arange(150) // 10
    model = DrBO(score="bic-nv", random_state=0).fit(frame, sample_weight=times)
    found = model.bootstrap(frame, n=3, kind="cluster", clusters=groups, sample_weight=times)
    assert found.adjacent[2, 3] == 1.0
    first = DrBO(score="bge", max_evals=10, random_state=0).fit(frame, sample_weight=times, checkpoint=tmp_path)
    longer = DrBO.resume(tmp_path, frame[times > 0], max_evals=5)
    assert longer.result_.table.sha256 == first.result_.table.sha256
    assert longer.result_.n_evals > first.result_.n_evals


def test_kept_resamples_of_other_weights_are_not_used(tmp_path):
    frame, times = _numbers(), _times()
    model = DrBO(score="bic-nv", random_state=0).fit(frame, sample_weight=times)
    model.bootstrap(frame, n=2, keep=tmp_path / "kept.json", sample_weight=times)
    first = (tmp_path / "kept.json").read_text()
    model.bootstrap(frame, n=2, keep=tmp_path / "kept.json", sample_weight=times[::-1])
    assert (tmp_path / "kept.json").read_text() != first


def test_scores_without_weights_refuse_them():
    with pytest.raises(DataError, match="score 'splines' does not support sample weights"):
        DrBO(score="splines").fit(_numbers(), sample_weight=_times())
    with pytest.raises(DataError, match=r"must be whole numbers, got 0\.5"):
        DrBO(score="bdeu").fit(_groups(), sample_weight=np.full(150, 0.5))
    with pytest.raises(SettingsError, match="prune 'cam' requires complete rows of equal weight"):
        DrBO(score="bic-nv", prune="cam").fit(_numbers(), sample_weight=_times())


def test_auto_takes_a_score_that_can_use_weights():
    assert DrBO(random_state=0).fit(_numbers(), sample_weight=_times()).result_.score_name == "bic-nv"
    assert DrBO(random_state=0).fit(_groups(), sample_weight=_times()).result_.score_name == "bdeu"


class TestStability:
    def test_a_proved_optimum_does_not_depend_on_the_seed(self):
        model = DrBO(score="bic-nv", random_state=5).fit(_numbers())
        found = model.stability(_numbers(), seeds=3)
        assert set(np.unique(found.adjacent)) <= {0.0, 1.0}
        assert (found.n, found.kind, found.seed) == (3, "seeds", 5)
        assert model.result_.confidence.n == 3
        assert (model.adjacency_ == model.result_.dag).all()
        assert "3 seeds" in model.result_.summary()

    def test_what_hangs_on_the_seed_is_seen(self):
        x = np.random.default_rng(0).normal(size=(60, 6))
        x = x @ (np.eye(6) + np.triu(np.ones((6, 6)), 1))
        careless = Settings().with_(polish=False, recombine=False, skip_known=False, batch_size=2)
        options = {"score": "bic-ev", "max_evals": 4, "prune": "none", "exact": False, "settings": careless}
        found = DrBO(**options, random_state=0).fit(x).stability(x, seeds=3)
        assert ((found.adjacent > 0) & (found.adjacent < 1)).any()
        singles = [DrBO(**options, random_state=seed).fit(x).result_.dag for seed in range(3)]
        assert found.directed == pytest.approx(np.mean(singles, axis=0))

    def test_bad_wishes(self):
        with pytest.raises(SettingsError, match="seeds must be a whole number of at least 2"):
            DrBO().stability(_numbers(), seeds=1)
        with pytest.raises(SettingsError, match="reports edge frequencies itself"):
            DrBO(policy=DataPolicy(missing="impute")).stability(_numbers(), seeds=3)
