"""Tables of directions from a few rows."""

from benchmarks.reports.directions import (
    decisions,
    grounds,
    interval,
    kinds,
    pairs,
    probabilities,
    real_tables,
    tuebingen,
)

COUNTS = {"edges": "12", "right": "9", "true_edges": "10", "noise-check right": "4", "noise-check wrong": "0"}
COUNTS |= {"class right": "3", "class wrong": "1", "neither": "2"}
COUNTS |= {f"contradicted {end}": "1" for end in ("reverse", "right", "none")}
COUNTS |= {f"{name} {low}": "2" for name in ("shown", "sum", "true") for low in (0.7, 0.8, 0.9)}
ROWS = [
    {
        "kind": "additive",
        "n": "300",
        "seed": str(seed),
        "graph": "splines",
        "fit_seconds": "0.5",
        "check_seconds": "0.1",
    }
    | COUNTS
    for seed in (200, 201)
]


def _pair(number, verdict, forward, reverse, probability="", kind="tuebingen"):
    values = {"p_value_forward": forward, "p_value_reverse": reverse, "probability": probability, "weight": "0.5"}
    return {"kind": kind, "n": "300", "seed": str(number), "verdict": verdict} | values


def test_graphs_are_summed_over_seeds():
    assert "| learned, `splines` | 300 | 75% | 8, 0 | 1.00 (0.63 to 1.00) | 0.40 | 6, 2 | 0.75" in grounds(ROWS)
    assert "seeds 200 to 201" in grounds(ROWS)
    assert "| additive | 300 | 24 | 75% | 8, 0 | 6, 2 | 2, 2, 2 | 4 |" in kinds(ROWS)
    assert "| learned, `splines` | 300 | 4, 1.00, 1.00" in probabilities(ROWS)


def test_pairs_are_counted_by_verdict():
    rows = [_pair(1, "forward", "0.5", "1e-9", "0.95"), _pair(2, "reverse", "1e-9", "0.5", "0.05")]
    assert "| 300 | odd | 1 | 1, 0 | 1, 0.95, 1.00" in tuebingen(rows)
    assert "| 300 | all | 2 | 1, 1 | 2, 0.95, 0.50" in tuebingen(rows)
    simulated = [row | {"kind": "additive"} for row in rows]
    assert "| additive | 300 | 2 | 1, 1 | 0 |" in pairs(simulated)


def test_the_surest_pairs_are_decided_first():
    rows = [_pair(1, "forward", "0.5", "1e-9"), _pair(2, "undecided", "0.2", "0.5"), _pair(3, "untested", "", "")]
    shares = [text.split()[0] for text in decisions(rows).split(", ")]
    assert shares == ["1.00", "1.00", "0.50", "0.50"]


def test_intervals_are_those_of_clopper_and_pearson():
    assert interval(0, 0) == "-"
    assert interval(8, 8) == "1.00 (0.63 to 1.00)"
    assert interval(5, 10) == "0.50 (0.19 to 0.81)"


def test_supported_arrows_of_real_tables_are_counted_by_ground():
    row = {"table": "tunnel", "n": "1000", "seed": "0", "score": "auto", "class": "3", "class right": "2"}
    row |= {"noise-check": "0", "noise-check right": "0"}
    silent = row | {"score": "splines", "class": "0", "class right": "0"}
    text = real_tables([row, row | {"seed": "1"}, silent])
    assert "| tunnel | 1,000 | 2 | `auto` | none | 4 of 6: 0.67 (0.22 to 0.96) |" in text
    assert "splines" not in text
