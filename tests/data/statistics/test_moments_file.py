"""Files of moments: they come back bit by bit, and a file that no table could have is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from drbo.data.files.files import npz_bytes
from drbo.data.reading.read import read_table
from drbo.data.statistics import moments_file
from drbo.data.statistics.moments_file import (
    Begun,
    is_moments_file,
    load_moments,
    load_part,
    moments_bytes,
    save_moments,
    save_part,
)
from drbo.data.statistics.resamples import ResampledSums
from drbo.data.statistics.sums import Sums, summed
from drbo.errors import DataError


@pytest.fixture
def totals(rng):
    return Sums.of_rows(["a", "ß"], np.append(rng.normal(size=(20, 2)), [[np.nan, 1.0]], axis=0))


def test_moments_come_back(totals, tmp_path):
    path = tmp_path / "part.npz"
    save_part(path, Begun(totals, (("x.csv", 10, 5),), 3))
    found, files, sections = load_part(path)
    assert (files, sections) == ((("x.csv", 10, 5),), 3)
    assert (found.names, found.n, found.dropped) == (totals.names, 20, 1)
    for name in ("shift", "offset", "products", "low", "high", "whole", "missing"):
        assert np.array_equal(getattr(found, name), getattr(totals, name))


def test_resamples_come_back(rng, tmp_path):
    totals, path = summed("ab", [rng.normal(size=(50, 2))], resampled=ResampledSums(2, 3)), tmp_path / "part.npz"
    save_moments(path, totals)
    found = load_moments(path)
    for name in ("n", "offset", "products"):
        assert np.array_equal(getattr(found.resamples, name), getattr(totals.resamples, name))
    drawn = totals.resamples
    for changed in (
        replace(drawn, n=drawn.n + 200),
        replace(drawn, n=-drawn.n),
        replace(drawn, offset=drawn.offset * np.nan),
        replace(drawn, products=-drawn.products),
        replace(drawn, products=drawn.products[:, :1]),
    ):
        save_moments(path, replace(totals, resamples=changed))
        with pytest.raises(DataError, match=r"part\.npz.* resample"):
            load_moments(path)


def test_moments_are_no_table(totals, tmp_path):
    path = tmp_path / "part.npz"
    save_moments(path, totals)
    assert is_moments_file(path)
    with pytest.raises(DataError, match="contains the moments of a table, not its rows"):
        read_table(path)
    np.savez(tmp_path / "table.npz", X=np.eye(3))
    assert not is_moments_file(tmp_path / "table.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK")
    assert not is_moments_file(tmp_path / "bad.npz")
    assert not is_moments_file(tmp_path / "none.npz")


def _changed(totals, **changes):
    """The file with other arrays, or other entries of its description."""
    arrays = {name: np.asarray(getattr(totals, name), dtype=kind) for name, kind in moments_file._ARRAYS.items()}
    about = {"format": "drbo-moments", "version": 1, "names": list(totals.names), "worth": 1.0, "files": []}
    about |= {"n": totals.n, "dropped": totals.dropped}
    about |= {name: value for name, value in changes.items() if name not in arrays}
    arrays |= {name: value for name, value in changes.items() if name in arrays}
    return npz_bytes({"about": np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "else"}, "does not hold moments"),
        ({"version": 2}, "format version 2"),
        ({"names": ["a", "a"]}, "used more than once"),
        ({"names": ["a", ""]}, "must be a list of names"),
        ({"names": ["a"]}, "shift must have shape"),
        ({"names": ["a"] * 20_000}, "columns, but 1 to"),
        ({"n": -1}, "'n' must be a whole number"),
        ({"n": True}, "'n' must be a whole number"),
        ({"n": 10**30}, "'n' must be a whole number"),
        ({"worth": 0}, "'worth' must be above 0"),
        ({"files": [["a", 1]]}, "'files' must be names"),
        ({"missing": np.array([5, 0])}, "do not match the rows that were left out"),
        ({"offset": np.array([np.inf, 0.0])}, "not finite"),
        ({"offset": np.array([99.0, 0.0])}, "a mean is not between"),
        ({"shift": np.zeros(2, dtype=np.float32)}, "shift must have shape"),
        ({"products": np.array([[1.0, 2.0], [0.0, 1.0]])}, "must be symmetric"),
        ({"products": -np.eye(2)}, "must be symmetric, and squares at least 0"),
        ({"products": np.array([[1.0, 2.0], [2.0, 1.0]])}, "no table has these products"),
        ({"products": np.array([[object()] * 2] * 2)}, "products must have shape"),
    ],
)
def test_hostile_files_are_refused(totals, tmp_path, changes, words):
    path = tmp_path / "part.npz"
    path.write_bytes(_changed(totals, **changes))
    with pytest.raises(DataError, match=words):
        load_moments(path)


def test_a_truncated_file_is_refused(totals, tmp_path):
    path = tmp_path / "part.npz"
    raw = moments_bytes(totals)
    for size in (0, 10, len(raw) // 2, len(raw) - 1):
        path.write_bytes(raw[:size])
        with pytest.raises(DataError, match=r"part\.npz"):
            load_moments(path)
