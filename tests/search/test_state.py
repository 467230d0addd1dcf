import io
import json
import zipfile

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.files.files import npz_bytes
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.errors import CheckpointError
from drbo.knowledge import Knowledge
from drbo.scores.bge import BGe
from drbo.scores.linear import BicEV, BicNV
from drbo.scores.registry import build_score
from drbo.search import recombine as improve
from drbo.search.bayes import surrogate as process
from drbo.search.orders.search import OrderSearch
from drbo.search.state import Fields, generator_state, pack
from drbo.search.strategy import new_search
from drbo.settings import Settings
from drbo.testing.searches import restored, saved

SMALL = {"max_evals": 200, "batch_size": 8, "n_candidates": 200}
REGION = {"route": "paper", "space": "full-rank", "masks": "shared", "batch_norm": "training"}
VARIANTS = {
    "default": {},
    "no surrogate": {"surrogate": False},
    "region": REGION,
    "reservoir, low rank": REGION | {"replay": "reservoir", "space": "low-rank"},
    "a mask per row": REGION | {"masks": "row", "batch_norm": "candidates"},
    "ucb, no recombination": REGION | {"acquisition": "ucb", "recombine": False, "skip_known": False, "polish": False},
}


@pytest.fixture(scope="module")
def table():
    return Statistics.from_array(simulate("6ER2", n=60, seed=1).X)


def _step(state):
    state.make_round()
    state.rounds += 1


def _goes_on(make, steps=6, first=0):
    """Check that a search that is saved after any iteration from ``first`` on ends in the same state, bit by bit."""
    state, files = make(), []
    for _ in range(steps):
        files.append(saved(state))
        _step(state)
    for count, raw in enumerate(files[first:], first):
        again = restored(make(), raw)
        assert saved(again) == raw
        for _ in range(steps - count):
            _step(again)
        assert saved(state) == saved(again), f"after iteration {count}"


@pytest.mark.parametrize("variant", list(VARIANTS))
def test_a_search_goes_on_from_every_iteration_as_if_it_had_never_stopped(variant, table):
    settings = Settings().with_(**SMALL | VARIANTS[variant])
    _goes_on(lambda: new_search(BGe(table), settings, seed=3))


@pytest.mark.torch
@pytest.mark.parametrize("variant", ["region", "reservoir, low rank"])
def test_a_search_on_a_gpu_goes_on(variant, table, gpu):
    settings = Settings().with_(**SMALL | VARIANTS[variant])
    _goes_on(lambda: new_search(BGe(table), settings, seed=3, device="cuda"))


@pytest.mark.parametrize("score", ["bic-ev", "gp"])
def test_scores_with_a_level_or_a_cheap_relative(score, table):
    _goes_on(lambda: new_search(build_score(score, table), Settings(max_evals=60), seed=3))


@pytest.mark.parametrize("options", [{}, REGION])
def test_with_knowledge_and_a_prior(options, table):
    known = Knowledge(required=["x0 -> x1"], forbidden=["x2 -> x3"], max_parents={"x4": 1})
    limits, prior = Constraints.of(known, table.names), np.random.default_rng(0).normal(size=(6, 6))
    settings = Settings().with_(**SMALL | options)
    _goes_on(lambda: new_search(BGe(table, edge_prior=prior), settings, constraints=limits, seed=3))


def test_families_that_were_forgotten(monkeypatch):
    """What a long search drops: families of the surrogate, and of the recombination."""
    monkeypatch.setattr(process, "MAX_FAMILIES", 12)
    monkeypatch.setattr(process, "KEPT_FAMILIES", 8)
    monkeypatch.setattr(improve, "POOL", 6)
    table = Statistics.from_array(simulate("14ER2", n=60, seed=1).X)
    state = new_search(BGe(table), Settings(max_evals=500), seed=3)
    for _ in range(8):
        _step(state)
    assert state.recombiner._taken > len(state.recombiner._rows)
    _goes_on(lambda: new_search(BGe(table), Settings(max_evals=500), seed=3), steps=9, first=6)


def _uncounted(search):
    """Return the state of a search without its counts, and the counts: a resumed search computes some sets again."""
    members = pack(search.capture())
    fields = json.loads(bytes(members.pop("fields")))
    counts = [fields["evaluator"].pop(name) for name in ("n_evals", "charged")]
    return npz_bytes(members), fields, counts


@pytest.mark.parametrize("score", [BicNV, BicEV])
def test_an_order_search_goes_on_after_every_climb(score, table):
    settings = Settings(order_patience=4)
    files = []
    state = OrderSearch(score(table), settings, seed=3)
    state.run([lambda progress: files.append(saved(state))])
    *expected, counts = _uncounted(state)
    assert len(files) >= 5
    for raw in files:
        again = restored(OrderSearch(score(table), settings, seed=3), raw)
        assert saved(again) == raw
        again.run()
        *found, more = _uncounted(again)
        assert found == expected
        assert np.greater_equal(more, counts).all()


def test_parts_that_are_shared_stay_shared(table):
    state = new_search(BGe(table), Settings().with_(**SMALL), seed=3)
    _step(state)
    again = restored(new_search(BGe(table), Settings().with_(**SMALL), seed=3), saved(state))
    assert again.recombiner.evaluator is again.proposer.evaluator is again.evaluator
    assert again.proposer.rng is again.proposer.landscape.rng is again.rng


