"""Kinds of tables, hard pairs and experiments with a hidden cause: rows, and what counts as right."""

import numpy as np

from benchmarks import intervention_tables
from benchmarks.experiments.field_kinds import Drawn, drawn
from benchmarks.studies import kinds
from benchmarks.studies.kinds import causes_of, hidden_cause
from benchmarks.verdicts import supported


def _row(cells):
    cell = next(iter(cells))
    assert cell.settle(())
    return cell.row


def test_a_table_has_a_row_with_its_errors():
    row = _row(kinds.tables(kinds=("weak",), rows=[300], seeds=[100]))
    assert row["true_edges"] == drawn("weak", 300, 100).shown.sum()
    assert row["shd_c"] >= 0
    assert row["supported right"] + row["supported wrong"] == row["supported"] == len(supported(row))


def test_an_ancestor_counts_as_a_cause():
    table = drawn("weak", 50, 100)
    dag = np.zeros_like(table.dag)
    dag[0, 1] = dag[1, 2] = True
    right = causes_of(Drawn(table.frame, dag, 0))
    assert right("x0", "x2") == "right"
    assert right("x2", "x0") == right("x3", "x0") == "wrong"


def test_a_pair_without_an_edge_has_no_right_arrow():
    row = _row(kinds.hard_pairs(kinds=("mixture, no edge",), rows=[300], seeds=[100]))
    assert row["supported right"] == row["assumed right"] == row["open right"] == 0
    assert row["edges"] == 1


def test_the_hidden_cause_is_one_that_no_experiment_changes(monkeypatch):
    monkeypatch.setattr(intervention_tables, "D", 8)
    monkeypatch.setattr(intervention_tables, "EXPERIMENTS", 3)
    table = hidden_cause("shift", 100)
    assert table.frame.shape[1] == 8
    assert list(table.frame)[-1] == "experiment"
    assert table.dag[-1].sum() >= 2
    frame, dag, changed = intervention_tables.simulated("shift", 100)
    hidden = next(name for name in frame if name not in table.frame)
    assert not changed[:, list(frame).index(hidden)].any()
    assert dag.sum() == table.dag.sum()
    row = _row(kinds.experiments(kinds=("shift",), seeds=[100]))
    assert row["columns"] == 8
    assert row["edges"] > 0


def test_only_tables_that_no_model_fits_on_their_own_scale_are_compared():
    found = list(kinds.scales(range(220, 221), ("linear", "lognormal"), ("bic-nv",)))
    assert [(row["kind"], row["ranks_fit"]) for row in found] == [("lognormal", True)]
