"""Local scores computed by other processes or machines: any ``concurrent.futures.Executor``, with the same answer.

A piece of work is a list of family keys. The score, with the data in it, is sent to a worker once: a worker that does
not hold it yet asks for it. What a worker loses when it dies is given to another one.
"""

import hashlib
import os
import pickle
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from drbo.deadline import OutOfTimeError, current
from drbo.errors import DrboError, ScoreError, SettingsError, WorkerError
from drbo.scores.base import Families, Score
from drbo.search.evaluation.workers import WorkerLost
from drbo.threads import available, use_threads

#: Seconds of work in one piece: less is lost in sending it, more is lost with a worker that dies.
LEAST_SECONDS, MOST_SECONDS = 0.5, 2.0
#: Work is timed in this process first, in steps that double until one takes this long.
PROBE_SECONDS = 0.1
#: Seconds between two looks at what is under way.
LOOK_SECONDS = 0.25
#: Families in the first piece of a batch that may be cut anywhere.
FIRST_PIECE = 64
#: So often may the worker of one piece be lost before the search gives up.
MAX_LOSSES = 3
#: Scores that a worker holds at a time.
HELD_SCORES = 2

#: So often is a Dask cluster asked for its workers while no answer comes, and so long may it have none.
ASK_SECONDS, NO_WORKER_SECONDS = 5.0, 60.0

_held: "OrderedDict[str, Any]" = OrderedDict()  # scores, and other work
_holding = threading.Lock()  # a Dask worker may have several threads

Task = TypeVar("Task")
Reply = TypeVar("Reply")
#: What is under way: tasks, and since when.
Running = dict[Future[Reply], tuple[Task, float]]


@dataclass(frozen=True)
class Answer:
    """What a worker sends back: values and seconds, or why there are none."""

    values: npt.NDArray[np.float64] | None = None
    seconds: float = 0.0
    wanted: bool = False  # the worker does not hold the score
    problem: str = ""
    key: bytes = b""  # the family that made the problem


def compute(digest: str, blob: bytes | None, keys: Sequence[bytes], n_threads: int) -> Answer:
    """Score families on a worker; the score is kept there for the next time.

    It uses as many threads as at home, because torch cuts its sums elsewhere with another number of threads.

    Examples
    --------
    >>> compute("0", None, [], available()).wanted
    True
    """
    score: Score | None = held(digest, blob, n_threads)
    if score is None:
        return Answer(wanted=True)
    start = time.perf_counter()
    try:
        values = local_scores(score, Families.from_keys(keys, score.n_nodes))
    except ScoreError as error:
        return Answer(problem=error.message)
    return Answer(values, time.perf_counter() - start)


def held(digest: str, blob: bytes | None, n_threads: int) -> Any:
    """Return what a worker holds under a digest, from ``blob`` the first time; None: it must be sent.

    Examples
    --------
    >>> held("1", pickle.dumps(pow), available())(2, 5), held("1", None, available())(2, 3)
    (32, 8)
    """
    with _holding:
        if blob is not None and digest not in _held:
            _held[digest] = pickle.loads(blob)  # from the process that started this one, as every task of a pool is
            while len(_held) > HELD_SCORES:
                _held.popitem(last=False)
        use_threads(n_threads)  # now that torch is loaded, if it is needed
        if digest in _held:
            _held.move_to_end(digest)
        return _held.get(digest)


