"""A pool of worker processes that replaces those that die."""

import pickle
import queue
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for_any
from typing import Any

from drbo.errors import SettingsError


class WorkerLost(Exception):
    """The process that worked on a task ended before it answered."""


class WorkerPool(Executor):
    """A pool of processes; if one dies, it is replaced, and its task fails with :class:`WorkerLost`.

    Unlike in a ``ProcessPoolExecutor``, a dead process breaks neither the pool nor the tasks of other processes.
    Processes are spawned, not forked, so threads of the parent process cannot deadlock them. They end with the pool, or
    with the parent process.

    Examples
    --------
    >>> with WorkerPool(1) as pool:
    ...     pool.submit(pow, 2, 5).result()
    32
    """

    def __init__(self, n_workers: int) -> None:
        if isinstance(n_workers, bool) or not isinstance(n_workers, int) or n_workers < 1:
            raise SettingsError(f"workers must be a whole number of at least 1, got {n_workers!r}")
        self._max_workers = n_workers
        self._tasks: queue.SimpleQueue[tuple[Future[Any], bytes] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._threads: list[threading.Thread] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Submit a task to the next free process."""
        task = pickle.dumps((fn, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL)
        future: Future[Any] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker pool is closed")
            if len(self._threads) < self._max_workers:
                thread = threading.Thread(target=self._serve, name="drbo-worker", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._tasks.put((future, task))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more tasks, and let the processes end."""
        with self._lock:
            first, self._closed = not self._closed, True
        if cancel_futures:
            while not self._tasks.empty():
                task = self._tasks.get()
                if task is not None:
                    task[0].cancel()
        if first:
            for _ in self._threads:
                self._tasks.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _serve(self) -> None:
        """Hand tasks to one process after the other; runs in a thread of its own for each process."""
        worker: _Worker | None = None
        while (task := self._tasks.get()) is not None:
            future, content = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if worker is None or not worker.process.is_alive():
                    worker = _Worker()
                good, value = worker.ask(content)
            except WorkerLost as error:
                worker = None
                future.set_exception(error)
            except Exception as error:  # the process could not be started, or its answer not be read
                future.set_exception(error)
            else:
                future.set_result(value) if good else future.set_exception(value)
        if worker is not None:
            worker.end()


class _Worker:
    """One process and the line to it."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.line, there = context.Pipe()
        self.process = context.Process(target=_work, args=(there,), name="drbo-worker", daemon=True)
        self.process.start()
        there.close()  # or the end of the process would not end the line

    def ask(self, task: bytes) -> tuple[bool, Any]:
        """Return whether a task succeeded, and its value or exception."""
        try:
            self.line.send_bytes(task)
            wait_for_any([self.line, self.process.sentinel])
            answer = pickle.loads(self.line.recv_bytes())  # from a process that this one started
        except (EOFError, OSError) as error:
            self.process.join(timeout=5)
            self.end()
            raise WorkerLost(f"process {self.process.pid} ended with exit code {self.process.exitcode}") from error
        return bool(answer[0]), answer[1]

    def end(self) -> None:
        self.line.close()
        self.process.join(timeout=5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _work(line: Connection) -> None:
    """Answer tasks until the line ends; runs in a process of its own."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends the line
    while True:
        try:
            task = line.recv_bytes()
        except (EOFError, OSError):
            return
        try:
            function, args, kwargs = pickle.loads(task)
            answer = True, function(*args, **kwargs)
        except (Exception, SystemExit) as error:  # a task must not end the worker as if it were done
            answer = False, _sendable(error)
        line.send_bytes(pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL))


def _sendable(error: BaseException) -> BaseException:
    """Return an exception that survives the way back."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError("".join(traceback.format_exception_only(error)).strip())
    return error
