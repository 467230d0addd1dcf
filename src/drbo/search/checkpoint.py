"""A search in two files: arrays as NPZ, the rest as JSON, with checksums and without pickle.

``checkpoint.json`` names the file of the state and holds checksums of both. A save writes a new file of the state, then
replaces ``checkpoint.json`` in one step, and keeps the one before it. A crash at any moment leaves one of the two.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from drbo.data.files import MAX_TEXT_BYTES, npz_bytes, read_bytes, read_json, read_member, refusing, write_file
from drbo.errors import CheckpointError, ResultError
from drbo.search.snapshot import capture, restore

FORMAT, FORMAT_VERSION = "drbo-checkpoint", 1
MANIFEST, PREVIOUS = "checkpoint.json", "checkpoint.previous.json"
MAX_STATE_BYTES = 2**34


def save(folder: Path, state: Any, about: dict[str, Any]) -> int:
    """Write a checkpoint into a folder; ``about`` is kept with it. Return its size in bytes.

    Examples
    --------
    >>> import tempfile
    >>> from drbo.search.region import TrustRegion
    >>> from drbo.settings import Settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = save(Path(folder), TrustRegion(4, Settings()), {"seed": 1})
    ...     load(Path(folder)).about
    {'seed': 1}
    """
    skeleton, arrays = capture(state)
    raw = npz_bytes({"skeleton": np.frombuffer(skeleton, dtype=np.uint8), **arrays})
    digest = hashlib.sha256(raw).hexdigest()
    name = f"state-{digest[:16]}.npz"
    content = {"format": FORMAT, "version": FORMAT_VERSION, "about": about, "state": name, "sha256": digest}
    content["checksum"] = _checksum(content)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(folder / name, raw)
        kept = {name}
        if (folder / MANIFEST).exists():
            before = (folder / MANIFEST).read_bytes()
            write_file(folder / PREVIOUS, before)
            kept.add(_state_name(before))
        write_file(folder / MANIFEST, json.dumps(content, indent=1, allow_nan=False).encode())
        for old in folder.glob("state-*.npz"):
            if old.name not in kept:
                old.unlink(missing_ok=True)
    except (OSError, ResultError) as error:
        words = error.message if isinstance(error, ResultError) else f"{folder}: {error.strerror or error}"
        raise CheckpointError(f"the search cannot be saved: {words}", hint="choose another folder") from error
    return len(raw)


def _state_name(raw: bytes) -> str:
    try:
        return str(read_json(raw)["state"])
    except (ValueError, KeyError, TypeError):
        return ""


def _checksum(content: dict[str, Any]) -> str:
    plain = {key: value for key, value in content.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, allow_nan=False).encode()).hexdigest()


class Checkpoint:
    """A checkpoint that was read and verified: what it is about, and the state to put into a fresh search."""

    def __init__(self, path: Path, about: dict[str, Any], raw: bytes) -> None:
        self.path, self.about, self._raw = path, about, raw

    def restore(self, fresh: Any) -> Any:
        """Return the search that was saved; ``fresh`` is one made from the same parts."""
        with refusing(self.path, CheckpointError), zipfile.ZipFile(io.BytesIO(self._raw)) as archive:
            members = {name.removesuffix(".npy") for name in archive.namelist()}
            arrays = {
                name: read_member(archive, name, f"{self.path} {name}", kinds="biuf", limit=MAX_STATE_BYTES)
                for name in members
            }
            return restore(fresh, arrays.pop("skeleton").tobytes(), arrays)


def load(folder: Path) -> Checkpoint:
    """Read and verify the newest checkpoint of a folder; the one before it where the newest is damaged."""
    if not (folder / MANIFEST).exists() and not (folder / PREVIOUS).exists():
        raise CheckpointError(f"{folder} holds no saved search", hint="give the folder that drbo fit -o wrote")
    try:
        return _load(folder / MANIFEST)
    except CheckpointError as error:
        try:
            return _load(folder / PREVIOUS)
        except CheckpointError:
            raise error from None


def _load(path: Path) -> Checkpoint:
    with refusing(path, CheckpointError):
        content = read_json(read_bytes(path, MAX_TEXT_BYTES))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise CheckpointError(f"{path} is not a saved search", hint="give the folder that drbo fit -o wrote")
        if content.get("version") != FORMAT_VERSION:
            raise CheckpointError(
                f"{path} has format version {content.get('version')!r:.80}, this program reads {FORMAT_VERSION}",
                hint="use the version of drbo that wrote it",
            )
        if content.get("checksum") != _checksum(content) or not isinstance(content.get("about"), dict):
            raise CheckpointError(f"{path} does not match its checksum", hint="it was changed or cut short")
        name = str(content["state"])
        if Path(name).name != name:
            raise CheckpointError(f"{path} names a file outside of its folder: {name!r:.80}")
    state = path.with_name(name)
    with refusing(state, CheckpointError):
        raw = read_bytes(state, MAX_STATE_BYTES)
        if hashlib.sha256(raw).hexdigest() != content["sha256"]:
            raise CheckpointError(f"{state} does not match the checksum in {path.name}", hint="it was changed")
    return Checkpoint(state, content["about"], raw)
