"""Tables of experiments."""

from benchmarks.reports.interventions import simulated, tunnel


def test_the_light_tunnel_has_a_line_per_run():
    row = {"table": "all", "method": "unknown", "n": "30000", "f1": "0.7733", "targets": "87", "targets_right": "20",
           "targets_true": "20", "right_of_first_30": "19", "seconds": "8.1"}  # fmt: skip
    assert tunnel([row]).splitlines()[2] == "| 30,000 (all) | targets unknown | 0.773 | 87 | 20 of 20 | 19 | 8.1 |"


def test_simulated_tables_are_pooled():
    row = {"kind": "hard", "method": "known", "shd": "1", "class_right": "1", "targets": "3", "targets_right": "2",
           "targets_true": "4", "seconds": "2"}  # fmt: skip
    line = simulated([row, row | {"shd": "2", "class_right": "0"}]).splitlines()[2]
    assert line == "| hard | targets known | 2 | 1.5 | 1 of 2 | 4, 6, 8 | 2.0 |"
