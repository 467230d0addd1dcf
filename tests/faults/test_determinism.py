"""Same seed, same answer: whatever the clock, threads, chunks, executor, and the order and names of the columns."""

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Settings
from drbo.data.checks.check import check_table
from drbo.data.files.simulate import simulate
from drbo.scores.families import Families
from drbo.scores.registry import SCORES, build_score
from drbo.search.evaluation import remote as workers
from drbo.search.evaluation.local_scores import local_scores
from drbo.search.evaluation.remote import Workers
from tests.faults.repeats import KERNELS, repeats, tables

#: Score and budget that take each of the routes of the default preset, and an expensive score.
ROUTES = {
    "surrogate": {"score": "bic-nv", "max_evals": 20},
    "orders": {"score": "bic-nv"},
    "gp": {"score": "gp", "max_evals": 6},
}


def _frame(seed=3, d=5, n=60):
    return pd.DataFrame(simulate(f"{d}ER2", n=n, seed=seed).X, columns=list("abcdefghij"[:d]))


def _fingerprint(model):
    """Return all that the search of a model or a result did, as text; seconds are no part of it."""
    result = getattr(model, "result_", model)
    trace = {name: column.tolist() for name, column in result.trace.items() if name != "seconds"}
    route = result.settings["route"]
    return json.dumps([result.score, result.dag.tolist(), result.search.local.tolist(), trace, result.stopped, route])


def _edges(matrix, names):
    return {(names[i], names[j]) for i, j in np.argwhere(matrix)}


PROGRAM = """
import json, sys
from tests.faults.test_determinism import ROUTES, _fingerprint, _frame
from drbo import DrBO
from drbo.machine.threads import use_threads
use_threads(2)
for route in sys.argv[1:]:
    print(_fingerprint(DrBO(random_state=1, **ROUTES[route]).fit(_frame())))
"""


