import itertools

import numpy as np
import pytest

from drbo.claims.answer import best_known as module
from drbo.claims.answer.best_known import best_known
from drbo.claims.likely_families import neighbours
from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Stop
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.search.outcome import Outcome
from drbo.settings import Settings


@pytest.fixture
def run():
    """A search that has only seen the empty graph, on data with a clear one."""
    data = simulate("5ER1", "linear", n=300, seed=2)
    evaluator = Evaluator(build_score("bge", Statistics.from_array(data.X)), Settings())
    empty = evaluator.evaluate(np.zeros((1, 5, 5), dtype=bool))
    return Outcome(empty, "first design", evaluator.n_evals, evaluator.n_local, Stop.BUDGET, "test"), evaluator


def test_the_proved_optimum_becomes_the_best_and_its_families_count(run):
    outcome, evaluator = run
    known = best_known(outcome, evaluator, Constraints.none(5), "auto", rationed=False)
    assert known.certificate is not None
    assert known.outcome.best.scores[0] == known.certificate.upper_bound > outcome.best.scores[0]
    assert (known.outcome.found_by, known.outcome.n_local) == ("exact", evaluator.n_local)
    assert evaluator.n_local >= 5 * 16
    assert known.others.over == "all DAGs"
    assert known.others.margins is not None
    assert known.others.margins.exact


@pytest.mark.parametrize(("exact", "rationed"), [("off", False), ("auto", True)])
def test_nothing_is_spent_unasked(run, exact, rationed):
    outcome, evaluator = run
    before = evaluator.n_local
    known = best_known(outcome, evaluator, Constraints.none(5), exact, rationed)
    assert evaluator.n_local == before
    assert known.certificate is None
    assert known.outcome.best is outcome.best
    assert known.others.over == "DAGs built from 5 families"


@pytest.mark.parametrize("exact", ["on", "auto"])
def test_without_a_time_limit_the_clock_decides_nothing(run, exact, monkeypatch):
    """What a proof by parent sets may take is counted then, not timed."""
    monkeypatch.setattr(module, "FREE_WORK", 0)
    monkeypatch.setattr(module, "MAX_KNOWN_NODES", 0)
    monkeypatch.setattr(module, "fits", lambda *_: False)
    outcome, evaluator = run
    proofs = []
    for pace in (0.0, 1e-6, 1e9):
        clock = itertools.count(1.0, pace)
        monkeypatch.setattr("time.monotonic", lambda clock=clock: next(clock))
        proofs.append(best_known(outcome, evaluator, Constraints.none(5), exact, rationed=False).certificate)
    assert all(proof is not None for proof in proofs)
    assert len({(proof.upper_bound, proof.best.dags.tobytes()) for proof in proofs}) == 1


@pytest.mark.parametrize("listed", [True, False])
def test_more_families_are_proved_without_margins_by_tables(run, listed, monkeypatch):
    """A quick proof by parent sets comes first; if it fails, tables give the same optimum, and nothing but that."""
    monkeypatch.setattr(module, "FREE_FAMILIES", 5 * 16 - 1)
    monkeypatch.setattr(module, "MAX_KNOWN_NODES", 0)
    monkeypatch.setattr(module, "MAX_NODES", 0)
    if not listed:
        monkeypatch.setitem(module.FREE_EFFORT, "max_looked_at", 0)
    outcome, evaluator = run
    made = []
    monkeypatch.setattr(module, "all_tables", lambda *given: made.append(1) or all_tables(*given))
    known = best_known(outcome, evaluator, Constraints.none(5), "auto", rationed=False)
    assert len(made) == (0 if listed else 1)
    assert known.outcome.best.scores[0] == known.certificate.upper_bound
    assert not known.others.margins.exact
    whole = best_known(outcome, evaluator, Constraints.none(5), "on", rationed=False)
    assert whole.certificate.upper_bound == pytest.approx(known.certificate.upper_bound)


def test_asked_for_it_is_spent_even_where_rationed(run):
    outcome, evaluator = run
    known = best_known(outcome, evaluator, Constraints.none(5), "on", rationed=True)
    assert known.certificate is not None
    assert known.outcome.n_evals == evaluator.n_evals > 1


@pytest.mark.parametrize(("d", "proved"), [(6, True), (13, False)])
def test_splines_of_up_to_twelve_columns_are_proved_unasked(d, proved, rng):
    score = build_score("splines", Statistics.from_array(rng.normal(size=(100, d))))
    evaluator = Evaluator(score, Settings())
    outcome = Outcome(evaluator.evaluate(np.zeros((1, d, d), dtype=bool)), "order search", 1, d, Stop.BUDGET, "test")
    found = best_known(outcome, evaluator, Constraints.none(d), "auto", rationed=False)
    assert (found.certificate is not None) == proved
    if proved:
        assert found.others.over == "all DAGs"


