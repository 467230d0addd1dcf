"""A command in a process of its own."""

import asyncio

import pytest

from drbo.studio.child import Child
from drbo.studio.worker import TaskError
from tests.studio.conftest import SOURCE


def test_the_answer_and_the_error_of_a_command(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    lines: list[str] = []

    async def told(line: str) -> None:
        lines.append(line)

    child = Child(told)
    assert not child.stop()
    found = asyncio.run(child.run(["check", "table.csv"]))
    assert (found["n_rows"], found["remedies"]["drop"]) == (300, ["id"])
    with pytest.raises(TaskError, match=r"none\.csv") as caught:
        asyncio.run(child.run(["check", "none.csv"]))
    assert caught.value.hint
    assert lines
