import os
import stat
import tempfile
from pathlib import Path

import pytest

from drbo.data.files import folders
from drbo.data.files.folders import Inside, other_owner, private, refuse_link
from drbo.errors import ResultError


@pytest.fixture(params=[True, False], ids=["descriptors", "paths"])
def ways(request, monkeypatch):
    """Both ways to work inside a folder: by its descriptor, and by paths, as on Windows."""
    monkeypatch.setattr(folders, "BY_DESCRIPTOR", request.param and folders.BY_DESCRIPTOR)
    return request.param


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.mkdir()
    (path / "edges.csv").write_text("mine")
    return path


def test_a_link_is_refused_in_words(tmp_path, victim):
    link = tmp_path / "link"
    link.symlink_to(victim)
    with pytest.raises(ResultError, match="link, and links inside the folder of a run are not followed"):
        refuse_link(link)
    assert refuse_link(victim) == victim


def test_nothing_is_done_through_a_link(tmp_path, victim, ways):
    run, aside = tmp_path / "run", tmp_path / "aside"
    run.mkdir(), aside.mkdir()
    (run / "sub").symlink_to(victim)
    (run / "edges.csv").symlink_to(victim / "edges.csv")
    with Inside(run) as inside, Inside(aside) as other:
        assert not inside.is_folder("sub")
        with pytest.raises((OSError, ResultError)):
            inside.inner("sub")
        inside.move("edges.csv", other)  # the link itself
        other.remove("edges.csv")
        inside.make("sub")
        inside.remove_empty("sub")
        if ways:
            inside.remove_all("sub")
    assert (victim / "edges.csv").read_text() == "mine"


def test_all_of_a_folder_is_removed_but_not_what_its_links_point_to(tmp_path, victim, ways):
    (tmp_path / "run" / "old").mkdir(parents=True)
    (tmp_path / "run" / "old" / "link").symlink_to(victim)
    with Inside(tmp_path / "run") as inside:
        inside.remove_all("old")
        assert inside.names() == []
    assert (victim / "edges.csv").exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_a_fresh_folder_and_what_is_written_privately_are_for_their_owner(tmp_path, ways):
    before = os.umask(0)
    try:
        with private():
            (tmp_path / "file").touch()
            (tmp_path / "folder").mkdir()
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    with Inside(tmp_path) as inside:
        names = [inside.fresh(".aside-") for _ in range(2)]
    assert len(set(names)) == 2
    for path in map(tmp_path.joinpath, ("file", "folder", *names)):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_a_folder_that_is_named_by_a_link_of_the_user_is_taken(tmp_path, ways):
    (tmp_path / "run-3").mkdir()
    (tmp_path / "latest").symlink_to("run-3")
    with Inside(tmp_path / "latest") as inside:
        inside.make("sub")
    assert Path(tmp_path / "run-3" / "sub").is_dir()


@pytest.mark.skipif(os.name == "nt", reason="permissions of Unix")
def test_others_lose_the_right_to_write_and_no_other():
    """In a folder of one's own; that of another user is left as it is."""
    with tempfile.TemporaryDirectory() as name:
        for before, after in ((0o777, 0o755), (0o2770, 0o2750), (0o700, 0o700)):
            os.chmod(name, before)
            with Inside(Path(name)) as inside:
                inside.close_to_others()
            assert stat.S_IMODE(os.stat(name).st_mode) == after


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give folders away")
def test_the_owner_of_a_folder_is_named(tmp_path):
    for number, name in ((0, ""), (65534, "nobody"), (54321, "54321")):
        os.chown(tmp_path, number, -1)
        assert other_owner(tmp_path) == name
