import hashlib
import json
import shutil
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from drbo.data.checks.experiments import Experiments, KnownTarget
from drbo.data.files.files import npz_bytes
from drbo.data.statistics.statistics import Statistics
from drbo.design import DataPolicy, Design
from drbo.errors import CheckpointError
from drbo.scores.bge import BGe
from drbo.search.checkpoint import files as checkpoint
from drbo.search.checkpoint.files import MANIFEST
from drbo.search.checkpoint.saver import LARGEST_SHARE, Course, Saved, Saver, begin
from drbo.search.stopping import Limits, Recorder
from drbo.search.strategy import new_search
from drbo.settings import Settings

SETTINGS = Settings(max_evals=40).with_(batch_size=8, n_candidates=100)

PARAMETERS = {
    **{"preset": "default", "prune": "auto", "device": "cpu", "hidden": 0, "score": "bge", "score_options": None},
    **{
        "random_state": 1,
        "start": None,
        "design": Design().get_params() | {"neighbourhood": 0},
        "policy": DataPolicy().get_params(),
    },
}


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def table(rng):
    values = np.column_stack([rng.normal(size=(30, 2)), rng.integers(0, 2, 30)])
    return Statistics(values, ("a", "b", "c"), ("numeric", "numeric", "categorical"), (None, None, ("no", "yes")))


@pytest.fixture
def course(rng):
    score = BGe(Statistics.from_array(rng.normal(size=(30, 3))))
    return Course(new_search(score, SETTINGS, seed=1), Recorder(), Limits(SETTINGS))


def _saver(folder, course, table, clock=None):
    about = {"columns": ["a", "b", "c", "dropped"], "notes": ["note"], "versions": {"numpy": "1"}}
    about["parameters"] = PARAMETERS | {"settings": SETTINGS.to_dict(), "knowledge": {"roots": ["a"]}}
    return Saver(folder, course, table, about, clock=clock or Clock())


def test_the_table_and_what_is_known_about_it_come_back(tmp_path, course, table):
    _saver(tmp_path / "deep" / "run", course, table)
    saved = Saved.load(tmp_path / "deep" / "run")
    prepared = saved.data()
    again = prepared.table
    assert (again.values == table.values).all()
    assert (again.names, again.kinds, again.levels) == (table.names, table.kinds, table.levels)
    assert (prepared.columns, prepared.notes) == (["a", "b", "c", "dropped"], ("note",))
    saved.check_data(table)
    with pytest.raises(CheckpointError, match="not the one"):
        saved.check_data(Statistics.from_array(table.values + 1))


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

    monkeypatch.setattr("drbo.search.checkpoint.files.save", slow)
    clock.now += 11
    saver(None)
    clock.now += 3.0 / LARGEST_SHARE - 1
    saver(None)
    assert saver.n_saves == 3
    clock.now += 2
    saver(None)
    assert saver.n_saves == 4


def test_the_end_of_a_search_is_saved_once(tmp_path, course, table):
    saver = _saver(tmp_path, course, table, Clock())
    saver.finish()
    assert saver.n_saves == 1
    course.state.rounds += 1
    saver.finish()
    saver.finish()
    assert saver.n_saves == 2


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
    with pytest.warns(UserWarning, match="cannot be saved.*the search continues"):
        saver(None)
    folder.unlink()
    clock.now += 11
    saver(None)
    assert (folder / "checkpoint.json").exists()


def test_clocks_go_on(tmp_path, course, table):
    course.recorder.start_at(50.0)
    _saver(tmp_path, course, table)
    fresh = Course(new_search(course.state.evaluator.score, SETTINGS, seed=1), Recorder(), Limits(SETTINGS))
    again = Saved.load(tmp_path).course(fresh)
    assert 50.0 <= again.recorder.seconds < 60.0


