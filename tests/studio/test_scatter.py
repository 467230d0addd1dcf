"""The two residuals of an edge."""

import numpy as np
import pandas as pd
import pytest

from drbo.errors import DataError
from drbo.studio.scatter import MOST_DRAWN, scatter


def _frame(n: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    site, z = rng.choice(["north", "south"], n), rng.normal(size=n)
    x = z + 2.0 * (site == "south") + rng.normal(size=n)
    y = x**2 + 3 * z + 5.0 * (site == "south") + 0.1 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y, "z": z, "site": site})


def test_other_parents_are_taken_out_of_both_and_the_curve_follows_the_effect():
    found = scatter(_frame(), "x", "z", [])
    x, y = np.array(found["points"]).T
    assert abs(np.corrcoef(x, y)[0, 1]) > 0.4
    given = scatter(_frame().assign(y=lambda one: one.z + 0.5 * one.x), "x", "y", ["z", "site"])
    x, y = np.array(given["points"]).T
    frame = _frame()
    design = np.column_stack([np.ones(len(frame)), frame.z, frame.site == "south"])
    own = frame.x - design @ np.linalg.lstsq(design, frame.x, rcond=None)[0]
    assert np.corrcoef(np.sort(own), np.interp(np.linspace(0, 1, len(own)), np.linspace(0, 1, len(x)), x))[0, 1] > 0.98
    assert given["given"] == ["z", "site"]
    curve = np.array(given["curve"])
    assert np.abs(np.diff(curve[:, 1]) / np.diff(curve[:, 0]).clip(1e-3)).std() < 1  # a line is drawn as one
    assert len(x) == MOST_DRAWN


def test_a_bend_is_drawn_as_a_bend():
    x = np.linspace(-2, 2, 300)
    curve = np.array(scatter(pd.DataFrame({"x": x, "y": x**2}), "x", "y", [])["curve"])
    middle, ends = curve[150, 1], (curve[0, 1] + curve[-1, 1]) / 2
    assert ends - middle > 2


def test_missing_rows_are_left_out_and_words_are_refused():
    frame = _frame(50)
    frame.loc[:9, "z"] = np.nan
    assert len(scatter(frame, "x", "y", ["z"])["points"]) == 40
    with pytest.raises(DataError, match="two columns of numbers"):
        scatter(frame, "site", "y", [])
