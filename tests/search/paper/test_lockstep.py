"""Several searches as one program, on the CPU with the operations of a GPU."""

import numpy as np
import pytest
import torch

from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.errors import SettingsError
from drbo.graph import is_acyclic
from drbo.knowledge import Knowledge
from drbo.scores.linear import BicEV, BicNV
from drbo.search.bayes.screen import screened
from drbo.search.loop import Search, run
from drbo.search.paper.lockstep import MOST, Lockstep, group_size, run_together
from drbo.settings import Settings

pytestmark = pytest.mark.floats

D = 6
FAST = {"masks": "shared", "batch_norm": "training"}
NEW_ONLY = {"count_known": False, "skip_known": True, "recombine": True, "polish": True}
RULES = {"paper": {}, "fast": FAST, "ucb": {**FAST, "acquisition": "ucb"}, "new only": {**FAST, **NEW_ONLY}}


def _settings(**changes):
    sizes = {"n_candidates": 80, "batch_size": 8, "hidden": 8, "n_replay": 30, "n_grads": 3, "rank": 3}
    return Settings.preset("paper").with_(**{"max_evals": 60, **sizes, **changes})


def _table(seed):
    return Table.from_array(simulate(f"{D}ER2", n=200, seed=200 + seed).X)


def _states(seeds, settings, score=BicEV, **parts):
    return [Search(score(_table(seed)), settings, seed=seed, **parts) for seed in seeds]


def _course(group, iterations):
    """Return each search's proposals, iteration by iteration."""
    found = []
    for _ in range(iterations):
        dags = group.propose()
        found.append(dags)
        group.learn(group.evaluate(dags))
        for state in group.states:
            state.iteration += 1
    return found


def _agreement(ours, theirs):
    """Return the share of proposals (lists of arrays of DAGs) that both have, iteration by iteration."""
    pairs = [({d.tobytes() for d in a}, {d.tobytes() for d in b}) for a, b in zip(ours, theirs, strict=True)]
    return sum(len(a & b) for a, b in pairs) / sum(len(a | b) for a, b in pairs)


ON_GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))


@pytest.mark.parametrize("device", ["cpu", ON_GPU])
@pytest.mark.parametrize("rules", RULES)
def test_each_search_proposes_what_it_would_alone(rules, device):
    """Up to rounding: a unit whose gradient is 0 but for rounding may step either way."""
    settings = _settings(**RULES[rules])
    together = _course(Lockstep(_states(range(3), settings, device=device)), 4)
    for k in range(3):
        ours = [dags[k] for dags in together]
        theirs = [dags[0] for dags in _course(Lockstep(_states([k], settings, device=device)), 4)]
        assert _agreement(ours, theirs) > 0.8
        assert _agreement(ours, [dags[(k + 1) % 3] for dags in together]) < 0.3


def test_the_first_design_is_that_of_the_plain_search():
    settings = _settings(**FAST)
    plain = [state.propose() for state in _states(range(3), settings)]
    for ours, theirs in zip(Lockstep(_states(range(3), settings)).propose(), plain, strict=True):
        assert (ours == theirs).all()


@pytest.mark.parametrize("space", ["low-rank", "full-rank"])
def test_every_search_keeps_its_own_score_budget_and_region(space):
    settings = _settings(**FAST, space=space)
    states = _states(range(3), settings)
    seen = [[], [], []]
    outcomes = run_together(states, [[lambda progress, k=k: seen[k].append(progress)] for k in range(3)])
    for k, (state, outcome) in enumerate(zip(states, outcomes, strict=True)):
        best, score = outcome.best, BicEV(_table(k))
        again = Search(score, settings).evaluator.evaluate(best.dags)
        assert best.scores[0] == pytest.approx(again.scores[0])
        assert outcome.n_evals == 60
        assert outcome.stopped.startswith("budget exhausted")
        assert is_acyclic(best.dags[0])
        assert [progress.iteration for progress in seen[k]] == list(range(1, state.iteration + 1))
        assert seen[k][-1].best == best.scores[0]
        decoded = state.proposer.space.decode(state.proposer.center[None])[0].numpy()
        assert (decoded == best.dags[0]).all()
    assert len({state.proposer.region.length for state in states} | {outcome.n_local for outcome in outcomes}) > 1


def test_the_seeds_decide():
    """Of the same table; up to rounding: a matrix product may round by where its operands lie in memory."""
    first, second, other = (
        [dags[0] for dags in _course(Lockstep([Search(BicEV(_table(0)), _settings(**FAST), seed=seed)]), 4)]
        for seed in (1, 1, 2)
    )
    assert (first[0] == second[0]).all()
    assert _agreement(first, second) > 0.8
    assert _agreement(first, other) < 0.3


