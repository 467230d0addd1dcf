"""What all tabs see, from an edit to the graph, its price, and the command that repeats it."""

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drbo.cli.studio_words import fit_words, python_code
from drbo.errors import DrboError, SettingsError
from drbo.studio.session import Session
from drbo.studio.state_file import STATE
from drbo.studio.tasks import STATED
from tests.studio.conftest import SOURCE


def _session(table: str = "table.csv", folder: str = "run") -> Session:
    Path(folder).mkdir(exist_ok=True)
    return Session(Path(folder), table, fit_words, python_code)


async def _idle(session: Session) -> dict:
    while session._job is not None and not session._job.done():
        await asyncio.sleep(0.02)
    return json.loads(json.dumps(session.state()))


def test_from_an_edit_to_a_graph_and_back(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))

    async def work():
        session = _session()
        try:
            await session.open()
            state = await _idle(session)
            assert [one["column"] for one in state["columns"]["problems"]] == ["id"]
            assert state["view"] is None
            await session.edit({"do": "solve"})
            await session.edit({"do": "type", "name": "age", "type": "number"})
            with pytest.raises(DrboError, match="no column"):
                await session.edit({"do": "drop", "name": "nothing"})
            await _idle(session)
            await session.fit()
            state = await _idle(session)
            assert (state["fitted"], state["error"]) == (True, None)
            edges = {(one["source"], one["target"]) for one in state["view"]["graph"]["edges"]}
            assert len(edges) == 3
            await session.edit({"do": "forbid", "a": "dose", "b": "age"})
            await session.edit({"do": "root", "name": "dose"})
            with pytest.raises(DrboError, match="is required but"):
                await session.edit({"do": "require", "a": "age", "b": "dose"})
            await session.edit({"do": "undo"})
            await session.edit({"do": "forbid", "a": "age", "b": "dose"})
            state = await _idle(session)
            assert state["edit"]["what"] == "age is no direct cause of dose"
            assert state["edit"]["price"] > 10
            assert "very strong evidence against it" in state["edit"]["words"]
            assert {"removed"} <= {one["kind"] for one in state["edit"]["moved"]}
            assert state["fitted"]
            names = [one["name"] for one in state["view"]["graph"]["nodes"]]
            pairs = [{names[one["source"]], names[one["target"]]} for one in state["view"]["graph"]["edges"]]
            assert {"age", "dose"} not in pairs
            return json.loads(json.dumps(session.state()))
        finally:
            await session.close()

    state = asyncio.run(work())
    words = shlex.split(state["command_line"])
    assert words[:3] == ["drbo", "fit", "table.csv"]
    words[words.index("-o") + 1] = "again"
    subprocess.run([sys.executable, "-m", "drbo", *words[1:], "-q"], check=True, capture_output=True)
    for name in ("edges.csv", "graph.svg"):
        assert Path("again", name).read_bytes() == Path("run", name).read_bytes()
    _check_reopened(state)


def _check_reopened(before: dict) -> None:
    """The page is closed, and nothing is lost."""

    async def work():
        session = _session()
        try:
            await session.open()
            state = await _idle(session)
            for name in ("said", "statements", "view", "command_line", "can_undo", "fitted"):
                assert state[name] == before[name], name
            await session.edit({"do": "undo"})
            await session.edit({"do": "redo"})
            assert json.loads(json.dumps(session.state()))["said"] == before["said"]
        finally:
            await session.close()

    asyncio.run(work())


def _table_with_an_open_edge() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(500, 3))
    x[:, 2] += 0.8 * x[:, 0] + 0.8 * x[:, 1]
    y = x[:, 2] + rng.normal(size=500)
    pd.DataFrame(np.column_stack([x, y, y + rng.normal(size=500)]), columns=list("abcde")).to_csv("t.csv", index=False)


def test_answers_are_weighed_and_versions_are_kept(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    _table_with_an_open_edge()

    async def work():
        session = _session("t.csv")
        try:
            await session.open()
            await _idle(session)
            with pytest.raises(SettingsError, match="search first"):
                await session.keep({"name": "early"})
            await session.fit()
            state = await _idle(session)
            assert session._plain is not None
            await session.keep({"name": "data alone"})
            # An answer against what the data tell clearly is kept, and does not count.
            await session.edit({"do": "answer", "a": "c", "b": "a", "sure": 80})
            state = await _idle(session)
            assert "the data outvote this answer" in state["edit"]["words"]
            assert "outvoted" in state["statements"][0]["words"]
            assert "--forbid" not in state["command_line"]
            assert state["fitted"]
            # Of somebody who is certain it counts, and what it makes of other arrows is marked.
            await session.edit({"do": "answer", "a": "c", "b": "a", "sure": 100})
            state = await _idle(session)
            assert "--forbid 'a->c'" in state["command_line"]
            for edge in state["view"]["graph"]["edges"]:
                pair = [state["view"]["graph"]["nodes"][edge[end]]["name"] for end in ("source", "target")]
                assert edge["direction"] != "supported" or pair in session._plain.supported
            assert any(edge["direction"] == STATED for edge in state["view"]["graph"]["edges"])
            await session.keep({"name": "as answered"})
            page = await session.compare((0, 1))
            assert "data alone" in page
            await session.edit({"do": "version", "number": 0})
            state = await _idle(session)
            assert (state["statements"], state["at"], state["fitted"]) == ([], "data alone", True)
            assert state["versions"][1] == {"name": "as answered", "parent": "data alone"}
            assert session.state(state["viewed"])["view"] is None
        finally:
            await session.close()

    asyncio.run(work())
    again = _session("t.csv")
    assert [one["name"] for one in again.state()["versions"]] == ["data alone", "as answered"]
    assert again._plain is not None


def test_a_state_of_another_table_or_a_forged_one_is_refused(place, monkeypatch):
    monkeypatch.chdir(place)
    session = _session()
    session._save()
    with pytest.raises(SettingsError, match="is about the table"):
        _session("other.csv")
    for forged in ("[]", '{"format": "drbo-studio", "version": 2}', '{"format": "drbo-studio", "version": 1}', "{"):
        Path("run", STATE).write_text(forged)
        with pytest.raises(DrboError):
            _session()


def test_what_is_no_edit_or_no_answer_is_refused(place, monkeypatch):
    monkeypatch.chdir(place)

    async def work():
        session = _session()
        try:
            for wrong in (None, [], {"do": "undo"}):
                with pytest.raises(SettingsError):
                    await session.edit(wrong)
            with pytest.raises(SettingsError, match="no answer"):
                await session.ask({"cause": "age"})
        finally:
            await session.close()

    asyncio.run(work())


def test_an_error_that_nobody_expected_is_shown(place, monkeypatch):
    monkeypatch.chdir(place)

    async def work():
        session = _session()

        async def broken(*_):
            raise RuntimeError("oh")

        monkeypatch.setattr(session, "_task", broken)
        await session.open()
        state = await _idle(session)
        await session.close()
        return state

    state = asyncio.run(work())
    assert (state["error"]["error"], state["phase"]) == ("internal error: RuntimeError('oh')", "")
