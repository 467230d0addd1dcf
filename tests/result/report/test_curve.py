"""The course of the search as a picture."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from drbo.result.records import Trace
from drbo.result.report.curve import _ticks, convergence_svg


def test_the_curve_ends_at_the_best_score():
    trace = {
        "n_evals": [1, 2, 3, 9],
        "n_local": [1, 2, 3, 4],
        "seconds": [0, 1, 2, 3],
        "best": [-9.0, -9.0, -5.0, -5.0],
    }
    root = ET.fromstring(convergence_svg(Trace(**{name: np.array(values) for name, values in trace.items()})))
    line = next(element for element in root if element.get("class") == "course")
    heights = [float(point.split(",")[1]) for point in line.get("points").split()]
    assert heights == sorted(heights, reverse=True)
    assert convergence_svg(Trace()) == ""


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-12345, -12000), (1, 2e6), (0.001, 0.0012)])
def test_ticks_are_few_and_inside(low, high):
    ticks = _ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 * abs(high) for tick in ticks)
