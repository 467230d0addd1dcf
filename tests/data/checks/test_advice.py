import pickle

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.data.checks import advice
from drbo.data.checks.advice import TableError, look_at
from drbo.errors import DataError


@pytest.fixture
def good(rng):
    x = rng.normal(size=200)
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=200)})


def _one(frame, **policies):
    (problem,) = look_at(frame, **policies).problems
    return problem


@pytest.mark.parametrize(
    ("name", "make", "words", "remedy"),
    [
        ("row", lambda n, rng: np.arange(5, n + 5), "only counts the rows (5, 6, ...)", "drop"),
        ("patient_id", lambda n, rng: rng.permutation(n) + 1000, "is an identifier", "drop"),
        ("sex", lambda n, rng: rng.integers(1, 3, n), "has only the values 1, 2, which look like codes", "category"),
        ("arm", lambda n, rng: rng.integers(0, 3, n), "has only the values 0, 1, 2", "category"),
        ("rare", lambda n, rng: np.arange(n) // (n - 1), "the same value in 99.5% of the rows", "drop"),
        ("word", lambda n, rng: np.where(np.arange(n) == 7, "b", "a"), "the same value in 99.5%", "drop"),
    ],
)
def test_columns_that_are_hardly_meant_to_be_used(good, rng, name, make, words, remedy):
    problem = _one(good.assign(**{name: make(len(good), rng)}))
    assert words in problem.text
    assert (problem.column, problem.remedy, problem.blocks) == (name, remedy, False)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("count", lambda n, rng: rng.poisson(4, n)),
        ("weight_kg", lambda n, rng: rng.permutation(n)),  # all different, but no name of an identifier
        ("grade", lambda n, rng: rng.integers(1, 6, n)),
        ("flag", lambda n, rng: rng.choice([3, 7], n)),
        ("group", lambda n, rng: rng.choice(["a", "b"], n)),
    ],
)
def test_columns_that_can_be_meant(good, rng, name, make):
    assert look_at(good.assign(**{name: make(len(good), rng)})).problems == ()


def test_a_value_that_fills_the_first_rows_alone_is_no_problem(rng):
    n = 2 * advice.LOOKED_AT
    frame = pd.DataFrame({"x": rng.normal(size=n), "run": np.repeat(["plain", "heated"], n // 2)})
    assert look_at(frame).problems == ()


def test_codes_are_no_problem_where_all_columns_are_discrete(rng):
    frame = pd.DataFrame(rng.integers(0, 2, (100, 3)), columns=["a", "b", "c"])
    assert look_at(frame).problems == ()


def test_everything_at_once(good, rng):
    frame = good.assign(
        day=pd.Timestamp("2024-01-01"), text=[f"note {k}" for k in range(200)], one=1.0, copy=2 * good["y"],
        age=["31"] * 150 + ["x"] * 50, empty=None,
    )  # fmt: skip
    frame.loc[3, "x"] = np.nan
    look = look_at(frame)
    assert look.drop == ["day", "text", "empty", "one", "y"] or look.drop == ["day", "text", "empty", "one", "copy"]
    assert look.types == {"age": "number"}
    assert look.missing == "em"
    with pytest.raises(TableError, match="7 problems") as caught:
        DrBO().fit(frame)
    assert isinstance(caught.value, DataError)
    assert 'use missing="em"' in caught.value.hint
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message
    holds = {column.name: column.holds for column in look.columns}
    assert holds["day"] == "dates"
    assert holds["empty"] == "nothing"
    assert next(column for column in look.columns if column.name == "x").missing == 1 / 200


def test_a_cell_does_not_cost_its_column(good):
    frame = good.assign(weight=[f"{k / 7:.1f} kg" for k in range(200)], dose=good["x"] + 1, arm=["a", "b"] * 100)
    frame.loc[3, "dose"], frame.loc[7, "arm"] = np.inf, "*"
    look = look_at(frame)
    assert look.drop == []
    assert (look.types, look.na, look.missing) == ({"weight": "number"}, ("inf", "*"), "drop")
    assert "contains numbers with the unit 'kg'" in look.problems[0].text
    with pytest.raises(DataError, match="Input contains infinity") as caught:
        DrBO().fit(good.assign(dose=frame["dose"]))
    assert 'na=["inf"]' in caught.value.hint


def test_columns_with_few_values_are_dropped_not_imputed(good):
    frame = good.assign(late=[1.5, 2.5, 3.5] + [None] * 197, word=["a", "b"] * 100)
    look = look_at(frame)
    assert (look.drop, look.missing) == (["late"], "")
    assert "has no value in 98% of the rows" in look.problems[-1].text


def test_a_marker_that_is_a_value_elsewhere_is_not_proposed(good):
    frame = good.assign(wage=[12.0, -99] * 100, balance=[-99.0, 3, -50, 20] * 50)
    look = look_at(frame)
    assert [problem.column for problem in look.problems if problem.marker] == []
    wages = np.where(frame.index < 100, frame["wage"], frame.index)
    assert look_at(frame.assign(wage=wages)).na == ()
    assert look_at(frame.assign(wage=wages, balance=good["y"])).na == ("-99",)


def test_the_way_to_treat_missing_values(good):
    labels = good.assign(word=["a", "b"] * 100)
    few, many = labels.copy(), labels.copy()
    few.loc[:3, "x"], many.loc[:60, "x"] = np.nan, np.nan
    assert (look_at(few).missing, look_at(many).missing, look_at(few[["x", "y"]]).missing) == ("drop", "impute", "em")
    assert look_at(few, missing="drop").missing == ""


def test_policies_are_kept(good):
    frame = good.assign(one=1.0, copy=good["y"])
    assert {problem.column for problem in look_at(frame).problems} == {"one", "y"}
    assert look_at(frame, on_constant="drop", on_collinear="keep").problems == ()


def test_many_columns_are_not_imputed_where_complete_rows_are_enough(rng):
    frame = pd.DataFrame(rng.normal(size=(400, 25))).rename(columns=str).assign(word=["a", "b"] * 200)
    frame.loc[:99, "0"] = np.nan
    assert look_at(frame).missing == "drop"
    look = look_at(frame[:200])
    assert look.missing == "impute"
    assert "to impute 26 columns takes minutes" in look.problems[-1].text


def test_a_table_that_is_too_wide_is_refused_before_anything_is_looked_at(monkeypatch):
    monkeypatch.setattr(advice, "missing_cells", lambda frame: pytest.fail("it was looked at"))
    with pytest.raises(DataError, match="the table has 20000 columns, but at most 16384 are allowed"):
        look_at(pd.DataFrame(np.zeros((3, 20_000))))
