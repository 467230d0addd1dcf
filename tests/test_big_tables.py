"""Fits to moments and streams, from the outside: the answer is that of the table in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, Design, DrBO
from drbo.data.reading.read import open_source
from drbo.data.statistics import sums
from drbo.data.statistics.stream import streamed
from drbo.data.statistics.sums import Sums
from drbo.errors import CheckpointError, DataError, SettingsError

SCORES = ("bic-nv", "bic-ev", "bge")


def _table(n=1_500):
    x = np.random.default_rng(0).normal(size=(n, 6))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] += 0.5 * x[:, 2]
    x[:, 4] -= x[:, 3]
    return pd.DataFrame(x * [1, 2, 0.5, 1, 1, 3] + 100, columns=list("abcdef"))


def _moments(frame):
    return Sums.of_rows(list(frame), frame.to_numpy())


@pytest.fixture
def _small_sample(monkeypatch):
    """A stream keeps 400 rows, and the first 400."""
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 400)
    monkeypatch.setattr(sums, "DESCRIBED_CELLS", 0)
    monkeypatch.setattr(sums, "DESCRIBED_ROWS", 400)


@pytest.mark.parametrize("score", SCORES)
def test_moments_have_the_answer_of_the_table(score):
    frame, how = _table(), {"score": score, "score_options": {"penalty": "ebic"}, "random_state": 0}
    whole, parts = DrBO(**how).fit(frame), DrBO(**how).fit(_moments(frame[:700]).joined(_moments(frame[700:])))
    assert parts.score_ == pytest.approx(whole.score_, rel=1e-9)
    assert np.array_equal(parts.result_.cpdag, whole.result_.cpdag)
    assert np.allclose(parts.weights_, whole.weights_, atol=1e-9) if score != "bge" else parts.weights_ is None
    assert parts.result_.table.n_rows == 1_500


def test_the_order_of_columns_and_parts_decides_nothing():
    frame = _table()
    one = DrBO(random_state=0).fit(_moments(frame[:700]).joined(_moments(frame[700:])))
    turned = frame[list("fbdace")]
    other = DrBO(random_state=0).fit(_moments(turned[700:]).joined(_moments(turned[:700])))
    place = [list(turned).index(name) for name in frame]
    assert other.score_ == pytest.approx(one.score_, rel=1e-12)
    assert np.array_equal(other.adjacency_[np.ix_(place, place)], one.adjacency_)


def test_without_rows_directions_rest_on_the_class_alone(tmp_path):
    model = DrBO(random_state=0).fit(_moments(_table()))
    assert {one.ground for one in model.result_.edges().itertuples()} <= {"class", ""}
    assert any("residuals cannot be checked" in reason for reason in model.result_.reasons)
    topics = [finding.topic for finding in model.result_.table.audit.findings]
    assert topics[0] == "sample"
    columns = model.result_.table.audit.columns
    assert columns[0].max == pytest.approx(_table()["a"].max())
    model.result_.report(tmp_path / "report.html")
    assert model.feature_names_in_.tolist() == list("abcdef")


@pytest.mark.parametrize("score", ["splines", "bic-ng", "bdeu", "mixed"])
def test_scores_that_need_rows_say_which_do_not(score):
    with pytest.raises(DataError, match=f"score '{score}' needs the rows .*use bic-nv, bic-ev or bge"):
        DrBO(score=score).fit(_moments(_table()))


def test_what_needs_rows_says_so():
    totals, model = _moments(_table()), DrBO(random_state=0).fit(_moments(_table()))
    with pytest.raises(SettingsError, match="100 resamples were asked for, but 0 were drawn"):
        model.bootstrap(totals)
    for call in (model.result_.judge, lambda X: model.effects(X, "a", "c")):
        with pytest.raises(DataError, match="the rows of the table are needed here"):
            call(totals)
    designs = ({"design": Design(groups="a")}, {"design": Design(experiment="a")}, {"design": Design(weights="a")})
    for given in (*designs, {"policy": DataPolicy(types={"a": "category"})}):
        with pytest.raises(SettingsError, match="moments cannot be combined with"):
            DrBO(**given).fit(totals)
    with pytest.raises(SettingsError, match="moments cannot be combined with sample weights"):
        DrBO().fit(totals, sample_weight=np.ones(1_500))
    with pytest.raises(SettingsError, match="prune 'cam'"):
        DrBO(prune="cam").fit(totals)


def test_seeds_can_be_compared():
    found = DrBO(random_state=0).fit(_moments(_table())).stability(_moments(_table()), seeds=2)
    assert found.adjacent.max() == 1


def test_a_search_of_moments_is_resumed(tmp_path):
    frame = _table(400)
    whole = DrBO(random_state=0).fit(_moments(frame))
    DrBO(random_state=0).fit(_moments(frame), checkpoint=tmp_path / "run")
    again = DrBO.resume(tmp_path / "run", _moments(frame))
    assert again.score_ == whole.score_
    assert again.result_.table.sha256 == whole.result_.table.sha256
    assert again.result_.table.audit == whole.result_.table.audit
    with pytest.raises(CheckpointError, match="not the one that the search was saved with"):
        DrBO.resume(tmp_path / "run", _moments(_table(401)))


@pytest.mark.usefixtures("_small_sample")
@pytest.mark.parametrize("score", SCORES)
def test_a_stream_has_the_answer_of_the_table(tmp_path, score):
    frame, path = _table(), tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    how = {"score": score, "score_options": {"penalty": "ebic"}, "random_state": 0}
    totals = streamed(open_source(path), keep_rows=True)
    assert len(totals.values) == 400
    whole, parts = DrBO(**how).fit(frame), DrBO(**how).fit(totals)
    assert parts.score_ == pytest.approx(whole.score_, rel=1e-9)
    assert np.array_equal(parts.result_.cpdag, whole.result_.cpdag)
    text = parts.result_.table.audit.findings[0].text
    assert text == "the audit is based on a random sample of 400 of 1,500 rows; ranges on all"


@pytest.mark.usefixtures("_small_sample")
def test_the_noise_check_of_a_stream_uses_the_sample(tmp_path):
    rng = np.random.default_rng(0)
    dose = rng.uniform(-1, 1, size=2_000)
    frame = pd.DataFrame({"dose": dose, "response": np.exp(2 * dose) + 0.2 * rng.normal(size=2_000)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    totals = streamed(open_source([tmp_path / "t.csv"]), keep_rows=True)
    stream = DrBO(random_state=0, score="bic-nv").fit(totals).result_.claims.noise[0]
    sample = DrBO(random_state=0, score="bic-nv").fit(pd.DataFrame(totals.values, columns=list(frame)))
    assert (stream.cause, stream.effect) == ("dose", "response")
    whole = sample.result_.claims.noise[0].check
    assert (stream.check.verdict, stream.check.noise) == (whole.verdict, whole.noise)
    for name in ("p_value_forward", "p_value_reverse", "p_value_family"):  # the order of the columns may differ
        assert getattr(stream.check, name) == pytest.approx(getattr(whole, name), rel=1e-9)


@pytest.mark.usefixtures("_small_sample")
def test_rows_that_depend_on_each_other_count_as_fewer_in_a_stream_too(tmp_path):
    rng = np.random.default_rng(0)
    walk = np.zeros((1_200, 3))
    for t in range(1, 1_200):
        walk[t] = 0.8 * walk[t - 1] + rng.normal(size=3)
    frame = pd.DataFrame(walk, columns=list("abc"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    how = {"score": "bic-nv", "score_options": {"penalty": 1.0}, "random_state": 0}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole, parts = (
            DrBO(**how).fit(frame),
            DrBO(**how).fit(streamed(open_source([tmp_path / "t.csv"]), keep_rows=True)),
        )
    assert len(caught) == 2
    assert all("neighbouring rows are correlated" in str(one.message) for one in caught)
    assert parts.result_.table.n_effective == pytest.approx(whole.result_.table.n_effective)
    assert parts.score_ == pytest.approx(whole.score_, rel=1e-9)
    assert parts.result_.table.audit.is_serial


def test_a_short_stream_is_the_table_itself(tmp_path):
    frame, path = _table(300), tmp_path / "t.csv"
    frame.loc[7, "b"] = np.nan
    frame.to_csv(path, index=False)
    whole = DrBO(random_state=0, policy=DataPolicy(missing="drop")).fit(frame).result_
    found = (
        DrBO(random_state=0, policy=DataPolicy(missing="drop")).fit(streamed(open_source(path), keep_rows=True)).result_
    )
    assert found.score == whole.score
    assert found.score_name == whole.score_name
    assert found.table.sha256 == whole.table.sha256


def _bent(n):
    """A chain of ten columns with curved effects, of which a linear score sees only the straight part."""
    rng = np.random.default_rng(100)
    x = rng.normal(size=(n, 8))
    for j in range(1, 8):
        x[:, j] += 0.7 * x[:, j - 1] + 0.2 * (x[:, j - 1] ** 2 - 1)
        x[:, j] /= x[:, j].std()
    return Sums.of_rows([f"x{j}" for j in range(8)], x)


def test_graphs_do_not_fill_up_with_the_rows():
    few, many = (_bent(n) for n in (10_000, 1_000_000))
    found = DrBO(random_state=0).fit(many).result_
    short = DrBO(random_state=0).fit(few).result_
    assert abs(found.dag.sum() - short.dag.sum()) <= 0.2 * short.dag.sum()
    assert found.scoring.options["min_strength"] == 0.001
    assert any("with over 100,000 rows any misfit is significant" in reason for reason in found.reasons)
    full = DrBO(random_state=0, score_options={"min_strength": 0.0}).fit(many).result_
    assert full.dag.sum() > 1.3 * short.dag.sum()
    assert "min_strength" not in short.scoring.options


@pytest.mark.usefixtures("_small_sample")
@pytest.mark.parametrize("missing", ["drop", "em"])
def test_missing_cells_of_a_stream_are_treated_as_those_of_a_table(tmp_path, missing):
    frame, path = _table(), tmp_path / "t.csv"
    frame = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.05)
    frame.to_csv(path, index=False)
    how = {"score": "bic-nv", "score_options": {"penalty": 1.0}, "random_state": 0}
    how["policy"] = DataPolicy(missing=missing)
    totals = streamed(open_source(path), keep_rows=True, keep_patterns=missing == "em")
    whole, found = DrBO(**how).fit(frame).result_, DrBO(**how).fit(totals).result_
    assert found.score == pytest.approx(whole.score, rel=1e-9)
    assert np.array_equal(found.cpdag, whole.cpdag)
    (one,), (other,) = ([reason for reason in each.reasons if "missing=" in reason] for each in (found, whole))
    assert one == other


def _weak(n=3_000, seed=0):
    """Six columns with effects of which some are found in about half of the resamples."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 6))
    for j, size in enumerate((0.04, 0.06, 0.08, 0.3, 0.05), 1):
        x[:, j] += size * x[:, j - 1]
    return pd.DataFrame(x, columns=list("abcdef"))


