"""Same seed, same answer: whatever the threads, the chunks, the executor, and the order and names of the columns."""

import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Settings
from drbo.data.simulate import simulate

#: Route, score and budget: the networks, the order search, and an expensive score.
ROUTES = {
    "networks": {"score": "bic-nv", "max_evals": 100},
    "orders": {"score": "bic-nv"},
    "gp": {"score": "gp", "max_evals": 10},
}


def _frame(seed=3, d=5, n=60):
    return pd.DataFrame(simulate(f"{d}ER2", n=n, seed=seed).X, columns=list("abcdefghij"[:d]))


def _fingerprint(model):
    """Return all that a search did, as text; seconds are no part of it."""
    result = model.result_
    trace = {name: column.tolist() for name, column in result.trace_columns.items() if name != "seconds"}
    return json.dumps([result.score, result.dag.tolist(), result.local.tolist(), trace, result.stopped])


def _edges(matrix, names):
    return {(names[i], names[j]) for i, j in np.argwhere(matrix)}


PROGRAM = """
import json, sys, torch
from tests.faults.test_determinism import ROUTES, _fingerprint, _frame
from drbo import DrBO
torch.set_num_threads(int(sys.argv[2]))
print(_fingerprint(DrBO(random_state=1, **ROUTES[sys.argv[1]]).fit(_frame())))
"""


@pytest.mark.parametrize("route", ["networks", "orders"])
def test_threads_and_processes(route):
    """Another process with another number of threads and another hash seed comes to the same, bit by bit.

    The kernel scores (gp, gp-ev, gp-nv) are left out: LAPACK and torch cut their sums by threads.
    """
    found = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "PYTHONHASHSEED": threads}
        command = [sys.executable, "-c", PROGRAM, route, threads]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.add(done.stdout)
    assert len(found) == 1


@pytest.mark.parametrize("score", ["gp", "splines", "bic-nv"])
def test_executors(score):
    frame, options = _frame(), {"score": score, "max_evals": 10, "random_state": 1}
    alone = _fingerprint(DrBO(**options).fit(frame))
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        for executor in (threads, processes):
            assert _fingerprint(DrBO(executor=executor, **options).fit(frame)) == alone


def test_chunks_of_the_networks():
    """Less memory means smaller chunks and the same draws."""
    found = {
        _fingerprint(
            DrBO(random_state=1, score="bic-nv", settings=Settings(max_evals=150, max_memory=room)).fit(_frame())
        )
        for room in (0.02, 0.05, 4.0)
    }
    assert len(found) == 1


@pytest.mark.parametrize("route", list(ROUTES))
def test_order_and_names_of_columns_and_order_of_rows(route, rng):
    """By names bit for bit; under other names the same class of graphs."""
    frame = _frame()
    first = DrBO(random_state=1, **ROUTES[route]).fit(frame)
    columns, rows = rng.permutation(frame.columns), rng.permutation(len(frame))
    moved = DrBO(random_state=1, **ROUTES[route]).fit(frame.iloc[rows][list(columns)])
    assert moved.score_ == first.score_
    assert _edges(moved.result_.dag, moved.result_.names) == _edges(first.result_.dag, first.result_.names)
    names = dict(zip(frame.columns, rng.permutation(list("pqrstuvwxyz"))[: frame.shape[1]].tolist(), strict=True))
    renamed = DrBO(random_state=1, **ROUTES[route]).fit(frame.iloc[rows][list(columns)].rename(columns=names))
    expected = {(names[a], names[b]) for a, b in _edges(first.result_.cpdag, first.result_.names)}
    assert _edges(renamed.result_.cpdag, renamed.result_.names) == expected


def test_names_of_columns_with_equal_margins(rng):
    """Balanced binary columns have the same sorted values; their names decide nothing all the same."""
    column = np.repeat([False, True], 60)
    frame = pd.DataFrame({name: rng.permutation(column) for name in "abcde"})
    frame["e"] = np.where(rng.random(120) < 0.9, frame["a"], ~frame["a"])
    frame["d"] = frame["a"].to_numpy()[rng.permutation(120)]
    first = DrBO(random_state=1, score="bdeu", max_evals=60).fit(frame)
    names = dict(zip("abcde", ["z", "k", "b", "a", "m"], strict=True))
    columns = [names[name] for name in rng.permutation(list("abcde"))]
    second = DrBO(random_state=1, score="bdeu", max_evals=60).fit(frame.rename(columns=names)[columns])
    expected = {(names[a], names[b]) for a, b in _edges(first.result_.cpdag, first.result_.names)}
    assert second.score_ == first.score_
    assert _edges(second.result_.cpdag, second.result_.names) == expected


def test_repeats():
    for options in ROUTES.values():
        assert _fingerprint(DrBO(random_state=1, **options).fit(_frame())) == _fingerprint(
            DrBO(random_state=1, **options).fit(_frame())
        )
