"""Moments in a file: what several owners of rows share in place of the rows.

The file is an NPZ archive without code: sizes and types are checked before an array is read, and what it says must be
possible for a table of numbers.
"""

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Floats
from drbo.data.files.files import (
    check_version,
    npz_bytes,
    read_bytes,
    read_json,
    read_member,
    refusing,
    stored_archive,
    write_file,
)
from drbo.data.files.packed import SmallReads
from drbo.data.reading.frames import check_unicode
from drbo.data.reading.lines import MAX_COLUMNS
from drbo.data.reading.source import Stamp
from drbo.data.reading.text import check_unique
from drbo.data.statistics.resamples import MOST_NUMBERS, Resamples, check_count
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError, ResultError

FORMAT, FORMAT_VERSION = "drbo-moments", 1
#: Largest file: the products of 16,384 columns, those of resamples, and a little more.
MAX_BYTES = 8 * (MAX_COLUMNS**2 + MOST_NUMBERS) + 2**26
MAX_ROWS = 2**53
#: Names and counts.
MAX_ABOUT = 2**24
#: What rounding may do to a correlation.
ROUNDING = 1e-6
#: The arrays beside the names and counts, with their types.
_ARRAYS = {
    "shift": "<f8",
    "offset": "<f8",
    "products": "<f8",
    "low": "<f8",
    "high": "<f8",
    "whole": "|b1",
    "missing": "<i8",
}
#: Those of the resamples, where there are some.
_RESAMPLED = {"resampled_n": "<i8", "resampled_offset": "<f8", "resampled_products": "<f8"}
_COUNTS = ("n", "dropped")


class Begun(NamedTuple):
    """Sums of the first files of a table, to which more are to be added."""

    sums: Sums
    files: tuple[Stamp, ...] = ()  # in the sums
    sections: int = 0  # of the last of these files, where only so many of its sections are in the sums; 0: all


def save_moments(path: Path, sums: Sums) -> None:
    """Write moments to a file; no row is in it."""
    save_part(path, Begun(sums))


def save_part(path: Path, begun: Begun) -> None:
    """Write moments, and what they are the sums of."""
    write_file(path, moments_bytes(*begun))


