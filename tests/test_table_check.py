"""What ``drbo.check`` says of a table in Python; the command line is in ``cli/test_check``."""

import numpy as np
import pandas as pd
import pytest

import drbo
from drbo.data.reading.read import open_source
from drbo.data.statistics import sums
from drbo.design import DataPolicy, Design
from drbo.errors import SettingsError
from drbo.gathering import Gathering
from tests.test_experiments import runs


@pytest.fixture
def frame(rng):
    x = rng.normal(size=(200, 3))
    x[:, 2] += x[:, 0]
    x[:, 0] += 40
    return pd.DataFrame(x, columns=["age", "dose", "response"])


def test_a_good_table_says_what_a_fit_would_do(frame):
    found = drbo.check(frame)
    assert (found.is_usable, found.n_rows, found.score) == (True, 200, "bic-nv")
    text = str(found)
    assert text.startswith("table: 200 rows, 3 columns\n")
    for words in (
        "Audit:",
        'score="auto" chooses bic-nv:',
        "if that is true here, add Knowledge(roots=['age'])",
        "\n\nNext: fit it",
    ):
        assert words in text
    assert found.roots == ("age",)


def test_problems_come_with_what_solves_them(frame):
    found = drbo.check(frame.assign(day="2024-01-01", id=np.arange(200)))
    assert not found.is_usable
    assert found.look.drop == ["day", "id"]
    assert found.findings is None
    assert str(found).endswith("Next: drop the columns day, id")
    assert "Fewer than 2 columns" in str(drbo.check(frame[["age"]].assign(one=1)))


def test_a_file_is_checked_as_its_table(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert str(drbo.check(tmp_path / "t.csv")) == str(drbo.check(frame))
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 50)
    monkeypatch.setattr(Gathering, "streams", lambda *_: True)
    found = drbo.check(open_source(tmp_path / "t.csv"))
    assert (found.n_rows, found.n_checked) == (200, 50)
    assert "everything below describes a random sample of 50 rows" in str(found)


def test_types_groups_and_experiments_are_those_of_a_fit(frame):
    found = drbo.check(frame.assign(sex=[1, 2] * 100), policy=DataPolicy(types={"sex": "category"}))
    assert found.look.columns[-1].used_as == "categorical"
    grouped = drbo.check(frame.assign(who=np.arange(200) // 4), design=Design(groups="who"))
    assert (grouped.n_columns, len(grouped.look.columns)) == (4, 3)
    found = drbo.check(runs(), design=Design(experiment="run"))
    assert "hot" in {one.label for one in found.experiments}
    assert "Suspected targets" in str(found)
    with pytest.raises(SettingsError, match="no column 'walk' that names experiments"):
        drbo.check(runs(), design=Design(experiment="walk"))
