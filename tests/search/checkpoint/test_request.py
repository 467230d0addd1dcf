import json

import pytest

from drbo.errors import CheckpointError
from drbo.search.checkpoint import request
from drbo.search.checkpoint.request import REQUEST

ABOUT = {"seed": 3, "columns": ["a", "b"]}


def test_what_was_asked_for_comes_back(tmp_path):
    request.save(tmp_path, ABOUT)
    assert request.load(tmp_path) == ABOUT
    assert request.is_all(tmp_path)
    (tmp_path / "checkpoint.previous.json").touch()
    assert not request.is_all(tmp_path)


def test_an_older_search_is_removed_and_nothing_else(tmp_path):
    request.save(tmp_path, ABOUT)
    for name in ("checkpoint.json", "checkpoint.previous.json", "state-1.npz", "state-2.npz", "mine.txt"):
        (tmp_path / name).touch()
    request.clear(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    request.clear(tmp_path / "absent")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "is not a saved search"),
        ({"version": 9}, "format version 9, but this version of drbo reads only 3"),
        ({"about": {"seed": 4}}, "does not match its checksum"),
        ({"about": []}, "does not match its checksum"),
    ],
)
def test_what_was_changed_is_refused(tmp_path, change, message):
    request.save(tmp_path, ABOUT)
    content = json.loads((tmp_path / REQUEST).read_text())
    (tmp_path / REQUEST).write_text(json.dumps(content | change))
    with pytest.raises(CheckpointError, match=message):
        request.load(tmp_path)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff"])
def test_what_is_damaged_is_refused(tmp_path, raw):
    (tmp_path / REQUEST).write_bytes(raw)
    with pytest.raises(CheckpointError, match=REQUEST):
        request.load(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be saved"):
        request.save(tmp_path / "absent", ABOUT)
    (tmp_path / "checkpoint.json").mkdir()
    with pytest.raises(CheckpointError, match="cannot be saved"):
        request.clear(tmp_path)
