"""The options that all scores have are checked; tests/scores/test_base.py refuses them by way of a score."""

import numpy as np
import pytest

from drbo.errors import SettingsError
from drbo.scores.options import checked_gamma, checked_penalty, checked_prior, checked_strength, checked_targets


def test_good_options_come_back():
    assert (checked_penalty(2), checked_penalty("ebic"), checked_gamma(0), checked_strength(0.5)) == (
        2.0,
        "ebic",
        0,
        0.5,
    )
    assert checked_prior(None, 2) is None
    assert checked_prior([[0, 1], [-1, 0]], 2).tolist() == [[0.0, 1.0], [-1.0, 0.0]]
    assert checked_targets(np.zeros((3, 2)), 3, 2) is None
    assert checked_targets(np.eye(3, 2), 3, 2).dtype == bool


@pytest.mark.parametrize("strength", [-0.1, 1.0, "much", np.nan])
def test_a_strength_is_a_share(strength):
    with pytest.raises(SettingsError, match="min_strength must be at least 0 and below 1"):
        checked_strength(strength)
