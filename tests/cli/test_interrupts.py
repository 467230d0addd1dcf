"""Time limits and signals of commands."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from drbo.cli.interrupts import INTERRUPTED, STOP_SIGNALS, CommandRun, limited_run, timed, waited
from drbo.deadline import current

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def _handlers() -> list[object]:
    return [signal.getsignal(one) for one in STOP_SIGNALS]


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_the_first_signal_ends_a_search_with_what_it_has(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = _handlers()
    with limited_run(None) as run:
        assert current() is run.deadline
        run.deadline.promise()
        signal.raise_signal(number)
        assert run.deadline.interrupted
        assert _handlers() == [signal.SIG_DFL] * 2
    assert "finishing with the best graph so far" in capsys.readouterr().err
    assert _handlers() == before


def test_who_shows_the_progress_answers_a_signal() -> None:
    told = []
    with limited_run(None) as run:
        run.deadline.promise()
        run.announce = lambda: told.append("stopping")
        signal.raise_signal(signal.SIGINT)
    assert told == ["stopping"]


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_without_a_search_a_signal_ends_the_command(number: int) -> None:
    with limited_run(None) as run:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert run.deadline.over()  # where the exception was swallowed, the search ends at once


def test_a_signal_during_an_import_leaves_the_exit_code_alone() -> None:
    code = """
import signal, sys
from drbo.cli.interrupts import limited_run
try:
    with limited_run(None):
        exec("signal.raise_signal(signal.SIGTERM)")  # as in the import of a module with dataclasses
except KeyboardInterrupt:
    sys.exit(77)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 77


def test_another_thread_sets_no_handlers() -> None:
    before, found = _handlers(), list[object]()

    def enter() -> None:
        with limited_run(30.0) as run:
            found.extend([_handlers(), run.deadline.left() > 29])

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [before, True]


def test_nothing_is_left_behind() -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    before, threads = (open_files(), signal.set_wakeup_fd(-1)), threading.active_count()
    for _ in range(3):
        with limited_run(None) as run:
            assert isinstance(run, CommandRun)
    assert (open_files(), signal.set_wakeup_fd(-1)) == before
    assert threading.active_count() <= threads  # one of an earlier test may have ended meanwhile


PROGRAM = """if True:
    import hashlib, sys
    from drbo.cli import interrupts
    interrupts.HEARING_SECONDS = 0.2
    with interrupts.limited_run(None) as run:
        if {answer}:
            run.deadline.promise()
        print("ready", flush=True)
        {work}
        print("over" if run.deadline.over() else "not over", flush=True)
"""
#: One call of a compiled function, which hears no signal: half a minute, or a second.
LONG, SHORT = (f"hashlib.pbkdf2_hmac('sha256', b'', b'', {count})" for count in (60_000_000, 2_000_000))


def _started(answer: bool, work: str) -> "subprocess.Popen[str]":
    code = PROGRAM.format(answer=answer, work=work)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    return process


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_is_heard_inside_a_compiled_function(number: int) -> None:
    with _started(answer=False, work=LONG) as process:
        start = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (INTERRUPTED, "")
    assert "interrupted before there was a result" in err
    assert time.monotonic() - start < 10  # of half a minute


def test_an_answer_is_waited_for() -> None:
    with _started(answer=True, work=SHORT) as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert (process.returncode, out) == (0, "over\n")
    assert "finishing with the best graph so far" in err


@pytest.mark.parametrize("answer", [True, False])
def test_the_second_signal_ends_the_program_inside_a_compiled_function(answer: bool) -> None:
    with _started(answer=answer, work=LONG) as process:
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == INTERRUPTED
    assert time.monotonic() - start < 10


def test_the_second_signal_ends_the_program_at_once() -> None:
    work = "import signal; [signal.raise_signal(signal.SIGINT) for _ in range(2)]"
    with _started(answer=True, work=work) as process:
        out, _ = process.communicate()
    assert (process.returncode, out) == (-2, "")


