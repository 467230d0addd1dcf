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
from drbo.result.report.content import Content
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


def test_what_holds_for_several_columns_is_said_once(rng):
    codes = {name: rng.integers(2, size=80) for name in ("sex", "ill", "old")}
    found = drbo.check(pd.DataFrame({**codes, "x": rng.normal(size=80), "y": rng.normal(size=80)}))
    doubts = [line for line in str(found).splitlines() if "look like codes" in line]
    assert len(doubts) == 1
    assert doubts[0].endswith("; the same holds for 'ill', 'old'")
    assert len(found.look.problems) == 3


def test_numbers_have_the_digits_that_tell_them_apart(rng):
    noise = rng.normal(size=80)
    found = drbo.check(pd.DataFrame({"centred": noise - noise.mean(), "far": 1e6 + noise / noise.std()}))
    centred, far = (one.values for one in found.look.columns)
    assert centred.startswith("mean 0, ")
    assert far.startswith(f"mean {1e6 + noise.mean() / noise.std():.1f}")
    assert "sd 1, " in far


@pytest.mark.parametrize(("rows", "said"), [(19, True), (20, False)])
def test_too_few_rows_are_said_before_all_else(rng, rows, said):
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    assert (f"only {rows} rows, which are too few" in str(drbo.check(frame))) == said
    result = drbo.DrBO(random_state=0).fit(frame).result_
    assert result.summary().startswith(f"Only {rows} rows, which are too few to find a graph") == said
    assert Content(result).words.says[0].startswith(f"Only {rows} rows") == said
