import numpy as np

from drbo.deadline import Stop
from drbo.search.outcome import Progress
from drbo.search.stopping import Asked, Limits, Recorder
from drbo.settings import Settings


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def _progress(iteration, best, n_evals=0, n_local=0):
    return Progress(iteration, n_evals, n_local, best, np.zeros((2, 2), dtype=bool))


def test_the_record_has_a_row_per_iteration():
    clock = Clock()
    recorder = Recorder(clock)
    for iteration, (seconds, best) in enumerate([(0.5, -9.0), (2.0, -4.0), (2.25, -4.0)], 1):
        clock.now = 100 + seconds
        assert recorder(_progress(iteration, best, n_evals=64 * iteration, n_local=100 * iteration)) is None
    columns = recorder.columns()
    assert columns["n_evals"].tolist() == [64, 128, 192]
    assert columns["n_local"].tolist() == [100, 200, 300]
    assert columns["seconds"].tolist() == [0.5, 2.0, 2.25]
    assert columns["best"].tolist() == [-9.0, -4.0, -4.0]
    assert recorder.seconds == 2.25


def test_an_empty_record_keeps_its_types():
    columns = Recorder().columns()
    assert {name: (len(column), column.dtype.kind) for name, column in columns.items()} == {
        "n_evals": (0, "i"),
        "n_local": (0, "i"),
        "seconds": (0, "f"),
        "best": (0, "f"),
    }


def test_seconds_are_never_negative():
    clock = Clock()
    recorder = Recorder(clock)
    clock.now = 99.0
    assert recorder.seconds == 0.0


def test_nothing_is_limited_by_default():
    limits = Limits(Settings())
    assert all(limits(_progress(iteration, 0.0)) is None for iteration in range(1, 500))


def test_the_target_score():
    limits = Limits(Settings(target_score=-6.5))
    assert limits(_progress(1, -6.6)) is None
    assert limits(_progress(2, -6.5)) == (Stop.TARGET, "target score -6.5 reached")


def test_patience_counts_iterations_without_a_better_score():
    limits = Limits(Settings(patience=2))
    answers = [limits(_progress(k, best)) for k, best in enumerate([-9.0, -9.0, -8.0, -8.0, -8.0], 1)]
    assert answers == [None, None, None, None, (Stop.PATIENCE, "no better score in 2 iterations")]
    limits = Limits(Settings(patience=1))
    assert limits(_progress(1, -9.0)) is None  # the first score is better than none
    assert limits(_progress(2, -9.0)) == (Stop.PATIENCE, "no better score in 1 iterations")


def test_callbacks_are_asked_every_second_until_one_answers():
    clock, calls, answers = Clock(), [], iter([None, None, "enough"])
    asked = Asked([lambda progress: next(answers), calls.append], _progress(3, 1.0), clock)
    found = []
    for seconds in (0.0, 0.5, 1.0, 1.9, 2.0, 3.0, 4.0):
        clock.now = 100.0 + seconds
        found.append(asked())
    assert found == [False, False, False, False, True, True, True]
    assert len(calls) == 3
