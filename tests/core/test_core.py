"""The border of the compiled core: what it refuses, and how it is stopped. Kernels are tested with their modules."""

import ast
import signal
from pathlib import Path

import numpy as np
import pytest

import drbo
from drbo import _core
from drbo.deadline import Deadline, OutOfTimeError, no_deadline
from drbo.search.subset_kernels import split


def test_the_stub_lists_what_the_module_has():
    stub = ast.parse((Path(drbo.__file__).parent / "_core.pyi").read_text())
    listed = {node.name for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert listed == {name for name in vars(_core) if not name.startswith("_")}


@pytest.mark.parametrize(
    "wrong",
    [np.zeros((3, 4), dtype=np.float32), np.zeros((3, 8))[:, ::2], np.zeros(4), np.zeros((3, 4)).T.copy().T],
    ids=["type", "strides", "dimensions", "order"],
)
def test_nothing_is_converted_on_the_way_in(wrong):
    with pytest.raises(TypeError):
        _core.best_inside(wrong, 1)


@pytest.mark.parametrize("shape", [(0, 0), (0, 1), (3, 5), (3, 8), (41, 1)])
def test_a_table_of_the_wrong_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"1 to 40 nodes|wrong shape"):
        _core.best_inside(np.zeros(shape), 1)


def _sets(d):
    shares = np.random.default_rng(d).normal(size=(d, 1 << (d - 1)))
    best = _core.best_inside(shares, 1)
    return shares, best, _core.lattice_forward(best), _core.lattice_backward(best)


@pytest.mark.parametrize(
    "change", [{"node": 4}, {"node": -1}, {"needed": 16}, {"banned": -1}, {"must": 1}, {"needed": 2, "banned": 4}]
)
def test_a_condition_out_of_range_is_refused(change):
    shares, best, before, after = _sets(4)
    with pytest.raises(ValueError, match=r"must be|itself"):
        split(shares, best, **{"node": 0, **change}, before=before, after=after)


def test_a_deadline_that_is_over_stops_a_computation():
    with Deadline() as deadline:
        deadline.stop()
        with pytest.raises(OutOfTimeError):
            _core.best_inside(np.zeros((20, 1 << 19)), 2)
        with no_deadline():
            _core.best_inside(np.zeros((20, 1 << 19)), 2)


@pytest.mark.parametrize("wrong", [np.zeros(1, dtype=np.uint8), 1, object()], ids=["array", "number", "object"])
def test_a_flag_of_another_type_is_refused(wrong):
    with Deadline() as deadline:
        deadline.flag = wrong
        with pytest.raises(TypeError):
            _core.best_inside(np.zeros((2, 2)), 1)
        deadline.flag = _core.StopFlag()


def _long_work(threads):
    """Seconds of work in one call, which has no partial result."""
    logs = np.zeros((16, 1 << 15))
    _core.sum_over_dags(logs, logs, threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_deadline_stops_a_computation(threads):
    with pytest.raises(OutOfTimeError), Deadline(0.02):
        _long_work(threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_signals_are_heard_inside_a_computation(threads):
    def handler(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            _long_work(threads)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads_do_not_change_an_answer():
    shares = np.random.default_rng(0).normal(size=(12, 1 << 11))
    one = _core.best_inside(shares, 1)
    for threads in (0, 2, 5, 100):
        np.testing.assert_array_equal(_core.best_inside(shares, threads), one)
