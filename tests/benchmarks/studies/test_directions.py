"""The study of directions counts claims against the truth."""

import numpy as np

from benchmarks.studies.directions import counts, graphs, pairs
from drbo.claims.directions import EdgeDirection
from drbo.claims.record import NoiseCheck


def _edge(direction, ground, contradicted=False, probability=None):
    check = NoiseCheck("undecided", "additive", 0.5, 0.5, 0.5, 0.0, 0.0, probability)
    return EdgeDirection("a", "b", direction, ground, contradicted, "", probability, check)


def test_claims_are_counted_against_the_true_graph():
    truth, dag = np.zeros((2, 3, 3), dtype=bool)
    truth[0, 1] = truth[2, 0] = True
    dag[0, 1] = dag[0, 2] = dag[1, 2] = True  # right, reversed, no edge
    found = (
        _edge("supported", "noise-check", probability=0.95),
        _edge("assumed", "", contradicted=True, probability=0.04),
        _edge("supported", "class"),
    )
    row = counts(found, dag, truth)
    assert (row["edges"], row["right"], row["true_edges"]) == (3, 1, 2)
    assert (row["noise-check right"], row["noise-check wrong"]) == (1, 0)
    assert (row["class right"], row["class wrong"]) == (0, 1)
    assert (row["contradicted reverse"], row["contradicted right"], row["contradicted none"]) == (1, 0, 0)
    assert (row["shown 0.9"], row["true 0.9"], row["sum 0.9"]) == (2, 2, 1.91)  # the second one for its reverse
    assert row["shown 0.7"] == 0


def test_a_table_yields_a_row_for_the_true_and_one_for_each_learned_graph():
    rows = list(graphs(seeds=[0], rows=[100], kinds=("linear",), scores=("bic-nv",)))
    assert [row["graph"] for row in rows] == ["true", "bic-nv"]
    assert rows[0]["edges"] == rows[0]["right"] == rows[0]["true_edges"]
    claimed = ("noise-check right", "noise-check wrong", "class right", "class wrong", "assumed", "open")
    assert all(sum(row[name] for name in claimed) == row["edges"] for row in rows)


def test_pairs_have_a_verdict():
    rows = list(pairs(seeds=[0], rows=[100]))
    assert len(rows) == 5
    assert all(row["verdict"] in ("forward", "reverse", "neither", "undecided") for row in rows)
