"""Adjustment sets against networkx' d-separation, and parent sets of a class against all its DAGs."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DataError
from drbo.graph.adjustment import (
    causal_nodes,
    d_separated,
    forbidden_nodes,
    member_dags,
    minimal_set,
    optimal_set,
    with_flips,
)
from drbo.graph.dag import dag_to_cpdag, is_acyclic, markov_equivalent, meek_closure
from tests.statements import random_dag


def is_valid(dag, source, target, chosen):
    """The criterion of Perković et al. (2018)."""
    cut = dag.copy()
    cut[source, causal_nodes(dag, source, target)] = False
    return not forbidden_nodes(dag, source, target)[chosen].any() and d_separated(cut, source, target, chosen)


def all_members(pdag):
    """Every DAG with the skeleton, arrows and v-structures of a class, by brute force."""
    first = next(iter(member_dags(pdag, 0)))
    open_ = np.argwhere(np.triu(pdag & pdag.T))
    found = []
    for ways in product((False, True), repeat=len(open_)):
        dag = pdag & ~pdag.T
        for (i, j), turned in zip(open_, ways, strict=True):
            dag[(j, i) if turned else (i, j)] = True
        if is_acyclic(dag) and markov_equivalent(dag, first):
            found.append(dag)
    return found


def test_parent_sets_are_those_of_all_members(rng):
    for _ in range(30):
        cpdag = dag_to_cpdag(random_dag(rng, 5, 0.5))
        members = all_members(cpdag)
        for node in range(5):
            expected = {tuple(np.flatnonzero(dag[:, node])) for dag in members}
            found = [tuple(np.flatnonzero(dag[:, node])) for dag in member_dags(cpdag, node)]
            assert set(found) == expected
            assert len(found) == len(expected)
            assert all(markov_equivalent(dag, members[0]) for dag in member_dags(cpdag, node))


def test_parent_sets_under_knowledge(rng):
    for _ in range(30):
        cpdag = dag_to_cpdag(random_dag(rng, 5, 0.7))
        open_ = np.argwhere(cpdag & cpdag.T)
        if not len(open_):
            continue
        known = cpdag.copy()
        i, j = open_[rng.integers(len(open_))]
        known[j, i] = False
        mpdag = meek_closure(known)
        members = all_members(mpdag)
        for node in range(5):
            expected = {tuple(np.flatnonzero(dag[:, node])) for dag in members}
            assert {tuple(np.flatnonzero(dag[:, node])) for dag in member_dags(mpdag, node)} == expected


def test_d_separation_is_that_of_networkx(rng):
    for _ in range(40):
        dag = random_dag(rng, 5, 0.5)
        graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)
        x, y = rng.choice(5, size=2, replace=False).tolist()
        others = [node for node in range(5) if node not in (x, y)]
        for size in range(4):
            for given in combinations(others, size):
                assert d_separated(dag, x, y, list(given)) == nx.is_d_separator(graph, {x}, {y}, set(given))


def _valid_by_networkx(dag, x, y, chosen):
    graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)
    causal = {node for path in nx.all_simple_paths(graph, x, y) for node in path[1:]}
    forbidden = {x} | causal | {below for node in causal for below in nx.descendants(graph, node)}
    cut = graph.copy()
    cut.remove_edges_from([(x, node) for node in causal if graph.has_edge(x, node)])
    return not forbidden & set(chosen) and nx.is_d_separator(cut, {x}, {y}, set(chosen))


def test_sets_are_valid_and_the_minimal_one_is_minimal(rng):
    seen = 0
    for _ in range(60):
        dag = random_dag(rng, 6, 0.5)
        for x, y in ((0, 1), (2, 3), (4, 5)):
            chosen, fewest = optimal_set(dag, x, y), minimal_set(dag, x, y)
            graph = nx.from_numpy_array(dag, create_using=nx.DiGraph)
            if chosen is None:
                assert not nx.has_path(graph, x, y)
                continue
            seen += 1
            assert _valid_by_networkx(dag, x, y, chosen)
            assert _valid_by_networkx(dag, x, y, fewest)
            assert set(fewest) <= set(chosen)
            for node in fewest:
                assert not _valid_by_networkx(dag, x, y, [other for other in fewest if other != node])
            parents = np.flatnonzero(dag[:, x]).tolist()
            assert is_valid(dag, x, y, parents)  # the parents of the source are always valid
            for size in range(3):
                for other in combinations([node for node in range(6) if node not in (x, y)], size):
                    assert is_valid(dag, x, y, list(other)) == _valid_by_networkx(dag, x, y, other)
    assert seen > 30


def test_the_optimal_set_has_the_least_variance():
    rng = np.random.default_rng(0)
    dag = np.zeros((5, 5), dtype=bool)
    dag[[0, 0, 1, 3, 4], [1, 2, 2, 2, 1]] = True  # 0 confounds 1 -> 2, 3 only moves 2, 4 only moves 1
    assert optimal_set(dag, 1, 2) == [0, 3]
    assert minimal_set(dag, 1, 2) == [0]
    errors = {"optimal": [], "minimal": [], "all": []}
    for _ in range(300):
        x = rng.normal(size=(100, 5)) @ np.linalg.inv(np.eye(5) - dag)
        for name, used in (("optimal", [1, 0, 3]), ("minimal", [1, 0]), ("all", [1, 0, 4])):
            errors[name].append(np.linalg.lstsq(x[:, used], x[:, 2], rcond=None)[0][0])
    spread = {name: np.std(values) for name, values in errors.items()}
    assert spread["optimal"] < 0.85 * spread["minimal"] < spread["all"]


def test_causal_and_forbidden_nodes():
    dag = np.zeros((4, 4), dtype=bool)
    dag[[0, 1, 1], [1, 2, 3]] = True
    assert causal_nodes(dag, 0, 2).tolist() == [False, True, True, False]
    assert forbidden_nodes(dag, 0, 2).tolist() == [True, True, True, True]
    assert not causal_nodes(dag, 2, 0).any()


def test_too_many_open_edges_are_refused():
    star = np.zeros((16, 16), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    with pytest.raises(DataError, match="15 edges of undetermined direction"):
        list(member_dags(star, 0))


def test_the_ways_to_direct_edges_end_at_the_deadline():
    star = np.zeros((6, 6), dtype=bool)
    star[0, 1:] = star[1:, 0] = True
    arrows = np.triu(star)
    with Deadline() as deadline:
        deadline.stop()
        for ways in (member_dags(star, 0), with_flips([arrows], arrows, 0)):
            with pytest.raises(OutOfTimeError):
                next(ways)
