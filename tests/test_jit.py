"""Compiled code finds a place where neither the package nor the home folder can be written."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import drbo
from drbo import jit

PROGRAM = """
import warnings
warnings.simplefilter("always")
import numpy as np
from drbo.search.paper.cpu import random_word
print(random_word(np.uint64(1)))
"""
NOWHERE = "/proc/nowhere"  # a folder that nobody can make, not even root


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package that cannot be written: files in the place of the folders for compiled code."""
    home = tmp_path_factory.mktemp("site")
    shutil.copytree(Path(drbo.__file__).parent, home / "drbo", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in (home / "drbo").rglob("*.py")}:
        (folder / "__pycache__").touch()
    return home


def _run(package, **environment):
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LD_LIBRARY_PATH", "LANG")}
    paths = os.pathsep.join([str(package), *(path for path in sys.path if "site-packages" in path)])
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], env=kept | {"PYTHONPATH": paths} | environment, cwd=package,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("home", [{"HOME": NOWHERE}, {"XDG_CACHE_HOME": NOWHERE}])
def test_a_private_temporary_folder_takes_the_place_of_the_home_folder(package, tmp_path, home):
    done = _run(package, TMPDIR=str(tmp_path), **home)
    assert done.returncode == 0, done.stderr
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))
    assert done.stderr.count("neither the package nor the home folder can be written") == 1
    assert f"compiled code is kept in {folder}" in done.stderr
    assert not (package / "~").exists()
    again = _run(package, TMPDIR=str(tmp_path), **home)
    assert again.stdout == done.stdout


def test_a_temporary_folder_of_someone_else_is_not_taken(package, tmp_path):
    folder = tmp_path / f"drbo-{os.getuid()}"
    folder.mkdir(mode=0o755)  # others may read it: not made by drbo
    folder.chmod(0o777)
    done = _run(package, TMPDIR=str(tmp_path), HOME=NOWHERE)
    assert done.returncode == 0, done.stderr
    assert "every run compiles anew" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_place_that_numba_finds_is_left_alone(package, tmp_path):
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        (tmp_path / name).mkdir()
        done = _run(package, **{"HOME": NOWHERE} | {name: str(tmp_path / name)})
        assert (done.returncode, done.stderr) == (0, "")
        assert list((tmp_path / name).rglob("*.nbc"))


def test_a_user_without_a_home(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "PACKAGE", tmp_path / "drbo")
    (tmp_path / "drbo").mkdir()
    (tmp_path / "drbo" / "a.py").touch()
    (tmp_path / "drbo" / "__pycache__").touch()
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does for a user that has no entry
    monkeypatch.chdir(tmp_path)
    assert not jit._numba_finds_a_place()
    assert not (tmp_path / "~").exists()


def test_which_folders_are_private(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    folder = jit._private_folder()
    assert folder == tmp_path / f"drbo-{os.getuid()}"
    assert jit._private_folder() == folder
    folder.chmod(0o750)
    assert jit._private_folder() is None
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    assert jit._private_folder() is None
    folder.unlink()
    with monkeypatch.context() as patch:
        real, other = os.getuid(), os.getuid() + 1
        (tmp_path / f"drbo-{other}").mkdir(mode=0o700)  # made by someone else
        patch.setattr(os, "getuid", lambda: other)
        assert jit._private_folder() is None
        assert real != other
    tmp_path.chmod(0o777)
    assert jit._private_folder() is None
    tmp_path.chmod(0o1777)
    assert jit._private_folder() == folder
    monkeypatch.setattr(tempfile, "gettempdir", lambda: NOWHERE)
    assert jit._private_folder() is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user")
def test_a_user_of_any_number(package, tmp_path):
    """As in containers that are started with a number that nobody has."""
    tmp_path.chmod(0o1777)
    for folder in (package, *package.parents):
        if folder.stat().st_uid == os.getuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    program = (
        "import numba, numba.core.dispatcher, numpy, multiprocessing, tempfile, warnings, os, sys\n"
        "import numba.core.typed_passes, numba.core.caching, pwd\n"
        "warnings.simplefilter('always')\n"
        "os.environ.pop('HOME', None); os.setgid(54321); os.setuid(54321)\n"
        "import drbo.jit\n"
        "print(numba.config.CACHE_DIR)\n"
    )
    paths = os.pathsep.join([str(package), *(path for path in sys.path if "site-packages" in path)])
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": paths, "TMPDIR": str(tmp_path)}, cwd="/",
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "drbo-54321")
    assert (tmp_path / "drbo-54321").stat().st_uid == 54321


def test_the_package_is_imported_in_a_moment_and_without_numba():
    program = "import sys, drbo; sys.exit('numba' in sys.modules)"
    command = [sys.executable, "-X", "importtime", "-c", program]
    found = []
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        (line,) = (line for line in done.stderr.splitlines() if line.endswith("| drbo"))
        found.append(int(line.split("|")[1]) / 1e6)
        time.sleep(0.1)
    assert min(found) < 0.1
