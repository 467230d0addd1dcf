"""Arrays as tables, and moments in place of rows; damaged and hostile files are in ``test_read``."""

import math

import numpy as np
import pytest

from drbo.data.reading.read import open_source, read_table
from drbo.data.statistics.moments_file import save_moments
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError


def test_moments_stand_in_place_of_rows(tmp_path, rng):
    path, rows = tmp_path / "m.npz", rng.normal(size=(20, 2))
    save_moments(path, Sums.of_rows(["a", "b"], rows))
    source = open_source(path)
    assert not source.has_rows()
    assert source.sums().n == 20
    assert (source.schema().names, source.size()) == (("a", "b"), math.inf)
    with pytest.raises(DataError, match="contains the moments of a table, not its rows"):
        read_table(path)


def test_arrays_are_rows(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3))
    source = open_source(tmp_path / "t.npz")
    assert source.has_rows()
    assert source.size() == (tmp_path / "t.npz").stat().st_size
    assert source.frame([]).to_numpy().tolist() == np.eye(3).tolist()
