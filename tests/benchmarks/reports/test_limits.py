"""The table of limits is made of fits of every kind."""

from benchmarks.reports import limits
from benchmarks.rows import read


def test_every_kind_of_fit_has_a_line_with_its_size():
    text = limits.table(read("columns_growth"))
    kinds = ("`bic-nv`", "ended by a time limit", "from a file", "proved optimal", "`--hidden`", "`gp`")
    assert all(kind in text for kind in kinds)
    assert "| 10,000 | 1,000 |" in text
    assert "| 50,000,000 |" in text
