from itertools import permutations

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search import recombine as improve
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Evaluated
from drbo.search.recombine import Recombiner
from drbo.settings import Settings

BOTH = pytest.mark.parametrize("kind", [BicNV, BicEV])


def _all_dags(d):
    """Every DAG of d nodes: the parts of every complete order, each once."""
    upper = np.argwhere(np.triu(np.ones((d, d)), 1))
    bits = (np.arange(1 << len(upper))[:, None] >> np.arange(len(upper))) & 1
    parts = np.zeros((len(bits), d, d), dtype=bool)
    parts[:, upper[:, 0], upper[:, 1]] = bits == 1
    every = np.concatenate([parts[:, order][:, :, order] for order in map(list, permutations(range(d)))])
    return np.unique(every.reshape(len(every), -1), axis=0).reshape(-1, d, d)


def _random_dags(rng, count, d, density=0.4):
    orders = [rng.permutation(d) for _ in range(count)]
    return np.stack([np.triu(rng.random((d, d)) < density, 1)[np.ix_(order, order)] for order in orders])


def _evaluator(rng, kind, d, n=100):
    mixing = np.eye(d) + np.triu(rng.normal(size=(d, d)), 1)
    return Evaluator(kind(Statistics.from_array(rng.normal(size=(n, d)) @ mixing)), Settings(max_evals=10_000))


def _best_of(batch):
    top = [int(np.argmax(batch.scores))]
    return Evaluated(batch.dags[top], batch.local[top], batch.scores[top])


def _check(evaluator, found, incumbent, spent):
    """A recombination is a DAG of known families with its true score, no worse, and it was free."""
    (dag,) = found.dags
    assert is_acyclic(dag)
    assert all(evaluator.is_known(Families.from_dags(found.dags).keys()))
    assert (evaluator.n_evals, evaluator.n_local) == spent
    assert found.scores[0] >= incumbent.scores[0]
    local = evaluator.score.local(Families.from_dags(found.dags))
    assert found.local[0] == pytest.approx(local)
    assert found.scores == pytest.approx(evaluator.scores(found.dags, local[None]))


@BOTH
@pytest.mark.parametrize("seed", range(6))
def test_the_best_of_all_dags_with_known_families_is_found(kind, seed):
    """Against all 543 DAGs of four nodes."""
    rng = np.random.default_rng(seed)
    evaluator = _evaluator(rng, kind, 4)
    batch = evaluator.evaluate(_random_dags(rng, 6, 4))
    spent = (evaluator.n_evals, evaluator.n_local)
    incumbent = _best_of(batch)
    found = Recombiner(evaluator).best(incumbent, rng)
    _check(evaluator, found, incumbent, spent)
    every = _all_dags(4)
    assert len(every) == 543
    known = np.array(evaluator.is_known(Families.from_dags(every).keys())).reshape(543, 4).all(axis=1)
    assert known.sum() > 6
    local = evaluator.score.local(Families.from_dags(every[known])).reshape(-1, 4)
    best = evaluator.scores(every[known], local).max()
    assert found.scores[0] == pytest.approx(best, abs=1e-9)


@BOTH
def test_many_nodes_are_climbed(kind, rng, monkeypatch):
    """The climb over orders, against the exact answer over the same families."""
    evaluator = _evaluator(rng, kind, 14)
    batch = evaluator.evaluate(_random_dags(rng, 40, 14, density=0.3))
    spent = (evaluator.n_evals, evaluator.n_local)
    incumbent = _best_of(batch)
    climbed = Recombiner(evaluator).best(incumbent, rng)
    _check(evaluator, climbed, incumbent, spent)
    assert climbed.scores[0] > incumbent.scores[0]
    monkeypatch.setattr(improve, "EXACT_NODES", 14)
    exact = Recombiner(evaluator).best(incumbent, rng)
    _check(evaluator, exact, incumbent, spent)
    assert climbed.scores[0] - incumbent.scores[0] > 0.5 * (exact.scores[0] - incumbent.scores[0])
    if kind is BicNV:  # additive: the exact answer is the best
        assert climbed.scores[0] <= exact.scores[0] + 1e-9


