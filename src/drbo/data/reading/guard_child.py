"""The process that reads untrusted files for another, under limits of the system.

    python -P -m drbo.data.reading.guard_child

Requests are lines of JSON on standard input: the name of a reader, the file, and what the reader is told. The answer to
each goes to standard output as :mod:`drbo.data.reading.raw_columns` writes it: any number of pieces of the table, and
then a header with the notes, or with an error in words. The process ends when its input does, or when its parent has
ended.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from drbo.data.files.files import refusing
from drbo.data.files.packed import InputLimit
from drbo.data.reading.binary import loaded
from drbo.data.reading.raw_columns import write_columns, write_header
from drbo.errors import DataError, DrboError

#: The exit code of a process that needs more memory than it may.
OUT_OF_MEMORY = 70
#: Seconds between two looks at the memory, where the system has no limit for it, and at the parent.
LOOK_SECONDS = 0.02
MAX_FILES = 64


class ChildLimits(NamedTuple):
    """What a reader may take beyond what its libraries took before it saw the file."""

    memory: int  # bytes
    seconds: int  # of the processor


def main() -> None:
    """Answer all requests."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
    with os.fdopen(os.dup(1), "wb", buffering=2**20) as output:
        os.dup2(2, 1)  # what a library prints is no answer
        watch = _Watch()
        threading.Thread(target=watch.look, daemon=True).start()
        while line := sys.stdin.buffer.readline():
            request = json.loads(line)
            read = loaded(request["reader"])
            os.chdir(request["folder"])  # that of the parent may have changed since the last file
            limits = ChildLimits(*request["limits"])
            watch.most = peak_memory() + limits.memory
            restrict(limits)
            _answer(output.write, read, request)
            output.flush()
            restrict(None)


def _answer(write: Callable[[Any], object], read: Callable[..., Any], request: dict[str, Any]) -> None:
    """Read the file of a request, and write the table, or the error in words."""
    path, notes = Path(request["path"]), list[str]()
    try:
        with refusing(path, DataError):
            for columns in read(path, notes, InputLimit(*request["limit"]), **request["told"]):
                write_columns(write, columns)
        write_header(write, {"notes": notes})
    except DrboError as error:
        if _is_memory(error):
            os._exit(OUT_OF_MEMORY)
        write_header(write, {"error": error.message, "hint": error.hint, "kind": type(error).__name__})


def _is_memory(error: BaseException | None) -> bool:
    """Tell whether an error is due to memory that was refused."""
    while error is not None:
        if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
            return True
        error = error.__cause__ or error.__context__
    return False


def restrict(limits: ChildLimits | None) -> None:
    """Let the system enforce limits from here on; None: none for the libraries that the next file needs.

    Limits count from what was used before the file was opened. That of the memory is one of Linux; what other systems
    lack, :class:`_Watch` looks after.
    """
    if sys.platform == "win32":
        return
    import resource

    wanted = {resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0, resource.RLIMIT_NOFILE: MAX_FILES}
    for what in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
        wanted[what] = resource.getrlimit(what)[1]
    if limits is not None:
        wanted[resource.RLIMIT_CPU] = int(time.process_time()) + 1 + limits.seconds
        if sys.platform == "linux":
            mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            wanted[resource.RLIMIT_AS] = mapped + limits.memory
    for what, value in wanted.items():
        hard = resource.getrlimit(what)[1]
        least = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (least, hard))


class _Watch:
    """Ends this process when it has taken ``most`` bytes of memory, or when nobody waits for it any more."""

    def __init__(self) -> None:
        self.most, self._parent = sys.maxsize, os.getppid()

    def look(self) -> None:
        """Look for ever."""
        while os.getppid() == self._parent:
            if peak_memory() > self.most:
                os._exit(OUT_OF_MEMORY)
            time.sleep(LOOK_SECONDS)
        os._exit(0)


def peak_memory() -> int:
    """Return the most bytes of memory that this process has used so far."""
    if sys.platform == "win32":
        return _windows_memory()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _windows_memory() -> int:
    import ctypes
    from ctypes import wintypes

    class Counters(ctypes.Structure):
        _fields_ = (
            ("size", wintypes.DWORD), ("faults", wintypes.DWORD),
            *((name, ctypes.c_size_t) for name in (
                "peak", "working", "peak_paged", "paged", "peak_nonpaged", "nonpaged", "page_file", "peak_page_file",
            )),
        )  # fmt: skip

    counters = Counters()
    counters.size = ctypes.sizeof(counters)
    windows: Any = getattr(ctypes, "windll")  # noqa: B009 - other systems have none
    current = windows.kernel32.GetCurrentProcess
    current.restype = wintypes.HANDLE
    found = windows.psapi.GetProcessMemoryInfo
    found.argtypes = (wintypes.HANDLE, ctypes.POINTER(Counters), wintypes.DWORD)
    return int(counters.peak_page_file) if found(current(), ctypes.byref(counters), counters.size) else 0


if __name__ == "__main__":
    main()
