"""The folder that a command writes a run into: refused before hours are spent on one, and held while it is written."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from drbo.cli.messages import OutputError
from drbo.cli.output import writing
from drbo.errors import ResultError, SettingsError
from drbo.result.files.plan import Plan
from drbo.result.files.run_folder import (
    ended_before_its_search,
    held,
    make_private,
    names_in,
    older_run_aside,
    other_owner,
    search_folder,
)
from drbo.result.words.plain_text import shell_line


def check_folder(folder: Path, *, force: bool = False, again: Sequence[str] = ()) -> None:
    """Refuse a folder that cannot take a result, before hours are spent on one.

    A run that is there is named, and replaced only with ``force``, or if its command was ``again``.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(
            f"'{folder}' is a file, but a result is saved in a folder", hint="choose another folder with -o"
        )
    try:
        names = names_in(folder)
    except OSError as error:
        raise OutputError(
            f"'{folder}' cannot be used: {error.strerror}", hint="choose another folder with -o"
        ) from error
    if names and not force and not _is_again(folder, names, again):
        listed = ", ".join(sorted(names)[:5]) + ", ..." * (len(names) > 5)
        raise SettingsError(
            f"folder '{folder}' is not empty and does not contain a drbo result: {listed}",
            hint="choose another folder with -o, or add --force to write into this one",
        )
    if not force and folder.exists() and (owner := other_owner(folder)):
        raise SettingsError(
            f"folder '{folder}' belongs to another user ({owner}), who could exchange what is saved there",
            hint="choose another folder with -o, or add --force to write into this one",
        )
    home = folder
    while not home.exists():
        home = home.parent
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        raise OutputError(
            f"'{folder}' cannot be written: no write permission in '{home}'", hint="choose another folder with -o"
        )


def _is_again(folder: Path, names: set[str], again: Sequence[str]) -> bool:
    """Tell whether a folder may be written again; refuse one with a run, finished or not, and say what is there."""
    from drbo.result.result import Result

    try:
        saved = search_folder(folder)
        result = Result.load(folder) if (folder / "result.json").exists() else None
        plan = Plan.load(folder)
    except ResultError:  # files of other programs, damaged ones, or links
        return False
    if result is None and not any(saved.glob("*.json")):  # ended before its search began
        return plan is not None and ended_before_its_search(saved, names)
    if result is not None and again and result.argv == tuple(again):
        return True
    call = result.call if result is not None else plan.call if plan is not None else ""
    made = f" by '{call:.200}'" if call else ""
    if result is None:
        what = f"an unfinished run, started{made}{f' on {plan.started}' if plan else ''}"
        way = f"continue it with {shell_line(['drbo', 'resume', str(folder)])}, or "
    else:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime((folder / "result.json").stat().st_mtime))
        edges = int(result.dag.sum())
        size = f"{result.table.n_rows:,} rows, {len(result.names)} columns, {edges} edge{'s' * (edges != 1)}"
        what, way = f"a finished run, created{made} on {when}: {size}", ""
    raise SettingsError(
        f"folder '{folder}' already contains {what}",
        hint=f"{way}choose another folder with -o, or add --force to replace this run",
    )


@contextmanager
def run_folder(folder: Path | None, *, force: bool) -> Iterator[None]:
    """Hold the folder of a new run while it is written.

    An older run that is to be replaced is set aside, and comes back if the new one fails before its search starts.
    """
    if folder is None:
        yield
        return
    try:
        with writing(folder):
            make_private(folder)
        with held(folder):
            check_folder(folder, force=force)  # someone may have finished a run since
            with older_run_aside(folder):
                yield
    finally:
        with suppress(OSError):
            folder.rmdir()  # only if nothing was written
