"""Real tables: how arrows are counted, and what is said where the files are not here."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.gran_dag import Unavailable
from benchmarks.known_tables import KnownTable
from benchmarks.studies import real_tables
from drbo import DrBO


def test_drawn_arrows_edges_and_grounds_are_counted(rng):
    a, b = rng.normal(size=(2, 2000))
    result = DrBO(score="bic-nv", random_state=0).fit(np.column_stack([a, b, a + b + rng.normal(size=2000)])).result_
    truth = np.array([[0, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=bool)  # the second arrow is the other way round
    found = real_tables.counts(result, truth)
    assert found == {
        "edges": 2,
        "f1": 0.5,
        "f1_half": 0.5,
        "f1_skeleton": 1.0,
        "class": 2,
        "class right": 1,
        "noise-check": 0,
        "noise-check right": 0,
    }


def test_sachs_comes_first_and_the_chamber_needs_its_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("DRBO_DATA", str(tmp_path))
    found = real_tables.tables(range(1))
    assert next(found)[0] == "sachs"
    with pytest.raises(Unavailable, match="set DRBO_DATA"):
        next(found)


def _known(rng):
    a = rng.normal(size=400)
    frame = pd.DataFrame({"c0": a, "c1": np.exp(a) + 0.1 * rng.normal(size=400), "c2": rng.integers(1, 3, 400)})
    return KnownTable("psych/bfi", frame, {"c0": 0, "c1": 1, "c2": 1}, {"a": "c0", "b": "c1", "gender": "c2"})


def test_halves_are_fitted_where_an_arrow_is_supported(rng):
    table, names = _known(rng), []
    for cell in real_tables.runs("roots", table, seeds=[0, 1], halves=2):
        cell.row = {"supported": "1"}  # as read from a file
        names.append(cell.key["run"])
    assert names == ["seed 0", "seed 1", "shuffled", "category", "half 0", "half 1"]
    names = [cell.key["run"] for cell in real_tables.runs("roots", table, seeds=[0], halves=2)]
    assert names == ["seed 0", "shuffled", "category"]


def test_a_run_is_a_fit_with_its_counts(rng):
    cell = next(real_tables.runs("roots", _known(rng), seeds=[0], halves=0))
    assert cell.settle(())
    assert cell.row["table"] == "psych/bfi"
    assert cell.row["n"] == 400
    assert cell.row["edges"] >= 1
    assert cell.row["supported wrong"] == 0


def test_pairs_come_in_both_orders(tmp_path):
    path = tmp_path / "pairs.csv"
    values = [" ".join(map(str, column)) for column in np.random.default_rng(0).normal(size=(2, 60))]
    path.write_text(f"SampleID,A,B\npair1,{values[0]},{values[1]}\n")
    cells = list(real_tables.pairs(path, rows=50))
    assert [cell.key for cell in cells] == [{"pair": 1, "order": order, "most": 50} for order in ("file", "shuffled")]
    for cell in cells:
        cell.settle(())
        assert cell.row["n"] == 50


def test_the_wide_table_has_a_null_beside_it(monkeypatch, rng):
    genes = pd.DataFrame(rng.normal(size=(64, 9))).add_prefix("g").assign(labs="x")
    monkeypatch.setattr(real_tables, "loaded", lambda *_: genes)
    cells = list(real_tables.wide(columns=5))
    assert [cell.key["run"] for cell in cells] == ["as it is", "columns shuffled"]
    assert cells[0].settle(())
    assert (cells[0].row["n"], cells[0].row["columns"]) == (63, 5)


def test_names_that_no_table_has_are_refused(tmp_path):
    with pytest.raises(Unavailable, match="no table with roots is called psych/bfi"):
        next(real_tables.known("roots", tmp_path, [0], 0, ("bfi", "psych/bfi")))