HANGING = """if True:
    import sys, time
    from drbo import deadline
    from drbo.cli import interrupts
    deadline.HEARING_SECONDS = deadline.GRACE_SECONDS = 0.2
    with interrupts.limited_run({limit}, answers={answers}) as run:
        run.finish = lambda found: print("saved", found, flush=True)
        run.deadline.promise()
        run.deadline.answer_with({so_far}, {patience})
        print("ready", flush=True)
        while True:
            try:
                {work}
            except BaseException:
                pass
"""
#: What hangs: Python code that is asleep or busy, and a compiled function that has let go of the interpreter.
SLEEPING, BUSY = "time.sleep(60)", "sum(range(1000))"


@pytest.mark.parametrize("work", [SLEEPING, BUSY, LONG.replace("hashlib", "__import__('hashlib')")])
@pytest.mark.parametrize("number", [None, *STOP_SIGNALS])
def test_a_run_that_hangs_ends_with_what_it_has(work: str, number: int | None) -> None:
    limit = 0.2 if number is None else None
    done = _ended(number, limit=limit, answers=True, so_far="lambda: 'the best graph'", patience=0.2, work=work)
    assert (done.returncode, done.stdout) == (0 if number is None else INTERRUPTED, "saved the best graph\n")
    assert "did not return in time" in done.stderr


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(None, 2, "before there was a result"), (signal.SIGINT, INTERRUPTED, "interrupted before")],
)
@pytest.mark.parametrize("answers", [True, False])
def test_without_an_answer_it_says_so(number: int | None, code: int, words: str, answers: bool) -> None:
    so_far = "lambda: None" if answers else "lambda: 'of a part of the work'"
    limit = 0.2 if number is None else None
    done = _ended(number, limit=limit, answers=answers, so_far=so_far, patience=0.2, work=SLEEPING)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_an_answer_that_fails_ends_the_program_too() -> None:
    done = _ended(None, limit=0.2, answers=True, so_far="lambda: 1 / 0", patience=0.2, work=SLEEPING)
    assert done.returncode == 1
    assert "could not be saved: ZeroDivisionError" in done.stderr


def test_what_is_being_saved_is_waited_for() -> None:
    work = "time.sleep(1); print('written', flush=True); sys.stdout.flush(); __import__('posix')._exit(0)"
    done = _ended(None, limit=0.1, answers=True, so_far="None", patience="float('inf')", work=work)
    assert (done.returncode, done.stdout) == (0, "written\n")


def _ended(number: int | None, **parts: object) -> "subprocess.CompletedProcess[str]":
    """Run a program that hangs, send it a signal, and return how it ended."""
    start = time.monotonic()
    words = [sys.executable, "-c", HANGING.format(**parts)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    if number is not None:
        time.sleep(0.1)
        process.send_signal(number)
    out, err = process.communicate()
    assert time.monotonic() - start < 30  # of a minute, or for ever
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def test_a_command_without_the_option_gets_it() -> None:
    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def work(as_json: bool) -> None:
        click.echo(f"{as_json} {current().left() < 60}")

    done = CliRunner().invoke(timed(work), ["--time-limit", "1m", "--json"])
    assert done.output == "True True\n"
    assert [one.name for one in work.params] == ["time_limit", "as_json"]
    assert timed(work) is work


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="needs the statistics of the scheduler")
def test_the_time_without_a_processor_is_known() -> None:
    before, start = waited(), time.monotonic()
    time.sleep(0.2)
    assert 0 <= waited() - before <= time.monotonic() - start


def test_code_that_ends_the_process_is_an_error_in_the_main_thread_alone() -> None:
    end = os._exit
    with limited_run(None):
        with pytest.raises(RuntimeError, match=r"os\._exit\(0\) was called"):
            os._exit(0)
        child = os.fork()
        if child == 0:
            os._exit(7)  # of a process that a user's code forked
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert os._exit is end


def test_a_score_that_ends_the_process_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "ending.py").write_text("import os\n\n\ndef score(node, parents):\n    os._exit(0)\n")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n2,5\n3,7\n4,7\n5,6\n6,1\n7,2\n8,8\n9,3\n10,2\n")
    words = [sys.executable, "-m", "drbo", "fit", "table.csv", "--score", "ending:score"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert "os._exit(0) was called" in done.stderr
