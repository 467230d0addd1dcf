import time
from itertools import combinations

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate, standardize
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.search.bayes.screen import screened
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact import proof as certificate
from drbo.search.exact.family_tables import all_tables, tables_of
from drbo.search.exact.proof import certify, certify_large, check_size, fits, valid_for
from drbo.search.exact.useful_parents import Effort
from drbo.settings import Settings
from tests.search.subset_dp import best_dag

pytestmark = pytest.mark.floats

NAMES = ["x0", "x1", "x2", "x3"]


def _proof(name, seed, constraints):
    model = "logistic" if name in ("bdeu", "bic-discrete") else "linear"
    data = simulate("4ER1.5", model, n=80, seed=seed)
    evaluator = Evaluator(build_score(name, Statistics.from_array(data.X)), Settings(max_evals=10**6))
    start = evaluator.evaluate(np.ascontiguousarray(constraints.required)[None])
    return evaluator, certify(all_tables(evaluator, constraints), evaluator, constraints, start)


@pytest.fixture(scope="module")
def legal_dags(every_dag):
    """What is known, and all DAGs that obey it; nothing, and all DAGs."""
    known = Constraints.of(Knowledge(required=["x3 -> x0"], forbidden=["x1 -> x2"], max_parents=2), NAMES)
    legal = [not known.violations(dag) for dag in every_dag]
    return {True: (known, every_dag[legal]), False: (Constraints.none(4), every_dag)}


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", ["bic-nv", "bic-ev", "bge", "bdeu", "bic-discrete"])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_the_best_of_all_dags(name, seed, known, legal_dags):
    constraints, dags = legal_dags[known]
    evaluator, proof = _proof(name, seed, constraints)
    best = evaluator.evaluate(dags).scores.max()
    assert proof.best.scores[0] == pytest.approx(best, abs=proof.tolerance)
    assert proof.upper_bound == proof.best.scores[0]
    assert proof.tolerance < 1e-5
    assert not constraints.violations(proof.best.dags[0])


def test_equal_variances_need_the_sweep(every_dag):
    """At the level of a bad start the additive bound alone does not find the optimum."""
    rng = np.random.default_rng(0)
    scales = np.array([1.0, 3.0, 0.3, 5.0])
    x = rng.normal(size=(60, 4)) * scales
    x[:, 1] += x[:, 0]
    evaluator = Evaluator(build_score("bic-ev", Statistics.from_array(x)), Settings(max_evals=10**6))
    free = Constraints.none(4)
    start = evaluator.evaluate(np.zeros((1, 4, 4), dtype=bool))
    proof = certify(all_tables(evaluator, free), evaluator, free, start)
    assert proof.upper_bound == pytest.approx(evaluator.evaluate(every_dag).scores.max(), abs=1e-8)
    assert proof.level is not None


@pytest.mark.parametrize("seed", [100, 103])
def test_the_sweep_ends_within_rounding_where_the_score_is_near_zero(seed, monkeypatch):
    """Rounding grows with the rows, the score need not: in these units it is 0."""
    free, data = Constraints.none(6), simulate("6ER2", n=20_000, seed=seed)

    def proof(values):
        evaluator = Evaluator(build_score("bic-ev", Statistics.from_array(values)), Settings(max_evals=10**6))
        start = evaluator.evaluate(np.zeros((1, 6, 6), dtype=bool))
        return certify(all_tables(evaluator, free), evaluator, free, start)

    best = proof(data.X).best.scores[0]
    monkeypatch.setattr(certificate, "MAX_LEVELS", 20)
    found = proof(data.X * np.exp(best / (2 * data.X.size)))
    assert found.best.scores[0] == pytest.approx(0.0, abs=1e-6)
    assert found.upper_bound == found.best.scores[0]


def test_no_proof_from_some_of_the_families():
    evaluator = Evaluator(
        build_score("bic-nv", Statistics.from_array(np.random.default_rng(0).normal(size=(20, 4)))), Settings()
    )
    start = evaluator.evaluate(np.zeros((1, 4, 4), dtype=bool))
    free = Constraints.none(4)
    with pytest.raises(ValueError, match="all families"):
        certify(tables_of(evaluator.known()[0], evaluator, free), evaluator, free, start)


def test_words_of_the_bound():
    assert valid_for(Constraints.none(5)) == "all DAGs on 5 columns"
    assert (
        valid_for(Constraints.of(Knowledge(roots=["x0"]), NAMES)) == "all DAGs on 4 columns that satisfy the knowledge"
    )
    assert valid_for(Constraints.of(Knowledge(max_parents=2), NAMES)).endswith("with at most 2 parents")


def test_words_of_the_bound_after_a_screening():
    values = np.random.default_rng(0).normal(size=(30, 4))
    assert valid_for(screened(values, 2)) == "all DAGs on 4 columns, with parents among 2 candidates"
    known = Constraints.of(Knowledge(roots=["x0"]), NAMES)
    words = "all DAGs on 4 columns that satisfy the knowledge, with parents among 1 candidates"
    assert valid_for(screened(values, 1, known)) == words


class Own(Score):
    """A score that only knows one family at a time."""

    def local_one(self, node, parents):
        return -float(len(parents))


def test_too_many_columns_are_refused():
    values = np.random.default_rng(0).normal(size=(80, 66))
    own = [Own(Statistics.from_array(values[:, :d])) for d in (18, 20, 21)]
    check_size(own[0], 1.0)
    check_size(own[1], 4.0)
    with pytest.raises(SettingsError, match=r"5\.8 GiB for 21 columns with score 'custom', but max_memory is 4"):
        check_size(own[2], 4.0)  # the evaluator keeps every family
    assert fits(build_score("bic-nv", Statistics.from_array(values[:, :23])), 4.0)
    assert not fits(build_score("bic-nv", Statistics.from_array(values[:, :24])), 4.0)
    check_size(build_score("bic-nv", Statistics.from_array(values[:, :64])), 4.0)
    with pytest.raises(SettingsError, match="for 65 columns with score 'bge'"):
        check_size(build_score("bge", Statistics.from_array(values[:, :65])), 4.0)


