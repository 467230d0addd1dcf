"""Files, folders and sources of one's own are fitted as the tables that they hold, whole or piece by piece."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, Design, DrBO, gathering
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions
from drbo.data.statistics import sums
from drbo.data.statistics.moments_file import save_moments
from drbo.data.statistics.sums import Sums
from drbo.deadline import Deadline
from drbo.errors import DataError, SettingsError, TimeLimitError
from drbo.gathering import COPIES, Gathering, sampled
from drbo.scores.splines import RankSplines, SplineScore
from tests.data.reading.test_source import Mine

HOW = {"score": "bic-nv", "score_options": {"penalty": 1.0}, "random_state": 0}


@pytest.fixture
def frame():
    x = np.random.default_rng(0).normal(size=(1_500, 4))
    x[:, 2] += x[:, 0] + x[:, 1]
    x[:, 3] += 0.5 * x[:, 2]
    return pd.DataFrame(x, columns=list("abcd"))


@pytest.fixture
def path(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


@pytest.fixture
def _small_memory(monkeypatch):
    """A fit in memory would take too much, whatever the table."""
    monkeypatch.setattr(gathering, "COPIES", 1e9)


@pytest.fixture
def _small_sample(monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 400)


def test_the_size_of_a_table_decides_by_a_formula(path):
    source = open_source(path)
    needed = COPIES * path.stat().st_size / 2**30
    assert Gathering(max_memory=0.99 * needed).streams(source)
    assert not Gathering(max_memory=1.01 * needed).streams(source)
    assert Gathering(max_memory=1.01 * needed, stream=True).streams(source)
    assert Gathering().streams(Mine(np.empty((0, 2)), pd.DataFrame))  # of unknown size


def test_a_path_is_fitted_as_its_table(frame, path):
    whole = DrBO(**HOW).fit(frame)
    for given in (path, str(path), open_source(path)):
        model = DrBO(**HOW).fit(given)
        assert model.result_.table.sha256 == whole.result_.table.sha256
        assert model.score_ == whole.score_
        assert model.feature_names_in_.tolist() == list("abcd")
    assert DrBO(**HOW).fit(open_source(path, ReadOptions(drop=["a"]))).result_.names == ("b", "c", "d")
    assert model.score_on(path) == whole.score_on(frame)
    assert np.array_equal(model.bootstrap(path, n=5).adjacent, whole.bootstrap(frame, n=5).adjacent)
    assert np.array_equal(model.stability(path, seeds=2).adjacent, whole.stability(frame, seeds=2).adjacent)
    one, other = (found.effects[0] for found in (model.effects(path, "a", "c", 5), whole.effects(frame, "a", "c", 5)))
    assert (one.low, one.high) == (other.low, other.high)


def test_what_was_assumed_is_told(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    model = DrBO(**HOW).fit(tmp_path / "t.csv")
    assert "read with separator ';'; decimal comma in 'a', 'b', 'c' and 1 more" in model.result_.reasons
    assert model.score_ == pytest.approx(DrBO(**HOW).fit(frame).score_, rel=1e-12)


def test_a_path_is_compared_with_a_saved_search(path, tmp_path):
    DrBO(**HOW).fit(path, checkpoint=tmp_path / "run")
    again = DrBO.resume(tmp_path / "run", path)
    assert again.feature_names_in_.tolist() == list("abcd")


@pytest.mark.usefixtures("_small_sample")
def test_a_folder_is_fitted_piece_by_piece(frame, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "parts").mkdir()
    for k in range(3):
        frame[500 * k : 500 * k + 500].to_parquet(tmp_path / "parts" / f"{k}.parquet")
    whole = DrBO(**HOW).fit(frame)
    model = DrBO(**HOW).fit(tmp_path / "parts")
    assert model.score_ == pytest.approx(whole.score_, rel=1e-12)
    assert np.array_equal(model.result_.cpdag, whole.result_.cpdag)
    assert model.result_.table.n_rows == 1_500
    with ThreadPoolExecutor(2) as executor:
        assert DrBO(**HOW, executor=executor).fit(tmp_path / "parts").score_ == model.score_
    assert model.bootstrap(tmp_path / "parts", n=6).count == "6"
    for call in (model.score_on, lambda X: model.effects(X, "a", "c")):
        with pytest.raises(DataError, match=r"all rows are needed here, but those of file '.*parts' are not read into"):
            call(tmp_path / "parts")


@pytest.mark.usefixtures("_small_sample")
def test_a_source_of_ones_own_is_fitted(frame):
    source = Mine(frame[["a", "c"]].to_numpy(), lambda rows: pd.DataFrame(rows, columns=["a", "b"]))
    model = DrBO(**HOW).fit(source)
    whole = DrBO(**HOW).fit(frame[["a", "c"]].set_axis(["a", "b"], axis=1))
    assert model.score_ == pytest.approx(whole.score_, rel=1e-12)


@pytest.mark.usefixtures("_small_sample", "_small_memory")
def test_what_needs_rows_is_refused_where_none_are_kept(path):
    designs = ({"design": Design(groups="a")}, {"design": Design(experiment="a")}, {"design": Design(weights="a")})
    for given in (*designs, {"policy": DataPolicy(types={"a": "category"})}):
        with pytest.raises(SettingsError, match="needs all rows in memory, but only sums over these rows are kept"):
            DrBO(**given).fit(path)
    with pytest.raises(SettingsError, match="moments cannot be combined with sample weights"):
        DrBO().fit(path, sample_weight=np.ones(1_500))
    assert DrBO(design=Design(groups=False), **HOW).fit(path).result_.table.n_rows == 1_500


@pytest.mark.usefixtures("_small_memory")
def test_categories_are_counted_and_have_no_order(tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.integers(3, size=(2, 2_000))
    c = np.where(rng.random(2_000) < 0.8, (a + b) % 3, rng.integers(3, size=2_000))
    frame = pd.DataFrame({"a": np.array(["x", "y", "z"])[a], "b": b, "c": c})
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    model = DrBO(random_state=0).fit(path)
    whole = DrBO(random_state=0, design=Design(groups=False)).fit(frame)
    assert (model.result_.table.n_rows, model.result_.score_name) == (27, "bdeu")
    assert model.score_ == pytest.approx(whole.score_)
    assert not model.result_.table.audit.is_serial
    assert "groups=False" in model.result_.call
    assert model.bootstrap(path, n=5).kind == "counted"
    with pytest.raises(SettingsError, match="sample weights cannot be combined with rows that are counted"):
        DrBO().fit(path, sample_weight=np.ones(27))


def test_moments_of_several_owners_are_fitted(frame, tmp_path):
    for k, part in enumerate((frame[:600], frame[600:])):
        save_moments(tmp_path / f"{k}.npz", Sums.of_rows(list(frame), part.to_numpy()))
    model = DrBO(**HOW).fit(open_source([tmp_path / "0.npz", tmp_path / "1.npz"]))
    assert model.score_ == pytest.approx(DrBO(**HOW).fit(frame).score_, rel=1e-9)
    with pytest.raises(SettingsError, match="has the same content as"):
        open_source([tmp_path / "0.npz", tmp_path / "0.npz"])


def test_a_sample_of_a_long_table_is_drawn(path, monkeypatch):
    assert Gathering().sample(open_source(path))[1] == 1_500
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 50)
    rows, n_rows = Gathering(stream=True).sample(open_source(path))
    assert (len(rows), n_rows) == (50, 1_500)


def test_a_table_that_takes_too_long_is_an_error(path):
    with Deadline(0.0), pytest.raises(TimeLimitError, match="the table was not read to its end"):
        Gathering(stream=True)(open_source(path))


def test_files_that_are_not_there_are_named():
    with pytest.raises(DataError, match=r"file 'none\.csv' does not exist"):
        DrBO().fit("none.csv")
    with pytest.raises(DataError, match="cannot be read: File name too long"):
        DrBO().fit("a,b\n1,2\n" * 1_000)


@pytest.mark.usefixtures("_small_sample")
def test_a_score_says_which_functions_are_summed_up(path):
    class Own(SplineScore):
        name = "own"

    for score in ("splines", Own):
        assert Gathering(score=score, stream=True)(open_source(path)).table.bases.widths.tolist() == [5] * 4
    for score in ("auto", "bic-nv", "mixed", RankSplines, lambda node, parents: 0.0):
        assert Gathering(score=score, stream=True)(open_source(path)).table.bases is None


@pytest.fixture
def long(rng):
    return pd.DataFrame({"a": np.arange(3_000), "b": rng.normal(size=3_000), "c": ["x", "y", None] * 1_000})


def test_the_pieces_of_a_sample_decide_nothing(long, rng, monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 100)
    found, n_rows = sampled([long], seed=1)
    assert (len(found), n_rows) == (100, 3_000)
    assert (np.diff(found["a"]) > 0).all()
    cuts = np.sort(rng.integers(0, 3_000, 30))
    again, _ = sampled([long.iloc[part] for part in np.split(np.arange(3_000), cuts)], seed=1)
    assert again.equals(found)
    assert not sampled([long], seed=2)[0].equals(found)
    assert 1_000 < found["a"].mean() < 2_000


def test_few_rows_are_all_there(long):
    found, n_rows = sampled([long[:10], long[10:]])
    assert n_rows == 3_000
    assert found["b"].tolist() == long["b"].tolist()
