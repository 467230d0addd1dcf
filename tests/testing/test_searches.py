"""All searches keep the contract, and those that break it are told how."""

import numpy as np
import pytest

from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Stop, Stopped
from drbo.errors import ContractError
from drbo.scores.registry import build_score
from drbo.search.base import Search
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.state import generator_state
from drbo.search.strategy import new_search
from drbo.testing import check_search


@pytest.fixture(scope="module")
def score():
    values = np.random.default_rng(0).normal(size=(60, 4)).cumsum(axis=1)
    return build_score("bic-nv", Statistics.from_array(values))


@pytest.mark.parametrize("route", ["orders", "surrogate", pytest.param("paper", marks=pytest.mark.torch)])
def test_the_searches_of_drbo_keep_the_contract(route, score):
    def new(score, settings, constraints, seed):
        return new_search(score, settings.with_(route=route), constraints=constraints, seed=seed)

    assert check_search(new, score, rounds=3).best.dags.shape == (1, 4, 4)


@pytest.fixture
def global_state():
    """The global random state, which searches that break the contract draw from."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    yield
    np.random.set_state(before)  # noqa: NPY002


#: Edges that can be added to the required one, x3 -> x0, as one likes.
FREE = ((3, 1), (3, 2), (2, 1))


class Draws(Search):
    """Draws one of eight DAGs in each round; ``fault`` breaks the contract."""

    def __init__(self, score, settings, constraints, seed, fault=""):
        super().__init__(Evaluator(score, settings), settings, constraints)
        self.rng, self.fault, self.found_by = np.random.default_rng(seed), fault, "draws"

    def make_round(self):
        rng = np.random if self.fault == "global" else self.rng
        dag = self.constraints.required.copy()
        for edge in FREE:
            dag[edge] = rng.random() < 0.5
        dag[0, 1] = self.fault == "knowledge"
        found = self.evaluator.evaluate_one(dag)
        if self.best is None or self.fault == "lost" or found.scores[0] > self.best.scores[0]:
            self.best = found
        if self.fault == "score":
            self.best.scores[0] += 1.0

    def finished(self):
        return Stopped(Stop.NOTHING_NEW, "enough") if self.rounds >= 8 else None

    def capture(self):
        return {
            "rounds": self.rounds, "evaluator": self.evaluator.capture(), "best": self.best.capture(),
            "rng": generator_state(self.rng),
        }  # fmt: skip

    def restore(self, fields):
        self.rounds = fields.integer("rounds")
        self.evaluator.restore(fields.part("evaluator"), self.constraints)
        self.best = self.evaluator.restored(fields.part("best"), self.constraints)
        fields.generator("rng", self.rng)
        if self.fault == "forgets":
            self.rounds, self.best = 100, self.evaluator.evaluate_one(self.constraints.required)


def test_a_search_of_ones_own_keeps_the_contract(score):
    assert check_search(Draws, score).found_by == "draws"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("knowledge", "breaks the knowledge: 'x0 -> x1' is present"),
        ("score", "says that its DAG scores"),
        ("lost", "lost a better DAG"),
        ("global", "another DAG from the same seed"),
        ("forgets", "saved after round 1 and restored ends at another DAG"),
    ],
)
@pytest.mark.usefixtures("global_state")
def test_a_search_that_breaks_the_contract_is_told_how(fault, words, score):
    with pytest.raises(ContractError, match=words):
        check_search(lambda *given: Draws(*given, fault=fault), score)


@pytest.mark.usefixtures("global_state")
def test_a_global_random_state_that_is_touched_is_told(score):
    class Careless(Draws):
        def finished(self):
            np.random.random()  # noqa: NPY002
            return super().finished()

    with pytest.raises(ContractError, match="draws from the global random state"):
        check_search(Careless, score)
