"""A search that is killed goes on as if it had never stopped."""

import sys

import pytest

from tests.faults.campaign import kills
from tests.forked import forked


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_searches_go_on():
    done = forked(lambda: print(sum(row["failed"] for row in kills(1, seed=5))))  # it saves all searches of a process
    assert (done.code, done.out.strip()) == (0, "0"), done.out + done.err
