"""Kinds of tables met in practice: what each promises, and its graph."""

import numpy as np
import pytest

from benchmarks.experiments.field_kinds import FIELD_KINDS, HIDDEN_ROOTS, MOST_PARENTS, Drawn, drawn
from drbo.graph.dag import is_acyclic


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_every_kind_is_a_table_with_its_graph(kind):
    table = drawn(kind, 200, 100)
    d = table.frame.shape[1]
    assert len(table.frame) == 200
    assert 8 <= d <= 20
    assert table.shown.shape == table.causes.shape == (d, d)
    assert is_acyclic(table.dag)
    assert table.shown.sum(axis=0).max() <= MOST_PARENTS
    assert table.frame.notna().all(axis=None)
    assert np.isfinite(table.frame.select_dtypes("number").to_numpy()).all()
    assert table.frame.equals(drawn(kind, 200, 100).frame)
    assert not table.frame.equals(drawn(kind, 200, 101).frame)


def test_hidden_roots_are_not_shown_but_count_as_causes():
    table = drawn("hidden causes", 200, 100)
    assert table.n_hidden == HIDDEN_ROOTS
    assert (table.dag[-HIDDEN_ROOTS:].sum(axis=1) == 3).all()
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 2] = dag[2, 1] = True  # the last column is hidden between the others
    middle = Drawn(table.frame, dag, 1)
    assert not middle.shown.any()
    assert middle.causes[0, 1]


def test_columns_are_what_their_kind_says():
    codes = drawn("ordinal", 500, 100).frame
    assert all(set(codes[name]) == {1, 2, 3, 4, 5} for name in codes)
    zeros = drawn("zero-inflated counts", 500, 100).frame
    assert ((zeros == zeros.round()) & (zeros >= 0)).all(axis=None)
    assert (zeros == 0).mean().min() > 0.05
    assert np.allclose(drawn("compositions", 100, 100).frame.sum(axis=1), 1)
    assert np.allclose(drawn("internally standardised", 100, 100).frame.std(ddof=0), 1)
    assert (drawn("log-normal", 100, 100).frame > 0).all(axis=None)
    both = drawn("multinomial logit", 100, 100).frame
    assert 0 < both.select_dtypes("number").shape[1] < both.shape[1]
    noise = drawn("serial noise", 1_000, 100)
    root = noise.frame.iloc[:, int(np.flatnonzero(~noise.dag.any(axis=0))[0])]
    assert 0.7 < root.autocorr(1) < 0.9
