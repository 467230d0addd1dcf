"""The calibration error is the mean distance of given and found, weighted by edges."""

import pytest

from benchmarks.reports import calibration


def test_the_error_weighs_bins_by_their_edges():
    assert calibration.error([(0.1, 0.2, 300), (0.9, 0.5, 100)]) == pytest.approx(0.175)


def test_the_page_shows_every_kind_of_the_rows():
    text = calibration.page()
    for name in calibration.lines():
        assert f"**{name}**" in text
    assert len(calibration.lines()) == 7
