"""Rows of results: one line of CSV per run, with settings, seed, version and machine. The files lie in this folder."""

import csv
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import drbo
from drbo.result.words.track_record import FILE as RECORD

FOLDER = Path(__file__).parent
SOURCES = Path(drbo.__file__).parents[1]
#: Where ``--quick`` writes.
QUICK_FOLDER = Path("build") / "bench-quick"
Row = dict[str, Any]


def machine(device: str) -> str:
    """Return the machine in words: the GPU's name, or the number of cores."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()  # taskset counts
    return f"{cores} cores {platform.machine()}"


def stamp(device: str) -> Row:
    """Return the columns that every row has."""
    what = {"device": device, "machine": machine(device), "torch": version("torch"), "drbo": drbo.__version__}
    return what | {"commit": _commit()}


@cache
def _commit() -> str:
    return commit()


def commit(sources: Path = SOURCES) -> str:
    """Return the last commit that changed the sources of drbo; nothing: there is no repository.

    A + says that they were changed since. Commits of rows, pages and benchmarks alone leave it as it is, and so do
    those of the track record, which is written from rows.
    """
    git, but = ["git", "-C", str(sources)], f":(exclude){RECORD.relative_to(SOURCES).as_posix()}"
    try:
        last, changed = (
            subprocess.run([*git, *words, "--", ".", but], capture_output=True, text=True, check=True).stdout.strip()
            for words in (("log", "-1", "--format=%h"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return last + ("+" if changed else "")


def save(path: Path, rows: Iterable[Row], key: tuple[str, ...]) -> None:
    """Add rows to a CSV file; a row with the same key replaces the old one; written in one step."""
    kept = {tuple(str(row.get(name, "")) for name in key): row for row in (*load(path), *rows)}
    columns = list(dict.fromkeys(name for row in kept.values() for name in row))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", newline="", dir=path.parent, delete=False) as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept[name] for name in sorted(kept))
    Path(file.name).replace(path)


def load(path: Path) -> list[Row]:
    """Return the rows of a CSV file; none where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [row | _present(row) for row in csv.DictReader(file)]


def _present(row: Row) -> Row:
    """Return what has another name in rows of version 0.1: these ran no other route of that name."""
    return {"route": "surrogate"} if row.get("route") == "networks" else {}


def read(name: str) -> list[Row]:
    """Return the committed rows of a file by its name."""
    return load(FOLDER / f"{name}.csv")


def grouped(rows: Iterable[Row], *columns: str) -> dict[tuple[str, ...], list[Row]]:
    """Return the rows by the values of some columns, in the order in which these first occur."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    return groups


def spread(values: Iterable[float], digits: int = 1) -> str:
    """Return mean and standard deviation in words."""
    numbers = [float(value) for value in values]
    deviation = stdev(numbers) if len(numbers) > 1 else 0.0
    return f"{mean(numbers):.{digits}f} +- {deviation:.{digits}f}"
