import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError, WorkerError
from drbo.machine.threads import available
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation import remote as module
from drbo.search.evaluation.dispatch import n_workers
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.local_scores import local_scores
from drbo.search.evaluation.packing import Seconds
from drbo.search.evaluation.remote import PIECES_EACH, WorkerReply, Workers, compute
from drbo.search.evaluation.workers import WorkerLost
from drbo.settings import Settings


class Slow(Score):
    """Takes its time, and misbehaves where it is told to."""

    name = "slow"
    seconds = 0.0

    def local(self, families):
        time.sleep(self.seconds * len(families))
        return super().local(families)

    def local_one(self, node, parents):
        return float(node + 10 * sum(parents))


class Deadly(Slow):
    """Kills the process that scores node 1 with parent 0."""

    parent_process = 0

    def local_one(self, node, parents):
        if (node, parents) == (1, (0,)) and os.getpid() != self.parent_process:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().local_one(node, parents)


class Hanging(Slow):
    def local_one(self, node, parents):
        if (node, parents) == (1, (0,)) and threading.current_thread() is not threading.main_thread():
            time.sleep(3)
        return super().local_one(node, parents)


class Inline(Executor):
    """Runs tasks at once, and loses those it is told to."""

    _max_workers = 3

    def __init__(self, losses=0, error=WorkerLost):
        self.losses, self.error, self.tasks, self.blobs = losses, error, [], 0

    def submit(self, fn, /, *args, **kwargs):
        self.tasks.append(len(args[2]))
        self.blobs += args[1] is not None
        future: Future = Future()
        if self.losses:
            self.losses -= 1
            future.set_exception(self.error("gone"))
        else:
            future.set_result(fn(*args))
        return future


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(20, 4)))


@pytest.fixture
def families():
    sets = [(node, parents) for node in range(4) for parents in ((), (0,), (1,), (0, 1), (2, 3)) if node not in parents]
    return Families.from_sets(4, sets)


@pytest.fixture(autouse=True)
def _nothing_held():
    module._held.clear()


def test_cheap_work_stays_here(table, families):
    executor = Inline()
    workers = Workers(Slow(table), executor)
    for _ in range(3):
        assert (workers.local(families) == Slow(table).local(families)).all()
    assert executor.tasks == []


def test_expensive_work_is_cut_into_pieces_of_a_good_size(table, families):
    executor = Inline()
    workers = Workers(Slow(table), executor)
    workers.seconds_each = 0.3  # 14 families: 4.2 s
    assert (workers.local(families) == Slow(table).local(families)).all()
    assert set(executor.tasks) == {5, 4}
    for seconds, count, sent in (
        *((0.01, 1, 0), (0.05, 1, 0), (0.1, 2, 0), (10.0, 14, 0), (0.5, 4, 0)),
        *((0.01, 1, 9), (0.05, 1, 9), (0.1, 2, 9), (10.0, 14, 9), (0.5, min(14, PIECES_EACH * n_workers(executor)), 9)),
    ):
        workers.seconds_each, workers.n_sent, workers.seconds = seconds, sent, Seconds()
        pieces = workers._pieces(families)
        assert len(pieces) == count
        held = [key for keys in (piece.families.keys() for piece in pieces) for key in keys]
        assert sorted(held) == sorted(families.keys())


def test_work_is_timed_not_guessed(table, families):
    score = Slow(table)
    score.seconds = 0.12
    workers = Workers(score, Inline())
    assert (workers.local(families) == Slow(table).local(families)).all()
    assert workers.n_sent == len(families) - 2  # the first two were timed here, and are not computed again
    assert 0.1 < workers.seconds_each < 0.4


def test_a_slow_first_call_is_no_measure(table, families):
    class Waking(Slow):
        awake = False

        def local(self, families):
            if not self.awake:
                time.sleep(0.15)
                type(self).awake = True
            return super().local(families)

    executor = Inline()
    Workers(Waking(table), executor).local(families)
    assert executor.tasks == []


