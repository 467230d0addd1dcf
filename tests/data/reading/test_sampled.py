"""A sample of the rows of a stream as they are: by the seed, whatever the pieces."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.reading.sampled import sampled
from drbo.data.statistics import sums


@pytest.fixture
def frame(rng):
    return pd.DataFrame({"a": np.arange(3_000), "b": rng.normal(size=3_000), "c": ["x", "y", None] * 1_000})


def test_the_pieces_decide_nothing(frame, rng, monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 100)
    found, n_rows = sampled([frame], seed=1)
    assert (len(found), n_rows) == (100, 3_000)
    assert (np.diff(found["a"]) > 0).all()
    cuts = np.sort(rng.integers(0, 3_000, 30))
    again, _ = sampled([frame.iloc[part] for part in np.split(np.arange(3_000), cuts)], seed=1)
    assert again.equals(found)
    assert not sampled([frame], seed=2)[0].equals(found)
    assert 1_000 < found["a"].mean() < 2_000


def test_few_rows_are_all_there(frame):
    found, n_rows = sampled([frame[:10], frame[10:]])
    assert n_rows == 3_000
    assert found["b"].tolist() == frame["b"].tolist()
