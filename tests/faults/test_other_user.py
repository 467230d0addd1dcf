"""Another user of the machine can neither read nor change anything of a run, and finds nothing to connect to."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import numpy as np
import pytest

from drbo.cli import main
from tests.forked import Forked, forked
from tests.studio.conftest import Opened

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or not Path("/proc/net/tcp").exists(),
    reason="becomes another user, which root alone can",
)
NOBODY = 65534
SOCKETS = ("tcp", "tcp6", "unix")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that everybody can enter and read."""
    rng = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        np.save(Path(folder) / "table.npy", rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)))
        yield Path(folder)


def _tried(work: Callable[[Path], object], paths: list[Path]) -> list[str]:
    """Return the paths with which another user can do something."""

    def other() -> None:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        for path in paths:
            try:
                work(path)
            except OSError:
                continue
            print(path)

    ended = forked(other)
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def _reached(run: Path) -> list[str]:
    """Return what another user can read, list, change or remove of a run."""
    found = [run, *run.rglob("*")]
    folders, files = [one for one in found if one.is_dir()], [one for one in found if one.is_file()]
    assert len(files) > 1
    works: list[tuple[Callable[[Path], object], list[Path]]] = [
        (lambda path: path.read_bytes(), files),
        (lambda path: path.open("r+b").close(), files),
        (lambda path: path.unlink(), files),
        (lambda path: os.listdir(path), folders),
        (lambda path: (path / "new").touch(), folders),
        (lambda path: path.rename(path.with_name("moved")), [run]),
        (lambda path: os.symlink("/etc", path / "checkpoint"), folders),
    ]
    return [path for work, paths in works for path in _tried(work, paths)]


def _listening(process: int) -> list[str]:
    """Return the sockets of a process, and of those that it started, to which somebody could connect."""
    family = [process]
    for one in family:
        family += [int(number) for part in Path(f"/proc/{one}/task").glob("*/children")
                   for number in part.read_text().split()]  # fmt: skip
    own = {os.readlink(link) for one in family for link in Path(f"/proc/{one}/fd").iterdir() if link.is_symlink()}
    found = []
    for kind in SOCKETS:
        for line in Path(f"/proc/net/{kind}").read_text().splitlines()[1:]:
            words = line.split()
            listens = words[3] == "00010000" if kind == "unix" else words[3] == "0A"
            inode = words[6] if kind == "unix" else words[9]
            found += [line] if listens and f"socket:[{inode}]" in own else []
    return found


@pytest.mark.parametrize("words", [(), ("--workers", "2"), ("--bootstrap", "100000", "--workers", "local")])
def test_a_run_is_closed_to_others_while_it_goes_on_and_afterwards(words, place):
    before, run = os.umask(0), place / "run"  # the most open one
    try:
        table = str(place / "table.npy")
        asked = ["fit", table, "-o", str(run), "--set", "order_patience=1000000", "--time-limit", "100s", *words]
        process = Forked(lambda: main(asked))
        end = time.monotonic() + 60
        while time.monotonic() < end and not (run / "checkpoint" / "checkpoint.json").exists():
            time.sleep(0.05)
        time.sleep(1.0)
        found, sockets = _reached(run), _listening(process.pid)
        assert _tried(lambda path: os.kill(int(path.name), 0), [Path(str(process.pid))]) == []
        done = process.end(2)
        assert done.code == 130, done.err
        assert (found, sockets, _reached(run)) == ([], [], [])
    finally:
        os.umask(before)


def test_a_studio_is_closed_to_others(place):
    (place / "table.csv").write_text("a,b\n" + "".join(f"{k % 7},{k % 11}.5\n" for k in range(60)))
    before = os.umask(0)
    try:
        opened = Opened(place, "table.csv", "-o", "run")
        try:
            while opened.state()["columns"] is None:
                time.sleep(0.05)
            opened.post("edit", {"do": "root", "name": "a"})
            opened.post("table?name=x.csv", b"a,b\n1,2\n")
            assert _reached(place / "run") == []
            token = opened.address.split("/")[3]
            words = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
            assert not any(token.encode() in one for one in words)  # everybody can read these
            guessed = opened.address.replace(token, "x" * len(token))
            assert (
                _tried(lambda path: urlopen(str(path).replace(":/", "://", 1)), [Path(guessed), Path(guessed).parent])
                == []
            )
        finally:
            opened.close()
    finally:
        os.umask(before)


def test_the_trial_sees_what_is_open(place):
    (place / "open").mkdir(mode=0o777)
    (place / "open").chmod(0o777)
    for name in ("a", "b"):
        (place / "open" / name).write_text(name)
        (place / "open" / name).chmod(0o666)
    assert str(place / "open" / "a") in _reached(place / "open")
