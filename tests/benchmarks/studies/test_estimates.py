"""Estimates of the time of a fit: a slice of the study, the formula, and the rule that the committed rows decide."""

import numpy as np

from benchmarks.rows import read
from benchmarks.studies import estimates

SMALL = {route: ((3, 3), (60, 60), sizes[2] and (4, 4)) for route, sizes in estimates.SIZES.items()}


def test_a_slice_is_timed(monkeypatch):
    monkeypatch.setattr(estimates, "SIZES", SMALL)
    (row,) = estimates.run(routes=("linear",), seeds=(104,))
    assert 0 < row["first_seconds"] <= row["cpu_seconds"]
    assert row["rounds"] > 0


def test_every_route_is_fitted(monkeypatch):
    monkeypatch.setattr(estimates, "SIZES", SMALL)
    for route in SMALL:
        assert estimates.timed(route, 100)["rounds"] > 0


def test_a_power_law_is_found():
    rng = np.random.default_rng(0)
    rows = []
    for seed in (*range(20), *range(200, 210)):
        d, n = int(rng.integers(5, 50)), int(rng.integers(100, 2000))
        rows.append({"seed": seed, "columns": d, "rows": n, "evals": "", "first_seconds": 1.0, "cpu_seconds": d**2 * n})
    np.testing.assert_allclose(estimates.errors(rows, after=False), 1.0)
    rows[-1]["cpu_seconds"] *= 3
    np.testing.assert_allclose(estimates.errors(rows, after=False)[-1], 3.0)


def test_no_formula_is_within_a_factor_of_two_nine_times_of_ten():
    rows = read("estimates")
    for after in (False, True):
        found = [
            error
            for route in estimates.SIZES
            for error in estimates.errors([row for row in rows if row["route"] == route], after=after)
        ]
        assert len(found) >= 100
        assert np.mean(np.array(found) <= 2) < 0.9
