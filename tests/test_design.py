import inspect
import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from drbo import DataPolicy, Design, DrBO, Knowledge, check
from drbo.design import MOVED, STATEMENTS
from drbo.errors import DataError, DrboError, SettingsError
from tests import rain


def test_there_are_sixteen_parameters():
    assert len(inspect.signature(DrBO).parameters) == 16
    assert list(inspect.signature(DrBO.fit).parameters) == [
        "self", "X", "y", "sample_weight", "start", "checkpoint", "callbacks",
    ]  # fmt: skip


@pytest.mark.parametrize("name", sorted(MOVED))
def test_a_parameter_of_another_place_is_refused_with_that_place(name):
    with pytest.raises(TypeError, match=f"DrBO has no parameter '{name}'") as caught:
        DrBO(**{name: 1})
    assert isinstance(caught.value, DrboError)
    assert f"use {MOVED[name]}" in str(caught.value)


def test_a_statement_is_part_of_the_knowledge():
    assert set(STATEMENTS) == {one.name for one in fields(Knowledge)}


def test_near_misses_are_named():
    with pytest.raises(TypeError, match=r"DrBO has no parameter 'scores' \(did you mean 'score'\?\)"):
        DrBO(scores="bge")
    with pytest.raises(TypeError, match=r"Design has no parameter 'group' \(did you mean 'groups'\?\)"):
        Design(group="id")

    class Wider(DrBO):
        def __init__(self, colour="red", **others):
            super().__init__(**others)
            self.colour = colour

    assert Wider(colour="blue", score="bge").score == "bge"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Design(experiment=3), "experiment must be the name of a column, got 3"),
        (lambda: Design(control=None), "control must be a label, got None"),
        (lambda: Design(targets={"a": "x"}), "targets needs the column that names the experiment"),
        (lambda: Design(weights=2.0), "weights must be the name of a column or one number per row, got 2.0"),
        (lambda: DataPolicy(on_constant="ignore"), "on_constant must be one of error, drop, got 'ignore'"),
        (lambda: DataPolicy(on_collinear="ignore"), "on_collinear must be one of error, drop, keep, got 'ignore'"),
        (lambda: DataPolicy(imputations=2.5), "imputations must be a whole number of at least 2, got 2.5"),
        (lambda: DataPolicy(types="number"), "types must be a mapping of columns to types, got 'number'"),
    ],
)
def test_wrong_values_are_refused_in_words(make, words):
    with pytest.raises(SettingsError, match=words) as caught:
        make()
    assert caught.value.hint


def test_parameters_inside_are_set_as_scikit_learn_does():
    shared = Design(groups="id")
    model = DrBO(design=shared)
    assert model.get_params()["design__groups"] == "id"
    assert clone(model).design.groups == "id"
    model.set_params(design__weights="w", policy__missing="em", score="bge")
    assert (repr(model.design), repr(model.policy)) == ("Design(groups='id', weights='w')", "DataPolicy(missing='em')")
    assert (shared.weights, model.score) == (None, "bge")  # what others may share is not changed
    model.set_params(design=Design(), design__control="plain")
    assert repr(model.design) == "Design(control='plain')"
    with pytest.raises(TypeError, match="DataPolicy has no parameter 'colour'"):
        model.set_params(policy__colour="red")
    with pytest.raises(ValueError, match="DrBO has no parameter 'colour'"):
        model.set_params(colour="red")


def test_arrays_survive_copies_and_are_shown_by_name():
    design = Design(groups=np.array([1, 2]), weights=[1.0, 2.0], targets=None)
    assert repr(design) == "Design(groups=groups, weights=weights)"
    assert (clone(DrBO(design=design)).design.groups == [1, 2]).all()
    assert pickle.loads(pickle.dumps(design)).weights == [1.0, 2.0]
    assert "Design(groups=groups" in repr(DrBO(design=design))
    assert DataPolicy(types={"a": "number"}) == DataPolicy(types={"a": "number"})


def test_weights_of_the_design_are_those_of_a_fit():
    frame, times = rain.frame(), np.arange(400) % 3
    given = rain.model(score="bic-nv").fit(frame, sample_weight=times)
    column = rain.model(score="bic-nv", design=Design(weights="times")).fit(frame.assign(times=times))
    array = rain.model(score="bic-nv", design=Design(weights=times)).fit(frame)
    assert given.score_ == column.score_ == array.score_
    assert column.result_.names == given.result_.names == tuple(column.feature_names_in_)
    found = column.bootstrap(frame.assign(times=times), n=3)
    expected = given.bootstrap(frame, n=3, sample_weight=times)
    assert (found.directed == expected.directed).all()
    assert column.score_on(frame.assign(times=times)) == given.score_on(frame, sample_weight=times)
    assert "design=Design(weights='times')" in column.result_.call


def test_weights_that_cannot_be_used_are_refused():
    model = rain.model(design=Design(weights="times"))
    with pytest.raises(SettingsError, match="there is no column 'times' with weights of rows"):
        model.fit(rain.frame())
    with pytest.raises(SettingsError, match="weights of rows are given twice"):
        model.fit(rain.frame().assign(times=1.0), sample_weight=np.ones(400))
    frame = rain.frame().assign(times=1.5, who=np.arange(400) // 4)
    with pytest.raises(SettingsError, match="groups cannot be combined with sample weights"):
        rain.model(design=Design(weights="times", groups="who")).fit(frame)
    with pytest.raises(DataError, match="weight"):
        model.fit(rain.frame().assign(times=-1.0))


def test_a_weighted_search_is_resumed(tmp_path):
    frame = rain.frame().assign(times=np.arange(400) % 3)
    model = rain.model(score="bge", max_evals=12, design=Design(weights="times")).fit(frame, checkpoint=tmp_path)
    again = DrBO.resume(tmp_path, frame)
    assert (again.score_, again.design.weights) == (model.score_, "times")


def test_a_table_is_checked_with_design_and_policy():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc")).assign(one=1.0)
    assert not check(frame).is_usable
    found = check(frame.assign(w=np.arange(60.0)), Design(weights="w"), DataPolicy(on_constant="drop"))
    assert found.is_usable
    assert [column.name for column in found.look.columns] == ["a", "b", "c", "one"]
