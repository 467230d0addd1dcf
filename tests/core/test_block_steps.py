"""Steps of blocks of columns beside those that the mixed score itself takes."""

import numpy as np
import pytest

from drbo import _core
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.forms import BlockForm, GramForm
from drbo.scores.mixed import DegenerateGaussian
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.gains import Expansion, ScoreSteps, steps_of
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings
from drbo.testing import check_score

#: Levels of each column; 1: a number.
LEVELS = (3, 1, 2, 1, 5, 1, 1, 4)
D = len(LEVELS)


def _table(rng, n=150, levels=LEVELS):
    """Columns that depend on each other; categories are cut from numbers."""
    d = len(levels)
    values = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - np.triu(rng.normal(size=(d, d)), 1))
    for j, count in enumerate(levels):
        if count > 1:
            cuts = np.quantile(values[:, j], np.arange(1, count) / count)
            values[:, j] = np.searchsorted(cuts, values[:, j])
    kinds = tuple("categorical" if count > 1 else "numeric" for count in levels)
    names = tuple(f"x{j}" for j in range(d))
    return Statistics(values, names, kinds, tuple(tuple("abcde"[:count]) if count > 1 else None for count in levels))


def _limits():
    names = [f"x{j}" for j in range(D)]
    statements = {"forbidden": ["x0 -> x1"], "required": ["x2 -> x3"], "max_parents": 4}
    return Constraints.of(Knowledge.from_mapping(statements), names)


@pytest.mark.parametrize("constraints", [Constraints.none(D), _limits()], ids=["free", "knowledge"])
@pytest.mark.parametrize("case", ["plain", "targets", "prior", "two levels"])
def test_steps_are_those_of_the_score_itself(case, constraints, rng):
    table = _table(rng, 150, (2, 1) * 4 if case == "two levels" else LEVELS)
    options = {}
    if case == "targets":
        options["targets"] = np.arange(table.n_rows)[:, None] < np.where(np.arange(D) % 2, 40, 0)
    if case == "prior":
        options["edge_prior"] = rng.normal(size=(D, D)) * (1 - np.eye(D))
    score = DegenerateGaussian(table, **options)
    assert isinstance(score.compiled(), GramForm if case == "two levels" else BlockForm)
    evaluator = Evaluator(score, Settings(max_evals=2**62))
    compiled, plain = steps_of(evaluator, constraints, None), ScoreSteps(evaluator, constraints)
    scales = score.compiled().rows * score.compiled().own_scales
    for size in range(6):
        nodes = rng.integers(D, size=12)
        parents = np.sort([rng.choice(np.delete(np.arange(D), node), size, replace=False) for node in nodes], axis=1)
        sizes = np.full(len(nodes), size)
        found, expected = (
            Expansion(*steps.expand(nodes, parents.astype(np.int64), sizes)) for steps in (compiled, plain)
        )
        np.testing.assert_allclose(found.values - scales[nodes], expected.values, atol=1e-5)
        pays = expected.additions > 1e-4
        assert np.array_equal(found.additions > 1e-4, pays)
        np.testing.assert_allclose(found.additions[pays], expected.additions[pays], atol=1e-5)
        dropped = expected.drop_gains > 1e-4
        assert np.array_equal(found.drops[dropped], expected.drops[dropped])
        np.testing.assert_allclose(found.drop_gains[dropped], expected.drop_gains[dropped], atol=1e-5)


def test_a_search_by_blocks_ends_no_lower_than_one_by_the_score(rng, monkeypatch):
    score = DegenerateGaussian(_table(rng, 400))
    by_blocks = OrderSearch(score, Settings(), seed=0).run().best.scores[0]
    monkeypatch.setattr(DegenerateGaussian, "compiled", lambda self: None)
    assert by_blocks >= OrderSearch(score, Settings(), seed=0).run().best.scores[0] - 1e-6


def test_the_form_is_that_of_the_score(rng):
    check_score(DegenerateGaussian, _table(rng))
    assert DegenerateGaussian(_table(rng, 14)).compiled() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"firsts": [0, 3, 3]}, "a variable needs a column"),
        ({"firsts": [0, 1, 2]}, "from the first column to the last"),
        ({"firsts": [0, 3]}, "firsts"),
        ({"grams": np.zeros((1, 3, 2))}, "grams"),
        ({"rows": [9.0]}, "rows"),
        ({"collinear": 0.0}, "collinear must be above 0"),
        ({"prices": np.zeros((2, 1))}, "must be matrices"),
        ({"group": [0, 1]}, "group"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    given = {
        "grams": np.eye(3)[None], "firsts": [0, 2, 3], "group": [0, 0], "rows": [9.0, 9.0], "prices": np.zeros((2, 2)),
        "allowed": ~np.eye(2, dtype=bool), "required": np.zeros((2, 2), dtype=bool), "max_parents": [1, 1],
        "collinear": 1e-9,
    }  # fmt: skip
    _core.BlockSteps(**{name: np.array(value) if name != "collinear" else value for name, value in given.items()})
    broken = given | changes
    with pytest.raises(ValueError, match=message):
        _core.BlockSteps(**{name: np.array(value) if name != "collinear" else value for name, value in broken.items()})
