import numpy as np
import pytest


@pytest.fixture
def random_words():
    """Return the random bits that the compiled core draws for counters from ``start`` (splitmix64)."""

    def words(start, count):
        with np.errstate(over="ignore"):
            x = (np.uint64(start) + np.arange(count, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    return words
