"""Whole fits beside FLOP, and of real tables."""

import numpy as np
import pandas as pd

from benchmarks.studies import whole_fit


def test_a_whole_fit_is_measured_beside_flop(monkeypatch):
    monkeypatch.setattr(whole_fit, "alone", whole_fit.timed)
    monkeypatch.setattr(whole_fit, "flop", lambda *_: (np.zeros((5, 5)), 0.25))
    ours, theirs = whole_fit.run(graphs=("5ER1",), rows=200, seeds=[1], flop_python="python")
    assert ours["cpu_seconds"] >= ours["search_seconds"] + ours["stability_seconds"] > 0
    assert ours["score_name"] == "bic-nv"
    assert (theirs["method"], theirs["cpu_seconds"], theirs["columns"]) == ("FLOP", 0.25, 5)
    monkeypatch.setattr(whole_fit, "flop", lambda *_: "FLOP error")
    assert list(whole_fit.run(graphs=("5ER1",), rows=200, seeds=[1], flop_python="python"))[1]["failed"] == "FLOP error"


def test_real_tables_have_complete_rows_and_categories(monkeypatch, rng):
    frame = pd.DataFrame({"id": range(60), "sex": [1, 2] * 30, "x": rng.normal(size=60)})
    frame.loc[3, "x"] = np.nan
    monkeypatch.setattr(whole_fit, "loaded", lambda *_: frame)
    monkeypatch.setattr(whole_fit, "REAL", {"some/table": (["id"], ["sex"])})
    monkeypatch.setattr(whole_fit, "alone", lambda table: {"kinds": [str(one) for one in table.dtypes]})
    (row,) = whole_fit.real(tables=("some/table",))
    assert (row["columns"], row["n"], row["kinds"][1]) == (2, 59, "float64")
    assert row["kinds"][0] not in ("int64", "float64")


def test_a_process_of_its_own_measures_a_table(rng):
    assert whole_fit.alone(rng.normal(size=(60, 2)))["method"] == "drbo"
