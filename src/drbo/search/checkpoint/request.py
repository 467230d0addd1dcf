"""Saves the request of a search before it starts, so that a search that is killed early can be started again."""

import hashlib
import json
from pathlib import Path
from typing import Any

from drbo.data.files import MAX_TEXT_BYTES, read_bytes, read_json, refusing, write_file
from drbo.errors import CheckpointError, ResultError
from drbo.search.checkpoint.files import MANIFEST, OWNER_ONLY, PREVIOUS

FORMAT, FORMAT_VERSION = "drbo-request", 1
REQUEST = "request.json"


def save(folder: Path, about: dict[str, Any]) -> None:
    """Write what a search was called with."""
    content = {"format": FORMAT, "version": FORMAT_VERSION, "about": about, "sha256": _checksum(about)}
    try:
        write_file(folder / REQUEST, json.dumps(content, indent=1, allow_nan=False).encode(), OWNER_ONLY)
    except ResultError as error:
        raise CheckpointError(f"the search cannot be saved: {error.message}", hint=error.hint) from error


def load(folder: Path) -> dict[str, Any]:
    """Read what a search was called with, and verify its checksum."""
    path = folder / REQUEST
    with refusing(path, CheckpointError):
        content = read_json(read_bytes(path, MAX_TEXT_BYTES))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CheckpointError(f"{path} is not a saved search", hint="give a folder that 'drbo fit -o' wrote")
        if content.get("version") != FORMAT_VERSION:
            raise CheckpointError(
                f"{path} has format version {content.get('version')!r:.80}, but this version of drbo reads only "
                f"{FORMAT_VERSION}",
                hint="use the version of drbo that wrote this file",
            )
        about = content.get("about")
        if not isinstance(about, dict) or content.get("sha256") != _checksum(about):
            raise CheckpointError(f"{path} does not match its checksum", hint="the file was changed or is incomplete")
    return about


def is_all(folder: Path) -> bool:
    """Tell whether a folder holds a search that was asked for, and no state of it yet."""
    return (folder / REQUEST).exists() and not any((folder / name).exists() for name in (MANIFEST, PREVIOUS))


def clear(folder: Path) -> None:
    """Remove an older search from the folder, its description first."""
    try:
        for path in (folder / REQUEST, folder / MANIFEST, folder / PREVIOUS, *folder.glob("state-*.npz")):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"the search cannot be saved: {folder}: {error.strerror or error}", hint="choose another folder"
        ) from error


def _checksum(about: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(about, sort_keys=True, allow_nan=False).encode()).hexdigest()
