"""Full disks, folders that go away, clocks that go back, and scores that misbehave."""

import errno
import os
import resource
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from drbo import DrBO, Result, Settings
from drbo.data.files import files
from drbo.deadline import Deadline
from drbo.errors import CheckpointError, DrboError, ResultError, ScoreError
from drbo.search.checkpoint import saver as saving
from drbo.search.stopping import Recorder

NUMBERS = np.random.default_rng(0).normal(size=(60, 4))
NUMBERS[:, 1] += 2 * NUMBERS[:, 0]


#: Without the forests that propose whole parent sets, which would take most of the time of a small fit.
PLAIN = Settings().with_(parent_sets=False)


def _fit(folder=None, **options):
    watched = {"callbacks": options.pop("callbacks", ())}
    usual = {"score": "bge", "max_evals": 14, "random_state": 1, "settings": PLAIN}
    return DrBO(**usual | options).fit(NUMBERS, checkpoint=folder, **watched)


@pytest.fixture(scope="module")
def alone():
    """The model of an undisturbed fit."""
    return _fit()


@pytest.fixture
def _always(monkeypatch):
    """Save after every iteration."""
    monkeypatch.setitem(saving.Saver.__init__.__kwdefaults__, "every", 0.0)
    monkeypatch.setattr(saving, "LARGEST_SHARE", 1e9)


def _failing(monkeypatch, function, number, after):
    """Let a function of the operating system fail from some call on."""
    real, calls = getattr(files.os, function), [0]

    def fail(*arguments, **options):
        calls[0] += 1
        if calls[0] > after:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **options)

    monkeypatch.setattr(files.os, function, fail)
    return lambda: monkeypatch.setattr(files.os, function, real)


@pytest.mark.usefixtures("_always")
@pytest.mark.parametrize(
    ("function", "number"),
    [("fsync", errno.ENOSPC), ("fsync", errno.EIO), ("replace", errno.EROFS), ("replace", errno.EACCES),
     ("replace", errno.ENOENT)],
)  # fmt: skip
def test_a_disk_that_fails_in_mid_run_costs_neither_the_result_nor_the_last_save(
    function, number, tmp_path, monkeypatch, alone
):
    repair = _failing(monkeypatch, function, number, after=7)  # the table and three saves of two files
    with pytest.warns(UserWarning, match="cannot be saved.*the search continues"):
        model = _fit(tmp_path / "run")
    assert model.score_ == alone.score_
    repair()
    assert not list((tmp_path / "run").glob(".*.tmp"))
    assert DrBO.resume(tmp_path / "run").score_ == alone.score_


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_fails_from_the_start_is_told_before_any_work(number, tmp_path, monkeypatch):
    _failing(monkeypatch, "fsync", number, after=0)
    with pytest.raises(CheckpointError, match="cannot be saved"):
        _fit(tmp_path / "run")


def test_a_limit_on_the_size_of_files_is_an_error_in_words(tmp_path):
    """The kernel's own refusal, in place of one that is made up."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(CheckpointError, match="cannot be saved"):
            _fit(tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path for path in (tmp_path / "run").iterdir() if path.suffix == ".tmp"] == []


def test_a_result_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    result = _fit().result_
    result.save(tmp_path)
    _failing(monkeypatch, "fsync", errno.ENOSPC, after=0)
    with pytest.raises(ResultError, match="No space left"):
        result.save(tmp_path)
    assert Result.load(tmp_path).score == result.score


@pytest.mark.usefixtures("_always")
def test_a_folder_that_is_removed_in_mid_run_is_made_again(tmp_path):
    removed = []

    def remove(progress):
        if not removed:
            removed.append(os.rename(tmp_path / "run", tmp_path / "gone"))

    model = _fit(tmp_path / "run", callbacks=[remove])
    assert np.isfinite(model.score_)
    assert (tmp_path / "run" / "checkpoint.json").exists()


def test_a_clock_that_goes_backwards(monkeypatch):
    """Seconds never fall below 0, and a time limit still ends the search when its time has come."""
    times = iter([100.0, 90.0, 80.0, 200.0])
    recorder = Recorder(clock=lambda: next(times))
    assert [recorder.seconds for _ in range(3)] == [0.0, 0.0, 100.0]
    now = [100.0]
    monkeypatch.setattr("drbo.deadline.time", SimpleNamespace(monotonic=lambda: now[0]))
    deadline = Deadline(5.0)
    for moment, ended in ((50.0, False), (104.0, False), (105.0, True)):
        now[0] = moment
        assert deadline.over() is ended


class Odd:
    """A user's score; what is odd about it is told when it is made."""

    def __init__(self, table):
        self.calls = 0

    def local_one(self, node, parents):
        self.calls += 1
        return -float(len(parents)) - node


class Raising(Odd):
    def local_one(self, node, parents):
        if len(parents) == 2:
            raise RuntimeError("the simulator is down")
        return super().local_one(node, parents)


class Nan(Odd):
    def local_one(self, node, parents):
        return float("nan") if len(parents) == 2 else super().local_one(node, parents)


class Text(Odd):
    def local_one(self, node, parents):
        return "high"


class Hanging(Odd):
    def local_one(self, node, parents):
        time.sleep(0.02 if len(parents) < 2 else 1.5)
        return super().local_one(node, parents)


class Fickle(Odd):
    def local_one(self, node, parents):
        return super().local_one(node, parents) + 0.01 * self.calls


def test_a_score_that_changes_its_mind_is_told():
    with pytest.warns(UserWarning, match="'Fickle' is not deterministic: node 'x"):
        model = _fit(score=Fickle)
    assert any("is not deterministic" in reason for reason in model.result_.reasons)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _fit(score=Odd)


@pytest.mark.parametrize(
    ("score", "words"),
    [(Raising, "the simulator is down"), (Nan, "is nan for node"), (Text, "failed for node .*could not convert")],
)
def test_a_score_that_misbehaves_is_named(score, words):
    with pytest.raises(ScoreError, match=words):
        _fit(score=score)


def test_a_score_that_hangs_is_cut_off():
    settings = PLAIN.with_(max_evals=24, score_timeout=0.2)
    with ThreadPoolExecutor(3) as pool, pytest.raises(ScoreError, match=r"did not return within 0\.2 s"):
        _fit(score=Hanging, settings=settings, max_evals=None, executor=pool)


@pytest.mark.usefixtures("_always")
def test_an_error_in_mid_run_leaves_a_search_that_goes_on(tmp_path):
    """An exception of a callback stands for anything that ends the process: the last save is whole."""
    alone = _fit()

    def fail(progress):
        if progress.iteration == 2:
            raise MemoryError

    with pytest.raises(MemoryError):
        _fit(tmp_path / "run", callbacks=[fail])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert DrBO.resume(tmp_path / "run").score_ == alone.score_


def test_other_data_is_refused(tmp_path):
    _fit(tmp_path / "run")
    assert DrBO.resume(tmp_path / "run", NUMBERS[::-1]).score_ == _fit().score_  # rows in another order are the same
    with pytest.raises(CheckpointError, match="not the one"):
        DrBO.resume(tmp_path / "run", NUMBERS + 1.5 * np.arange(4) ** NUMBERS.shape[1] * NUMBERS)


def test_a_score_object_cannot_be_saved(tmp_path):
    with pytest.raises(DrboError, match="checkpoint requires a score given by name"):
        _fit(tmp_path / "run", score=Odd(None))
