"""Tables of hidden causes pool the counts of all tables of a kind."""

from benchmarks.reports.hidden import DRAWN, hidden

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


def test_every_mark_has_its_picture():
    pictures = {name: draw([]).decode() for name, _, draw in DRAWN}
    assert pictures["mark-two-headed.svg"].count("<polygon") == 2
    assert pictures["mark-circles.svg"].count("<circle") == 2
