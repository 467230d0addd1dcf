"""numba, with a place for what it compiles: every module that numba compiles imports it from here.

numba keeps compiled code beside the package or in the home folder, and fails where it can write to neither: a read-only
installation, a container whose user has no home. There a private temporary folder takes its place, or nothing does.
"""

import multiprocessing
import os
import stat
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numba as numba  # exported
from numba.core.dispatcher import Dispatcher

PACKAGE = Path(__file__).parent
_CONFIG: Any = numba.config
_DISPATCHER: Any = Dispatcher


def _is_writable(folder: Path) -> bool:
    """Tell whether files can be made in a folder, which is made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _numba_finds_a_place() -> bool:
    given = _CONFIG.CACHE_DIR
    if given and _is_writable(Path(given)):
        return True
    if all(_is_writable(folder / "__pycache__") for folder in {path.parent for path in PACKAGE.rglob("*.py")}):
        return True
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # as numba does
    return os.path.isabs(home) and _is_writable(Path(home, "numba"))  # a user without a home has '~' itself


def _private_folder() -> Path | None:
    """Return a folder for temporary files that only this user can write to; None: there is none.

    numba unpickles what it finds in its cache, so a folder that someone else could have made is not taken.
    """
    try:
        base = Path(tempfile.gettempdir())
        shared = base.stat().st_mode
        if shared & stat.S_IWOTH and not shared & stat.S_ISVTX:  # anyone may put another folder in its place
            return None
        folder = base / f"drbo-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except (OSError, AttributeError):  # no user numbers on Windows
        return None
    private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o077
    return folder if private and _is_writable(folder) else None


def _prepare() -> None:
    """Give numba a place, or let it compile without one."""
    if _numba_finds_a_place():
        return
    folder = _private_folder()
    if folder is None:
        _DISPATCHER.enable_caching = lambda _self: None  # cache=True fails without a place
        words = "there is no place to keep compiled code: every run compiles anew, which takes a minute or two"
    else:
        _CONFIG.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)  # worker processes take it over
        words = f"compiled code is kept in {folder}"
    if multiprocessing.parent_process() is None:
        warnings.warn(f"neither the package nor the home folder can be written: {words}", stacklevel=2)


_prepare()
