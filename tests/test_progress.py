"""What is shown while a search runs."""

import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from drbo import DrBO
from drbo.progress import BarWatch, LineWatch, Watch, clock_time, counting, under_way, watch_for
from drbo.search.outcome import Progress
from drbo.settings import Settings

DAG = np.zeros((2, 2), dtype=bool)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _progress(iteration: int, n_evals: int, best: float = -1.0, limit: int | None = 400) -> Progress:
    return Progress(iteration, n_evals, 2 * n_evals, best, DAG, limit)


def test_the_bar_shows_what_is_spent() -> None:
    clock = Clock()
    watch = Watch(Settings(max_evals=400), clock)
    assert watch.done(_progress(2, 100)) == 0.25
    assert watch.done(_progress(9, 500)) == 1
    assert watch.done(_progress(2, 100, limit=None)) is None
    limited = Watch(Settings(max_evals=400, time_limit=20), clock)
    clock.now += 10
    assert limited.done(_progress(2, 100)) == 0.5
    assert limited.words(_progress(2, 100)).endswith(", 10 s so far, ends within 10 s")
    clock.now += 30
    assert limited.done(_progress(2, 100, limit=None)) == 1


def test_no_time_is_guessed_for_a_search_over_orders() -> None:
    clock = Clock()
    watch = Watch(Settings(order_patience=40), clock)
    watch(_progress(1, 64, best=-2.0, limit=None))
    assert (
        watch.words(_progress(1, 64, -2.0, limit=None)) == "64 evaluations, best score -2.00, just improved, 0 s so far"
    )
    clock.now += 22
    watch(_progress(11, 5_000, best=-2.0, limit=None))
    told = watch.words(_progress(11, 5_000, -2.0, limit=None))
    assert told == "5,000 evaluations, best score -2.00, no better one for 22 s, 22 s so far"


def test_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = LineWatch(Settings(max_evals=1_000), clock)
    for second in range(1, 11):
        clock.now += 1
        watch(Progress(second, 50 * second, 90 * second, -7.125 / second, DAG, 1_000))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "search: 100 of 1,000 evaluations, best score -3.56, 2 s so far",
        "search: 250 of 1,000 evaluations, best score -1.43, 5 s so far",
        "search: 400 of 1,000 evaluations, best score -0.89, 8 s so far",
    ]


def test_a_long_iteration_shows_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SILENCE", "LINE_SECONDS", "LOOKS"):
        monkeypatch.setattr(f"drbo.progress.{name}", 0.01)
    told: list[str] = []
    with LineWatch(Settings(max_evals=1_000), tell=told.append) as watch:
        _wait_for(lambda: told)
        assert told[0] == "search: evaluating the first graphs, 0 s so far"
        watch(_progress(1, 64))
        _wait_for(lambda: len([line for line in told if "64 of" in line]) > 2)
    count = len(told)
    time.sleep(0.05)
    assert len(told) == count


def test_work_that_takes_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    with under_way("reading table.csv", tell=told.append):
        pass
    assert told == []
    monkeypatch.setattr("drbo.progress.SILENCE", 0.01)
    monkeypatch.setattr("drbo.progress.AGAIN_SECONDS", 0.01)
    with under_way("reading table.csv", tell=told.append):
        _wait_for(lambda: len(told) > 1)
    assert set(told) == {"reading table.csv: 0 s so far"}
    told.clear()
    with under_way("reading table.csv", quiet=True, tell=told.append):
        time.sleep(0.05)
    assert told == []


def _wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_proof_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = LineWatch(Settings(), clock)
    watch(Progress(1, 9, 12, -1.0, DAG))
    clock.now += 65
    watch(Progress(1, 9, 12, -1.0, DAG, proving=True))
    assert watch.done(Progress(1, 9, 12, -1.0, DAG, 400, proving=True)) is None
    told = "search: best score -1.00, trying to prove that it is the highest, 1 min 05 s so far\n"
    assert capsys.readouterr().err == told


def test_quiet_or_not_an_interrupt_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    Watch(Settings()).interrupted()
    assert "finishing with the best graph so far" in capsys.readouterr().err


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with watch_for(Settings(), quiet=True) as watch:
        watch(Progress(1, 64, 100, -1.0, DAG))
    assert type(watch) is Watch
    assert capsys.readouterr() == ("", "")


def test_lines_where_there_is_no_terminal() -> None:
    assert type(watch_for(Settings(), quiet=False)) is LineWatch


@pytest.mark.parametrize(("term", "kind"), [("xterm", BarWatch), ("dumb", LineWatch)])
def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, term: str, kind: type) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", term)
    assert type(watch_for(Settings(), quiet=False)) is kind


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"), (7260, "2 h 01 min")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert clock_time(seconds) == words


def test_counting_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 4.0, 5.0, 20.0, 30.0])
    with counting("resamples", quiet=False, clock=times.__next__) as tell:
        assert tell is not None
        for done in (1, 2, 3, 10, 20):
            tell(done, 20)
    assert capsys.readouterr().err == "resamples: 2 of 20, 4 s so far\nresamples: 10 of 20, 20 s so far\n"
    with counting("resamples", quiet=True) as silent:
        assert silent is None


def test_an_estimator_is_silent_or_verbose(
    rng: np.random.Generator, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drbo.progress.LINE_SECONDS", 0.0)
    table = rng.normal(size=(40, 3))
    DrBO(score="bge", random_state=0).fit(table)
    assert capsys.readouterr() == ("", "")
    DrBO(score="bge", random_state=0, verbose=True).fit(table)
    out, err = capsys.readouterr()
    assert out == ""
    assert "best score" in err


def test_a_notebook_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert type(watch_for(Settings(), quiet=False)) is BarWatch


def test_each_part_of_a_run_has_a_best_score_of_its_own() -> None:
    clock = Clock()
    watch = Watch(Settings(), clock)
    watch(_progress(1, 10, best=-1.0))
    clock.now += 5
    second = replace(_progress(1, 10, best=-3.0), part="imputed table 2 of 10")
    watch(second)
    assert watch.words(second).startswith("imputed table 2 of 10, ")
    clock.now += 5
    watch(replace(second, best=-2.0))
    assert "just improved" in watch.words(replace(second, limit=None))
