import io
import os
import stat
import sys
import threading
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from drbo.data.files import files
from drbo.data.files.files import (
    npz_bytes,
    read_bytes,
    read_json,
    read_member,
    read_npy,
    refusing,
    stored_archive,
    write_file,
)
from drbo.errors import CheckpointError, DataError, ResultError, WriteError


def test_a_pipe_is_refused_and_never_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ResultError, match="not a regular file"):
        read_bytes(tmp_path / "pipe", 10)
    with pytest.raises(ResultError, match="not a regular file"):
        read_bytes(Path("/dev/zero"), 10)


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path):
    with (tmp_path / "huge").open("wb") as stream:
        stream.truncate(2**40)  # takes no room on the disk
    with pytest.raises(ResultError, match="at most 100 are allowed"):
        read_bytes(tmp_path / "huge", 100)


def test_a_file_that_lies_about_its_size_is_cut_off():
    assert Path("/proc/self/maps").stat().st_size == 0
    with pytest.raises(ResultError, match="more than 100 bytes"):
        read_bytes(Path("/proc/self/maps"), 100)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b'{"a": {"b": 1, "b": 2}}', "key 'b' appears twice"),
        (b"[NaN]", "contains NaN"),
        (b"[1e400]", "contains 1e400"),
        (b"[-" + b"9" * 400 + b".5]", "not a finite number"),
        (b"{" + b",".join(b'"%d":1' % (k % 399_999) for k in range(400_000)) + b"}", "key '0' appears twice"),
        (b"[" + b"[]," * 2_500_000 + b"1]", "more than 4194304 values"),
        (b"[" * 40 + b"]" * 40, "nested"),
        (b"[" * 10**6, "nested"),
    ],
)
def test_json_is_strict(raw, message):
    with pytest.raises(ValueError, match=message):
        read_json(raw)
    assert read_json(b'{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}


def test_refusing_gives_errors_of_the_kind_that_was_asked_for():
    for kind in (DataError, CheckpointError, ResultError):
        for error in (ValueError("x"), zipfile.BadZipFile("x"), OSError(5, "x"), ResultError("x"), KeyError("x")):
            with pytest.raises(kind, match="x"), refusing(Path("f"), kind):
                raise error
    with pytest.raises(KeyboardInterrupt), refusing(Path("f")):
        raise KeyboardInterrupt


def _stream(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    buffer.seek(0)
    return buffer


def test_arrays_come_back(rng):
    for array in (
        rng.normal(size=(3, 2)),
        np.asfortranarray(rng.normal(size=(3, 2))),
        np.array(["é", "b"]),
        np.eye(2) > 0,
    ):
        assert np.array_equal(read_npy(_stream(array), "a"), array)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, dtype="M8[s]"), "must be numbers"),
        (np.zeros(20), "at most 100 bytes, got"),
        (np.array([0, 2], np.uint8).view(bool), "booleans"),
    ],
)
def test_other_arrays_are_refused(array, message):
    with pytest.raises(ResultError, match=message):
        read_npy(_stream(array), "a", limit=100)


def test_pickles_are_refused():
    with pytest.raises(ResultError, match="a contains pickled Python objects"):
        read_npy(_stream(np.array([{}])), "a")


def test_a_packed_bomb_is_read_no_further_than_its_header_says():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", _stream(np.zeros(4)).getvalue() + bytes(2**26))
    with zipfile.ZipFile(buffer) as archive, pytest.raises(ResultError, match="must have 32 bytes, got more"):
        read_member(archive, "a", "a")


def test_the_header_of_an_array_is_bounded_before_it_is_read():
    buffer = io.BytesIO(b"\x93NUMPY\x02\x00" + (2**30).to_bytes(4, "little") + b" " * 100)
    with pytest.raises(ResultError, match="header of 1073741824 bytes"):
        read_npy(buffer, "a")


def test_texts_count_with_what_they_take_in_memory():
    with pytest.raises(ResultError, match="at most 1000 bytes"):
        read_npy(_stream(np.array(["a", "b"] * 10)), "a", limit=1000)


def test_a_full_disk_and_a_limit_on_files_are_told_by_name(tmp_path, monkeypatch):
    for code, words in ((28, "the disk is full"), (122, "the disk is full"), (27, "ulimit -f"), (13, "another folder")):

        def fail(_descriptor, code=code):
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(files.os, "fsync", fail)
        with pytest.raises(ResultError, match="cannot be written") as caught:
            write_file(tmp_path / "file", b"new")
        assert words in caught.value.hint


def test_memory_that_does_not_suffice_is_told(tmp_path):
    with pytest.raises(DataError, match="does not fit into memory"), refusing(tmp_path, DataError):
        raise MemoryError


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_file(path, b"old")

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ResultError, match="No space left"):
        write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(_descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_link_at_the_place_of_a_file_is_replaced_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert (tmp_path / "link").read_bytes() == b"new"


def test_no_file_takes_the_place_of_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(WriteError, match="pipe cannot be written: it is a device or a pipe"):
        write_file(tmp_path / "pipe", b"new")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path):
    contents = [bytes([k]) * 10**5 for k in range(8)]
    threads = [threading.Thread(target=write_file, args=(tmp_path / "file", content)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "file").read_bytes() in contents
    assert len(list(tmp_path.iterdir())) == 1


def test_packed_arrays_are_read_back(tmp_path):
    arrays = {"X": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "b"])}
    write_file(tmp_path / "packed.npz", npz_bytes(arrays))
    with np.load(tmp_path / "packed.npz", allow_pickle=False) as found:
        assert sorted(found) == ["X", "names"]
        assert (found["X"] == arrays["X"]).all()
        assert found["names"].tolist() == ["a", "b"]


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_file_is_private_from_its_first_byte(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda number: seen.append(os.fstat(number).st_mode & 0o777))
    (tmp_path / "a").touch(mode=0o644)
    write_file(tmp_path / "a", b"1", 0o600)
    assert seen == [(tmp_path / "a").stat().st_mode & 0o777] == [0o600]


def test_an_archive_that_unpacks_to_more_than_its_size_is_refused():
    plain, packed, twice = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(plain, a=np.zeros(9), b=np.zeros(0))
    np.savez_compressed(packed, a=np.zeros(10**6))
    with zipfile.ZipFile(twice, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            archive.writestr("a.npy", b"x")
    assert stored_archive(plain, "a.npz").namelist() == ["a.npy", "b.npy"]
    with pytest.raises(ResultError, match=r"compressed member 'a.npy'"):
        stored_archive(packed, "a.npz")
    with pytest.raises(ResultError, match="the same name"):
        stored_archive(twice, "a.npz")
    raw = plain.getvalue()
    size = raw.index(b"PK\x01\x02") + 24  # of the first member, in the directory at the end
    with pytest.raises(ResultError, match="overlap"):
        stored_archive(io.BytesIO(raw[:size] + b"\xff\xff\x00\x00" + raw[size + 4 :]), "a.npz")


def test_a_large_array_of_a_saved_search_is_read_at_once():
    values = np.arange(400_000.0)
    with stored_archive(io.BytesIO(npz_bytes({"a": values})), "a.npz").open("a.npy") as stream:
        raw = stream.read(10**7)
    assert raw.endswith(values.tobytes())


def test_a_high_limit_takes_no_memory(tmp_path):
    (tmp_path / "small").write_bytes(b"x" * 100)
    tracemalloc.start()
    assert len(read_bytes(tmp_path / "small", 2**33)) == 100
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20
