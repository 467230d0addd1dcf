from dataclasses import replace

import numpy as np
import pytest

from drbo.claims.answer.best_known import best_known
from drbo.claims.checks.alternatives import DISAGREE, BestClasses, EdgeMargins, Posterior
from drbo.claims.runner import NO_TIME
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Stop
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Outcome
from drbo.settings import Settings
from tests.claims.contexts import context_of

ALL = (EdgeMargins(), BestClasses(), Posterior())


def _context(score="bge", **inquiry):
    """What is known at the end of a search that has only seen the empty graph."""
    table = Statistics.from_array(simulate("5ER1", "linear", n=300, seed=2).X)
    evaluator = Evaluator(build_score(score, table), Settings())
    empty = evaluator.evaluate(np.zeros((1, 5, 5), dtype=bool))
    outcome = Outcome(empty, "first design", 1, 5, Stop.BUDGET, "test")
    found = best_known(outcome, evaluator, Constraints.none(5), "auto", rationed=False)
    context = context_of(evaluator.score, table, found.outcome.best.dags[0], **inquiry)
    return replace(context, answer=replace(context.answer, **vars(found)))


def test_margins_classes_and_probabilities_are_those_of_the_graphs_beside_the_best_one():
    context = _context()
    others, names = context.answer.others, context.table.names
    margins, classes, posterior = (claim.run(context).record for claim in ALL)
    assert margins is others.margins
    assert classes[0].behind == 0
    for told, other in zip(classes, others.classes, strict=True):
        assert set(told.edges) == {(names[i], names[j]) for i, j in np.argwhere(other.dag)}
        assert (told.score, told.behind) == (other.score, others.classes[0].score - other.score)
    assert posterior.probability.shape == (5, 5)
    assert "parents per column expected" in posterior.prior


def test_of_another_member_of_the_class_turned_edges_keep_their_margins():
    context = _context()
    before, best = EdgeMargins().run(context).record, context.answer.outcome.best
    cpdag = dag_to_cpdag(best.dags[0])
    i, j = np.argwhere(best.dags[0] & cpdag.T)[0]
    member = best.dags[0].copy()
    member[i, j], member[j, i] = False, True
    outcome = replace(context.answer.outcome, best=replace(best, dags=member[None]))
    drawn = replace(context, answer=replace(context.answer, outcome=outcome))
    after = EdgeMargins().run(drawn).record
    assert (after.removed[j, i], after.reversed[j, i]) == (before.removed[i, j], before.reversed[i, j])
    assert np.isnan(after.removed[i, j])
    names = context.table.names
    assert (names[j], names[i]) in BestClasses().run(drawn).record[0].edges


def test_classes_above_the_best_graph_are_left_out():
    """The search of the paper does not take a better graph that is made of known families."""
    context = _context()
    first, second, *rest = context.answer.others.classes
    context.answer.others.__dict__["classes"] = [first, replace(second, score=first.score + 1.0), *rest]
    classes = BestClasses().run(context).record
    assert len(classes) == 1 + len(rest)
    assert all(entry.behind >= 0 for entry in classes)


def test_where_nothing_was_looked_at_they_are_skipped_and_with_hidden_causes_they_say_nothing():
    context = _context()
    nothing = replace(context, answer=replace(context.answer, others=None))
    assert {claim.run(nothing).skipped for claim in ALL} == {NO_TIME}
    assert not any(claim.relevant(_context(hidden=True)) for claim in ALL)


@pytest.mark.parametrize("score", ["bic-ev", "bge"])
def test_only_a_score_that_is_evidence_has_probabilities(score):
    assert Posterior().relevant(_context(score)) == (score == "bge")


def test_chains_that_disagree_and_many_columns_give_no_probabilities(monkeypatch):
    context = _context()
    assert Posterior().too_much(context) == ""
    monkeypatch.setattr("drbo.claims.checks.alternatives.MAX_SAMPLED_NODES", 4)
    assert "more than 4 columns" in Posterior().too_much(context)
    monkeypatch.setattr(type(context.answer.others), "posterior", lambda *_: (None, ""))
    assert Posterior().run(context).skipped == DISAGREE
