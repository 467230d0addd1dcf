import numpy as np
import pytest

from drbo.scores.outliers import winsorized


def test_winsorized_columns_follow_their_units_and_leave_others_alone(rng):
    x = rng.standard_cauchy(size=(200, 1))
    assert winsorized(-7 * x + 3) == pytest.approx(-7 * winsorized(x) + 3)
    assert np.abs(winsorized(x)).max() < np.abs(x).max() / 2
    spikes = np.r_[np.zeros(150), 1e6 * np.ones(20)][:, None]
    assert np.array_equal(winsorized(spikes), spikes)