def _forged(search, change):
    """Return a state with some of its members changed; ``change`` gets them as a dict."""
    members = pack(search.capture())
    change(members)
    return npz_bytes(members)


def _text(change):
    """Return a change of the plain fields, as text."""

    def changed(members):
        members["fields"] = np.frombuffer(change(members["fields"].tobytes()), dtype=np.uint8)

    return changed


def _put(name, value):
    return lambda members: members.update({name: value})


def _at(name, place, value):
    def change(members):
        members[name] = members[name].copy()
        members[name][place] = value

    return change


CYCLE = np.zeros((1, 6, 6), dtype=bool)
CYCLE[0, [0, 1, 2], [1, 2, 0]] = True
FORGERIES = {
    "a field too many": (_text(lambda raw: raw[:-1] + b', "__class__": "os"}'), "unknown field '__class__'"),
    "an array too many": (_put("proposer.evaluate", np.zeros(2)), "unknown field 'proposer.evaluate.npy'"),
    "a field that lacks": (_text(lambda raw: raw.replace(b'"rounds"', b'"round"')), "'rounds' is missing"),
    "an array that lacks": (lambda members: members.pop("evaluator.values"), "'evaluator.values' is missing"),
    "a text for a number": (_text(lambda raw: raw.replace(b'"empty": 0', b'"empty": "0"')), "empty must be a whole"),
    "a truth value for a number": (_text(lambda raw: raw.replace(b'"empty": 0', b'"empty": true')), "empty must be"),
    "a negative count": (_text(lambda raw: raw.replace(b'"empty": 0', b'"empty": -1')), "got -1"),
    "another kind": (_text(lambda raw: raw.replace(b'"proposals"', b'"orders"')), "kind must be one of proposals"),
    "much text": (_text(lambda raw: raw + b" " * 2**20), "fields has more than 1048576 bytes"),
    "no object": (_text(lambda raw: b"[]"), "must contain a JSON object"),
    "an even increment": (_text(lambda raw: _even(raw)), "inc must be odd"),
    "another type": (_put("evaluator.values", np.zeros(3, dtype=np.float32)), "values must be float64"),
    "another shape": (_put("best.dag", np.zeros((1, 5, 5), dtype=bool)), r"best.dag must be bool of shape \(1, 6, 6\)"),
    "objects": (_put("best.dag", np.array([None])), "best.dag must be"),
    "a number that is none": (_at("evaluator.values", 0, np.nan), "values must contain"),
    "an infinite number": (_at("evaluator.values", 0, np.inf), "values must contain"),
    "a huge number": (_at("evaluator.values", 0, 1e200), "values must contain"),
    "a node that is not there": (_at("evaluator.keys", (0, 3), 77), "families that the knowledge allows"),
    "a node that is its own parent": (_at("evaluator.keys", (0, 4), 0xFC), "families that the knowledge allows"),
    "bits beyond the last node": (_at("evaluator.keys", (0, 4), 1), "families that the knowledge allows"),
    "a cycle": (_put("best.dag", CYCLE), "best.dag must be acyclic"),
    "unknown families": (_put("best.dag", np.triu(np.ones((1, 6, 6), bool), 1)), "known local scores"),
    "a family twice": (_at("recombiner.rows", 1, 0), "rows must differ"),
}


def _even(raw):
    start = raw.index(b'"inc": ') + 7
    return raw[:start] + b"2" + raw[raw.index(b",", start) :]


@pytest.mark.parametrize("name", list(FORGERIES))
def test_a_forged_field_is_refused_by_name(name, table):
    change, message = FORGERIES[name]
    state = new_search(BGe(table), Settings().with_(**SMALL), seed=3)
    for _ in range(2):
        _step(state)
    with pytest.raises(CheckpointError, match=message):
        restored(new_search(BGe(table), Settings().with_(**SMALL), seed=3), _forged(state, change))


def test_a_generator_goes_on():
    for count in (0, 1, 624):
        rng, other = np.random.default_rng(5), np.random.default_rng(0)
        rng.integers(3, size=count, dtype=np.int32)
        Fields.plain({"rng": generator_state(rng)}, "state").generator("rng", other)
        assert (rng.integers(9, size=9, dtype=np.int32) == other.integers(9, size=9, dtype=np.int32)).all()


def test_no_more_is_read_than_the_file_has(table):
    state = new_search(BGe(table), Settings().with_(**SMALL), seed=3)
    members = pack(state.capture())
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    for compressed, message in ((0, "values must be float64"), (8, "compressed")):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compressed) as archive:
            for name, array in members.items():
                inside = io.BytesIO()
                np.save(inside, array)
                large = name == "evaluator.values"
                archive.writestr(
                    f"{name}.npy", b"\x93NUMPY\x01\x00" + header.getvalue()[8:] if large else inside.getvalue()
                )
        with pytest.raises(Exception, match=message):
            restored(new_search(BGe(table), Settings().with_(**SMALL), seed=3), buffer.getvalue())
