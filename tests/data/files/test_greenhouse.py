"""The greenhouse that the demo begins with."""

import numpy as np

from drbo.data.files.datasets import load
from drbo.data.files.greenhouse import CHANGED, MECHANISMS, NOISE, ORDINARY, RAISED, greenhouse
from drbo.graph.dag import topological_order


def test_it_is_always_the_same() -> None:
    first, second = greenhouse(), greenhouse()
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1]


def test_rows_follow_the_mechanisms() -> None:
    """Each column, regressed on its causes on ordinary days, has the stated weights and noise."""
    values, days = greenhouse()
    names, ordinary = sorted(MECHANISMS), np.array(days) == ORDINARY
    for effect, causes in MECHANISMS.items():
        parents = values[ordinary][:, [names.index(cause) for cause in causes]]
        design = np.column_stack([np.ones(ordinary.sum()), parents])
        weights, squares, *_ = np.linalg.lstsq(design, values[ordinary, names.index(effect)], rcond=None)
        np.testing.assert_allclose(weights[1:], list(causes.values()), atol=0.16)
        assert abs(np.sqrt(squares[0] / ordinary.sum()) - NOISE) < 0.08


def test_what_is_changed_no_longer_follows_its_causes() -> None:
    data = load("greenhouse")
    assert data.X is not None
    assert data.days is not None
    for day, changed in CHANGED.items():
        rows = data.X[np.array(data.days) == day]
        for name in changed:
            j = data.names.index(name)
            assert abs(rows[:, j].mean() - RAISED) < 0.3
            causes = [data.names.index(cause) for cause in MECHANISMS[name]]
            assert all(abs(np.corrcoef(rows[:, cause], rows[:, j])[0, 1]) < 0.3 for cause in causes)


def test_the_graph_is_that_of_the_mechanisms_and_the_columns_do_not_tell_their_order() -> None:
    data = load("greenhouse")
    for j, effect in enumerate(data.names):
        assert {data.names[i] for i in np.flatnonzero(data.dag[:, j])} == set(MECHANISMS[effect])
    assert list(topological_order(data.dag)) != list(range(len(data.names)))
