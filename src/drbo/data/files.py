"""Files, each read as if a stranger wrote it and written so that a crash leaves the old one or the new one.

Sizes are checked before anything is read, so that neither a huge file, nor a small one that unpacks to a huge one, nor
a pipe that never ends can fill the memory or hang the program. Nothing is ever unpickled.
"""

import hashlib
import io
import json
import math
import os
import secrets
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from drbo.errors import DrboError, ResultError

MAX_TEXT_BYTES = 2**26
MAX_ARRAY_BYTES = 2**28
#: Deepest nesting of a JSON file; what drbo writes has a depth of 4.
MAX_DEPTH = 32


@contextmanager
def refusing(path: Path, kind: type[DrboError] = ResultError) -> Iterator[None]:
    """Turn whatever a damaged or hostile file provokes in zipfile, json, csv or numpy into an error of one kind.

    Examples
    --------
    >>> with refusing(Path("graph.json")):
    ...     read_json(b"{")
    Traceback (most recent call last):
        ...
    drbo.errors.ResultError: graph.json is damaged or not what its name says: Expecting property name ...
    """
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
    except Exception as error:  # these parsers raise a dozen unrelated kinds on bad bytes
        reason = f"{error!s:.200}" or type(error).__name__
        message = f"{path} is damaged or not what its name says: {reason}"
        raise kind(message, hint="write the file again; the original may be cut short") from error


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file, refusing one larger than the limit, and what is no file, before reading it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     read_bytes(Path(file.name), limit=10)
    b''
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):  # opening a pipe would wait for ever
        raise ResultError(f"{path} is not a regular file", hint="save what it delivers to a file first")
    if status.st_size > limit:
        raise ResultError(f"{path} has {status.st_size} bytes, at most {limit} are read", hint="is it the right file?")
    with path.open("rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:  # it grew, or lies about its size as files of /proc do
        raise ResultError(f"{path} has more than {limit} bytes", hint="is it the right file?")
    return content


def unpack_gzip(raw: bytes, limit: int, what: str) -> bytes:
    """Return the content of a gzip file, refusing one that unpacks to more than the limit.

    Examples
    --------
    >>> import gzip
    >>> unpack_gzip(gzip.compress(b"a,b"), limit=10, what="table.csv.gz")
    b'a,b'
    """
    parts: list[bytes] = []
    room = limit
    while raw:
        unpacker = zlib.decompressobj(wbits=31)  # gzip, with its header and checksum
        parts.append(unpacker.decompress(raw, max(1, room + 1)))
        room -= len(parts[-1])
        if room < 0:
            raise ResultError(f"{what} unpacks to more than {limit} bytes", hint="is it the right file?")
        if not unpacker.eof:
            raise ResultError(f"{what} is no complete gzip file", hint="fetch or pack it again")
        raw = unpacker.unused_data.lstrip(b"\0")  # another member may follow; tape padding is allowed
    return b"".join(parts)


def read_json(raw: bytes) -> Any:
    """Return the value of a JSON text; repeated keys, numbers that are not finite and deep nesting are refused.

    Examples
    --------
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: the key 'a' is there twice
    """
    try:
        value = json.loads(raw, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
        _check_depth(value, MAX_DEPTH)
    except RecursionError:
        raise ValueError(f"more than {MAX_DEPTH} lists or objects are nested") from None
    return value


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"it holds {constant}, which is not a finite number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in found if keys.count(key) > 1)!r:.80} is there twice")
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
) -> Any:
    """Return the array of one .npy stream, its header checked before a byte of data is read; never unpickles.

    ``kinds`` are numpy's letters of the kinds that are taken; a shape and dtype that are asked for override them.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.arange(3.0))
    >>> _ = buffer.seek(0)
    >>> read_npy(buffer, "weights", (2,), "<f8")
    Traceback (most recent call last):
        ...
    drbo.errors.ResultError: weights must have shape (2,) and type <f8, got (3,) and <f8
    """
    found, fortran, kind = read_header(stream, what)
    if shape is not None and (found != shape or kind != np.dtype(dtype)):
        raise ResultError(f"{what} must have shape {shape} and type {dtype}, got {found} and {kind.str}")
    size = math.prod(found) * kind.itemsize
    if kind.kind not in kinds or min(found, default=0) < 0 or (shape is None and size > limit):
        raise ResultError(f"{what} must be numbers of at most {limit} bytes, got {found} of {kind.str}")
    raw = stream.read(size + 1)
    if len(raw) != size:
        raise ResultError(f"{what} must have {size} bytes, got {'more' if len(raw) > size else len(raw)}")
    if kind.kind == "b" and (largest := np.frombuffer(raw, dtype=np.uint8).max(initial=0)) > 1:
        raise ResultError(f"{what} must hold the truth values 0 and 1, got the byte {largest}")
    return np.frombuffer(raw, dtype=kind).reshape(found, order="F" if fortran else "C")


def read_header(stream: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, order and type of the array that follows in a .npy stream.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.save(buffer, np.zeros((3, 2)))
    >>> _ = buffer.seek(0)
    >>> read_header(buffer, "weights")
    ((3, 2), False, dtype('float64'))
    """
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ResultError(f"{what} must be a .npy of version 1.0 or 2.0, got {version[0]}.{version[1]}")
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return header(stream)


def read_member(archive: zipfile.ZipFile, name: str, what: str, **expected: Any) -> Any:
    """Return one array of an .npz archive; see :func:`read_npy` for what may be expected of it.

    Examples
    --------
    >>> import io
    >>> buffer = io.BytesIO()
    >>> np.savez(buffer, a=np.arange(2))
    >>> with zipfile.ZipFile(buffer) as archive:
    ...     read_member(archive, "a", "array a").tolist()
    [0, 1]
    """
    with archive.open(f"{name}.npy") as stream:
        return read_npy(stream, what, **expected)


def npz_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as the content of an NPZ file.

    Examples
    --------
    >>> npz_bytes({"X": np.zeros(2)})[:2]
    b'PK'
    """
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def write_file(path: Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a half: same folder, fsync, rename.

    ``content`` are its bytes, or a function that writes them to a stream, for those that should not be in memory twice.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_file(Path(folder) / "a", b"1")
    ...     (Path(folder) / "a").read_bytes()
    b'1'
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as stream:
            content(stream) if callable(content) else stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise ResultError(
            f"{path} cannot be written: {error.strerror or error}", hint="choose another folder"
        ) from error
    except BaseException:  # an interrupt leaves no half behind
        _remove(temporary)
        raise


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, read piece by piece.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     file_digest(Path(file.name))[:8]
    'e3b0c442'
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # the folder went away or became read-only: the first error is the one to tell
        return
