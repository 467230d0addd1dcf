"""Categories of long tables: found in all blocks, coded alike, and turned into indicators."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading import lines
from drbo.data.reading.read import open_source
from drbo.data.reading.source import ReadOptions, frames_of
from drbo.data.statistics import coded
from drbo.data.statistics.coded import Indicators, codes_of, levels_of
from drbo.data.statistics.stream import streamed
from drbo.errors import DataError


@pytest.fixture
def frame(rng):
    n = 900
    frame = pd.DataFrame({
        "city": rng.choice(["b", "a"], n), "x": rng.normal(size=n), "yes": rng.random(n) < 0.5,
        "digits": rng.choice(["1", "2"], n),
    })  # fmt: skip
    frame.loc[800, "city"] = "late"
    return frame


def _levels(path, **options):
    source = open_source(path, ReadOptions(**options))
    return levels_of(source, next(frames_of(source)))


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_categories_are_found_in_all_blocks_and_coded_alike(frame, tmp_path, monkeypatch, name):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2**12)
    path = tmp_path / name
    if name == "t.csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("pyarrow")
        frame.astype({"city": "category"}).to_parquet(path, row_group_size=200)
    found = _levels(path)
    assert found == {"city": ("a", "b", "late"), "yes": ("False", "True")}
    if name == "t.parquet":  # text of numbers is no number there
        frame, source = frame.drop(columns="digits"), open_source(path, ReadOptions(drop=["digits"]))
    else:
        frame, source = frame.astype({"digits": float}), open_source(path)
    totals = streamed(source, levels=found, keep_rows=True)
    codes = frame.assign(city=frame["city"].map({"a": 0, "b": 1, "late": 2}), yes=frame["yes"].astype(float))
    assert np.array_equal(totals.values, codes.to_numpy(dtype=float))
    indicators = Indicators(tuple(found.get(column) for column in totals.names))
    bases = streamed(source, levels=found, bases=indicators)
    expected = np.column_stack([
        frame["city"] == "a", frame["city"] == "b", frame["x"], ~frame["yes"],
        *([frame["digits"]] if name == "t.csv" else []),
    ]).astype(float)  # fmt: skip
    assert indicators.widths.tolist()[:3] == [2, 1, 1]
    assert np.allclose(bases.moments.covariance, np.cov(expected.T, bias=True))


def test_missing_cells_have_missing_indicators():
    found = Indicators((("a", "b"), None))(np.array([[0.0, 1.0], [np.nan, 2.0]]))
    assert np.array_equal(found, [[1.0, 1.0], [np.nan, 2.0]], equal_nan=True)


def test_other_categories_than_before_are_refused():
    with pytest.raises(DataError, match="block 3: column 'city' has categories that were not there"):
        codes_of(pd.Series(["a", "z"], name="city"), ("a", "b"), "block 3")


def test_free_text_and_dates_are_refused(frame, tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    frame.assign(city=[f"name {k}" for k in range(900)]).to_csv(path, index=False)
    with pytest.raises(DataError, match="column 'city' has 900 distinct values"):
        _levels(path)
    frame.assign(city="2020-01-01").to_csv(path, index=False)
    with pytest.raises(DataError, match="column 'city' contains dates"):
        _levels(path)
    monkeypatch.setattr(coded, "MOST_LEVELS", 2)
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match=r"t\.csv': column 'city' has more than 2 different texts"):
        _levels(path)
    assert _levels(path, drop=["city", "yes"]) == {}
