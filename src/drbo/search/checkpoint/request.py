"""Saves the request of a search before it starts, so that a search that is killed early can be started again."""

from pathlib import Path
from typing import Any

from drbo.data.files.files import write_file
from drbo.data.files.folders import OWNER_ONLY
from drbo.errors import CheckpointError, ResultError
from drbo.search.checkpoint.files import MANIFEST, PREVIOUS, read_signed, signed
from drbo.search.state import Fields

FORMAT, FORMAT_VERSION = "drbo-request", 3
REQUEST = "request.json"


def save(folder: Path, about: dict[str, Any]) -> None:
    """Write what a search was called with."""
    content = {"format": FORMAT, "version": FORMAT_VERSION, "about": about}
    try:
        write_file(folder / REQUEST, signed(content), OWNER_ONLY)
    except ResultError as error:
        raise CheckpointError(f"the search cannot be saved: {error.message}", hint=error.hint) from error


def load(folder: Path) -> dict[str, Any]:
    """Read what a search was called with."""
    path = folder / REQUEST
    return Fields.plain(read_signed(path, FORMAT, FORMAT_VERSION), str(path)).mapping("about")


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
