"""Real tables: how arrows are counted, and what is said where the files are not here."""

import numpy as np
import pytest

from benchmarks.gran_dag import Unavailable
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


def test_only_tables_that_no_model_fits_on_their_own_scale_are_compared():
    found = list(real_tables.scales(range(220, 221), ("linear", "lognormal"), ("bic-nv",)))
    assert [(row["kind"], row["ranks_fit"]) for row in found] == [("lognormal", True)]
