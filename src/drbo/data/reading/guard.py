"""Untrusted binary files are read in a process of their own, whose memory and time are limited.

A header check bounds what its author thought of; the limits of the system bound the rest. The child
(:mod:`drbo.data.reading.guard_child`) can write no file, and ends with this process, at the deadline of a run, or when
nobody reads its answer any more. What it answers is checked like a file: a crash, a limit or nonsense is an error in
words.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

import drbo
from drbo.data.files.files import refusing
from drbo.data.files.packed import InputLimit
from drbo.data.reading.binary import READERS, Columns, loaded
from drbo.data.reading.guard_child import OUT_OF_MEMORY, ChildLimits
from drbo.data.reading.raw_columns import Bytes, read_columns, read_header
from drbo.deadline import GRACE_SECONDS, LOOK_SECONDS, Deadline
from drbo.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

#: Memory of a reader: so much, and so many times what the file may unpack to; never more than the machine has.
BASE_MEMORY, COPIES = 2**28, 8
#: Processor time of a reader: so many seconds, and so many for each megabyte of the file, or each 100 MB unpacked.
BASE_SECONDS = SECONDS_PER_MB = 5
#: What the pieces of a table may unpack to, of which few are in memory at the same time.
STREAM = InputLimit(2**29)
#: The program of a child; -P: no module comes from the current folder.
COMMAND = ("-P", "-m", "drbo.data.reading.guard_child")
#: Variables of the environment that a child gets, and those that are set for it: few threads, whose stacks are memory.
KEPT = (
    *("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME", "TZ", "TZDIR", "LANG", "LC_ALL", "OMP_NUM_THREADS"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR"),
)
SET = {
    "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "ARROW_IO_THREADS": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1",
}  # fmt: skip
_PIPE_BYTES = 2**20
_PYTHON = os.path.abspath(sys.executable)  # a relative path would end with the current folder
_LAST_SECONDS = 1.0  # of a process that has closed its output
_KINDS = {kind.__name__: kind for kind in (DataError, SettingsError)}
_TRUST = "it may be damaged, or a decompression bomb; if you trust the file, "
_WHOLE, _PIECES = f"{_TRUST}raise the limit with max_input=..., or convert it to CSV", f"{_TRUST}convert it to CSV"


def limits_of(size: int, limit: InputLimit) -> ChildLimits:
    """Return what a reader of a file of so many bytes may take."""
    room = limit.room(size)
    memory = BASE_MEMORY + COPIES * room
    with suppress(AttributeError, ValueError, OSError):  # systems that do not say
        memory = min(memory, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return ChildLimits(memory, BASE_SECONDS + -(-SECONDS_PER_MB * max(size, room // 100) // 10**6))


def can_start() -> bool:
    """Tell whether this Python can start another one; where it cannot, only the checks of each format hold."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)


def read_guarded(reader: str, path: Path, limit: InputLimit, notes: list[str], **told: Any) -> "pd.DataFrame":
    """Return the whole table of a file; ``reader`` is one of :data:`drbo.data.reading.binary.READERS`."""
    import pandas as pd

    with closing(Guard() if can_start() else _Here()) as guard:
        found = list(guard.pieces(reader, path, limit, notes, **told))
    if len(found) != 1:
        raise DataError(f"file '{path}': {len(found)} tables were returned instead of one", hint=_WHOLE)
    return pd.DataFrame(found[0], copy=False)


def pieces_guarded(reader: str, path: Path, notes: list[str] | None = None, **told: Any) -> Generator[Columns]:
    """Yield the table of a file of any size, some thousand rows at a time; the next ones are read meanwhile.

    The process that has read a file to its end is kept for the next one, until :func:`release` ends it.
    """
    guard = _taken() or (Guard() if can_start() else _Here())
    try:
        yield from guard.pieces(reader, path, STREAM, [] if notes is None else notes, **told)
    except BaseException:
        guard.close()
        raise
    if isinstance(guard, Guard):
        _idle.append(guard)


def frames_guarded(reader: str, path: Path, **told: Any) -> Generator["pd.DataFrame"]:
    """Yield what :func:`pieces_guarded` does, as frames."""
    import pandas as pd

    with closing(pieces_guarded(reader, path, **told)) as pieces:
        for columns in pieces:
            yield pd.DataFrame(columns, copy=False)


@contextmanager
def releasing() -> Iterator[None]:
    """Call :func:`release` at the end."""
    try:
        yield
    finally:
        release()


def release() -> None:
    """End the process that is kept for the next file, if there is one."""
    while (guard := _taken()) is not None:
        guard.close()


def _taken() -> "Guard | None":
    """Return a process that has nothing to do; those that a fork inherited are not its own."""
    while True:
        try:
            guard = _idle.pop()
        except IndexError:
            return None
        if guard.is_mine():
            if guard.is_alive():
                return guard
            guard.close()


#: Processes that have read a file to its end, and wait for the next one.
_idle: list["Guard"] = []
atexit.register(release)


class _Here:
    """Reads in this process."""

    def pieces(self, reader: str, path: Path, limit: InputLimit, notes: list[str], **told: Any) -> Generator[Columns]:
        with refusing(path, DataError):
            yield from loaded(reader)(path, notes, limit, **told)

    def close(self) -> None:
        """Nothing is open."""


