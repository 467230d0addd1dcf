import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.base import Relative, Score
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import Promotion
from drbo.search.parent_sets import MOST_PARENTS, Screen, every_family, try_parent_sets, worth_a_pass
from drbo.search.strategy import new_search
from drbo.settings import Settings

D = 16
#: The causes of node 0: alone none of them is worth anything.
TEAM = (3, 7, 11)


class Together(Score):
    """Node 0 gains from three parents together; every other parent costs."""

    name = "together"

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        return 50.0 * (node == 0 and set(TEAM) <= set(parents)) - 1.0 * len(parents)


class Ranked(Screen):
    """A screen that ranks the team first for node 0, with one column too many before it."""

    def __init__(self) -> None:
        self.asked: list[np.ndarray] = []

    def importance(self, node, candidates, given=None):
        self.asked.append(candidates)
        importance = np.zeros(D)
        if node == 0:
            importance[[5, *TEAM]] = 4.0, 3.0, 2.0, 1.0
        return np.where(candidates, importance, 0.0)


def table() -> Statistics:
    return Statistics.from_array(np.random.default_rng(0).normal(size=(20, D)))


def evaluator(**settings) -> Evaluator:
    return Evaluator(Together(table()), Settings(max_evals=10_000).with_(**settings))


def known_sets(evaluator: Evaluator, node: int) -> set[tuple[int, ...]]:
    families, _ = evaluator.known()
    return {tuple(np.flatnonzero(row)) for row in families.parents[families.nodes == node]}


def test_a_set_that_gains_only_together_is_found_and_reduced():
    one = evaluator()
    best = one.evaluate_one(np.zeros((D, D), dtype=bool))
    assert try_parent_sets(best, Promotion(one), Constraints.none(D), Ranked(), ordered=False)
    assert {(), (5,), (3, 5), (3, 5, 7), (3, 5, 7, 11), TEAM} <= known_sets(one, 0)


def test_a_search_finds_what_no_single_edge_leads_to():
    settings = Settings(max_evals=60)
    with_sets = new_search(Together(table()), settings, screens=[Ranked()]).run()
    assert with_sets.best.scores[0] == 47.0
    assert set(np.flatnonzero(with_sets.best.dags[0][:, 0])) == set(TEAM)
    without = new_search(Together(table()), settings.with_(parent_sets=False), screens=[Ranked()]).run()
    assert without.best.scores[0] == 0.0


def test_descendants_are_no_candidates_and_present_parents_stay_in_some_sets():
    one = evaluator()
    dag = np.zeros((D, D), dtype=bool)
    dag[2, 0] = dag[0, 3] = dag[3, 4] = True
    screen = Ranked()
    try_parent_sets(one.evaluate_one(dag), Promotion(one), Constraints.none(D), screen, ordered=True)
    assert not any(1 in key or 3 in key or 4 in key for key in known_sets(one, 0))
    assert (2, 5) in known_sets(one, 0)


def test_the_knowledge_holds():
    names = [f"x{k}" for k in range(D)]
    knowledge = Knowledge(required=["x1 -> x0"], forbidden=["x7 -> x0"], max_parents=3)
    limits = Constraints.of(knowledge, names)
    one = evaluator()
    try_parent_sets(one.evaluate_one(limits.required), Promotion(one), limits, Ranked(), ordered=False)
    sets = known_sets(one, 0)
    assert all(1 in parents and 7 not in parents and len(parents) <= 3 for parents in sets)
    assert (1, 3, 5) in sets


def test_the_budget_holds():
    one = evaluator(max_local=D + 3)
    best = one.evaluate_one(np.zeros((D, D), dtype=bool))
    try_parent_sets(best, Promotion(one), Constraints.none(D), Ranked(), ordered=False)
    assert one.n_local == D + 3


def test_a_dense_graph_is_noticed_early():
    class Greedy(Score):
        name = "greedy"

        def local_one(self, node, parents):
            return float(len(parents))

    class Flat(Screen):
        def importance(self, node, candidates, given=None):
            return candidates * 1.0

    one = Evaluator(Greedy(table()), Settings(max_evals=10_000))
    best = one.evaluate_one(np.zeros((D, D), dtype=bool))
    assert not try_parent_sets(best, Promotion(one), Constraints.none(D), Flat(), ordered=False)
    families, _ = one.known()
    tried = np.unique(families.nodes[families.sizes == MOST_PARENTS])
    assert len(tried) == 5
    assert tried[-1] - tried[0] > D // 2  # spread over the columns


