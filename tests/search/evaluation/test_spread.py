import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

from drbo.errors import WorkerError
from drbo.search.evaluation.spread import spread
from drbo.search.evaluation.workers import WorkerLost, WorkerPool


class Inline(Executor):
    """Runs tasks at once, the last one first, and loses those it is told to."""

    _max_workers = 3

    def __init__(self, losses=0):
        self.losses, self.blobs = losses, 0

    def submit(self, fn, /, *args, **kwargs):
        self.blobs += args[1] is not None
        future: Future = Future()
        if self.losses:
            self.losses -= 1
            future.set_exception(WorkerLost("gone"))
        else:
            future.set_result(fn(*args))
        return future


POWERS = [(3, k) for k in range(12)]


@pytest.mark.parametrize("make", [Inline, lambda: ThreadPoolExecutor(3), lambda: WorkerPool(2)])
def test_answers_come_in_order(make):
    with make() as executor:
        assert list(spread(pow, POWERS, executor)) == [3**k for k in range(12)]


def test_the_work_is_sent_once():
    executor = Inline()
    for _ in range(3):
        list(spread(divmod, [(7, 2)] * 20, executor))
    assert executor.blobs <= 6  # what was under way before the first answer came


def test_what_is_lost_is_done_again_and_named_the_third_time():
    assert list(spread(pow, POWERS, Inline(losses=2))) == [3**k for k in range(12)]
    with pytest.raises(WorkerError, match=r"the worker of task \d+ was lost 3 times: gone"):
        list(spread(pow, POWERS, Inline(losses=100)))


def test_a_process_that_dies_is_an_error_in_words():
    with WorkerPool(1) as pool, pytest.raises(WorkerError, match="lost 3 times: process"):
        list(spread(os._exit, [(7,)], pool))
    with ProcessPoolExecutor(1) as broken, pytest.raises(WorkerError, match="BrokenProcessPool"):
        list(spread(os._exit, [(7,)], broken))


def test_exceptions_of_the_work_arrive():
    with pytest.raises(ZeroDivisionError), ThreadPoolExecutor(1) as executor:
        list(spread(divmod, [(1, 0)], executor))


def test_work_that_cannot_be_sent_is_refused():
    with pytest.raises(WorkerError, match="cannot be sent"), ThreadPoolExecutor(1) as executor:
        list(spread(lambda x: x, [(1,)], executor))
