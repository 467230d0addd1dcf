from collections import deque
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing import get_context
from types import SimpleNamespace

import pytest

from drbo.errors import WorkerError
from drbo.search.evaluation import dispatch
from drbo.search.evaluation.dispatch import Cluster, dispatched, gone, n_threads, n_workers


class Pool(Executor):
    def __init__(self, client=None, **others):
        self._client = client
        for name, value in others.items():
            setattr(self, name, value)


def _client(threads, status="running"):
    return SimpleNamespace(status=status, nthreads=lambda: threads)


def test_every_task_comes_back_once_and_few_are_under_way():
    widest = []
    with ThreadPoolExecutor(2) as pool:
        tasks = dispatched(
            deque(range(20)), lambda task: pool.submit(pow, task, 2), pool, lambda r: widest.append(len(r))
        )
        found = {task: future.result() for task, future in tasks}
    assert found == {task: task**2 for task in range(20)}
    assert max(widest) <= 4


def test_a_task_that_is_put_back_is_done_again():
    waiting, tries = deque(["a"]), []
    with ThreadPoolExecutor(1) as pool:
        for task, _ in dispatched(waiting, lambda task: pool.submit(tries.append, task), pool):
            if len(tries) < 3:
                waiting.append(task)
    assert tries == ["a", "a", "a"]


def test_what_is_under_way_is_cancelled_when_nobody_wants_more():
    futures = []

    def submit(task):
        futures.append(Future())
        if task == 0:
            futures[-1].set_result(None)
        return futures[-1]

    tasks = dispatched(deque(range(4)), submit, Pool(_max_workers=2))
    next(tasks)
    tasks.close()
    assert [future.cancelled() for future in futures] == [False, True, True, True]


def test_an_executor_that_takes_no_work_is_an_error_in_words():
    def closed(task):
        raise RuntimeError("cannot schedule new futures after shutdown")

    with pytest.raises(WorkerError, match="no longer accepts work: RuntimeError: cannot schedule"):
        list(dispatched(deque([1]), closed, Pool(_max_workers=1)))
    assert "drbo resume" in gone(OSError("x")).hint


def test_the_size_of_an_executor(use):
    use(3)
    assert n_workers(Pool(_max_workers=5)) == 5
    assert n_workers(Pool(_client({"a": 2, "b": 4}))) == 6
    assert n_workers(Pool(_client({}))) == 1
    assert n_threads(Pool()) == n_threads(Pool(_mp_context=get_context("spawn"))) == 3
    assert n_threads(Pool(_mp_context=get_context("fork"))) == 1  # threads do not come along


def test_a_cluster_without_scheduler_or_workers_is_an_error(monkeypatch):
    Cluster(Pool()).check(answered=False)
    with pytest.raises(WorkerError, match="the connection to the Dask scheduler is closed"):
        Cluster(Pool(_client({"a": 1}, status="closed"))).check(answered=False)
    now = [0.0]
    monkeypatch.setattr(dispatch.time, "monotonic", lambda: now[0])
    cluster = Cluster(Pool(_client({})))
    now[0] = dispatch.ASK_SECONDS
    cluster.check(answered=False)
    now[0] = dispatch.NO_WORKER_SECONDS + dispatch.ASK_SECONDS
    with pytest.raises(WorkerError, match="has had no worker for 60 s"):
        cluster.check(answered=False)
