import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, DrBO
from drbo.data.checks.types import typed
from drbo.errors import DataError, SettingsError


def test_what_is_no_type():
    frame = pd.DataFrame({"sex": [1, 2]})
    with pytest.raises(SettingsError, match="must be one of number, category, ordered, got 'text'"):
        typed(frame, {"sex": "text"})
    with pytest.raises(SettingsError, match="types: there is no column 'sexx'") as caught:
        typed(frame, {"sexx": "category"})
    assert caught.value.hint == "did you mean 'sex'?"


def test_numbers():
    notes = []
    frame = pd.DataFrame(
        {"age": ["31", "1,5", "old", " ", None], "day": pd.to_datetime(["2024-01-01"] * 4 + ["2024-01-03"])}
    )
    frame["iso"] = ["2024-01-01", "2024-01-02", None, "2024-01-04", "2024-01-05"]
    found = typed(frame, {"age": "number", "day": "number", "iso": "number"}, notes)
    assert found["age"].fillna(-1).tolist() == [31, 1.5, -1, -1, -1]
    assert found["day"].tolist() == [0, 0, 0, 0, 2]
    assert found["iso"].fillna(-1).tolist() == [0, 1, -1, 3, 4]
    assert notes == ["column 'age': cells that are not numbers are missing: 'old'"]
    with pytest.raises(DataError, match="no number in any row"):
        typed(pd.DataFrame({"w": ["a", "b"]}), {"w": "number"})


def test_categories_and_orders():
    notes = []
    frame = pd.DataFrame(
        {
            "code": [1.0, 2.0, np.nan],
            "size": ["M", "S", "L"],
            "stars": [5, 3, 4],
            "cat": pd.Categorical(["b", "a", "b"], ["b", "a"], ordered=True),
        }
    )
    types = {"code": "category", "size": "S<M<L<XL", "stars": "ordered", "cat": "ordered"}
    found = typed(frame, types, notes)
    assert found["code"].tolist()[:2] == ["1", "2"]
    assert found["code"].isna().tolist() == [False, False, True]
    assert found["size"].tolist() == [2, 1, 3]
    assert found["stars"].tolist() == [3, 1, 2]
    assert found["cat"].tolist() == [1, 2, 1]
    assert notes[0] == "column 'size' is ordered: S < M < L count as 1 to 3"
    with pytest.raises(DataError, match="the order of the levels of column 'size' is unknown") as caught:
        typed(frame, {"size": "ordered"})
    assert "size=L<M<S" in caught.value.hint
    with pytest.raises(DataError, match="does not name 'L'"):
        typed(frame, {"size": "S<M"})
    with pytest.raises(DataError, match="names a level twice"):
        typed(frame, {"size": "S<M<L<S"})
    assert typed(frame, {"cat": "category"})["cat"].dtype == frame["cat"].dtype


def test_an_estimator_takes_types(rng):
    frame = pd.DataFrame({"sex": rng.integers(1, 3, 80), "x": rng.normal(size=80)})
    frame["y"] = frame["x"] + (frame["sex"] == 2) + rng.normal(size=80)
    model = DrBO(policy=DataPolicy(types={"sex": "category"}), max_evals=20, random_state=0).fit(frame)
    assert model.result_.score_name == "mixed"
    assert model.result_.table.n_rows == 80
    model.bootstrap(frame, n=2)
    assert "types" in repr(model)


def test_patterns_and_units():
    notes = []
    frame = pd.DataFrame({"A1": [3, 1], "A2": [2, 5], "Ax": [1, 2], "self": ["12.3 kg", "11"], "w": ["5 g", "7 kg"]})
    found = typed(frame, {"A?": "category", "A2": "ordered", "self": "number"}, notes)
    assert found["A1"].dtype.name == found["Ax"].dtype.name == "category"
    assert found["A2"].tolist() == [1, 2]
    assert found["self"].tolist() == [12.3, 11]
    assert "column 'self': the unit 'kg' is left out" in notes
    with pytest.raises(DataError, match="no number in any row"):  # two units are two scales
        typed(frame, {"w": "number"})
    with pytest.raises(SettingsError, match=r"there is no column 'B\*'"):
        typed(frame, {"B*": "number"})


def test_an_estimator_takes_markers(rng):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    frame.loc[:4, "a"] = -99
    model = DrBO(policy=DataPolicy(na=["-99"], missing="drop"), max_evals=5, random_state=0).fit(frame)
    assert model.result_.table.n_rows == 55
    with pytest.raises(DataError, match="5 of 60 rows"):
        DrBO(policy=DataPolicy(na=("-99",))).fit(frame)
    for wrong in ("*", [-99], [" "]):
        with pytest.raises(SettingsError, match="na must be a list of texts"):
            DataPolicy(na=wrong)
