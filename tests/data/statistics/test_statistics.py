from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from drbo.data.checks.experiments import Experiments
from drbo.data.statistics import blocks
from drbo.data.statistics import statistics as tables
from drbo.data.statistics.blocks import is_large
from drbo.data.statistics.canonical import Canonical
from drbo.data.statistics.resamples import ResampledSums
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums, summed
from drbo.deadline import Deadline
from drbo.errors import DataError

VALUES = np.array([[3.0, 1.0, 2.0], [1.0, 5.0, 2.5], [4.0, 1.0, 0.5], [1.0, 5.0, 7.0]])


def small_tables() -> st.SearchStrategy[np.ndarray]:
    shape = st.tuples(st.integers(3, 6), st.integers(2, 4))
    return shape.flatmap(lambda s: arrays(np.float64, s, elements=st.integers(-2, 2).map(float)))


def test_from_array_copies_and_names() -> None:
    values = VALUES.copy()
    table = Statistics.from_array(values)
    values[0, 0] = 99.0
    assert table.values[0, 0] == 3.0
    assert table.names == ("x0", "x1", "x2")
    assert table.kinds == ("numeric",) * 3
    assert table.levels == (None,) * 3
    assert (table.n_rows, table.n_columns) == (4, 3)


def test_take_keeps_names_kinds_and_levels_together() -> None:
    table = Statistics(VALUES, ("a", "b", "c"), ("numeric", "categorical", "numeric"), (None, ("u", "v"), None))
    part = table.take(np.array([3, 0]), np.array([1, 2]))
    assert part.values.tolist() == [[5.0, 7.0], [1.0, 2.0]]
    assert part.names == ("b", "c")
    assert part.kinds == ("categorical", "numeric")
    assert part.levels == (("u", "v"), None)


@settings(deadline=None)
@given(values=small_tables(), data=st.data())
def test_order_of_rows_and_columns_does_not_matter(values: np.ndarray, data: st.DataObject) -> None:
    n, d = values.shape
    table = Statistics.from_array(values)
    rows = np.array(data.draw(st.permutations(range(n))))
    columns = np.array(data.draw(st.permutations(range(d))))
    shuffled = table.take(rows, columns)
    ordered = table.take(*table.canonical_order())
    again = shuffled.take(*shuffled.canonical_order())
    assert ordered.names == again.names
    assert (ordered.values == again.values).all()
    assert table.digest() == shuffled.digest()


def test_names_do_not_decide_the_order_of_different_columns() -> None:
    _, order = Statistics.from_array(VALUES, ["a", "b", "c"]).canonical_order()
    _, renamed = Statistics.from_array(VALUES, ["z", "y", "x"]).canonical_order()
    assert (order == renamed).all()


def test_rows_are_sorted_by_value() -> None:
    table = Statistics.from_array(VALUES)
    ordered = table.take(*table.canonical_order())
    assert ordered.values.tolist() == sorted(ordered.values.tolist())


def test_minus_zero_is_zero() -> None:
    plus = Statistics.from_array([[0.0, 1.0], [2.0, 3.0]])
    minus = Statistics.from_array([[-0.0, 1.0], [2.0, 3.0]])
    assert plus.digest() == minus.digest()


@pytest.mark.parametrize(
    "other",
    [
        Statistics.from_array(VALUES + 1e-9, ["a", "b", "c"]),
        Statistics.from_array(VALUES, ["a", "b", "d"]),
        Statistics(VALUES, ("a", "b", "c"), ("categorical", "numeric", "numeric"), (("u",), None, None)),
    ],
    ids=["values", "names", "kinds"],
)
def test_digest_sees_a_change_of(other: Statistics) -> None:
    assert Statistics.from_array(VALUES, ["a", "b", "c"]).digest() != other.digest()


def test_columns_with_equal_margins_are_ordered_by_content_not_by_name(rng):
    """Binary columns with the same number of ones: only the rows tell them apart."""
    column = np.repeat([0.0, 1.0], 20)
    values = np.column_stack([rng.permutation(column) for _ in range(6)])
    table = Statistics.from_array(values, names=list("abcdef"))
    rows, columns = table.canonical_order()
    ordered = table.take(rows, columns).values
    for _ in range(5):
        names = rng.permutation(list("abcdef"))
        place, order = rng.permutation(6), rng.permutation(40)
        other = Statistics.from_array(values[np.ix_(order, place)], names=names)
        assert (other.take(*other.canonical_order()).values == ordered).all()


def test_columns_that_nothing_tells_apart_get_some_order():
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    table = Statistics.from_array(values)
    assert sorted(table.canonical_order()[1].tolist()) == [0, 1]


