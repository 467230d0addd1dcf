"""Files: read as untrusted, and written so that a crash leaves the old one or the new one.

Sizes are checked before anything is read, so that neither a huge file nor a pipe that never ends can fill the memory or
hang the program; :mod:`drbo.data.files.packed` does the same for what is unpacked. Nothing is ever unpickled.
"""

import hashlib
import io
import json
import math
import os
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from drbo.data.files.folders import refuse_link
from drbo.data.files.packed import SmallReads
from drbo.errors import DrboError, ResultError, WriteError, write_hint

MAX_TEXT_BYTES = 2**26
MAX_ARRAY_BYTES = 2**28
#: Deepest nesting of a JSON file; what drbo writes has a depth of 4.
MAX_DEPTH = 32
#: Most commas and brackets of a JSON file: each stands for an object of up to 200 bytes.
MAX_JSON_PARTS = 2**22
MAX_NPY_HEADER = 10_000
#: What a text takes in memory beside its characters.
BYTES_PER_TEXT = 64

_PIECE = 2**20


@contextmanager
def refusing(path: Path | str, kind: type[DrboError] = ResultError) -> Iterator[None]:
    """Turn whatever a damaged or hostile file provokes in zipfile, json, csv or numpy into an error of one kind."""
    try:
        yield
    except ResultError as error:
        if issubclass(kind, ResultError):
            raise
        raise kind(error.message, hint=error.hint) from error
    except DrboError:
        raise
    except OSError as error:
        raise kind(f"{path} cannot be read: {error.strerror or error}", hint="check the path") from error
    except MemoryError as error:
        raise kind(
            f"{path} does not fit into memory", hint="use a sample of the file, or a machine with more memory"
        ) from error
    except Exception as error:  # these parsers raise a dozen unrelated kinds on bad bytes
        reason = f"{error!s:.200}" or type(error).__name__
        message = f"{path} is damaged, or not the type of file that its name says: {reason}"
        raise kind(message, hint="write the file again; this one may be incomplete") from error


def read_bytes(path: Path, limit: int, *, follow: bool = True) -> bytes:
    """Return the content of a file, refusing one larger than the limit, and what is no file, before reading it.

    ``follow``: whether it may be a link, as a file that the user names may, and one inside the folder of a run may not.
    """
    status = (path if follow else refuse_link(path)).stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):  # opening a pipe would wait for ever
        raise ResultError(f"{path} is not a regular file", hint="save its content to a regular file first")
    if status.st_size > limit:
        raise ResultError(
            f"{path} has {status.st_size} bytes, but at most {limit} are allowed",
            hint="check that it is the right file",
        )
    with path.open("rb") as stream:
        content = stream.read(status.st_size + 1)  # as much memory is taken as is asked for
        if len(content) > status.st_size:  # it grew, or lies about its size as files of /proc do
            content += stream.read(limit + 1 - len(content))
    if len(content) > limit:
        raise ResultError(f"{path} has more than {limit} bytes", hint="check that it is the right file")
    return content


def read_json(raw: bytes) -> Any:
    """Return the value of a JSON text; repeated keys, numbers that are not finite and deep nesting are refused."""
    if sum(raw.count(mark) for mark in (b",", b"[", b"{")) > MAX_JSON_PARTS:
        raise ValueError(f"it contains more than {MAX_JSON_PARTS} values")
    try:
        value = json.loads(raw, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique_keys)
        _check_depth(value, MAX_DEPTH)
    except RecursionError:
        raise ValueError(f"lists or objects are nested more than {MAX_DEPTH} deep") from None
    return value


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"it contains {constant:.80}, which is not a finite number")


def _finite(word: str) -> float:
    value = float(word)
    return value if math.isfinite(value) else _refuse_constant(word)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r:.80} appears twice")
        found[key] = value
    return found


def _check_depth(value: Any, left: int) -> None:
    if left < 0:
        raise RecursionError
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(item, dict | list):
            _check_depth(item, left - 1)


