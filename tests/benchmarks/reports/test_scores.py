"""Tables of scores take rounding for equality and say where a rival is better."""

import pytest

from benchmarks.reports import scores


def test_gaps_take_rounding_for_equality_and_leave_out_rows_without_a_score():
    part = [
        {"found_score": "-1000.0", "best_score": "-1000.0000000001"},
        {"found_score": "-1000.1", "best_score": "-1000.0"},
        {"found_score": "", "best_score": "-1000.0"},
    ]
    assert scores.gaps(part, "best_score") == pytest.approx([0.0, -0.1])
    assert scores.gaps(part, "best_score")[0] == 0.0


def test_a_method_without_answers_has_empty_cells():
    row = {"score": "bge", "seconds": "1.0", "true_score": "-9.0", "best_score": "-8.0"}
    rows = [
        {**row, "method": "drbo", "found_score": "-8.0", "shd_c": "1"},
        {**row, "method": "gcastle PC", "found_score": "", "shd_c": ""},
    ]
    lines = scores.small(rows).splitlines()
    assert lines[2] == "| bge | drbo | 1 |  | 1 | 1 | 1.0 +- 0.0 | 1.00 +- 0.00 |"
    assert lines[3] == "| bge | gcastle PC | 1 |  | 0 | 0 |  | 1.00 +- 0.00 |"


def test_penalties_and_pruners_are_columns():
    row = {"graph": "20ER2", "model": "linear", "score": "bic-nv", "n": "200", "seed": "100"}
    rows = [{**row, "penalty": p, "pruner": "none", "errors": e} for p, e in (("1", "3"), ("2", "1"), ("1", "5"))]
    assert scores.choice(rows).splitlines() == [
        "| graph, model | score | rows | sets | 1 / none | 2 / none |",
        "|---|---|---|---|---|---|",
        "| 20ER2, linear | bic-nv | 200 | 2 | 4.00 | 1.00 |",
    ]


def test_cells_in_which_a_rival_has_a_higher_score_are_listed():
    row = {"network": "asia", "n": "1000", "seed": "0", "score": "bdeu", "true_score": "-10.0", "shd_c": "2"}
    row |= {"cpu_seconds": "1", "note": ""}
    rival = "pgmpy hill climbing"
    text = scores.discrete(
        [{**row, "method": "drbo", "found_score": "-9.0"}, {**row, "method": rival, "found_score": "-8.5"}]
    )
    assert "higher 0, equal 0, lower 1." in text
    assert "- lower by 0.500: asia, n = 1,000, seed 0, bdeu; best is pgmpy hill climbing" in text


def test_noise_of_other_shapes_has_a_line_per_shape_and_number_of_rows():
    row = {"kind": "laplace", "n": "200", "seed": "0", "shd": "2", "beyond right": "3", "beyond wrong": "1"}
    row |= {"noise-check right": "4", "noise-check wrong": "0", "class right": "2", "class wrong": "0"}
    rows = [{**row, "method": "bic-ng"}, {**row, "method": "DirectLiNGAM", "shd": "5"}]
    assert scores.nongaussian(rows).splitlines()[2] == (
        "| laplace | 200 | 1 | 2.0 +- 0.0 |  | 5.0 +- 0.0 |  | 3 right, 1 wrong | 4 right, 0 wrong | 2 right, 0 wrong |"
    )


def test_known_links_and_directions_of_halves_are_counted_back_from_f1():
    row = {"half": 0, "score": "auto", "edges": 7, "f1_half": 2 * 2.5 / 24, "f1_skeleton": 2 * 7 / 24}
    text = scores.halves([row, {**row, "score": "splines", "edges": 10, "f1_half": 10 / 27, "f1_skeleton": 18 / 27}])
    assert "| `auto` | 1 | 0.21 +- 0.00 | 7.0 | 7.0 | 2.5 (36%) |" in text
    assert "| `splines` | 1 | 0.37 +- 0.00 | 10.0 | 9.0 | 5.0 (56%) |" in text


def test_scores_on_bent_scales_stand_side_by_side():
    row = {"kind": "lognormal", "score": "bic-nv", "f1_half": 0.5, "ranks_fit": True}
    rows = [row, {**row, "score": "splines-ranks", "f1_half": 0.75}, {**row, "ranks_fit": "False", "f1_half": 0.7}]
    text = scores.scales([*rows, {**rows[1], "ranks_fit": "False"}])
    assert "| lognormal | 2 | 1 | 0.60 +- 0.14 | 0.75 +- 0.00 |" in text


def test_searches_at_the_best_score_of_their_table_are_counted():
    row = {"network": "ecoli70", "table": 0, "score": "10.0", "same_in_other_units": True, "cpu_seconds": 1.0}
    rows = [row, {**row, "score": "9.9", "same_in_other_units": "False"}, {**row, "table": 1, "score": "-3.0"}]
    assert "| ecoli70 | 2 | 3 | 2 | 2 of 3 | 1.00 |" in scores.repeats(rows)
