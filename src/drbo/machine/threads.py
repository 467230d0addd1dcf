"""Runs compiled work on several threads."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from math import floor
from pathlib import Path
from threading import Thread
from typing import Any

#: Work below this many operations is done by one thread: starting another costs as much.
SMALL_WORK = 200_000
#: Where Linux says which control group a process is in, and what each of them may take.
OWN_GROUP, GROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


_asked: int | None = None  # threads that use_threads() was called with


def crew(work: int) -> int:
    """Return how many threads to use for so many operations."""
    return max(1, min(available(), work // SMALL_WORK + 1))


def available() -> int:
    """Return how many threads compiled code uses at most.

    It is what :func:`use_threads` was given; where torch is loaded, as many as torch uses; else the environment
    variable OMP_NUM_THREADS, or :func:`processors`.
    """
    if _asked is not None:
        return _asked
    if (torch := sys.modules.get("torch")) is not None:
        return int(torch.get_num_threads())
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    return processors()


@cache
def processors() -> int:
    """Return how many processors this process may use: those it is bound to, or fewer where its group has a quota."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([bound, *map(floor, _quotas())]))


def _quotas() -> Iterator[float]:
    """Yield the processor time a second that the control groups of this process may take (Linux)."""
    with suppress(OSError, ValueError):
        own = next((line[3:] for line in OWN_GROUP.read_text().splitlines() if line.startswith("0::")), "/")
        folder = GROUPS / own.strip("/")
        for group in (folder, *folder.parents):
            if group.is_relative_to(GROUPS) and (limit := group / "cpu.max").is_file():
                quota, period = limit.read_text().split()
                if quota != "max":
                    yield int(quota) / int(period)


def use_threads(count: int) -> None:
    """Let compiled code, and torch if it is loaded, use so many threads from now on."""
    global _asked
    if available() == count:
        return
    _asked = count
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(count)


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context in which NumPy's and SciPy's linear algebra has one thread: matrices of a few thousand rows.

    A second thread gains little there, and where the cores are taken each call waits many times its own work for it.
    """
    return _libraries().limit(limits=1, user_api="blas")  # type: ignore[no-any-return]


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let linear algebra and torch have one thread: several jobs that are done :func:`together` use them already.

    A job that uses torch must ask it for one thread itself, since every thread has its own number of them.
    """
    torch = sys.modules.get("torch")
    count = None if torch is None else torch.get_num_threads()
    try:
        with one_blas_thread():
            yield
    finally:
        if torch is not None:
            torch.set_num_threads(count)


def together(jobs: Sequence[Callable[[], Any]], give_up: Callable[[], None] = lambda: None) -> list[Any]:
    """Return the results of jobs that release the interpreter's lock, all at once, or in turn with a single thread.

    ``give_up`` is called when one fails or is interrupted: it must make the others end soon, if they take long.
    """
    if len(jobs) < 2 or available() == 1:
        return [job() for job in jobs]
    found: list[Any] = [None] * len(jobs)
    failed: list[BaseException] = []

    def do(number: int) -> None:
        try:
            found[number] = jobs[number]()
        except BaseException as error:
            failed.append(error)

    others = [Thread(target=do, args=(number,)) for number in range(1, len(jobs))]  # a pool takes three times as long
    for thread in others:
        thread.start()
    try:
        found[0] = jobs[0]()
        for thread in others:
            thread.join()
        if failed:
            raise failed[0]
    except BaseException:
        give_up()
        for thread in others:
            thread.join()
        raise
    return found
