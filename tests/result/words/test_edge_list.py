"""What is said about each edge; the tables themselves are tested with the result."""

import numpy as np
import pytest

from drbo.result.words.edge_list import WEAK_LINK, forward_shares, weak
from tests.results import FULL_DAG, full_result


def test_an_edge_below_the_limit_is_weak():
    posterior = np.where(FULL_DAG, WEAK_LINK, 0.0)
    posterior[0, 1] -= 0.01
    found = weak(full_result(posterior=posterior, confidence=None))
    assert np.argwhere(found).tolist() == [[0, 1]]


def test_the_noise_check_divides_a_link_before_the_posterior_does():
    shares = forward_shares(full_result(posterior=np.where(FULL_DAG, 0.5, 0.25)))
    assert shares.tolist() == pytest.approx([np.nan, 0.96, 2 / 3], nan_ok=True)
