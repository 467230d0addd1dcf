"""One fit and the counts of its claims."""

import numpy as np
import pandas as pd

from benchmarks.verdicts import Arrow, counts, fitted, supported
from drbo import DrBO


def _collider(rng):
    a, b = rng.normal(size=(2, 1_000))
    return pd.DataFrame({"a": a, "b": b, "c": a + b + 0.5 * rng.normal(size=1_000)})


def test_arrows_are_counted_by_direction_and_verdict(rng):
    result = DrBO(score="bic-nv", random_state=0).fit(_collider(rng)).result_
    row = counts(result, lambda source, target: {"a": "right", "b": ""}[source])
    assert row["edges"] == 2
    assert sum(row[name] for name in ("supported", "assumed", "open")) == 2
    assert sum(row[f"{name} right"] for name in ("supported", "assumed", "open")) == 1
    assert len(supported(row)) == row["supported"]


def test_supported_arrows_are_read_as_they_were_written():
    row = {"arrows": "c0>c1 class right; c2>c1 noise-check ?"}
    assert supported(row) == [Arrow("c0", "c1", "class", "right"), Arrow("c2", "c1", "noise-check", "?")]
    assert supported({"arrows": ""}) == []


def test_a_refused_table_has_a_row_that_says_why():
    row, result = fitted(pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [2.0, 1.0, 5.0]}), lambda *_: "")
    assert result is None
    assert "missing" in row["failed"]
    assert row["n"] == 3
