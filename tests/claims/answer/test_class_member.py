import numpy as np
import pytest

from drbo import DrBO, Knowledge
from drbo.claims.answer.class_member import agreeing_member, same_score
from drbo.claims.record import CheckedEdge, NoiseCheck
from drbo.constraints import Constraints
from drbo.data.files.simulate import random_dag, simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag, is_acyclic
from drbo.scores.linear import BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.settings import Settings


def ties(_):
    """Every member has the same score."""
    return True


def checks_for(truth, told=lambda i, j: True):
    """Checks that know the true graph, and tell the direction of some pairs."""

    def check(dag):
        found = []
        for i, j in np.argwhere(dag).tolist():
            p = (0.5, 0.001 * (i + 1)) if truth[i, j] else (0.001 * (i + 1), 0.5)
            verdict = ("forward" if truth[i, j] else "reverse") if told(*sorted((i, j))) else "undecided"
            one = NoiseCheck(
                verdict=verdict, noise="additive", p_value_forward=p[0], p_value_reverse=p[1], p_value_family=0.5,
                dependence_forward=0.0, dependence_reverse=0.0, probability=None,
            )  # fmt: skip
            found.append(CheckedEdge(cause=f"x{i}", effect=f"x{j}", check=one))
        return tuple(found)

    return check


def other_member(dag, rng):
    """Return a member of the class of a DAG that is drawn at random."""
    for _ in range(100):
        i, j = rng.permutation(np.argwhere(dag))[0]
        turned = dag.copy()
        turned[i, j], turned[j, i] = False, True
        if is_acyclic(turned) and (dag_to_cpdag(turned) == dag_to_cpdag(dag)).all():
            dag = turned
    return dag


@pytest.mark.parametrize("seed", range(8))
def test_checks_that_are_right_lead_to_the_true_graph(seed):
    rng = np.random.default_rng(seed)
    truth = random_dag(8, 2, rng, "er")
    drawn, check = other_member(truth, rng), checks_for(truth)
    member, checks = agreeing_member(drawn, check(drawn), Constraints.none(8), check, ties)
    assert (member == truth).all()
    assert {one.check.verdict for one in checks} <= {"forward"}


@pytest.mark.parametrize("seed", range(8))
def test_checks_that_know_some_pairs_lead_to_a_member_of_the_class(seed):
    rng = np.random.default_rng(seed)
    truth, some = random_dag(8, 2, rng, "er"), rng.random((8, 8)) < 0.4
    drawn, check = other_member(truth, rng), checks_for(truth, lambda i, j: some[i, j])
    member, checks = agreeing_member(drawn, check(drawn), Constraints.none(8), check, ties)
    assert is_acyclic(member)
    assert (dag_to_cpdag(member) == dag_to_cpdag(truth)).all()
    assert "reverse" not in {one.check.verdict for one in checks}
    told = (np.triu(some) | np.triu(some).T) & truth
    assert member[told].all()


def test_no_check_leaves_the_graph_as_it_is():
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    drawn, check = truth.T.copy(), checks_for(truth, lambda i, j: False)
    assert agreeing_member(drawn, check(drawn), Constraints.none(3), check, ties)[0] is drawn


def test_neither_knowledge_nor_the_score_is_given_up():
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    drawn, check = truth.T.copy(), checks_for(truth)
    known = Constraints.of(Knowledge(forbidden=["x0 -> x1"]), ["x0", "x1", "x2"])
    member, _ = agreeing_member(drawn, check(drawn), known, check, ties)
    assert member.astype(int).tolist() == [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    limited = Constraints.of(Knowledge(max_parents={"x1": 0}), ["x0", "x1", "x2"])
    start = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
    assert agreeing_member(start, check(start), limited, check, ties)[0][:, 1].sum() == 0
    assert agreeing_member(drawn, check(drawn), Constraints.none(3), check, lambda _: False)[0] is drawn


def test_members_of_a_class_tie_unless_a_prior_prefers_one():
    table = Statistics.from_array(simulate("3ER1", "linear", n=200, seed=1).X)
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert same_score(Evaluator(BicNV(table), Settings()), chain, chain.T)
    prior = np.full((3, 3), 0.5)
    prior[0, 1] = 0.9
    assert not same_score(Evaluator(BicNV(table, edge_prior=prior), Settings()), chain, chain.T)


@pytest.fixture(scope="module")
def linear_table():
    """A chain of linear effects with uniform noise: a linear score ties its members, the residuals do not."""
    rng = np.random.default_rng(3)
    a = rng.uniform(-1, 1, 1000)
    b = a + rng.uniform(-1, 1, 1000)
    return np.column_stack([b + rng.uniform(-1, 1, 1000), b, a])


def test_a_fit_draws_the_member_that_the_noise_check_supports(linear_table):
    result = DrBO(score="bic-nv", random_state=0).fit(linear_table).result_
    assert [(one.cause, one.effect) for one in result.directions] == [("x1", "x0"), ("x2", "x1")]
    assert {one.ground for one in result.directions} == {"noise-check"}
    assert result.cpdag.sum() == 4  # the class says nothing
    assert (result.search.dag == result.dag).all()
    score = BicNV(Statistics.from_array(linear_table), penalty=result.scoring.options["penalty"])
    again = Evaluator(score, Settings()).evaluate_one(result.dag)
    assert result.score == pytest.approx(again.scores[0])
    assert result.search.local == pytest.approx(again.local[0])
    assert result.top[0].behind == 0.0
    assert set(result.top[0].edges) == {("x1", "x0"), ("x2", "x1")}
    edges = result.dag
    assert np.isfinite(result.margins.removed[edges]).all()
    assert np.isnan(result.margins.removed[~edges]).all()
    assert (result.margins.reversed[edges] == 0).all()


def test_a_ration_is_not_spent_on_another_member(linear_table):
    result = DrBO(score="bic-nv", random_state=0, max_evals=50).fit(linear_table).result_
    assert result.n_evals <= 50
