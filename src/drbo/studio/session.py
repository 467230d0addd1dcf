"""What all tabs of a studio see: the table, the statements, the result, and the search that is under way.

All of it runs in the event loop, but for tasks of the worker and fits, which are commands: ``drbo fit TABLE -o RUN``
with the statements as options. So the folder is a run like any other, and the command repeats what is on the page.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from drbo.data.files.files import MAX_TEXT_BYTES, read_bytes, read_json, refusing, write_file
from drbo.errors import DrboError, SettingsError, first_of
from drbo.result.words.plain_text import shell_line
from drbo.studio.said import Said
from drbo.studio.worker import TaskError, Worker

STATE, FORMAT, FORMAT_VERSION = "studio.json", "drbo-studio", 1
MOST_STEPS, LONGEST_LINE = 200, 300  # statements that can be undone; characters of a line of progress
FIT_CODES = (0, 130)  # a result, or one that was stopped


class Session:
    """The state of a studio; ``version`` grows with every change."""

    def __init__(
        self, folder: Path, table: str, words: Callable[[str, Said, Path], list[str]], code: Callable[[str, Said], str]
    ) -> None:
        self.folder, self.version, self.worker = folder, 0, Worker()
        self._words, self._code = words, code
        self._table, self._said = table, Said()
        self._past, self._future = list[Said](), list[Said]()
        self._columns: dict[str, Any] | None = None
        self._view: dict[str, Any] | None = None
        self._edit: dict[str, Any] | None = None
        self._question: dict[str, Any] | None = None
        self._skipped = list[list[str]]()
        self._phase, self._progress = "", ""
        self._error: dict[str, Any] | None = None
        self._job: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._changed = asyncio.Condition()
        self._load()

    # What the page sees.

    def state(self) -> dict[str, Any]:
        """Return everything that a page shows."""
        fitted = self._view is not None and self._view["argv"] == self.command
        return {
            "version": self.version, "table": Path(self._table).name, "columns": self._columns, "view": self._view,
            "said": self._said.to_mapping(), "statements": self._said.statements(), "edit": self._edit,
            "question": self._question, "phase": self._phase, "progress": self._progress, "error": self._error,
            "can_undo": bool(self._past), "can_redo": bool(self._future), "fitted": fitted,
            "command_line": self.command_line, "code": self._code(self._table, self._said) if self._table else "",
        }  # fmt: skip

    @property
    def command(self) -> list[str]:
        """The words of the command that repeats what is on the page."""
        return self._words(self._table, self._said, self.folder) if self._table else []

    @property
    def command_line(self) -> str:
        """The command as a line for the shell, with the folder of its result."""
        return shell_line([*self.command, "-o", str(self.folder)]) if self._table else ""

    async def wait(self, version: int) -> int:
        """Wait until there is something newer than a version, and return its number."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.version != version)
        return self.version

    async def tell(self, **changes: Any) -> None:
        """Change fields of the state, and wake every page."""
        for name, value in changes.items():
            setattr(self, f"_{name}", value)
        async with self._changed:
            self.version += 1
            self._changed.notify_all()

    # What the page asks for.

    async def open(self, table: str | None = None) -> None:
        """Read the table, a new one or that of the command line, and show the result that is there."""
        if table is not None:
            await self._end_job()
            self._table, self._said, self._past, self._future = table, Said(), [], []
            await self.tell(columns=None, view=None, edit=None, question=None, skipped=[])
        self._start(self._opened)

    async def edit(self, edit: Any) -> None:
        """Make an edit, undo one or redo one; a contradiction is refused in words."""
        if not isinstance(edit, dict) or self._columns is None:
            raise SettingsError("an edit is an object, and needs a table")
        kind = edit.get("do")
        if kind in ("undo", "redo"):
            source, other = (self._past, self._future) if kind == "undo" else (self._future, self._past)
            if not source:
                raise SettingsError(f"there is nothing to {kind}")
            said = source[-1]
            await self._check(said)
            source.pop()
            other.append(self._said)
        else:
            said = self._said.solved(self._columns["remedies"]) if kind == "solve" else self._said.edited(edit)
            if said == self._said:
                return
            await self._check(said)
            self._past = [*self._past, self._said][-MOST_STEPS:]
            self._future.clear()
        before, self._said = self._said, said
        self._save()
        await self.tell(edit=None, error=None)
        self._start(partial(self._followed, before))

    async def ask(self, answer: Any) -> None:
        """Take an answer to the question: which of the two can be a cause, or neither is known."""
        question = self._question
        if (
            question is None
            or not isinstance(answer, dict)
            or answer.get("cause") not in (question["a"], question["b"], None)
        ):
            raise SettingsError("this is no answer to the question that is asked")
        a, b = question["a"], question["b"]
        self._skipped = [*self._skipped, [a, b]][-MOST_STEPS:]
        if answer.get("cause") is not None:
            cause = answer["cause"]
            await self.edit({"do": "forbid", "a": b if cause == a else a, "b": cause})
        else:
            await self.tell(question=await self._task("question", self._skipped))

    async def fit(self) -> None:
        """Start the search of what is on the page."""
        self._start(self._fitted)

    async def resume(self) -> None:
        """Go on with a search that was stopped."""
        self._start(partial(self._fitted, ["resume", str(self.folder)]))

    async def stop(self) -> None:
        """Stop the search; the best graph so far is saved."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)
            await self.tell(progress="stopping")

    async def effect(self, source: str | None, target: str) -> str:
        """Return an effect in words."""
        return str(await self._task("effect", self._table, self._said.to_mapping(), source, target))

    async def knowledge(self) -> str:
        """Return the knowledge as TOML."""
        return str(await self._task("knowledge", self._said.to_mapping()))

    async def take_dataset(self, name: str) -> None:
        """Open a data set that ships with the package."""
        await self.open(str(await self._task("dataset", name, str(self.folder))))

    async def close(self) -> None:
        """End what is under way."""
        await self._end_job()
        self.worker.close()

    # How it is done.

    async def _check(self, said: Said) -> None:
        """Refuse statements that contradict each other, or that name no column."""
        assert self._columns is not None
        gone = set(said.drop) | {said.groups}
        names = [one["name"] for one in self._columns["columns"] if one["name"] not in gone]
        known = {one["name"] for one in self._columns["columns"]}
        for name in (*said.drop, *(name for name, _ in said.types), *filter(None, [said.groups])):
            if name not in known:
                raise SettingsError(f"the table has no column {name!r:.80}")
        await self._task("contradictions", names, said.to_mapping())

    def _start(self, job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do one thing in place of what is under way."""
        last, self._job = self._job, asyncio.create_task(self._guarded(self._job, job))
        if last is not None:
            last.cancel()

    async def _guarded(self, last: "asyncio.Task[None] | None", job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if last is not None:
            await asyncio.wait([last])
        try:
            await job()
        except Exception as error:
            told = error if isinstance(error, DrboError) else TaskError(f"internal error: {error!r}", "report it")
            await self.tell(error={"error": told.message, "hint": told.hint, "column": told.column})
        finally:
            if self._job is asyncio.current_task():
                await self.tell(phase="", progress="")

    async def _end_job(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            job.cancel()
            await asyncio.wait([job])

    async def _task(self, name: str, *arguments: Any) -> Any:
        return await asyncio.to_thread(self.worker.ask, name, *arguments)

    async def _opened(self) -> None:
        if not self._table:
            return
        await self.tell(phase="reading the table", error=None)
        await self.tell(columns=await self._task("table", self._table, self._said.to_mapping()))
        self._save()
        await self._look()

    async def _look(self) -> None:
        view = await self._task("view", str(self.folder))
        question = await self._task("question", self._skipped) if view is not None else None
        await self.tell(view=view, question=question)

    async def _followed(self, before: Said) -> None:
        """Show what an edit does: its price from the graph that is there, then the fit with all claims."""
        what = _difference(before, self._said)
        if not self._said.same_table(before):
            await self.tell(phase="reading the table")
            await self.tell(columns=await self._task("table", self._table, self._said.to_mapping()))
        elif self._view is not None:
            await self.tell(phase="searching from the present graph")
            try:
                found = await self._task("price", self._table, before.to_mapping(), self._said.to_mapping())
                await self.tell(edit=found | {"what": what})
            except TaskError as error:  # such as a table with missing values: the fit that follows says more
                await self.tell(edit={"price": None, "words": error.message, "moved": [], "what": what})
        if self._view is not None:
            await self._fitted()

    async def _fitted(self, words: Sequence[str] = ()) -> None:
        """Run a command that writes the result, that of the page unless told otherwise, and show it."""
        words = words or [*self.command[1:], "-o", str(self.folder), "--force"]
        await self.tell(phase="searching", progress="", error=None)
        self._process = process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "drbo", *words, "--json", stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            answer, _ = await asyncio.gather(process.stdout.read(), self._follow_lines(process))
            code = await process.wait()
        finally:
            self._process = None
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        if code not in FIT_CODES:
            with suppress(ValueError):
                found = json.loads(answer)
                raise TaskError(found["error"], found["hint"], found["column"])
            raise TaskError(f"the search ended with code {code}", hint="run the command at the foot of the page")
        await self._look()

    async def _follow_lines(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while piece := await process.stderr.read(2**16):
            lines = [line for line in piece.decode(errors="replace").split("\n") if line.strip()]
            await self.tell(progress=lines[-1][:LONGEST_LINE] if lines else "")

    def _save(self) -> None:
        content = {
            "format": FORMAT, "version": FORMAT_VERSION, "table": self._table, "said": self._said.to_mapping(),
            "past": [one.to_mapping() for one in self._past], "future": [one.to_mapping() for one in self._future],
        }  # fmt: skip
        write_file(self.folder / STATE, json.dumps(content).encode(), 0o600)

    def _load(self) -> None:
        """Read the statements of an earlier studio in this folder about the same table."""
        path = self.folder / STATE
        if not path.exists():
            return
        with refusing(path):
            content = read_json(read_bytes(path, MAX_TEXT_BYTES, follow=False))
        if not isinstance(content, dict) or (content.get("format"), content.get("version")) != (FORMAT, FORMAT_VERSION):
            raise SettingsError(f"{path} is not the state of a studio", hint="choose another folder with -o")
        table = content.get("table")
        if not isinstance(table, str) or (self._table and table and table != self._table):
            raise SettingsError(f"{path} is about the table {table!r:.200}", hint="choose another folder with -o")
        self._table, self._said = table or self._table, Said.from_mapping(content.get("said"))
        past, future = content.get("past"), content.get("future")
        self._past = [Said.from_mapping(one) for one in past] if isinstance(past, list) else []
        self._future = [Said.from_mapping(one) for one in future] if isinstance(future, list) else []


def _difference(before: Said, after: Said) -> str:
    """Return in words what an edit added, or what it took back."""
    was, now = ([one["words"] for one in said.statements()] for said in (before, after))
    added, gone = [one for one in now if one not in was], [one for one in was if one not in now]
    return first_of(added, 2) if added else f"no longer: {first_of(gone, 2)}"