def local_scores(
    score: Score, families: Families, done: list[float] | None = None
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Return the local scores of families, cell by cell; an exception or a bad number of a user's score is named.

    Those of finished cells go to ``done`` if the deadline ends it.

    Examples
    --------
    >>> from drbo.data.table import Table
    >>> class Broken(Score):
    ...     def local_one(self, node, parents):
    ...         return 1 / len(parents)
    >>> local_scores(Broken(Table.from_array(np.eye(3))), Families.from_sets(3, [(0, (1,)), (2, ())]))
    Traceback (most recent call last):
        ...
    drbo.errors.ScoreError: score 'custom' failed for node 'x2' with parents []: ZeroDivisionError: ...
    """
    cells = list[npt.NDArray[np.float64]]()
    try:
        for rows in _cells(score, len(families)):
            cells.append(np.asarray(score.local(families[rows]), dtype=np.float64))
        values = np.concatenate(cells) if cells else np.empty(0)
    except OutOfTimeError:
        if done is not None:
            done += _checked_values(score, families, np.concatenate([np.empty(0), *cells]), part=True).tolist()
        raise
    except ScoreError:
        raise
    except Exception as error:  # the score may be the user's: it may fail in any way
        raise ScoreError(
            f"score '{score.name}' failed for {_blamed(score, families)}: {type(error).__name__}: {error}",
            hint="a local score must return a finite number for every family",
        ) from error
    if done is not None:
        done += _checked_values(score, families, values).tolist()
    return _checked_values(score, families, values)


def _checked_values(
    score: Score, families: Families, values: npt.NDArray[np.float64], *, part: bool = False
) -> npt.NDArray[np.float64]:
    """Return values, of all families or the first ones, or say what is wrong with them."""
    if values.shape != (len(values) if part else len(families),):
        raise ScoreError(
            f"score '{score.name}' must return one value per family, got shape {values.shape} for {len(families)} "
            "families"
        )
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ScoreError(
            f"score '{score.name}' is {values[row]} for {family_words(score, families, row)}",
            hint="a local score must return a finite number for every family",
        )
    return values


def _cells(score: Score, count: int) -> "Generator[slice, None, None]":
    """Yield the rows that one call computes; the deadline is looked at between two calls.

    Where a batch may be cut anywhere, pieces double while one takes less than PROBE_SECONDS.
    """
    deadline, start = current(), 0
    size = score.cell or FIRST_PIECE
    while start < count:
        deadline.check()
        before = time.perf_counter()
        yield slice(start, start + size)
        start += size
        if score.cell is None and time.perf_counter() - before < PROBE_SECONDS:
            size *= 2


def family_words(score: Score, families: Families, row: int) -> str:
    """Return a family in words: node 'c' with parents ['a', 'b']."""
    parents = [score.names[j] for j in np.flatnonzero(families.parents[row])]
    return f"node '{score.names[families.nodes[row]]}' with parents {parents}"


def _blamed(score: Score, families: Families) -> str:
    """Return the first family that fails alone, in words."""
    for row in range(len(families)):
        try:
            score.local(families[row : row + 1])
        except Exception:
            return family_words(score, families, row)
    return f"{len(families)} families together"


@dataclass
class _Piece:
    rows: npt.NDArray[np.intp]
    with_score: bool = False
    losses: int = 0
    why: list[str] = field(default_factory=list)


class Workers:
    """A score, and an executor that computes it where that pays.

    Work is timed, never guessed: a batch that is done in less than LEAST_SECONDS here stays here, a longer one is cut
    into pieces of LEAST_SECONDS to MOST_SECONDS. Values do not depend on how they are cut, so neither does the search.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from drbo.data.table import Table
    >>> from drbo.scores.linear import BicNV
    >>> score = BicNV(Table.from_array(np.random.default_rng(0).normal(size=(50, 3))))
    >>> with ThreadPoolExecutor(2) as executor:
    ...     workers = Workers(score, executor)
    ...     values = workers.local(Families.from_sets(3, [(0, ()), (0, (1,))]))
    >>> workers.n_sent
    0
    """

    def __init__(self, score: Score, executor: Executor, timeout: float | None = None) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise SettingsError(
                f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}",
                hint="for example WorkerPool(4) from drbo.search.evaluation.workers, or Dask's client.get_executor()",
            )
        self.score, self.executor, self.timeout = score, executor, timeout
        self.seconds_each: float | None = None  # per family, as last seen
        self.n_sent = 0  # families that were computed elsewhere
        self.n_lost = 0  # pieces that were lost with a worker
        self._blob: bytes | None = None
        self._digest = ""

    def local(self, families: Families) -> npt.NDArray[np.float64]:
        """Return the local scores of families, wherever they are computed."""
        values, done = np.empty(len(families)), 0
        if self.timeout is not None:  # only work elsewhere can be cut off, and it must be known whose it is
            self.seconds_each = MOST_SECONDS
        elif self.seconds_each is None:
            done = self._probe(families, values)
        rest = families[done:] if done else families
        if len(rest) == 0:
            return values
        pieces = self._pieces(len(rest))
        if len(pieces) > 1 or self.timeout is not None:
            self._elsewhere(rest, pieces, values[done:])
        else:
            self._here(rest, values[done:])
        return values

    def _here(self, families: Families, values: npt.NDArray[np.float64]) -> float:
        """Score families in this process; return the seconds it took."""
        start = time.perf_counter()
        values[:] = local_scores(self.score, families)
        seconds = time.perf_counter() - start
        self.seconds_each = seconds / len(families)
        return seconds

    def _probe(self, families: Families, values: npt.NDArray[np.float64]) -> int:
        """Time work here, in steps that double; the first call does work that later ones do not, so it is no measure.

        Return how many families were scored.
        """
        done, size, steps = 0, self.score.cell or 1, list[float]()  # whole cells: their values may depend on each other
        while done < len(families) and (len(steps) < 2 or steps[-1] < PROBE_SECONDS):
            end = min(done + size, len(families))
            steps.append(self._here(families[done:end], values[done:end]))
            done, size = end, size if steps[-1] >= PROBE_SECONDS else 2 * size
        return done

    def is_little(self, count: int) -> bool:
        """So many families stay here: the usual case of cheap scores."""
        each = self.seconds_each
        return self.timeout is None and each is not None and count * each < min(2 * LEAST_SECONDS, MOST_SECONDS)

    def _pieces(self, count: int) -> list[_Piece]:
        """Cut work into pieces of a good size: for every worker one, if that leaves LEAST_SECONDS for each."""
        if self.is_little(count):
            return [_Piece(np.arange(count))]
        total = count * (self.seconds_each or 0.0)
        wanted = max(int(np.ceil(total / MOST_SECONDS)), min(n_workers(self.executor), int(total / LEAST_SECONDS)))
        cell = self.score.cell or 1
        cells = np.array_split(np.arange(0, count, cell), max(1, min(wanted, -(-count // cell))))
        return [_Piece(np.arange(part[0], min(part[-1] + cell, count))) for part in cells]

    def _elsewhere(self, families: Families, pieces: list[_Piece], values: npt.NDArray[np.float64]) -> None:
        """Give pieces to the executor until all are answered."""
        waiting = deque(pieces)

        def submit(piece: _Piece) -> "Future[Answer]":
            return self._submit(piece, families)

        deadline = current()

        def watch(running: "Running[Answer, _Piece]") -> None:
            deadline.check()
            self._check_timeout(running, families)

        with closing(dispatched(waiting, submit, self.executor, watch)) as answers:
            for piece, future in answers:
                self._take(future, piece, families, values, waiting)

    def _submit(self, piece: _Piece, families: Families) -> "Future[Answer]":
        if self._blob is None:
            self._blob = _pickled(self.score)
            self._digest = hashlib.sha256(self._blob).hexdigest()
        keys = families[piece.rows].keys()
        blob = self._blob if piece.with_score else None
        return self.executor.submit(compute, self._digest, blob, keys, n_threads(self.executor))

    def _take(
        self,
        future: "Future[Answer]",
        piece: _Piece,
        families: Families,
        values: npt.NDArray[np.float64],
        waiting: "deque[_Piece]",
    ) -> None:
        """Keep the values of an answer, or give its piece away once more."""
        try:
            answer = future.result()
        except (BrokenExecutor, CancelledError, OSError, WorkerLost) as error:
            self._lost(piece, families, error)
            waiting.appendleft(piece)
            return
        except Exception as error:  # Dask's KilledWorker has been tried three times there; the rest is unforeseen
            raise _lost_for_good(self.score, families, piece, f"{type(error).__name__}: {error}") from error
        if answer.wanted:
            piece.with_score = True
            waiting.appendleft(piece)
        elif answer.values is None:
            raise ScoreError(answer.problem, hint="a local score must return a finite number for every family")
        else:
            values[piece.rows] = answer.values
            self.n_sent += len(piece.rows)
            self.seconds_each = answer.seconds / len(piece.rows)

    def _lost(self, piece: _Piece, families: Families, error: BaseException) -> None:
        self.n_lost += 1
        piece.losses += 1
        piece.why.append(f"{type(error).__name__}: {error}".rstrip(": "))
        if isinstance(error, BrokenExecutor):  # a ProcessPoolExecutor never recovers
            raise gone(error) from error
        if piece.losses >= MAX_LOSSES:
            raise _lost_for_good(self.score, families, piece, piece.why[-1]) from error

    def _check_timeout(self, running: "Running[Answer, _Piece]", families: Families) -> None:
        if self.timeout is None:
            return
        for future, (piece, since) in running.items():
            late = time.monotonic() - since - self.timeout * len(piece.rows)
            if late > 0 and not future.done():
                raise ScoreError(
                    f"score '{self.score.name}' did not return within {self.timeout:g} s per family for "
                    f"{family_words(self.score, families, int(piece.rows[0]))}"
                    + (f" and {len(piece.rows) - 1} more" if len(piece.rows) > 1 else ""),
                    hint="raise score_timeout, or check why the score hangs",
                )


def dispatched(
    waiting: "deque[Task]",
    submit: "Callable[[Task], Future[Reply]]",
    executor: Executor,
    watch: "Callable[[Running[Reply, Task]], None]" = lambda _running: None,
) -> "Generator[tuple[Task, Future[Reply]], None, None]":
    """Give tasks to an executor, a few more than it has workers; yield each with its future once that is done.

    Whoever puts a task back into ``waiting`` has it done again. ``watch`` sees what is under way, every so often.
    """
    running: Running[Reply, Task] = {}
    room, cluster = 2 * n_workers(executor), Cluster(executor)
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


def _pickled(score: Score) -> bytes:
    try:
        return pickle.dumps(score, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise ScoreError(
            f"score '{score.name}' cannot be sent to a worker: {error}",
            hint="define its class at the top level of a module, without open files, locks or lambdas",
        ) from error


def gone(error: BaseException) -> WorkerError:
    """Return the error that an executor has ended with, in words."""
    return WorkerError(
        f"the executor no longer accepts work: {type(error).__name__}: {error}",
        hint="restart the executor, or use WorkerPool from drbo.search.evaluation.workers, which replaces dead "
        "workers; 'drbo resume' continues a saved search",
    )


def _lost_for_good(score: Score, families: Families, piece: _Piece, why: str) -> WorkerError:
    words = family_words(score, families, int(piece.rows[0]))
    more = f" and {len(piece.rows) - 1} more families" if len(piece.rows) > 1 else ""
    return WorkerError(
        f"the worker of {words}{more} was lost {MAX_LOSSES} times: {why}",
        hint="check whether this family needs more memory than a worker has; 'drbo resume' continues a saved search",
    )
