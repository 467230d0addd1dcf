import json

import pytest

from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.errors import CheckpointError
from drbo.scores.bge import BGe
from drbo.scores.linear import BicNV
from drbo.search import checkpoint
from drbo.search.checkpoint import MANIFEST, PREVIOUS, load, save
from drbo.search.loop import Search
from drbo.search.order_search import OrderSearch
from drbo.settings import Settings

SMALL = {"max_evals": 200, "batch_size": 8, "n_candidates": 200}


@pytest.fixture(scope="module")
def table():
    return Table.from_array(simulate("6ER2", n=60, seed=1).X)


def _step(state):
    state.learn(state.evaluate(state.propose()))


@pytest.fixture
def saved(table, tmp_path):
    state = Search(BGe(table), Settings(**SMALL), seed=3)
    _step(state)
    save(tmp_path, state, {"seed": 3})
    _step(state)
    save(tmp_path, state, {"seed": 4})
    return tmp_path


def test_the_newest_and_the_one_before_are_kept(saved):
    assert len(list(saved.glob("state-*.npz"))) == 2
    assert load(saved).about == {"seed": 4}
    (saved / MANIFEST).unlink()
    assert load(saved).about == {"seed": 3}


def test_a_damaged_one_gives_way_to_the_one_before(saved):
    content = json.loads((saved / MANIFEST).read_text())
    state = saved / content["state"]
    raw = bytearray(state.read_bytes())
    raw[len(raw) // 2] ^= 1
    state.write_bytes(raw)
    assert load(saved).about == {"seed": 3}
    (saved / PREVIOUS).unlink()
    with pytest.raises(CheckpointError, match="does not match the checksum"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 9}, "format version 9"),
        ({"format": "x"}, "not a saved search"),
        ({"about": {"seed": 5}}, "does not match its checksum"),
        ({"state": "../../etc/passwd"}, "does not match its checksum"),
    ],
)
def test_a_manifest_that_was_changed_is_refused(saved, change, message):
    (saved / PREVIOUS).unlink()
    content = json.loads((saved / MANIFEST).read_text()) | change
    (saved / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=message):
        load(saved)


def test_no_file_outside_of_the_folder_is_named(saved):
    (saved / PREVIOUS).unlink()
    content = json.loads((saved / MANIFEST).read_text()) | {"state": "../state.npz"}
    content["checksum"] = checkpoint._checksum(content)
    (saved / MANIFEST).write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match="outside of its folder"):
        load(saved)


def test_a_folder_without_a_search(tmp_path):
    with pytest.raises(CheckpointError, match="holds no saved search"):
        load(tmp_path)


def test_the_state_of_another_kind_of_search_is_refused(saved, table):
    with pytest.raises(CheckpointError, match=r"not of .*OrderSearch"):
        load(saved).restore(OrderSearch(BicNV(table), Settings()))
