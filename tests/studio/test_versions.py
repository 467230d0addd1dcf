"""Named versions: kept with their result, found again, and refused where they are none."""

from pathlib import Path

import pytest

from drbo.errors import DrboError, SettingsError
from drbo.studio.said import Said
from drbo.studio.versions import Versions


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("result.json", "result.npz"):
        (tmp_path / name).write_text(name)
    return tmp_path


def test_a_version_keeps_its_result_and_knows_where_it_came_from(folder):
    versions = Versions(folder)
    versions.keep("plain", Said())
    versions.keep("<b>", Said(roots=("a",)))
    (folder / "result.json").write_text("changed")
    assert (versions.place(0) / "result.json").read_text() == "result.json"
    assert versions.place(0).stat().st_mode & 0o077 == 0
    assert versions.shown() == [{"name": "plain", "parent": ""}, {"name": "<b>", "parent": "plain"}]
    again = Versions(folder)
    again.read(versions.to_list())
    assert (again[1], again.at) == (versions[1], "<b>")
    versions.at = "plain"
    versions.keep("branch", Said())
    assert versions[2].parent == "plain"


@pytest.mark.parametrize("name", ["plain", "", None, "a\0", 3])
def test_a_name_that_is_taken_or_none_is_refused(folder, name):
    versions = Versions(folder)
    versions.keep("plain", Said())
    with pytest.raises(DrboError):
        versions.keep(name, Said())


@pytest.mark.parametrize("number", [1, -1, True, "0", None])
def test_what_is_no_version_is_refused(folder, number):
    versions = Versions(folder)
    versions.keep("plain", Said())
    with pytest.raises(SettingsError, match="no version"):
        versions[number]


@pytest.mark.parametrize("content", [{}, [["a"]], [["a", "", {"code": 1}]], [[1, "", {}]]])
def test_forged_versions_are_refused(folder, content):
    with pytest.raises(DrboError):
        Versions(folder).read(content)
