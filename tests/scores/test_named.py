import sys

import pytest

from drbo.errors import SettingsError
from drbo.scores.bge import BGe
from drbo.scores.named import is_built_in, score_label, score_of_file


class Plain:
    def __init__(self, table):
        pass

    def local_one(self, node, parents):
        return 0.0


class Named(BGe):
    name = "of my own"


HERE = __name__


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A module that leaves a mark when it is imported."""
    (tmp_path / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\nclass Score:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "trap", raising=False)
    return tmp_path / "sprung"


def test_scores_of_drbo_may_come_from_a_file():
    assert all(is_built_in(name) for name in ("auto", "bge", "bic-nv"))
    assert not any(is_built_in(name) for name in ("bge:bge", "drbo.scores.bge:BGe", "", "os:system"))
    assert score_of_file("bge", None, "f") == "bge"
    assert score_of_file("bge", "bge", "f") == "bge"
    with pytest.raises(SettingsError, match=r"f names the score 'bge', but 'bic-nv' was given"):
        score_of_file("bge", "bic-nv", "f")


def test_no_code_is_loaded_because_a_file_names_it(trap):
    with pytest.raises(SettingsError, match="does not load code that only a file names") as caught:
        score_of_file("trap:Score", None, "f")
    assert "add score='trap:Score'" in caught.value.hint
    with pytest.raises(SettingsError, match=r"names the score 'trap:Score', but 'bge' was given"):
        score_of_file("trap:Score", "bge", "f")
    with pytest.raises(SettingsError, match=r"names the score 'trap:Score', but 'tests.*:Plain' was given"):
        score_of_file("trap:Score", Plain, "f")
    assert not trap.exists()
    assert score_of_file("trap:Score", "trap:Score", "f") == "trap:Score"


def test_a_score_is_recognised_by_what_a_result_calls_it():
    for found in (f"{HERE}:Plain", "Plain"):
        assert score_of_file(found, Plain, "f") is Plain
        assert score_of_file(found, f"{HERE}:Plain", "f") == f"{HERE}:Plain"
    assert score_of_file("of my own", Named, "f") is Named
    with pytest.raises(SettingsError, match="names the score 'Other'"):
        score_of_file("Other", Plain, "f")
    with pytest.raises(SettingsError, match="give the score as score='module:Class'"):
        score_of_file("Other", None, "f")


def test_objects_have_no_label():
    assert score_label(Plain) == f"{HERE}:Plain"
    with pytest.raises(SettingsError, match="a score object cannot be saved"):
        score_label(Plain(None))