def test_a_search_that_kept_few_families_looks_one_edge_around(rng, monkeypatch):
    monkeypatch.setattr(module, "FREE_WORK", 0.0)
    x = rng.normal(size=(200, 3))
    x[:, 1] += 0.5 * x[:, 0] ** 2
    score = build_score("splines", Statistics.from_array(x))
    dag = np.array([[[0, 1, 0], [0, 0, 0], [0, 0, 0]]], dtype=bool)

    def seen(exact):
        evaluator = Evaluator(score, Settings())
        outcome = Outcome(evaluator.evaluate(dag), "order search", 1, 3, Stop.BUDGET, "test")
        return best_known(outcome, evaluator, Constraints.none(3), exact, rationed=False)

    assert np.isnan(seen("off").others.margins.removed[0, 1])
    known = seen("auto")
    empty, turned = np.zeros((1, 3, 3), dtype=bool), dag.transpose(0, 2, 1)
    all_known = Evaluator(score, Settings()).evaluate(np.concatenate([dag, empty, turned])).scores
    assert known.others.margins.removed[0, 1] == pytest.approx(all_known[0] - all_known[1])
    assert known.others.margins.reversed[0, 1] == pytest.approx(all_known[0] - all_known[2])
    assert known.others.posterior(None)[0][0, 1] < 1


@pytest.mark.parametrize("recombine", [True, False])
def test_a_better_graph_of_known_families_is_taken_unless_the_paper_is_followed(run, recombine):
    outcome, evaluator = run
    evaluator.settings = evaluator.settings.with_(recombine=recombine, skip_known=False)
    one_edge = np.zeros((20, 5, 5), dtype=bool)
    for k, (i, j) in enumerate(zip(*np.nonzero(~np.eye(5, dtype=bool)), strict=True)):
        one_edge[k, i, j] = True
    evaluator.evaluate(one_edge)
    before = evaluator.n_evals, evaluator.n_local
    known = best_known(outcome, evaluator, Constraints.none(5), "off", rationed=False)
    assert (evaluator.n_evals, evaluator.n_local) == before
    assert (known.outcome.found_by == "recombination") == recombine
    assert (known.outcome.best.scores[0] == max(other.score for other in known.others.classes)) == recombine
    assert (known.others.classes[0].score == max(other.score for other in known.others.classes)) == recombine


@pytest.mark.parametrize("recombine", [True, False])
def test_the_best_graph_known_is_the_one_returned_for_many_columns_too(rng, recombine):
    """A chain of 22 columns whose first edge the search missed; families one edge away from its graph are known."""
    x = rng.normal(size=(300, 22))
    for j in range(1, 6):
        x[:, j] += x[:, j - 1]
    settings = Settings().with_(recombine=recombine, skip_known=False)
    evaluator = Evaluator(build_score("bic-nv", Statistics.from_array(x)), settings)
    dag = np.zeros((22, 22), dtype=bool)
    dag[[1, 2, 3, 4], [2, 3, 4, 5]] = True
    whole = dag.copy()
    whole[0, 1] = True
    missed = evaluator.evaluate(dag[None])
    evaluator.families(neighbours(whole))
    outcome = Outcome(missed, "order search", 1, 3, Stop.BUDGET, "test")
    known = best_known(outcome, evaluator, Constraints.none(22), "off", rationed=True)
    assert (known.outcome.best.scores[0] > missed.scores[0]) == recombine
    assert known.outcome.found_by == ("recombination" if recombine else "order search")
    assert known.others.classes[0].score == pytest.approx(known.outcome.best.scores[0])


def test_a_better_graph_of_known_families_is_free_where_every_graph_counts_and_none_is_left(run):
    outcome, evaluator = run
    evaluator.evaluate(np.triu(np.ones((1, 5, 5), dtype=bool), 1))
    evaluator.settings = evaluator.settings.with_(count_known=True, max_evals=evaluator.n_evals)
    before = evaluator.n_evals, evaluator.n_local
    known = best_known(outcome, evaluator, Constraints.none(5), "off", rationed=False)
    assert (evaluator.n_evals, evaluator.n_local) == before
    assert known.outcome.found_by == "recombination"
    assert known.outcome.best.scores[0] > outcome.best.scores[0]


def test_when_all_families_are_known_the_proof_is_free(run, monkeypatch):
    outcome, evaluator = run
    monkeypatch.setattr(module, "compiled_work", lambda score: None)
    free = Constraints.none(5)
    best_known(outcome, evaluator, free, "on", rationed=True)
    from drbo.search.exact.family_tables import families_of

    for node in range(5):
        evaluator.families(families_of(5, node))
    before = evaluator.n_local
    known = best_known(outcome, evaluator, free, "auto", rationed=True)
    assert known.certificate is not None
    assert evaluator.n_local == before


def test_an_interrupt_keeps_the_run(run, monkeypatch):
    outcome, evaluator = run

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "certify", interrupted)
    known = best_known(outcome, evaluator, Constraints.none(5), "on", rationed=False)
    assert known.outcome.best is outcome.best
    assert known.certificate is None


@pytest.fixture
def large():
    """A search of more columns than tables can hold."""
    data = simulate("24ER1", "linear", n=300, seed=2)
    evaluator = Evaluator(build_score("bic-nv", Statistics.from_array(data.X)), Settings(max_memory=0.5))
    found = evaluator.evaluate(data.dag[None].astype(bool))
    return Outcome(found, "order search", evaluator.n_evals, evaluator.n_local, Stop.BUDGET, "test"), evaluator


def test_a_proof_ends_when_somebody_asks(large):
    outcome, evaluator = large
    asked = []

    def stop():
        asked.append(True)
        return True

    known = best_known(outcome, evaluator, Constraints.none(24), "on", rationed=False, stop=stop)
    assert asked
    assert known.outcome.found_by != "exact"
    assert known.certificate is None or known.certificate.upper_bound > known.outcome.best.scores[0]
