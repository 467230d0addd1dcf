"""Texts and files that a run leaves behind, without what differs between two runs of the same code."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

#: Keys of JSON files that name the machine, the versions or the time.
VARYING = ("seconds", "versions", "sha256", "date", "started")
#: What differs in texts, and what stands there instead.
STEADY = (
    (r"\b\d[\d.,]*(?: min \d+)? s\b", "SECONDS s"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", "DATE"),
    (r"sha256-[\w+/=]+|\b[0-9a-f]{16,64}\b", "HASH"),
    (r"/[^\s'\"]*/tmp[^\s'\"/]*", "FOLDER"),
    (r"(?i)\b(drbo|python|numpy|torch) \d+\.\d+[\w.+]*", r"\1 VERSION"),
)
#: Lines of progress, which come after some seconds.
PROGRESS = re.compile(r"^search: (?!.* in SECONDS s, )|so far$|^resamples: \d")


def steady(text: str) -> str:
    """Return a text without seconds, dates, hashes, folders and versions."""
    for pattern, word in STEADY:
        text = re.sub(pattern, word, text)
    return text


def lines_of(text: str) -> str | list[str]:
    """Return a steady text; of several lines, a list."""
    lines = steady(text).splitlines()
    return lines if len(lines) > 1 else "".join(lines)


def notes(text: str) -> list[str]:
    """Return the lines of what was said during a run, without those that a faster machine would not print."""
    return [line for line in steady(text).splitlines() if not PROGRESS.search(line)]


def names_in(folder: Path) -> list[str]:
    """Return the names of all files under a folder."""
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def content(path: Path) -> Any:
    """Return what a file holds."""
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: arrays[name].tolist() for name in arrays if "seconds" not in name}
    text = path.read_text()
    if path.suffix == ".html":
        text = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", text)
    if path.suffix == ".csv":
        return [[_number(cell) for cell in row] for row in csv.reader(io.StringIO(text))]
    return parsed(text)


def parsed(text: str) -> Any:
    """Return a text as what it is in JSON, if it is that; else its lines."""
    try:
        return _without_varying(json.loads(text))
    except ValueError:
        return lines_of(text)


def _without_varying(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_varying(item) for key, item in value.items() if key not in VARYING}
    if isinstance(value, list):
        return [_without_varying(item) for item in value]
    return steady(value) if isinstance(value, str) else value


def _number(cell: str) -> Any:
    try:
        return float(cell)
    except ValueError:
        return steady(cell)
