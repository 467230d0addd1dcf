"""One resample fitted; what a bootstrap makes of many is tested with the estimator."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from drbo.claims.refit import TableRefit
from drbo.data.table import Table
from drbo.graph import dag_to_cpdag
from drbo.knowledge import Constraints, Knowledge
from drbo.search.loop import run
from drbo.search.paper.lockstep import run_together
from drbo.settings import Settings


def collider(rng, n=300):
    x = rng.normal(size=(n, 3))
    x[:, 2] += x[:, 0] + x[:, 1]
    return Table.from_array(x, names=["a", "b", "c"])


def make(table, **changes):
    given = {"name": "bic-nv", "options": {}, "table": table, "constraints": Constraints.none(3),
             "settings": Settings(route="orders"), "pruner": "none", "columns": np.arange(3)}  # fmt: skip
    return TableRefit(**(given | changes))


TRUTH = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)


@pytest.mark.parametrize("start", [None, TRUTH, np.zeros((3, 3), dtype=bool)])
def test_the_class_is_found_from_any_start(rng, start):
    found = make(collider(rng), start=start)(np.arange(300), seed=0)
    assert (found == dag_to_cpdag(TRUTH)).all()


def test_the_rows_decide(rng):
    table = collider(rng)
    noise = np.vstack([table.values, rng.normal(size=(300, 3))])
    refit = make(Table.from_array(noise))
    assert refit(np.arange(300), seed=0).any()
    assert not refit(np.arange(300, 600), seed=0).any()


def test_columns_go_back_to_their_places(rng):
    table = collider(rng)
    turned = table.take(np.arange(300), np.array([2, 0, 1]))
    found = make(turned, columns=np.array([2, 0, 1]))(np.arange(300), seed=0)
    assert (found == dag_to_cpdag(TRUTH)).all()


def test_knowledge_and_a_score_that_tells_directions(rng):
    known = Knowledge(required=["c -> a"]).compile(["a", "b", "c"])
    found = make(collider(rng), name="bic-ev", constraints=known)(np.arange(300), seed=0)
    assert found[2, 0]
    assert not (found & found.T).any()


def test_knowledge_directs_what_the_class_leaves_open(rng):
    x = rng.normal(size=(300, 2))
    x[:, 1] += x[:, 0]
    table, columns = Table.from_array(x, names=["a", "b"]), np.arange(2)
    free = make(table, columns=columns, constraints=Constraints.none(2))(np.arange(300), seed=0)
    tiers = Knowledge(tiers=[["a"], ["b"]]).compile(["a", "b"])
    directed = make(table, columns=columns, constraints=tiers)(np.arange(300), seed=0)
    assert free.tolist() == [[False, True], [True, False]]
    assert directed.tolist() == [[False, True], [False, False]]


def test_the_route_is_that_of_the_settings(rng):
    short = Settings(route="surrogate", max_evals=24, n_candidates=200, batch_size=8)
    found = make(collider(rng), name="bge", settings=short)(np.arange(300), seed=0)
    assert found[0, 2]
    assert found[1, 2]


def test_it_travels_to_another_process(rng):
    refit = make(collider(rng))
    again = pickle.loads(pickle.dumps(refit))
    assert (again(np.arange(300), 1) == refit(np.arange(300), 1)).all()


def test_targets_follow_their_rows(rng):
    targets = np.zeros((300, 3), dtype=bool)
    targets[:150, 2] = True
    refit = make(collider(rng), options={"targets": targets})
    assert refit(np.arange(150, 300), seed=0)[0, 2]


REGION = Settings.preset("paper").with_(
    max_evals=40, n_candidates=50, batch_size=8, hidden=8, n_replay=20, masks="shared", batch_norm="training"
)


def test_many_resamples_are_those_of_one_by_one(rng):
    refit = make(collider(rng))
    draws = [(np.sort(rng.integers(300, size=300)), seed) for seed in range(3)]
    found = list(refit.many(draws))
    assert all((graph == refit(rows, seed)).all() for graph, (rows, seed) in zip(found, draws, strict=True))


@pytest.mark.parametrize("candidate_parents", [None, 1])
def test_resamples_in_one_program(rng, monkeypatch, candidate_parents):
    """As on a GPU, in groups of two; a resample may screen other parents than its neighbour."""
    monkeypatch.setattr("drbo.claims.refit.group_size", lambda *parts: 2)
    sizes = []

    def counted(states, callbacks):
        sizes.append(len(states))
        return run_together(states, callbacks)

    monkeypatch.setattr("drbo.claims.refit.run_together", counted)
    settings = REGION.with_(candidate_parents=candidate_parents)
    refit = make(collider(rng), name="bic-ev", settings=settings, columns=np.array([2, 0, 1]))
    draws = [(np.sort(rng.integers(300, size=300)), seed) for seed in range(5)]
    found, again = list(refit.many(draws)), list(refit.many(draws))
    assert sizes == [2, 2, 1] * 2
    assert all((one == other).all() for one, other in zip(found, again, strict=True))
    skeleton = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)  # b, c, a: c is linked with both
    if candidate_parents is None:
        assert sum(((graph | graph.T) == skeleton).all() for graph in found) >= 3
    else:
        assert all((graph.sum(axis=0) <= 1).all() for graph in found)


def test_a_search_that_was_cut_short_does_not_count(rng, monkeypatch):
    def interrupted(state, callbacks):
        return replace(run(state, callbacks), stopped="interrupted")

    monkeypatch.setattr("drbo.claims.refit.run", interrupted)
    refit = make(collider(rng), settings=REGION)
    with pytest.raises(KeyboardInterrupt):
        refit(np.arange(300), seed=0)
