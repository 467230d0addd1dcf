"""Ordinary tables: what is drawn, and how methods are compared."""

import numpy as np
import pytest

from benchmarks.studies.ordinary import KINDS, as_categories, drawn, in_numbers, run


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_of_their_kind(kind):
    frame, dag = drawn(kind, 10, 400, 100)
    assert frame.shape == (400, 10)
    assert dag.shape == (10, 10)
    numbers = frame.select_dtypes("number").shape[1]
    assert (numbers < 10) == kind.startswith("groups")
    if kind == "ordinal":
        assert set(frame.stack()) == {1.0, 2.0, 3.0, 4.0, 5.0}
    if kind.endswith("counts"):
        assert (frame.to_numpy() == np.round(frame.to_numpy())).all()
        assert (frame.to_numpy() >= 0).all()
    if kind in ("gamma", "log-normal"):
        assert (frame.to_numpy() > 0).all()
    if kind == "floor":
        assert ((frame == frame.min()).mean() > 0.1).sum() == 5
    again, _ = drawn(kind, 10, 400, 100)
    assert again.equals(frame)


def test_scales_of_rivals():
    frame, _ = drawn("ordinal", 10, 300, 100)
    assert (in_numbers(frame, "numbers") == frame.to_numpy()).all()
    ranks = in_numbers(np.exp(frame), "ranks")
    assert ranks == pytest.approx(in_numbers(frame, "ranks"))
    labels = as_categories(frame)
    assert set(labels["x0"]) == {f"level {k}" for k in range(1, 6)}


def test_rows_of_a_table():
    cells = list(
        run(kinds=("ordinal",), columns=(10,), rows=(300,), seeds=[100], methods=("auto", "bic-ranks", "mixed"))
    )
    assert [cell.key["method"] for cell in cells] == ["auto", "bic-ranks"]
    rows = [cell.measure() for cell in cells]
    assert rows[0]["score_name"] == "bic-ranks"
    assert rows[0]["f1"] == rows[1]["f1"] > 0.8
    assert rows[0]["true_edges"] == drawn("ordinal", 10, 300, 100)[1].sum()
