"""One writer per folder: a lock file names its owner, and other processes take it over once the owner is gone."""

import json
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from drbo.data.files.files import read_bytes, read_json
from drbo.data.files.folders import OWNER_ONLY
from drbo.errors import LockError, WriteError, write_hint

LOCK = "drbo.lock"
#: The owner touches the file this often. Where nobody can ask for its process, such as on another machine, it counts as
#: gone when the file has not been touched for STALE_SECONDS.
HEARTBEAT_SECONDS = 30.0
STALE_SECONDS = 600.0
MAX_LOCK_BYTES = 10_000


@dataclass(frozen=True)
class Owner:
    """The process that holds a lock."""

    pid: int
    host: str
    space: str  # boot and process namespace: where these are equal, a process can be asked for by its number
    started: str  # when the process began, in ticks since the boot: numbers of processes are used again
    since: str  # when it took the lock, for people
    token: str

    @classmethod
    def this_process(cls) -> Self:
        """Return the owner that this process would be."""
        since = time.strftime("%Y-%m-%d %H:%M:%S")
        pid = os.getpid()
        return cls(pid, socket.gethostname(), _space(), _started(pid), since, secrets.token_hex(8))

    @classmethod
    def read(cls, path: Path) -> "Owner | None":
        """Return the owner that a lock file names; None: it is damaged, or being written."""
        try:
            content = read_json(read_bytes(path, MAX_LOCK_BYTES, follow=False))
            fields = {name: content[name] for name in cls.__dataclass_fields__}
        except (OSError, ValueError, KeyError, TypeError):  # a ResultError is a ValueError
            return None
        words = all(isinstance(value, str) for name, value in fields.items() if name != "pid")
        return cls(**fields) if words and type(fields["pid"]) is int else None

    @property
    def is_gone(self) -> bool | None:
        """Whether the process has ended; None: it cannot be asked for from here."""
        if self.space != _space() or not self.space or sys.platform == "win32":
            return None
        return _started(self.pid) != self.started


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which must exist; refuse if another process holds it."""
    path, owner = folder / LOCK, Owner.this_process()
    try:
        with _guarded(folder) as alone:
            _take(path, owner, alone)
    except OSError as error:
        hint = write_hint(error, "choose another folder")
        raise WriteError(f"{path} cannot be written: {error.strerror}", hint=hint) from error
    released = threading.Event()
    beat = threading.Thread(target=_beat, args=(path, released), daemon=True)
    beat.start()
    try:
        yield
    finally:
        released.set()
        with suppress(OSError), _guarded(folder):
            found = Owner.read(path)
            if found is not None and found.token == owner.token:
                path.unlink()


def discard_ended(folder: Path) -> None:
    """Remove the lock of a folder if its owner has ended, without a word: for one who has told it already."""
    with suppress(OSError), _guarded(folder):
        found = Owner.read(folder / LOCK)
        if found is not None and found.is_gone:
            (folder / LOCK).unlink()


def _take(path: Path, owner: Owner, alone: bool) -> None:
    """Create the lock file, in place of one whose owner is gone; ``alone``: nobody can be writing it now."""
    try:
        _create(path, owner)
    except FileExistsError:
        found = Owner.read(path)
        age = _age(path)
        gone = found.is_gone if found is not None else alone or None  # half a file: its disk was full, or it was killed
        if gone is False or (gone is None and age < STALE_SECONDS):
            raise LockError(_in_use(path, found, age), hint=_way_out(path)) from None
        path.unlink(missing_ok=True)
        try:
            _create(path, owner)
        except FileExistsError:  # no guard on this file system, and someone else was faster
            raise LockError(_in_use(path, Owner.read(path), 0.0), hint=_way_out(path)) from None
        who = "a process" if found is None else f"process {found.pid} on {found.host}"
        why = "has ended" if gone else f"has not updated its lock for {age / 60:.0f} minutes"
        warnings.warn(f"{path.parent} was locked by {who}, which {why}: the lock was taken over", stacklevel=4)


def _create(path: Path, owner: Owner) -> None:
    number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with open(number, "w") as stream:
            json.dump(asdict(owner), stream)
    except BaseException:  # a full disk, an interrupt: half a lock would stand for an owner that cannot be asked for
        path.unlink(missing_ok=True)
        raise


def _in_use(path: Path, owner: Owner | None, age: float) -> str:
    if owner is None:
        return f"{path.parent} is in use by another process, which updated its lock {age:.0f} s ago"
    who = "this process" if (owner.pid, owner.space) == (os.getpid(), _space()) else f"process {owner.pid}"
    return (
        f"{path.parent} is in use by {who} on {owner.host}, which locked it at {owner.since} and updated the lock "
        f"{age:.0f} s ago"
    )


def _way_out(path: Path) -> str:
    return f"wait until it ends, or choose another folder; if you are sure that it has ended, remove {path}"


@contextmanager
def _guarded(folder: Path) -> Iterator[bool]:
    """Let one process at a time look at the lock file and change it, where the system can do that; tell whether."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield False
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        alone = False
        with suppress(OSError):  # some network file systems cannot; creating the file is exclusive on all
            fcntl.flock(number, fcntl.LOCK_EX)
            alone = True
        yield alone
    finally:
        os.close(number)


def _beat(path: Path, released: threading.Event) -> None:
    while not released.wait(HEARTBEAT_SECONDS):
        with suppress(OSError):
            os.utime(path, follow_symlinks=os.utime not in os.supports_follow_symlinks)


def _age(path: Path) -> float:
    """Return the seconds since a file was touched, by the clock of its file system."""
    try:
        with tempfile.TemporaryFile(dir=path.parent) as now:
            return max(0.0, os.fstat(now.fileno()).st_mtime - path.lstat().st_mtime)
    except OSError:
        return 0.0


def _space() -> str:
    """Return what boot and what namespace the numbers of processes belong to; empty: unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return "" if Path("/proc").exists() else socket.gethostname()


def _started(pid: int) -> str:
    """Return when a process began; empty: there is none of this number, or it has ended and waits for its parent."""
    try:
        fields: list[Any] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "" if Path("/proc").exists() else _answers(pid)
    return "" if fields[0] in "ZX" else str(fields[19])


def _answers(pid: int) -> str:
    """Return the same where there is no /proc: only whether the process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "running"
    return "running"
