"""Ends a command with the best graph so far: at its time limit, on Ctrl-C, or on SIGTERM.

Work that looks at the deadline ends by itself. What does not, such as a user's score that hangs, is ended by a thread:
it saves and prints what the run has so far, and ends the process.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

import click

from drbo.cli.messages import say, say_error, say_warning
from drbo.cli.options import duration
from drbo.deadline import LOOK_SECONDS, Deadline, current
from drbo.errors import DrboError
from drbo.progress import STOPPING

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130  # exit code: 128 + SIGINT
NO_RESULT = "interrupted before there was a result"
SUCCESS, FAILURE, MISUSE = 0, 1, 2  # other exit codes
#: Seconds that the main thread has to hear a signal while there is no graph yet; it may be inside a compiled function.
HEARING_SECONDS = 1.0
#: Seconds without a processor that are not counted against a run, on a machine that does much else.
MOST_EXCUSED = 20.0
#: Seconds that the answer of a run that hangs may take to be put together and saved.
SAVING_SECONDS = 10.0
#: The signal that lets a busy main thread wait, so that the thread that ends the process has the processor.
PARKING = getattr(signal, "SIGUSR2", signal.SIGTERM)
#: What is said where a thread ends the process in place of a run that hangs.
HUNG = "something did not return in time (a score, a reader or a callback), so the process ends here"
MORE_TIME = "raise the time limit; of a score of your own, --workers 2 --set score_timeout=60 ends calls that hang"


class Interrupted(KeyboardInterrupt):
    """What a signal raises.

    Python ends a program by SIGINT, whatever its exit code, once a KeyboardInterrupt itself has passed through
    ``exec``, as it does while modules are imported; a subclass is free of that.
    """


class CommandRun:
    """A command that runs: when it has to end, and who says so after a signal."""

    def __init__(self, deadline: Deadline, *, answers: bool = True) -> None:
        self.deadline, self._answers = deadline, answers
        self.announce: Callable[[], None] = lambda: say(STOPPING)
        #: Saves and prints what a run has so far.
        self.finish: Callable[[Any], None] = lambda _answer: None

    @property
    def has_answer(self) -> bool:
        """Whether a signal ends the run with what it has; else it ends the program."""
        return self._answers and self.deadline.has_answer


@contextmanager
def limited_run(seconds: float | None, *, answers: bool = True) -> Iterator[CommandRun]:
    """Hold all that is done inside to a time limit, counted from the start of the program, and to signals.

    The first Ctrl-C or SIGTERM ends a search with the best graph so far; where none has begun, it ends the program. The
    second one ends the program at once. Handlers are set in the main thread alone: no other gets signals. A run that
    hangs is ended by a thread: at the time limit, or after a signal. Not ``answers``: a signal always ends the program.
    """
    with Deadline(seconds, start=start_of_program()) as deadline:
        run = CommandRun(deadline, answers=answers)
        if threading.current_thread() is not threading.main_thread():
            yield run
            return
        with _signals(run), _watched(run), _kept_alive():
            yield run


@contextmanager
def _kept_alive() -> Iterator[None]:
    """Let ``os._exit`` in a user's code be an error: it would end the program as if it had done its work.

    Other threads, and processes that the code forks, end as they do.
    """
    end, process, thread = os._exit, os.getpid(), threading.get_ident()

    def refuse(status: int) -> NoReturn:
        if (os.getpid(), threading.get_ident()) == (process, thread):
            raise RuntimeError(f"os._exit({status}) was called")
        end(status)

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = end


@contextmanager
def _watched(run: CommandRun) -> Iterator[None]:
    """Let a thread end the process where the run hangs."""
    ended = threading.Event()

    def look() -> None:
        before: float | None = None  # that the main thread waited for a processor until the time was over
        while not ended.wait(LOOK_SECONDS):
            if not run.deadline.over():
                continue
            before = waited() if before is None else before
            if time.monotonic() >= run.deadline.late_at() + min(waited() - before, MOST_EXCUSED):
                end_in_its_place(run)
                return

    watch = threading.Thread(target=look, name="drbo-watch", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()


def waited() -> float:
    """Return for how many seconds the main thread could have run but for other programs; 0 where nobody says."""
    try:
        raw = Path(f"/proc/self/task/{threading.main_thread().native_id}/schedstat").read_text()
        return int(raw.split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def timed(command: click.Command) -> click.Command:
    """Hold a command to --time-limit and to signals, unless it has that option and answers with what it has by then."""
    if any(parameter.name == "time_limit" for parameter in command.params):
        return command
    work = command.callback
    assert work is not None

    @wraps(work)
    def limited(*given: Any, time_limit: float | None, **options: Any) -> Any:
        with limited_run(time_limit, answers=False):
            return work(*given, **options)

    command.callback = limited
    words = "End after this time, such as 60s, 5m or 1h, and say what was left out."
    option = click.Option(["--time-limit"], type=duration, metavar="TIME", help=words)
    names = [parameter.name for parameter in command.params]
    place = next((names.index(name) for name in ("as_json", "quiet") if name in names), len(names))
    command.params.insert(place, option)
    return command


def end_in_its_place(run: CommandRun) -> None:
    """Save and print what a run that hangs has so far, and end the process, whatever the main thread is doing."""
    codes = [FAILURE]
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, PARKING)

    def answer() -> None:
        so_far = run.deadline.so_far() if run.has_answer and run.deadline.so_far is not None else None
        say_warning(HUNG)
        if so_far is None and run.deadline.interrupted:
            say_error(NO_RESULT)
            codes.append(INTERRUPTED)
        elif so_far is None:
            why = run.deadline.reason
            say_error(f"{'the run hung' if why is None else why.words} before there was a result", hint=MORE_TIME)
            codes.append(MISUSE)
        else:
            run.finish(so_far)
            codes.append(INTERRUPTED if run.deadline.interrupted else SUCCESS)

    def told() -> None:
        try:
            answer()
        except DrboError as error:
            say_error(error.message, hint=error.hint)
        except Exception as error:
            say_error(f"the result so far could not be saved: {type(error).__name__}: {error}")

    thread = threading.Thread(target=told, name="drbo-answer", daemon=True)  # it may hang, too
    thread.start()
    thread.join(SAVING_SECONDS)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    end_process(codes[-1])


def end_process(code: int) -> None:
    """End the process at once; its other processes end when it has."""
    os._exit(code)


@contextmanager
def broken_off() -> Iterator[None]:
    """Let a signal break off what is done inside with an exception: the result is safe already."""

    def raising(_number: int, _frame: Any) -> None:
        current().stop()
        raise Interrupted

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, raising) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def start_of_program() -> float:
    """Return the moment at which the program began its command; now, where it is no command of the program."""
    context = click.get_current_context(silent=True)
    began = None if context is None else context.find_root().obj
    return began if isinstance(began, float) else time.monotonic()


@contextmanager
def _signals(run: CommandRun) -> Iterator[None]:
    """Let signals end a run, even while the main thread is inside a compiled function.

    Python calls handlers between two of its own instructions only. The number of a signal is also written to a pipe, at
    once, and a thread reads it there.
    """
    heard = threading.Event()

    def first(_number: int, _frame: Any) -> None:
        for other in STOP_SIGNALS:
            signal.signal(other, signal.SIG_DFL)  # works inside compiled code, too
        heard.set()
        run.deadline.stop()  # also where an exception is swallowed, as in a callback
        if not run.has_answer:
            raise Interrupted
        run.announce()

    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    before = {number: signal.signal(number, first) for number in STOP_SIGNALS}
    if PARKING not in STOP_SIGNALS:
        before[PARKING] = signal.signal(PARKING, lambda _number, _frame: time.sleep(2 * SAVING_SECONDS))
    other_mouth = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(ear, run, heard), name="drbo-signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(other_mouth)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(mouth)  # ends the thread
        listener.join()
        os.close(ear)


def _listen(ear: int, run: CommandRun, heard: threading.Event) -> None:
    """Stop the run at the first signal; end the program where the main thread does not hear it, or at the second."""
    count = 0
    while number := os.read(ear, 1):
        if number[0] not in STOP_SIGNALS:
            continue
        count += 1
        if count > 1:
            os._exit(INTERRUPTED)
        if run.has_answer:
            run.deadline.stop()
        elif not heard.wait(HEARING_SECONDS) and not run.has_answer:
            say_error(NO_RESULT)
            os._exit(INTERRUPTED)
