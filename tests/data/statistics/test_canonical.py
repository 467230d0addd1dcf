import numpy as np
import pytest

from drbo.data.statistics import blocks
from drbo.data.statistics.canonical import Canonical, checked_matrix
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError


def _canonical(values, **options):
    names = [f"x{j}" for j in range(values.shape[1])]
    return Canonical(Statistics.from_array(values, names), names, movable=True, **options)


def test_the_order_of_rows_and_columns_does_not_show(rng):
    values = rng.normal(size=(20, 4))
    shuffled = values[np.ix_(rng.permutation(20), rng.permutation(4))]
    assert (_canonical(values).table.values == _canonical(shuffled).table.values).all()


def test_graphs_and_vectors_find_their_way_back(rng):
    job = _canonical(rng.normal(size=(20, 4)))
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    ordered = dag[np.ix_(job.columns, job.columns)]
    assert (job.restored(ordered) == dag).all()
    assert job.restored_vector(np.arange(4.0)[job.columns]).tolist() == [0, 1, 2, 3]


def test_what_is_bound_to_its_order_stays():
    values = np.array([[3.0, 1.0], [2.0, 5.0], [0.0, 4.0]])
    table = Statistics.from_array(values)
    fixed = Canonical(table, ["x0", "x1"], movable=False)
    assert (fixed.table.values == values).all()
    assert _canonical(values, sort_rows=False).rows.tolist() == [0, 1, 2]


def test_options_that_speak_of_columns_follow(rng):
    values = rng.normal(size=(5, 3))
    job = _canonical(values)
    prior = rng.normal(size=(3, 3))
    ordered = job.ordered_options({"edge_prior": prior, "penalty": 2})
    assert (ordered["edge_prior"] == prior[np.ix_(job.columns, job.columns)]).all()
    assert ordered["penalty"] == 2


def test_a_wrong_shape_is_named():
    with pytest.raises(SettingsError, match=r"edge_prior must have shape \(3, 3\), got \(2, 2\)"):
        checked_matrix("edge_prior", np.zeros((2, 2)), (3, 3))


def test_a_large_table_that_must_not_move_is_not_copied(rng, monkeypatch):
    monkeypatch.setattr(blocks, "LARGE_CELLS", 50)
    table = Statistics.from_array(rng.normal(size=(20, 4)), list("abcd"))
    job = Canonical(table, list("abcd"), movable=False)
    assert job.table is table


def test_the_hash_is_that_of_the_given_table(rng):
    values = rng.normal(size=(20, 4))
    expected = Statistics.from_array(values, list("abcd")).digest()
    table = Statistics.from_array(values, list("abcd"))
    assert Canonical(table, list("abcd"), movable=True).digest() == expected
    assert table.digest() == expected


@pytest.mark.parametrize("missing", [False, True])
def test_the_sign_of_a_column_does_not_change_the_order(rng, missing):
    values = rng.exponential(size=(30, 5))
    values[:, 4] = values[rng.permutation(30), 3]  # same values in other rows
    values[:, 2] = np.repeat([-2.0, -1.0, 0.0, 1.0, 2.0], 6)  # its own mirror image
    if missing:
        values[3, 1] = np.nan
    jobs = [_canonical(values * signs) for signs in (np.ones(5), [1, -1, 1, -3, 1], [-1, 1, 1, 1, -2])]
    for job in jobs[1:]:
        assert job.columns.tolist() == jobs[0].columns.tolist()
        assert job.rows.tolist() == jobs[0].rows.tolist()


@pytest.mark.parametrize("movable", [True, False])
def test_both_orders_of_a_large_table_have_its_moments(movable, rng, monkeypatch):
    monkeypatch.setattr(blocks, "LARGE_CELLS", 10)
    table = Statistics.from_array(rng.normal(size=(20, 4)))
    ordered = Canonical(table, list(table.names), movable=movable)
    for one in (ordered.table, table):
        np.testing.assert_allclose(one.large_moments.covariance, np.cov(one.values.T, bias=True))