@BOTH
@pytest.mark.parametrize("d", [2, 5, 13])
def test_later_batches_are_seen(kind, d, rng):
    """One that is kept up to date finds as much as a new one, and the score only rises."""
    evaluator = _evaluator(rng, kind, d)
    kept, best = Recombiner(evaluator), None
    for _ in range(4):
        batch = evaluator.evaluate(_random_dags(rng, 5, d))
        top = _best_of(batch)
        incumbent = top if best is None or top.scores[0] > best.scores[0] else best
        spent = (evaluator.n_evals, evaluator.n_local)
        best = kept.best(incumbent, np.random.default_rng(1))
        _check(evaluator, best, incumbent, spent)
        fresh = Recombiner(evaluator).best(incumbent, np.random.default_rng(1))
        assert best.scores[0] == fresh.scores[0]
        assert len(kept._nodes) == evaluator.n_local  # each family once


def test_the_incumbent_itself_comes_back_when_it_is_best(rng):
    evaluator = _evaluator(rng, BicNV, 4)
    incumbent = _best_of(evaluator.evaluate(_random_dags(rng, 1, 4)))
    recombiner = Recombiner(evaluator)
    best = recombiner.best(incumbent, rng)
    assert recombiner.best(best, rng) is best


def test_required_and_forbidden_edges_survive(rng):
    """Families of DAGs that obey are put together to DAGs that obey."""
    names = [f"x{i}" for i in range(6)]
    knowledge = Knowledge(required=["x0 -> x3"], forbidden=["x1 -> x2", "x4 -> x5"], max_parents=2)
    constraints = Constraints.of(knowledge, names)
    dags = [dag for dag in _random_dags(rng, 3000, 6) if not constraints.violations(dag)]
    evaluator = _evaluator(rng, BicEV, 6)
    incumbent = _best_of(evaluator.evaluate(np.stack(dags[:30])))
    best = Recombiner(evaluator).best(incumbent, rng)
    assert best.scores[0] > incumbent.scores[0]
    assert constraints.violations(best.dags[0]) == []


@pytest.mark.parametrize("d", [2, 3, 13, 40])
def test_a_shuffled_order_is_an_order(d, rng):
    order = rng.permutation(d)
    shuffled = [improve._shuffled_part(order, rng) for _ in range(20)]
    assert all(sorted(other.tolist()) == list(range(d)) for other in shuffled)
    assert len({tuple(other.tolist()) for other in shuffled}) > 1


@BOTH
def test_a_long_search_keeps_the_best_families_only(kind, rng, monkeypatch):
    """With room for 20 families per node the work stays bounded, the answer valid and nearly as good."""
    evaluator = _evaluator(rng, kind, 14)
    everything, bounded, spent = Recombiner(evaluator), Recombiner(evaluator), None
    plain = best = None
    for _ in range(6):
        batch = evaluator.evaluate(_random_dags(rng, 60, 14))
        spent = (evaluator.n_evals, evaluator.n_local)
        incumbent = _best_of(batch)
        plain = everything.best(plain or incumbent, np.random.default_rng(1))
        monkeypatch.setattr(improve, "POOL", 20)
        best = bounded.best(best or incumbent, np.random.default_rng(1))
        monkeypatch.undo()
        _check(evaluator, best, incumbent if best is None else best, spent)
    assert len(everything._nodes) == evaluator.n_local
    assert len(bounded._nodes) < 42 * 14 < evaluator.n_local
    first = evaluator.evaluate(np.zeros((1, 14, 14), dtype=bool)).scores[0]
    assert best.scores[0] - first > 0.8 * (plain.scores[0] - first)


def test_an_incumbent_whose_families_were_dropped_is_built_on(rng, monkeypatch):
    """A DAG may become the best one long after some of its families were found too poor to keep."""
    monkeypatch.setattr(improve, "POOL", 2)
    evaluator = _evaluator(rng, BicNV, 14)
    batch = evaluator.evaluate(_random_dags(rng, 60, 14))
    recombiner = Recombiner(evaluator)
    recombiner.best(_best_of(batch), rng)
    assert len(recombiner._nodes) < evaluator.n_local
    spent = (evaluator.n_evals, evaluator.n_local)
    for row in range(20):
        incumbent = Evaluated(batch.dags[[row]], batch.local[[row]], batch.scores[[row]])
        _check(evaluator, recombiner.best(incumbent, rng), incumbent, spent)