def test_a_table_that_was_changed_is_refused(tmp_path, course, table):
    _saver(tmp_path, course, table)
    np.savez(tmp_path / "table.npz", values=table.values + 1)
    with pytest.raises(CheckpointError, match="different data"):
        Saved.load(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_only_the_owner_may_read_the_copy_of_the_table(tmp_path, course, table):
    _saver(tmp_path, course, table)
    assert (tmp_path / "table.npz").stat().st_mode & 0o777 == 0o600


def _forge(folder, change):
    """Change what a saved search says about itself, with a checksum that fits."""
    content = json.loads((folder / MANIFEST).read_text())
    change(content["about"])
    content["checksum"] = checkpoint._checksum(content)
    (folder / MANIFEST).write_text(json.dumps(content))


def _set(*path_and_value):
    *path, name, value = path_and_value

    def change(about):
        for step in path:
            about = about[step]
        if value is LEFT_OUT:
            del about[name]
        else:
            about[name] = value

    return change


LEFT_OUT = object()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("seconds", LEFT_OUT), "'seconds' is missing"),
        (_set("seconds", "10"), "seconds must be a number"),
        (_set("seconds", -1.0), "seconds must be a number"),
        (_set("n_evals", 1.5), "n_evals must be a whole number"),
        (_set("n_evals", -3), "n_evals must be a whole number"),
        (_set("extra", 1), "unknown field 'extra'"),
        (_set("columns", [1, 2]), "columns must be a list of strings"),
        (_set("columns", ["a"]), "does not match its description"),
        (_set("notes", "note"), "notes must be a list of strings"),
        (_set("versions", {"numpy": 1}), "versions must be strings"),
        (_set("versions", []), "versions must be a JSON object"),
        (_set("table", []), "table must be a JSON object"),
        (_set("table", "names", ["a", "a", "b"]), "two columns have the same name"),
        (_set("table", "names", ["a", "b"]), "does not match its description"),
        (_set("table", "kinds", ["numeric", "numeric", "builtins"]), "kinds must be numeric or categorical"),
        (_set("table", "kinds", ["numeric", "categorical", "categorical"]), "column 'b' is not categorical"),
        (_set("table", "levels", [None, None, ["no"]]), "column 'c' is not categorical"),
        (_set("table", "levels", [None, None, [1, 2]]), "levels must be null or strings"),
        (_set("table_sha256", 7), "table_sha256 must be a string"),
        (_set("parameters", LEFT_OUT), "'parameters' is missing"),
        (_set("parameters", "score", ["os:system"]), "score must be a string"),
        (_set("parameters", "random_state", -1), "random_state must be a whole number"),
        (_set("parameters", "random_state", 1.5), "random_state must be a whole number"),
        (_set("parameters", "score_options", []), "score_options must be a JSON object"),
        (_set("parameters", "callbacks", ["os.system"]), "unknown field 'parameters.callbacks'"),
        (_set("parameters", "settings", {}), "have no setting 'candidate_parents'"),
        (_set("parameters", "settings", "__class__", 1), "have the unknown setting '__class__'"),
        (_set("parameters", "settings", "paper", "dropout", "x"), "dropout must be"),
        (_set("parameters", "settings", "paper", "x"), "have no setting 'acquisition'"),
        (_set("parameters", "settings", "parts", "__class__", 1), "have the unknown setting '__class__'"),
        (_set("parameters", "settings", "paper", "rank", 10**400), "rank of the saved search must be at most"),
        (_set("parameters", "settings", "time_limit", 10**400), "time_limit of the saved search must be at most"),
        (_set("parameters", "knowledge", {"tiers": 5}), "the knowledge of the saved search: tiers must be a list"),
        (_set("parameters", "knowledge", {"__init__": 5}), "no field '__init__'"),
    ],
)
def test_what_a_search_says_about_itself_is_checked(tmp_path, course, table, change, message):
    _saver(tmp_path, course, table)
    _forge(tmp_path, change)
    with pytest.raises(CheckpointError, match=message):
        Saved.load(tmp_path)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"values": np.full((30, 3), np.inf)}, "Input contains infinity"),
        ({"values": np.full((30, 3), 1.0)}, "column 'a' is constant"),
        ({"values": np.eye(30, 3) * 1e200}, "must be below"),
        ({"values": np.zeros((30, 3), dtype=np.float32)}, "does not match its description"),
        ({"values": np.zeros(30)}, "does not match its description"),
        ({"values": np.array([[None]])}, "pickled Python objects"),
        ({"weights": np.zeros(30)}, "all sample weights are zero"),
        ({"weights": np.zeros(29)}, "weights must have shape"),
    ],
)
def test_a_forged_table_is_refused(tmp_path, course, table, members, message):
    _saver(tmp_path, course, table)
    raw = npz_bytes({"values": table.values} | members)
    (tmp_path / "table.npz").write_bytes(raw)
    _forge(tmp_path, _set("table_sha256", hashlib.sha256(raw).hexdigest()))
    with pytest.raises(CheckpointError, match=message):
        Saved.load(tmp_path)


