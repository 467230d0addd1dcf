"""A command of drbo in a process of its own, as a program calls it: with ``--json``, and lines of progress."""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from drbo.studio.worker import TaskError

LONGEST_LINE = 300  # characters of a line of progress


class Child:
    """Runs one command at a time; ``told`` hears the latest line of its progress."""

    def __init__(self, told: Callable[[str], Awaitable[None]]) -> None:
        self._told = told
        self._process: asyncio.subprocess.Process | None = None

    async def run(self, words: Sequence[str]) -> Any:
        """Return the answer of a command, such as ``["fit", "table.csv"]``; an error has the words of the command."""
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "drbo", words[0], "--json", *words[1:], stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            answer, _ = await asyncio.gather(process.stdout.read(), self._follow(process))
            code = await process.wait()
        finally:
            self._process = None
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        found = None
        with suppress(ValueError):
            found = json.loads(answer)
        if isinstance(found, dict) and "error" not in found:
            return found
        if isinstance(found, dict):
            raise TaskError(found["error"], found["hint"], found["column"])
        raise TaskError(f"the command ended with code {code}", hint="run it in a terminal")

    def stop(self) -> bool:
        """Ask the command to end with what it has; False: there is none."""
        if self._process is None:
            return False
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)
        return True

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while piece := await process.stderr.read(2**16):
            lines = [line for line in piece.decode(errors="replace").split("\n") if line.strip()]
            await self._told(lines[-1][:LONGEST_LINE] if lines else "")
