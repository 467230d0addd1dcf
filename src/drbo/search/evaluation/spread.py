"""Applies one function to many arguments on any executor, with retries; used for resamples."""

import hashlib
import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from drbo.deadline import current
from drbo.errors import WorkerError
from drbo.search.evaluation.dispatch import dispatched, gone, n_threads
from drbo.search.evaluation.remote import MAX_LOSSES, held
from drbo.search.evaluation.workers import WorkerLost


@dataclass(frozen=True)
class _Done:
    value: Any = None
    wanted: bool = False  # the worker does not hold the function


def call(digest: str, blob: bytes | None, arguments: tuple[Any, ...], n_threads: int) -> _Done:
    """Call a function on a worker; it is kept there for the next time."""
    work = held(digest, blob, n_threads)
    return _Done(wanted=True) if work is None else _Done(work(*arguments))


@dataclass
class _Task:
    number: int
    with_work: bool = False
    losses: int = 0


def spread(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], executor: Executor) -> Iterator[Any]:
    """Yield ``work(*each)`` for each of the arguments, in their order, whoever is first.

    The function, with the data in it, is sent to a worker once. What a worker loses when it dies is given to another
    one; a task that is lost MAX_LOSSES times ends it all with a :class:`WorkerError`.
    """
    try:
        blob = pickle.dumps(work, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        hint = "define the function, and the class of your score, at the top level of a module"
        raise WorkerError(f"the work cannot be sent to a worker: {error}", hint=hint) from error
    digest = hashlib.sha256(blob).hexdigest()
    waiting, values, given = deque(_Task(number) for number in range(len(arguments))), dict[int, Any](), 0

    def submit(task: _Task) -> "Future[_Done]":
        sent = blob if task.with_work else None
        return executor.submit(call, digest, sent, arguments[task.number], n_threads(executor))

    deadline = current()
    with closing(dispatched(waiting, submit, executor, lambda _running: deadline.check())) as answers:
        for task, future in answers:
            _take(future, task, values, waiting)
            while given in values:
                yield values.pop(given)
                given += 1


def _take(future: "Future[_Done]", task: _Task, values: dict[int, Any], waiting: "deque[_Task]") -> None:
    """Keep an answer, or give its task away once more."""
    try:
        answer = future.result()
    except BrokenExecutor as error:  # a ProcessPoolExecutor never recovers
        raise gone(error) from error
    except (CancelledError, WorkerLost) as error:
        task.losses += 1
        if task.losses >= MAX_LOSSES:
            raise WorkerError(
                f"the worker of task {task.number} was lost {MAX_LOSSES} times: {error}",
                hint="check whether it needs more memory than a worker has; finished tasks are saved if a file was "
                "given",
            ) from error
        waiting.appendleft(task)
        return
    if answer.wanted:
        task.with_work = True
        waiting.appendleft(task)
    else:
        values[task.number] = answer.value