def _csv(frame, folder):
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


@pytest.mark.usefixtures("_small_sample")
@pytest.mark.parametrize("score", ["bic-nv", "bge"])
def test_a_bootstrap_of_sums_finds_what_one_of_rows_finds(tmp_path, score):
    frame = _weak()
    how = {"score": score, "random_state": 0, "score_options": {"penalty": 1.0} if score != "bge" else {}}
    rows = DrBO(**how).fit(frame).bootstrap(frame, n=150)
    totals = streamed(open_source(_csv(frame, tmp_path)), keep_rows=True, resamples=150)
    model = DrBO(**how).fit(totals)
    sums = model.bootstrap(totals, n=150)
    assert (sums.kind, sums.count) == ("bootstrap", "150")
    assert model.result_.confidence.count == "150"
    assert np.abs(sums.adjacent - rows.adjacent).max() < 0.2  # 3.5 standard deviations of a difference at 1/2
    assert ((rows.adjacent > 0.1) & (rows.adjacent < 0.9)).sum() >= 4  # some are in doubt


@pytest.mark.usefixtures("_small_sample")
def test_a_bootstrap_of_sums_goes_on(tmp_path):
    totals = streamed(open_source([_csv(_weak(), tmp_path)]), keep_rows=True, resamples=30)
    model = DrBO(score="bic-nv", random_state=0).fit(totals)
    model.bootstrap(totals, n=10, keep=tmp_path / "kept.json")
    more = model.bootstrap(totals, n=30, keep=tmp_path / "kept.json")
    assert np.array_equal(more.adjacent, model.bootstrap(totals, n=30).adjacent)
    with pytest.raises(SettingsError, match="31 resamples were asked for, but 30 were drawn"):
        model.bootstrap(totals, n=31)
    with pytest.raises(SettingsError, match="kind 'block' needs the rows"):
        model.bootstrap(totals, n=3, kind="block")


