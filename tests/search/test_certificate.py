import numpy as np
import pytest

from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.errors import SettingsError
from drbo.knowledge import Constraints, Knowledge
from drbo.scores.base import build_score
from drbo.search import certificate
from drbo.search.certificate import certify, check_size, valid_for
from drbo.search.evaluate import Evaluator
from drbo.search.screen import screened
from drbo.search.tables import all_tables, known_tables
from drbo.settings import Settings

NAMES = ["x0", "x1", "x2", "x3"]


def _proof(name, seed, constraints):
    model = "logistic" if name in ("bdeu", "bic-discrete") else "linear"
    data = simulate("4ER1.5", model, n=80, seed=seed)
    evaluator = Evaluator(build_score(name, Table.from_array(data.X)), Settings(max_evals=10**6))
    start = evaluator.evaluate(np.ascontiguousarray(constraints.required)[None])
    return evaluator, certify(all_tables(evaluator, constraints), evaluator, constraints, start)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", ["bic-nv", "bic-ev", "bge", "bdeu", "bic-discrete"])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_the_best_of_all_dags(name, seed, known, every_dag):
    constraints = Constraints.none(4)
    if known:
        constraints = Knowledge(required=["x3 -> x0"], forbidden=["x1 -> x2"], max_parents=2).compile(NAMES)
    evaluator, proof = _proof(name, seed, constraints)
    legal = [not constraints.violations(dag) for dag in every_dag]
    best = evaluator.evaluate(every_dag[legal]).scores.max()
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
    evaluator = Evaluator(build_score("bic-ev", Table.from_array(x)), Settings(max_evals=10**6))
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
        evaluator = Evaluator(build_score("bic-ev", Table.from_array(values)), Settings(max_evals=10**6))
        start = evaluator.evaluate(np.zeros((1, 6, 6), dtype=bool))
        return certify(all_tables(evaluator, free), evaluator, free, start)

    best = proof(data.X).best.scores[0]
    monkeypatch.setattr(certificate, "MAX_LEVELS", 20)
    found = proof(data.X * np.exp(best / (2 * data.X.size)))
    assert found.best.scores[0] == pytest.approx(0.0, abs=1e-6)
    assert found.upper_bound == found.best.scores[0]


def test_no_proof_from_some_of_the_families():
    evaluator = Evaluator(
        build_score("bic-nv", Table.from_array(np.random.default_rng(0).normal(size=(20, 4)))), Settings()
    )
    start = evaluator.evaluate(np.zeros((1, 4, 4), dtype=bool))
    free = Constraints.none(4)
    with pytest.raises(ValueError, match="all families"):
        certify(known_tables(evaluator, free), evaluator, free, start)


def test_words_of_the_bound():
    assert valid_for(Constraints.none(5)) == "all DAGs on 5 columns"
    assert valid_for(Knowledge(roots=["x0"]).compile(NAMES)) == "all DAGs on 4 columns that obey the knowledge"
    assert valid_for(Knowledge(max_parents=2).compile(NAMES)).endswith("with at most 2 parents")


def test_words_of_the_bound_after_a_screening():
    values = np.random.default_rng(0).normal(size=(30, 4))
    assert valid_for(screened(values, 2)) == "all DAGs on 4 columns, parents among 2 candidates"
    known = Knowledge(roots=["x0"]).compile(NAMES)
    words = "all DAGs on 4 columns that obey the knowledge, parents among 1 candidates"
    assert valid_for(screened(values, 1, known)) == words


def test_too_many_columns_are_refused():
    check_size(20, 1.0)
    check_size(23, 4.0)
    with pytest.raises(SettingsError, match=r"exact needs 6\.0 GiB for 24 columns, max_memory is 4"):
        check_size(24, 4.0)
