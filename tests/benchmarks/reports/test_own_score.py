"""Scores of one's own: distances from the best score that any search found on a table."""

from benchmarks.reports.own_score import picture, table

COMMON = {"score": "boosting", "graph": "8ER2", "n": "200"}
ROWS = [
    {**COMMON, "seed": "0", "search": "drbo", "best_10": "", "best_20": "5", "best_40": "7", "best_80": "7"},
    {**COMMON, "seed": "1", "search": "drbo", "best_10": "", "best_20": "1", "best_40": "2", "best_80": "3"},
    {**COMMON, "seed": "0", "search": "tabu", "best_10": "1", "best_20": "2", "best_40": "6", "best_80": "6"},
    {**COMMON, "seed": "1", "search": "tabu", "best_10": "1", "best_20": "2", "best_40": "4", "best_80": "4"},
]


def test_the_distance_is_from_the_best_of_all_searches():
    ours, tabu = table(ROWS).splitlines()[2:]
    assert ours.startswith("| gradient boosting, 8ER2, 200 rows | drbo | 2 | no graph yet | 2.5 +- ")
    assert ours.endswith(" | 0.5 +- 6.4 (1 at the best) |")  # 0 and 1: Student's t with one degree of freedom
    assert "(1 at the best) | 0.5 +- 6.4 (1 at the best) |" in tabu


def test_the_picture_has_a_panel_for_each_kind_of_table():
    other = [{**row, "graph": "15ER2"} for row in ROWS]
    svg = picture([*ROWS, *other, *({**row, "score": "network"} for row in ROWS)])
    assert svg.startswith(b"<?xml")
    assert svg.count(b"families per column") >= 3
