"""Work in a fork of this process: a process of its own, without the seconds in which a new one imports everything."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any, NamedTuple, NoReturn


class Ended(NamedTuple):
    """How a process ended, and what it said."""

    code: int  # negative: the signal that killed it
    out: str
    err: str


class Forked:
    """A function that runs in a fork, with streams of its own and with warnings as a program shows them."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._streams = [TemporaryFile("w+", buffering=1, errors="surrogateescape") for _ in range(2)]  # noqa: SIM115
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # there are other threads, which the fork does without
            self.pid = os.fork()
        if not self.pid:
            self._work(work)

    def _work(self, work: Callable[[], Any]) -> NoReturn:
        code = 1
        sys.settrace(None)  # lines of a fork do not count as covered, and a traced `text += more` takes quadratic time
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number, stream in enumerate(self._streams, start=1):
                os.dup2(stream.fileno(), number)
            sys.stdout, sys.stderr = self._streams
            warnings.resetwarnings()
            work()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            for stream in self._streams:
                stream.flush()
            os._exit(code)

    def said(self) -> tuple[str, str]:
        """Return what it has written to stdout and stderr."""
        found = []
        for stream in self._streams:
            size = os.fstat(stream.fileno()).st_size
            found.append(os.fsdecode(os.pread(stream.fileno(), size, 0)))  # the place is shared: nothing is moved
        return found[0], found[1]

    def end(self, number: int | None = None) -> Ended:
        """Wait for its end; with a signal, send that first."""
        if number is not None:
            os.kill(self.pid, number)
        _, status = os.waitpid(self.pid, 0)
        ended = Ended(os.waitstatus_to_exitcode(status), *self.said())
        for stream in self._streams:
            stream.close()
        return ended


def forked(work: Callable[[], Any]) -> Ended:
    """Run a function in a fork, and return how it ended."""
    return Forked(work).end()
