"""Counts of different rows: the same as those of the whole table, whatever the pieces."""

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO
from drbo.data.statistics import row_counts
from drbo.data.statistics.row_counts import counted, is_discrete
from drbo.errors import DataError

WHERE = "file 't.csv'"


@pytest.fixture
def frame(rng):
    a, b = rng.integers(3, size=(2, 2_000))
    c = np.where(rng.random(2_000) < 0.8, (a + b) % 3, rng.integers(3, size=2_000))
    return pd.DataFrame({"a": np.array(["x", "y", "z"])[a], "b": b, "c": c})


@pytest.mark.parametrize("most", [2**24, 40])
def test_pieces_decide_nothing(frame, rng, monkeypatch, most):
    monkeypatch.setattr(row_counts, "MOST_CELLS", max(most, 27 * 4))
    cuts = np.sort(rng.integers(0, 2_000, 20))
    found = counted([frame.iloc[part] for part in np.split(np.arange(2_000), cuts) if len(part)], WHERE)
    expected = frame.value_counts().sort_index()
    assert found.counts.tolist() == expected.tolist()
    assert [tuple(row) for row in found.rows.to_numpy().tolist()] == expected.index.tolist()


@pytest.mark.parametrize("score", ["bdeu", "bic-discrete"])
def test_counts_have_the_answer_of_the_rows(frame, score):
    whole = DrBO(score=score, random_state=0).fit(frame)
    found = counted([frame[:700], frame[700:]], WHERE)
    counts = DrBO(score=score, random_state=0, design=Design(groups=False)).fit(found.rows, sample_weight=found.counts)
    assert counts.score_ == pytest.approx(whole.score_, rel=1e-12)
    assert np.array_equal(counts.result_.cpdag, whole.result_.cpdag)


def test_missing_cells_are_counted(frame):
    frame.loc[:9, "a"] = None
    found = counted([frame], WHERE)
    assert found.counts[found.rows["a"].isna()].sum() == 10


def test_dictionaries_of_several_pieces_are_one(frame):
    some = frame.astype({"a": "category"})
    parts = [
        some[some["a"] == "x"].assign(a=lambda one: one["a"].cat.remove_unused_categories()),
        some[some["a"] != "x"],
    ]
    assert counted(parts, WHERE).counts.sum() == 2_000


def test_what_does_not_fit_is_named(frame, monkeypatch):
    with pytest.raises(DataError, match=r"t\.csv', block 2: column 'b' contains text, but numbers before"):
        counted([frame, frame.assign(b="x")], WHERE)
    with pytest.raises(DataError, match="block 2: column 'c' is not in all blocks"):
        counted([frame, frame.drop(columns="c")], WHERE)
    monkeypatch.setattr(row_counts, "MOST_CELLS", 20)
    with pytest.raises(DataError, match="too many different rows"):
        counted([frame], WHERE)


def test_numbers_with_many_values_are_no_categories(frame, rng):
    assert is_discrete(frame)
    assert is_discrete(frame.assign(d=True))
    assert not is_discrete(frame.assign(d=rng.normal(size=2_000)))