def test_what_is_timed_here_is_computed_once(table, families):
    class Counting(Slow):
        asked: list[bytes] = []  # noqa: RUF012 - shared on purpose

        def local(self, families):
            self.asked.extend(families.keys())
            return super().local(families)

    Workers(Counting(table), Inline()).local(families)
    assert Counting.asked == families.keys()


def test_a_score_with_cells_is_cut_between_them_alone(table, families):
    class Cells(Slow):
        cell = 4
        asked: list[int] = []  # noqa: RUF012 - shared on purpose

        def local(self, families):
            self.asked.append(tuple(families.keys()))
            return super().local(families)

    Evaluator(Cells(table), Settings()).families(families)
    alone, Cells.asked = set(Cells.asked), []
    evaluator = Evaluator(Cells(table), Settings(), Inline())
    evaluator.workers.seconds_each = 0.3
    task = _on(evaluator.score)
    evaluator.workers._submit = lambda piece: Inline().submit(task, "", None, piece.families.keys())
    evaluator.families(families)
    assert set(Cells.asked) == alone


def _on(score):
    return lambda digest, blob, keys: WorkerReply(local_scores(score, Families.from_keys(keys, score.n_nodes)), 1.0)


def test_the_score_is_sent_to_a_worker_once(table, families):
    executor = Inline()  # one process: one worker
    workers = Workers(Slow(table), executor)
    for _ in range(4):
        workers.seconds_each = 0.3
        workers.local(families)
    assert executor.blobs <= 3  # what was under way before the first answer came
    assert compute(workers._digest, None, families.keys(), available()).values is not None


def test_a_lost_piece_is_given_away_again(table, families):
    executor = Inline(losses=2)
    workers = Workers(Slow(table), executor)
    workers.seconds_each = 0.3
    assert (workers.local(families) == Slow(table).local(families)).all()
    assert workers.n_lost == 2


def test_what_was_begun_is_computed_once(table, families):
    executor = Inline(losses=1)
    workers = Workers(Slow(table), executor)
    workers.begin(families)
    assert executor.tasks == []  # nothing was timed yet
    workers.seconds_each = 2.0
    workers.begin(families[:6])
    assert sum(executor.tasks) == 6
    for asked in (families[4:9], families[:4], families):  # some of it, the rest of it, nothing of it
        assert (workers.local(asked) == Slow(table).local(asked)).all()
    assert workers.n_sent == 6 + 3  # all of them took no time: the last ones were computed here
    assert workers.n_lost == 1
    assert not workers._begun


def test_what_is_given_up_is_cancelled_and_can_be_asked_for_again(table, families):
    with ThreadPoolExecutor(1) as pool:
        block = threading.Event()
        pool.submit(block.wait)
        workers = Workers(Slow(table), pool)
        workers.seconds_each = 2.0
        workers.begin(families)
        futures = [piece.begun for piece in workers._begun.values()]
        workers.drop()
        block.set()
        assert all(future.cancelled() for future in futures)
        assert (workers.local(families) == Slow(table).local(families)).all()


def test_the_dearest_families_come_first(table, families):
    executor, order = Inline(), []
    workers = Workers(Slow(table), executor)
    workers.seconds_each = 2.0
    workers.seconds.note(families[families.sizes == 2], 400.0)
    workers.seconds.note(families[families.sizes < 2], 4.0)
    workers._submit = lambda piece: (
        order.append(int(piece.families.sizes.max())),
        Inline().submit(_on(workers.score), "", None, piece.families.keys()),
    )[1]
    workers.local(families)
    big = order.count(2)
    assert 0 < big < len(order)
    assert order[:big] == [2] * big


def test_time_in_a_queue_is_not_held_against_a_score(table, families):
    score = Slow(table)
    score.seconds = 0.15
    with ThreadPoolExecutor(1) as pool:
        workers = Workers(score, pool, timeout=0.27)  # two families take longer
        assert (workers.local(families[:4]) == Slow(table).local(families[:4])).all()