def _effort(**limits):
    return Effort(time.monotonic() + 60, **limits)


def _data(name, graph, n, seed):
    model = "logistic" if name in ("bdeu", "bic-discrete") else "linear"
    return build_score(name, Statistics.from_array(standardize(simulate(graph, model, n=n, seed=seed).X)))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", ["bic-nv", "bic-ev", "bge", "bdeu", "bic-discrete"])
def test_parent_sets_of_use_lead_to_the_optimum_of_all_families(name, known):
    score = _data(name, "9ER2", 120, 1)
    names = [f"x{k}" for k in range(9)]
    constraints = Constraints.none(9)
    if known:
        constraints = Constraints.of(
            Knowledge(required=["x3 -> x0"], forbidden=["x1 -> x2"], roots=["x5"], max_parents=3), names
        )
    evaluator = Evaluator(score, Settings(max_evals=2**40))
    start = evaluator.evaluate(np.ascontiguousarray(constraints.required)[None])
    proof = certify(all_tables(evaluator, constraints), evaluator, constraints, start)
    before = evaluator.n_local
    for first in (start, proof.best):
        found = certify_large(evaluator, constraints, first, _effort(group=3, alone=3))
        assert found.upper_bound == found.best.scores[0]
        assert found.upper_bound == pytest.approx(proof.upper_bound, abs=found.tolerance)
        assert found.tolerance < 1e-5
        assert not constraints.violations(found.best.dags[0])
        assert found.valid_for == proof.valid_for
    assert evaluator.n_local > before


def _sparse(n_blocks):
    """Blocks of five columns that know nothing of each other, shuffled."""
    rng = np.random.default_rng(1)
    blocks = [simulate("5ER1", "linear", n=400, seed=seed).X for seed in range(n_blocks)]
    return standardize(np.concatenate(blocks, axis=1)[:, rng.permutation(5 * n_blocks)])


def test_thirty_columns_are_proved_and_dynamic_programs_agree():
    values = _sparse(6)
    score = build_score("bge", Statistics.from_array(values))
    limits = Constraints.of(Knowledge(max_parents=2), [f"x{k}" for k in range(30)])
    evaluator = Evaluator(score, Settings(max_evals=2**40))
    start = evaluator.evaluate(np.zeros((1, 30, 30), dtype=bool))
    proof = certify_large(evaluator, limits, start, _effort())
    assert proof.upper_bound == proof.best.scores[0] > start.scores[0]
    assert proof.valid_for.endswith("with at most 2 parents")
    assert proof.upper_bound == pytest.approx(_by_components(score, 30), abs=1e-6)


def _by_components(score, d):
    """Score all sets of at most two parents; solve the components of those that no subset beats one by one."""
    import networkx as nx

    sets = [(node, parents) for node in range(d) for k in range(3)
            for parents in combinations([p for p in range(d) if p != node], k)]  # fmt: skip
    families = Families.from_sets(d, sets)
    value = dict(zip(sets, score.local(families) + score.family_price(families), strict=True))
    kept = []
    for node, parents in sets:
        smaller = [less for k in range(len(parents)) for less in combinations(parents, k)]
        if all(value[node, parents] > value[node, less] for less in smaller):
            kept.append((node, parents))
    graph = nx.DiGraph([(parent, node) for node, parents in kept for parent in parents])
    graph.add_nodes_from(range(d))
    total = 0.0
    for members in map(sorted, nx.strongly_connected_components(graph)):
        part = [(node, parents) for node, parents in kept if node in members]
        masks = [sum(1 << members.index(p) for p in parents if p in members) for _, parents in part]
        shares = np.array([value[pair] for pair in part])
        nodes = np.array([members.index(node) for node, _ in part])
        dag = best_dag(len(members), nodes, np.array(masks), shares)
        for k in range(len(members)):
            mask = int(dag[:, k] @ (1 << np.arange(len(members))))
            total += shares[(nodes == k) & (np.array(masks) == mask)].max()
    return total


@pytest.mark.parametrize("limits", [{"max_states": 100}, {"max_states": 2000}, {"group": 8, "max_states": 1}])
@pytest.mark.parametrize("name", ["bic-nv", "bic-ev"])
def test_a_proof_that_is_cut_short_is_a_valid_bound(name, limits):
    score = _data(name, "12ER2", 200, 3)
    evaluator, free = Evaluator(score, Settings(max_evals=2**40)), Constraints.none(12)
    start = evaluator.evaluate(np.zeros((1, 12, 12), dtype=bool))
    best = certify_large(evaluator, free, start, _effort()).upper_bound
    assert best == pytest.approx(certify(all_tables(evaluator, free), evaluator, free, start).upper_bound)
    short = certify_large(evaluator, free, start, _effort(**{"group": 4, "alone": 4, **limits}))
    assert short.upper_bound > best - short.tolerance
    assert short.best.scores[0] <= best + short.tolerance


def test_no_bound_where_there_are_too_many_sets():
    evaluator, free = Evaluator(_data("bic-nv", "12ER2", 200, 3), Settings(max_evals=2**40)), Constraints.none(12)
    start = evaluator.evaluate(np.zeros((1, 12, 12), dtype=bool))
    assert certify_large(evaluator, free, start, _effort(max_kept=300)) is None
