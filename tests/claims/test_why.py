from itertools import product

import numpy as np
import pytest

from drbo.claims.why import mpdag, reasons
from drbo.constraints import Constraints
from drbo.graph.dag import dag_to_cpdag, is_acyclic, markov_equivalent, v_structures
from drbo.knowledge import Knowledge


def _dag(*edges):
    dag = np.zeros((4, 4), dtype=bool)
    for a, b in edges:
        dag["abcd".index(a), "abcd".index(b)] = True
    return dag


def _why(dag, *, equivalent=True, margin=None, **known):
    found = reasons(
        dag, Constraints.of(Knowledge(**known), "abcd"), score_equivalent=equivalent,
        assumption="equal noise variances", reversed_margin=margin,
    )  # fmt: skip
    return {"abcd"[a] + "abcd"[b]: words for (a, b), words in found.items()}


def test_without_knowledge_the_mpdag_is_the_cpdag(rng):
    for _ in range(20):
        order = rng.permutation(4)
        dag = np.triu(rng.random((4, 4)) < 0.5, 1)[np.ix_(order, order)]
        np.testing.assert_array_equal(mpdag(dag, Constraints.none(4)), dag_to_cpdag(dag))


def test_knowledge_directs_an_edge_and_meeks_rules_the_rest():
    chain = _dag("ab", "bc", "cd")
    known = Constraints.of(Knowledge(tiers=[["a"], ["b"]]), "abcd")
    np.testing.assert_array_equal(mpdag(chain, known), chain)
    assert _why(chain, tiers=[["a"], ["b"]]) == {
        "ab": "knowledge: b -> a is ruled out",
        "bc": "Meek rule after knowledge",
        "cd": "Meek rule after knowledge",
    }


def test_reasons_of_a_score_that_ties_equivalent_graphs():
    dag = _dag("ac", "bc", "cd")
    assert _why(dag) == {"ac": "v-structure with b", "bc": "v-structure with a", "cd": "Meek rule"}
    assert _why(_dag("ab", "bc")) == {"ab": "tie", "bc": "tie"}
    assert _why(_dag("ab", "bc"), required=["b -> c"]) == {"ab": "tie", "bc": "knowledge: required"}


def test_reasons_of_a_score_that_does_not():
    chain = _dag("ab", "bc")
    margin = np.full((4, 4), np.nan)
    margin[0, 1], margin[1, 2] = 0.0, 3.5
    assert _why(chain, equivalent=False, margin=margin) == {"ab": "tie", "bc": "assumption: equal noise variances"}
    assert _why(chain, equivalent=False)["ab"] == "assumption: equal noise variances"


def _present_dags():
    """Return all DAGs over three columns."""
    found = []
    for bits in product((False, True), repeat=6):
        dag = np.zeros((3, 3), dtype=bool)
        dag[~np.eye(3, dtype=bool)] = bits
        if not np.linalg.matrix_power(dag.astype(int) + np.eye(3, dtype=int), 3).diagonal().sum() > 3:
            found.append(dag)
    assert len(found) == 25
    return found


def test_the_class_of_a_window_is_what_all_graphs_share_in_which_the_past_is_given(rng):
    """Brute force: the past may be linked in any way, so it is complete; a class has one skeleton and its colliders."""
    names, lags = [f"{name}{lag}" for lag in ("", "[-1]") for name in "abc"], [0, 0, 0, 1, 1, 1]
    known = Constraints.of(Knowledge(), names, lags)
    directed = 0
    for _ in range(60):
        past = rng.random((3, 3)) < 0.3
        members = {}
        for present in _present_dags():
            window = np.zeros((6, 6), dtype=bool)
            window[:3, :3], window[3:, :3] = present, past
            whole = window.copy()
            whole[3:, 3:] = np.triu(np.ones((3, 3), dtype=bool), 1)
            members.setdefault(((whole | whole.T).tobytes(), tuple(map(tuple, v_structures(whole)))), []).append(window)
        for group in members.values():
            shared = np.logical_and.reduce(group)
            for window in group:
                found = mpdag(window, known)
                np.testing.assert_array_equal(found & ~found.T, shared)
                directed += int(shared[:3, :3].sum())
    assert directed


@pytest.mark.parametrize("seed", range(12))
def test_arrows_of_the_present_are_those_that_all_graphs_with_the_same_past_share(seed):
    """Every orientation of the links of the present is tried: equivalent ones have the same colliders."""
    rng, d = np.random.default_rng(seed), 5
    names, lags = [*"abcde", *(f"{name}[-1]" for name in "abcde")], [0] * d + [1] * d
    dag = np.zeros((2 * d, 2 * d), dtype=bool)
    dag[:d, :d] = np.triu(rng.random((d, d)) < 0.5, 1)
    dag[d:, :d] = np.eye(d) * (rng.random(d) < 0.5) + (rng.random((d, d)) < 0.1) > 0
    links = np.argwhere(dag[:d, :d])
    shared, count = np.ones((d, d), dtype=bool), 0
    for flips in product((False, True), repeat=len(links)):
        other = dag.copy()
        other[:d, :d] = False
        for (i, j), flip in zip(links.tolist(), flips, strict=True):
            other[(j, i) if flip else (i, j)] = True
        if is_acyclic(other) and markov_equivalent(other, dag):
            shared &= other[:d, :d]
            count += 1
    found = mpdag(dag, Constraints.of(Knowledge(), names, lags))
    assert count >= 1
    np.testing.assert_array_equal(found[:d, :d] & ~found[:d, :d].T, shared)
    assert (found[d:] == dag[d:]).all()
