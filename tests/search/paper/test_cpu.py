import numpy as np
import pytest

from drbo.search.paper import cpu as compiled

#: Of single precision in a few dozen additions, as a share of the magnitudes that are added.
ROUNDING = 2e-6


@pytest.mark.parametrize("m", [1, 8, 13, 40])
def test_sums_by_byte_are_matrix_products(m, rng):
    rows = rng.normal(size=(m, 5)).astype(np.float32)
    table = np.empty((-(-m // 8), 256, 5), np.float32)
    compiled.sums_by_byte(rows, table)
    sets = rng.random((30, m)) < 0.4
    for row, code in zip(sets, np.packbits(sets, axis=1), strict=True):
        total = np.ones(5, np.float32)
        compiled.add_rows(total, table, code)
        assert (np.abs(total - (1 + row @ rows.astype(float))) < ROUNDING * (1 + row @ np.abs(rows))).all()


@pytest.mark.parametrize("m", [3, 8, 21])
def test_folded_bytes_are_the_transposed_product(m, rng):
    sets, values = rng.random((50, m)) < 0.3, rng.normal(size=(50, 4)).astype(np.float32)
    table = np.zeros((-(-m // 8), 256, 4), np.float32)
    for code, value in zip(np.packbits(sets, axis=1), values, strict=True):
        for q, byte in enumerate(code):
            table[q, byte] += value
    rows = np.empty((m, 4), np.float32)
    compiled.fold_bytes(table, rows)
    assert (np.abs(rows - sets.T @ values.astype(float)) < ROUNDING * (1 + sets.T @ np.abs(values))).all()


def test_random_words_look_random():
    words = np.empty(4_000, np.uint64)
    compiled.fill_random(words, np.uint64(12_345))
    bits = np.unpackbits(words.view(np.uint8)).reshape(len(words), 64)
    assert len(np.unique(words)) == len(words)
    assert bits.mean(axis=0) == pytest.approx(0.5, abs=5 * 0.5 / len(words) ** 0.5)
    correlation = np.corrcoef(bits.T) - np.eye(64)
    assert np.abs(correlation).max() < 6 / len(words) ** 0.5
    again = np.empty(10, np.uint64)
    compiled.fill_random(again, np.uint64(12_345 + 7))
    assert (again == words[7:17]).all()  # a counter: the order of the calls does not matter
