"""Ends a command with the best graph so far: at its time limit, on Ctrl-C, or on SIGTERM."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from drbo.cli.messages import say, say_error
from drbo.deadline import Deadline, current
from drbo.progress import STOPPING

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
INTERRUPTED = 130  # exit code: 128 + SIGINT
NO_RESULT = "interrupted before there was a result"
#: Seconds that the main thread has to hear a signal while there is no graph yet; it may be inside a compiled function.
HEARING_SECONDS = 1.0


class Interrupted(KeyboardInterrupt):
    """What a signal raises.

    Python ends a program by SIGINT, whatever its exit code, once a KeyboardInterrupt itself has passed through
    ``exec``, as it does while modules are imported; a subclass is free of that.
    """


class CommandRun:
    """A command that runs: when it has to end, and who says so after a signal."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.announce: Callable[[], None] = lambda: say(STOPPING)


@contextmanager
def limited_run(seconds: float | None) -> Iterator[CommandRun]:
    """Hold all that is done inside to a time limit, counted from the start of the program, and to signals.

    The first Ctrl-C or SIGTERM ends a search with the best graph so far; where none has begun, it ends the program. The
    second one ends the program at once. Handlers are set in the main thread alone: no other gets signals.
    """
    with Deadline(seconds, start=start_of_program()) as deadline:
        run = CommandRun(deadline)
        if threading.current_thread() is not threading.main_thread():
            yield run
            return
        with _signals(run):
            yield run


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
        if not run.deadline.has_answer:
            raise Interrupted
        run.announce()

    ear, mouth = os.pipe()
    os.set_blocking(mouth, False)
    before = {number: signal.signal(number, first) for number in STOP_SIGNALS}
    other_mouth = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(ear, run.deadline, heard), name="drbo-signals", daemon=True)
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


def _listen(ear: int, deadline: Deadline, heard: threading.Event) -> None:
    """Stop the run at the first signal; end the program where the main thread does not hear it, or at the second."""
    count = 0
    while number := os.read(ear, 1):
        if number[0] not in STOP_SIGNALS:
            continue
        count += 1
        if count > 1:
            os._exit(INTERRUPTED)
        if deadline.has_answer:
            deadline.stop()
        elif not heard.wait(HEARING_SECONDS) and not deadline.has_answer:
            say_error(NO_RESULT)
            os._exit(INTERRUPTED)
