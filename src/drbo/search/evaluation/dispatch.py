"""Tasks given to any ``concurrent.futures.Executor``, and what is known about the executor."""

import os
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import Any, TypeVar

from drbo.errors import DrboError, WorkerError
from drbo.machine.threads import available

#: Seconds between two looks at what is under way.
LOOK_SECONDS = 0.25
#: So often is a Dask cluster asked for its workers while no answer comes, and so long may it have none.
ASK_SECONDS, NO_WORKER_SECONDS = 5.0, 60.0

Task = TypeVar("Task")
Reply = TypeVar("Reply")
#: What is under way: tasks, and since when.
Running = dict[Future[Reply], tuple[Task, float]]


def dispatched(
    waiting: "deque[Task]",
    submit: "Callable[[Task], Future[Reply]]",
    executor: Executor,
    watch: "Callable[[Running[Reply, Task]], None]" = lambda _running: None,
    queued: int = 1,  # tasks for each worker beside the one that it works on
) -> "Generator[tuple[Task, Future[Reply]], None, None]":
    """Give tasks to an executor, by default twice as many as it has workers; yield each with its future when done.

    Whoever puts a task back into ``waiting`` has it done again. ``watch`` sees what is under way, every so often.
    """
    running: Running[Reply, Task] = {}
    room, cluster = (1 + queued) * n_workers(executor), Cluster(executor)
    try:
        while waiting or running:
            while waiting and len(running) < room:
                task = waiting.popleft()
                try:
                    future = submit(task)
                except DrboError:
                    raise
                except Exception as error:  # a pool that broke, a client that is closed, a scheduler that is gone
                    raise gone(error) from error
                running[future] = task, time.monotonic()
            done, _ = wait(running, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            cluster.check(answered=bool(done))
            for future in done:
                yield running.pop(future)[0], future
            watch(running)
    finally:
        for future in running:
            future.cancel()


class Cluster:
    """The health of a Dask cluster; other executors fail the tasks that they cannot do.

    A client that lost its scheduler cancels what was under way and lets new tasks wait for ever, and so does a
    scheduler without workers.
    """

    def __init__(self, executor: Executor) -> None:
        self._client = getattr(executor, "_client", None)
        self._answered = self._asked = time.monotonic()

    def check(self, answered: bool) -> None:
        """Raise a WorkerError where no answer can be expected any more."""
        if self._client is None:
            return
        if self._client.status != "running":
            raise gone(ConnectionError(f"the connection to the Dask scheduler is {self._client.status}"))
        now = time.monotonic()
        if answered:
            self._answered = self._asked = now
        if now - self._asked >= ASK_SECONDS:
            self._asked = now
            if _dask_threads(self._client) > 0:
                self._answered = now
            elif now - self._answered >= NO_WORKER_SECONDS:
                raise gone(ConnectionError(f"the Dask cluster has had no worker for {NO_WORKER_SECONDS:g} s"))


def _dask_threads(client: Any) -> int:
    """Return how many tasks a cluster works on at a time."""
    try:
        return int(sum(client.nthreads().values()))
    except Exception as error:  # a scheduler that does not answer: an OSError, a closed client: a RuntimeError, ...
        raise gone(error) from error


def n_workers(executor: Executor) -> int:
    """Return how many pieces an executor works on at a time, as far as it tells."""
    client = getattr(executor, "_client", None)  # Dask's
    if client is not None:
        return max(1, _dask_threads(client))
    return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)


def n_threads(executor: Executor) -> int:
    """Return the threads of a worker: as many as at home, and one in a process that was forked from it.

    Threads do not come along when a process is forked, and OpenMP would wait for them for ever.
    """
    context = getattr(executor, "_mp_context", None)
    forked = context is not None and context.get_start_method() == "fork"
    return 1 if forked else available()


def gone(error: BaseException) -> WorkerError:
    """Return the error that an executor has ended with, in words."""
    return WorkerError(
        f"the executor no longer accepts work: {type(error).__name__}: {error}",
        hint="restart the executor, or use WorkerPool from drbo.search.evaluation.workers, which replaces dead "
        "workers; 'drbo resume' continues a saved search",
    )
