"""One resample fitted; what a bootstrap makes of many is tested with the estimator."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from drbo.claims.refits.refit import TableRefit
from drbo.constraints import Constraints
from drbo.data.checks.experiments import Experiments, KnownTarget
from drbo.data.statistics.resamples import ResampledSums
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import summed
from drbo.deadline import Stop
from drbo.graph.dag import dag_to_cpdag
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.search.base import Search
from drbo.settings import Settings


def collider(rng, n=300):
    x = rng.normal(size=(n, 3))
    x[:, 2] += x[:, 0] + x[:, 1]
    return Statistics.from_array(x, names=["a", "b", "c"])


def make(table, **changes):
    given = {"name": "bic-nv", "options": {}, "table": table, "constraints": Constraints.none(3),
             "settings": Settings(route="orders"), "pruner": "none", "columns": np.arange(3)}  # fmt: skip
    return TableRefit(**(given | changes))


TRUTH = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)


@pytest.mark.parametrize("start", [None, TRUTH, np.zeros((3, 3), dtype=bool)])
def test_the_class_is_found_from_any_start(rng, start):
    found = make(collider(rng), start=start)(np.arange(300), seed=0).graph.adjacency
    assert (found == dag_to_cpdag(TRUTH)).all()


def test_the_rows_decide(rng):
    table = collider(rng)
    noise = np.vstack([table.values, rng.normal(size=(300, 3))])
    refit = make(Statistics.from_array(noise))
    assert refit(np.arange(300), seed=0).graph.adjacency.any()
    assert not refit(np.arange(300, 600), seed=0).graph.skeleton.any()


def test_columns_go_back_to_their_places(rng):
    table = collider(rng)
    turned = table.take(np.arange(300), np.array([2, 0, 1]))
    found = make(turned, columns=np.array([2, 0, 1]))(np.arange(300), seed=0).graph.adjacency
    assert (found == dag_to_cpdag(TRUTH)).all()


def test_knowledge_and_a_score_that_tells_directions(rng):
    known = Constraints.of(Knowledge(required=["c -> a"]), ["a", "b", "c"])
    found = make(collider(rng), name="bic-ev", constraints=known)(np.arange(300), seed=0).graph.adjacency
    assert found[2, 0]
    assert not (found & found.T).any()


def test_knowledge_directs_what_the_class_leaves_open(rng):
    x = rng.normal(size=(300, 2))
    x[:, 1] += x[:, 0]
    table, columns = Statistics.from_array(x, names=["a", "b"]), np.arange(2)
    free = make(table, columns=columns, constraints=Constraints.none(2))(np.arange(300), seed=0).graph.adjacency
    tiers = Constraints.of(Knowledge(tiers=[["a"], ["b"]]), ["a", "b"])
    directed = make(table, columns=columns, constraints=tiers)(np.arange(300), seed=0).graph.adjacency
    assert free.tolist() == [[False, True], [True, False]]
    assert directed.tolist() == [[False, True], [False, False]]


def test_the_route_is_that_of_the_settings(rng):
    short = Settings(route="surrogate", max_evals=24)
    found = make(collider(rng), name="bge", settings=short)(np.arange(300), seed=0).graph.adjacency
    assert found[0, 2]
    assert found[1, 2]


def test_it_travels_to_another_process(rng):
    refit = make(collider(rng))
    again = pickle.loads(pickle.dumps(refit))
    assert again(np.arange(300), 1).graph == refit(np.arange(300), 1).graph


def test_experiments_follow_their_rows(rng):
    codes = np.repeat([0, 1], [100, 200])
    table = collider(rng)
    table = replace(table, values=table.values + 4.0 * codes[:, None] * [1, 0, 0])
    table = replace(table, experiments=Experiments(codes, ("plain", "hot")))
    rows = np.sort(rng.integers(300, size=300))
    found = make(table, name="bic-experiments")(rows, seed=0)
    assert found.changed.tolist() == [[True, False, False]]
    turned = make(table.take(np.arange(300), np.array([2, 0, 1])), name="bic-experiments", columns=np.array([2, 0, 1]))
    again = turned(rows, seed=0)
    assert (again.graph.adjacency == found.graph.adjacency).all()
    assert (again.changed == found.changed).all()
    known = (KnownTarget("hot", "c", "hard"),)
    cut = make(replace(table, experiments=Experiments(codes, ("plain", "hot"), known)))
    assert cut(np.arange(300), seed=0).changed is None


@pytest.mark.parametrize("candidate_parents", [None, 1])
@pytest.mark.parametrize("route", ["surrogate", "paper"])
def test_screened_parents_hold_in_a_resample(rng, route, candidate_parents):
    settings = Settings(route=route, max_evals=40, candidate_parents=candidate_parents)
    settings = settings.with_(n_candidates=50, batch_size=8, hidden=8, n_replay=20)
    found = make(collider(rng), name="bic-ev", settings=settings)(np.arange(300), seed=0).graph.adjacency
    assert found.sum(axis=0).max() <= (candidate_parents or 2)
    assert found.any()


@pytest.mark.parametrize("route", ["orders", "surrogate"])
def test_a_search_that_was_cut_short_does_not_count(rng, monkeypatch, route):
    run = Search.run
    monkeypatch.setattr(Search, "run", lambda *given: replace(run(*given), stop=Stop.INTERRUPTED))
    refit = make(collider(rng), settings=Settings(route=route, max_evals=20))
    with pytest.raises(KeyboardInterrupt):
        refit(np.arange(300), seed=0)


def test_a_resample_may_be_known_by_its_sums_or_by_counts(rng):
    values = collider(rng).values
    totals = summed("abc", [values], resampled=ResampledSums(3, 4))
    sums = make(replace(Statistics.from_array(values, names=["a", "b", "c"]), sums=totals))
    found = sums(np.array([3]), seed=0).graph.adjacency
    assert found[:2, 2].all()
    assert sums._drawn(np.array([3])).n == totals.resamples.n[3]
    drawn = rng.multinomial(300, np.full(300, 1 / 300))
    table = Statistics.from_array(values)
    counted = BicNV(make(table, counted=True)._drawn(drawn))
    repeated = BicNV(make(table)._drawn(np.repeat(np.arange(300), drawn)))
    families = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    assert np.allclose(counted.local(families), repeated.local(families), rtol=1e-12)


def test_other_rows_are_searched_with_the_score_of_the_fit(rng):
    table = collider(rng)
    score, evaluator, outcome = make(table, name="bge").on(table.resample(np.arange(200)), 0, TRUTH, searches=2)
    assert (score.name, score.n_rows[0]) == ("bge", 200)
    assert evaluator.score is score
    assert outcome.best.scores[0] >= evaluator.evaluate_one(TRUTH).scores[0]
