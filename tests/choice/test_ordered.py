"""Which numbers are counts or ordered codes."""

import numpy as np
import pytest

from drbo.choice.ordered import codes_are_ordered, has_few_values, stepped
from drbo.data.statistics.statistics import Statistics


def latent(rng, n=800):
    x = rng.normal(size=(n, 4))
    x[:, 1:] += x[:, :3]
    return x / x.std(axis=0)


def table_of(values, categorical=()):
    kinds = tuple("categorical" if j in categorical else "numeric" for j in range(values.shape[1]))
    levels = tuple(("a", "b") if j in categorical else None for j in range(values.shape[1]))
    return Statistics(np.asarray(values, dtype=float), tuple("abcdefgh"[: len(kinds)]), kinds, levels)


def test_grades_have_an_order_and_shuffled_labels_have_none(rng):
    grades = np.digitize(latent(rng), [-1.2, -0.4, 0.4, 1.2])
    assert codes_are_ordered(Statistics.from_array(grades))
    labels = np.array([3, 0, 4, 1, 2])[grades]
    assert not codes_are_ordered(Statistics.from_array(labels))


def test_the_order_of_rows_and_columns_does_not_decide(rng):
    grades = np.digitize(latent(rng, 5000), [-1.0, 0.0, 1.0]).astype(float)
    moved = grades[rng.permutation(5000)][:, [2, 0, 3, 1]]
    assert codes_are_ordered(Statistics.from_array(grades)) == codes_are_ordered(Statistics.from_array(moved))


def test_categories_and_two_values_have_no_order(rng):
    answers = (latent(rng) > 0).astype(float)
    assert not codes_are_ordered(Statistics.from_array(answers))
    answers[:, 0] = rng.integers(5, size=len(answers))
    assert codes_are_ordered(Statistics.from_array(answers))
    assert not codes_are_ordered(table_of(answers, categorical=(1,)))


@pytest.mark.parametrize(
    ("column", "in_steps"),
    [
        (lambda rng: rng.poisson(3, 500), True),
        (lambda rng: rng.poisson(40, 500) * (rng.random(500) < 0.8), True),  # many zeros
        (lambda rng: np.round(rng.normal(0, 30, 500)), False),  # rounded measurements
        (lambda rng: rng.integers(1, 6, 500) / 2, True),  # half grades
        (lambda rng: rng.exponential(size=500), False),
        (lambda rng: np.maximum(rng.normal(size=500), 0), False),  # a floor is no count
    ],
)
def test_counts_and_codes_move_in_steps(column, in_steps, rng):
    assert stepped(table_of(column(rng)[:, None])) == ([0] if in_steps else [])


def test_two_values_count_only_beside_codes_with_more(rng):
    two = rng.integers(2, size=(60, 2))
    assert stepped(table_of(two)) == []
    assert stepped(table_of(np.column_stack([two, rng.integers(4, size=60)]))) == [0, 1, 2]


def test_few_values_must_be_repeated():
    assert has_few_values(np.repeat([1.0, 2.0, 3.0], 5))
    assert not has_few_values(np.array([1.0, 2.0, 3.0, 4.0]))
    assert has_few_values(np.array([1.0, 2.0, 1.0]))