def read_npy(
    stream: IO[bytes],
    what: str,
    shape: tuple[int, ...] | None = None,
    dtype: str | None = None,
    *,
    kinds: str = "biufU",
    limit: int = MAX_ARRAY_BYTES,
    hint: str | None = None,
) -> Any:
    """Return the array of one .npy stream, its header checked before a byte of data is read; never unpickles.

    ``kinds`` are numpy's letters of the kinds that are taken; a shape and dtype that are asked for override them.
    ``hint`` says what to do about an array beyond the limit.
    """
    found, fortran, kind = read_header(stream, what)
    if shape is not None and (found != shape or kind != np.dtype(dtype)):
        raise ResultError(f"{what} must have shape {shape} and type {dtype}, got {found} and {kind.str}")
    if kind.hasobject:
        raise ResultError(
            f"{what} contains pickled Python objects, which drbo does not load",
            hint="save plain numbers: numpy.savez(path, X=array, names=names)",
        )
    if kind.kind not in kinds or min(found, default=0) < 0:
        raise ResultError(f"{what} must be numbers, got {found} of {kind.str}")
    each = kind.itemsize + (BYTES_PER_TEXT if kind.kind in "US" else 0)
    if shape is None and math.prod(found) * each > limit:
        raise ResultError(f"{what} must have at most {limit} bytes, got {found} of {kind.str}", hint=hint)
    raw = _read_exactly(stream, math.prod(found) * kind.itemsize, what)
    if kind.kind == "b" and (largest := raw.max(initial=0)) > 1:
        raise ResultError(f"{what} must contain only the booleans 0 and 1, got the byte {largest}")
    raw.setflags(write=False)
    return raw.view(kind).reshape(found, order="F" if fortran else "C")


def _read_exactly(stream: IO[bytes], size: int, what: str) -> Any:
    """Return so many bytes, not fewer and not more, as an array whose memory is used as the bytes arrive."""
    raw = np.empty(size, dtype=np.uint8)
    done = 0
    while done < size and (piece := stream.read(min(_PIECE, size - done))):
        raw[done : done + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        done += len(piece)
    if done < size or stream.read(1):
        raise ResultError(f"{what} must have {size} bytes, got {'more' if done == size else done}")
    return raw


def read_header(stream: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of the array that follows in a .npy stream."""
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ResultError(f"{what} must be a .npy array of version 1.0 or 2.0, got {version[0]}.{version[1]}")
    size = stream.read(2 if version == (1, 0) else 4)
    length = int.from_bytes(size, "little")
    if length > MAX_NPY_HEADER:  # numpy would read it first
        raise ResultError(f"{what} has a header of {length} bytes, but at most {MAX_NPY_HEADER} are allowed")
    header = io.BytesIO(size + stream.read(length))
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(header)


def read_member(archive: zipfile.ZipFile, name: str, what: str, **expected: Any) -> Any:
    """Return one array of an .npz archive; see :func:`read_npy` for what may be expected of it."""
    with archive.open(f"{name}.npy") as stream:
        return read_npy(stream, what, **expected)


def check_version(
    found: Any, version: int, what: object, kind: type[DrboError] = ResultError, *, earlier: str = ""
) -> None:
    """Refuse a file of another version of its format; ``earlier``: what else can be done about an earlier one."""
    if type(found) is int and found == version:
        return
    hint = "use the version of drbo that wrote this file"
    if earlier and type(found) is int and 0 < found < version:
        hint = f"an earlier version of drbo wrote it: {earlier}, or {hint}"
    raise kind(f"{what} has format version {found!r:.80}, but this version of drbo reads only {version}", hint=hint)


def stored_archive(stream: IO[bytes], what: str) -> zipfile.ZipFile:
    """Open an .npz archive as :func:`npz_bytes` writes it: each member once and uncompressed.

    Such an archive unpacks to no more than its own size.
    """
    reads = SmallReads(stream, what)
    archive = zipfile.ZipFile(reads)
    reads.open = True
    members, changed = archive.infolist(), "drbo does not write such files, so this file was changed"
    packed = [info.filename for info in members if info.compress_type != zipfile.ZIP_STORED]
    if packed:
        raise ResultError(f"{what} contains the compressed member {packed[0]!r:.80}", hint=changed)
    size = stream.seek(0, io.SEEK_END)
    if len({info.filename for info in members}) < len(members) or sum(info.file_size for info in members) > size:
        raise ResultError(f"{what} contains members that overlap or have the same name", hint=changed)
    return archive


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as the content of an NPZ file."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy_bytes(values: Any) -> bytes:
    """Return an array as the content of an NPY file."""
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=False)
    return buffer.getvalue()


def write_file(path: Path, content: bytes | Callable[[IO[bytes]], object], mode: int = 0o666) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a half: same folder, fsync, rename.

    ``content`` are its bytes, or a function that writes them to a stream, for those that should not be in memory twice.
    ``mode`` are the permissions of the file from its first byte on, less those that the umask takes away. A device or a
    pipe is refused, because the new file would take its place.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise WriteError(f"{path} cannot be written: it is a device or a pipe", hint="name a file")
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            content(stream) if callable(content) else stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise WriteError(
            f"{path} cannot be written: {error.strerror or error}", hint=write_hint(error, "choose another folder")
        ) from error
    except BaseException:  # an interrupt leaves no half behind
        _remove(temporary)
        raise


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, read piece by piece."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # the folder went away or became read-only: the first error is the one to tell
        return
