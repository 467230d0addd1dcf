"""When a search is saved, with what, and how it is found again."""

import hashlib
import io
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from drbo.data.files import MAX_ARRAY_BYTES, file_digest, read_bytes, read_member, refusing, write_file
from drbo.data.table import Table, is_large
from drbo.errors import CheckpointError, ResultError
from drbo.knowledge import Knowledge
from drbo.search import checkpoint
from drbo.search.loop import Progress
from drbo.search.stopping import Limits, Recorder
from drbo.settings import Settings

#: Shortest time between two saves, and the largest part of the run that saving may take.
LEAST_SECONDS = 10.0
LARGEST_SHARE = 0.02
TABLE = "table.npz"
MAX_TABLE_BYTES = 16 * MAX_ARRAY_BYTES


@dataclass(eq=False)
class Course:
    """A search with the callbacks that remember its past: all that must come back."""

    state: Any  # Search or OrderSearch
    recorder: Recorder
    limits: Limits

    def continued(self, seconds: float) -> None:
        """Let the clocks go on from the seconds that were spent before."""
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
        table: Table,
        about: dict[str, Any],
        *,
        every: float = LEAST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder, self.course, self.every, self._clock = folder, course, every, clock
        self.about = about | {
            "table": _table_about(table),
            "data_hash": table.digest(),
            "table_sha256": _write_table(folder, table),
        }
        self.n_saves, self.seconds = 0, 0.0
        self.save()

    def __call__(self, _progress: Progress) -> None:
        if self._clock() >= self._due:
            self.try_to_save()

    def try_to_save(self) -> None:
        """Save now; a failure is a warning."""
        try:
            self.save()
        except CheckpointError as error:
            self._due = self._clock() + self.every
            warnings.warn(f"{error.message}; the search goes on", stacklevel=2)

    def save(self) -> None:
        """Save now."""
        start = self._clock()
        evaluator = self.course.state.evaluator
        about = self.about | {"seconds": self.course.recorder.seconds, "n_evals": evaluator.n_evals}
        checkpoint.save(self.folder, self.course, about)
        cost = max(0.0, self._clock() - start)
        self.n_saves, self.seconds = self.n_saves + 1, self.seconds + cost
        self._due = self._clock() + max(self.every, cost / LARGEST_SHARE)


@dataclass(frozen=True, eq=False)
class Saved:
    """A saved search: its data, what it was called with, and its state."""

    table: Table
    about: dict[str, Any]
    checkpoint: checkpoint.Checkpoint

    @classmethod
    def load(cls, folder: Path) -> "Saved":
        """Read a folder that a :class:`Saver` wrote; checksums are verified, and nothing is unpickled."""
        found = checkpoint.load(folder)
        path = folder / TABLE
        with refusing(path, CheckpointError):
            raw = read_bytes(path, MAX_TABLE_BYTES)
            if hashlib.sha256(raw).hexdigest() != found.about.get("table_sha256"):
                raise CheckpointError(
                    f"{path} does not match its checksum: the search was saved with other data",
                    hint="start a new search",
                )
            table = _read_table(path, raw, found.about)
        return cls(table, found.about, found)

    def data(self) -> tuple[list[str], Table, tuple[str, ...]]:
        """Return the names of all columns, the checked table, and the notes of the check."""
        return list(self.about["columns"]), self.table, tuple(self.about["notes"])

    def check_data(self, table: Table) -> None:
        """Refuse a table that is not the one of the search."""
        if table.digest() != self.about["data_hash"]:
            raise CheckpointError(
                "the table is not the one that the search was saved with", hint="start a new search for other data"
            )

    def check_versions(self, versions: dict[str, str]) -> None:
        """Warn where other versions may lead to other last bits."""
        before = self.about["versions"]
        other = [f"{name} {before.get(name)}, now {version}" for name, version in versions.items()]
        other = [words for words, name in zip(other, versions, strict=True) if before.get(name) != versions[name]]
        if other:
            warnings.warn(f"saved with {'; '.join(other)}: the search may go on differently", stacklevel=3)

    def arguments(self, max_evals: int | None = None, time_limit: float | None = None) -> dict[str, Any]:
        """Return the arguments of the estimator, with room for more evaluations than were spent."""
        given = dict(self.about["parameters"])
        settings = Settings(**given["settings"])
        if max_evals is not None:
            settings = settings.with_(max_evals=int(self.about["n_evals"]) + max_evals)
        if time_limit is not None:
            settings = settings.with_(time_limit=time_limit)
        return given | {"settings": settings, "knowledge": Knowledge.from_mapping(given["knowledge"])}

    def course(self, fresh: Course) -> Course:
        """Return the search as it was saved; ``fresh`` is one that was just made from the same parts."""
        made = self.checkpoint.restore(fresh)
        assert isinstance(made, Course)
        made.continued(float(self.about["seconds"]))
        return made


def _table_about(table: Table) -> dict[str, Any]:
    """Return what a table is beside its numbers."""
    return {"names": list(table.names), "kinds": list(table.kinds), "levels": [_listed(one) for one in table.levels]}


def _listed(levels: tuple[str, ...] | None) -> list[str] | None:
    return None if levels is None else list(levels)


def _write_table(folder: Path, table: Table) -> str:
    weights: dict[str, Any] = {} if table.weights is None else {"weights": table.weights}
    path = folder / TABLE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, lambda stream: np.savez(stream, values=table.values, **weights))
        return file_digest(path)
    except (OSError, ResultError) as error:
        words = error.message if isinstance(error, ResultError) else f"{folder}: {error.strerror or error}"
        raise CheckpointError(f"the search cannot be saved: {words}", hint="choose another folder") from error


def _read_table(path: Path, raw: bytes, about: dict[str, Any]) -> Table:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        values = read_member(archive, "values", f"{path} values", kinds="f", limit=MAX_TABLE_BYTES)
        weights = None
        if "weights.npy" in archive.namelist():
            weights = read_member(archive, "weights", f"{path} weights", kinds="f", shape=values.shape[:1])
    what = about["table"]
    levels = tuple(None if one is None else tuple(one) for one in what["levels"])
    if values.ndim != 2 or not len(what["names"]) == len(what["kinds"]) == len(levels) == values.shape[1]:
        raise CheckpointError(f"{path} does not fit its description", hint="it was changed")
    values = values if is_large(*values.shape) else np.ascontiguousarray(values)
    return Table(values, tuple(what["names"]), tuple(what["kinds"]), levels, weights)
