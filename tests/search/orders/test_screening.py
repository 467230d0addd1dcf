import numpy as np
import pytest

from drbo import DrBO
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import topological_order
from drbo.knowledge import Knowledge
from drbo.scores.bge import BGe
from drbo.scores.linear import BicEV, BicNV
from drbo.search.orders import screening
from drbo.search.orders.gains import screened_steps
from drbo.search.orders.screening import Screening, is_screened, n_candidates
from drbo.search.orders.search import OrderSearch, most_searches
from drbo.settings import Settings
from drbo.testing.searches import restored, saved

QUICK = Settings(order_patience=3)


@pytest.fixture
def few(monkeypatch):
    """Let few columns be screened, hard."""
    monkeypatch.setattr(screening, "PER_DOUBLING", 2)
    monkeypatch.setattr(screening, "WORTH_IT", 1)


def _table(graph="20ER2", seed=1):
    return Statistics.from_array(simulate(graph, n=300, seed=seed).X)


def _lists(found):
    starts, listed = found.lists
    return [set(listed[starts[node] : starts[node + 1]].tolist()) for node in range(found.n_nodes)]


def test_screening_begins_where_there_are_many_more_columns_than_candidates():
    values = np.random.default_rng(0).normal(size=(20, 641))
    assert is_screened(BicNV(Statistics.from_array(values)).compiled())
    assert is_screened(BicEV(Statistics.from_array(values)).compiled())
    assert not is_screened(BGe(Statistics.from_array(values)).compiled())
    assert not is_screened(BicNV(Statistics.from_array(values[:, :640])).compiled())
    assert 8 * n_candidates(640) == 640


def test_candidates_are_the_most_correlated_columns_both_ways_and_required_parents():
    table, d = _table(), 20
    required = np.zeros((d, d), dtype=bool)
    required[0, 1] = True
    found = _lists(Screening(BicNV(table).groups[0][1], required, 3))
    strength = np.abs(np.corrcoef(table.values.T))
    np.fill_diagonal(strength, -1.0)
    expected = [set(np.argsort(-row)[:3].tolist()) for row in strength]
    for node in range(d):
        both = {other for other in range(d) if other in expected[node] or node in expected[other]}
        assert found[node] == both | ({1} if node == 0 else {0} if node == 1 else set())


@pytest.mark.parametrize("limits", [Constraints.none(20), Constraints.of(Knowledge(), [f"x{i}" for i in range(20)])])
def test_a_check_finds_what_pays_and_was_no_candidate(limits):
    score = BicNV(_table())
    found = Screening(score.groups[0][1], limits.required, 1)
    before = _lists(found)
    dag = np.zeros((20, 20), dtype=bool)
    order = topological_order(dag)
    steps = screened_steps(score.compiled(), limits, None)
    added = found.check(order, lambda nodes: [np.flatnonzero(dag[:, node]) for node in nodes], steps)
    correlation = score.groups[0][1]
    pays = -300 * np.log1p(-np.minimum(correlation**2, 0.999999)) > np.log(300)
    new = {(i, j) for i in range(20) for j in range(i) if pays[i, j] and j not in before[i]}
    assert added == len(new) > 0
    assert all(j in _lists(found)[i] and i in _lists(found)[j] for i, j in new)
    assert found.check(order, lambda nodes: [np.empty(0, dtype=np.intp)] * len(nodes), steps) == 0
    assert found.words.endswith(f"{added} pairs added, none left")


@pytest.mark.parametrize("kind", [BicNV, BicEV])
@pytest.mark.parametrize("seed", range(3))
def test_a_screened_search_ends_where_one_of_all_columns_does(kind, seed, few, monkeypatch):
    score = kind(_table(seed=seed))
    search = OrderSearch(score, Settings(), seed=seed)
    outcome = search.run()
    assert search.screening is not None
    assert search.screening.checks[-1] == 0
    assert sum(search.screening.checks) > 0
    assert outcome.notes == (search.screening.words,)
    monkeypatch.setattr(screening, "WORTH_IT", 100)
    every = OrderSearch(score, Settings(), seed=seed)
    assert every.screening is None
    near = 1e-6 if kind is BicNV else np.log(300)  # the price of an edge
    assert outcome.best.scores[0] == pytest.approx(every.run().best.scores[0], abs=near)


def test_a_saved_screened_search_goes_on_as_if_it_had_never_stopped(few):
    score = BicNV(_table())
    whole = OrderSearch(score, QUICK, seed=7)
    expected, states = whole.run(), []
    stopping = OrderSearch(score, QUICK, seed=7)
    stopping.run([lambda progress: states.append(saved(stopping)) or ("enough" if len(states) == 6 else None)])
    for state in states[::2]:
        again = restored(OrderSearch(score, QUICK, seed=7), state)
        outcome = again.run()
        assert (outcome.best.dags == expected.best.dags).all()
        assert outcome.notes == expected.notes


def test_some_hundred_columns_have_one_answer_with_any_number_of_threads_and_obey_the_knowledge(use):
    data = simulate("700ER1", n=200, seed=3)
    limits = Constraints.of(
        Knowledge(required=["x5 -> x9"], forbidden=["x1 -> x2"], roots=["x3"], max_parents=4), list(data.names)
    )
    found = []
    for count in (1, 2):
        use(count)
        search = OrderSearch(BicNV(Statistics.from_array(data.X), penalty=3.0), QUICK, constraints=limits, seed=1)
        outcome = search.run()
        assert search.screening is not None
        found.append((outcome.best.scores[0], outcome.best.dags.tobytes(), outcome.stopped, outcome.notes))
    assert found[0] == found[1]
    assert not limits.violations(outcome.best.dags[0])
    assert most_searches(700) == len(search.ends) == 2


def test_a_search_that_is_stopped_says_what_was_not_checked():
    screened = Screening(np.corrcoef(_table().values.T), np.zeros((20, 20), dtype=bool), 3)
    assert "time ran out before the residuals were checked" in screened.words
    screened.checks = [3, 1]
    assert "added 4 pairs; time ran out" in screened.words


def test_the_result_says_what_was_screened(few):
    result = DrBO(score="bic-nv", random_state=0, settings=QUICK, exact=False).fit(_table().values).result_
    assert "candidate parents were screened" in result.summary()
    assert any(reason.startswith("candidate parents were screened") for reason in result.reasons)