def test_the_canonical_order_does_not_depend_on_units(rng):
    values = rng.normal(size=(200, 6))
    rows, columns = Statistics.from_array(values).canonical_order()
    other_rows, other_columns = Statistics.from_array(values * 10.0 ** rng.uniform(-2, 2, size=6)).canonical_order()
    assert np.array_equal(rows, other_rows)
    assert np.array_equal(columns, other_columns)


def _awkward(rng: np.random.Generator, kind: str) -> np.ndarray:
    values = rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-4, 4, size=7)
    if kind == "groups":
        return rng.integers(0, 3, size=(50, 7)).astype(float)
    if kind == "alike":  # the same values in every column, in another order
        return rng.permuted(np.repeat(values[:, :1], 7, axis=1), axis=0)
    if kind == "missing":
        values[rng.random(values.shape) < 0.1] = np.nan
    return values


@pytest.mark.parametrize("kind", ["numbers", "groups", "alike", "missing"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_large_table_is_ordered_and_hashed_like_a_small_one(
    kind: str, weighted: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = _awkward(rng, kind)
    weights = rng.integers(1, 3, size=50).astype(float) if weighted else None
    about = (tuple("abcdefg"), ("numeric",) * 7, (None,) * 7, weights)
    small = Statistics(values, *about)
    order, hashed = small.canonical_order(), small.digest()
    taken = small.take(*order).values
    for name, value in (("LARGE_CELLS", 100), ("SLAB_CELLS", 120), ("BLOCK_ROWS", 9)):
        monkeypatch.setattr(blocks, name, value)
    large = Statistics(np.asfortranarray(values), *about)
    assert (small.large, large.large, large.incomplete) == (True, True, kind == "missing")
    found = large.canonical_order()
    assert [part.tolist() for part in found] == [part.tolist() for part in order]
    again = large.take(*order)
    assert again.values.flags.f_contiguous
    assert again.values.tobytes() == taken.tobytes()
    assert large.digest() == hashed
    ordered = large.take(*order)
    ordered.note_order()
    assert ordered.digest() == hashed


def test_complete_rows_of_a_complete_table_are_the_table() -> None:
    table = Statistics.from_array(VALUES)
    assert table.complete_rows is table


def test_the_moments_of_a_large_table_stand_for_its_rows(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = rng.normal(size=(60, 3)) + 100
    assert Statistics.from_array(values).rows_or_moments is not None
    monkeypatch.setattr(blocks, "LARGE_CELLS", 100)
    found = Statistics.from_array(values).large_moments
    assert Statistics.from_array(values).rows_or_moments.covariance == pytest.approx(np.cov(values.T, bias=True))
    assert found.mean == pytest.approx(values.mean(axis=0))
    assert (found.n, found.pairs.tolist()) == (60.0, [[60.0] * 3] * 3)


def test_a_wide_table_computes_its_moments_once(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Statistics.from_array(rng.normal(size=(60, 3)))
    monkeypatch.setattr(tables, "MANY_COLUMNS", 2)
    monkeypatch.setattr(tables, "complete_moments", Mock(wraps=tables.complete_moments))
    ordered = Canonical(table, list(table.names), movable=True).table
    assert table.rows_or_moments.covariance == pytest.approx(np.cov(table.values.T, bias=True))
    assert ordered.rows_or_moments.covariance == pytest.approx(np.cov(ordered.values.T, bias=True))
    tables.complete_moments.assert_called_once()


def test_there_is_no_hurry_without_a_limit(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "LARGE_CELLS", 100)
    table = Statistics.from_array(rng.normal(size=(60, 3)))
    assert is_large(60, 3)
    assert not table.is_hurried
    with Deadline(1000.0):
        assert not table.is_hurried
    with Deadline(0.0):
        assert table.is_hurried
        table.canonical_order()  # it is known from here on
        assert not table.is_hurried


def _summed(rng: np.random.Generator) -> tuple[np.ndarray, Statistics]:
    """Rows, and what is left of them once they are summed up: a few of them, and the sums over squares, too."""
    x = rng.normal([5.0, -1.0], size=(60, 2))
    sums = summed("ab", [x], resampled=ResampledSums(2, 3))
    squares = Statistics.from_sums(summed("abcd", [np.c_[x, x**2]], resampled=ResampledSums(4, 3)))
    return x, replace(Statistics.from_sums(sums), values=x[::3], first=x[:7]).with_bases(squares, np.array([2, 2]))


def test_sums_answer_what_rows_do(rng: np.random.Generator) -> None:
    x, table = _summed(rng)
    rows = Statistics.from_array(x, names="ab")
    assert (table.n, table.n_rows, table.n_counted, table.n_read, table.n_worth) == (60, 20, 60.0, 60, 0.0)
    assert (rows.n, rows.n_rows, rows.n_counted, rows.n_read, rows.n_worth) == (60, 60, 60.0, 60, 0.0)
    assert (table.whole, table.complete, rows.whole, rows.complete) == (False, False, True, True)
    assert np.array_equal(table.ranges, rows.ranges)
    for one in (table, rows):
        assert np.allclose(one.moments_of_all.covariance, np.cov(x.T, bias=True))
    assert table.offers == {"moments", "bases"}
    assert rows.offers == {"rows", "moments", "bases", "counts"}
    holes = replace(rows, values=np.where(x > 6, np.nan, x))
    assert (holes.offers, holes.complete) == ({"moments"}, False)


def test_rows_beside_sums_are_a_table_of_their_own(rng: np.random.Generator) -> None:
    x, table = _summed(rng)
    assert np.array_equal(table.rows_here.values, x[::3])
    assert np.array_equal(table.rows_in_order.values, x[:7])
    assert table.rows_here.whole
    assert table.rows_in_order.offers == table.rows_here.offers == {"rows", "moments", "bases", "counts"}
    assert Statistics.from_sums(Sums.of_rows("ab", x)).rows_in_order.values.shape == (0, 2)
    assert not table.all_kept
    assert replace(Statistics.from_sums(Sums.of_rows("ab", x)), values=x).all_kept


def test_columns_of_sums_keep_what_belongs_to_them(rng: np.random.Generator) -> None:
    x, table = _summed(rng)
    taken = table.take(np.arange(20), np.array([1, 0]))
    assert (taken.names, taken.sums.names, taken.first.tolist()) == (("b", "a"), ("b", "a"), x[:7, ::-1].tolist())
    assert np.allclose(taken.bases.covariance, np.cov(np.c_[x, x**2][:, [2, 3, 0, 1]].T, bias=True))
    assert taken.digest() == table.digest()


def test_a_resample_is_drawn_rows_or_the_sums_of_one(rng: np.random.Generator) -> None:
    x, table = _summed(rng)
    drawn = table.resample(np.array([2]))
    assert (drawn.n, drawn.n_rows, len(drawn.first)) == (table.resampled_rows[2], 0, 0)
    assert drawn.bases.n == table.bases.sums.resamples.n[2]
    assert len(drawn.resampled_rows) == 0
    assert len(table.resampled_rows) == 3
    rows = Statistics.from_array(x)
    assert np.array_equal(rows.resample(np.array([4, 4, 1])).values, x[[4, 4, 1]])
    with pytest.raises(DataError, match="the files have 59 complete rows, but 60 when they were first read"):
        table.with_bases(Statistics.from_sums(Sums.of_rows("ab", x[1:])), np.array([1, 1]))


def test_rows_may_count_as_less(rng: np.random.Generator) -> None:
    x, table = _summed(rng)
    assert table.counting_as(0.5).n_worth == table.counting_as(0.5).n_counted == 30.0
    rows = Statistics.from_array(x).counting_as(0.5)
    assert rows.n_worth == rows.counting_as(0.5).n_worth * 2 == 30.0


def test_rows_that_count_as_less_remember_their_order(rng: np.random.Generator) -> None:
    x = rng.normal(size=(60, 3))
    table = Statistics.from_array(x)
    assert table.in_order is table
    shuffled = table.counting_as(0.5).take(rng.permutation(60), np.array([2, 0]))
    assert np.array_equal(shuffled.in_order.values, x[:, [2, 0]])
    half = shuffled.take(np.arange(30), np.arange(2)).in_order
    assert np.array_equal(half.values, x[np.sort(shuffled.order[:30])][:, [2, 0]])


def test_rows_without_experiments_are_one_control() -> None:
    table = Statistics.from_array(VALUES)
    assert (table.from_experiments, table.runs.labels, table.runs.codes.tolist()) == (False, ("control",), [0] * 4)
    assert table.within_experiments(VALUES) is VALUES
    two = replace(table, experiments=Experiments(np.array([0, 1, 0, 1]), ("control", "hot")))
    assert two.from_experiments
    assert two.runs is two.experiments
    assert np.allclose(two.within_experiments(VALUES)[[0, 2]], VALUES[[0, 2]] - VALUES[[0, 2]].mean(axis=0))


def test_rows_become_a_frame_with_categories_as_text() -> None:
    codes = np.array([[0.5, 1.0], [1.5, 0.0]])
    frame = Statistics(codes, ("a", "b"), ("numeric", "categorical"), (None, ("u", "v"))).frame()
    assert frame.to_dict("list") == {"a": [0.5, 1.5], "b": ["v", "u"]}