def test_resamples_of_a_handful_of_rows_are_refused(tmp_path):
    frame = _weak(12)
    model = DrBO(score="bic-nv", random_state=0, policy=DataPolicy(on_collinear="keep")).fit(
        streamed(open_source(_csv(frame, tmp_path)))
    )
    totals = streamed(open_source([_csv(frame[:4], tmp_path)]), resamples=50)
    with pytest.raises(DataError, match=r"a resample has \d rows, but at least 3"):
        model.bootstrap(totals, n=5)


def test_a_short_stream_is_resampled_by_its_rows(tmp_path):
    frame = _weak(400)
    totals = streamed(open_source(_csv(frame, tmp_path)), keep_rows=True)
    found = DrBO(score="bic-nv", random_state=0).fit(totals).bootstrap(totals, n=10)
    whole = DrBO(score="bic-nv", random_state=0).fit(frame).bootstrap(frame, n=10)
    assert np.array_equal(found.adjacent, whole.adjacent)


def test_counted_rows_are_resampled_by_their_counts():
    rng = np.random.default_rng(0)
    a = rng.integers(2, size=2_000)
    b = np.where(rng.random(2_000) < 0.53, a, 1 - a)
    c = np.where(rng.random(2_000) < 0.7, b, 1 - b)
    frame = pd.DataFrame({"a": a, "b": b, "c": c}).replace({0: "no", 1: "yes"})
    counts = frame.value_counts().reset_index()
    rows, weights = counts[list("abc")], counts["count"].to_numpy()
    how = {"score": "bdeu", "random_state": 0, "design": Design(groups=False)}
    whole = DrBO(**how).fit(frame).bootstrap(frame, n=200)
    found = DrBO(**how).fit(rows, sample_weight=weights).bootstrap(rows, n=200, kind="counted", sample_weight=weights)
    assert np.abs(found.adjacent - whole.adjacent).max() < 0.18
    assert 0.05 < whole.adjacent[0, 1] < 0.95
    numbers, halves = pd.DataFrame(rng.normal(size=(20, 2)), columns=list("ab")), np.full(20, 0.5)
    model = DrBO(score="bic-nv").fit(numbers, sample_weight=halves)
    with pytest.raises(SettingsError, match="whole numbers as weights"):
        model.bootstrap(numbers, n=2, kind="counted", sample_weight=halves)
