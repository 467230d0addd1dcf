"""What a studio keeps in its folder beside the run: the table, the statements, and how they came about."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from drbo.data.files.files import MAX_TEXT_BYTES, read_bytes, read_json, refusing, write_file
from drbo.errors import SettingsError
from drbo.studio.said import Said, pairs_of

STATE, FORMAT, FORMAT_VERSION = "studio.json", "drbo-studio", 1


class PlainRun(NamedTuple):
    """A run without answers: its statements, and the arrows that it supports."""

    said: Said
    supported: list[list[str]]


@dataclass(frozen=True)
class StudioState:
    """All of it; ``past`` and ``future`` are what undo and redo go to."""

    table: str
    said: Said
    past: list[Said]
    future: list[Said]
    versions: list[Any]
    plain: PlainRun | None


def write_state(path: Path, state: StudioState) -> None:
    """Write the state into a private file."""
    plain = state.plain
    content = {
        "format": FORMAT, "version": FORMAT_VERSION, "table": state.table, "said": state.said.to_mapping(),
        "past": [one.to_mapping() for one in state.past], "future": [one.to_mapping() for one in state.future],
        "versions": state.versions, "plain": None if plain is None else [plain.said.to_mapping(), plain.supported],
    }  # fmt: skip
    write_file(path, json.dumps(content).encode(), 0o600)


def read_state(path: Path, table: str) -> StudioState | None:
    """Read the state of an earlier studio about a table, which anybody may have written; None: there is none."""
    if not path.exists():
        return None
    with refusing(path):
        content = read_json(read_bytes(path, MAX_TEXT_BYTES, follow=False))
    if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, FORMAT_VERSION):
        raise SettingsError(f"{path} is not the state of a studio", hint="choose another folder with -o")
    found = content.get("table")
    if not isinstance(found, str) or (table and found and found != table):
        raise SettingsError(f"{path} is about the table {found!r:.200}", hint="choose another folder with -o")
    past, future, versions, plain = (content.get(name) for name in ("past", "future", "versions", "plain"))
    past, future = (
        [Said.from_mapping(one) for one in some] if isinstance(some, list) else [] for some in (past, future)
    )
    run = PlainRun(Said.from_mapping(plain[0]), [list(pair) for pair in pairs_of(plain[1])]) if plain else None
    return StudioState(found or table, Said.from_mapping(content.get("said")), past, future, versions or [], run)
