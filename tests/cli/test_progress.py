"""What is shown while a search runs."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drbo.cli.progress import BarWatch, LineWatch, Watch, clock_time, counting, watch_for
from drbo.search.outcome import Progress
from drbo.settings import Settings

Fast = tuple[str, ...]
DAG = np.zeros((2, 2), dtype=bool)


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _progress(iteration: int, n_evals: int, best: float = -1.0, limit: int | None = 400) -> Progress:
    return Progress(iteration, n_evals, 2 * n_evals, best, DAG, limit)


def test_the_time_left_follows_the_speed_so_far() -> None:
    clock = Clock()
    watch = Watch(Settings(max_evals=400), clock)
    watch(_progress(1, 64))
    clock.now += 10
    assert watch.state(_progress(2, 100)) == (0.25, 30)
    assert watch.state(_progress(9, 400)) == (1, 0)


def test_the_time_left_ends_with_the_time_limit() -> None:
    clock = Clock()
    watch = Watch(Settings(max_evals=400, time_limit=20), clock)
    watch(_progress(1, 64))
    clock.now += 10
    assert watch.state(_progress(2, 100)) == (0.5, 10)
    clock.now += 20
    assert watch.state(_progress(3, 100)) == (1, 0)


@pytest.mark.parametrize("n_evals", [65, 2_001])
def test_a_search_over_orders_ends_when_its_patience_does(n_evals: int) -> None:
    clock = Clock()
    watch = Watch(Settings(max_evals=2_000, order_patience=40), clock)
    if n_evals > 2_000:
        watch(_progress(1, 64, best=-9.0, limit=None))
    for iteration in range(2, 12):  # nothing better after the second
        watch(_progress(iteration, n_evals + iteration, best=-2.0, limit=None))
    clock.now += 22
    assert watch.state(_progress(11, 5_000)) == (pytest.approx(9 / 40), pytest.approx(2 * 31))
    assert (
        watch.words(_progress(11, 5_000))
        == "5,000 evaluations, best score -1.00, 1 min 02 s left unless the score improves"
    )


def test_a_line_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = LineWatch(Settings(max_evals=1_000), clock)
    for second in range(1, 11):
        clock.now += 1
        watch(Progress(second, 50 * second, 90 * second, -7.125 / second, DAG, 1_000))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "search: 150 of 1,000 evaluations, best score -2.38, at most 17 s left",
        "search: 300 of 1,000 evaluations, best score -1.19, at most 14 s left",
        "search: 450 of 1,000 evaluations, best score -0.79, at most 11 s left",
    ]


def test_no_time_left_is_claimed_when_nothing_new_is_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = LineWatch(Settings(max_evals=1_000), clock)
    for iteration in range(1, 6):
        watch(Progress(iteration, 9, 12, -1.0, DAG, 1_000))
    clock.now += 60
    watch(Progress(6, 9, 12, -1.0, DAG, 1_000))
    assert capsys.readouterr().err == "search: 9 of 1,000 evaluations, best score -1.00, nothing new in 5 rounds\n"


def test_a_proof_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    watch = LineWatch(Settings(), clock)
    watch(Progress(1, 9, 12, -1.0, DAG))
    clock.now += 65
    watch(Progress(1, 9, 12, -1.0, DAG, proving=True))
    assert watch.state(Progress(1, 9, 12, -1.0, DAG, proving=True)) == (1.0, 0.0)
    told = "search: best score -1.00, trying to prove that it is the highest, 1 min 05 s in total\n"
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


def _read_all(terminal: int) -> str:
    """Return all that is written to a pseudo terminal until the other side is closed."""
    parts = []
    try:
        while part := os.read(terminal, 10_000):
            parts.append(part)
    except OSError:  # how Linux says that it is closed
        pass
    os.close(terminal)
    return b"".join(parts).decode()


WARNING_SCORE = """
import warnings
class Score:
    def __init__(self, table):
        warnings.warn("take care")
    def local_one(self, node, parents):
        return -float(len(parents))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_the_bar_is_drawn_on_stderr_and_leaves_warnings_and_result_alone(chain: Path, fast: Fast) -> None:
    import pty

    Path("careful.py").write_text(WARNING_SCORE)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "drbo", "fit", str(chain), "--score", "careful:Score", *fast]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave, env=environment, text=True) as process:
        os.close(slave)
        seen = _read_all(master)
        out, _ = process.communicate()
    assert process.returncode == 0
    assert out.startswith("4 variables, 200 rows")
    assert "\x1b" not in out
    assert "━━━" in seen
    assert "of 30 evaluations, best score" in seen
    assert "\x1b[2Kwarning: take care\r\n" in seen  # on a line from which the bar was removed
    assert seen.endswith("\x1b[2K")  # and removed at the end
    assert "\x1b[3" not in seen  # no colour was wanted


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"), (7260, "2 h 01 min")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert clock_time(seconds) == words


def test_counting_says_how_far_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 4.0, 5.0, 20.0])
    with counting("resamples", quiet=False, clock=times.__next__) as tell:
        assert tell is not None
        for done in (1, 2, 3, 4):
            tell(done, 4)
    assert capsys.readouterr().err == "resamples: 2 of 4, 4 s left\n"
    with counting("resamples", quiet=True) as silent:
        assert silent is None
