"""A conversation with a program: what it may ask for, in which words it is refused, and where it ends."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from drbo.deadline import Deadline, no_deadline
from drbo.studio.mcp import LONGEST_MESSAGE, NO_METHOD, PARSE, Server, serve
from tests.studio.conftest import SOURCE


def _call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments, "_meta": {"progressToken": number}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def _talk(folder: Path, *messages: Any) -> list[dict[str, Any]]:
    """Return what is sent back; each message waits for the answer to the one before."""
    sent: list[Any] = []

    async def talk() -> None:
        server = Server(folder, sent.append)
        try:
            for one in messages:
                await server.take(one if isinstance(one, bytes) else json.dumps(one).encode())
                await server.done()
        finally:
            await server.close()

    asyncio.run(talk())
    return sent


def test_a_table_is_checked_fitted_and_asked_about(place: Path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    sent = _talk(
        place,
        {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": "2025-03-26"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/list"},
        _call(1, "check", table="table.csv"),
        _call(2, "fit", table="table.csv", run="run", drop=["id"]),
        _call(3, "edges", run="run"),
        _call(4, "why", run="run", cause="dose", effect="age"),
        _call(5, "ask", run="run"),
        _call(6, "effects", run="run", table="table.csv", cause="age", effect="dose"),
        _call(7, "next", run="run"),
        _call(8, "fit", table="table.csv", run="run"),
        _call(9, "why", run="run", cause="age", effect="<b>"),
    )
    json.dumps(sent, allow_nan=False)
    answers = {one["id"]: one["result"] for one in sent if "id" in one}
    assert answers["a"]["protocolVersion"] == "2025-03-26"
    assert [one["name"] for one in answers["b"]["tools"]] == ["check", "fit", "edges", "why", "ask", "effects", "next"]
    assert [answers[k]["isError"] for k in range(1, 10)] == [False] * 7 + [True] * 2
    found = {k: answers[k]["structuredContent"] for k in range(1, 10)}
    assert found[1]["remedies"]["drop"] == ["id"]
    assert (place / "run" / "result.json").is_file()
    edges = {(one["source"], one["target"]) for one in found[3]["edges"]}
    assert edges == {(one["source"], one["target"]) for one in found[2]["edges"]}
    assert {found[4]["source"], found[4]["target"]} == {"age", "dose"}
    assert found[4]["facts"][0]["name"] == "direction"
    assert "Which of" in (found[5]["question"] or "Which of")
    assert found[6]["effects"] or found[6]["basis"]
    assert "hint" in found[8]
    assert "no edge between" in found[9]["error"]
    heard = [one["params"]["progressToken"] for one in sent if one.get("method") == "notifications/progress"]
    assert 2 in heard
    assert json.loads(answers[3]["content"][0]["text"]) == found[3]


def test_what_is_no_message_is_refused_and_the_talk_goes_on(tmp_path: Path):
    sent = _talk(
        tmp_path, b"{", b"[" * 100_000, [], {"id": 1}, {"jsonrpc": "2.0", "id": [], "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "resources/list"}, _call(3, "rm"), _call(4, "edges", run="../.."),
        _call(5, "edges", run="none"), {"jsonrpc": "2.0", "id": 6, "method": "ping"},
    )  # fmt: skip
    codes = [one["error"]["code"] if "error" in one else None for one in sent]
    assert codes[:6] == [PARSE, PARSE, -32600, -32600, -32600, NO_METHOD]
    assert codes[6] == -32602
    assert [one["result"].get("isError") for one in sent[7:]] == [True, True, None]
    assert "not in the folder" in sent[7]["result"]["structuredContent"]["error"]


def test_a_call_is_cancelled_and_the_next_one_answered(place: Path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    sent: list[Any] = []

    async def talk() -> None:
        server = Server(place, sent.append)
        await server.take(json.dumps(_call(1, "fit", table="table.csv", run="run", drop=["id"])).encode())
        await asyncio.sleep(0.3)
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        await server.take(json.dumps(cancel).encode())
        await server.take(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}')
        await server.close()

    asyncio.run(talk())
    assert [one["id"] for one in sent if "result" in one] == [2]


def test_the_command_ends_with_its_input_at_its_deadline_and_at_a_line_that_is_too_long(tmp_path: Path):
    ping = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    command = [sys.executable, "-m", "drbo", "mcp"]
    env = {"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin"}
    done = subprocess.run(
        command, input=b"\n" + ping, capture_output=True, cwd=tmp_path, env=env, timeout=120, check=True
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    sent: list[Any] = []
    lines = iter([ping, b"x" * LONGEST_MESSAGE, ping])
    with no_deadline():
        serve(tmp_path, lambda _: next(lines), sent.append, Deadline(60.0))
    assert len(sent) == 1
    serve(tmp_path, lambda _: __import__("time").sleep(60) or b"", sent.append, Deadline(0.0))
    assert len(sent) == 1
