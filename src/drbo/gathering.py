"""What is kept of the rows of a source: all of them where they fit into memory, else their sums or their counts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Ints
from drbo.choices import Choices
from drbo.claims.refits.resampling import Resampling
from drbo.data.checks.prepare import Preparation, Prepared
from drbo.data.reading.guard import releasing
from drbo.data.reading.read import open_source
from drbo.data.reading.source import Source, frames_of
from drbo.data.statistics import sums
from drbo.data.statistics.coded import Indicators, levels_of
from drbo.data.statistics.row_counts import counts_of, is_discrete
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.stream import Spread, in_turn, streamed
from drbo.data.statistics.sums import Bases, Sums
from drbo.deadline import OutOfTimeError, current
from drbo.errors import DataError, SettingsError, TimeLimitError
from drbo.scores.registry import needs_of, score_class
from drbo.search.evaluation.spread import spread
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

#: A fit of a table in memory takes about so many times the memory of its numbers.
COPIES = 8
#: What helps where the time is over before a table is read to its end.
MORE_TIME = "raise it, or run 'drbo moments' first, which continues where it stopped, and fit its file"


@dataclass(frozen=True, eq=False)
class Gathered:
    """What is kept of the rows of a source; ``DrBO().fit`` takes it in place of a table."""

    source: Source
    table: Any  # all rows, moments, or the different rows of categories
    counts: Ints | None = None  # how often each of these rows occurs; None: they are not counted
    notes: tuple[str, ...] = ()  # what was assumed

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.table.columns]


@dataclass(frozen=True, eq=False, kw_only=True)
class Gathering:
    """How the rows of a source are gathered: called with a source, it returns what a fit needs of its rows.

    Parameters
    ----------
    score, missing : as in a fit: some scores need sums of functions of the columns, and EM those of incomplete rows.
    seed : draws the rows that are kept beside sums, and the resamples.
    resamples : so many resamples of the rows are summed up in the same pass.
    max_memory : GiB; a source whose fit in memory would take more is read piece by piece, and its rows are not kept.
    stream : True: read it piece by piece, whatever its size.
    executor : sums up several parts of a source at a time; None: one after the other.
    needs_rows : options that were given and need all rows in memory.
    """

    score: Any = "auto"
    missing: str = "error"
    seed: int = 0
    resamples: int = 0
    max_memory: float = Settings().max_memory
    stream: bool = False
    executor: Executor | None = None
    needs_rows: Sequence[str] = ()

    def streams(self, source: Source) -> bool:
        """Tell whether a source is read piece by piece: by its size alone, unless that is asked for."""
        return self.stream or COPIES * source.size() > self.max_memory * 2**30

    def __call__(self, source: Source) -> Gathered:
        """Return what is kept of the rows."""
        if not self.streams(source):
            notes = list[str]()
            with in_time("raise it"):
                frame = source.frame(notes)
            return Gathered(source, frame, notes=(f"read with {'; '.join(notes)}",) if notes else ())
        if self.needs_rows:
            raise SettingsError(
                f"{self.needs_rows[0]} needs all rows in memory, but only sums over these rows are kept",
                hint="omit it, or use a sample of the rows as one table",
            )
        with in_time(MORE_TIME):
            if not (has_rows := all(part.has_rows() for part in source.parts())):
                return Gathered(source, self._summed(source, {}, has_rows))
            with closing(frames_of(source)) as frames:
                first = next(frames, None)
            if first is not None and is_discrete(first):
                return Gathered(source, *counts_of(source))
            levels = {} if first is None else levels_of(source, first)
            return Gathered(source, self._summed(source, levels, has_rows))

    def all_rows(self, source: Source) -> "pd.DataFrame":
        """Return all rows, or refuse a source of which there are too many."""
        if self.streams(source):
            raise DataError(
                f"all rows are needed here, but those of {source.name} are not read into memory",
                hint="use a sample of the rows as one table, or raise max_memory",
            )
        return source.frame([])

    def sample(self, source: Source) -> tuple["pd.DataFrame", int]:
        """Return all rows, or a random sample of those that are read piece by piece, and how many there are."""
        if not self.streams(source):
            frame = source.frame([])
            return frame, len(frame)
        with releasing(), closing(frames_of(source)) as frames:
            return sampled(frames)

    def _summed(self, source: Source, levels: Mapping[str, tuple[str, ...]], has_rows: bool) -> Statistics:
        """Return the sums over a source, with a sample of the rows if all of them are seen here."""
        passed = partial(
            streamed, source, levels=levels, seed=self.seed, resamples=self.resamples, spread=spread_over(self.executor)
        )
        found: Statistics = passed(keep_rows=has_rows, keep_patterns=has_rows and self.missing == "em")
        if (bases := None if found.all_kept or not has_rows else self._bases(found)) is not None:
            found = found.with_bases(passed(bases=bases), bases.widths)
        if self.resamples and not found.all_kept:
            Resampling(self.resamples, drawn=len(found.resampled_rows)).check(found.n)  # not after the search
        return found

    def _bases(self, found: Statistics) -> Bases | None:
        """Return functions of the columns that a score needs the sums of; None: it needs none."""
        if "categorical" in found.kinds:
            return Indicators(found.levels)
        kind = score_class(self.score) if isinstance(self.score, str) and self.score != "auto" else self.score
        return kind.basis_functions(found.values) if "bases" in needs_of(kind) else None


def gathered(X: Any, choices: Choices, seed: int, *, resamples: int = 0, executor: Executor | None = None) -> Any:
    """Return what a fit with these choices keeps of the rows of a path or a source; other tables as they are."""
    X = Statistics.from_sums(X) if isinstance(X, Sums) else X
    if (source := source_of(X)) is None:
        return X
    return replace(_gathering(choices), seed=seed, resamples=resamples, executor=executor)(source)


def all_rows(X: Any, choices: Choices) -> Any:
    """Return all rows of a path or a source, or refuse one with too many; anything else as it is."""
    return X if (source := source_of(X)) is None else _gathering(choices).all_rows(source)


def source_of(X: Any) -> Source | None:
    """Return the source that a path stands for, or the source itself; None: it is neither."""
    if isinstance(X, str | Path):
        return open_source(X)
    return X if isinstance(X, Source) else None


def _gathering(choices: Choices) -> Gathering:
    """Return how rows are gathered for these choices."""
    design, policy = choices.design, choices.policy
    given = {name: getattr(design, name) for name in ("groups", "experiment", "weights", "time", "max_lag")} | {
        "types": policy.types,
        "na": policy.na or None,
    }
    return Gathering(
        score=choices.score, missing=policy.missing, max_memory=choices.merged_settings()[0].max_memory,
        needs_rows=[name for name, value in given.items() if value is not None and value is not False],
    )  # fmt: skip


class Given(NamedTuple):
    """The table of a fit, its weights, and how it is prepared."""

    table: Any
    weights: Any
    preparation: Preparation
    notes: tuple[str, ...] = ()  # about how it was read
    is_counted: bool = False  # its weights are counts of rows

    def prepared(self) -> Prepared:
        """Return the checked table."""
        data = self.preparation.prepare(self.table, self.weights)
        return replace(data, notes=(*self.notes, *data.notes))


def unpacked(X: Any, weights: Any, preparation: Preparation) -> Given:
    """Return the table of a fit; counted rows have their counts as weights, and no order."""
    if not isinstance(X, Gathered):
        return Given(X, weights, preparation)
    if X.counts is None:
        return Given(X.table, weights, preparation, X.notes)
    if weights is not None:
        raise SettingsError(
            "sample weights cannot be combined with rows that are counted while they are read",
            hint="omit the weights, or pass the table itself",
        )
    return Given(X.table, X.counts, preparation.of_independent_rows, is_counted=True)


def spread_over(executor: Executor | None) -> Spread:
    """Return what calls a function with many arguments, on an executor if there is one."""
    return in_turn if executor is None else partial(spread, executor=executor)


@contextmanager
def in_time(hint: str) -> Iterator[None]:
    """Say so where the time is over before a table is read to its end."""
    try:
        yield
    except OutOfTimeError as error:
        if current().interrupted:
            raise
        raise TimeLimitError(f"{error}: the table was not read to its end", hint=hint) from error


def sampled(pieces: Iterable["pd.DataFrame"], seed: int = 0) -> tuple["pd.DataFrame", int]:
    """Return rows that were drawn at random, in the order of the table, and how many rows the table has.

    The draw depends on the seed and not on the size of the pieces. All rows are returned if they are few.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    kept, keys, n_rows, threshold, size = list[pd.DataFrame](), list[np.ndarray](), 0, np.inf, 0
    for piece in pieces:
        size = size or max(sums.SAMPLE_ROWS, sums.SAMPLE_CELLS // max(1, piece.shape[1]))
        drawn = rng.random(len(piece))
        taken = np.flatnonzero(drawn < threshold)
        kept.append(piece.iloc[taken])
        keys.append(drawn[taken])
        n_rows += len(piece)
        if sum(map(len, keys)) >= 2 * size:
            kept, keys = _smallest(kept, keys, size)
            threshold = float(keys[0].max())
    if not n_rows:
        raise DataError("the table has 0 rows", hint="a table needs at least 3 rows")
    kept, _ = _smallest(kept, keys, size)
    return kept[0], n_rows


def _smallest(
    kept: list["pd.DataFrame"], keys: list[np.ndarray], size: int
) -> tuple[list["pd.DataFrame"], list[np.ndarray]]:
    """Leave out all rows but those with the smallest keys."""
    import pandas as pd

    rows, drawn = pd.concat(kept, ignore_index=True), np.concatenate(keys)
    if len(drawn) <= size:
        return [rows], [drawn]
    smallest = np.sort(np.argpartition(drawn, size)[:size])
    return [rows.iloc[smallest].reset_index(drop=True)], [drawn[smallest]]
