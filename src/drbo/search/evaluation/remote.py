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
from functools import cached_property
from typing import Any

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.deadline import current
from drbo.errors import ScoreError, SettingsError, WorkerError
from drbo.machine.threads import use_threads
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.dispatch import Running, dispatched, gone, n_threads, n_workers
from drbo.search.evaluation.local_scores import PROBE_SECONDS, family_words, local_scores
from drbo.search.evaluation.packing import Seconds, cut
from drbo.search.evaluation.workers import WorkerLost

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
class WorkerReply:
    """What a worker sends back: values and seconds, or why there are none."""

    values: Floats | None = None
    seconds: float = 0.0
    wanted: bool = False  # the worker does not hold the score
    problem: str = ""


def compute(digest: str, blob: bytes | None, keys: Sequence[bytes], n_threads: int) -> WorkerReply:
    """Score families on a worker; the score is kept there for the next time.

    It uses as many threads as at home, because torch cuts its sums elsewhere with another number of threads.
    """
    score: Score | None = held(digest, blob, n_threads)
    if score is None:
        return WorkerReply(wanted=True)
    start = time.perf_counter()
    try:
        values = local_scores(score, Families.from_keys(keys, score.n_nodes))
    except ScoreError as error:
        return WorkerReply(problem=error.message)
    return WorkerReply(values, time.perf_counter() - start)


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


@dataclass(eq=False)
class _Piece:
    families: Families
    rows: Indices  # where they stood before the cut
    with_score: bool = False
    losses: int = 0
    begun: "Future[WorkerReply] | None" = None  # was given away before anybody waited for it
    values: Floats | None = None  # once they are known


