import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, replace

import pytest

from drbo.data.files import lock
from drbo.data.files.lock import LOCK, Owner, discard_ended, locked
from drbo.errors import LockError, WriteError

HOLD = """
import sys, time
from pathlib import Path
from drbo.data.files.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _holder(folder, seconds=60):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder), str(seconds)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    return process


def _write(folder, **changes):
    content = asdict(replace(Owner.this_process(), **changes))
    (folder / LOCK).write_text(json.dumps(content))


def _aged(folder, seconds):
    before = time.time() - seconds
    os.utime(folder / LOCK, (before, before))


def test_a_lock_is_there_while_it_is_held(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with locked(tmp_path):
            owner = Owner.read(tmp_path / LOCK)
            assert (owner.pid, owner.is_gone) == (os.getpid(), False)
            with pytest.raises(LockError, match=f"{tmp_path} is in use by this process"), locked(tmp_path):
                pass
        assert list(tmp_path.iterdir()) == []
        with locked(tmp_path):
            pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, ValueError])
def test_it_is_released_however_the_work_ends(tmp_path, error):
    with pytest.raises(error), locked(tmp_path):
        raise error
    assert not (tmp_path / LOCK).exists()


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    process = _holder(tmp_path)
    try:
        with (
            pytest.raises(LockError, match=f"in use by process {process.pid} on .*, which locked it") as caught,
            locked(tmp_path),
        ):
            pass
        assert str(tmp_path / LOCK) in caught.value.hint
    finally:
        process.send_signal(signal.SIGKILL)
    # Not yet waited for: it is a zombie, and gone.
    deadline = time.monotonic() + 10
    while lock._started(process.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    with pytest.warns(UserWarning, match=f"was locked by process {process.pid} .* which has ended"), locked(tmp_path):
        pass
    process.wait()
    process.stdout.close()
    assert not (tmp_path / LOCK).exists()


def test_the_number_of_an_ended_process_may_be_used_again(tmp_path):
    _write(tmp_path, started="1")
    with pytest.warns(UserWarning, match="which has ended"), locked(tmp_path):
        pass


def test_a_process_that_cannot_be_asked_for_is_gone_when_it_is_silent(tmp_path):
    _write(tmp_path, host="elsewhere", space="another boot")
    with pytest.raises(LockError, match="on elsewhere, which locked it"), locked(tmp_path):
        pass
    _aged(tmp_path, lock.STALE_SECONDS + 60)
    with (
        pytest.warns(UserWarning, match="on elsewhere, which has not updated its lock for 11 minutes"),
        locked(tmp_path),
    ):
        pass


def test_a_living_process_keeps_its_lock_however_silent(tmp_path):
    process = _holder(tmp_path)
    try:
        _aged(tmp_path, 10**6)
        with pytest.raises(LockError, match="in use by process"), locked(tmp_path):
            pass
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', '{"pid": "1"}', "x" * 20_000])
def test_a_damaged_lock_is_nobodys_where_writers_take_turns(tmp_path, content):
    """Such as one that was being written when the disk was full: its owner cannot be asked for, and is not there."""
    (tmp_path / LOCK).write_text(content)
    with pytest.warns(UserWarning, match="by a process, which has ended: the lock was taken over"), locked(tmp_path):
        assert Owner.read(tmp_path / LOCK) is not None


@pytest.mark.parametrize("content", ["", "{"])
def test_a_damaged_lock_counts_until_it_is_old_where_they_cannot(tmp_path, content, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    (tmp_path / LOCK).write_text(content)
    with pytest.raises(LockError, match="in use by another process"), locked(tmp_path):
        pass
    _aged(tmp_path, lock.STALE_SECONDS + 60)
    with pytest.warns(UserWarning, match="locked by a process, which has not updated its lock"), locked(tmp_path):
        pass


def test_a_full_disk_leaves_no_half_of_a_lock(tmp_path, monkeypatch):
    def full(*_given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(lock.json, "dump", full)
    with pytest.raises(WriteError, match="No space left") as caught, locked(tmp_path):
        pass
    assert caught.value.hint == "the disk is full: free some space, or choose another disk"
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_a_link_is_replaced_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LOCK).symlink_to(victim)
    with pytest.warns(UserWarning, match="taken over"), locked(tmp_path / "run"):
        assert not (tmp_path / "run" / LOCK).is_symlink()
    assert victim.read_text() == "mine"


def test_the_owner_is_heard_of_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "HEARTBEAT_SECONDS", 0.01)
    with locked(tmp_path):
        _aged(tmp_path, 1000)
        deadline = time.monotonic() + 10
        while lock._age(tmp_path / LOCK) > 100 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert lock._age(tmp_path / LOCK) < 100


def test_a_lock_that_was_taken_over_is_left_to_its_new_owner(tmp_path):
    with locked(tmp_path):
        _write(tmp_path, host="elsewhere")
    assert Owner.read(tmp_path / LOCK).host == "elsewhere"


def test_of_many_that_come_at_once_one_gets_it(tmp_path):
    """Also where there is a stale lock that all of them see."""
    for stale in (False, True):
        if stale:
            _write(tmp_path, started="1")
        start = str(time.time() + 3)
        program = HOLD.replace("with locked", "time.sleep(max(0, float(sys.argv[3]) - time.time()))\nwith locked")
        command = [sys.executable, "-W", "ignore", "-c", program, str(tmp_path), "4", start]
        many = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(5)]
        held = [process.communicate()[0] for process in many]
        assert sorted(held) == [b""] * 4 + [b"held\n"]
        assert not (tmp_path / LOCK).exists()


def test_the_lock_of_an_ended_process_can_be_discarded(tmp_path):
    with locked(tmp_path):
        discard_ended(tmp_path)
        assert (tmp_path / LOCK).exists()
    for changes, stays in (({"space": "another boot"}, True), ({"started": "1"}, False)):
        _write(tmp_path, **changes)
        discard_ended(tmp_path)
        assert (tmp_path / LOCK).exists() == stays


def test_a_folder_that_cannot_be_written(tmp_path):
    with pytest.raises(WriteError, match="cannot be written"), locked(tmp_path / "absent"):
        pass
