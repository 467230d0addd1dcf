"""Tables of directions from a few rows."""

from benchmarks.reports.directions import grounds, interval, kinds, pairs, probabilities

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


def test_graphs_are_summed_over_seeds():
    assert "| learned, `splines` | 300 | 75% | 8, 0 | 1.00 (0.63 to 1.00) | 0.40 | 6, 2 | 0.75" in grounds(ROWS)
    assert "seeds 200 to 201" in grounds(ROWS)
    assert "| additive | 300 | 24 | 75% | 8, 0 | 6, 2 | 2, 2, 2 | 4 |" in kinds(ROWS)
    assert "| learned, `splines` | 300 | 4, 1.00, 1.00" in probabilities(ROWS)


def test_pairs_are_counted_by_verdict():
    rows = [{"kind": "additive", "n": "300", "seed": "0", "verdict": verdict} for verdict in ("forward", "reverse")]
    assert "| additive | 300 | 2 | 1, 1 | 0 |" in pairs(rows)


def test_intervals_are_those_of_clopper_and_pearson():
    assert interval(0, 0) == "-"
    assert interval(8, 8) == "1.00 (0.63 to 1.00)"
    assert interval(5, 10) == "0.50 (0.19 to 0.81)"
