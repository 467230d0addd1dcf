from benchmarks.reports.series import found, nulls, supported

COUNTS = {
    "lagged_found": "4", "lagged_true": "5", "lagged_right": "3", "links_found": "2", "links_true": "2",
    "links_right": "2", "arrows_found": "2", "arrows_right": "1", "cpu_seconds": "1.5",
}  # fmt: skip
OURS = {"supported_lagged": "2", "supported_lagged_right": "2", "supported_now": "0", "supported_now_right": "0"}
ROWS = [
    {"cell": "base", "method": "PCMCI+ 0.01", **COUNTS},
    {"cell": "base", "method": "drbo", **COUNTS, **OURS},
    {"cell": "base", "method": "drbo", **COUNTS, **OURS, "lagged_found": "6", "cpu_seconds": "0.5"},
    {"cell": "null step", "method": "drbo", **COUNTS, **OURS},
]


def test_counts_are_pooled_and_the_methods_stand_in_order():
    lines = found(ROWS).splitlines()[2:]
    assert lines[0] == "| base (2) | drbo | 0.60 | 0.60, 0.60 | 1.00 | 2 of 4 | 1.0 |"
    assert lines[1].startswith("| base (1) | PCMCI+ 0.01 | 0.67 | 0.75, 0.60 |")
    assert len(lines) == 2


def test_false_edges_are_counted_by_table():
    assert nulls(ROWS).splitlines()[2:] == ["| step (1) | drbo | 4.0 | 2.0 | 2 | 1.5 |"]


def test_supported_arrows_are_those_of_fits():
    assert supported(ROWS).splitlines()[2:] == ["| base (2) | 10 | 4 | 1.00 | 0 | - |"]
