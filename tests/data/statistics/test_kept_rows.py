"""A random sample of the rows of a stream: all rows alike, by the seed, whoever reads them."""

import numpy as np
import pytest

from drbo.data.statistics import sums
from drbo.data.statistics.kept_rows import KeptRows
from drbo.data.statistics.sums import describing_rows, summed


def _pieces(values, rng):
    return np.split(values, np.sort(rng.integers(0, len(values), 9)))


@pytest.fixture(autouse=True)
def _small_sample(monkeypatch):
    monkeypatch.setattr(sums, "SAMPLE_CELLS", 0)
    monkeypatch.setattr(sums, "SAMPLE_ROWS", 50)


def test_the_sample_is_drawn_from_all_rows_alike(rng):
    rows = np.arange(2_000.0)[:, None]
    picked = np.zeros(2_000)
    for seed in range(40):
        kept = KeptRows(1, seed)
        for part in _pieces(rows, rng):
            kept.see(part, 0)
        found = kept.kept()
        assert len(found.rows) == 50
        assert (np.diff(found.rows[:, 0]) > 0).all()  # in the order of the table
        assert np.array_equal(found.first, rows[: describing_rows(1)])
        picked[found.rows[:, 0].astype(int)] += 1
    quarters = picked.reshape(4, -1).sum(axis=1)
    assert quarters.sum() == 2_000
    assert np.abs(quarters - 500).max() < 80  # four standard deviations


def test_the_sample_depends_on_the_seed_and_not_on_the_pieces(rng):
    x = rng.normal(size=(5_000, 2))

    def sample(pieces, seed):
        kept = KeptRows(2, seed)
        summed("ab", pieces, see=kept.see)
        return kept.kept().rows

    assert np.array_equal(sample([x], 1), sample(_pieces(x, rng), 1))
    assert not np.array_equal(sample([x], 1), sample([x], 2))


def test_parts_that_are_kept_apart_are_one_sample(rng):
    x = rng.normal(size=(900, 2))
    whole, one, two = KeptRows(2), KeptRows(2), KeptRows(2, n_before=10**9)
    for place, part in zip((0, 300, 600), np.split(x, 3), strict=True):
        whole.see(part, place)
        (one if place < 600 else two).see(part, place)
    joined = KeptRows(2)
    for part in (one, two):
        joined.add(part.kept())
    for name in ("keys", "rows"):
        assert np.array_equal(getattr(joined.kept(), name), getattr(whole.kept(), name))
    assert np.array_equal(joined.kept().first, x[:600])  # far behind the first rows none are kept
    late = KeptRows(2, threshold=whole.threshold)
    late.see(x[600:], 600)
    assert len(late.kept().rows) <= 50
