import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.errors import CheckpointError
from drbo.scores.bge import BGe
from drbo.scores.linear import BicEV, BicNV
from drbo.search.loop import Search
from drbo.search.order_search import OrderSearch
from drbo.search.snapshot import capture, restore
from drbo.settings import Settings

SMALL = {"max_evals": 200, "batch_size": 8, "n_candidates": 200}
VARIANTS = {
    "default": {},
    "reservoir, low rank": {"replay": "reservoir", "space": "low-rank"},
    "a mask per row": {"masks": "row", "batch_norm": "candidates"},
    "ucb, no recombination": {"acquisition": "ucb", "recombine": False, "skip_known": False, "polish": False},
}


@pytest.fixture(scope="module")
def table():
    return Table.from_array(simulate("6ER2", n=60, seed=1).X)


def _same(first, second):
    """Tell whether two searches are equal in every bit."""
    (nodes, arrays), (others, other) = capture(first), capture(second)
    return nodes == others and all(arrays[name].tobytes() == other[name].tobytes() for name in arrays)


def _step(state):
    state.learn(state.evaluate(state.propose()))


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_a_search_goes_on_from_every_iteration_as_if_it_had_never_stopped(variant, table):
    settings = Settings(**SMALL, **VARIANTS[variant])
    state, saved = Search(BGe(table), settings, seed=3), []
    for _ in range(6):
        saved.append(capture(state))
        _step(state)
    for count, (nodes, arrays) in enumerate(saved):
        again = restore(Search(BGe(table), settings, seed=99), nodes, arrays)
        for _ in range(6 - count):
            _step(again)
        assert _same(state, again), f"after iteration {count}"


@pytest.mark.parametrize("score", [BicNV, BicEV])
def test_an_order_search_goes_on_after_every_climb(score, table):
    settings = Settings(order_patience=4)
    saved = []
    state = OrderSearch(score(table), settings, seed=3)
    state.run([lambda progress: saved.append(capture(state))])
    assert len(saved) >= 5
    for nodes, arrays in saved:
        again = restore(OrderSearch(score(table), settings, seed=99), nodes, arrays)
        again.run()
        assert _same(state, again)


def test_parts_that_are_shared_stay_shared(table):
    state = Search(BGe(table), Settings(**SMALL), seed=3)
    _step(state)
    fresh = Search(BGe(table), Settings(**SMALL), seed=3)
    again = restore(fresh, *capture(state))
    assert again.recombiner.evaluator is again.evaluator
    assert again.evaluator.score is fresh.evaluator.score
    assert again.evaluator is not fresh.evaluator


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Thing:
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(5))
    parts: Any = None
    itself: Any = None


Pair.__module__ = Thing.__module__ = "drbo.search.region"  # as if they were part of the package


@pytest.fixture
def _known(monkeypatch):
    from drbo.search import region

    monkeypatch.setattr(region, "Thing", Thing, raising=False)
    monkeypatch.setattr(region, "Pair", Pair, raising=False)


@pytest.mark.usefixtures("_known")
def test_memory_that_no_tensor_sees_is_not_saved():
    wide, thing = torch.full((3, 5), 7.0), Thing()
    thing.parts = {"part": wide[:, 1:3], "expanded": wide[0, :1].expand(4, 2)}
    _, arrays = capture(thing)
    assert sorted(next(iter(arrays.values())).tolist()) == 6 * [0.0] + 7 * [7.0]
    again = restore(Thing(), *capture(thing))
    assert torch.equal(again.parts["part"], wide[:, 1:3])
    assert torch.equal(again.parts["expanded"], torch.full((4, 2), 7.0))


@pytest.mark.usefixtures("_known")
def test_every_kind_of_value_comes_back():
    flat = torch.arange(12.0)
    thing = Thing()
    thing.itself = thing
    thing.parts = {
        "numbers": [1, -(2**70), 0.1, float("inf"), float("nan"), None, True, "é\ud800", np.float64(0.1), np.int32(3)],
        "views": (flat, flat.view(3, 4), flat[2:5]),
        "arrays": [np.arange(6).reshape(2, 3), np.zeros((0, 3), bool), np.array(2.5)],
        "bytes": {b"ab": 1.5, b"cd": 2.5},
        "rows": [b"ab", b"cd"],
        "mixed": [b"ab", b"c"],
        "sets": ({1, 2}, frozenset({"a"}), deque([1, 2], 3)),
        "pair": Pair(1, thing.rng),
        (1, 2): "tuple key",
        "generator": torch.Generator().manual_seed(7),
    }
    again = restore(Thing(), *capture(thing))
    assert again.itself is again
    assert again.parts["pair"].right is again.rng
    assert again.rng.random() == np.random.default_rng(5).random()
    assert repr(again.parts["numbers"]) == repr(thing.parts["numbers"])
    flat_again, view, part = again.parts["views"]
    flat_again += 1
    assert view[0, 0] == 1
    assert part.tolist() == [3, 4, 5]
    for before, after in zip(thing.parts["arrays"], again.parts["arrays"], strict=True):
        assert before.dtype == after.dtype
        assert np.array_equal(before, after)
    for name in ("bytes", "rows", "mixed", "sets", (1, 2)):
        assert again.parts[name] == thing.parts[name]
    assert again.parts["sets"][2].maxlen == 3
    drawn = torch.rand(2, generator=again.parts["generator"])
    assert torch.equal(drawn, torch.rand(2, generator=torch.Generator().manual_seed(7)))


@pytest.mark.usefixtures("_known")
def test_what_cannot_be_saved_is_named():
    with pytest.raises(CheckpointError, match=r"holds a threading\.Event at parts\.0"):
        capture(Thing(parts=[threading.Event()]))


def test_only_classes_of_the_search_are_made(table):
    state = Search(BGe(table), Settings(**SMALL), seed=3)
    nodes, arrays = capture(state)
    for name in ("os:system", "builtins:object", "drbo.search.loop:Nothing", "drbo.estimator:DrBO"):
        forged = nodes.replace(b"drbo.search.evaluate:Evaluator", name.encode())
        with pytest.raises(Exception, match="unknown class"):
            restore(state, forged, arrays)