class Workers:
    """A score, and an executor that computes it where that pays.

    Work is timed, never guessed: a batch that is done in less than LEAST_SECONDS here stays here, a longer one is cut
    into pieces of LEAST_SECONDS to MOST_SECONDS, of which the longest begin. Values do not depend on how they are cut,
    so neither does the search.
    """

    def __init__(self, score: Score, executor: Executor, timeout: float | None = None) -> None:
        if not callable(getattr(executor, "submit", None)):
            raise SettingsError(
                f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}",
                hint="for example WorkerPool(4) from drbo.search.evaluation.workers, or Dask's client.get_executor()",
            )
        self.score, self.executor, self.timeout = score, executor, timeout
        self.seconds_each: float | None = None  # of a family of mean cost, as last seen
        self.seconds = Seconds()
        self.n_sent = 0  # families that were computed elsewhere
        self.n_lost = 0  # pieces that were lost with a worker
        self._begun: dict[bytes, _Piece] = {}  # families that were given away and not asked for yet
        self._blob: bytes | None = None
        self._digest = ""

    @cached_property
    def count(self) -> int:
        """How many pieces are computed at a time when this is first asked."""
        return n_workers(self.executor)

    def begin(self, families: Families) -> None:
        """Give families away that :meth:`local` will be asked for.

        What is little, was never timed, or may be cut off by the timeout, which counts from here, waits until then.
        """
        if self.seconds_each is None or self.timeout is not None or self.is_little(families):
            return
        for piece in self._pieces(families):
            piece.begun = self._given(piece)
            self._begun |= dict.fromkeys(piece.families.keys(), piece)

    def drop(self) -> None:
        """Give up what was begun."""
        for piece in self._begun.values():
            if piece.begun is not None:
                piece.begun.cancel()
        self._begun = {}

    def local(self, families: Families) -> Floats:
        """Return the local scores of families, wherever they are computed."""
        values, done = np.empty(len(families)), 0
        if self.timeout is not None:  # only work elsewhere can be cut off, and it must be known whose it is
            self.seconds_each = MOST_SECONDS
        elif self.seconds_each is None:
            done = self._probe(families, values)
        rest = families[done:] if done else families
        keys = rest.keys() if self._begun else []
        awaited = [row for row, key in enumerate(keys) if key in self._begun]
        begun = list(dict.fromkeys(self._begun[keys[row]] for row in awaited))
        fresh = np.delete(np.arange(len(rest)), awaited)
        pieces = self._pieces(rest[fresh] if begun else rest)
        if not begun and len(pieces) == 1 and self.timeout is None:
            self._here(rest, values[done:])
            return values
        found = dict[bytes, float]()
        for piece in self._elsewhere(begun + pieces):
            if piece in begun:
                found |= zip(piece.families.keys(), np.asarray(piece.values), strict=True)
            else:
                values[done + fresh[piece.rows]] = piece.values
        for row in awaited:
            values[done + row] = found[keys[row]]
            self._begun.pop(keys[row], None)
        return values

    def _here(self, families: Families, values: Floats) -> float:
        """Score families in this process; return the seconds it took."""
        start = time.perf_counter()
        values[:] = local_scores(self.score, families)
        seconds = time.perf_counter() - start
        self.seconds_each = seconds / len(families)
        return seconds

    def _probe(self, families: Families, values: Floats) -> int:
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

    def is_little(self, families: Families) -> bool:
        """Tell whether families stay here: the usual case of cheap scores."""
        each = self.seconds_each
        if self.timeout is not None or each is None:
            return False
        total = each * float(self.seconds.shares(families).sum()) if self.n_sent else each * len(families)
        return total < min(2 * LEAST_SECONDS, MOST_SECONDS)

    def _pieces(self, families: Families) -> list[_Piece]:
        """Cut work into pieces of a good size: for every worker several, if that leaves LEAST_SECONDS for each.

        Then no worker waits long for the last of the others, also where some families take longer. The first time there
        is one, because every piece that is under way then asks for the score.
        """
        if self.is_little(families) or not len(families):
            return [_Piece(families, np.arange(len(families)))] if len(families) else []
        costs = (self.seconds_each or 0.0) * self.seconds.shares(families)
        total, many = costs.sum(), (PIECES_EACH if self.n_sent else 1) * n_workers(self.executor)
        wanted = max(int(np.ceil(total / MOST_SECONDS)), min(many, int(total / LEAST_SECONDS)), 1)
        return [_Piece(families[rows], rows) for rows in cut(costs, wanted, self.score.cell or 1)]

    def _elsewhere(self, pieces: list[_Piece]) -> list[_Piece]:
        """Give pieces to the executor until all are answered, and return them."""
        waiting, deadline = deque(piece for piece in pieces if piece.values is None), current()

        def watch(running: "Running[WorkerReply, _Piece]") -> None:
            deadline.check()
            self._check_timeout(running)

        queued = 0 if self.timeout is not None else 1  # the timeout counts from when a piece is given away
        with closing(dispatched(waiting, self._given, self.executor, watch, queued)) as answers:
            for piece, future in answers:
                self._take(future, piece, waiting)
        return pieces

    def _given(self, piece: _Piece) -> "Future[WorkerReply]":
        """Return the future of a piece that was begun, or give it away now."""
        begun, piece.begun = piece.begun, None
        return self._submit(piece) if begun is None or begun.cancelled() else begun

    def _submit(self, piece: _Piece) -> "Future[WorkerReply]":
        if self._blob is None:
            self._blob = _pickled(self.score)
            self._digest = hashlib.sha256(self._blob).hexdigest()
        blob = self._blob if piece.with_score else None
        try:
            return self.executor.submit(compute, self._digest, blob, piece.families.keys(), n_threads(self.executor))
        except Exception as error:  # a pool that broke, a client that is closed, a scheduler that is gone
            raise gone(error) from error

    def _take(self, future: "Future[WorkerReply]", piece: _Piece, waiting: "deque[_Piece]") -> None:
        """Keep the values of an answer, or give its piece away once more."""
        try:
            answer = future.result()
        except (BrokenExecutor, CancelledError, OSError, WorkerLost) as error:
            self._lost(piece, error)
            waiting.appendleft(piece)
            return
        except Exception as error:  # Dask's KilledWorker has been tried three times there; the rest is unforeseen
            raise _lost_for_good(self.score, piece, f"{type(error).__name__}: {error}") from error
        if answer.wanted:
            piece.with_score = True
            waiting.appendleft(piece)
        elif answer.values is None:
            raise ScoreError(answer.problem, hint="a local score must return a finite number for every family")
        else:
            piece.values = answer.values
            self.n_sent += len(piece.families)
            self.seconds_each = answer.seconds / float(self.seconds.shares(piece.families).sum())
            self.seconds.note(piece.families, answer.seconds)

    def _lost(self, piece: _Piece, error: BaseException) -> None:
        self.n_lost, piece.losses = self.n_lost + 1, piece.losses + 1
        if isinstance(error, BrokenExecutor):  # a ProcessPoolExecutor never recovers
            raise gone(error) from error
        if piece.losses >= MAX_LOSSES:
            why = f"{type(error).__name__}: {error}".rstrip(": ")
            raise _lost_for_good(self.score, piece, why) from error

    def _check_timeout(self, running: "Running[WorkerReply, _Piece]") -> None:
        limit = self.timeout or np.inf
        for future, (piece, since) in running.items():
            late = time.monotonic() - since - limit * len(piece.families)
            if late > 0 and not future.done():
                raise ScoreError(
                    f"score '{self.score.name}' did not return within {limit:g} s per family for "
                    f"{family_words(self.score, piece.families, 0)}"
                    + (f" and {len(piece.families) - 1} more" if len(piece.families) > 1 else ""),
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


def _lost_for_good(score: Score, piece: _Piece, why: str) -> WorkerError:
    more = f" and {len(piece.families) - 1} more families" if len(piece.families) > 1 else ""
    return WorkerError(
        f"the worker of {family_words(score, piece.families, 0)}{more} was lost {MAX_LOSSES} times: {why}",
        hint="check whether this family needs more memory than a worker has; 'drbo resume' continues a saved search",
    )
