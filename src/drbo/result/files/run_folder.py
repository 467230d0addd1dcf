"""The folder of a run: which files in it are ours, who holds it, and what becomes of an older run in it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from drbo.data.files.folders import Inside, refuse_link
from drbo.data.files.folders import other_owner as other_owner
from drbo.data.files.folders import private as private  # commands write the report of a run with it
from drbo.result.files.plan import CLUSTERS, PLAN, RESAMPLES

PICTURE, REPORT = "graph.svg", "report.html"
LOCK = "drbo.lock"  # as in drbo.data.files.lock
CHECKPOINT = "checkpoint"  # the folder of the saved search inside that of the result
REQUEST = "request.json"  # with it in the checkpoint, the search has begun and can be resumed
TABLE = "table.npz"
#: A fresh folder for an older run, until the new one has started.
ASIDE = ".replaced-"
ASIDE_NAME = re.compile(r"\.replaced-[0-9a-f]{16}")
#: All files of a run, and of the saved search in it; version 0.1 drew graph.png.
FILES = ("edges.csv", PICTURE, "graph.png", REPORT, "result.json", "result.npz", PLAN, CLUSTERS, RESAMPLES)
SEARCH_FILES = (REQUEST, "checkpoint.json", "checkpoint.previous.json", TABLE, "state-*.npz")
#: What is there of a run that ended before its search had begun: there is nothing to lose.
BEFORE_THE_SEARCH = {PLAN, CLUSTERS, CHECKPOINT}
#: A file that was being written when its program was killed.
LEFT_OVER = re.compile(r"\.[0-9a-f]{16}\.tmp")


def names_in(folder: Path) -> set[str]:
    """Return the names of what a folder holds beside locks and what killed programs left over."""
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    return {name for name in names - {LOCK} if not _is_left_over(folder / name)}


def _is_left_over(path: Path) -> bool:
    """Tell whether something stems from a program that was killed; :func:`held` deals with it."""
    return bool(LEFT_OVER.fullmatch(path.name)) or bool(ASIDE_NAME.fullmatch(path.name) and not path.is_symlink())


def search_folder(folder: Path) -> Path:
    """Return the folder of the saved search inside that of a run, which must not be a link."""
    return refuse_link(folder / CHECKPOINT)


def ended_before_its_search(saved: Path, names: set[str]) -> bool:
    """Tell whether what a folder holds is a run that ended before its search began."""
    inside = {path.name for path in saved.iterdir()} if saved.is_dir() else set()
    others = {name for name in inside - {LOCK, TABLE} if not LEFT_OVER.fullmatch(name)}
    return names <= BEFORE_THE_SEARCH and not others


def make_private(folder: Path) -> None:
    """Make a folder that its owner alone can enter, if it is not there yet."""
    with private():
        folder.mkdir(parents=True, exist_ok=True)


@contextmanager
def older_run_aside(folder: Path) -> Iterator[None]:
    """Set the run in a folder aside; it comes back if the new one fails before its search starts."""
    with Inside(folder) as run:
        aside = run.fresh(ASIDE)
        with run.inner(aside) as older:
            _move_run(run, older)
        try:
            yield
        finally:
            _settle(run, aside)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock of a run; that of its search, which has the same owner, goes without another word.

    What is written is for its owner alone, and nobody else can write into a folder that holds nothing but runs. Of a
    program that was killed, half a file goes, and an older run that it had set aside comes back if the new one had not
    started.
    """
    from drbo.data.files.lock import discard_ended, locked

    with private(), locked(folder), Inside(folder) as run:
        if run.is_folder(CHECKPOINT):
            discard_ended(folder / CHECKPOINT)
        if all(_is_ours(name) for name in run.names()):
            run.close_to_others()
        for name in run.names():
            if LEFT_OVER.fullmatch(name):
                run.remove(name)
            elif ASIDE_NAME.fullmatch(name) and run.is_folder(name):
                _settle(run, name)
        yield


def _is_ours(name: str) -> bool:
    return name in (*FILES, CHECKPOINT, LOCK) or bool(LEFT_OVER.fullmatch(name) or ASIDE_NAME.fullmatch(name))


def _settle(run: Inside, aside: str) -> None:
    """Bring an older run back if no new one has started in its place; then there is nothing aside any more."""
    if not _has_started(run):
        _discard_run(run)
        with run.inner(aside) as older:
            _move_run(older, run)
    run.remove_all(aside)


def _has_started(run: Inside) -> bool:
    """Tell whether there is a result, or a search that can be resumed."""
    if "result.json" in run.names():
        return True
    if not run.is_folder(CHECKPOINT):
        return False
    with run.inner(CHECKPOINT) as saved:
        return REQUEST in saved.names()


def _run_files(run: Inside, patterns: Sequence[str]) -> list[str]:
    """Return the files and links of a run that are there, not those that drbo did not write."""
    names = [name for name in run.names() if any(fnmatchcase(name, one) for one in patterns)]
    return [name for name in names if not run.is_folder(name)]


def _discard_run(run: Inside) -> None:
    """Remove the files of a run, half ones too."""
    for name in _run_files(run, (*FILES, CHECKPOINT)):
        run.remove(name)
    if run.is_folder(CHECKPOINT):
        with run.inner(CHECKPOINT) as saved:
            for name in saved.names():
                if name in _run_files(saved, SEARCH_FILES) or name == LOCK or LEFT_OVER.fullmatch(name):
                    saved.remove(name)
        run.remove_empty(CHECKPOINT)


def _move_run(source: Inside, target: Inside) -> None:
    """Move the files of a run to another folder; a link moves as it is."""
    for name in _run_files(source, (*FILES, CHECKPOINT)):
        source.move(name, target)
    if not source.is_folder(CHECKPOINT):
        return
    target.make(CHECKPOINT)
    with source.inner(CHECKPOINT) as saved, target.inner(CHECKPOINT) as place:
        for name in _run_files(saved, SEARCH_FILES):
            saved.move(name, place)
    for folder in (source, target):
        folder.remove_empty(CHECKPOINT)
