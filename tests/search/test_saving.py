import shutil
import warnings

import numpy as np
import pytest

from drbo.data.table import Table
from drbo.errors import CheckpointError
from drbo.scores.bge import BGe
from drbo.search.loop import Search
from drbo.search.saving import LARGEST_SHARE, Course, Saved, Saver
from drbo.search.stopping import Limits, Recorder
from drbo.settings import Settings

SETTINGS = Settings(max_evals=40, batch_size=8, n_candidates=100)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def table(rng):
    values = np.column_stack([rng.normal(size=(30, 2)), rng.integers(0, 2, 30)])
    return Table(values, ("a", "b", "c"), ("numeric", "numeric", "categorical"), (None, None, ("no", "yes")))


@pytest.fixture
def course(rng):
    score = BGe(Table.from_array(rng.normal(size=(30, 3))))
    return Course(Search(score, SETTINGS, seed=1), Recorder(), Limits(SETTINGS))


def _saver(folder, course, table, clock=None):
    about = {"columns": ["a", "b", "c", "dropped"], "notes": ["note"], "versions": {"numpy": "1"}, "parameters": {}}
    about["parameters"] = {"settings": SETTINGS.to_dict(), "knowledge": {"roots": ["a"]}, "score": "bge"}
    return Saver(folder, course, table, about, clock=clock or Clock())


def test_the_table_and_what_is_known_about_it_come_back(tmp_path, course, table):
    _saver(tmp_path / "deep" / "run", course, table)
    saved = Saved.load(tmp_path / "deep" / "run")
    columns, again, notes = saved.data()
    assert (again.values == table.values).all()
    assert (again.names, again.kinds, again.levels) == (table.names, table.kinds, table.levels)
    assert (columns, notes) == (["a", "b", "c", "dropped"], ("note",))
    saved.check_data(table)
    with pytest.raises(CheckpointError, match="not the one"):
        saved.check_data(Table.from_array(table.values + 1))


def test_more_evaluations_are_counted_from_those_that_were_spent(tmp_path, course, table):
    course.state.evaluator.n_evals = 33
    _saver(tmp_path, course, table)
    saved = Saved.load(tmp_path)
    assert saved.arguments()["settings"] == SETTINGS
    assert saved.arguments(max_evals=10, time_limit=5.0)["settings"] == SETTINGS.with_(max_evals=43, time_limit=5.0)
    assert saved.arguments()["knowledge"].roots == ("a",)


def test_other_versions_are_told(tmp_path, course, table):
    _saver(tmp_path, course, table)
    with pytest.warns(UserWarning, match="saved with numpy 1, now 2"):
        Saved.load(tmp_path).check_versions({"numpy": "2"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Saved.load(tmp_path).check_versions({"numpy": "1"})


def test_saves_are_seldom_and_never_take_much_of_the_time(tmp_path, course, table, monkeypatch):
    clock = Clock()
    saver = _saver(tmp_path, course, table, clock)
    assert saver.n_saves == 1
    saver(None)
    assert saver.n_saves == 1
    clock.now += 11
    saver(None)
    assert saver.n_saves == 2

    def slow(*_arguments):
        clock.now += 3.0

    monkeypatch.setattr("drbo.search.checkpoint.save", slow)
    clock.now += 11
    saver(None)
    clock.now += 3.0 / LARGEST_SHARE - 1
    saver(None)
    assert saver.n_saves == 3
    clock.now += 2
    saver(None)
    assert saver.n_saves == 4


def test_a_clock_that_goes_backwards_does_no_harm(tmp_path, course, table):
    clock = Clock()
    saver = _saver(tmp_path, course, table, clock)
    clock.now -= 1000
    saver(None)
    clock.now += 2000
    saver(None)
    assert saver.n_saves == 2


def test_a_folder_that_cannot_be_written_is_told_before_any_work(tmp_path, course, table):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="cannot be saved"):
        _saver(tmp_path / "file" / "run", course, table)


def test_a_folder_that_goes_away_in_mid_run_is_a_warning_and_comes_back(tmp_path, course, table):
    folder, clock = tmp_path / "run", Clock()
    saver = _saver(folder, course, table, clock)
    shutil.rmtree(folder)
    folder.write_text("in the way")
    clock.now += 11
    with pytest.warns(UserWarning, match="cannot be saved.*the search goes on"):
        saver(None)
    folder.unlink()
    clock.now += 11
    saver(None)
    assert (folder / "checkpoint.json").exists()


def test_clocks_go_on(tmp_path, course, table):
    course.recorder.start_at(50.0)
    _saver(tmp_path, course, table)
    fresh = Course(Search(course.state.evaluator.score, SETTINGS, seed=1), Recorder(), Limits(SETTINGS))
    again = Saved.load(tmp_path).course(fresh)
    assert 50.0 <= again.recorder.seconds < 60.0


def test_a_table_that_was_changed_is_refused(tmp_path, course, table):
    _saver(tmp_path, course, table)
    np.savez(tmp_path / "table.npz", values=table.values + 1)
    with pytest.raises(CheckpointError, match="other data"):
        Saved.load(tmp_path)