@pytest.fixture(scope="module")
def here():
    """The answer of each route in this process, with one thread."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("drbo.machine.threads._asked", 1)
        routes = [route for route in ROUTES if route != "gp" or find_spec("torch")]
        return {route: _fingerprint(DrBO(random_state=1, **ROUTES[route]).fit(_frame())) for route in routes}


@pytest.fixture(scope="module")
def elsewhere(here):
    """The answers in a process with two threads and another hash seed."""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "PYTHONHASHSEED": "2"}
    command = [sys.executable, "-c", PROGRAM, *here]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(zip(here, done.stdout.splitlines(), strict=True))


@pytest.mark.parametrize("route", ["surrogate", "orders"])
def test_threads_and_processes(route, here, elsewhere):
    """Another process with another number of threads and another hash seed comes to the same, bit by bit.

    The kernel scores (gp, gp-ev, gp-nv) are left out: LAPACK and torch cut their sums by threads.
    """
    assert here[route] == elsewhere[route]


@pytest.mark.torch
def test_threads_of_kernel_scores(here, elsewhere):
    """Their last bits may change with the threads; the graph does not."""
    found = [json.loads(answers["gp"]) for answers in (here, elsewhere)]
    assert found[0][1] == found[1][1]
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-9)


@pytest.fixture
def _one_thread(use):
    use(1)


@pytest.mark.usefixtures("_one_thread")  # as many at home as in a process that is forked
@pytest.mark.parametrize("score", ["splines", "mixed", "bic-nv", "bdeu"])
def test_executors_and_sizes_of_pieces(score, monkeypatch):
    """Work that would stay at home is sent away, in pieces of several sizes."""
    frame, options = tables()[score], {"score": score, "max_evals": 10, "random_state": 1}
    counts, real = [], Workers._elsewhere
    monkeypatch.setattr(
        Workers, "_elsewhere", lambda self, *given: (counts.append(len(given[0])), real(self, *given))[1]
    )
    with ThreadPoolExecutor(2) as threads, ProcessPoolExecutor(2) as processes:
        alone = _fingerprint(DrBO(executor=threads, **options).fit(frame))
        for executor, most in ((threads, 1e-6), (processes, 1e-5)):
            monkeypatch.setattr(workers, "LEAST_SECONDS", most / 10)
            monkeypatch.setattr(workers, "MOST_SECONDS", most)
            assert _fingerprint(DrBO(executor=executor, **options).fit(frame)) == alone
    assert max(counts) > 2


#: Seconds that pass between two looks at a clock: nothing seems to take time, all takes long, or anything goes.
PACES = (1e-9, 10.0, None)


def _set_clocks(monkeypatch, pace):
    """Replace all clocks by one that never goes back and knows nothing of the time."""
    jumps, now = random.Random(0), [0.0]

    def clock():
        now[0] += jumps.choice([0.0, 1e-6, 1e-3, 1.0, 1e4]) if pace is None else pace
        return now[0]

    for name in ("monotonic", "perf_counter", "process_time", "thread_time"):
        monkeypatch.setattr(time, name, clock)


@pytest.mark.parametrize("score", SCORES)
def test_repeats_with_clocks_that_say_anything(score):
    options = {"score": score, "random_state": 1} | ({"max_evals": 6} if score in KERNELS else {})
    found = {_fingerprint(DrBO(**options).fit(tables()[score]))}
    for pace in PACES:
        with pytest.MonkeyPatch.context() as monkeypatch:
            _set_clocks(monkeypatch, pace)
            found.add(_fingerprint(DrBO(**options).fit(tables()[score])))
    assert len(found) == 1


def test_resamples_and_seeds_with_clocks_that_say_anything():
    frame, found = tables()["logistic"], set()
    for pace in PACES:
        with pytest.MonkeyPatch.context() as monkeypatch:
            _set_clocks(monkeypatch, pace)
            model = DrBO(score="logistic", random_state=1).fit(frame)
            counted = [model.bootstrap(frame, n=2), model.stability(frame, seeds=2)]
            shares = [[each.directed.tolist(), each.undirected.tolist()] for each in counted]
            found.add(json.dumps([_fingerprint(model), shares]))
    assert len(found) == 1


@pytest.mark.usefixtures("_one_thread")
@pytest.mark.parametrize("name", SCORES)
def test_where_local_scores_are_computed_follows_the_clock_and_their_values_do_not(name, rng):
    score = build_score(name, check_table(tables()[name])[0])
    count = 2 * (score.cell or 20) + 5
    parents, nodes = rng.random((count, 4)) < 0.4, rng.integers(4, size=count)
    parents[np.arange(count), nodes] = False
    families, sent = Families(nodes.astype(np.intp), parents), []
    expected = local_scores(score, families)
    for pace in PACES:
        with pytest.MonkeyPatch.context() as monkeypatch, ThreadPoolExecutor(2) as threads:
            _set_clocks(monkeypatch, pace)
            workers = Workers(score, threads)
            values = [workers.local(families), workers.local(families)]
            sent.append(workers.n_sent)
        assert all(np.array_equal(each, expected) for each in values)
    assert sent[0] == 0
    assert sent[1] > 0


@pytest.mark.usefixtures("_one_thread")
def test_an_executor_with_clocks_that_say_anything():
    frame, options = tables()["mixed-cg"], {"score": "mixed-cg", "max_evals": 10, "random_state": 1}
    found = set()
    for pace in PACES:
        with pytest.MonkeyPatch.context() as monkeypatch, ThreadPoolExecutor(2) as threads:
            _set_clocks(monkeypatch, pace)
            found.add(_fingerprint(DrBO(executor=threads, **options).fit(frame)))
    assert len(found) == 1


@pytest.mark.usefixtures("_one_thread")
@pytest.mark.parametrize("name", [*KERNELS, "logistic"])
def test_pieces_of_scores_that_are_computed_in_cells(name, rng, monkeypatch):
    """More families than two cells hold, cut as finely as they can be."""
    score = build_score(name, check_table(tables()[name])[0])
    count = 2 * score.cell + 5
    parents, nodes = rng.random((count, 4)) < 0.4, rng.integers(4, size=count)
    parents[np.arange(count), nodes] = False
    families = Families(nodes.astype(np.intp), parents)
    monkeypatch.setattr(workers, "LEAST_SECONDS", 1e-7)
    monkeypatch.setattr(workers, "MOST_SECONDS", 1e-6)
    with ThreadPoolExecutor(2) as threads:
        seam = Workers(score, threads)
        seam.seconds_each = 1.0
        assert np.array_equal(seam.local(families), local_scores(score, families))
    assert seam.n_sent == count


def test_chunks_of_the_networks():
    """Less memory means smaller chunks and the same draws."""
    found = {
        _fingerprint(
            DrBO(random_state=1, score="bic-nv", settings=Settings(max_evals=20, max_memory=room)).fit(_frame())
        )
        for room in (0.02, 0.05, 4.0)
    }
    assert len(found) == 1


#: Every score on every route that can take it; an order search with a Gaussian process would take minutes. Two scores
#: show that a longer surrogate search, which is the same for all of them, depends on no order.
LONGER = ("bic-nv", "mixed")
CASES = [
    *((score, "surrogate", {"max_evals": 15 if score in LONGER else 6, "score": score}) for score in SCORES),
    *((score, "orders", {"score": score}) for score in SCORES if score not in KERNELS),
]


@pytest.mark.parametrize(("score", "route", "options"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_order_and_names_of_columns_and_order_of_rows(score, route, options, rng):
    """By names bit for bit; under other names the same class of graphs."""
    frame = tables()[score]
    options = {**options, "settings": Settings(route=route, order_patience=5)}
    first = DrBO(random_state=1, **options).fit(frame)
    columns, rows = rng.permutation(frame.columns), rng.permutation(len(frame))
    moved = DrBO(random_state=1, **options).fit(frame.iloc[rows][list(columns)])
    assert moved.score_ == first.score_
    assert _edges(moved.result_.dag, moved.result_.names) == _edges(first.result_.dag, first.result_.names)
    names = dict(zip(frame.columns, rng.permutation(list("pqrstuvwxyz"))[: frame.shape[1]].tolist(), strict=True))
    renamed = DrBO(random_state=1, **options).fit(frame.iloc[rows][list(columns)].rename(columns=names))
    expected = {(names[a], names[b]) for a, b in _edges(first.result_.cpdag, first.result_.names)}
    assert _edges(renamed.result_.cpdag, renamed.result_.names) == expected


def test_names_of_columns_with_equal_margins(rng):
    """Balanced binary columns have the same sorted values; their names decide nothing all the same."""
    column = np.repeat([False, True], 60)
    frame = pd.DataFrame({name: rng.permutation(column) for name in "abcde"})
    frame["e"] = np.where(rng.random(120) < 0.9, frame["a"], ~frame["a"])
    frame["d"] = frame["a"].to_numpy()[rng.permutation(120)]
    first = DrBO(random_state=1, score="bdeu", max_evals=30).fit(frame)
    names = dict(zip("abcde", ["z", "k", "b", "a", "m"], strict=True))
    columns = [names[name] for name in rng.permutation(list("abcde"))]
    second = DrBO(random_state=1, score="bdeu", max_evals=30).fit(frame.rename(columns=names)[columns])
    expected = {(names[a], names[b]) for a, b in _edges(first.result_.cpdag, first.result_.names)}
    assert second.score_ == first.score_
    assert _edges(second.result_.cpdag, second.result_.names) == expected


@pytest.mark.usefixtures("_one_thread")
def test_repeats(here):
    for route, answer in here.items():
        assert _fingerprint(DrBO(random_state=1, **ROUTES[route]).fit(_frame())) == answer


def test_repeats_under_load():
    outcome = repeats(2, ["logistic", "bic-nv"])
    assert (outcome["tried"], outcome["failed"]) == (4, 0)
