"""Serves drbo to a program that speaks the Model Context Protocol: JSON-RPC 2.0, a line each, on stdin and stdout.

Tools run the commands, with ``--json`` and a time limit, one at a time, in processes of their own. Every file that a
program names must lie in the folder in which this was started; what a result says is read by the worker of the studio.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from drbo.deadline import Deadline
from drbo.errors import DrboError, SettingsError
from drbo.studio.child import Child
from drbo.studio.mcp_tools import TOOLS, ToolCall, request_of
from drbo.studio.worker import Worker

VERSIONS = ("2025-06-18", "2025-03-26", "2024-11-05")
LONGEST_MESSAGE = 2**20  # bytes
LOOKS = 0.2  # seconds between looks at the deadline
PARSE, INVALID, NO_METHOD, WRONG = -32700, -32600, -32601, -32602  # codes of JSON-RPC
GUIDE = (
    "Call check on a table first, then fit with a folder for the run; edges, why, ask, effects and next read that "
    "folder. 'supported' arrows are told by the data or the user, 'assumed' ones are not confirmed, 'open' ones are "
    "unknown: never present an assumed or open arrow as a finding."
)


class Server:
    """Answers the messages of one program.

    Parameters
    ----------
    start : the folder that files must lie in.
    send : takes an answer, or what is told meanwhile.
    """

    def __init__(self, start: Path, send: Callable[[Mapping[str, Any]], None]) -> None:
        self._start, self._send, self._version = start.resolve(), send, ""
        self._worker, self._child, self._turn = Worker(), Child(self._told), asyncio.Lock()
        self._calls = dict[Any, asyncio.Task[None]]()
        self._token: Any = None  # of the call under way, if it wants to hear of its progress
        self._steps = 0

    async def take(self, line: bytes) -> None:
        """Answer a message; a call of a tool is answered when it has ended."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return self._fail(None, PARSE, "a line must hold one JSON object")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return self._fail(None, INVALID, "a message is an object with jsonrpc 2.0")
        method, asked, params = message.get("method"), message.get("id"), message.get("params", {})
        if not isinstance(asked, str | int | None) or not isinstance(params, dict):
            return self._fail(None, INVALID, "the id is a text or a number, and params an object")
        if asked is None:
            if method == "notifications/cancelled":
                self._cancel(params.get("requestId"))
            return None
        if method == "initialize":
            return self._answer(asked, self._greeting(params))
        if method == "ping":
            return self._answer(asked, {})
        if method == "tools/list":
            return self._answer(asked, {"tools": [one.described(name) for name, one in TOOLS.items()]})
        if method != "tools/call":
            return self._fail(asked, NO_METHOD, f"there is no method {method!r:.80}")
        if params.get("name") not in TOOLS or asked in self._calls:
            return self._fail(asked, WRONG, f"there is no tool {params.get('name')!r:.80}, or the id is in use")
        self._calls[asked] = asyncio.create_task(self._called(asked, params))
        return None

    async def done(self) -> None:
        """Wait for the calls that are under way."""
        await asyncio.gather(*self._calls.values(), return_exceptions=True)

    async def close(self) -> None:
        """End the calls that are under way."""
        for call in self._calls.values():
            call.cancel()
        await self.done()
        self._worker.close()

    def _greeting(self, params: Mapping[str, Any]) -> dict[str, Any]:
        from drbo import __version__

        wanted = params.get("protocolVersion")
        return {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0], "capabilities": {"tools": {}},
            "serverInfo": {"name": "drbo", "version": __version__}, "instructions": GUIDE,
        }  # fmt: skip

    async def _called(self, asked: Any, params: Mapping[str, Any]) -> None:
        try:
            async with self._turn:
                self._token, self._steps = (params.get("_meta") or {}).get("progressToken"), 0
                found = await self._result(params["name"], params.get("arguments") or {})
        except DrboError as error:
            self._answer(
                asked, _content({"error": error.message, "hint": error.hint, "column": error.column}, bad=True)
            )
        except Exception as error:
            self._answer(
                asked, _content({"error": f"internal error: {error!r}", "hint": None, "column": None}, bad=True)
            )
        else:
            self._answer(asked, _content(found))
        finally:
            self._token = None
            self._calls.pop(asked, None)

    async def _result(self, name: str, arguments: Any) -> dict[str, Any]:
        request: ToolCall = request_of(name, arguments, self._start)
        if request.words:
            return dict(await self._child.run(request.words))
        if not (request.run / "result.json").is_file():
            raise SettingsError(f"there is no run in '{request.run.name}'", hint="call fit first")
        view = await asyncio.to_thread(self._worker.ask, "view", str(request.run))
        question = None
        if name == "ask":
            question = await asyncio.to_thread(self._worker.ask, "question", request.skipped)
        return request.read(view, question)

    def _cancel(self, asked: Any) -> None:
        call = self._calls.get(asked) if isinstance(asked, str | int) else None
        if call is not None:
            call.cancel()

    async def _told(self, words: str) -> None:
        self._steps += 1
        if words and isinstance(self._token, str | int):
            params = {"progressToken": self._token, "progress": self._steps, "message": words}
            self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def _answer(self, asked: Any, result: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "id": asked, "result": result})

    def _fail(self, asked: Any, code: int, words: str) -> None:
        self._send({"jsonrpc": "2.0", "id": asked, "error": {"code": code, "message": words}})


def _content(found: Mapping[str, Any], *, bad: bool = False) -> dict[str, Any]:
    text = json.dumps(found, allow_nan=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": dict(found), "isError": bad}


def serve(
    start: Path, read: Callable[[int], bytes], send: Callable[[Mapping[str, Any]], None], deadline: Deadline
) -> None:
    """Serve until the program closes its end or time is over; ``read`` returns a line, of so many bytes at most."""

    async def run() -> None:
        server, lines, loop = Server(start, send), asyncio.Queue[bytes](), asyncio.get_running_loop()

        def pump() -> None:  # a thread that nobody waits for: it may hang in a read
            for line in _lines(read):
                loop.call_soon_threadsafe(lines.put_nowait, line)

        threading.Thread(target=pump, daemon=True).start()
        try:
            while not deadline.over():
                try:
                    line = await asyncio.wait_for(lines.get(), LOOKS)
                except TimeoutError:
                    continue
                if not line:
                    return await server.done()
                if line.strip():
                    await server.take(line)
        finally:
            await server.close()

    asyncio.run(run())


def _lines(read: Callable[[int], bytes]) -> Iterable[bytes]:
    """Yield lines, and an empty one at the end or where one is too long."""
    while (line := read(LONGEST_MESSAGE)) and len(line) < LONGEST_MESSAGE:
        yield line
    yield b""
