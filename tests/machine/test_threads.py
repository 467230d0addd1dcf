import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from drbo.machine import threads
from drbo.machine.threads import available, crew, one_blas_thread, together, use_threads


@pytest.mark.parametrize(("work", "expected"), [(10**9, 3), (250_000, 2), (10, 1), (0, 1)])
def test_small_work_is_done_by_fewer_threads(work, expected, use):
    use(3)
    assert crew(work) == expected


def test_the_environment_and_torch_say_how_many_threads(monkeypatch):
    monkeypatch.setattr(threads, "_asked", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    for given, expected in (("3", 3), ("0", None), ("many", None), ("", None)):
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        assert available() == (expected or len(os.sched_getaffinity(0)))
    calls = []
    torch = SimpleNamespace(get_num_threads=lambda: 5, set_num_threads=calls.append)
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert available() == 5
    use_threads(5)  # as it is: torch may still change it
    assert threads._asked is None
    use_threads(2)
    assert available() == 2
    assert calls == [2]


@pytest.mark.parametrize(
    ("quota", "expected"), [("max 100000", 64), ("250000 100000", 2), ("50000 100000", 1), ("x", 64)]
)
def test_a_quota_of_the_control_group_or_one_above_it_limits_processors(quota, expected, monkeypatch, tmp_path):
    inner = tmp_path / "groups" / "a.slice" / "b"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000\n")
    (inner.parent / "cpu.max").write_text(f"{quota}\n")
    (tmp_path / "own").write_text("1:cpu:/old\n0::/a.slice/b\n")
    monkeypatch.setattr(threads, "OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(threads, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(64)))
    assert threads.processors.__wrapped__() == expected
    monkeypatch.setattr(threads, "OWN_GROUP", tmp_path / "missing")
    assert threads.processors.__wrapped__() == 64


def _fail():
    raise ValueError("no")


@pytest.mark.parametrize("count", [1, 2])
def test_jobs_run_together_and_fail_together(count, use):
    given_up = []
    use(count)
    assert together([lambda: 1, lambda: 2, lambda: 3], give_up=_fail) == [1, 2, 3]
    assert together([], give_up=_fail) == []
    with pytest.raises(ValueError, match="no"):
        together([lambda: 1, _fail], give_up=lambda: given_up.append(True))
    assert len(given_up) == count - 1  # one after the other there is nobody left to tell


def test_linear_algebra_has_one_thread_within_and_as_many_as_before_after():
    def threads():
        return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}

    np.linalg.cholesky(np.eye(2))  # the library is loaded
    with threadpool_limits(limits=2, user_api="blas"):
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {2}


def test_a_check_of_a_table_does_without_torch():
    """Which takes longer to load than most tables to check."""
    code = "import sys, drbo.data.checks.check; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_thread_each_gives_torch_its_threads_back():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    with threads.one_thread_each():
        torch.set_num_threads(1)
    assert torch.get_num_threads() == before
