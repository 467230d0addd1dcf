import gzip
import io
import random
import tracemalloc
import zipfile

import numpy as np
import pytest

from drbo.data.files import packed
from drbo.data.files.files import read_member
from drbo.data.files.packed import FREE_BYTES, InputLimit, gzip_pieces, open_zip
from drbo.errors import ResultError


def _unpacked(raw, limit=None):
    return b"".join(gzip_pieces(io.BytesIO(raw), limit or InputLimit(), "t"))


def test_gzip_files_of_several_members_and_with_padding():
    raw = gzip.compress(b"a,b\n") + gzip.compress(b"") + gzip.compress(b"1,2\n")
    assert _unpacked(raw + b"\0" * 70_000) == b"a,b\n1,2\n"
    assert _unpacked(raw, InputLimit.of(8)) == b"a,b\n1,2\n"
    with pytest.raises(ResultError, match="needs more than 7 bytes"):
        _unpacked(raw, InputLimit.of(7))


def test_gzip_files_of_any_size_come_back():
    rng = random.Random(0)
    for size in (0, 1, 16_384, 2**20 - 1, 2**20, 2**20 + 1, 3 * 2**20 + 17):
        content = rng.randbytes(size // 2) + bytes(size - size // 2)
        assert _unpacked(gzip.compress(content, 1)) == content


@pytest.mark.parametrize("cut", [-3, -9, 5, 0])
def test_a_gzip_file_that_is_cut_short(cut):
    raw = gzip.compress(random.Random(0).randbytes(50_000))
    with pytest.raises(ResultError, match="not a complete gzip file"):
        _unpacked(raw[:cut])


def test_a_gzip_bomb_is_refused_before_its_first_piece_is_used():
    bomb = gzip.compress(bytes(2 * FREE_BYTES))
    assert len(bomb) < 200_000
    tracemalloc.start()
    with pytest.raises(ResultError, match="over 100 times its size") as caught:
        next(iter(gzip_pieces(io.BytesIO(bomb), InputLimit(), "t")))
    assert tracemalloc.get_traced_memory()[1] < 1.5 * FREE_BYTES
    tracemalloc.stop()
    assert "max_input=..." in caught.value.hint
    pieces = gzip_pieces(io.BytesIO(bomb), InputLimit.of(2 * FREE_BYTES), "t")
    assert sum(map(len, pieces)) == 2 * FREE_BYTES  # a person asked for it


def test_a_gzip_file_of_countless_members(monkeypatch):
    monkeypatch.setattr(packed, "MAX_GZIP_MEMBERS", 100)
    with pytest.raises(ResultError, match="more than 100 gzip members"):
        _unpacked(gzip.compress(b"") * 101)


def _archive(method=zipfile.ZIP_DEFLATED, **members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    buffer.seek(0)
    return buffer


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_arrays_of_an_archive_come_back():
    arrays = {"a": np.arange(1000.0), "b": np.zeros((400_000, 2))}
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        stream = _archive(method, **{name: _npy(array) for name, array in arrays.items()})
        with open_zip(stream, "t", InputLimit()) as archive:
            for name, array in arrays.items():
                assert np.array_equal(read_member(archive, name, name), array)


def test_the_members_of_an_archive_count_together():
    part = bytes(FREE_BYTES // 4)
    with open_zip(_archive(a=part, b=part, c=part), "t", InputLimit()) as archive:
        assert len(archive.namelist()) == 3
    with (
        pytest.raises(ResultError, match="over 100 times its size"),
        open_zip(_archive(**dict.fromkeys("abcde", part)), "t", InputLimit()),
    ):
        pass


def test_a_member_yields_no_more_than_the_directory_says():
    stream = _archive(a=_npy(np.zeros(2**17)))
    raw = stream.getvalue().replace((2**20 + 128).to_bytes(4, "little"), (200).to_bytes(4, "little"))
    with (
        open_zip(io.BytesIO(raw), "t", InputLimit()) as archive,
        pytest.raises((ResultError, zipfile.BadZipFile), match=r"must have|Bad CRC|differ"),
    ):
        read_member(archive, "a", "a")


def test_archives_that_zipfile_would_not_bound(monkeypatch):
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with (
            pytest.raises(ResultError, match="unusual compression method"),
            open_zip(_archive(method, a=bytes(100)), "t", InputLimit()),
        ):
            pass
    many = _archive(**{f"a{k}": b"" for k in range(1025)})
    with pytest.raises(ResultError, match="1025 members"), open_zip(many, "t", InputLimit()):
        pass
    monkeypatch.setattr(packed, "MAX_ZIP_DIRECTORY", 50_000)
    many.seek(0)
    with pytest.raises(ResultError, match="directory of more than 50000 bytes"), open_zip(many, "t", InputLimit()):
        pass
