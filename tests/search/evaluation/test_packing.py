import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drbo.scores.families import Families
from drbo.search.evaluation.packing import Seconds, cut


@given(
    costs=st.lists(st.floats(0.0, 100.0), max_size=40),
    count=st.integers(1, 12),
    cell=st.integers(1, 5),
)
def test_every_row_is_in_one_piece_and_cells_stay_whole(costs, count, cell):
    pieces = cut(np.array(costs), count, cell)
    assert sorted(row for rows in pieces for row in rows.tolist()) == list(range(len(costs)))
    assert len(pieces) <= count
    for rows in pieces:
        assert (np.diff(rows) == 1).all()
        assert rows[0] % cell == 0
        assert (rows[-1] + 1) % cell == 0 or rows[-1] == len(costs) - 1
    sums = [sum(costs[row] for row in rows) for rows in pieces]
    assert sums == pytest.approx(sorted(sums, reverse=True), abs=1e-9)


@given(costs=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=40), count=st.integers(1, 12))
def test_no_piece_has_more_than_its_share_and_two_families(costs, count):
    for rows in cut(np.array(costs), count):
        assert sum(costs[row] for row in rows) <= sum(costs) / count + max(costs) + 1e-9


def test_pieces_of_equal_families_are_equal():
    assert sorted(len(rows) for rows in cut(np.ones(14), 3)) == [4, 5, 5]


def test_nothing_is_cut_into_nothing():
    assert cut(np.empty(0), 3) == []


def test_seconds_follow_nodes_and_sizes():
    d = 4
    families = Families.from_sets(d, [(node, parents) for node in range(d) for parents in ((), ((node + 1) % d,))])
    seconds = Seconds()
    assert seconds.shares(families).tolist() == [1.0] * len(families)
    true = np.where(families.nodes == 3, 9.0, 1.0) * (1 + 2 * families.sizes)
    for row in range(len(families)):
        seconds.note(families[row : row + 1], float(true[row]))
    found = seconds.shares(families)
    assert np.argsort(found, kind="stable").tolist()[-2:] == np.argsort(true, kind="stable").tolist()[-2:]
    assert np.corrcoef(found, true)[0, 1] > 0.95


def test_families_that_take_no_time_are_equal():
    families = Families.from_sets(2, [(0, ()), (1, (0,))])
    seconds = Seconds()
    seconds.note(families, 0.0)
    assert seconds.shares(families).tolist() == [1.0, 1.0]
