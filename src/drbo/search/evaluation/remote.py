"""Local scores computed by other processes or machines: any ``concurrent.futures.Executor``, with the same answer.

A piece of work is a list of family keys. The score, with the data in it, is sent to a worker once: a worker that does
not hold it yet asks for it. What a worker loses when it dies is given to another one.
"""

import hashlib
import pickle
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.deadline import current
from drbo.errors import ScoreError, SettingsError, WorkerError
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.dispatch import Running, dispatched, gone, n_threads, n_workers
from drbo.search.evaluation.local_scores import PROBE_SECONDS, family_words, local_scores
from drbo.search.evaluation.workers import WorkerLost
from drbo.threads import use_threads

#: Seconds of work in one piece: less is lost in sending it, more is lost with a worker that dies.
LEAST_SECONDS, MOST_SECONDS = 0.5, 2.0
#: Pieces of a batch for each worker, if they are not too small.
PIECES_EACH = 4
#: So often may the worker of one piece be lost before the search gives up.
MAX_LOSSES = 3
#: Scores that a worker holds at a time: one, and its cheaper versions.
HELD_SCORES = 4


_held: "OrderedDict[str, Any]" = OrderedDict()  # scores, and other work
_holding = threading.Lock()  # a Dask worker may have several threads


@dataclass(frozen=True)
class Answer:
    """What a worker sends back: values and seconds, or why there are none."""

    values: npt.NDArray[np.float64] | None = None
    seconds: float = 0.0
    wanted: bool = False  # the worker does not hold the score
    problem: str = ""


def compute(digest: str, blob: bytes | None, keys: Sequence[bytes], n_threads: int) -> Answer:
    """Score families on a worker; the score is kept there for the next time.

    It uses as many threads as at home, because torch cuts its sums elsewhere with another number of threads.
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
    """Return what a worker holds under a digest, from ``blob`` the first time; None: it must be sent."""
    with _holding:
        if blob is not None and digest not in _held:
            _held[digest] = pickle.loads(blob)  # from the process that started this one, as every task of a pool is
            while len(_held) > HELD_SCORES:
                _held.popitem(last=False)
        use_threads(n_threads)  # now that torch is loaded, if it is needed
        if digest in _held:
            _held.move_to_end(digest)
        return _held.get(digest)


@dataclass
class _Piece:
    rows: npt.NDArray[np.intp]
    with_score: bool = False
    losses: int = 0


class Workers:
    """A score, and an executor that computes it where that pays.

    Work is timed, never guessed: a batch that is done in less than LEAST_SECONDS here stays here, a longer one is cut
    into pieces of LEAST_SECONDS to MOST_SECONDS. Values do not depend on how they are cut, so neither does the search.
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
        """Time work here, in steps that double; return how many families were scored.

        The first call does work that later ones do not, so it is no measure, unless it took so long that the workers
        should not wait for a second one.
        """
        done, size, steps = 0, self.score.cell or 1, list[float]()  # whole cells: their values may depend on each other
        while (
            done < len(families)
            and max(steps, default=0.0) < LEAST_SECONDS
            and (len(steps) < 2 or steps[-1] < PROBE_SECONDS)
        ):
            end = min(done + size, len(families))
            steps.append(self._here(families[done:end], values[done:end]))
            done, size = end, size if steps[-1] >= PROBE_SECONDS else 2 * size
        return done

    def is_little(self, count: int) -> bool:
        """So many families stay here: the usual case of cheap scores."""
        each = self.seconds_each
        return self.timeout is None and each is not None and count * each < min(2 * LEAST_SECONDS, MOST_SECONDS)

    def _pieces(self, count: int) -> list[_Piece]:
        """Cut work into pieces of a good size: for every worker several, if that leaves LEAST_SECONDS for each.

        Then no worker waits long for the last of the others, also where some families take longer. The first time there
        is one, because every piece that is under way then asks for the score.
        """
        if self.is_little(count):
            return [_Piece(np.arange(count))]
        total = count * (self.seconds_each or 0.0)
        many = (PIECES_EACH if self.n_sent else 1) * n_workers(self.executor)
        wanted = max(int(np.ceil(total / MOST_SECONDS)), min(many, int(total / LEAST_SECONDS)))
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
        if isinstance(error, BrokenExecutor):  # a ProcessPoolExecutor never recovers
            raise gone(error) from error
        if piece.losses >= MAX_LOSSES:
            why = f"{type(error).__name__}: {error}".rstrip(": ")
            raise _lost_for_good(self.score, families, piece, why) from error

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


def _pickled(score: Score) -> bytes:
    try:
        return pickle.dumps(score, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise ScoreError(
            f"score '{score.name}' cannot be sent to a worker: {error}",
            hint="define its class at the top level of a module, without open files, locks or lambdas",
        ) from error


def _lost_for_good(score: Score, families: Families, piece: _Piece, why: str) -> WorkerError:
    words = family_words(score, families, int(piece.rows[0]))
    more = f" and {len(piece.rows) - 1} more families" if len(piece.rows) > 1 else ""
    return WorkerError(
        f"the worker of {words}{more} was lost {MAX_LOSSES} times: {why}",
        hint="check whether this family needs more memory than a worker has; 'drbo resume' continues a saved search",
    )
