import time

import numpy as np
import pytest

from drbo.deadline import Deadline
from drbo.search.exact import astar
from drbo.search.exact.astar import Groups, solve
from drbo.search.exact.components import Piece, divided
from drbo.search.exact.useful_parents import Effort
from tests.search.subset_dp import best_dag


def _random(rng, d, most=12, gain=1.0):
    """Random parent sets, of which each node has the empty one."""
    masks, shares = [], []
    for node in range(d):
        sets = {0} | {int(rng.integers(1 << d)) & int(rng.integers(1 << d)) & ~(1 << node) for _ in range(most)}
        value = np.array([gain * mask.bit_count() * rng.random() for mask in sets])
        rank = np.argsort(-value)
        masks.append(np.array(list(sets), dtype=np.uint64)[rank])
        shares.append(value[rank])
    return Piece(np.arange(d), masks, shares)


def _optimum(piece):
    nodes = np.repeat(np.arange(piece.size), [len(part) for part in piece.masks])
    masks, shares = np.concatenate(piece.masks).astype(np.int64), np.concatenate(piece.shares)
    dag = best_dag(piece.size, nodes, masks, shares)
    return _value(piece, dag)


def _value(piece, dag):
    masks = dag.T @ (1 << np.arange(piece.size))
    return sum(piece.shares[k][piece.masks[k] == np.uint64(mask)][0] for k, mask in enumerate(masks))


def _solved(piece, known, **limits):
    effort = Effort(time.monotonic() + 60, **{"group": 4, "alone": limits.get("group", 4), **limits})
    return solve(piece, np.arange(piece.size), known, effort, 1e-9), effort


@pytest.mark.parametrize("group", [2, 4, 20])
@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_that_of_the_dynamic_program(seed, group):
    piece = _random(np.random.default_rng(seed), 10)
    solved, effort = _solved(piece, np.zeros(10), group=group)
    best = _optimum(piece)
    assert solved.upper == pytest.approx(best, abs=1e-8)
    assert _value(piece, piece.best_dag(solved.order)) == pytest.approx(best, abs=1e-8)
    assert (effort.n_states > 0) == (group < 10)


@pytest.mark.parametrize("seed", range(4))
def test_a_known_optimum_is_confirmed_with_less_work(seed):
    piece = _random(np.random.default_rng(seed), 10)
    solved, effort = _solved(piece, np.zeros(10))
    dag = piece.best_dag(solved.order)
    masks = dag.T @ (1 << np.arange(10))
    known = np.array([piece.shares[k][piece.masks[k] == np.uint64(mask)][0] for k, mask in enumerate(masks)])
    again = Effort(time.monotonic() + 60, group=4, alone=4)
    confirmed = solve(piece, solved.order, known, again, 1e-9)
    assert confirmed.upper == pytest.approx(known.sum(), abs=1e-8)
    assert again.n_states <= effort.n_states


@pytest.mark.parametrize("limits", [{"max_states": 30}, {"max_states": 1000}, {"max_followed": 1}])
@pytest.mark.parametrize("seed", range(4))
def test_a_search_that_is_cut_short_gives_a_valid_bound(seed, limits):
    piece = _random(np.random.default_rng(seed), 12, most=20)
    best = _optimum(piece)
    solved, _ = _solved(piece, np.zeros(12), **limits)
    assert solved.upper >= best - 1e-8
    assert _value(piece, piece.best_dag(solved.order)) <= best + 1e-8


def test_no_time_at_all_gives_a_valid_bound():
    piece = _random(np.random.default_rng(0), 12, most=20)
    solved = solve(piece, np.arange(12), np.zeros(12), Effort(time.monotonic() - 1, group=4, alone=4), 1e-9)
    assert solved.upper >= _optimum(piece)


def test_a_stop_ends_the_search_with_a_valid_bound():
    piece = _random(np.random.default_rng(0), 12, most=20)
    with Deadline() as deadline:
        deadline.stop()
        solved = solve(piece, np.arange(12), np.zeros(12), Effort(time.monotonic() + 60, group=4, alone=4), 1e-9)
    assert not solved.exact
    assert solved.upper >= _optimum(piece)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_partition_rules_out_is_in_no_best_dag(seed):
    """The bound on the DAGs with a parent set is not below the best such DAG."""
    piece = _random(np.random.default_rng(seed), 8, most=6)
    groups = Groups.of(piece, divided(piece.links(), 3))
    assert groups.root >= _optimum(piece) - 1e-9
    ceilings = groups.ceilings(piece)
    for node in range(8):
        for row in range(len(piece.masks[node])):
            rows = [np.ones(len(part), dtype=bool) for part in piece.masks]
            rows[node] = np.arange(len(rows[node])) == row
            assert ceilings[node][row] >= _optimum_or_none(piece.kept(rows)) - 1e-9


def _optimum_or_none(piece):
    """Return the optimum, minus infinity where no DAG has these parent sets."""
    from drbo.search import subset_kernels

    table = subset_kernels.best_inside(astar._table(piece, np.arange(piece.size)))
    return subset_kernels.forward(table)[-1]


def test_pieces_that_fall_apart_are_solved_apart():
    rng = np.random.default_rng(3)
    parts = [_random(rng, 6) for _ in range(5)]
    masks = [part << np.uint64(6 * k) for k, piece in enumerate(parts) for part in piece.masks]
    shares = [part for piece in parts for part in piece.shares]
    solved, effort = _solved(Piece(np.arange(30), masks, shares), np.zeros(30), group=6)
    assert solved.upper == pytest.approx(sum(_optimum(part) for part in parts))
    assert effort.n_states == 0
