import numpy as np
import pytest

from drbo import _core
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.knowledge import Knowledge
from drbo.scores.nongaussian import BicNG
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.climb import OrderClimb
from drbo.search.orders.gains import Expansion, ScoreSteps, steps_of
from drbo.settings import Settings

D = 8
NAMES = [f"x{j}" for j in range(D)]
KNOWLEDGE = Knowledge(forbidden=["x0 -> x1"], required=["x2 -> x3"], max_parents=4)


def _values(n=150, seed=3):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(D, D)), 1)
    return rng.exponential(size=(n, D)) @ np.linalg.inv(np.eye(D) - weights)


@pytest.mark.floats
@pytest.mark.parametrize("constraints", [Constraints.none(D), Constraints.of(KNOWLEDGE, NAMES)], ids=["free", "known"])
@pytest.mark.parametrize("case", ["plain", "targets", "few values", "prior"])
def test_steps_are_those_of_the_score_itself(case, constraints, rng):
    values, options = _values(), {"penalty": 2.0}
    if case == "targets":
        options["targets"] = np.arange(len(values))[:, None] < np.where(np.arange(D) % 2, 40, 0)
    if case == "few values":
        values[:, 0], values[:, 1] = np.sign(values[:, 0] - 1), np.round(values[:, 1])
    if case == "prior":
        options["edge_prior"] = rng.normal(size=(D, D))
    evaluator = Evaluator(BicNG(Statistics.from_array(values), **options), Settings(max_evals=2**62))
    compiled, plain = steps_of(evaluator, constraints, None), ScoreSteps(evaluator, constraints)
    assert isinstance(compiled, _core.NonGaussianSteps)
    shifts = {}
    for size in range(6):
        nodes = rng.integers(D, size=12)
        parents = np.sort([rng.choice(np.delete(np.arange(D), node), size, replace=False) for node in nodes], axis=1)
        sets = nodes, parents.astype(np.int64), np.full(len(nodes), size)
        found, expected = (Expansion(*steps.expand(*sets)) for steps in (compiled, plain))
        for node, shift in zip(nodes, found.values - expected.values, strict=True):  # the log variance of the node
            assert shift == pytest.approx(shifts.setdefault(node, shift), abs=1e-6)
        pays = expected.additions > 1e-4
        assert np.array_equal(found.additions > 1e-4, pays)
        np.testing.assert_allclose(found.additions[pays], expected.additions[pays], atol=1e-6)
        dropped = expected.drop_gains > 1e-4
        assert np.array_equal(found.drops[dropped], expected.drops[dropped])
        np.testing.assert_allclose(found.drop_gains[dropped], expected.drop_gains[dropped], atol=1e-6)


def test_threads_do_not_change_a_bit():
    score = BicNG(Statistics.from_array(_values(n=2000)))
    limits, possible = Constraints.none(D), np.full(D, 2**D - 1, dtype=np.uint64)
    rows, found = score.noisy_rows[0].in_core(), []
    for threads in (1, 3):
        climb = OrderClimb(steps_of(Evaluator(score, Settings()), limits, None), limits.required, np.zeros((0, 0)))
        climb.threads = threads
        climb.put(np.arange(D)[::-1].copy())
        climb.climb(np.arange(D))
        found.append((climb.dag.tobytes(), climb.value, rows.all_fits(possible, np.full(D, D), threads).tobytes()))
    assert found[0] == found[1]


def test_a_deadline_ends_the_computation():
    score = BicNG(Statistics.from_array(np.random.default_rng(0).normal(size=(3000, 18))))
    with Deadline(0.05), pytest.raises(OutOfTimeError):
        score.noisy_rows[0].in_core().all_fits(np.full(18, 2**18 - 1, dtype=np.uint64), np.full(18, 18), 1)


def test_wrong_shapes_are_refused():
    columns, shares, correlation = np.zeros((3, 10)), np.full(10, 0.1), np.eye(3)
    nodes, starts, members = np.array([0]), np.array([0, 1]), np.array([1])
    rows = _core.NoiseRows(columns + 1, shares, correlation, 0.1, 1e-9, 1e-9)
    assert rows.fits(nodes, starts, members, 1).shape == (1,)
    with pytest.raises(ValueError, match="shares"):
        _core.NoiseRows(columns, shares[1:], correlation, 0.1, 1e-9, 1e-9)
    with pytest.raises(ValueError, match="members"):
        rows.fits(nodes, starts, members + 2, 1)
    with pytest.raises(ValueError, match="possible"):
        rows.all_fits(np.zeros(2, np.uint64), starts, 1)
