import io
import random
import sys
import time
import zipfile
from concurrent.futures import Executor, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import OutOfTimeError
from drbo.errors import SettingsError
from drbo.graph.dag import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.base import Relative
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search import loop, strategy
from drbo.search.evaluation import remote
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.workers import WorkerLost
from drbo.search.orders.search import OrderSearch
from drbo.search.state import Fields, pack
from drbo.search.stopping import Limits, Recorder
from drbo.search.strategy import new_search
from drbo.settings import Settings

pytestmark = pytest.mark.floats

#: Settings that make an iteration cheap.
SMALL = {"climbs": 4, "batch_size": 8, "n_candidates": 200, "hidden": 8, "n_draws": 4, "n_grads": 2, "n_replay": 32}
#: Rounding of a score: 1e-9 of the rows that it is a sum over, a thousand at most. The next best DAG is further away.
ROUNDING = 1e-6
#: The paper's way to propose, by fast rules in a space of all DAGs, in a search that is otherwise the default.
FAST = {"masks": "shared", "batch_norm": "training", "standardize_targets": True}
REGION = {"route": "paper", "space": "full-rank", **FAST}


def _words(changes):
    """Return what differs from the default, or from the paper's way to propose."""
    words = [f"{name}={value}" for name, value in changes.items() if REGION.get(name) != value]
    return " ".join([changes.get("route", "surrogate"), *words])


def _small(preset="default", **changes):
    return Settings.preset(preset).with_(**{**SMALL, **changes})


def _table(d=5, n=200, seed=0):
    """Linear data on a random DAG with unit noise."""
    rng = np.random.default_rng(seed)
    weights = np.triu((rng.random((d, d)) < 0.6) * rng.choice([-1, 1], (d, d)) * rng.uniform(0.5, 2.0, (d, d)), 1)
    order = rng.permutation(d)
    values = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - weights)
    return Statistics.from_array(values[:, order])


def _all_dags(d):
    """Every DAG of d nodes: the parts of every complete order, each once."""
    upper = np.argwhere(np.triu(np.ones((d, d)), 1))
    bits = (np.arange(1 << len(upper))[:, None] >> np.arange(len(upper))) & 1
    parts = np.zeros((len(bits), d, d), dtype=bool)
    parts[:, upper[:, 0], upper[:, 1]] = bits == 1
    seen = np.zeros((0, d * d), dtype=bool)
    for order in map(list, permutations(range(d))):
        seen = np.concatenate([seen, parts[:, order][:, :, order].reshape(len(parts), -1)])
    packed = np.unique(np.packbits(seen, axis=1), axis=0)
    return np.unpackbits(packed, axis=1, count=d * d).astype(bool).reshape(-1, d, d)


@pytest.fixture(scope="module")
def five_node_dags():
    dags = _all_dags(5)
    assert len(dags) == 29_281  # Robinson 1973
    return dags


def _best_score(dags, table, kind):
    """The highest score of all DAGs, from least-squares regressions and the paper's formulas."""
    values = table.values - table.values.mean(axis=0)
    n, d = values.shape
    mse = np.empty((d, 1 << d))
    for node in range(d):
        for mask in range(1 << d):
            parents = [i for i in range(d) if mask >> i & 1 and i != node]
            weights = np.linalg.lstsq(values[:, parents], values[:, node], rcond=None)[0]
            mse[node, mask] = np.mean((values[:, node] - values[:, parents] @ weights) ** 2)
    masks = np.einsum("bij,i->bj", dags, 1 << np.arange(d))
    each = mse[np.arange(d), masks]  # (DAGs, d)
    fit = -n * d * np.log(each.mean(axis=1)) if kind is BicEV else -n * np.log(each).sum(axis=1)
    return float((fit - dags.sum(axis=(1, 2)) * np.log(n)).max())


