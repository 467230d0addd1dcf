import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import topological_order
from drbo.knowledge import Knowledge
from drbo.scores.bge import BGe
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.gains import Expansion, ScoreSteps, screened_steps, steps_of
from drbo.search.orders.screening import Lists
from drbo.settings import Settings

D = 7
KINDS = [(BicNV, None), (BicEV, 0.8), (BGe, None)]
KNOWLEDGE = Constraints.of(
    Knowledge(required=["x0 -> x1"], forbidden=["x2 -> x3", "x4 -> x1"], max_parents=3), [f"x{i}" for i in range(D)]
)


@pytest.fixture
def table(rng):
    weights = np.triu(rng.normal(size=(D, D)), 1)
    return Statistics.from_array(rng.normal(size=(150, D)) @ np.linalg.inv(np.eye(D) - weights))


def _some_sets(rng, count=60):
    """Random parent sets that satisfy the knowledge."""
    nodes, parents, sizes = rng.integers(D, size=count), np.full((count, 3), -1), np.empty(count, dtype=np.int64)
    for b, node in enumerate(nodes):
        required = np.flatnonzero(KNOWLEDGE.required[:, node])
        free = np.flatnonzero(KNOWLEDGE.allowed[:, node] & ~KNOWLEDGE.required[:, node])
        extra = rng.choice(free, rng.integers(0, 4 - len(required)), replace=False)
        chosen = np.sort(np.concatenate([required, extra]))
        parents[b, : len(chosen)], sizes[b] = chosen, len(chosen)
    return nodes, parents, sizes


@pytest.mark.parametrize(("kind", "level"), KINDS)
def test_steps_are_worth_what_the_score_says(kind, level, table, rng):
    score = kind(table, penalty=2.0, edge_prior=rng.normal(size=(D, D)))
    evaluator = Evaluator(score, Settings(max_evals=10**6))
    sets = _some_sets(rng)
    compiled = Expansion(*steps_of(evaluator, KNOWLEDGE, level).expand(*sets))
    expected = ScoreSteps(evaluator, KNOWLEDGE, level).expand(*sets)
    pays = expected.additions > 0
    assert ((compiled.additions > 0) == pays).all()
    np.testing.assert_allclose(compiled.additions[pays], expected.additions[pays], rtol=1e-8, atol=1e-8)
    assert (compiled.drops == expected.drops).all()
    drops = compiled.drops >= 0
    assert drops.any()
    np.testing.assert_allclose(compiled.drop_gains[drops], expected.drop_gains[drops], rtol=1e-8, atol=1e-8)
    shift = compiled.values - expected.values  # the compiled value leaves out what is the same for all sets of a node
    for node in range(D):
        assert np.ptp(shift[sets[0] == node]) < 1e-8


def test_interventions_have_their_own_rows(table, rng):
    targets = np.zeros((150, D), dtype=bool)
    targets[:40, 2] = True
    for kind in (BicNV, BGe):
        evaluator = Evaluator(kind(table, targets=targets), Settings(max_evals=10**6))
        sets = _some_sets(rng)
        compiled = Expansion(*steps_of(evaluator, KNOWLEDGE, None).expand(*sets))
        expected = ScoreSteps(evaluator, KNOWLEDGE, None).expand(*sets)
        pays = expected.additions > 0
        np.testing.assert_allclose(compiled.additions[pays], expected.additions[pays], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("level", [None, 1.0])
def test_strongly_correlated_parents_are_judged_right(level):
    """In dense graphs residuals are one part in a billion: an explicit inverse would lose them in rounding."""
    data = simulate("30ER8", seed=102)
    assert data.X.var(axis=0).max() > 1e9
    score = (BicNV if level is None else BicEV)(Statistics.from_array(data.X))
    evaluator = Evaluator(score, Settings(max_evals=10**6))
    steps = steps_of(evaluator, Constraints.of(Knowledge(), score.names), level)
    order = topological_order(data.dag).astype(np.int64)
    for node in order[15:30]:
        parents = np.flatnonzero(data.dag[:, node])
        families = Families.from_sets(30, [(int(node), parents.tolist()), (int(node), [])])
        local, empty = score.local(families)
        price = score.family_price(families)[0]
        fit = score.n_rows[0] * (empty - local) if level is None else score.n_rows[0] / level * np.exp(-local)
        value = steps.expand(np.array([node]), parents[None], np.array([len(parents)]))[0][0]
        assert value == pytest.approx(price - fit, rel=1e-4, abs=0.1)


@pytest.mark.parametrize(("kind", "level"), KINDS[:2])
@pytest.mark.parametrize("constraints", [KNOWLEDGE, Constraints.none(D)], ids=["knowledge", "free"])
def test_listed_candidates_gain_what_they_gain_among_all_columns(kind, level, constraints, table, rng):
    score = kind(table, penalty=2.0, edge_prior=rng.normal(size=(D, D)) if constraints is KNOWLEDGE else None)
    chosen = rng.random((D, D)) < 0.5
    lists = Lists(np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]), np.nonzero(chosen)[1].copy())
    sets = _some_sets(rng)
    every = Expansion(*steps_of(Evaluator(score, Settings()), constraints, level).expand(*sets))
    some = Expansion(*screened_steps(score.compiled(), constraints, level)(lists).expand(*sets))
    assert (some.additions == np.where(chosen[sets[0]], every.additions, 0.0)).all()
    assert (some.values == every.values).all()
    assert (some.drops == every.drops).all()
    assert (some.drop_gains == every.drop_gains).all()


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        (Lists(np.array([0, 1]), np.array([2])), "wrong shape of starts"),
        (Lists(np.array([0, 2, *[2] * (D - 1)]), np.array([3, 1])), "candidates of a node must rise"),
        (Lists(np.array([0, 1, *[1] * (D - 1)]), np.array([D])), "listed must be in"),
    ],
)
def test_lists_that_do_not_fit_are_refused(lists, words, table):
    with pytest.raises(ValueError, match=words):
        screened_steps(BicNV(table).compiled(), Constraints.none(D), None)(lists)
