"""What all tabs of a studio see: the table, the statements, the result, and the search that is under way.

All of it runs in the event loop, but for tasks of the worker and fits, which are commands: ``drbo fit TABLE -o RUN``
with the statements as options. So the folder is a run like any other, and the command repeats what is on the page.
The module is long because everything that a page can ask for is here, and changes one state.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from drbo.errors import DrboError, SettingsError, first_of
from drbo.result.words.plain_text import shell_line
from drbo.studio.child import Child
from drbo.studio.edits import outvoted
from drbo.studio.said import SURE, Said
from drbo.studio.state_file import STATE, PlainRun, StudioState, read_state, write_state
from drbo.studio.versions import Versions
from drbo.studio.worker import TaskError, Worker

MOST_STEPS = 200  # statements that can be undone


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
        self._viewed = 0  # how often the view has changed
        self._versions = Versions(folder)
        self._plain: PlainRun | None = None  # the last run without answers
        self._edit: dict[str, Any] | None = None
        self._question: dict[str, Any] | None = None
        self._skipped = list[list[str]]()
        self._phase, self._progress = "", ""
        self._error: dict[str, Any] | None = None
        self._job: asyncio.Task[None] | None = None
        self._child = Child(lambda line: self.tell(progress=line))
        self._changed = asyncio.Condition()
        self._load()

    # What the page sees.

    def state(self, viewed: int = -1) -> dict[str, Any]:
        """Return everything that a page shows, without the view that it has: that with this number."""
        fitted = self._view is not None and self._view["argv"] == self.command
        view = self._view if viewed != self._viewed else None
        return {
            "version": self.version, "table": Path(self._table).name, "columns": self._columns, "view": view,
            "viewed": self._viewed, "versions": self._versions.shown(), "at": self._versions.at,
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
        kind, found = edit.get("do"), None
        if kind in ("undo", "redo"):
            source, other = (self._past, self._future) if kind == "undo" else (self._future, self._past)
            if not source:
                raise SettingsError(f"there is nothing to {kind}")
            said = source[-1]
            await self._check(said)
            source.pop()
            other.append(self._said)
        else:
            if kind == "version":
                version = self._versions[edit.get("number")]
                said, self._versions.at = version.said, version.name
            else:
                said = self._said.solved(self._columns["remedies"]) if kind == "solve" else self._said.edited(edit)
            if said == self._said:
                await self.tell()
                return
            await self._check(said)
            if kind == "answer" and edit["sure"] < SURE:
                said, found = await self._weighed(said, edit)
            self._past = [*self._past, self._said][-MOST_STEPS:]
            self._future.clear()
        before, self._said = self._said, said
        self._save()
        await self.tell(edit=found, error=None)
        if said.knowledge != before.knowledge or not said.same_table(before):  # else the data outvoted an answer
            self._start(partial(self._followed, before, found))

    async def _weighed(self, said: Said, edit: dict[str, Any]) -> tuple[Said, dict[str, Any] | None]:
        """Return the statements with an answer, used or outvoted, and what it costs; None: that cannot be told."""
        await self._end_job()
        try:
            found = await self._task("price", self._table, self._said.to_mapping(), said.to_mapping())
        except TaskError:
            return said, None
        if outvoted(found["price"], found["scale"], edit["sure"] / SURE):
            said = said.edited(edit | {"used": False})
            words = f"{found['words']}. At {edit['sure']}% the data outvote this answer, and it is not used"
            found |= {"words": words, "moved": []}
        return said, found | {"what": _difference(self._said, said)}

    async def keep(self, body: Any) -> None:
        """Give a name to what is on the page."""
        if self._view is None or not self.state(self._viewed)["fitted"]:
            raise SettingsError("only a graph that is that of the statements can be named", hint="search first")
        self._versions.keep(body.get("name") if isinstance(body, dict) else None, self._said)
        self._save()
        await self.tell()

    async def compare(self, numbers: tuple[int, int]) -> str:
        """Return two versions side by side as a page; -1: what is there now."""
        sides = [
            (str(self.folder), "now") if k < 0 else (str(self._versions.place(k)), self._versions[k].name)
            for k in numbers
        ]
        return str(await self._task("compare", *map(tuple, zip(*sides, strict=True))))

    async def scatter(self, cause: str, effect: str) -> dict[str, Any]:
        """Return the two residuals of an edge."""
        return dict(await self._task("scatter", self._table, self._said.to_mapping(), cause, effect))

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
            await self.edit({"do": "answer", "a": cause, "b": b if cause == a else a, "sure": answer.get("sure", SURE)})
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
        if self._child.stop():
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
        used, plain = any(one.used for one in self._said.answers), replace(self._said, answers=())
        earned = self._plain.supported if self._plain is not None and self._plain.said == plain else []
        view = await self._task("view", str(self.folder), earned if used else None)
        question = await self._task("question", self._skipped) if view is not None else None
        if view is not None and not used and view["argv"] == self.command:
            self._plain = PlainRun(plain, await self._task("supported"))
            self._save()
        await self.tell(view=view, viewed=self._viewed + 1, question=question)

    async def _followed(self, before: Said, found: dict[str, Any] | None) -> None:
        """Show what an edit does: its price from the graph that is there, then the fit with all claims."""
        what = _difference(before, self._said)
        if not self._said.same_table(before):
            await self.tell(phase="reading the table")
            await self.tell(columns=await self._task("table", self._table, self._said.to_mapping()))
        elif self._view is not None and found is None:
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
        await self._child.run(words)
        await self._look()

    def _save(self) -> None:
        state = StudioState(
            table=self._table, said=self._said, past=self._past, future=self._future, versions=self._versions.to_list(),
            plain=self._plain,
        )  # fmt: skip
        write_state(self.folder / STATE, state)

    def _load(self) -> None:
        """Go on with the statements of an earlier studio in this folder about the same table."""
        if (found := read_state(self.folder / STATE, self._table)) is None:
            return
        self._table, self._said, self._past, self._future = found.table, found.said, found.past, found.future
        self._versions.read(found.versions)
        self._plain = found.plain


def _difference(before: Said, after: Said) -> str:
    """Return in words what an edit added, or what it took back."""
    was, now = ([one["words"] for one in said.statements()] for said in (before, after))
    added, gone = [one for one in now if one not in was], [one for one in was if one not in now]
    return first_of(added, 2) if added else f"no longer: {first_of(gone, 2)}"
