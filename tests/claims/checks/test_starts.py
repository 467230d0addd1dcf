from dataclasses import replace

import numpy as np
import pytest

from drbo.claims.checks.starts import FEWEST, Starts
from drbo.claims.record import Proof
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Stop
from drbo.scores.linear import BicNV
from drbo.search.outcome import Evaluated, Outcome
from tests.claims.contexts import context_of

COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
CHAIN = np.array([[0, 0, 1], [0, 0, 0], [0, 1, 0]], dtype=bool)  # a -> c -> b
ONE_LINK = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)


def _end(dag, score=0.0):
    return Evaluated(dag[None], np.zeros((1, 3)), np.array([score]))


def _context(rng, *ends):
    table = Statistics.from_array(rng.normal(size=(50, 3)), list("abc"))
    found = context_of(BicNV(table), table, COLLIDER)
    outcome = Outcome(_end(COLLIDER), "order search", 1, 1, Stop.CONVERGED, "converged", ends=ends)
    return replace(found, answer=replace(found.answer, outcome=outcome))


def _on_route(context, route):
    return replace(context, inquiry=replace(context.inquiry, settings=context.inquiry.settings.with_(route=route)))


def _denied(rng, *ends):
    found = Starts().run(_context(rng, *ends))
    return {(one.cause, one.effect): one.grounds for one in found.denied}


def test_searches_that_agree_deny_nothing(rng):
    assert _denied(rng, _end(COLLIDER), _end(COLLIDER)) == {}


def test_an_arrow_that_another_graph_leaves_undirected_is_no_class_arrow(rng):
    everything = Starts.denies
    assert _denied(rng, _end(COLLIDER), _end(CHAIN, -9.0)) == {("a", "c"): ("class",), ("b", "c"): ("class",)}
    assert _denied(rng, _end(COLLIDER), _end(ONE_LINK, -9.0)) == {("a", "c"): ("class",), ("b", "c"): everything}


def test_graphs_that_score_decisively_less_do_not_count(rng):
    assert _denied(rng, _end(COLLIDER), _end(CHAIN, -9.3)) == {}


def test_one_search_is_none_to_compare_with_and_a_proof_needs_none(rng):
    assert "not repeated" in Starts().run(_context(rng, _end(COLLIDER))).skipped
    assert FEWEST == 2
    context = _on_route(_context(rng, _end(COLLIDER)), "orders")
    assert Starts().relevant(context)
    for bound, is_needed in ((0.0, False), (5.0, True)):
        context.done["proof"] = Proof(upper_bound=bound, tolerance=1e-9, valid_for="all DAGs")
        assert Starts().relevant(context) == is_needed


@pytest.mark.parametrize("route", ["surrogate", "paper"])
def test_searches_of_other_kinds_have_no_starts(rng, route):
    assert not Starts().relevant(_on_route(_context(rng, _end(COLLIDER)), route))
