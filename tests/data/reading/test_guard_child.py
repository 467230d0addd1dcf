"""The limits of a guarded process hold, and its errors are written in words."""

import json
import os
import time
from types import SimpleNamespace

import pytest

from drbo.data.reading import guard_child
from drbo.data.reading.guard_child import OUT_OF_MEMORY, peak_memory
from drbo.errors import DataError
from tests.forked import Forked, forked


def test_memory_is_looked_at_where_the_system_has_no_limit():
    assert 2**24 < peak_memory() < 2**40
    watch = guard_child._Watch()
    watch.most = 2**20
    watch._parent = os.getpid()
    assert forked(watch.look).code == OUT_OF_MEMORY


def test_nobody_waits_for_a_process_without_a_parent():
    watch = guard_child._Watch()  # of the parent of this process
    assert forked(watch.look).code == 0
    watch._parent = os.getpid()
    waiting = Forked(watch.look)
    time.sleep(0.1)
    assert waiting.end(9).code == -9


def _answered(read):
    raw = bytearray()
    guard_child._answer(raw.extend, read, {"path": "t.db", "limit": [1, 1.0, "h"], "told": {"table": "x"}})
    return json.loads(raw[4:])


def test_notes_and_errors_are_told_in_words():
    def noting(path, notes, limit, table):
        notes.append(f"{path} {limit.max_bytes} {table}")
        return iter(())

    def failing(*_args, **_told):
        raise DataError("wrong", hint="do so")

    assert _answered(noting) == {"notes": ["t.db 1 x"]}
    assert _answered(failing) == {"error": "wrong", "hint": "do so", "kind": "DataError"}
    assert "damaged" in _answered(lambda *_args, **_told: 1 / 0)["error"]


def test_memory_that_was_refused_is_known_behind_other_errors():
    error = DataError("not complete")
    error.__cause__ = type("OutOfMemoryException", (Exception,), {})()
    assert guard_child._is_memory(error)
    error.__cause__ = SystemError()
    assert not guard_child._is_memory(error)
    error.__cause__.__context__ = MemoryError()
    assert guard_child._is_memory(error)


def test_windows_tells_its_memory(monkeypatch):
    ctypes = pytest.importorskip("ctypes")

    class Found:
        def __call__(self, _process, counters, _size):
            counters._obj.peak_page_file = 77
            return 1

    current = type("Current", (), {"__call__": lambda self: 1})()
    libraries = SimpleNamespace(
        kernel32=SimpleNamespace(GetCurrentProcess=current), psapi=SimpleNamespace(GetProcessMemoryInfo=Found())
    )
    monkeypatch.setattr(ctypes, "windll", libraries, raising=False)
    assert guard_child._windows_memory() == 77
