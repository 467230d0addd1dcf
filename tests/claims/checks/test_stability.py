"""Halves of the rows: how they are drawn, and what they confirm on the route of a fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.claims.answer.stages import Answer
from drbo.claims.checks import stability
from drbo.claims.checks.stability import HALVES, LEAST, Stability, half_rows
from drbo.claims.denial import ClaimRecord
from drbo.claims.refits.refit import TableRefit
from drbo.data.checks.experiments import Experiments
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicNV
from tests.claims.contexts import context_of

#: Stands for the context of all rows where no half is searched.
WHOLE = object()


def _table(rng, n=40, **given):
    return replace(Statistics.from_array(rng.normal(size=(n, 2))), **given)


def _frame(rng, n, weight):
    """Return three independent causes of one effect: to reverse one of the arrows takes two more."""
    a, b, c = rng.normal(size=(3, n))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": weight * (a + b + c) + rng.normal(size=n)})


def _fit(frame, seed=0, score="bic-nv"):
    return DrBO(score=score, random_state=seed).fit(frame).result_


def _denied(result):
    return {(one.cause, one.effect): one.sentence for one in result.claims.denials if one.claim == "stability"}


@pytest.mark.parametrize("k", range(0, HALVES, 2))
def test_two_halves_make_up_the_table(rng, k):
    table = _table(rng, 41)
    one, other = half_rows(table, k), half_rows(table, k + 1)
    assert sorted([*one, *other]) == list(range(41))
    assert abs(len(one) - len(other)) == 1


def test_groups_stay_together_and_every_experiment_is_split(rng):
    groups = np.repeat(np.arange(10), 4)
    half = half_rows(_table(rng, groups=groups), 0)
    assert all(np.isin(np.flatnonzero(groups == g), half).all() == (g in groups[half]) for g in range(10))
    runs = Experiments(np.repeat([0, 1], [30, 10]), ("control", "hot"))
    half = half_rows(_table(rng, experiments=runs), 3)
    assert np.bincount(runs.codes[half]).tolist() == [15, 5]


def test_a_value_that_occurs_once_is_in_both_halves_with_its_group(rng):
    table = _table(rng, groups=np.repeat(np.arange(10), 4))
    table.values[:, 0] = 0.0
    table.values[5, 0] = 1.0
    one, other = half_rows(table, 0), half_rows(table, 1)
    assert set(one) & set(other) == {4, 5, 6, 7}
    table.values[5, 0] = 0.0  # constant in the table as well
    assert not set(half_rows(table, 0)) & set(half_rows(table, 1))


def test_a_table_with_a_value_that_occurs_once_is_fitted(rng):
    frame = _frame(rng, 400, 1.0)
    frame["rare"] = np.where(np.arange(400) == 7, "yes", "no")
    assert next(one for one in _fit(frame, score="auto").claims.made if one.name == "stability").status == "ran"


@pytest.mark.parametrize("kind", ["numbers", "mixed", "categories"])
def test_clear_arrows_are_confirmed_in_tables_of_every_kind(rng, kind):
    frame = _frame(rng, 1500, 1.0)
    if kind != "numbers":
        frame["a"] = np.where(frame["a"] > 0, "yes", "no")
    if kind == "categories":
        frame = frame.map(lambda value: value if isinstance(value, str) else "up" if value > 0 else "down")
    result = _fit(frame, score="bic-nv" if kind == "numbers" else "auto")
    assert next(one for one in result.claims.made if one.name == "stability").status == "ran"
    assert _denied(result) == {}
    counted = {(one.cause, one.effect): (one.confirmed, one.tried) for one in result.claims.halves}
    assert set(counted) == {(i, "d") for i in "abc"}
    assert all(LEAST <= confirmed <= tried <= HALVES for confirmed, tried in counted.values())
    assert result.edges()["stable"].tolist() == [confirmed / tried for confirmed, tried in counted.values()]
    assert {(one.cause, one.effect, one.ground) for one in result.directions} == {(i, "d", "class") for i in "abc"}


def test_the_verdict_depends_neither_on_the_seed_nor_on_the_order_of_rows(rng):
    frame = _frame(rng, 300, 0.45)
    found = [
        {(one.cause, one.effect): (one.direction, one.sentence) for one in _fit(part, seed).directions}
        for seed, part in ((0, frame), (7, frame), (0, frame.sample(frac=1, random_state=1)))
    ]
    assert found[0] == found[1] == found[2]


def test_an_arrow_that_few_halves_confirm_is_denied_with_their_number(rng, monkeypatch):
    monkeypatch.setattr(stability, "supported", _only_of_the_whole(stability.supported))
    result = _fit(_frame(rng, 400, 1.0))
    tried = HALVES - LEAST + 1  # then it cannot be confirmed any more
    assert set(_denied(result).values()) == {f"Only 0 of {tried} halves of the rows support this direction."}
    assert {one.direction for one in result.directions} == {"assumed"}


def _only_of_the_whole(original):
    def supported(context):
        return original(context) if context.table.n_rows == 400 else {}

    return supported


@pytest.mark.parametrize(("n", "why"), [(39, "halves of the table have fewer than 20 rows"), (40, "")])
def test_a_table_of_few_rows_is_not_halved(rng, n, why):
    table = Statistics.from_array(rng.normal(size=(n, 3)), list("abc"))
    dag = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    context = context_of(BicNV(table), table, dag)
    assert Stability().too_much(context) == ""  # no arrow is supported without claims
    context.made.append(ClaimRecord(name="colliders", status="ran", grounds=("class",)))
    assert Stability().too_much(context) == why


def test_halves_are_asked_only_about_arrows_that_are_not_decided(monkeypatch):
    asked = []

    def half(context, k, arrows, brief):
        asked.append(set(arrows))
        return k, brief

    def supported(context):
        return {("a", "c"): "class", ("b", "c"): "class"} if context is WHOLE else {("a", "c"): "class"}

    monkeypatch.setattr(stability, "supported", supported)
    monkeypatch.setattr(stability, "_half", half)
    monkeypatch.setattr(stability, "_leaning", lambda *_: set())
    record, denied, _ = Stability().run(WHOLE)
    lost = HALVES - LEAST + 1
    assert {(one.cause, one.effect): (one.confirmed, one.tried) for one in record} == {
        ("a", "c"): (LEAST, LEAST),
        ("b", "c"): (0, lost),
    }
    assert [("b", "c") in arrows for arrows in asked] == [True] * lost + [False] * (LEAST - lost)
    assert {(one.cause, one.effect) for one in denied} == {("b", "c")}


def test_only_arrows_that_the_class_of_a_half_allows_are_checked(rng):
    table = Statistics.from_array(_frame(rng, 400, 1.0).to_numpy(), list("abcd"))
    dag = np.zeros((4, 4), dtype=bool)
    dag[:3, 3] = True
    answer = Answer(outcome=None, dag=dag, score=0.0)
    context = context_of(BicNV(table), table, dag)
    possible = stability._possible([("a", "d"), ("d", "b"), ("a", "b")], answer, context.inquiry)
    assert np.argwhere(possible).tolist() == [[0, 3]]
    dag[:2, 3] = False  # c - d is open then
    possible = stability._possible([("c", "d"), ("d", "c"), ("a", "d")], answer, context.inquiry)
    assert np.argwhere(possible).tolist() == [[2, 3], [3, 2]]


@pytest.mark.parametrize(("n", "enough"), [(1000, True), (1000, False), (990, True)])
def test_halves_of_many_rows_are_searched_briefly_where_that_finds_as_much_in_the_first(rng, monkeypatch, n, enough):
    again, searches = TableRefit.again, []

    def noted(self, table, seed, start):
        searches.append((seed, self.brief))
        return again(self, table, seed, start)

    monkeypatch.setattr(TableRefit, "again", noted)
    monkeypatch.setattr(stability, "_as_good", lambda one, other: enough)
    DrBO(score="bic-nv").fit(_frame(rng, n, 1.0))
    of_halves = searches[1:]  # the first one is that of the ranks of the whole table
    asked = n == 1000
    assert of_halves[: 1 + asked] == [(0, False), (0, True)][: 1 + asked]
    assert {brief for _, brief in of_halves[1 + asked :]} == {asked and enough}
