"""The separation check: which arrows of a class join columns that others separate."""

import numpy as np
import pytest

from drbo import DrBO
from drbo.claims.residual_tests import TableTests
from drbo.claims.separation_check import MOST_SETS, _likely_sets, partial_correlations, separation_doubts
from drbo.data.table import Table
from drbo.deadline import Deadline, OutOfTimeError

NAMES = ["a", "b", "c"]
CHAIN = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)  # and an edge that the chain does not have


def chain(rng, n=500):
    """a -> b -> c, both bent, so that a linear score needs an edge from a to c."""
    a = rng.normal(size=n)
    b = np.tanh(2 * a) + 0.4 * rng.normal(size=n)
    return np.column_stack([a, b, np.exp(b) + 0.4 * rng.normal(size=n)])


def found(values, arrows=CHAIN, **options):
    return separation_doubts(TableTests(Table.from_array(values, NAMES[: len(values.T)]), **options), CHAIN, arrows)


def test_an_edge_that_a_neighbour_explains_is_in_doubt(rng):
    words = "but 'a' and 'c' are independent given 'b', so there may be no such edge."
    assert found(chain(rng)) == {("a", "c"): f"The class has this direction, {words}"}


def test_units_and_signs_do_not_matter(rng):
    assert set(found(chain(rng) * [1e-6, -3.0, 1e6])) == {("a", "c")}


def test_only_the_arrows_asked_for_are_tested(rng):
    values = chain(rng)
    assert found(values, np.zeros_like(CHAIN)) == {}
    few = np.column_stack([values[:, :2], values[:, 2] > 0.5])
    assert found(few) == {}  # an end with two values is not tested


def test_edges_of_a_true_graph_are_seldom_doubted():
    doubted = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a, b = rng.normal(size=(2, 500))
        doubted += len(found(np.column_stack([a, b, a + 0.5 * b + rng.normal(size=500)]), CHAIN & [0, 0, 1]))
    assert doubted == 0


def test_partial_correlations_are_those_of_regressions(rng):
    values = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 5))
    correlation = np.corrcoef(values.T)
    for given in [(2,), (2, 4)]:
        design = np.column_stack([np.ones(300), values[:, list(given)]])
        left = [values[:, k] - design @ np.linalg.lstsq(design, values[:, k], rcond=None)[0] for k in (0, 1)]
        expected = np.corrcoef(*left)[0, 1]
        assert partial_correlations(correlation, 0, 1, [given])[0] == pytest.approx(expected)
    assert partial_correlations(correlation, 0, 1, [()])[0] == pytest.approx(correlation[0, 1])


def test_a_near_copy_separates_nothing(rng):
    """Two sensors of one light: given the other one, a sensor seems independent of the light."""
    light = rng.normal(size=500)
    sensors = light[:, None] + rng.normal(size=500)[:, None] + 0.05 * rng.normal(size=(500, 2))
    correlation = np.corrcoef(np.column_stack([light, sensors]).T)
    assert np.isnan(partial_correlations(correlation, 0, 1, [(2,)])[0])
    assert found(np.column_stack([light, sensors])) == {}


def test_the_sets_that_leave_least_are_tested_first(rng):
    values = rng.normal(size=(200, 8))
    values[:, 1] = values[:, 0] + 0.1 * values[:, 1]
    correlation = np.corrcoef(values.T)
    assert _likely_sets(correlation, 0, 1, [2, 3], 0.2) == []  # nothing separates them
    sets = _likely_sets(correlation, 0, 4, [2, 3, 5, 6, 7], 1.0)
    strength = [abs(partial_correlations(correlation, 0, 4, [one])[0]) for one in sets]
    assert len(sets) == MOST_SETS
    assert strength == sorted(strength)


def test_it_ends_when_the_time_is_over(rng):
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        found(chain(rng))


def test_the_class_of_a_fit_supports_no_separated_arrow():
    """Two hidden causes h1 -> a, b and h2 -> b, c, and d -> b: a DAG joins a and c although they are independent."""
    rng = np.random.default_rng(3)
    first, second, noise = rng.normal(size=(3, 2000))
    d = rng.normal(size=2000)
    a = first + 0.5 * rng.normal(size=2000)
    c = second + 0.5 * rng.normal(size=2000)
    result = DrBO(score="bic-nv", random_state=0).fit(np.column_stack([a, first + second + d + noise, c, d])).result_
    words = "so there may be no such edge"
    assert all(one.direction != "supported" for one in result.directions if words in one.sentence)
