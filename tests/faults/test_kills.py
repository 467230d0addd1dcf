"""A search that is killed goes on as if it had never stopped."""

import sys

import pytest

from tests.faults.campaign import SEARCHES, kills
from tests.forked import forked


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
def test_killed_searches_go_on(monkeypatch):
    for options in SEARCHES.values():
        for name, value in {"order_patience": 10, "max_evals": 40, "n_candidates": 500}.items():
            if name in options["settings"]:
                monkeypatch.setitem(options["settings"], name, value)
    done = forked(lambda: print(sum(row["failed"] for row in kills(1, seed=5))))  # it saves all searches of a process
    assert (done.code, done.out.strip()) == (0, "0"), done.out + done.err
