from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.prepare import Preparation
from drbo.deadline import Deadline
from drbo.design import DataPolicy, Design
from drbo.errors import DataError, SettingsError

HOLED = pd.DataFrame({"a": [1.0, 2.5, np.nan, 4.0, 0.5], "b": [2.0, 1.0, 3.0, 0.5, 1.5]})
WEIGHTS = np.array([1.0, 0.0, 2.0, 3.0, 1.0])


def test_a_complete_table_passes_as_it_is():
    prepared = Preparation().prepare(HOLED.dropna())
    assert prepared.columns == ["a", "b"]
    assert prepared.table.n_rows == 4
    assert prepared.notes == ()


def test_missing_values_follow_the_policy():
    with pytest.raises(DataError, match="missing values in column 'a'"):
        Preparation().prepare(HOLED)
    assert Preparation(policy=DataPolicy(missing="drop")).prepare(HOLED).table.n_rows == 4
    kept = Preparation(policy=DataPolicy(missing="em")).prepare(HOLED)
    assert (kept.table.n_rows, kept.table.incomplete) == (5, True)
    assert "the effective sample size is" in kept.notes[0]


def test_em_is_for_numbers():
    words = HOLED.assign(kind=["x", "y", "x", "y", "z"])
    with pytest.raises(DataError, match="column 'kind' is categorical"):
        Preparation(policy=DataPolicy(missing="em")).prepare(words)


def test_columns_that_are_left_out_are_still_named():
    prepared = Preparation(policy=DataPolicy(on_constant="drop")).prepare(HOLED.dropna().assign(one=1.0))
    assert prepared.columns == ["a", "b", "one"]
    assert prepared.table.names == ("a", "b")


def test_rows_without_weight_or_value_are_not_used():
    preparation = Preparation(policy=DataPolicy(missing="drop"))
    prepared = preparation.prepare(HOLED, WEIGHTS)
    assert prepared.table.weights.tolist() == [1.0, 3.0, 1.0]
    assert preparation.used_rows(HOLED, WEIGHTS).tolist() == [True, False, False, True, True]
    assert Preparation().used_rows(HOLED, None).all()


def test_weights_of_one_are_no_weights():
    assert Preparation().prepare(HOLED.dropna(), np.ones(4)).table.weights is None


RUNS = Design(experiment="run", control="plain")


def _runs():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"]).assign(run=["plain"] * 20 + ["hot"] * 20)
    frame.loc[frame["run"] == "hot", "a"] += 50
    frame.loc[3, "b"] = np.nan
    return frame


def test_experiments_follow_the_rows_that_are_used():
    preparation = Preparation(RUNS, DataPolicy(missing="drop"), parts=True)
    weights = np.where(np.arange(40) % 4 == 1, 0.0, 1.0)
    data = preparation.prepare(_runs(), weights)
    used = preparation.used_rows(_runs(), weights)
    assert used.sum() == data.table.n_rows == 29
    assert data.table.experiments.counts.tolist() == [14, 15]
    assert data.columns == ["a", "b"]
    assert data.notes[0] == "1 experiment beside the control 'plain'"
    assert (data.table.weights == 1).all()  # a shift between experiments is no reason to count rows as fewer
    again = preparation.again(_runs(), ("b", "a"), weights)
    assert (again.experiments.codes == data.table.experiments.codes).all()
    assert list(preparation.variables(_runs())) == ["a", "b"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"design": replace(RUNS, groups="b")}, "groups cannot be combined with experiments"),
        ({"policy": DataPolicy(missing="em")}, "missing='em' cannot be combined with experiments"),
    ],
)
def test_what_does_not_go_with_experiments_is_refused(change, words):
    with pytest.raises(SettingsError, match=words):
        Preparation(**{"design": RUNS} | change).prepare(_runs())


def test_the_table_of_a_fit_is_prepared_again_with_its_columns():
    preparation = Preparation(policy=DataPolicy(missing="drop", on_constant="drop"))
    frame = HOLED.assign(one=1.0)
    first, again = preparation.prepare(frame, WEIGHTS).table, preparation.again(frame, ("a", "b"), WEIGHTS)
    assert (again.values == first.values).all()
    assert again.names == first.names
    assert again.weights.tolist() == first.weights.tolist()


def test_rows_in_the_order_of_time_are_warned_of():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(300, 2)), axis=0)
    prepared = Preparation().prepare(walk)
    with pytest.warns(UserWarning, match="neighbouring rows"):
        told = prepared.warned_of_time()
    assert len(told.notes) > len(prepared.notes)


def test_rows_that_there_is_no_time_to_compare_are_said_not_to_be():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(300, 3)), axis=0)
    with Deadline(0.0):
        prepared = Preparation(parts=True).prepare(walk).warned_of_time()
    assert prepared.notes == ("neighbouring rows were not compared: time ran out",)
    assert "counts as" in Preparation(parts=True).prepare(walk).notes[0]