def test_a_search_that_ends_early_leaves_the_others_alone():
    settings, calls = _settings(**FAST), [0, 0, 0]

    def stop_first(progress):
        calls[0] += 1
        return "enough" if progress.iteration == 2 else None

    def stop_second(progress):
        calls[1] += 1
        return "enough too" if progress.iteration == 4 else None

    def watch(progress):
        calls[2] += 1

    outcomes = run_together(_states(range(3), settings), [[stop_first], [stop_second], [watch]])
    assert [outcome.stopped[:6] for outcome in outcomes] == ["enough", "enough", "budget"]
    assert calls[:2] == [2, 4]
    assert calls[2] > 4
    assert outcomes[2].n_evals == 60
    assert outcomes[0].n_evals < outcomes[1].n_evals < 60


def test_the_way_of_a_search_does_not_change_when_others_leave():
    settings = _settings(**FAST)
    group, alone = Lockstep(_states(range(4), settings)), Lockstep(_states([3], settings))
    states = list(group.states)
    _course(group, 1)
    _course(alone, 1)
    group.rest(states[:1])
    assert len(group.states) == 4  # one rests
    ours, theirs = _course(group, 1), _course(alone, 1)
    assert _agreement([ours[0][3]], [theirs[0][0]]) > 0.5  # up to rounding
    assert _agreement([ours[0][2]], [theirs[0][0]]) < 0.3
    group.rest(states[:3])
    assert group.states == states[3:]
    assert len({id(state.proposer.surrogate) for state in states}) == 4  # the large one is gone
    ours, theirs = _course(group, 1), _course(alone, 1)
    assert _agreement([ours[0][0]], [theirs[0][0]]) > 0.5


def test_each_ends_about_where_it_ends_alone():
    """On three data sets the final scores of both ways scatter alike around those of the plain search."""
    settings = _settings(**FAST, max_evals=500, n_candidates=200, batch_size=16, hidden=16, n_grads=5)
    together = run_together(_states(range(3), settings, BicNV), [[]] * 3)
    for k, outcome in enumerate(together):
        plain = run(_states([k], settings, BicNV)[0])
        first = Search(BicNV(_table(k)), settings).evaluator.evaluate(np.zeros((1, D, D), dtype=bool)).scores[0]
        gain = outcome.best.scores[0] - first
        assert gain > 0.85 * (plain.best.scores[0] - first) > 0


def test_knowledge_holds_for_all_and_screened_parents_may_differ():
    names = [f"x{i}" for i in range(D)]
    known = Knowledge(forbidden=["x0 -> x1"]).compile(names)
    settings = _settings(**FAST)
    states = []
    for seed in range(2):
        limits = screened(_table(seed).values, 1 + seed, known)
        states.append(Search(BicEV(_table(seed)), settings, constraints=limits, seed=seed))
    for outcome, state in zip(run_together(states, [[], []]), states, strict=True):
        assert state.constraints.violations(outcome.best.dags[0]) == []
        assert not outcome.best.dags[0][0, 1]


def test_an_interrupt_ends_all_with_what_they_have():
    states = _states(range(2), _settings(**FAST))

    def interrupt(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    outcomes = run_together(states, [[], [interrupt]])
    assert [outcome.stopped for outcome in outcomes] == ["interrupted"] * 2
    assert not any(state.whole for state in states)


def test_a_full_device_is_an_error_with_a_way_out(monkeypatch):
    def full(*arguments):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr("drbo.search.paper.lockstep.train_all", full)
    with pytest.raises(SettingsError, match="does not fit into the memory"):
        run_together(_states(range(2), _settings(**FAST)), [[], []])


def test_how_many_go_together():
    settings = _settings(**FAST)
    assert group_size(D, settings, "cuda") == MOST
    assert group_size(D, settings, "cpu") == 1
    assert group_size(D, settings.with_(replay="reservoir"), "cuda") == 1
    assert group_size(D, settings.with_(n_replay=0), "cuda") == 1
    assert group_size(D, Settings(), "cuda") == 1
    assert group_size(100, Settings.preset("paper").with_(n_candidates=1_000), "cuda") == 9  # training takes 0.42 GiB
    large = settings.with_(n_candidates=1_000_000)  # 2 * 14 moves and 16 draws of 4 bytes each: 0.16 GiB
    assert group_size(D, large.with_(max_memory=0.5, moved_coordinates=1.0), "cuda") == 3
