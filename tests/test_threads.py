import subprocess
import sys

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from drbo.threads import crew, one_blas_thread, together


@pytest.mark.parametrize(("work", "threads"), [(10**9, 3), (250_000, 2), (10, 1), (0, 1)])
def test_small_work_is_done_by_fewer_threads(work, threads):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert crew(work) == threads
    finally:
        torch.set_num_threads(before)


def _fail():
    raise ValueError("no")


@pytest.mark.parametrize("threads", [1, 2])
def test_jobs_run_together_and_fail_together(threads):
    before, given_up = torch.get_num_threads(), []
    try:
        torch.set_num_threads(threads)
        assert together([lambda: 1, lambda: 2, lambda: 3], give_up=_fail) == [1, 2, 3]
        assert together([], give_up=_fail) == []
        with pytest.raises(ValueError, match="no"):
            together([lambda: 1, _fail], give_up=lambda: given_up.append(True))
    finally:
        torch.set_num_threads(before)
    assert len(given_up) == threads - 1  # one after the other there is nobody left to tell


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
    code = "import sys, drbo.data.check; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
