"""Tables of experiments."""

from benchmarks.reports.interventions import grid, next_classes, next_oracle, next_replay, sachs, simulated, tunnel


def test_the_light_tunnel_has_a_line_per_run():
    row = {"table": "all", "method": "unknown", "n": "30000", "f1": "0.7733", "targets": "87", "targets_right": "20",
           "targets_true": "20", "right_of_first_30": "19", "seconds": "8.1",
           "shown": "31", "shown_right": "29"}  # fmt: skip
    line = "| 30,000 (all) | targets unknown | 0.773 | 29 of 31 | 87 | 20 of 20 | 19 | 8.1 |"
    assert tunnel([row]).splitlines()[2] == line
    assert "| 0.773 | - | 87" in tunnel([row | {"shown": "0"}])


def test_simulated_tables_are_pooled():
    row = {"kind": "hard", "method": "known", "shd": "1", "class_right": "1", "targets": "3", "targets_right": "2",
           "targets_true": "4", "seconds": "2"}  # fmt: skip
    line = simulated([row, row | {"shd": "2", "class_right": "0"}]).splitlines()[2]
    assert line == "| hard | targets known | 2 | 1.5 | 1 of 2 | 4, 6, 8 | 2.0 |"


def test_proteins_have_a_line_per_method():
    row = {"method": "control", "edges": "6", "links_right": "6", "right": "4", "f1": "0.3478", "shown": "0",
           "shown_right": "0", "targets": "0", "targets_right": "0", "targets_true": "7"}  # fmt: skip
    assert sachs([row]).splitlines()[2] == "| the control alone (`bic-nv`) | 6 | 6 | 4 | 0.35 | - | 0 | 0 of 7 |"


def test_classes_are_compared_with_the_optimum():
    row = {
        "kind": "tree",
        "random": "4.0",
        "degree": "2.5",
        "edge_entropy": "2.4",
        "information": "2.0",
        "optimum": "1.9",
    }
    lines = next_classes([row, row | {"information": "3.0", "optimum": ""}]).splitlines()
    assert lines[2] == "| trees | 2 | 4.00 | 2.50 | 2.40 | 2.50 | 0.62 | 1.90 (1 classes) | 2.00 |"
    assert lines[3].startswith("| all | 2 |")


def test_a_replay_has_a_line_per_experiment():
    row = {"order": "information", "step": "1", "experiment": "red_strong", "f1": "0.7", "f1_all": "0.7733",
           "edges": "36", "supported": "30", "assumed": "4"}  # fmt: skip
    assert next_replay([row]).splitlines()[2] == "| information | 1 | red_strong | 0.700 | 0.773 | 30 of 36 | 4 |"


def test_levels_of_tests_are_sorted_by_size():
    rows = [
        {"independence": a, "invariance": b, "f1": f1}
        for a, b, f1 in (("0.1", "0.1", "0.2"), ("1e-05", "0.1", "0.6"), ("0.1", "1e-05", "0.3"))
    ]
    assert grid(rows).splitlines()[2:] == ["| 1e-05 |  | 0.600 |", "| 0.1 | 0.300 | 0.200 |"]


def test_the_truth_chooses_experiments():
    row = {"experiments": "1", "experiment": "red_strong", "f1": "0.7"}
    assert next_oracle([row]).splitlines()[2] == "| 1 | red_strong | 0.700 |"
