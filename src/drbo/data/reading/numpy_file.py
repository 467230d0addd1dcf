"""Tables as arrays of NumPy (``.npz``, ``.npy``): nothing is ever unpickled. An ``.npz`` file may hold moments, too."""

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from drbo.data.files.files import read_header, read_member, read_npy
from drbo.data.files.packed import TOO_LARGE, InputLimit, open_zip
from drbo.data.reading.frames import as_frame, check_unicode
from drbo.data.reading.source import FileSource, Schema
from drbo.data.statistics.moments_file import is_moments_file, load_moments
from drbo.errors import DataError, DrboError

if TYPE_CHECKING:
    import pandas as pd

    from drbo.data.statistics.sums import Sums

#: What a table may hold as numpy's letters of kinds; dates and complex numbers get a better message later.
_KINDS = "biufcmMUS"


@dataclass(frozen=True)
class NumpySource(FileSource):
    """A file of arrays, or of moments."""

    def has_rows(self) -> bool:
        """Tell whether the file holds an array; else it holds moments."""
        return not is_moments_file(self.path)

    def sums(self) -> "Sums":
        """Return the moments in the file."""
        return load_moments(self.path)

    def size(self) -> float:
        """Return the bytes of the file; infinite for moments, which are never rows in memory."""
        return super().size() if self.has_rows() else math.inf

    def schema(self) -> Schema:
        """Return the names of the columns."""
        return super().schema() if self.has_rows() else Schema(self.sums().names)

    def _read(self, limit: InputLimit, notes: list[str]) -> "pd.DataFrame":
        return read_numpy(self.path, limit)


def read_numpy(path: Path, limit: InputLimit) -> "pd.DataFrame":
    """Return the table of a file of arrays."""
    try:
        with path.open("rb") as stream:
            if path.suffix.lower() == ".npz" or stream.read(2) == b"PK":
                return _from_npz(path, stream, limit)
            stream.seek(0)
            return as_frame(read_npy(stream, f"file '{path}'", kinds=_KINDS, limit=limit.max_bytes, hint=TOO_LARGE))
    except (DrboError, OSError, MemoryError):
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen unrelated kinds on bad bytes
        raise DataError(
            f"file '{path}' is not a complete {path.suffix.lower()} file",
            hint="write it again: numpy.savez(path, X=array, names=names)",
        ) from error


def _from_npz(path: Path, stream: IO[bytes], limit: InputLimit) -> "pd.DataFrame":
    with open_zip(stream, f"file '{path}'", limit) as archive:
        members = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if {"about", "products"} <= set(members):
            raise DataError(
                f"file '{path}' contains the moments of a table, not its rows",
                hint="only 'drbo fit' and 'drbo moments' can use moments",
            )
        tables = ["X"] if "X" in members else [name for name in members if _n_axes(archive, name) == 2]
        if len(tables) != 1:
            held = ", ".join(members) or "nothing"
            raise DataError(
                f"file '{path}' has {len(tables)} arrays that could be the table; it contains {held:.200}",
                hint="save the table under the name X",
            )
        size = {"kinds": _KINDS, "limit": limit.max_bytes, "hint": TOO_LARGE}
        frame = as_frame(read_member(archive, tables[0], f"file '{path}'", **size))
        if "names" not in members:
            return frame
        found = read_member(archive, "names", f"file '{path}' names", **size).ravel()
    if len(found) != frame.shape[1]:
        raise DataError(
            f"file '{path}' has {len(found)} names for {frame.shape[1]} columns", hint="give one name per column"
        )
    names = [value.decode() if isinstance(value, bytes) else str(value) for value in found.tolist()]
    check_unicode(names)
    return as_frame(frame.set_axis(names, axis=1))


def _n_axes(archive: zipfile.ZipFile, name: str) -> int:
    with archive.open(f"{name}.npy") as stream:
        return len(read_header(stream, name)[0])
