"""Growth with the rows: exponents of known curves, and a picture."""

import pytest

from benchmarks.reports import row_growth

ROWS = [
    {"rows": str(n), "method": method, "cpu_seconds": str(n / 1e5), "gib": "0.5"}
    for n in (1_000, 100_000, 1_000_000, 10_000_000)
    for method in ("drbo", "drbo fit", "numpy sums")
]


def test_exponents_are_those_of_the_curves():
    assert row_growth.exponent(ROWS, "drbo", "cpu_seconds") == pytest.approx(1.0)
    assert row_growth.exponent(ROWS, "drbo fit", "gib") == pytest.approx(0.0)
    text = row_growth.table(ROWS)
    assert "| 1,000,000 | 10.0 | 0.5 | 10.0 | 0.5 |" in text
    assert text.splitlines()[-1] == "| exponent from 100,000 rows on | 1.00 | 0.00 | 1.00 | 0.00 |"
    assert len(row_growth.table([]).splitlines()) == 2


def test_the_picture_is_drawn():
    pytest.importorskip("matplotlib")
    assert row_growth.picture(ROWS).startswith(b"<?xml")
