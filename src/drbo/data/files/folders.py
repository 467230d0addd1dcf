"""Folders of runs, untrusted like files: what is done inside one by name never follows a link out of it."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from drbo.errors import ResultError

#: Whether the system opens a folder and works inside it by its descriptor: then nobody can exchange it meanwhile.
BY_DESCRIPTOR = {os.open, os.stat, os.unlink, os.mkdir, os.rename, os.rmdir} <= os.supports_dir_fd
#: Permissions of folders and files that hold data or results.
OWNER_ONLY_FOLDER, OWNER_ONLY = 0o700, 0o600
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def refuse_link(path: Path) -> Path:
    """Return a path inside the folder of a run; refuse a link, which whoever made the folder may have put there."""
    if _is_link(path):
        raise ResultError(
            f"{path} is a link, and links inside the folder of a run are not followed",
            hint="put what it points to in its place, or choose another folder",
        )
    return path


def _is_link(path: Path) -> bool:
    junction = getattr(os.path, "isjunction", None)  # of Windows, from Python 3.12 on
    return path.is_symlink() or (junction is not None and bool(junction(path)))


def other_owner(folder: Path) -> str:
    """Return the name of the user that a folder belongs to, if that is another one; root may do anything anyway."""
    if not hasattr(os, "getuid") or (owner := folder.stat().st_uid) in (os.getuid(), 0):
        return ""
    try:
        return folder.owner()
    except (KeyError, NotImplementedError):  # a number without a name, as of another machine
        return str(owner)


@contextmanager
def private() -> Iterator[None]:
    """Let only the owner read what is written inside, whatever the umask says; it holds for the whole process."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


class Inside:
    """A folder held open: files in it, and in folders inside it, are found by name and are never links."""

    def __init__(self, path: Path, within: int | None = None) -> None:
        self.path = path
        self._number: int | None = None
        if BY_DESCRIPTOR:
            follow = os.O_NOFOLLOW if within is not None else 0  # the folder itself may be named by a link of the user
            name = path.name if within is not None else path
            self._number = os.open(name, os.O_RDONLY | os.O_DIRECTORY | follow, dir_fd=within)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_details: object) -> None:
        if self._number is not None:
            os.close(self._number)

    def _at(self, name: str) -> str:
        return name if self._number is not None else str(self.path / name)

    def names(self) -> list[str]:
        """Return the names of all that is in the folder, sorted."""
        return sorted(os.listdir(self.path if self._number is None else self._number))

    def close_to_others(self) -> None:
        """Let nobody else write into the folder, where it is one's own and the system knows permissions."""
        if self._number is None or not hasattr(os, "getuid"):
            return
        found = os.fstat(self._number)
        if found.st_uid == os.getuid() and found.st_mode & OTHERS_WRITE:
            os.fchmod(self._number, stat.S_IMODE(found.st_mode) & ~OTHERS_WRITE)

    def is_folder(self, name: str) -> bool:
        """Tell whether a name is that of a folder, not of a link to one."""
        try:
            return stat.S_ISDIR(os.stat(self._at(name), dir_fd=self._number, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            return False

    def inner(self, name: str) -> "Inside":
        """Open a folder inside this one; a link is an error."""
        if self._number is None:
            refuse_link(self.path / name)
        return Inside(self.path / name, self._number)

    def make(self, name: str) -> None:
        """Make a folder inside this one, unless it is there."""
        with suppress(FileExistsError):
            os.mkdir(self._at(name), OWNER_ONLY_FOLDER, dir_fd=self._number)

    def fresh(self, prefix: str) -> str:
        """Make a folder that nobody else can have prepared, for its owner alone, and return its name."""
        name = f"{prefix}{secrets.token_hex(8)}"
        os.mkdir(self._at(name), OWNER_ONLY_FOLDER, dir_fd=self._number)
        return name

    def move(self, name: str, other: "Inside") -> None:
        """Move a file, or a link as it is, to another folder, in place of what has its name there."""
        os.replace(self._at(name), other._at(name), src_dir_fd=self._number, dst_dir_fd=other._number)

    def remove(self, name: str) -> None:
        """Remove a file, or a link as it is."""
        os.unlink(self._at(name), dir_fd=self._number)

    def remove_empty(self, name: str) -> None:
        """Remove a folder if nothing is in it."""
        with suppress(OSError):
            os.rmdir(self._at(name), dir_fd=self._number)

    def remove_all(self, name: str) -> None:
        """Remove a folder with all that is in it; links in it are removed, not followed."""
        if self._number is None:
            refuse_link(self.path / name)
        shutil.rmtree(self._at(name), ignore_errors=True, dir_fd=self._number)
