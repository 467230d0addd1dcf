"""The folder of a run: which files in it are ours, who holds it, and what becomes of an older run in it."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drbo.result.files.plan import CLUSTERS, PLAN, RESAMPLES

PICTURE = "graph.svg"
CHECKPOINT = "checkpoint"  # the folder of the saved search inside that of the result
REPORT = "report.html"
ASIDE = ".replaced"  # an older run, until the new one has started
STARTED = f"{CHECKPOINT}/request.json"
#: All files of a run, and of the saved search in it; version 0.1 drew graph.png.
FILES = ("edges.csv", PICTURE, "graph.png", REPORT, "result.json", "result.npz", PLAN, CLUSTERS, RESAMPLES)
SEARCH_FILES = ("request.json", "checkpoint.json", "checkpoint.previous.json", "table.npz", "state-*.npz")
#: A file that was being written when its program was killed.
LEFT_OVER = re.compile(r"\.[0-9a-f]{16}\.tmp")


def names_in(folder: Path) -> set[str]:
    """Return the names of what a folder holds beside locks and what killed programs left over."""
    from drbo.data.files.lock import LOCK

    names = {path.name for path in folder.iterdir()} - {LOCK} if folder.exists() else set()
    return {name for name in names if not LEFT_OVER.fullmatch(name)}


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a run; that of its search, which has the same owner, goes without another word."""
    from drbo.data.files.lock import discard_ended, locked  # 'drbo --help' does without NumPy

    with locked(folder):
        discard_ended(folder / CHECKPOINT)
        try:
            yield
        finally:
            shutil.rmtree(folder / ASIDE, ignore_errors=True)


@contextmanager
def older_run_aside(folder: Path) -> Iterator[None]:
    """Set the run in a folder aside; it comes back if the new one fails before its search starts."""
    aside = folder / ASIDE
    _move_run(folder, aside)
    try:
        yield
    except BaseException:
        if not any((folder / name).exists() for name in (STARTED, "result.json")):
            _move_run(aside, folder)
        raise


def _run_files(folder: Path) -> list[Path]:
    """Return the files of a run that are there, not those that drbo did not write."""
    saved = folder / CHECKPOINT
    found = [path for name in FILES for path in folder.glob(name)]
    found += [saved] if saved.is_symlink() else [path for name in SEARCH_FILES for path in saved.glob(name)]
    return [path for path in found if path.is_symlink() or path.is_file()]


def _move_run(source: Path, target: Path) -> None:
    """Move the files of a run to another folder, in place of those of the run that is there."""
    for path in _run_files(target):
        with suppress(OSError):
            path.unlink()
    for path in _run_files(source):
        new = target / path.relative_to(source)
        with suppress(OSError):
            new.parent.mkdir(parents=True, exist_ok=True)
            path.replace(new)
