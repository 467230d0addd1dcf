"""Tables whose rows are not held in memory: streams of large files, and moments that others share."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.cli.messages import say
from drbo.cli.table_options import groups_of, is_streamed, read_frame, read_options
from drbo.errors import SettingsError
from drbo.progress import under_way

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from drbo.cli.fit_request import ResamplePlan
    from drbo.data.reading.source import Source
    from drbo.gathering import Gathered

#: Options of a fit that need rows.
NEEDS_ROWS = ("weights", "groups", "experiment", "types", "na")


def rows_or_sample(path: Path, options: Mapping[str, Any]) -> tuple["pd.DataFrame", int]:
    """Return the rows of a table, or a random sample of one that a fit would read piece by piece; and their number."""
    from drbo.gathering import Gathering

    how, source = Gathering(stream=is_streamed(options)), opened([path], options)
    if not how.streams(source):
        frame = read_frame(path, options)
        return frame, len(frame)
    with under_way(f"reading {path}", tell=say):
        return how.sample(source)


def gathered(
    paths: Sequence[Path], options: Mapping[str, Any], max_memory: float, executor: "Executor | None", *, quiet: bool
) -> "Gathered | None":
    """Return what is kept of files that are not read into memory; None: there is one, and it is.

    ``executor`` sums up several parts of the files at a time; None: one after the other.
    """
    from drbo.gathering import Gathering

    wish: ResamplePlan | None = options["bootstrap"]
    how = Gathering(
        **{name: options[name] for name in ("score", "missing", "seed")}, stream=is_streamed(options),
        resamples=0 if wish is None else wish.n, max_memory=max_memory, executor=executor,
        needs_rows=_need_rows(options),
    )  # fmt: skip
    source = opened(paths, options)
    if not how.streams(source):
        return None
    if wish is not None and wish.kind != "bootstrap":
        raise SettingsError(
            f"--bootstrap {wish} needs all rows in memory, but only sums over these rows are kept",
            hint=f"use --bootstrap {wish.n}",
        )
    found = how(source)
    if not quiet:
        why = ": a fit in memory would take more than max_memory"
        say(_in_words(paths[0], found, why if math.isfinite(source.size()) and not how.stream else ""))
    return found


def _need_rows(options: Mapping[str, Any]) -> list[str]:
    """Return the options that were given and need all rows in memory."""
    given = [f"--{name}" for name in NEEDS_ROWS if options.get(name)]
    return given if groups_of(options) is not False else [name for name in given if name != "--groups"]


def _in_words(path: Path, found: "Gathered", why: str) -> str:
    """Say what was kept of the rows."""
    table, files = found.table, found.source.parts()
    if found.counts is not None:
        size = f"{found.counts.sum():,} rows, {table.shape[1]} columns"
        return f"{path}: {size}, read piece by piece{why}; {len(found.counts):,} different rows were counted"
    drawn = f"{table.n_rows:,} of them, drawn at random," if table.n_rows < table.n else "all of them"
    kept = f"; {drawn} were kept" if table.n_rows else ""
    many = f"{len(files)} files" if len(files) > 1 else files[0].stamp()[0]
    times = "" if table.bases is None else " three times" if "categorical" in table.kinds else " twice"
    read = f"read piece by piece{times}{why}" if any(file.has_rows() for file in files) else "moments"
    return f"{many}: {table.n_read:,} rows, {len(table.names)} columns, {read}{kept}"


def opened(paths: Sequence[Path], options: Mapping[str, Any]) -> "Source":
    """Return the table of files, by names that are the same for all who read them."""
    from drbo.data.reading.read import open_source

    is_far = isinstance(options.get("workers"), str)
    names = [path.absolute() if is_far and str(path) != "-" else path for path in paths]
    return open_source(names, **read_options(options))
