"""Tables of many columns."""

from benchmarks.reports import columns


def test_columns_are_told_by_graph_and_growth_by_its_exponents():
    common = {"graph": "100ER2", "seed": "0"}
    rows = [
        {**common, "method": "drbo", "reached_seconds": "0.5", "cpu_seconds": "3", "shd_c": "1"},
        {**common, "method": "FLOP, equal penalty", "reached_seconds": "", "cpu_seconds": "2", "shd_c": "4"},
        {**common, "method": "FLOP, recommended", "reached_seconds": "", "cpu_seconds": "2", "shd_c": "6"},
    ]
    assert columns.beside(rows).splitlines()[-1] == "| 100ER2 | 1 of 1 | **0.50** | 2.00 | 3.00 | 1.0 | 4.0 | 6.0 |"
    sizes = {"f1": "0.99", "seconds": "9", "search_seconds": "1"}
    rows = [
        {**sizes, "columns": str(d), "cpu_seconds": str(d**1.5), "gib": str(d**2 / 1e6)} for d in (3_000, 1_000, 500)
    ]
    table = columns.growth(rows)
    assert table.splitlines()[2].startswith("| 500 | 11180.3 | 1.0 | 9.0 | 0.25 |")
    assert "CPU time grows with the power 1.5 of the number of columns and memory with the power 2.0" in table
    assert columns.picture(rows).startswith(b"<?xml")