class Recording(Evaluator):
    """Remembers every DAG that was evaluated."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.seen = []

    def finish(self, dags):
        batch = super().finish(dags)
        self.seen += list(batch.dags)
        return batch


@pytest.fixture
def recording(monkeypatch):
    monkeypatch.setattr(strategy, "Evaluator", Recording)


# The search finds the best.


@pytest.mark.parametrize("kind", [BicEV, BicNV])
def test_the_default_search_finds_the_best_of_all_five_node_dags(kind, five_node_dags):
    """All 29,281 DAGs are scored; 9 seeds of 10, each on data of its own, with at most 300 evaluations.

    One search in a hundred misses the best DAG, and rounding decides which.
    """
    chosen, found = Settings(max_evals=300), 0
    for seed in range(10):
        table = _table(seed=seed)
        best = _best_score(five_node_dags, table, kind)
        limits = Limits(chosen.with_(target_score=best - ROUNDING))
        outcome = new_search(kind(table), chosen, seed=seed).run([limits])
        assert outcome.best.scores[0] <= best + ROUNDING
        assert outcome.n_evals <= 300
        found += bool(outcome.best.scores[0] >= best - ROUNDING)
    assert found >= 9


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"surrogate": False},
        {"polish": False},
        {"skip_known": False},
        {"skip_known": False, "recombine": False},
        {"first_design": 1},
        {**REGION},
        {**REGION, "space": "low-rank"},
        {**REGION, "acquisition": "ucb"},
        {**REGION, "acquisition": "ucb", "masks": "row"},
        {**REGION, "replay": "reservoir"},
        {**REGION, "masks": "row"},
        {**REGION, "polish": False},
        {**REGION, "skip_known": False},
        {**REGION, "skip_known": False, "recombine": False},
        {**REGION, "n_grads": 0},
        {**REGION, "n_replay": 0},
        {**REGION, "dropout": 0.0},
        {**REGION, "region": "clip"},
    ],
    ids=_words,
)
def test_every_way_to_search_finds_the_best_of_four_nodes(changes):
    """With one of two seeds: a way without polish misses it in one search of ten, and rounding decides in which."""
    assert any(_distances(changes, seeds=[seed])[0] > -ROUNDING for seed in (2, 3))


@pytest.mark.parametrize("changes", [{}, {"space": "low-rank", "rank": 4}], ids=str)
def test_networks_and_region_alone_find_the_best_of_four_nodes(changes):
    """In three searches of four, where networks that are not trained find it in one of twenty; here in 3 of 8."""
    alone = {**REGION, "skip_known": False, "recombine": False, "polish": False, **changes}
    assert sum(distance > -ROUNDING for distance in _distances(alone, seeds=range(8))) >= 3


@cache
def _four_nodes():
    """Data, and the best score of all DAGs."""
    table = _table(d=4, seed=3)
    return table, _best_score(_all_dags(4), table, BicEV)


def _distances(changes, seeds):
    """Return how far the best DAG of each search is from the best of all, at most 0."""
    table, best = _four_nodes()
    outcomes = [new_search(BicEV(table), _small(max_evals=400, **changes), seed=seed).run() for seed in seeds]
    distances = [outcome.best.scores[0] - best for outcome in outcomes]
    assert max(distances) < ROUNDING
    return distances


@pytest.mark.torch
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_search_runs_on_a_gpu(preset, gpu):
    table, best = _four_nodes()
    outcome = new_search(BicEV(table), _small(preset, max_evals=600), seed=1, device="cuda").run()
    assert outcome.best.scores[0] == pytest.approx(best, abs=ROUNDING)


def test_the_papers_loop_improves_on_its_first_design():
    """Without recombination every gain is the work of the networks and the trust region."""
    gains = []
    for seed in range(3):
        recorder = Recorder()
        chosen = _small("paper", n_candidates=1000, max_evals=200, rank=4)
        outcome = new_search(BicEV(_table(d=8, seed=seed)), chosen, seed=seed).run([recorder])
        trace = recorder.columns()["best"]
        assert outcome.found_by == "trust region"
        gains.append(trace[-1] - trace[0])
    assert min(gains) > 100  # the true graph is thousands above a random one


@pytest.mark.parametrize("kind", [BicEV, BicNV])
def test_the_smallest_problem(kind):
    """Two nodes have three DAGs and four families: two evaluations know them all."""
    table = _table(d=2, seed=1)
    best = _best_score(_all_dags(2), table, kind)
    for changes in ({}, REGION, {**REGION, "space": "low-rank"}, {**REGION, "skip_known": False}):
        outcome = new_search(kind(table), _small(max_evals=50, **changes)).run()
        assert outcome.best.scores[0] == pytest.approx(best)
        assert outcome.n_local <= 4
        assert outcome.stopped == "no new DAG to evaluate in 25 rounds"


# What is spent.


@pytest.mark.parametrize("max_evals", [1, 15, 16, 17, 32, 50])
def test_the_papers_preset_spends_exactly_its_budget(max_evals, recording):
    state = new_search(BicEV(_table()), _small("paper", batch_size=16, max_evals=max_evals))
    outcome = state.run()
    assert outcome.n_evals == max_evals == len(state.evaluator.seen) == len(state.proposer.history)
    assert outcome.stopped.startswith(f"budget exhausted: {max_evals} evaluations")


@pytest.mark.parametrize("max_evals", [1, 20, 50])
def test_only_unknown_dags_cost_by_default(max_evals, recording):
    state = new_search(BicEV(_table(d=9)), _small(max_evals=max_evals, polish=False))
    outcome = state.run()
    known, costly = set(), 0
    for dag in state.evaluator.seen:
        keys = set(Families.from_dags(dag[None]).keys())
        costly += not keys <= known
        known |= keys
    assert outcome.n_evals == max_evals == costly
    assert outcome.n_local == len(known)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_no_settings_overspend(data):
    def pick(*values):
        return data.draw(st.sampled_from(values))

    masks, skip_known, route = pick("row", "shared"), pick(True, False), pick("surrogate", "paper")
    chosen = Settings(route=route, max_evals=pick(1, 3, 20), max_local=pick(None, 4, 15)).with_(
        surrogate=pick(True, False),
        climbs=pick(1, 3),
        first_design=pick(None, 1, 7),
        count_known=pick(True, False),
        space=pick("low-rank", "full-rank"),
        rank=pick(1, 5),
        batch_size=pick(1, 4, 30),
        n_candidates=pick(1, 7, 60),
        moved_coordinates=pick(1.0, 20.0),
        region_failures=pick(1, 5),
        acquisition=pick("thompson", "ucb"),
        n_draws=pick(1, 3),
        skip_known=skip_known,
        recombine=skip_known or pick(True, False),
        polish=pick(True, False),
        hidden=pick(1, 5),
        dropout=pick(0.0, 0.5),
        n_grads=pick(0, 1),
        n_replay=pick(0, 5),
        replay=pick("uniform", "reservoir"),
        masks=masks,
        batch_norm=pick("candidates", "training") if masks == "row" else "training",
        standardize_targets=pick(True, False),
    )
    kind, d = pick(BicNV, BicEV), pick(2, 4)
    score = kind(_table(d=d))
    recorder = Recorder()
    outcome = new_search(score, chosen, seed=pick(0, 1)).run([recorder])
    assert 1 <= outcome.n_evals <= chosen.max_evals
    assert outcome.n_local <= (chosen.max_local or np.inf)
    assert is_acyclic(outcome.best.dags[0])
    local = score.local(Families.from_dags(outcome.best.dags))[None]
    assert outcome.best.scores == pytest.approx(Evaluator(score, chosen).scores(outcome.best.dags, local))
    assert (np.diff(recorder.columns()["best"]) >= 0).all()


def test_a_batch_larger_than_the_candidates():
    outcome = new_search(BicNV(_table()), _small(**REGION, batch_size=64, n_candidates=5, max_evals=80)).run()
    assert outcome.n_evals <= 80


def test_too_few_local_scores_for_one_dag_are_refused():
    with pytest.raises(SettingsError, match="max_local must be at least the number of columns, 5, got 4"):
        new_search(BicNV(_table()), Settings(max_local=4))
    assert new_search(BicNV(_table()), _small(max_local=5)).run().n_local == 5


# The same again.


def _course(chosen, callbacks=(), d=7, seed=0, **options):
    """Everything a run decides: every evaluated DAG, the trace, the answer."""
    state = new_search(BicEV(_table(d=d)), chosen, seed=seed, **options)
    recorder = Recorder()
    outcome = state.run([recorder, *callbacks])
    columns = recorder.columns()
    trace = np.column_stack([columns[name] for name in ("n_evals", "n_local", "best")])
    return np.stack(state.evaluator.seen), trace, outcome.best.dags[0]


def _same(first, second):
    return all(a.shape == b.shape and bool((a == b).all()) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "changes",
    [{}, {**REGION, "replay": "reservoir", "masks": "row"}, {**REGION, "acquisition": "ucb"}],
    ids=["climbs", "reservoir and a mask per row", "ucb"],
)
def test_the_seed_decides(changes, recording):
    chosen = _small(max_evals=40, **changes)
    first = _course(chosen, seed=4)
    assert _same(first, _course(chosen, seed=4))
    assert not _same(first[1:2], _course(chosen, seed=5)[1:2])


def test_a_reservoir_is_kept_when_asked_for():
    for replay, kept in (("reservoir", 10), ("uniform", 0)):
        chosen = _small(max_evals=60, replay=replay, n_replay=10, **REGION)
        state = new_search(BicEV(_table(d=7)), chosen)
        state.run()
        rows = state.proposer.history.training_rows(1, chosen.with_(replay="reservoir"), state.proposer.generator)[
            0, 1:
        ]
        assert len(rows) == len(set(rows.tolist())) == kept


def test_global_random_state_does_not_matter(recording):
    chosen = _small(max_evals=40)
    first = _course(chosen)
    torch, before = sys.modules.get("torch"), np.random.get_state()  # noqa: NPY002
    torch_before = torch and torch.random.get_rng_state()
    try:
        np.random.seed(99)  # noqa: NPY002
        if torch:
            torch.manual_seed(99)
        assert _same(first, _course(chosen))
    finally:
        np.random.set_state(before)  # noqa: NPY002
        if torch:
            torch.random.set_rng_state(torch_before)


def test_watching_changes_nothing(recording):
    def watcher(progress):
        """Looks at everything, as a progress display does, and even scribbles on it."""
        seen.append(f"{progress.iteration} {progress.n_evals} {progress.n_local} {progress.best:.3f}")
        progress.best_dag[:] = True

    seen: list[str] = []
    chosen = _small(max_evals=40)
    assert _same(_course(chosen), _course(chosen, [watcher, watcher]))
    assert len(seen) > 4


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_memory_does_not_change_the_answer(preset, recording, monkeypatch):
    """Candidates are cut into pieces where all of them would be too large."""
    pieces = []
    Acquisition = pytest.importorskip("drbo.search.paper.acquire", exc_type=ImportError).Acquisition
    original = Acquisition.in_pieces

    def counted(self, piece, *others):
        calls = []
        original(self, lambda first, last: (calls.append(first), piece(first, last)), *others)
        pieces.append(len(calls))

    monkeypatch.setattr(Acquisition, "in_pieces", counted)
    rules = REGION if preset == "default" else {}
    chosen = _small(preset, n_candidates={"default": 25_000, "paper": 15_000}[preset], max_evals=32, **rules)
    whole = _course(chosen)
    assert set(pieces) == {1}
    pieces.clear()
    assert _same(whole, _course(chosen.with_(max_memory=0.01)))
    assert set(pieces) > {1} or min(pieces) > 1


def test_one_worker_changes_nothing(recording):
    chosen = _small(max_evals=40)
    with ThreadPoolExecutor(1) as executor:
        assert _same(_course(chosen), _course(chosen, executor=executor))


# A search with few families scores them all in the end.


@pytest.mark.parametrize("seed", [0, 3])
def test_a_search_that_has_scored_most_families_scores_the_others(seed, monkeypatch):
    """Six columns have 192 families; a search without this ended at 189 and below the best graph."""
    score = BicNV(Statistics.from_array(simulate("6ER2", n=200, seed=5).X))
    found = new_search(score, Settings(route="surrogate"), seed=seed).run()
    assert found.n_local == 192
    exact = OrderSearch(score, Settings(route="orders")).run()
    assert found.best.scores[0] >= exact.best.scores[0] - ROUNDING
    few = new_search(score, Settings(route="surrogate", max_local=150), seed=seed).run()
    assert few.n_local <= 150
    monkeypatch.setattr(loop, "LAST_SHARE", -1.0)
    assert new_search(score, Settings(route="surrogate", climbs=1), seed=seed).run().n_local < 192


# Proposals are made while others are computed.


class Moody(Executor):
    """Threads that answer in an order of their own, and lose some tasks."""

    def __init__(self, n_workers, seed=0, losses=0.0):
        self._max_workers, self._random, self._losses = n_workers, random.Random(seed), losses
        self._pool, self.open = ThreadPoolExecutor(n_workers), set()

    def submit(self, fn, /, *args, **kwargs):
        wait, lost = self._random.random() * 0.004, self._random.random() < self._losses

        def work():
            time.sleep(wait)
            if lost:
                raise WorkerLost("gone")
            return fn(*args, **kwargs)

        future = self._pool.submit(work)
        self.open.add(future)
        future.add_done_callback(self.open.discard)
        return future


@pytest.fixture
def eager(monkeypatch):
    """All work is sent out, however little it is."""
    for limit in ("LEAST_SECONDS", "MOST_SECONDS", "PROBE_SECONDS"):
        monkeypatch.setattr(remote, limit, 1e-9)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("changes", [{}, {"surrogate": False}, {"max_local": 150}])
def test_the_answer_does_not_depend_on_which_worker_is_first(count, changes, recording, eager):
    chosen = _small(max_evals=24, **changes)
    courses = [_course(chosen, executor=Moody(count, seed, losses=0.02 * seed)) for seed in range(3)]
    assert all(_same(courses[0], other) for other in courses[1:])
    with ThreadPoolExecutor(count) as cheap:  # nothing needs to be sent out for that
        assert _same(courses[0], _course(chosen, executor=cheap))


def test_workers_have_work_while_a_batch_is_proposed(eager, monkeypatch):
    search = new_search(BicEV(_table(d=9)), _small(max_evals=60), executor=Moody(3))
    propose, busy = search.proposer.propose, []

    def watched(best, count):
        busy.append(len(search.evaluator.awaited))
        return propose(best, count)

    monkeypatch.setattr(search.proposer, "propose", watched)
    search.run()
    assert sum(count > 0 for count in busy) > len(busy) / 2


@pytest.mark.parametrize("limits", [{"max_evals": 30}, {"max_evals": 10**6, "max_local": 77}])
def test_what_is_begun_is_paid_for_and_finished(limits, recording, eager):
    search = new_search(BicEV(_table(d=7)), _small(**limits), executor=Moody(4))
    outcome = search.run()
    assert outcome.n_evals <= limits["max_evals"]
    assert outcome.n_local <= limits.get("max_local", 10**6)
    assert outcome.stopped.startswith("budget exhausted")
    assert not search.under_way
    assert not len(search.evaluator.awaited)


def _saved(search):
    file = io.BytesIO()
    np.savez(file, **pack(search.capture()))
    return file


def _resumed(search, file):
    """Go on with a saved search; return how it ended, and which families it has scored, in their order."""
    fields = Fields.of(zipfile.ZipFile(file), "search.npz")
    search.restore(fields)
    fields.finish()
    return _ended(search)


def _ended(search):
    end = search.run()
    keys = search.capture()["evaluator"]["keys"].tolist()
    return end.best.scores.tolist(), end.n_evals, end.n_local, end.stopped, keys


def _ahead(executor):
    return new_search(BicEV(_table(d=7)), _small(max_evals=60), executor=executor)


@cache
def _uninterrupted():
    return _ended(_ahead(Moody(3)))


@pytest.mark.parametrize("rounds", [1, 2, 5, 9])
def test_a_search_with_batches_under_way_is_resumed_where_it_was(rounds, recording, eager):
    first = _ahead(Moody(3))
    first.run([lambda progress: "enough" if progress.iteration == rounds else None])
    assert rounds == 1 or first.under_way
    assert _resumed(_ahead(Moody(3)), _saved(first)) == _uninterrupted()


@pytest.mark.parametrize("event", [KeyboardInterrupt, OutOfTimeError])
@pytest.mark.parametrize("rounds", [2, 7])
def test_what_is_under_way_at_an_interrupt_or_a_time_limit_is_not_lost(event, rounds, eager, monkeypatch):
    executor, saves = Moody(3), []
    first = _ahead(executor)
    finish = first.evaluator.finish

    def broken(dags):
        if first.rounds == rounds:
            assert len(first.evaluator.awaited)
            raise event
        return finish(dags)

    monkeypatch.setattr(first.evaluator, "finish", broken)
    outcome = first.run([lambda _: saves.append((_saved(first), first.best.scores[0]))])
    assert not first.whole  # a search is saved between two rounds, never within one
    assert outcome.best.scores[0] >= saves[-1][1]
    assert wait_for(executor.open, timeout=5).not_done == set()
    assert _resumed(_ahead(Moody(3)), saves[-1][0]) == _uninterrupted()


def test_a_search_that_ends_leaves_nothing_under_way(eager):
    executor = Moody(3)
    search = new_search(BicEV(_table(d=7)), _small(max_evals=60), executor=executor)
    search.run([lambda progress: "enough" if progress.iteration == 4 else None])
    assert search.under_way
    assert wait_for(executor.open, timeout=5).not_done == set()
    assert search.run().stopped.startswith("budget exhausted")  # what was given up is computed again


@pytest.mark.parametrize("changes", [REGION, {"score_timeout": 60.0}])
def test_some_searches_do_not_work_ahead(changes, recording, eager):
    search = new_search(BicEV(_table(d=7)), _small(max_evals=30, **changes), executor=Moody(3))
    assert (search.ahead == 0) == ("route" in changes)
    search.run()
    assert not search.evaluator.workers._begun


# How it ends.


def test_a_callback_ends_the_search_and_the_first_reason_wins():
    told = []
    callbacks = [
        lambda progress: told.append(progress.iteration),
        lambda progress: "enough" if progress.iteration == 2 else None,
        lambda progress: "later" if progress.iteration == 2 else None,
    ]
    outcome = new_search(BicNV(_table(d=8)), _small(max_evals=500)).run(callbacks)
    assert outcome.stopped == "enough"
    assert told == [1, 2]


@pytest.mark.parametrize(
    ("changes", "stopped"),
    [
        ({"time_limit": 0.0}, "time limit of 0 s reached"),
        ({"target_score": -1e9}, "target score -1e+09 reached"),
        ({"patience": 3}, "no better score in 3 iterations"),
    ],
)
def test_limits_end_the_search(changes, stopped):
    chosen = _small(max_evals=10_000, skip_known=False, count_known=True, **changes)
    recorder = Recorder()
    outcome = new_search(BicNV(_table()), chosen).run([recorder, Limits(chosen)])
    assert outcome.stopped == stopped
    trace = recorder.columns()["best"]
    if "patience" in changes:
        assert len(trace) > 3
        assert trace[-1] == trace[-4]
        assert len(trace) == 4 or trace[-4] > trace[-5]
    else:
        assert len(trace) == 1


def test_an_interrupt_returns_the_best_so_far():
    seen = []

    def interrupted(progress):
        seen.append(progress)
        if progress.iteration == 3:
            raise KeyboardInterrupt

    outcome = new_search(BicNV(_table(d=8)), _small(max_evals=500)).run([interrupted])
    assert outcome.stopped == "interrupted"
    assert len(seen) == 3
    assert outcome.best.scores[0] == seen[-1].best
    assert (outcome.n_evals, outcome.n_local) == (seen[-1].n_evals, seen[-1].n_local)


class Interrupted(BicNV):
    """Ctrl-C comes while local scores are computed, at the given call."""

    def __init__(self, table, at):
        super().__init__(table)
        self.calls, self.at = 0, at

    def local(self, families):
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return super().local(families)


def test_an_interrupt_inside_an_evaluation():
    seen = []
    outcome = new_search(Interrupted(_table(d=8), at=3), _small(max_evals=500)).run([seen.append])
    assert outcome.stopped == "interrupted"
    assert outcome.best.scores[0] == seen[-1].best
    with pytest.raises(KeyboardInterrupt):  # there is nothing to return yet
        new_search(Interrupted(_table(d=8), at=1), _small()).run()


def test_other_errors_are_not_swallowed():
    def broken(progress):
        raise RuntimeError("broken callback")

    with pytest.raises(RuntimeError, match="broken callback"):
        new_search(BicNV(_table()), _small(max_evals=20)).run([broken])


@pytest.mark.parametrize("changes", [{}, {"recombine": False, "polish": False}], ids=str)
def test_the_search_ends_when_everything_is_known(changes):
    """Known DAGs are free: without a rule of its own for this the budget would never be spent."""
    outcome = new_search(BicNV(_table(d=3)), _small(max_evals=5_000, skip_known=False, **changes)).run()
    assert outcome.stopped == "no new DAG to evaluate in 25 rounds"
    assert outcome.n_local <= 12


# What is known.

NAMES = [f"x{i}" for i in range(6)]


@pytest.mark.parametrize(
    "ways",
    [{}, {"surrogate": False}, {**REGION, "space": "low-rank"}, {**REGION, "space": "full-rank"}],
    ids=["climb", "jumps", "low-rank", "full-rank"],
)
@pytest.mark.parametrize(
    "knowledge",
    [
        Knowledge(required=["x4 -> x0", "x0 -> x2", "x3 -> x2"], forbidden=["x1 -> x5"]),
        Knowledge(tiers=[["x4", "x1"], ["x0", "x2"], ["x3", "x5"]], required=["x1 -> x3"], forbidden=["x4 -> x3"]),
        Knowledge(max_parents=1, required=["x2 -> x0"]),
        Knowledge(roots=["x0"], leaves=["x1"], max_parents={"x1": 2}, required=["x0 -> x1"]),
        Knowledge(tiers=[["x4", "x1"], ["x0", "x2", "x3"]], forbid_within_tiers=True),
    ],
    ids=lambda known: ", ".join(known.to_mapping()),
)
def test_every_evaluated_dag_obeys_the_knowledge(knowledge, ways, recording):
    constraints = Constraints.of(knowledge, NAMES)
    state = new_search(BicNV(_table(d=6)), _small(max_evals=30, **ways), constraints=constraints)
    progress = []
    outcome = state.run([progress.append])
    shown = [step.best_dag for step in progress]
    for dag in [*state.evaluator.seen, *shown, outcome.best.dags[0]]:
        assert is_acyclic(dag)
        assert constraints.violations(dag) == []
    assert len({dag.tobytes() for dag in state.evaluator.seen}) > 10


def test_an_answer_outside_the_low_rank_space_is_kept():
    """At rank 1 an empty graph of many nodes has no vector: recombination may find it all the same."""
    rng = np.random.default_rng(0)
    table = Statistics.from_array(rng.normal(size=(400, 6)))
    outcome = new_search(
        BicNV(table, penalty=20), _small(**REGION | {"space": "low-rank", "rank": 1, "max_evals": 300})
    ).run()
    assert outcome.best.dags[0].sum() <= 1
    assert outcome.found_by == "recombination"


# Cheaper versions of the score.


class Half(BicNV):
    """A score whose cheaper version sees every second row."""

    def __init__(self, table):
        super().__init__(table)
        self.few = BicNV(Statistics.from_array(table.values[::2]))

    def relatives(self):
        return [Relative(self.few, 0.25)]


def _halved(seed=0, executor=None, max_evals=20, **changes):
    score = Half(_table(d=6, seed=seed))
    return new_search(score, _small(max_evals=max_evals, **changes), seed=seed, executor=executor)


@pytest.mark.parametrize("seed", range(2))
def test_cheaper_versions_lead_to_the_same_best_graph(seed):
    plain = _halved(seed, fidelities=False, max_evals=10**4).run()
    found = _halved(seed, max_evals=10**4).run()
    assert found.best.scores == pytest.approx(plain.best.scores, abs=ROUNDING)
    assert found.fidelities[0].n_local > 0
    assert plain.fidelities == ()


def test_a_search_with_cheaper_versions_is_resumed_where_it_was():
    whole, first = _halved(), _halved()
    end = whole.run()
    first.run([lambda progress: "enough" if progress.iteration == 4 else None])
    file = io.BytesIO()
    np.savez(file, **pack(first.capture()))
    fields, again = Fields.of(zipfile.ZipFile(file), "search.npz"), _halved()
    again.restore(fields)
    fields.finish()
    rest = again.run()
    assert rest.best.scores.tolist() == end.best.scores.tolist()
    assert (rest.n_evals, rest.n_local, rest.fidelities) == (end.n_evals, end.n_local, end.fidelities)
    one, other = (search.capture()["evaluator"] for search in (whole, again))
    assert one["keys"].tolist() == other["keys"].tolist()
    assert one["levels"][0]["keys"].tolist() == other["levels"][0]["keys"].tolist()


def test_workers_do_not_change_a_search_with_cheaper_versions():
    with ThreadPoolExecutor(2) as pool:
        found, plain = _halved(executor=pool).run(), _halved().run()
    assert (found.n_local, found.fidelities) == (plain.n_local, plain.fidelities)
    assert found.best.dags.tolist() == plain.best.dags.tolist()
