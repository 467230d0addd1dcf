import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.search import subset_kernels
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact import family_tables as made
from drbo.search.exact.family_tables import (
    all_tables,
    compiled_work,
    count_legal,
    families_of,
    sets_of,
    tables_of,
)
from drbo.settings import Settings

COMPILED = ["bic-nv", "bic-ev", "bic-ng", "bge", "bdeu", "bic-discrete"]
D = 6


def _table(name, n=120):
    model = "logistic" if name in ("bdeu", "bic-discrete") else "linear"
    return Statistics.from_array(simulate(f"{D}ER2", model, n=n, seed=3).X)


def _score(name, n=120, **options):
    return build_score(name, _table(name, n), options)


def _reference(score, constraints):
    """Local values and prices family by family; the price of what is not legal is minus infinity."""
    local, price = np.zeros((D, 1 << (D - 1))), np.full((D, 1 << (D - 1)), -np.inf)
    for node in range(D):
        for column, mask in enumerate(sets_of(D, node)):
            parents = np.array([[mask >> k & 1 for k in range(D)]], dtype=bool)
            inside = not (parents[0] & ~constraints.allowed[:, node]).any()
            fits = inside and parents[0][constraints.required[:, node]].all()
            if fits and parents.sum() <= constraints.max_parents[node]:
                family = Families(np.array([node]), parents)
                local[node, column], price[node, column] = score.local(family)[0], score.family_price(family)[0]
    return local, price


def _knowledge():
    names = [f"x{k}" for k in range(D)]
    return Constraints.of(Knowledge(forbidden=["x0 -> x1"], required=["x2 -> x3"], roots=["x4"], max_parents=3), names)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("name", COMPILED)
def test_kernels_agree_with_the_score(name, known, monkeypatch):
    constraints = _knowledge() if known else Constraints.none(D)
    score = _score(name, penalty="ebic")
    monkeypatch.setattr(made, "SKIP_MARGIN", np.inf)  # skip nothing
    evaluator = Evaluator(score, Settings())
    found = all_tables(evaluator, constraints)
    local, price = _reference(score, constraints)
    usable = price > -np.inf
    np.testing.assert_array_equal(found.price > -np.inf, usable)
    np.testing.assert_allclose(found.local[usable], local[usable], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.price[usable], price[usable])
    assert found.complete
    assert found.n_families == usable.sum() == count_legal(constraints) == evaluator.n_local


@pytest.mark.parametrize("name", ["bic-nv", "bge", "bdeu"])
def test_kernels_with_interventions(name):
    targets = np.zeros((120, D), dtype=bool)
    targets[:30, 1] = targets[20:50, 4] = True
    score = _score(name, targets=targets)
    found = all_tables(Evaluator(score, Settings()), Constraints.none(D))
    local, _ = _reference(score, Constraints.none(D))
    np.testing.assert_allclose(found.local, local, rtol=1e-9, atol=1e-9)


def test_skipped_families_are_dominated(monkeypatch):
    monkeypatch.setattr(made, "SKIP_MARGIN", 2.0)
    score = _score("bic-discrete", n=40)
    found = all_tables(Evaluator(score, Settings()), Constraints.none(D))
    local, price = _reference(score, Constraints.none(D))
    skipped = found.price == -np.inf
    assert skipped.any()
    shares = 2 * local + price
    worst_kept = np.broadcast_to(shares[:, :1], shares.shape)
    assert (shares[skipped] < worst_kept[skipped] - 2 * 2.0).all()


def test_other_scores_are_asked_family_by_family():
    class Few(Score):
        def local_one(self, node, parents):
            return float(node - len(parents))

    score = Few(_table("bic-nv"))
    evaluator = Evaluator(score, Settings())
    assert compiled_work(score) is None
    found = all_tables(evaluator, _knowledge())
    assert evaluator.n_local == found.n_families == count_legal(_knowledge())
    assert evaluator.n_evals == sum(-(-int((row > -np.inf).sum()) // D) for row in found.price)


def test_collinear_columns_are_not_left_to_the_kernels():
    values = _table("bic-nv").values.copy()
    values[:, 5] = values[:, 0] + 1e-6 * values[:, 1]
    score = build_score("bic-nv", Statistics.from_array(values))
    assert compiled_work(score) is None
    found = all_tables(Evaluator(score, Settings()), Constraints.none(D))
    local, _ = _reference(score, Constraints.none(D))
    np.testing.assert_allclose(found.local, local, rtol=1e-9)


def test_known_families_have_their_places():
    score = _score("bic-nv")
    evaluator = Evaluator(score, Settings())
    dag = np.triu(np.ones((D, D), dtype=bool), 1)
    evaluator.evaluate(dag[None])
    found = tables_of(evaluator.known()[0], evaluator, Constraints.none(D))
    assert (found.complete, found.n_families) == (False, D)
    assert [np.flatnonzero(row > -np.inf).tolist() for row in found.price] == [[(1 << k) - 1] for k in range(D)]
    assert subset_kernels.column(dag.T @ (1 << np.arange(D)), np.arange(D)).tolist() == [(1 << k) - 1 for k in range(D)]
    np.testing.assert_allclose(
        found.shares(score)[np.arange(D), [(1 << k) - 1 for k in range(D)]].sum(),
        evaluator.evaluate(dag[None]).scores[0],
    )


def test_families_come_in_the_order_of_the_columns():
    families = families_of(4, 2)
    assert subset_kernels.column(families.parents @ (1 << np.arange(4)), 2).tolist() == list(range(8))
    assert not families.parents[:, 2].any()
