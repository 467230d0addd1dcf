"""Rows of results: one line of CSV per run, with settings, seed, version and machine."""

import csv
import os
import platform
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

import drbo

FOLDER = Path(__file__).parent
Row = dict[str, Any]


def machine(device: str) -> str:
    """Return the machine in words: the GPU's name, or the number of cores."""
    if device == "cuda":
        return torch.cuda.get_device_name()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()  # taskset counts
    return f"{cores} cores {platform.machine()}"


def stamp(device: str) -> Row:
    """Return the columns that every row has."""
    return {"device": device, "machine": machine(device), "torch": torch.__version__, "drbo": drbo.__version__}


def save(path: Path, rows: list[Row], key: tuple[str, ...]) -> None:
    """Add rows to a CSV file; a row with the same key replaces the old one; written in one step."""
    kept = {tuple(str(row[name]) for name in key): row for row in load(path)}
    kept.update({tuple(str(row[name]) for name in key): row for row in rows})
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


def fill(page: Path, name: str, text: str) -> None:
    """Replace what stands between the marks ``name: start`` and ``name: end`` of a page."""
    page.write_text(filled(page.read_text(), name, text))


def filled(page: str, name: str, text: str) -> str:
    """Return a page with another text between its marks ``name: start`` and ``name: end``."""
    start, end = f"<!-- {name}: start -->\n", f"<!-- {name}: end -->"
    before, rest = page.split(start)
    return before + start + text + end + rest.split(end)[1]


def spread(values: Iterable[float], digits: int = 1) -> str:
    """Return mean and standard deviation in words."""
    numbers = [float(value) for value in values]
    deviation = stdev(numbers) if len(numbers) > 1 else 0.0
    return f"{mean(numbers):.{digits}f} +- {deviation:.{digits}f}"
