from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.experiments import (
    Experiments,
    KnownTarget,
    control_rows,
    known_targets,
    plain_targets,
    split_experiments,
)
from drbo.data.statistics.statistics import Statistics
from drbo.design import Design
from drbo.errors import DataError, DrboError, SettingsError

RUNS = Design(experiment="run", control="plain")


def frame(labels, rows=6):
    return pd.DataFrame({"x": np.arange(float(len(labels) * rows)), "run": np.repeat(labels, rows), "y": 1.0})


def test_the_control_comes_first_and_the_others_by_name():
    rest, found = split_experiments(frame(["b", "plain", "a"]), RUNS)
    assert list(rest) == ["x", "y"]
    assert found.labels == ("plain", "a", "b")
    assert found.codes.tolist() == [2] * 6 + [0] * 6 + [1] * 6
    assert found.counts.tolist() == [6, 6, 6]
    assert found.control.sum() == 6


def test_labels_travel_with_rows_and_columns():
    _, found = split_experiments(frame(["plain", "a"]), replace(RUNS, targets={"a": {"y": "hard"}}))
    values = np.random.default_rng(0).normal(size=(12, 2))
    table = Statistics(values, ("x", "y"), ("numeric",) * 2, (None,) * 2, experiments=found)
    rows = np.random.default_rng(1).permutation(12)
    moved = table.take(rows, np.array([1, 0]))
    assert (moved.experiments.codes == found.codes[rows]).all()
    assert (moved.experiments.cut(moved.names)[:, 0] == (found.codes[rows] == 1)).all()
    assert not moved.experiments.cut(moved.names)[:, 1].any()
    order, columns = table.canonical_order()
    again, other = moved.canonical_order()
    assert [table.names[j] for j in columns] == [moved.names[j] for j in other]
    assert (found.codes[order] == moved.experiments.codes[again]).all()


def test_equal_rows_of_several_experiments_are_ordered_by_experiment():
    codes = np.array([1, 0, 1, 0, 1, 0])
    table = Statistics(np.ones((6, 1)), ("x",), ("numeric",), (None,), experiments=Experiments(codes, ("a", "b")))
    order = table.canonical_order()[0]
    assert codes[order].tolist() == [0, 0, 0, 1, 1, 1]


def test_targets_may_be_a_mapping_or_a_table():
    expected = (KnownTarget("a", "x"), KnownTarget("b", "x"), KnownTarget("b", "y", "hard"))
    labels, names = ("plain", "a", "b"), ["x", "y"]
    table = pd.DataFrame({"experiment": ["b", "a", "b"], "target": ["y", "x", "x"], "kind": ["hard", None, "soft"]})
    assert known_targets({"b": {"y": "hard", "x": "soft"}, "a": "x"}, labels, names) == expected
    assert known_targets(table, labels, names) == expected
    assert plain_targets(table) == {"a": {"x": "soft"}, "b": {"x": "soft", "y": "hard"}}
    assert known_targets(None, labels, names) == ()
    assert plain_targets(None) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"experiment": "who"}, "there is no column 'who' that names experiments"),
        ({"control": "observational"}, "no row of column 'run' is the control 'observational'"),
        ({"targets": {"a": "z"}}, "'z', a target of experiment 'a', is not a column of the table"),
        ({"targets": {"c": "x"}}, "targets names the experiment 'c', which no row has"),
        ({"targets": {"plain": "x"}}, "the control 'plain' cannot have targets"),
        ({"targets": {"a": {"x": "firm"}}}, "kind of target 'x' of experiment 'a' must be soft or hard, got 'firm'"),
        ({"targets": {"a": ["x", "x"]}}, None),
        ({"targets": 7}, "targets must be a mapping, or a table with the columns experiment and target, got int"),
    ],
)
def test_wrong_requests_are_refused_in_words(change, words):
    given = replace(RUNS, **change)
    if words is None:  # a list is a set of columns
        assert len(split_experiments(frame(["plain", "a"]), given)[1].known) == 1
        return
    with pytest.raises(SettingsError, match=words):
        split_experiments(frame(["plain", "a"]), given)


def test_the_rows_of_the_control_are_found():
    rows = frame(["a", "plain"])
    assert control_rows(rows, RUNS)["x"].tolist() == [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    assert control_rows(rows[["x"]], RUNS) is not None
    with pytest.raises(DataError, match="no row of column 'run' is the control 'b'"):
        control_rows(rows, replace(RUNS, control="b"))


def test_a_target_that_is_given_twice_is_refused():
    twice = pd.DataFrame({"experiment": ["a", "a"], "target": ["x", "x"], "kind": ["soft", "hard"]})
    with pytest.raises(SettingsError, match="target 'x' of experiment 'a' is given twice"):
        known_targets(twice, ("plain", "a"), ["x"])


def test_unusable_labels_are_refused_in_words():
    few = pd.concat([frame(["plain", "a"]), frame(["rare"], rows=4)])
    with pytest.raises(DataError, match="experiment 'rare' has 4 rows, but at least 5 are needed"):
        split_experiments(few, RUNS)
    many = pd.DataFrame({"x": np.arange(500.0), "run": np.arange(500)})
    with pytest.raises(DataError, match="column 'run' has 500 different values, but at most 200 experiments"):
        split_experiments(many, replace(RUNS, control="0"))
    unnamed = frame(["plain", "a"])
    unnamed.loc[3, "run"] = None
    with pytest.raises(DrboError, match="names no experiment in 1 of 12 rows, first in row 3"):
        split_experiments(unnamed, RUNS)