def test_a_search_with_parent_sets_resumes_to_the_same_end(tmp_path):
    from drbo import DrBO

    values = np.random.default_rng(1).normal(size=(80, 13))
    values[:, 0] += 2 * values[:, 3] * values[:, 7]
    options = {"score": "splines", "settings": Settings(max_evals=30, route="surrogate"), "random_state": 0}
    whole = DrBO(**options).fit(values).result_
    for stop in (1, 2):
        rounds, folder = iter(range(100)), tmp_path / str(stop)
        halt = [lambda _, rounds=rounds, stop=stop: "halt" if next(rounds) >= stop else None]
        DrBO(**options).fit(values, checkpoint=folder, callbacks=halt)
        resumed = DrBO.resume(folder, values).result_
        assert resumed.score == whole.score
        assert np.array_equal(resumed.dag, whole.dag)


def test_every_family_is_listed_once_if_they_are_few():
    names = [f"x{i}" for i in range(4)]
    rules = Knowledge(required=[("x0", "x1")], forbidden=[("x2", "x3")], max_parents=2)
    limits = Constraints.of(rules, names)
    found = every_family(limits, 100)
    keys = set(found.keys())
    assert len(keys) == len(found)
    assert limits.allow(found.nodes, found.parents)
    free = every_family(Constraints.none(4), 32)
    assert len(set(free.keys())) == len(free) == 4 * 2**3
    allowed = [limits.allow(free.nodes[[row]], free.parents[[row]]) for row in range(len(free))]
    assert keys == {key for key, legal in zip(free.keys(), allowed, strict=True) if legal}
    assert every_family(Constraints.none(4), 31) is None
    assert every_family(Constraints.none(60), 10**6) is None


def test_nothing_is_ranked_for_nodes_all_of_whose_parent_sets_are_known():
    class Team(Score):
        def local_one(self, node: int, parents: tuple[int, ...]) -> float:
            return 1.0

    one = Evaluator(Team(Statistics.from_array(np.random.default_rng(0).normal(size=(20, 3)))), Settings(max_evals=100))
    sets = [(0, ()), (0, (1,)), (0, (2,)), (0, (1, 2)), (1, ()), (1, (0,))]
    one.families(Families.from_sets(3, sets))
    asked = []

    class Noted(Ranked):
        def importance(self, node, candidates, given=None):
            asked.append(node)
            return np.zeros(3)

    best = one.evaluate_one(np.zeros((3, 3), dtype=bool))
    assert try_parent_sets(best, Promotion(one), Constraints.none(3), Noted(), ordered=True)
    assert set(asked) == {1, 2}


@pytest.mark.parametrize(
    ("d", "guide", "begins"),
    [(6, "", False), (7, "", True), (12, "proxy", False), (13, "proxy", True), (12, "cheap", False)],
)
def test_with_few_columns_a_search_begins_with_sets_where_no_cheap_score_guides_it(d, guide, begins):
    data, asked = Statistics.from_array(np.random.default_rng(0).normal(size=(20, d))), []

    class Plain(Score):
        cheap = guide == "cheap"

        def local_one(self, node, parents):
            return -float(len(parents))

        def relatives(self):
            return [Relative(Plain(data), cost=0.0)] if guide == "proxy" else []

    class Asked(Screen):
        def importance(self, node, candidates, given=None):
            asked.append(node)
            return np.zeros(d)

    search = new_search(Plain(data), Settings(route="surrogate", max_evals=100), screens=[Asked()])
    search.propose()
    assert bool(asked) == begins


def test_where_the_best_graph_is_dense_no_sets_are_tried():
    one, screen = evaluator(), Ranked()
    dense = one.evaluate_one(np.triu(np.ones((D, D), dtype=bool), 1))
    before = one.n_local
    assert not try_parent_sets(dense, Promotion(one), Constraints.none(D), screen, ordered=True)
    assert (one.n_local, screen.asked) == (before, [])


def test_screens_take_no_longer_than_the_local_scores_that_they_save():
    class Priced(Together):
        def local_work(self):
            return 1e6

    class Costly(Ranked):
        def work(self):
            return 1e6 * D / 2  # of a node: those of a random design allow two passes

    one, screen, work = Evaluator(Priced(table()), Settings()), Costly(), 1e6 * D * D / 2
    assert worth_a_pass(screen, one, 0.0) == work
    assert worth_a_pass(screen, one, work) == 2 * work
    assert worth_a_pass(screen, one, 2 * work) is None
    one.charge(2 * D * D)
    assert worth_a_pass(screen, one, 2 * work) == 3 * work  # more local scores, more passes
    assert worth_a_pass(screen, evaluator(), 1e18) is not None  # a price that nobody declares


def test_a_search_leaves_out_a_screen_that_is_not_worth_it():
    class Priced(Together):
        def local_work(self):
            return 1.0

    class Costly(Ranked):
        def work(self):
            return 1e6

    screen = Costly()
    search = new_search(Priced(table()), Settings(route="surrogate", max_evals=60), screens=[screen])
    search.run()
    assert not screen.asked
    assert (search.screened, search.capture()["screened"]) == (0.0, 0.0)
