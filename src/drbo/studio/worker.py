"""The process that computes for a studio: what it reads or searches cannot stop the server, and can be ended."""

import multiprocessing
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DrboError

#: Seconds that a task may take; a fit is no task.
TASK_SECONDS = 60.0
#: What is waited beyond that for a task that does not look at the time.
PATIENCE_SECONDS = 30.0


class TaskError(DrboError):
    """A task of the worker, or a fit, was refused; the words come from there."""

    def __init__(self, message: str, hint: str | None = None, column: str | None = None) -> None:
        super().__init__(message, hint)
        self.column = column


class Worker:
    """A process with a :class:`drbo.studio.tasks.Desk`, started when it is first asked."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._lock = threading.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None

    def ask(self, task: str, *arguments: Any) -> Any:
        """Return the answer of a task; raises a TaskError with the words of the error. One task runs at a time."""
        with self._lock:
            try:
                pipe = self._started()
                pipe.send((task, arguments))
                if not pipe.poll(TASK_SECONDS + PATIENCE_SECONDS):
                    self._end()
                    raise TaskError("this took too long and was ended", hint="try it on fewer columns or rows")
                answer, message, hint, column = pipe.recv()
            except (EOFError, OSError) as error:
                self._end()
                raise TaskError("the process that computes has ended", hint="try again") from error
        if message is not None:
            raise TaskError(message, hint, column)
        return answer

    def close(self) -> None:
        """End the process."""
        self._end()

    def _started(self) -> Connection:
        if self._pipe is None or not self._process.is_alive():
            self._pipe, other = self._context.Pipe()
            self._process = self._context.Process(target=serve, args=(other,), daemon=True)
            self._process.start()
            other.close()
        return self._pipe

    def _end(self) -> None:
        pipe, process, self._pipe, self._process = self._pipe, self._process, None, None
        if process is not None:
            with suppress(OSError):
                process.kill()
                process.join(5)
        if pipe is not None:
            pipe.close()


def serve(pipe: Connection) -> None:
    """Answer tasks until the other end is closed."""
    import signal

    from drbo.studio.tasks import Desk

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this process
    desk = Desk()
    while True:
        try:
            task, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(answered(desk, task, arguments))


def answered(desk: Any, task: str, arguments: tuple[Any, ...]) -> tuple[Any, str | None, str | None, str | None]:
    """Return the answer of a task, or the message, the hint and the column of an error."""
    try:
        with Deadline(TASK_SECONDS):
            return getattr(desk, task)(*arguments), None, None, None
    except DrboError as error:
        return None, error.message, error.hint, error.column
    except (OutOfTimeError, MemoryError) as error:
        return None, f"this takes too long or too much memory here: {error}", None, None
    except Exception as error:
        return None, f"internal error: {type(error).__name__}: {error}"[:500], "this is a bug: please report it", None