def test_a_piece_lost_three_times_is_named(table, families):
    workers = Workers(Slow(table), Inline(losses=100))
    workers.seconds_each = 0.3
    with pytest.raises(WorkerError, match=r"the worker of node 'x\d' with parents .* was lost 3 times: WorkerLost"):
        workers.local(families)


def test_a_pool_that_is_gone_is_an_error_in_words(table, families):
    with ThreadPoolExecutor(2) as closed:
        pass
    workers = Workers(Slow(table), closed)
    workers.seconds_each = 0.3
    with pytest.raises(WorkerError, match="no longer accepts work"):
        workers.local(families)


def test_a_broken_process_pool_is_an_error_in_words(table, families):
    score = Deadly(table)
    with ProcessPoolExecutor(2) as pool:
        workers = Workers(score, pool)
        workers.seconds_each = 0.3
        with pytest.raises(WorkerError, match="no longer accepts work: BrokenProcessPool"):
            workers.local(families)


def test_a_score_that_hangs_is_named(table, families):
    with ThreadPoolExecutor(3) as pool:
        workers = Workers(Hanging(table), pool, timeout=0.05)
        workers.seconds_each = 0.3
        with pytest.raises(ScoreError, match=r"did not return within 0\.05 s per family for node"):
            workers.local(families)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_numbers_and_exceptions_are_named_wherever_they_arise(table, families, value):
    class Bad(Slow):
        def local_one(self, node, parents):
            return value if (node, parents) == (2, (0, 1)) else 0.0

    class Raising(Slow):
        def local_one(self, node, parents):
            if (node, parents) == (2, (0, 1)):
                raise RuntimeError("no")
            return 0.0

    for score, words in ((Bad(table), "is (nan|inf) for"), (Raising(table), "failed for")):
        with pytest.raises(ScoreError, match=rf"{words} node 'x2' with parents \['x0', 'x1'\]"):
            local_scores(score, families)
        module._held["s"] = score
        assert "node 'x2'" in compute("s", None, families.keys(), available()).problem


def test_what_is_no_executor_is_refused(table):
    with pytest.raises(SettingsError, match=r"executor must be a concurrent\.futures\.Executor, got int"):
        Workers(Slow(table), 4)


def test_a_score_that_cannot_be_sent_says_so(table, families):
    score = Slow(table)
    score.lock = threading.Lock()
    workers = Workers(score, Inline())
    workers.seconds_each = 0.3
    with pytest.raises(ScoreError, match="cannot be sent to a worker"):
        workers.local(families)


FORKING = """if True:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    import numpy as np, torch
    from drbo.data.statistics.statistics import Statistics
    from drbo.scores.families import Families
    from drbo.scores.gp.gp import GpScore
    from drbo.search.evaluation.remote import Workers
    torch.set_num_threads(2)
    torch.randn(4_000_000).exp().sum()  # now there are threads
    score = GpScore(Statistics.from_array(np.random.default_rng(0).normal(size=(60, 3))))
    families = Families.from_sets(3, [(0, ()), (0, (1,)), (1, (0,)), (2, (0,)), (2, (0, 1))] * 4)
    with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
        workers = Workers(score, pool)
        workers.seconds_each = 1.0
        print(np.allclose(workers.local(families), score.local(families)), workers.n_sent)
"""


@pytest.mark.torch
def test_a_process_forked_from_one_with_threads_does_not_hang():
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["True", "20"]


def test_a_first_family_that_takes_long_is_the_only_one_timed_at_home(monkeypatch):
    monkeypatch.setattr(module, "LEAST_SECONDS", 1e-12)  # whatever it took is long
    score = Slow(Statistics.from_array(np.random.default_rng(0).normal(size=(30, 3))))
    with ThreadPoolExecutor(1) as executor:
        done = Workers(score, executor)._probe(Families.from_dags(np.zeros((2, 3, 3), dtype=bool)), np.empty(6))
    assert done == 1
