"""The pool. Its functions must be importable in another process: those of the standard library are."""

import os
import threading
import time

import pytest

from drbo.errors import SettingsError
from drbo.search.evaluation.dispatch import n_workers
from drbo.search.evaluation.workers import WorkerLost, WorkerPool


def test_the_pool_computes_and_tells_of_exceptions():
    with WorkerPool(2) as pool:
        assert [future.result(60) for future in [pool.submit(pow, 2, k) for k in range(5)]] == [1, 2, 4, 8, 16]
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result(60)
        assert n_workers(pool) == 2
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(pow, 2, 2)


def test_a_worker_that_dies_fails_its_own_task_alone():
    with WorkerPool(2) as pool:
        pool.submit(pow, 2, 2).result(60)
        deadly = pool.submit(os._exit, 7)
        others = [pool.submit(pow, 3, k) for k in range(6)]
        with pytest.raises(WorkerLost, match="code 7"):
            deadly.result(60)
        assert [future.result(60) for future in others] == [3**k for k in range(6)]


def test_the_pool_leaves_nothing_behind():
    pool = WorkerPool(1)
    process = pool.submit(os.getpid).result(60)
    pool.shutdown()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert not any(thread.name == "drbo-worker" for thread in threading.enumerate())


def test_waiting_tasks_can_be_dropped():
    with WorkerPool(1) as pool:
        first = pool.submit(time.sleep, 0.2)
        while not first.running():
            time.sleep(0.01)
        waiting = [pool.submit(time.sleep, 60) for _ in range(3)]
        pool.shutdown(wait=False, cancel_futures=True)
        assert all(future.cancelled() for future in waiting)
        first.result(60)


@pytest.mark.parametrize("count", [0, -1, 1.5, True])
def test_the_number_of_workers_is_checked(count):
    with pytest.raises(SettingsError, match="at least 1"):
        WorkerPool(count)
