"""What every search does, whatever its rounds are made of."""

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, Stop, Stopped
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicNV
from drbo.search.base import Search
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.strategy import new_search
from drbo.settings import Settings

D = 4
ROUTES = pytest.mark.parametrize("route", ["orders", "surrogate", "paper"])


@pytest.fixture
def score(rng):
    return BicNV(Statistics.from_array(rng.normal(size=(60, D))))


class Chains(Search):
    """Adds an edge of a chain in each round, and ends when the chain is complete; a round may fail."""

    def __init__(self, score, settings=None, failing=None, failure=None):
        constraints = Constraints.of(Knowledge(), [f"x{k}" for k in range(D)])
        super().__init__(Evaluator(score, settings or Settings()), settings or Settings(), constraints)
        self.found_by, self.failing, self.failure = "chain", failing, failure
        self.prepared = self.released = False

    def prepare(self):
        self.prepared = True

    def release(self):
        self.released = True

    def make_round(self):
        if self.rounds == self.failing:
            raise self.failure
        dag = np.eye(D, k=1, dtype=bool)
        dag[self.rounds :] = False
        self.best = self.evaluator.evaluate(dag[None])

    def finished(self):
        return Stopped(Stop.NOTHING_NEW, "complete") if self.rounds == D else None

    def capture(self):
        return {}

    def restore(self, fields):
        pass


def test_rounds_are_made_until_the_search_is_finished(score):
    search, seen = Chains(score), []
    outcome = search.run([seen.append])
    assert (outcome.stopped, outcome.found_by, search.rounds) == ("complete", "chain", D)
    assert outcome.best.dags[0].sum() == D - 1
    assert [progress.iteration for progress in seen] == [1, 2, 3, 4]
    assert seen[-1].best == outcome.best.scores[0]
    assert (seen[-1].n_evals, seen[-1].n_local, seen[-1].limit) == (outcome.n_evals, outcome.n_local, 2_000)
    assert search.whole
    assert search.prepared
    assert search.released


def test_a_saved_search_that_was_finished_makes_no_round(score):
    search = Chains(score)
    first = search.run()
    again = search.run()
    assert again.stopped == "complete"
    assert (search.rounds, again.n_evals) == (D, first.n_evals)


def test_the_first_callback_with_a_reason_ends_it(score):
    told = []
    callbacks = [told.append, lambda _: None, lambda progress: "enough" if progress.iteration == 2 else None]
    outcome = Chains(score).run([*callbacks, lambda _: "later" if len(told) == 2 else None])
    assert outcome.stopped == "enough"
    assert len(told) == 2


def test_callbacks_cannot_change_the_best_graph(score):
    def scribble(progress):
        progress.best_dag[:] = True

    assert Chains(score).run([scribble]).best.dags[0].sum() == D - 1


def test_an_interrupt_returns_the_best_so_far(score):
    search = Chains(score, failing=2, failure=KeyboardInterrupt())
    outcome = search.run()
    assert outcome.stopped == "interrupted"
    assert outcome.best.dags[0].sum() == 1
    assert not search.whole  # within a round: not to be saved
    assert search.released


def test_an_interrupt_before_there_is_anything_is_passed_on(score):
    with pytest.raises(KeyboardInterrupt):
        Chains(score, failing=0, failure=KeyboardInterrupt()).run()


def test_other_errors_are_not_swallowed(score):
    search = Chains(score, failing=1, failure=RuntimeError("broken"))
    with pytest.raises(RuntimeError, match="broken"):
        search.run()
    assert search.released


@ROUTES
def test_a_search_without_time_has_an_answer_within_the_knowledge(score, route):
    limits = Constraints.of(Knowledge(required=["x2 -> x0"]), [f"x{k}" for k in range(D)])
    settings = Settings(route=route, time_limit=0.0).with_(n_candidates=20, batch_size=4)
    with Deadline(0.0):
        search = new_search(score, settings, constraints=limits)
        outcome = search.run()
    assert outcome.stop is Stop.TIME_LIMIT
    assert limits.violations(outcome.best.dags[0]) == []


def test_time_that_ends_within_a_round_leaves_the_last_whole_one(score):
    class Late(Chains):
        def make_round(self):
            if self.rounds == 2:
                self.deadline.stop()
                self.deadline.check()
            super().make_round()

    search = Late(score)
    outcome = search.run()
    assert outcome.stop is Stop.INTERRUPTED
    assert outcome.best.dags[0].sum() == 1
    assert not search.whole


@ROUTES
def test_only_a_rationed_search_shows_a_limit(score, route):
    seen = []
    settings = Settings(route=route, max_evals=9).with_(n_candidates=20, batch_size=4)
    new_search(score, settings).run([seen.append])
    assert {progress.limit for progress in seen} == {None if route == "orders" else 9}
