"""When a search is saved, with what, and how it is found again.

The module is long because every field of a checkpoint is checked before it is used.
"""

import hashlib
import io
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drbo.arrays import Bools
from drbo.data.checks.prepare import Prepared
from drbo.data.files.files import (
    MAX_ARRAY_BYTES,
    file_digest,
    read_bytes,
    refusing,
    stored_archive,
    write_file,
)
from drbo.data.files.folders import OWNER_ONLY, OWNER_ONLY_FOLDER
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.stored import arrays_of, table_of, words_of
from drbo.errors import CheckpointError, ResultError
from drbo.search.base import Search
from drbo.search.checkpoint import files, request
from drbo.search.checkpoint.parameters import adjacency_of, arguments_of, check_parameters
from drbo.search.outcome import Progress
from drbo.search.state import HINT, Fields, State
from drbo.search.stopping import Limits, Recorder

#: Shortest time between two saves, and the largest part of the run that saving may take.
LEAST_SECONDS = 10.0
LARGEST_SHARE = 0.02
TABLE = "table.npz"
MAX_TABLE_BYTES = 16 * MAX_ARRAY_BYTES
#: A run of a thousand years.
MOST_SECONDS = 1e11


@dataclass(eq=False)
class Course:
    """A search with the callbacks that remember its past: all that must come back."""

    state: Search
    recorder: Recorder
    limits: Limits

    def capture(self) -> State:
        """Return the state of all parts."""
        return {part: getattr(self, part).capture() for part in ("state", "recorder", "limits")}

    def restore(self, fields: Fields) -> None:
        """Set the state of all parts."""
        self.state.restore(fields.part("state"))
        self.recorder.restore(fields.part("recorder"))
        self.limits.restore(fields.part("limits"))

    def continued(self, seconds: float) -> None:
        """Resume the timers from the seconds that were spent before."""
        self.recorder.start_at(seconds)


