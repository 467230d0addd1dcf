import hashlib
import json
import os
import sys

import numpy as np
import pytest

from drbo.data.files.files import npz_bytes
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.errors import CheckpointError
from drbo.scores.bge import BGe
from drbo.scores.linear import BicNV
from drbo.search.checkpoint import files as checkpoint
from drbo.search.checkpoint.files import MANIFEST, PREVIOUS, load, save
from drbo.search.loop import ProposalSearch
from drbo.search.orders.search import OrderSearch
from drbo.search.strategy import new_search
from drbo.settings import Settings

SMALL = {"max_evals": 200, "batch_size": 8, "n_candidates": 200}


@pytest.fixture(scope="module")
def table():
    return Statistics.from_array(simulate("6ER2", n=60, seed=1).X)


def _step(state):
    state.learn(state.evaluate(state.propose()))


@pytest.fixture
def saved(table, tmp_path):
    state = new_search(BGe(table), Settings().with_(**SMALL), seed=3)
    _step(state)
    save(tmp_path, state, {"seed": 3, "seconds": 10.0, "n_evals": 16})
    _step(state)
    save(tmp_path, state, {"seed": 4, "seconds": 21.5, "n_evals": 40})
    return tmp_path


def _seed(checkpoint):
    return checkpoint.about["seed"]


def test_the_newest_and_the_one_before_are_kept(saved):
    assert len(list(saved.glob("state-*.npz"))) == 2
    assert _seed(load(saved)) == 4
    (saved / MANIFEST).unlink()
    with pytest.warns(UserWarning, match=r"checkpoint.json cannot be read.*saved after 10.0 s and 16 evaluations"):
        assert _seed(load(saved)) == 3


def test_a_damaged_one_gives_way_to_the_one_before(saved):
    content = json.loads((saved / MANIFEST).read_text())
    state = saved / content["state"]
    raw = bytearray(state.read_bytes())
    raw[len(raw) // 2] ^= 1
    state.write_bytes(raw)
    words = r"state-.*\.npz does not match the checksum in checkpoint.json; the search continues from the previous "
    words += r"checkpoint, saved after 10.0 s and 16 evaluations: 11.5 s of work \(24 evaluations\) will be repeated"
    with pytest.warns(UserWarning, match=words):
        assert _seed(load(saved)) == 3
    (saved / PREVIOUS).unlink()
    with pytest.raises(CheckpointError, match="does not match the checksum"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 9}, "format version 9"),
        ({"version": 1}, "saved by an earlier version of drbo .format version 1"),
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
    for name in ("../state-0.npz", "/etc/passwd", "", ".", "..", "checkpoint.json", "state-0.npz\n", "a\0b"):
        content = json.loads((saved / MANIFEST).read_text()) | {"state": name}
        content["checksum"] = checkpoint._checksum(content)
        (saved / MANIFEST).write_text(json.dumps(content))
        with pytest.raises(CheckpointError, match="state must name a file in the same folder"):
            load(saved)


def test_a_folder_without_a_search(tmp_path):
    with pytest.raises(CheckpointError, match="does not contain a saved search"):
        load(tmp_path)


def test_the_state_of_another_kind_of_search_is_refused(saved, table):
    with pytest.raises(CheckpointError, match="kind must be one of orders, got 'proposals'"):
        load(saved).restore(OrderSearch(BicNV(table), Settings()))


def test_a_search_of_version_0_1_is_told_how_to_go_on(tmp_path):
    (tmp_path / MANIFEST).write_text('{"format": "drbo-checkpoint", "version": 1, "about": {}, "state": "state-0.npz"}')
    with pytest.raises(CheckpointError, match=r"finish it with that version, or start a new search"):
        load(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_only_the_owner_may_read_a_saved_search(saved):
    assert {path.name: path.stat().st_mode & 0o777 for path in saved.iterdir()} == {
        path.name: 0o600 for path in saved.iterdir()
    }


def test_a_pipe_in_place_of_the_state_is_refused(saved):
    (saved / PREVIOUS).unlink()
    state = saved / json.loads((saved / MANIFEST).read_text())["state"]
    state.unlink()
    os.mkfifo(state)
    with pytest.raises(CheckpointError, match="not a regular file"):
        load(saved)


def _forge(folder, change, **members):
    """Change the newest state, with checksums that fit."""
    (folder / PREVIOUS).unlink(missing_ok=True)
    content = json.loads((folder / MANIFEST).read_text())
    state = folder / content["state"]
    with np.load(state) as archive:
        arrays = dict(archive)
    plain = json.loads(arrays["fields"].tobytes())
    change(plain)
    arrays["fields"] = np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)
    state.write_bytes(npz_bytes(arrays | members))
    content["sha256"] = hashlib.sha256(state.read_bytes()).hexdigest()
    content["checksum"] = checkpoint._checksum(content)
    (folder / MANIFEST).write_text(json.dumps(content))


def test_no_attribute_of_a_search_can_be_replaced(saved, table):
    for name in ("evaluate", "__class__", "builtins.exec", "score.local", "proposer.propose"):
        fresh = new_search(BGe(table), Settings().with_(**SMALL), seed=3)
        before = {key: id(value) for key, value in vars(fresh).items()}
        _forge(saved, lambda plain, name=name: plain.update({name: {"given": ["__globals__", "exec"]}}))
        with pytest.raises(CheckpointError, match="unknown field"):
            load(saved).restore(fresh)
        assert vars(fresh).keys() == before.keys()
        _forge(saved, lambda plain, name=name: plain.pop(name))


def test_the_way_in_of_version_1_leads_nowhere(saved, table):
    """Nodes that follow attributes to builtins.exec and put it in place of evaluate, as version 1 would have."""
    path = ["evaluate", "__func__", "__globals__", "__builtins__", "exec"]
    nodes = [
        {"object": "drbo.search.loop:Search", "items": {"evaluate": {"r": 1}, "propose": {"r": 2}}},
        {"given": path},
        {"sequence": "list", "items": ["open('canary', 'w')"], "size": None},
    ]
    skeleton = np.frombuffer(json.dumps(nodes).encode(), dtype=np.uint8)
    fresh = new_search(BGe(table), Settings().with_(**SMALL), seed=3)
    _forge(saved, lambda plain: None, skeleton=skeleton)
    with pytest.raises(CheckpointError, match=r"unknown field 'skeleton.npy'"):
        load(saved).restore(fresh)
    _forge(saved, lambda plain: None, fields=skeleton)
    with pytest.raises(CheckpointError, match="must contain a JSON object"):
        load(saved).restore(fresh)
    assert fresh.evaluate.__func__ is ProposalSearch.evaluate
