"""Listed parent sets: what they are, that they obey the knowledge, and what greedy choices miss."""

from itertools import combinations

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.search.orders import listed
from drbo.search.orders.listed import Listed
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings


def score_of(values, penalty=2.0):
    return BicNV(Statistics.from_array(values), penalty=penalty)


def total(score, dag):
    families = Families.from_dags(dag[None])
    return float(score.combine(score.local(families)[None], score.family_price(families)[None])[0])


def test_sets_and_their_subsets_are_numbered():
    sets, smaller = listed._subsets(4, 3)
    found = [frozenset(row[row >= 0].tolist()) for row in sets]
    assert set(found) == {frozenset(c) for k in range(4) for c in combinations(range(4), k)}
    for number, members in enumerate(found[1:], 1):
        assert {found[k] for k in smaller[number]} == {members - {one} for one in members}


def test_a_set_is_useful_where_no_subset_has_its_share():
    rng = np.random.default_rng(0)
    sets, smaller = listed._subsets(4, 4)
    shares = rng.normal(size=(3, len(sets))).round(1)
    useful = listed._useful(shares, (sets >= 0).sum(axis=1), smaller)
    members = [frozenset(row[row >= 0].tolist()) for row in sets]
    for node in range(3):
        for k, one in enumerate(members):
            beaten = any(other < one and shares[node, m] >= shares[node, k] for m, other in enumerate(members))
            assert useful[node, k] == (not beaten)


def test_the_best_dag_of_listed_sets_is_the_best_of_all_small_ones():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 4)) @ rng.normal(size=(4, 4))
    score, edges = score_of(x), [(i, j) for i in range(4) for j in range(4) if i != j]
    best = -np.inf
    for bits in range(2 ** len(edges)):
        dag = np.zeros((4, 4), dtype=bool)
        for k, edge in enumerate(edges):
            dag[edge] = bits >> k & 1
        if dag.sum() <= 6 and is_acyclic(dag):
            best = max(best, total(score, dag))
    empty = np.zeros((4, 4), dtype=bool)
    found = Listed(score, score.groups[0][1], empty, Constraints.none(4)).best(empty, rng)
    assert total(score, found) == pytest.approx(best, abs=1e-9)


def test_knowledge_holds():
    x, names = np.random.default_rng(0).normal(size=(100, 8)), [f"x{k}" for k in range(8)]
    x[:, 2] += x[:, 0]
    known = Knowledge(required=["x5 -> x6"], forbidden=["x0 -> x2"], max_parents=2)
    limits = Constraints.of(known, names)
    dag = Listed(score_of(x), np.corrcoef(x.T), limits.required, limits).best(limits.required, np.random.default_rng(0))
    assert is_acyclic(dag)
    assert dag[5, 6]
    assert not dag[0, 2]
    assert dag.sum(axis=0).max() <= 2


def test_the_search_finds_what_greedy_choices_of_parents_miss(monkeypatch):
    rng = np.random.default_rng(9)
    weights = np.triu(rng.normal(size=(12, 12)) * (rng.random((12, 12)) < 0.5), 1)
    score = score_of(rng.normal(size=(60, 12)) @ np.linalg.inv(np.eye(12) - weights))
    found = OrderSearch(score, Settings(), seed=0).run().best.scores[0]
    monkeypatch.setattr("drbo.search.orders.ascent.MAX_LISTED", 0)
    assert found > OrderSearch(score, Settings(), seed=0).run().best.scores[0] + 1


def test_pairs_are_those_that_explain_most_beyond_the_better_one(monkeypatch):
    monkeypatch.setattr(listed, "PAIRS", 4)
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 7)) @ rng.normal(size=(7, 7))
    first, second = listed._pairs(np.corrcoef(x, rowvar=False), np.arange(7))

    def left(node, parents):
        centred = x - x.mean(axis=0)
        return np.linalg.lstsq(centred[:, parents], centred[:, node], rcond=None)[1][0]

    for node in range(7):
        others = [pair for pair in combinations(range(7), 2) if node not in pair]
        ratio = {pair: left(node, pair) / min(left(node, [one]) for one in pair) for pair in others}
        found = set(zip(first[node].tolist(), second[node].tolist(), strict=True))
        assert found == set(sorted(others, key=ratio.__getitem__)[:4])


def test_a_pair_outside_the_candidates_is_listed(monkeypatch):
    monkeypatch.setattr(listed, "CANDIDATES", 2)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    x[:, 1] = x[:, 0] + 0.1 * x[:, 1]
    x[:, 5] = 15 * (x[:, 1] - x[:, 0]) + x[:, 2] + x[:, 3] + x[:, 4] + 0.1 * x[:, 5]
    found = Listed(score_of(x), np.corrcoef(x.T), np.zeros((6, 6), dtype=bool), Constraints.none(6))
    sets = {frozenset(np.flatnonzero(row).tolist()) for row in found._parents[found._nodes == 5]}
    assert {0, 1} in sets
    monkeypatch.setattr(listed, "PAIRS", 1)
    few = Listed(score_of(x), np.corrcoef(x.T), np.zeros((6, 6), dtype=bool), Constraints.none(6))
    assert len(few._nodes) < len(found._nodes)


def test_sets_are_listed_for_nodes_that_may_have_parents_alone():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 6))
    x[:, 4] += x[:, 0] - x[:, 1]
    x[:, 5] += x[:, 4] + x[:, 2]
    limits = Constraints.of(Knowledge(roots=["x0", "x1", "x2", "x3"]), [f"x{k}" for k in range(6)])
    found = Listed(score_of(x), np.corrcoef(x.T), np.zeros((6, 6), dtype=bool), limits)
    assert (
        found.n_local < Listed(score_of(x), np.corrcoef(x.T), np.zeros((6, 6), dtype=bool), Constraints.none(6)).n_local
    )
    dag = found.best(np.zeros((6, 6), dtype=bool), np.random.default_rng(0))
    assert not dag[:, :4].any()
    assert dag[[0, 1], 4].all()
    assert dag[[4, 2], 5].all()
