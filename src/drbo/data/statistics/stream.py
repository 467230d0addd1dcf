"""Moments of sources that are not held in memory: each is read once, section by section."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drbo.data.reading.guard import releasing
from drbo.data.reading.source import Source
from drbo.data.statistics.kept_rows import KeptRows
from drbo.data.statistics.moments_file import Begun
from drbo.data.statistics.pattern_moments import PatternSums
from drbo.data.statistics.sections import Part, Section, SectionSums, sections_of
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Bases, Sums
from drbo.errors import DataError

#: So many rows with the same sums are the same rows.
MANY_ROWS = 100
#: Calls a function with each of the arguments and yields what it returns, in this order, wherever it is computed.
Spread = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]]], Iterable[Any]]


def in_turn(work: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Call a function here, with one argument after the other."""
    yield from (work(*arguments[number]) for number in range(len(arguments)))


@releasing()
def streamed(
    source: Source,
    *,
    levels: Mapping[str, Sequence[str]] | None = None,
    keep_rows: bool = False,
    keep_patterns: bool = False,
    seed: int = 0,
    resamples: int = 0,
    bases: Bases | None = None,
    begun: Begun | None = None,
    tell: Callable[[Begun], None] = lambda _: None,
    spread: Spread = in_turn,
) -> Statistics:
    """Return what is kept of the rows of a source, read once: their sums, and perhaps some of them.

    Parameters
    ----------
    source : the table (:func:`drbo.data.reading.read.open_source`); files of moments may be among its parts.
    levels : categories of columns that hold some: these are read as their places among them.
    keep_rows : keep the first rows and a random sample, drawn with the ``seed``: for checks of residuals.
    keep_patterns : sum up incomplete rows too, those with the same missing cells together: for EM.
    resamples : so many resamples of the rows are drawn with the ``seed`` and summed up in the same pass.
    bases : functions of the columns, which are summed up in place of the columns.
    begun : what an earlier pass had summed up when it ended; the files must not have changed since.
    tell : called after every section with what is summed up by then.
    spread : calls the function that sums up a section; its order of answers is that of the sections.
    """
    parts, levels = source.parts(), levels or {}
    total = None if begun is None else begun.sums
    names = parts[0].schema().names if total is None else total.names
    plan = _Plan(parts, begun, names, levels)
    kept = KeptRows(len(names), seed) if keep_rows else None
    patterns = PatternSums(names, resamples, seed) if keep_patterns else None
    seen = _Seen()
    work = SectionSums(names, parts[0].name, levels, keep_rows, keep_patterns, seed, resamples, bases)
    for number, part in enumerate(spread(work, _Arguments(plan.sections, kept))):
        seen.check(part.sums, plan.sections[number].source.name)
        total = part.sums if total is None else total.joined(part.sums)
        _keep(part, kept, patterns)
        tell(plan.begun(total, number))
    assert total is not None
    found = Statistics.from_sums(total, levels if bases is None else {})
    found = found if patterns is None else replace(found, patterns=patterns.parts())
    if kept is None or not total.n:
        return found
    rows = kept.kept()
    return replace(found, values=rows.rows, first=rows.first if len(rows.first) else rows.rows)


class _Seen:
    """The sums of all sections so far: the same sums again are those of the same rows."""

    def __init__(self) -> None:
        self._names: dict[bytes, str] = {}

    def check(self, part: Sums, name: str) -> None:
        """Refuse a source whose rows were already added from another one."""
        if part.n < MANY_ROWS:  # the same few rows may well occur twice
            return
        key = hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in (part.mean, part.products))).digest()
        first = self._names.setdefault(key, name)
        if first != name:
            raise DataError(
                f"{name} has the same rows as {first}, so they would count twice",
                hint="give every part once",
            )


class _Plan:
    """All sections of sources that are still to be read."""

    def __init__(
        self,
        parts: Sequence[Source],
        begun: Begun | None,
        names: tuple[str, ...],
        levels: Mapping[str, Sequence[str]],
    ) -> None:
        self.sections: list[Section] = []
        self._places: list[tuple[int, int]] = []  # the part of each, and its number in it; 0: the last one
        self._parts = parts
        self._stamps = [] if begun is None else list(begun.files)
        more, n_before = 0 if begun is None else begun.sections, 0
        for number in range(len(self._stamps) - bool(more), len(parts)):
            some = sections_of(parts[number], names, parts[0].name, levels, n_before)
            self._places += [(number, k + 1 if k + 1 < len(some) else 0) for k in range(more, len(some))]
            self.sections += some[more:]
            more = 0
            n_before = some[-1].n_before + (0 if (run := some[-1].run) is None else run.n_rows)

    def begun(self, sums: Sums, place: int) -> Begun:
        """Return what is summed up once the section at this place is."""
        number, sections = self._places[place]
        self._stamps += [part.stamp() for part in self._parts[len(self._stamps) : number + 1]]
        return Begun(sums, tuple(self._stamps), sections)


@dataclass(frozen=True, eq=False)
class _Arguments(Sequence[tuple[Any, ...]]):
    """The sections, with the largest key that a row of the sample can have by the time a section is asked for."""

    sections: list[Section]
    kept: KeptRows | None

    def __len__(self) -> int:
        return len(self.sections)

    def __getitem__(self, number: Any) -> Any:
        return self.sections[number], np.inf if self.kept is None else self.kept.threshold


def _keep(part: Part, kept: KeptRows | None, patterns: PatternSums | None) -> None:
    """Add the rows and the patterns of missing cells of a section to those before it."""
    if kept is not None and part.kept is not None:
        kept.add(part.kept)
    if patterns is not None and part.patterns is not None:
        patterns.add(part.patterns)
