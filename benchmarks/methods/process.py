"""A method in a process of its own, with a time limit: one that fails or takes too long says so."""

import os
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from benchmarks.methods.base import Answer, Found, Graph, Learn, Step, Task
from benchmarks.methods.registry import METHODS

#: Seconds in which a library must be imported.
IMPORT_LIMIT = 300.0
#: Seconds in which an idle process ends by itself when nobody listens any more.
GRACE = 2.0
#: A step is sent when the seconds have grown by this factor since the last one, counted from FIRST on.
SPACING, FIRST = 1.1, 0.05
#: The first step from each of these on is sent as well: the evaluations of the paper's tables of run times.
MARKS = (1_000, 2_000, 10_000, 20_000, 50_000)


class Worker:
    """A process that runs one method at a time; it is ended when a method takes too long, and replaced."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, method: str, task: Task, limit: float) -> Answer:
        """Return what a method answers within ``limit`` seconds."""
        if self._process is None:
            self._start()
        try:
            self._connection.send((method, task))
            ready = self._connection.poll(IMPORT_LIMIT) and self._connection.recv()
            if isinstance(ready, Answer):  # it could not be imported
                return ready
            if ready:
                return self._listen(limit)
            note = f"no import in {IMPORT_LIMIT:g} s"
        except (EOFError, OSError):
            note = "its process died"
        self._end()
        return Answer(None, limit, 0.0, note)

    def _listen(self, limit: float) -> Answer:
        """Collect the steps until the answer comes; at the limit the last step is the answer, if there is one."""
        steps, deadline = list[Step](), time.monotonic() + limit
        while self._connection.poll(max(0.0, deadline - time.monotonic())):
            message = self._connection.recv()
            if isinstance(message, Answer):
                if message.seconds > limit:  # it came while nobody looked
                    break
                return replace(message, steps=tuple(steps))
            steps.append(message)
        self._end()
        if not steps:
            return Answer(None, limit, 0.0, f"no answer in {limit:g} s")
        return Answer(steps[-1].graph, limit, 0.0, f"stopped after {limit:g} s, step {steps[-1].step}", tuple(steps))

    def _start(self) -> None:
        os.environ.setdefault("PYTHONHASHSEED", "0")  # pgmpy breaks ties by the order of a set of names
        context = get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def _end(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.join(GRACE)
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(connection: Connection) -> None:
    """Answer requests until the other side is gone."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        warnings.simplefilter("ignore")
        with suppress(EOFError, OSError):  # the other side is gone
            while True:
                method, task = connection.recv()
                sender = _Sender(connection)
                learn = attempt(partial(METHODS[method].ready, replace(task, record=sender)))
                connection.send(learn if isinstance(learn, Answer) else "ready")
                if not isinstance(learn, Answer):
                    sender.start = time.perf_counter()
                    connection.send(attempt(partial(timed, learn)))


class _Sender:
    """Sends the first step, one whenever the seconds have grown by a tenth, as a curve is drawn, and those at marks."""

    def __init__(self, connection: Connection) -> None:
        self.start = time.perf_counter()
        self._connection = connection
        self._due = 0.0
        self._marks = list(MARKS)

    def __call__(self, step: int, graph: Graph) -> None:
        seconds = time.perf_counter() - self.start
        passed = [mark for mark in self._marks if mark <= step]
        self._marks = self._marks[len(passed) :]
        if seconds >= self._due or passed:
            self._connection.send(Step(step, seconds, np.asarray(graph, dtype=bool).copy()))
            self._due = SPACING * max(seconds, FIRST)


def attempt(step: Callable[[], Any]) -> Any:
    """Return what a step of a method returns, or an answer that says how it failed."""
    try:
        return step()
    except Exception as error:  # a method may fail in any way
        return Answer(None, 0.0, 0.0, f"{type(error).__name__}: {error}".splitlines()[0][:200])


def timed(learn: Learn) -> Answer:
    """Return the answer of a method that is ready to learn."""
    start, cpu_start = time.perf_counter(), time.process_time()
    learned = learn()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    found = learned if isinstance(learned, Found) else None
    return Answer(np.asarray(found.graph if found else learned, dtype=bool), seconds, cpu_seconds, found=found)