def moments_bytes(sums: Sums, files: Sequence[Stamp] = (), sections: int = 0) -> bytes:
    """Return the content of a file of moments."""
    about = {"format": FORMAT, "version": FORMAT_VERSION, "names": list(sums.names), "worth": sums.worth}
    about |= {name: getattr(sums, name) for name in _COUNTS} | {"files": [list(stamp) for stamp in files]}
    about["sections"] = sections
    arrays = {name: np.asarray(getattr(sums, name), dtype=kind) for name, kind in _ARRAYS.items()}
    if (drawn := sums.resamples) is not None:
        arrays |= dict(zip(_RESAMPLED, (drawn.n.astype("<i8"), drawn.offset, drawn.products), strict=True))
    return npz_bytes({"about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays})


def load_moments(path: Path) -> Sums:
    """Read moments from a file; what they stand for is checked by a fit.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "part.npz"
    ...     save_moments(file, Sums.of_rows(["a", "b"], [[1.0, 2.0], [3.0, 5.0]]))
    ...     load_moments(file).products.tolist()
    [[2.0, 3.0], [3.0, 4.5]]
    """
    return load_part(path).sums


def load_part(path: Path) -> Begun:
    """Read moments and the files that are in the sums."""
    with refusing(path, DataError):
        return moments_of_bytes(read_bytes(path, MAX_BYTES), str(path))


def is_moments_file(path: Path) -> bool:
    """Tell whether a file holds moments, and not a table."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with path.open("rb") as stream, zipfile.ZipFile(SmallReads(stream, f"file '{path}'")) as archive:
            return {"about.npy", "products.npy"} <= set(archive.namelist())
    except (OSError, ResultError, zipfile.BadZipFile):
        return False


def moments_of_bytes(raw: bytes, what: str) -> Begun:
    """Return the moments in the content of a file, and the files that are in the sums."""
    archive = stored_archive(io.BytesIO(raw), what)
    packed = read_member(archive, "about", f"{what} about", kinds="u", limit=MAX_ABOUT)
    about = read_json(packed.tobytes())
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ResultError(f"{what} does not hold moments of a table", hint="write it with 'drbo moments'")
    check_version(about.get("version"), FORMAT_VERSION, what)
    names, counts = _names(about.get("names"), what), _counts(about, what)
    d = len(names)
    found: dict[str, Any] = {}
    for name, kind in _ARRAYS.items():
        shape = (d, d) if name == "products" else (d,)
        found[name] = read_member(archive, name, f"{what} {name}", shape=shape, dtype=kind)
    sums = Sums(names=names, **counts, **found, resamples=_resamples(archive, d, what))
    _check(sums, what)
    sections = about.get("sections", 0)
    if type(sections) is not int or not 0 <= sections <= MAX_ROWS:
        raise ResultError(f"{what}: 'sections' must be a whole number of at least 0, got {sections!r:.80}")
    return Begun(sums, _stamps(about.get("files"), what), sections)


def _resamples(archive: zipfile.ZipFile, d: int, what: str) -> Resamples | None:
    """Return the resamples of a file that has some."""
    if "resampled_n.npy" not in archive.namelist():
        return None
    n = read_member(archive, "resampled_n", f"{what} resampled_n", dtype="<i8", limit=MAX_ABOUT)
    check_count(n.size, d)
    shapes = n.shape, (*n.shape, d), (*n.shape, d, d)
    return Resamples(*(
        read_member(archive, name, f"{what} {name}", shape=shape, dtype=kind)
        for shape, (name, kind) in zip(shapes, _RESAMPLED.items(), strict=True)
    ))  # fmt: skip


def _names(names: Any, what: str) -> tuple[str, ...]:
    if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
        raise ResultError(f"{what}: names must be a list of names", hint="write the file again")
    if not 0 < len(names) <= MAX_COLUMNS:
        raise ResultError(f"{what} has {len(names)} columns, but 1 to {MAX_COLUMNS} are allowed")
    check_unique(names, f"{what}: ")
    check_unicode(names)
    return tuple(names)


def _counts(about: dict[str, Any], what: str) -> dict[str, Any]:
    found = {name: about.get(name) for name in _COUNTS}
    for name, value in found.items():
        if type(value) is not int or not 0 <= value <= MAX_ROWS:
            raise ResultError(f"{what}: '{name}' must be a whole number from 0 to 2^53, got {value!r:.80}")
    worth = about.get("worth")
    if not isinstance(worth, int | float) or not 0 < worth <= 1:
        raise ResultError(f"{what}: 'worth' must be above 0 and at most 1, got {worth!r:.80}")
    return found | {"worth": float(worth)}


def _stamps(files: Any, what: str) -> tuple[Stamp, ...]:
    if not isinstance(files, list) or not all(
        isinstance(one, list) and [type(part) for part in one] == [str, int, int] for one in files
    ):
        raise ResultError(f"{what}: 'files' must be names, sizes and times", hint="write the file again")
    return tuple((one[0], one[1], one[2]) for one in files)


def _check(sums: Sums, what: str) -> None:
    """Refuse what no table of numbers has."""
    hint = "the file is damaged, or was changed: write it again with 'drbo moments'"
    if (sums.missing < 0).any() or (sums.missing > sums.dropped).any():
        raise ResultError(f"{what}: counts of missing cells do not match the rows that were left out", hint=hint)
    if not sums.n:
        return
    arrays = sums.mean, sums.products, sums.low, sums.high
    if not all(np.isfinite(array).all() for array in arrays):
        raise ResultError(f"{what} contains numbers that are not finite", hint=hint)
    slack = ROUNDING * np.maximum(np.abs(sums.low), np.abs(sums.high))
    if (sums.mean < sums.low - slack).any() or (sums.mean > sums.high + slack).any():
        raise ResultError(f"{what}: a mean is not between the smallest and the largest value", hint=hint)
    _check_resamples(sums, what, hint)
    _check_products(sums.products, what, hint)


def _check_products(products: Floats, what: str, hint: str) -> None:
    squares = np.diag(products)
    scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    cosines = products / scale / scale[:, None]
    if (squares < 0).any() or not np.allclose(cosines, cosines.T, rtol=0, atol=ROUNDING):
        raise ResultError(f"{what}: products must be symmetric, and squares at least 0", hint=hint)
    if np.linalg.eigvalsh(cosines)[0] < -ROUNDING * len(cosines):
        raise ResultError(f"{what}: no table has these products", hint=hint)


def _check_resamples(sums: Sums, what: str, hint: str) -> None:
    """Refuse resamples that cannot be of these rows, each of which counts at most twice."""
    if (drawn := sums.resamples) is None:
        return
    finite = np.isfinite(drawn.offset).all() and np.isfinite(drawn.products).all()
    if not finite or (drawn.n < 0).any() or (drawn.n > 2 * sums.n).any():
        raise ResultError(f"{what}: the resamples are not those of a table with these moments", hint=hint)
    for products in drawn.products:
        _check_products(products, f"{what} resamples", hint)
