"""The page on calibration, from the committed rows and from a few of its own."""

from benchmarks.reports import calibration
from benchmarks.rows import read

ROW = {"kind": "linear", "graphs": "sparse", "method": "bic-nv", "networks": "3"}
ROWS = [
    ROW | {"edge": edge, "n": n, "bin": "all", "count": "90", "error": "0.02", "low": "0.01", "high": "0.05"}
    for edge in ("links", "arrows")
    for n in ("100", "1000", "all")
]
ROWS += [
    ROW | {"edge": "links", "n": "all", "bin": str(k), "given": given, "found": "0.4", "low": "0.3", "high": "0.5"}
    for k, given in enumerate(("0.7", "0.2"))
]


def test_errors_have_intervals_and_stand_beside_those_of_each_size():
    cells = "90 | 0.020 (0.010 to 0.050) | 0.020, 0.020"
    assert f"| linear, Gaussian noise | sparse | bic-nv | 3 | {cells} | {cells} |" in calibration.errors(ROWS)


def test_bins_are_in_the_order_of_what_was_given():
    assert "| given | 0.20 | 0.70 |\n|---|---|---|\n| found | 0.40 | 0.40 |" in calibration.bins(ROWS)


def test_probabilities_of_the_committed_rows_are_calibrated_where_score_and_prior_match():
    found = [row for row in read("calibration") if row["bin"] == row["n"] == "all"]
    matched = [row for row in found if (row["kind"], row["graphs"]) == ("linear", "sparse")]
    errors = {(row["method"], row["edge"]): float(row["error"]) for row in matched}
    assert all(errors[method, edge] <= 0.05 for method in ("bic-nv", "bge") for edge in ("links", "arrows"))


def test_the_page_has_every_section():
    text = calibration.page()
    for title in ("Links and arrows", "Directions of simulated graphs", "Simulated pairs"):
        assert f"## {title}\n" in text
