"""Tables of hidden causes pool the counts of all tables of a kind."""

from benchmarks.reports.hidden import DRAWN, clean, hidden, plain, rivals, supported

ROW = {
    "table": "random", "columns": "20", "hidden": "15", "n": "500", "seed": "0", "method": "drbo", "whole": "1",
    "legal": "1", "causes right": "3", "causes claimed": "4", "supported right": "2", "supported claimed": "2",
    "cpu_seconds": "1.5",
    **{f"{name} {what}": str(count) for name in ("adjacent", "arrows", "tails", "two-headed")
       for what, count in (("right", 3), ("claimed", 4), ("true", 6))},
}  # fmt: skip


def test_counts_are_pooled_over_tables():
    other = ROW | {"seed": "1", "arrows right": "1", "whole": "0", "legal": "0"}
    line = hidden([ROW, other]).splitlines()[2]
    assert line.startswith("| 20 columns, 15% hidden (2 tables) | 500 | `--hidden` | .75, .50 | .50, .33 |")
    assert line.endswith("| 50% | 50% | 6 of 8 | 4 of 4 | 1.5 |")


def test_nothing_claimed_is_told_from_nothing_right():
    row = ROW | {"two-headed claimed": "0", "two-headed right": "0", "supported claimed": "", "method": "FCI 0.01"}
    assert "| -, .00 |" in hidden([row])
    assert hidden([row]).splitlines()[2].endswith("| 3 of 4 | - | 1.5 |")


def test_tables_without_an_answer_are_counted():
    none = ROW | {name: "" for name in ROW if " " in name} | {"method": "FCI 0.01", "whole": "", "cpu_seconds": "600"}
    answered = ROW | {"method": "FCI 0.01", "seed": "1", "cpu_seconds": "2"}
    line = hidden([none, answered]).splitlines()[2]
    assert line.startswith("| 20 columns, 15% hidden (2 tables) | 500 | FCI 0.01 | .75, .50 |")
    assert line.endswith("| 301.0, 1 without an answer |")
    assert hidden([none]).splitlines()[2].endswith(f"| {'- | ' * 8}600.0, 1 without an answer |")


def test_rivals_stand_beside_ours_on_the_tables_that_they_answered():
    better = ROW | {"seed": "1", "arrows right": "4"}
    fci = ROW | {"method": "FCI 0.01", "arrows right": "1", "legal": "0"}
    silent = fci | {"seed": "1", "whole": ""}
    lines = rivals([ROW, better, fci, silent, fci | {"hidden": "0"}, fci | {"seed": "2"}]).splitlines()[2:]
    assert lines == ["| 20 | 500 | FCI 0.01 | 1 | .25, .17 | .75, .50 | .75, .50 | .75, .50 | 100% |"]


def test_supported_causes_are_pooled_over_tables_of_all_sizes():
    rows = [ROW, ROW | {"columns": "50"}, ROW | {"hidden": "0"}, ROW | {"table": "ecoli70"}, ROW | {"method": "DAG"}]
    assert supported(rows).splitlines()[2:] == [
        "| 500 | 2 | 75% (6 of 8) | 100% (4 of 4) | 50% (2 of 4) | 0 |"
    ]  # fmt: skip


def test_supported_arrows_of_plain_fits_that_no_data_could_tell_are_told_apart():
    row = ROW | {"table": "confounder", "method": "DAG", "supported claimed": "5", "supported right": "4"}
    lines = plain([row | {"open claimed": "3", "open right": "2"}, row, row | {"method": "drbo"}]).splitlines()[2:]
    assert lines == ["| confounder (1) | 4 of 5 | 2 of 3 | 2 of 2 |"]


def test_tables_without_hidden_causes_show_what_allowing_them_costs():
    row = ROW | {"hidden": "0", "plain_seconds": "1"}
    lines = clean([row, row | {"method": "DAG", "tails right": "4"}, ROW]).splitlines()[2:]
    assert lines == ["| 20 | 500 | 1 | .75, .50 | .75, .50 | .75, .50 | 1.00, .67 | 1.50 | 1.00 | 1.5 |"]


def test_every_mark_has_its_picture():
    pictures = {name: draw([]).decode() for name, _, draw in DRAWN}
    assert pictures["mark-two-headed.svg"].count("<polygon") == 2
    assert pictures["mark-circles.svg"].count("<circle") == 2