class Guard:
    """A process that reads one file after the other."""

    def __init__(self) -> None:
        self._path, self._limits, self._deadline = Path(), ChildLimits(0, 0), Deadline()
        self._done, self._parent, self._in_pieces = Event(), os.getpid(), False
        try:
            self._process = _started(pipesize=_PIPE_BYTES)
        except PermissionError:  # this user has many pipes open: Linux grants no more large ones
            self._process = _started()
        Thread(target=self._watch, name="drbo-guard", daemon=True).start()

    def is_mine(self) -> bool:
        """Tell whether the process was started by this one, and not by one that this is a fork of."""
        return self._parent == os.getpid()

    def is_alive(self) -> bool:
        """Tell whether the process can read another file."""
        return self._process.poll() is None

    def pieces(self, reader: str, path: Path, limit: InputLimit, notes: list[str], **told: Any) -> Generator[Columns]:
        """Yield the table of a file as a reader gives it.

        Parameters
        ----------
        reader : one of :data:`drbo.data.reading.binary.READERS`.
        limit : what the file may unpack to; the limits of the process follow from it.
        notes : a list to which the notes of the reader are added.
        told : what else the reader is told.
        """
        if reader not in READERS:
            raise ValueError(f"reader must be one of {', '.join(READERS)}, got {reader!r:.80}")
        self._path, self._limits = path, limits_of(path.stat().st_size, limit)
        self._in_pieces = limit is STREAM
        # As long as the first graph of a search, whatever the time limit says: nothing is known of the table before.
        self._deadline = Deadline(least=GRACE_SECONDS / 2)
        answer = _Answer(self._process.stdout, self._limits.memory)
        try:
            self._ask(reader, limit, told)
            while "columns" in (header := read_header(answer)):
                yield read_columns(answer, header)
                answer.left = self._limits.memory
            self._end(header, notes)
        except (DataError, SettingsError, MemoryError):
            raise
        except (EOFError, BrokenPipeError) as error:
            self._explain(error)
        except Exception as error:  # numpy and pandas raise a dozen unrelated kinds on bad bytes
            raise self._refused(f"the answer of its reader cannot be interpreted: {error!s:.200}") from error

    def close(self) -> None:
        """End the process."""
        self._done.set()
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                assert stream is not None
                stream.close()

    def _watch(self) -> None:
        """End the process at the deadline, or when somebody asks to stop: its parent may wait for its answer."""
        while not self._done.wait(LOOK_SECONDS):
            if self._deadline.over():
                self._process.kill()
                break

    def _ask(self, reader: str, limit: InputLimit, told: dict[str, Any]) -> None:
        """Send a request."""
        request: dict[str, Any] = {"reader": reader, "folder": os.getcwd(), "path": str(self._path), "told": told}
        request |= {"limits": self._limits, "limit": (limit.max_bytes, limit.ratio, limit.hint)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _end(self, header: dict[str, Any], notes: list[str]) -> None:
        """Take the notes of the reader, or raise its error."""
        words = header["notes"] if "error" not in header else [header["error"], header["hint"] or "", header["kind"]]
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError("an end without a message")
        if "error" in header:
            raise _KINDS.get(words[2], DataError)(words[0], hint=words[1] or None)
        notes += words

    def _explain(self, error: Exception) -> NoReturn:
        """Say why the process ended before its answer did."""
        try:
            code = self._process.wait(_LAST_SECONDS)
        except subprocess.TimeoutExpired:  # it closed its output, and goes on
            code = 0
        self._deadline.check()
        memory = f"{self._limits.memory // 2**20} MiB of memory"
        if code == OUT_OF_MEMORY:
            raise self._refused(f"reading it takes more than {memory}") from error
        if code == -getattr(signal, "SIGXCPU", 255):  # Windows has none
            raise self._refused(f"reading it takes more than {self._limits.seconds} s of processor time") from error
        name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        raise self._refused(f"its reader ended with {name}: it is damaged, or takes more than {memory}") from error

    def _refused(self, words: str) -> DataError:
        return DataError(f"file '{self._path}': {words}", hint=_PIECES if self._in_pieces else _WHOLE)


def _started(**options: Any) -> "subprocess.Popen[bytes]":
    """Start a process that reads files."""
    return subprocess.Popen(
        [_PYTHON, *COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=_environment(), bufsize=_PIPE_BYTES, **options,
    )  # fmt: skip


class _Answer:
    """What a process writes, of which no more than ``left`` bytes are taken."""

    def __init__(self, stream: Any, left: int) -> None:
        self._stream, self.left = stream, left

    def take(self, size: int) -> Bytes:
        """Return the next bytes."""
        self.left -= size
        if self.left < 0:
            raise ValueError("more bytes than its reader may use")
        found = np.empty(size, dtype=np.uint8)
        view, done = found.data, 0
        while done < size:
            count = self._stream.readinto(view[done:])
            if not count:
                raise EOFError("the answer ends early")
            done += count
        return found


def _environment() -> dict[str, str]:
    """Return the environment of a child, which finds the same modules as this process, but none in its folder."""
    paths = [str(Path(path).absolute()) for path in sys.path if path] + [str(Path(drbo.__file__).parents[1])]
    found = {name: os.environ[name] for name in KEPT if name in os.environ}
    return SET | found | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