def _about():
    parameters = PARAMETERS | {"settings": SETTINGS.to_dict(), "knowledge": {}}
    return {"columns": ["a", "b", "c"], "notes": [], "versions": {}, "parameters": parameters}


def test_a_search_can_be_started_from_what_was_asked_for(tmp_path, course, table):
    begin(tmp_path / "run", table, _about())
    saved = Saved.load(tmp_path / "run")
    assert saved.checkpoint is None
    assert (saved.table.values == table.values).all()
    assert (saved.about["seconds"], saved.about["n_evals"]) == (0.0, 0)
    assert saved.arguments(max_evals=3)["settings"].max_evals == 3
    assert saved.course(course) is course


def test_the_first_save_does_not_write_the_table_again(tmp_path, course, table):
    about = begin(tmp_path, table, _about())
    before = (tmp_path / "table.npz").stat()
    Saver(tmp_path, course, table, about)
    assert (tmp_path / "table.npz").stat() == before
    saved = Saved.load(tmp_path)
    assert saved.checkpoint is not None
    assert saved.data_about == {name: about[name] for name in ("table", "data_hash", "table_sha256")}


def test_a_new_search_replaces_an_older_one(tmp_path, course, table):
    _saver(tmp_path, course, table)
    begin(tmp_path, table, _about())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["request.json", "table.npz"]
    assert Saved.load(tmp_path).checkpoint is None


def test_a_start_comes_back(tmp_path, table):
    about = _about()
    about["parameters"]["start"] = [[0, 2], [1, 2]]
    begin(tmp_path, table, about)
    assert np.argwhere(Saved.load(tmp_path).start).tolist() == [[0, 2], [1, 2]]
    for forged in ([[0, 3]], [[0, -1]], [[0]], [0], "ab", {"a": 1}, [["a", "b"]], [[0.0, 1.0]], 5, [[0, 10**30]]):
        about["parameters"]["start"] = forged
        begin(tmp_path, table, about)
        with pytest.raises(CheckpointError, match=r"pairs of columns|start must be"):
            _ = Saved.load(tmp_path).start
    about["parameters"]["start"] = []
    begin(tmp_path, table, about)
    assert not Saved.load(tmp_path).start.any()


def _runs(table, **changes):
    codes = np.repeat([0, 1], 15)
    given = {"codes": codes, "labels": ("plain", "hot"), "known": (KnownTarget("hot", "a", "hard"),), "column": "run"}
    return replace(table, experiments=Experiments(**(given | changes)))


def test_experiments_come_back(tmp_path, course, table):
    _saver(tmp_path, course, _runs(table))
    found = Saved.load(tmp_path).table.experiments
    assert found.codes.tolist() == [0] * 15 + [1] * 15
    assert (found.labels, found.known, found.column) == (("plain", "hot"), (KnownTarget("hot", "a", "hard"),), "run")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"codes": np.repeat([0, 2], 15)}, "experiments do not match their labels"),
        ({"codes": np.repeat([0, 1], [28, 2])}, "experiment 'hot' has 2 rows"),
        ({"known": (KnownTarget("hot", "z"),)}, "'z', a target of experiment 'hot', is not a column"),
        ({"known": (KnownTarget("plain", "a"),)}, "the control 'plain' cannot have targets"),
        ({"known": (KnownTarget("hot", 7),)}, "known must be lists of experiment, column and kind"),
        ({"column": 3}, "experiment must be"),
    ],
)
def test_forged_experiments_are_refused(tmp_path, course, table, change, words):
    _saver(tmp_path, course, _runs(table, **change))
    with pytest.raises(CheckpointError, match=words):
        Saved.load(tmp_path)
