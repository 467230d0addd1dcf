import numpy as np
import pytest
from scipy import stats

from drbo.data.statistics import blocks
from drbo.data.statistics.units import normal_scores, ranked, standardized, unit_free, winsorized
from drbo.deadline import Deadline, OutOfTimeError


def test_standardised_columns_are_the_same_to_the_last_bit_in_other_units(rng):
    values = rng.normal(size=(200, 6)) + 5.0
    assert np.array_equal(unit_free(values), unit_free(values * 10.0 ** rng.uniform(-2, 2, size=6)))
    assert np.array_equal(standardized(np.ones((4, 1))), np.zeros((4, 1)))


def test_normal_scores_share_the_ranks_of_ties():
    np.testing.assert_allclose(normal_scores([2.0, 1.0, 2.0, 7.0]), stats.norm.ppf([0.5, 0.125, 0.5, 0.875]))


def test_ranks_undo_a_monotone_scale(rng):
    values = rng.normal(size=(80, 2))
    np.testing.assert_allclose(ranked(values), ranked(np.exp(values)))


def test_a_row_of_weight_w_has_the_ranks_of_w_equal_rows(rng):
    column, times = rng.integers(0, 9, size=40).astype(float), rng.integers(1, 5, size=40)
    repeated = normal_scores(np.repeat(column, times))
    np.testing.assert_allclose(np.repeat(normal_scores(column, times), times), repeated)
    np.testing.assert_allclose(normal_scores(column, times * 0.3), normal_scores(column, times))


def test_winsorized_columns_follow_their_units_and_leave_others_alone(rng):
    x = rng.standard_cauchy(size=(200, 1))
    assert winsorized(-7 * x + 3) == pytest.approx(-7 * winsorized(x) + 3)
    assert np.abs(winsorized(x)).max() < np.abs(x).max() / 2
    spikes = np.r_[np.zeros(150), 1e6 * np.ones(20)][:, None]
    assert np.array_equal(winsorized(spikes), spikes)


def test_the_deadline_ends_the_ranks_of_a_large_table_alone(monkeypatch):
    values = np.random.default_rng(0).normal(size=(20, 3))
    with Deadline(0.0):
        assert ranked(values).shape == (20, 3)
        monkeypatch.setattr(blocks, "LARGE_CELLS", 59)
        with pytest.raises(OutOfTimeError):
            ranked(values)