class Saver:
    """A callback that saves a search every so often: seldom enough to cost no more than LARGEST_SHARE of the time.

    The first save, of nothing yet, tells before any work is done whether the folder can be written. If a later one
    fails, the search goes on with a warning: the disk may have room again next time.
    """

    def __init__(
        self,
        folder: Path,
        course: Course,
        table: Statistics,
        about: dict[str, Any],
        *,
        every: float = LEAST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder, self.course, self.every, self._clock = folder, course, every, clock
        self.about = about if "table_sha256" in about else begin(folder, table, about)
        self.n_saves, self.seconds = 0, 0.0
        self._rounds = 0  # of the search when it was saved
        self.save()

    def __call__(self, _progress: Progress) -> None:
        if self._clock() >= self._due:
            self.try_to_save()

    def finish(self) -> None:
        """Save the end of a search, unless its last round is saved already."""
        if self.course.state.rounds != self._rounds:
            self.try_to_save()

    def try_to_save(self) -> None:
        """Save now; a failure is a warning."""
        try:
            self.save()
        except CheckpointError as error:
            self._due = self._clock() + self.every
            warnings.warn(f"{error.message}; the search continues", stacklevel=2)

    def save(self) -> None:
        """Save now."""
        start = self._clock()
        evaluator = self.course.state.evaluator
        about = (
            {"why_route": None} | self.about | {"seconds": self.course.recorder.seconds, "n_evals": evaluator.n_evals}
        )
        files.save(self.folder, self.course, about)
        self._rounds = self.course.state.rounds
        cost = max(0.0, self._clock() - start)
        self.n_saves, self.seconds = self.n_saves + 1, self.seconds + cost
        self._due = self._clock() + max(self.every, cost / LARGEST_SHARE)


def begin(folder: Path, table: Statistics, about: dict[str, Any]) -> dict[str, Any]:
    """Save the data of a search and what it was called with, before anything is computed, in place of an older search.

    A search that is killed at once can be started again from it. Return ``about`` with what was added.
    """
    request.clear(folder)
    full = about | {
        "table": words_of(table),
        "data_hash": table.digest(),
        "table_sha256": _write_table(folder, table),
    }
    request.save(folder, full | {"seconds": 0.0, "n_evals": 0, "why_route": None})
    return full


@dataclass(frozen=True, eq=False)
class Saved:
    """A saved search: its data, what it was called with, and its state; None: nothing was searched yet."""

    table: Statistics
    about: dict[str, Any]
    checkpoint: files.Checkpoint | None

    @classmethod
    def load(cls, folder: Path) -> "Saved":
        """Read a folder that a :class:`Saver` wrote: checksums are verified, and every field is checked."""
        state = None if request.is_all(folder) else files.load(folder)
        about = request.load(folder) if state is None else state.about
        path = folder / TABLE
        _check_about(Fields.plain(about, str(folder / (request.REQUEST if state is None else files.MANIFEST))))
        with refusing(path, CheckpointError):
            raw = read_bytes(path, MAX_TABLE_BYTES, follow=False)
            if hashlib.sha256(raw).hexdigest() != about["table_sha256"]:
                raise CheckpointError(
                    f"{path} does not match its checksum: the search was saved with different data",
                    hint="start a new search",
                )
            table = _read_table(path, raw, about)
        return cls(table, about, state)

    def data(self) -> Prepared:
        """Return the names of all columns, the checked table, and the notes of the check."""
        table = self.table
        now = [name for name, lag in zip(table.names, table.lags, strict=True) if not lag] if table.lags else None
        return Prepared(list(self.about["columns"]), table, tuple(self.about["notes"]), variables=now)

    @property
    def data_about(self) -> dict[str, Any]:
        """What :func:`begin` added about the data."""
        return {name: self.about[name] for name in ("table", "data_hash", "table_sha256")}

    def check_data(self, table: Statistics) -> None:
        """Refuse a table that is not the one of the search."""
        if table.digest() != self.about["data_hash"]:
            raise CheckpointError(
                "the table is not the one that the search was saved with", hint="start a new search for different data"
            )

    def check_versions(self, versions: dict[str, str]) -> None:
        """Warn where other versions may lead to other last bits."""
        before = self.about["versions"]
        other = [f"{name} {before.get(name)}, now {version}" for name, version in versions.items()]
        other = [words for words, name in zip(other, versions, strict=True) if before.get(name) != versions[name]]
        if other:
            warnings.warn(f"saved with {'; '.join(other)}: the search may continue differently", stacklevel=3)

    def arguments(self, max_evals: int | None = None, time_limit: float | None = None) -> dict[str, Any]:
        """Return the arguments of the estimator, with room for more evaluations than were spent."""
        settings: dict[str, Any] = {} if max_evals is None else {"max_evals": int(self.about["n_evals"]) + max_evals}
        settings |= {} if time_limit is None else {"time_limit": time_limit}
        return arguments_of(self.about["parameters"], settings)

    @property
    def start(self) -> Bools | None:
        """The DAG that the search was to start from."""
        edges = self.about["parameters"]["start"]
        return None if edges is None else adjacency_of(edges, len(self.about["columns"]))

    def course(self, fresh: Course) -> Course:
        """Return ``fresh``, which was just made from the same parts, in the state that was saved, if there is one."""
        if self.checkpoint is None:
            return fresh
        self.checkpoint.restore(fresh)
        if fresh.state.evaluator.n_evals != self.about["n_evals"]:
            counts = f"{fresh.state.evaluator.n_evals} evaluations, but its description says {self.about['n_evals']}"
            raise CheckpointError(f"{self.checkpoint.path} has {counts}", hint=HINT)
        fresh.continued(self.about["seconds"])
        return fresh


def make_folder(folder: Path) -> None:
    """Make the folder of a saved search."""
    try:
        folder.mkdir(OWNER_ONLY_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"the search cannot be saved: {folder}: {error.strerror or error}", hint="choose another folder"
        ) from error


def _write_table(folder: Path, table: Statistics) -> str:
    path = folder / TABLE
    make_folder(folder)
    try:
        write_file(path, lambda stream: np.savez(stream, **arrays_of(table)), OWNER_ONLY)
        return file_digest(path)
    except ResultError as error:
        raise CheckpointError(f"the search cannot be saved: {error.message}", hint=error.hint) from error


def _read_table(path: Path, raw: bytes, about: dict[str, Any]) -> Statistics:
    """Return the table of a search."""
    try:
        table = table_of(stored_archive(io.BytesIO(raw), str(path)), about["table"], str(path), MAX_TABLE_BYTES)
    except ResultError as error:
        raise CheckpointError(error.message, hint=error.hint or HINT) from error
    if not set(table.names) <= set(about["columns"]):
        raise CheckpointError(f"{path} does not match its description", hint=HINT)
    return table


def _check_about(about: Fields) -> None:
    """Refuse a description of a search in which a field is missing, unknown, or of another type."""
    about.texts("columns"), about.texts("notes")
    about.number("seconds", 0.0, MOST_SECONDS), about.integer("n_evals")
    about.text("data_hash"), about.text("table_sha256")
    if about.has("why_route"):  # once the search has begun
        about.text("why_route")
    if not all(isinstance(version, str) for version in about.mapping("versions").values()):
        about.refuse("versions", "be strings", "others")
    table = about.part("table")
    table.texts("names")
    if set(table.texts("kinds")) - {"numeric", "categorical"}:
        table.refuse("kinds", "be numeric or categorical", "others")
    for levels in table.listed("levels"):
        if levels is not None and not (isinstance(levels, list) and all(isinstance(one, str) for one in levels)):
            table.refuse("levels", "be null or strings", f"{levels!r:.80}")
    table.integer("chosen_from", 0, 2**31)
    if not all(type(lag) is int and lag >= 0 for lag in table.listed("lags")):
        table.refuse("lags", "be whole numbers", "others")
    if table.expect("experiment", table.has("labels")):
        table.texts("labels"), table.text("experiment")
    if table.has("known"):
        for one in table.listed("known"):
            if not (isinstance(one, list) and len(one) == 3 and all(isinstance(word, str) for word in one)):
                table.refuse("known", "be lists of experiment, column and kind", f"{one!r:.80}")
    check_parameters(about.part("parameters"))
    about.finish()
