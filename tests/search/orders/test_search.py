import time
import warnings

import numpy as np
import pytest

from drbo import DrBO
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.ascent import Ascent
from drbo.search.orders.search import OrderSearch
from drbo.search.stopping import Limits
from drbo.settings import Settings
from drbo.testing.searches import restored, saved
from tests.search.subset_dp import best_dag

pytestmark = pytest.mark.floats

QUICK = Settings(order_patience=4)


def _optimum(score, d):
    sets = [
        (i, [j for j in range(d) if mask >> j & 1]) for i in range(d) for mask in range(1 << d) if not mask >> i & 1
    ]
    families = Families.from_sets(d, sets)
    masks = families.parents @ (1 << np.arange(d))
    shares = score.n_rows[families.nodes] * score.local(families) + score.family_price(families)
    dag = best_dag(d, families.nodes, masks, shares)
    return Evaluator(score, Settings()).evaluate(dag[None]).scores[0]


@pytest.mark.parametrize("seed", range(5))
def test_finds_the_optimum_that_the_dynamic_program_finds(seed):
    data = simulate("8ER2", n=200, seed=seed)
    score = BicNV(Statistics.from_array(data.X))
    outcome = OrderSearch(score, Settings(), seed=seed).run()
    assert outcome.best.scores[0] == pytest.approx(_optimum(score, 8), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_reaches_the_true_graphs_score_where_variances_are_equal(seed):
    data = simulate("20ER4", seed=50 + seed)
    score = BicEV(Statistics.from_array(data.X))
    truth = Evaluator(score, Settings()).evaluate(data.dag[None]).scores[0]
    outcome = OrderSearch(score, QUICK, seed=seed).run()
    assert outcome.best.scores[0] >= truth - 1e-6
    assert outcome.found_by == "order search"


def test_scores_are_those_of_the_score(rng):
    table = Statistics.from_array(rng.normal(size=(60, 5)))
    for kind in (BicNV, BicEV):
        outcome = OrderSearch(kind(table), QUICK).run()
        again = Evaluator(kind(table), Settings()).evaluate(outcome.best.dags)
        assert outcome.best.scores[0] == pytest.approx(again.scores[0])


KNOWLEDGE = [
    Knowledge(required=["x4 -> x0", "x0 -> x2"], forbidden=["x1 -> x3"]),
    Knowledge(tiers=[["x3", "x4"], ["x0", "x1", "x2"]], max_parents=1),
    Knowledge(roots=["x2"], leaves=["x0"], required=["x3 -> x1"]),
]


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_knowledge_is_obeyed_at_every_step(knowledge, kind):
    table = Statistics.from_array(simulate("5ER2", n=100, seed=3).X, names=[f"x{j}" for j in range(5)])
    constraints = Constraints.of(knowledge, table.names)
    seen = []
    search = OrderSearch(kind(table), QUICK, constraints=constraints)
    search.run([lambda progress: seen.append(progress.best_dag)])
    assert all(constraints.violations(dag) == [] for dag in seen)


def test_same_seed_same_answer():
    score = BicNV(Statistics.from_array(simulate("10ER2", n=100, seed=1).X))
    first, second = (OrderSearch(score, QUICK, seed=7).run() for _ in range(2))
    assert (first.best.dags == second.best.dags).all()
    assert (first.n_local, first.stopped) == (second.n_local, second.stopped)


def test_interventions_leave_their_rows_out(rng):
    data = simulate("6ER2", n=200, seed=2)
    targets = np.zeros((200, 6), dtype=bool)
    targets[:50, 1] = True
    x = data.X.copy()
    x[:50, 1] = rng.normal(size=50) * 100
    outcome = OrderSearch(BicNV(Statistics.from_array(x), targets=targets), QUICK).run()
    assert np.isfinite(outcome.best.scores).all()


def _ends(search):
    """The scores and the graphs where the searches of one fit ended."""
    return [(one.scores[0], one.dags[0].tolist()) for one in search.ended]


def test_limits_and_interrupts_end_it():
    score = BicNV(Statistics.from_array(simulate("8ER2", n=100, seed=1).X))
    stopped = OrderSearch(score, Settings(target_score=-1e12)).run([Limits(Settings(target_score=-1e12))]).stopped
    assert "target" in stopped

    def interrupt(progress):
        raise KeyboardInterrupt

    assert OrderSearch(score, QUICK).run([interrupt]).stopped == "interrupted"


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_a_saved_search_goes_on_as_if_it_had_never_stopped(kind):
    score = kind(Statistics.from_array(simulate("12ER3", n=200, seed=1).X))
    whole = OrderSearch(score, QUICK, seed=7)
    expected = whole.run()
    states = []
    stopping = OrderSearch(score, QUICK, seed=7)
    stopping.run([lambda progress: states.append(saved(stopping)) or ("enough" if len(states) == 6 else None)])
    for state in states[::2]:
        again = restored(OrderSearch(score, QUICK, seed=7), state)
        outcome = again.run()
        assert (outcome.best.dags == expected.best.dags).all()
        assert (outcome.stopped, again.rounds, _ends(again)) == (expected.stopped, whole.rounds, _ends(whole))


def test_two_searches_that_agree_end_it():
    outcome = OrderSearch(BicNV(Statistics.from_array(simulate("6ER2", n=200, seed=1).X)), Settings()).run()
    assert outcome.stopped == "converged: two of 2 independent searches reached the best score"


@pytest.mark.parametrize("kind", [BDeu, DiscreteBIC])
def test_categorical_data(kind, rng):
    values = rng.integers(2, size=(300, 5))
    values[:, 3] = (values[:, 0] ^ values[:, 1]) ^ (rng.random(300) < 0.1)
    score = kind(Statistics.from_array(values.astype(float)))
    outcome = OrderSearch(score, QUICK).run()
    families = Families.from_dags(outcome.best.dags)
    evaluator = Evaluator(score, Settings())
    assert outcome.best.scores[0] == pytest.approx(evaluator.evaluate(outcome.best.dags).scores[0])
    assert outcome.best.scores[0] >= evaluator.evaluate(np.zeros((1, 5, 5), dtype=bool)).scores[0]
    assert len(families) == 5


class Sum(Score):
    """An expensive-looking score without compiled steps: node i wants the parents i + 1 and i + 2."""

    def local_one(self, node, parents):
        return -float(len({node + 1, node + 2} ^ set(parents)))


def test_any_score_and_its_time_limit(rng):
    score = Sum(Statistics.from_array(rng.normal(size=(20, 6))))
    outcome = OrderSearch(score, QUICK).run()
    assert outcome.best.scores[0] == -3.0  # the last node lacks two wanted parents, the one before it one
    assert outcome.n_local <= 6 * 2**5
    assert (
        OrderSearch(score, Settings(time_limit=0.0, order_patience=10**6)).run().stopped == "time limit of 0 s reached"
    )


class Slow(Score):
    """A score that takes longer than the time there is."""

    def local_one(self, node, parents):
        time.sleep(0.02)
        return -float(len(parents))


def test_there_is_an_answer_when_the_time_is_over_before_the_first_climb(rng):
    table = Statistics.from_array(rng.normal(size=(20, 30)), names=[f"x{j}" for j in range(30)])
    limits = Constraints.of(Knowledge(required=["x3 -> x1"]), table.names)
    outcome = OrderSearch(Slow(table), Settings(time_limit=0.0), constraints=limits).run()
    assert outcome.stopped == "time limit of 0 s reached"
    assert (outcome.best.dags[0] == limits.required).all()
    assert outcome.best.scores[0] == -1.0


def test_somebody_may_ask_a_search_to_stop():
    search = OrderSearch(
        BicNV(Statistics.from_array(simulate("12ER3", n=200, seed=1).X)), Settings(order_patience=10**6)
    )
    with Deadline() as deadline:
        assert not deadline.has_answer
        outcome = search.run([lambda progress: deadline.stop() if progress.iteration == 3 else None])
    assert outcome.stopped == "interrupted"
    assert (search.rounds, search.whole, deadline.has_answer) == (3, True, True)


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_a_limit_that_is_not_reached_changes_nothing(kind):
    score = kind(Statistics.from_array(simulate("15ER4", n=200, seed=1).X))
    free, limited = (OrderSearch(score, QUICK.with_(time_limit=limit), seed=7).run() for limit in (None, 600.0))
    assert free.best.dags.tobytes() == limited.best.dags.tobytes()
    assert free.best.local.tobytes() == limited.best.local.tobytes()
    assert (free.n_evals, free.n_local, free.stopped) == (limited.n_evals, limited.n_local, limited.stopped)


@pytest.mark.parametrize("kind", [BicNV, BicEV])
def test_threads_change_nothing(kind, use):
    score = kind(Statistics.from_array(simulate("15ER4", n=200, seed=1).X))
    found = []
    for count in (1, 2):
        use(count)
        curve = []
        search = OrderSearch(score, QUICK, seed=7)
        outcome = search.run([lambda progress, curve=curve: curve.append(progress.best)])
        found.append((outcome.best.dags.tolist(), outcome.n_local, outcome.stopped, _ends(search), curve))
    assert found[0] == found[1]


def test_searches_begin_side_by_side_and_know_nothing_of_each_other():
    score = BicNV(Statistics.from_array(simulate("12ER3", n=200, seed=1).X))
    together = OrderSearch(score, QUICK, seed=7)
    together.run()
    alone = OrderSearch(score, QUICK, seed=7)
    alone.max_searches = 1
    alone.run()
    assert len(together.ended) >= 2
    assert _ends(alone)[0] in _ends(together)[:2]


def test_an_interrupt_ends_the_searches_of_all_threads(monkeypatch, use):
    search = OrderSearch(BicNV(Statistics.from_array(simulate("12ER3", n=200, seed=1).X)), QUICK, seed=7)
    shake = Ascent.shake

    def interrupted(self, climb):
        if self is search.ascents[0] and search.rounds == 2:
            raise KeyboardInterrupt
        return shake(self, climb)

    monkeypatch.setattr(Ascent, "shake", interrupted)
    use(2)
    outcome = search.run()
    assert outcome.stopped == "interrupted"
    assert not search.whole
    assert search.deadline.over()


def test_fewer_rows_than_columns_start_without_a_warning():
    table = Statistics.from_array(np.random.default_rng(0).normal(size=(12, 20)) * np.logspace(-3, 3, 20))
    search = OrderSearch(BicEV(table, penalty="ebic"), Settings(time_limit=5.0, route="orders"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sorted(search.first_order(0, np.random.default_rng(0)).tolist()) == list(range(20))


def test_the_same_graph_in_all_units():
    """Equivalent graphs tie: the last bits of their scores, which depend on the units, must not choose among them."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(200, 30)) @ np.linalg.inv(np.eye(30) - np.triu(rng.normal(size=(30, 30)), 1) / 6)
    model = DrBO(score="bic-nv", random_state=0, exact=False)
    one = model.fit(x).result_
    assert one.dag.sum() > 15
    assert (one.undirected | one.undirected.T).any()  # there are ties
    scales = 2.0 ** rng.integers(-20, 21, size=30), 10 ** rng.uniform(-6, 6, size=30), rng.choice([-0.3, 7.0], size=30)
    for scale in scales:
        other = model.fit(x * scale).result_
        assert (one.dag == other.dag).all()
        assert other.n_local == one.n_local  # the search took the same way
