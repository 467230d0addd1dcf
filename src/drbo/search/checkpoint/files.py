"""A search in two files: arrays as NPZ, the rest as JSON, with checksums and without pickle.

``checkpoint.json`` names the file of the state and holds checksums of both. A save writes a new file of the state, then
replaces ``checkpoint.json`` in one step, and keeps the one before it. A crash at any moment leaves one of the two.
Only the owner may read the files: they hold data.
"""

import hashlib
import json
import re
import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from drbo.data.files.files import (
    MAX_TEXT_BYTES,
    check_version,
    npz_bytes,
    read_bytes,
    read_json,
    refusing,
    stored_archive,
    write_file,
)
from drbo.data.files.folders import OWNER_ONLY, refuse_link
from drbo.errors import CheckpointError, ResultError, write_hint
from drbo.search.state import Fields, Restorable, pack

FORMAT, FORMAT_VERSION = "drbo-checkpoint", 3
MANIFEST, PREVIOUS = "checkpoint.json", "checkpoint.previous.json"
STATE_NAME = re.compile(r"state-[0-9a-f]{1,64}\.npz")
MAX_STATE_BYTES = 2**34


def save(folder: Path, search: Restorable, about: dict[str, Any]) -> int:
    """Write a checkpoint into a folder; ``about`` is kept with it. Return its size in bytes."""
    raw = npz_bytes(pack(search.capture()))
    digest = hashlib.sha256(raw).hexdigest()
    name = f"state-{digest[:16]}.npz"
    content = {"format": FORMAT, "version": FORMAT_VERSION, "about": about, "state": name, "sha256": digest}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / name, raw, OWNER_ONLY)
        kept = {name}
        if (folder / MANIFEST).exists():
            before = read_bytes(folder / MANIFEST, MAX_TEXT_BYTES, follow=False)
            write_file(folder / PREVIOUS, before, OWNER_ONLY)
            kept.add(_state_name(before))
        write_file(folder / MANIFEST, signed(content), OWNER_ONLY)
        for old in folder.glob("state-*.npz"):
            if old.name not in kept:
                old.unlink(missing_ok=True)
    except (OSError, ResultError) as error:
        words = error.message if isinstance(error, ResultError) else f"{folder}: {error.strerror or error}"
        hint = error.hint if isinstance(error, ResultError) else write_hint(error, "choose another folder")
        raise CheckpointError(f"the search cannot be saved: {words}", hint=hint) from error
    return len(raw)


def _state_name(raw: bytes) -> str:
    try:
        return str(read_json(raw)["state"])
    except (ValueError, KeyError, TypeError):
        return ""


def signed(content: dict[str, Any]) -> bytes:
    """Return a description as JSON with a checksum."""
    return json.dumps(content | {"checksum": _checksum(content)}, indent=1, allow_nan=False).encode()


def read_signed(path: Path, kind: str, version: int) -> dict[str, Any]:
    """Read a description, and verify its format, its version and its checksum."""
    with refusing(path, CheckpointError):
        content = read_json(read_bytes(path, MAX_TEXT_BYTES, follow=False))
        if not isinstance(content, dict) or content.get("format") != kind:
            raise CheckpointError(f"{path} is not a saved search", hint="give a folder that 'drbo fit -o' wrote")
        found = content.get("version")
        if isinstance(found, int) and 1 <= found < version:
            raise CheckpointError(
                f"{path} was saved by an earlier version of drbo (format version {found}), which this version cannot "
                "read",
                hint="finish it with that version, or start a new search",
            )
        check_version(found, version, path, CheckpointError)
        if content.get("checksum") != _checksum(content):
            raise CheckpointError(f"{path} does not match its checksum", hint="the file was changed or is incomplete")
    return content


def _checksum(content: dict[str, Any]) -> str:
    plain = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode()).hexdigest()


class Checkpoint:
    """A checkpoint whose checksums are right: what it is about, and the file of the state for a fresh search."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.path, self.about = path, about

    def restore(self, fresh: Restorable) -> None:
        """Set the state of a search that was just made from the same parts; every field is checked."""
        with refusing(self.path, CheckpointError), _opened(self.path) as stream:
            fields = Fields.of(stored_archive(stream, str(self.path)), str(self.path))
            fresh.restore(fields)
            fields.finish()


def load(folder: Path) -> Checkpoint:
    """Read and verify the newest checkpoint of a folder; the one before it, with a warning, where that is damaged."""
    if not (folder / MANIFEST).exists() and not (folder / PREVIOUS).exists():
        raise CheckpointError(
            f"{folder} does not contain a saved search", hint="give a folder that 'drbo fit -o' wrote"
        )
    try:
        return _verified(folder / MANIFEST, _manifest(folder / MANIFEST))
    except CheckpointError as error:
        try:
            older = _verified(folder / PREVIOUS, _manifest(folder / PREVIOUS))
        except CheckpointError:
            raise error from None
        words = f"{error.message}; the search continues from the previous checkpoint, {_spent(older.about)}"
        warnings.warn(f"{words}{_lost(folder, older)}", stacklevel=2)  # a caller that reads twice is told once
        return older


def _spent(about: dict[str, Any]) -> str:
    """Return how far a search had come, in words."""
    seconds, n_evals = about.get("seconds"), about.get("n_evals")
    known = isinstance(seconds, float) and isinstance(n_evals, int)
    return f"saved after {seconds:.1f} s and {n_evals} evaluations" if known else "saved earlier"


def _lost(folder: Path, older: Checkpoint) -> str:
    """Return what is lost with a damaged state, in words, if its manifest still tells."""
    try:
        newer = _manifest(folder / MANIFEST)["about"]
        seconds = float(newer["seconds"]) - float(older.about["seconds"])
        return f": {seconds:.1f} s of work ({newer['n_evals'] - older.about['n_evals']} evaluations) will be repeated"
    except (CheckpointError, KeyError, TypeError, ValueError):
        return ": the work since then will be repeated"


def _manifest(path: Path) -> dict[str, Any]:
    """Read the description of a checkpoint."""
    content = read_signed(path, FORMAT, FORMAT_VERSION)
    fields = Fields.plain(content, str(path))
    name, _, _ = fields.text("state"), fields.text("sha256"), fields.mapping("about")
    if not STATE_NAME.fullmatch(name):
        fields.refuse("state", "name a file in the same folder, such as state-0123456789abcdef.npz", f"{name!r:.80}")
    return content


def _verified(path: Path, content: dict[str, Any]) -> Checkpoint:
    """Return a checkpoint if the file of its state has the right checksum."""
    state = path.with_name(content["state"])
    with refusing(state, CheckpointError), _opened(state) as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != content["sha256"]:
            raise CheckpointError(f"{state} does not match the checksum in {path.name}", hint="the file was changed")
    return Checkpoint(state, content["about"])


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    """Open the file of a state; it is read piece by piece, so that only what a search asks for takes memory."""
    status = refuse_link(path).stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
        raise ResultError(f"{path} is not a regular file")
    if status.st_size > MAX_STATE_BYTES:
        raise ResultError(f"{path} has {status.st_size} bytes, but at most {MAX_STATE_BYTES} are allowed")
    with path.open("rb") as stream:
        yield stream
