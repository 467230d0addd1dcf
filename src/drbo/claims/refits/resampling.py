"""Fits on many resamples of the rows, to see how stable an edge is.

The fit is passed in as a callable, so this module does not depend on how graphs are found. The module is long because
how rows are drawn, fitted again and counted is decided in one place.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Indices
from drbo.claims.record import TargetShare
from drbo.claims.refits.confidence import Confidence
from drbo.data.checks.experiments import Experiments
from drbo.data.files.files import MAX_TEXT_BYTES, read_bytes, read_json, refusing, write_file
from drbo.deadline import OutOfTimeError, current
from drbo.errors import DataError, ResultError, SettingsError, TimeLimitError
from drbo.graph.marks import MarkedGraph

ResamplingKind = Literal["bootstrap", "subsample", "block", "cluster", "counted"]
KINDS: tuple[str, ...] = get_args(ResamplingKind)
SAVE_SECONDS = 5.0  # between two writes of finished resamples
Rows = Indices


@dataclass(frozen=True, eq=False)
class Refitted:
    """What a fit of a resample finds: a DAG, or the class of graphs that its score cannot tell apart."""

    graph: MarkedGraph
    changed: Bools | None = None  # (E - 1, d) the columns that each experiment beside the control changes
    member: MarkedGraph | None = None  # of a PAG: the MAG that was found


#: Fits one resample: takes rows (or how often each is drawn, or the number of a resample whose sums are known) and a
#: seed. With an executor it must pickle.
Refit = Callable[[Rows, int], Refitted]
#: Called with the number of finished resamples and the number that was asked for.
RefitProgress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Resampling:
    """How the rows of a table are resampled.

    Parameters
    ----------
    n : number of resamples.
    kind : ``"bootstrap"``: as many rows as the table has, with replacement; ``"subsample"``: half of the rows, without
        replacement; ``"block"``: runs of ``block`` consecutive rows, with replacement, for rows in temporal order;
        ``"cluster"``: whole clusters of rows, with replacement; ``"counted"``: rows with replacement, each of which
        occurred as often as its weight says.
    block : rows per block; None: the cube root of the number of rows (the rate of Künsch 1989).
    clusters : the cluster of each row, for ``"cluster"``.
    strata : the experiment of each row: as many rows of each are drawn as it has.
    counts : how often each row of the table occurred, for ``"counted"``: a resample says how often it is drawn.
    drawn : so many resamples were drawn when the rows were read, of which only sums are known.
    """

    n: int = 100
    kind: ResamplingKind = "bootstrap"
    block: int | None = None
    clusters: npt.ArrayLike | None = None  # (n_rows,)
    strata: Rows | None = None  # (n_rows,)
    counts: Rows | None = None  # (n_rows,)
    drawn: int | None = None

    def check(self, n_rows: int) -> None:
        """Refuse what cannot work for a table with so many rows."""
        n, kind, block = self.n, self.kind, self.block
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise SettingsError(
                f"the number of resamples must be a whole number of at least 1, got {n!r}", hint="try 100"
            )
        if kind not in KINDS:
            raise SettingsError(
                f"kind must be one of {', '.join(KINDS)}, got {kind!r}", hint="the default is 'bootstrap'"
            )
        if kind != "bootstrap" and self.drawn is not None:
            raise SettingsError(
                f"kind '{kind}' needs the rows of the table, but they were only summed up", hint="use kind 'bootstrap'"
            )
        if self.drawn is not None and n > self.drawn:
            raise SettingsError(
                f"{n} resamples were asked for, but {self.drawn} were drawn when the rows were summed up",
                hint=f"sum up the rows again, with 'drbo moments --resamples {n}'",
            )
        if block is not None and not 1 <= block <= n_rows:
            raise SettingsError(
                f"block must be in 1..{n_rows}, the number of rows, got {block}",
                hint="omit block, or choose a smaller value",
            )
        if kind == "cluster":
            self._check_clusters(n_rows)

    def _check_clusters(self, n_rows: int) -> None:
        if self.clusters is None:
            raise SettingsError("kind 'cluster' requires clusters", hint="give the cluster of every row")
        shape, groups = np.shape(self.clusters), len(np.unique(np.asarray(self.clusters)))
        if shape != (n_rows,) or groups < 2:
            raise SettingsError(
                f"clusters must assign each of {n_rows} rows to one of at least 2 clusters, "
                f"got {groups} in shape {shape}",
                hint="give one entry per row of the table",
            )

    def draws(self, n_rows: int, seed: int) -> "RowDraws":
        """Return the resamples, each with a seed of its own."""
        self.check(n_rows)
        return RowDraws(self, n_rows, seed)

    def of_rows(self, used: Bools) -> "Resampling":
        """Return the same for the used rows (n_rows,) of a table."""
        return self if self.clusters is None else replace(self, clusters=np.asarray(self.clusters)[used])

    def of_groups(self, groups: Rows | None) -> "Resampling":
        """Return the same for a table whose rows belong to groups (n_rows,): whole groups are drawn."""
        if groups is None or self.kind == "cluster":
            return self
        if self.kind != "bootstrap":
            raise SettingsError(
                f"kind {self.kind!r} draws single rows, but the rows of this table belong to groups",
                hint="use kind 'bootstrap', which draws whole groups",
            )
        return replace(self, kind="cluster", clusters=groups)

    def of_experiments(self, experiments: Experiments | None) -> "Resampling":
        """Return the same for a table whose rows come from experiments: each keeps its number of rows."""
        if experiments is not None and self.kind == "cluster":
            raise SettingsError(
                "kind 'cluster' cannot be combined with experiments, because a resample could lack an experiment",
                hint="use kind 'bootstrap', which resamples the rows of each experiment",
            )
        return self if experiments is None else replace(self, strata=experiments.codes)

    def clusters_as_numbers(self) -> Indices | None:
        """(n_rows,) the clusters, numbered from 0."""
        return None if self.clusters is None else np.unique(np.asarray(self.clusters), return_inverse=True)[1]


class RowDraws(Sequence[tuple[Rows, int]]):
    """The rows and the seed of each resample, drawn when they are asked for because all of them could fill the memory.

    The seed of resample k depends on the seed of the run and on k alone, not on who computes it.
    """

    def __init__(self, plan: Resampling, n_rows: int, seed: int) -> None:
        self.n_rows, self.kind, self.seed = n_rows, plan.kind, seed
        self._numbers = range(plan.n)
        self._plan = plan
        self._size = plan.block or max(1, round(n_rows ** (1 / 3)))
        self._groups: list[Rows] = []
        strata = np.zeros(n_rows, dtype=np.intp) if plan.strata is None else plan.strata
        self._strata = [np.flatnonzero(strata == code) for code in np.unique(strata)]
        label = plan.clusters_as_numbers()
        if plan.kind == "cluster" and label is not None:
            self._groups = [np.flatnonzero(label == group) for group in range(label.max() + 1)]

    def after(self, count: int) -> "RowDraws":
        """Return the draws without the first ``count``."""
        rest = copy(self)
        rest._numbers = self._numbers[count:]
        return rest

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, k: Any) -> Any:
        rng = np.random.default_rng([self.seed, self._numbers[k]])
        if self._plan.drawn is not None:
            return np.array([self._numbers[k]], dtype=np.intp), int(rng.integers(2**31))
        if (counts := self._plan.counts) is not None:
            total = int(counts.sum())
            return rng.multinomial(total, counts / total).astype(np.intp), int(rng.integers(2**31))
        if self.kind == "cluster":
            groups = self._groups
            rows = np.concatenate([groups[g] for g in rng.integers(len(groups), size=len(groups))])
        else:
            rows = np.concatenate([members[self._drawn(rng, len(members))] for members in self._strata])
        return np.sort(rows).astype(np.intp), int(rng.integers(2**31))

    def _drawn(self, rng: np.random.Generator, n_rows: int) -> Rows:
        """Return the rows that are drawn from so many."""
        if self.kind == "bootstrap":
            return rng.integers(n_rows, size=n_rows)
        if self.kind == "subsample":
            return rng.permutation(n_rows)[: n_rows // 2]
        size = min(self._size, n_rows)
        starts = rng.integers(n_rows - size + 1, size=-(-n_rows // size))
        return (starts[:, None] + np.arange(size)).ravel()[:n_rows]


@dataclass(frozen=True)
class KeptResamples:
    """A file of finished resamples: a bootstrap that was stopped, or wants more of them, goes on from there."""

    path: Path
    key: str  # of all that decides the graphs; a file with another key is not used

    def load(self, names: Sequence[str], n_experiments: int = 0) -> list[Refitted]:
        """Return what the file holds, with so many experiments; nothing if it is not there or of another run."""
        if not self.path.exists():
            return []
        with refusing(self.path):
            content = read_json(read_bytes(self.path, MAX_TEXT_BYTES, follow=False))
            if not isinstance(content, dict) or content.get("key") != self.key:
                return []
            try:
                return [self._refitted(plain, names, n_experiments) for plain in content["graphs"]]
            except DataError as error:
                raise ResultError(f"{self.path}: {error.message}", hint="remove the file") from error

    @staticmethod
    def _refitted(plain: dict[str, str], names: Sequence[str], n_experiments: int) -> Refitted:
        graph, d = MarkedGraph.from_plain(plain, names), len(names)
        if not n_experiments:
            return Refitted(graph)
        raw = bytes.fromhex(plain["changed"])
        if len(raw) != -(-n_experiments * d // 8):
            raise DataError(f"these are not the targets of {n_experiments} experiments on {d} columns")
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), count=n_experiments * d)
        return Refitted(graph, bits.reshape(n_experiments, d).astype(bool))

    def save(self, found: Sequence[Refitted]) -> None:
        """Write graphs and targets in one step."""
        plain = [one.graph.to_plain() for one in found]
        for entry, one in zip(plain, found, strict=True):
            if one.changed is not None:
                entry["changed"] = np.packbits(one.changed).tobytes().hex()
        write_file(self.path, json.dumps({"key": self.key, "graphs": plain}).encode())


def bootstrap(
    refit: Refit,
    n_rows: int,
    names: Any,
    plan: Resampling,
    *,
    seed: int = 0,
    executor: Executor | None = None,
    progress: RefitProgress | None = None,
    kept: KeptResamples | None = None,
    experiments: Sequence[str] = (),
) -> Confidence:
    """Refit resamples of the rows and count what was found.

    Ctrl-C and the deadline end it with the resamples so far, once there is one.

    Parameters
    ----------
    n_rows, names : of the table.
    executor : computes resamples in parallel; None: one after the other.
    kept : a file that finished resamples are written to and read from.
    experiments : beside the control, of which resamples also find the targets.

    Examples
    --------
    >>> found = Refitted(MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"]))
    >>> float(bootstrap(lambda rows, seed: found, 10, ["a", "b"], Resampling(5)).directed[0, 1])
    1.0
    """
    draws = plan.draws(n_rows, seed)
    found = [] if kept is None else kept.load(names, len(experiments))[: plan.n]
    done, saved, deadline = len(found), time.monotonic(), current()
    try:
        for one in _refitted(refit, draws.after(done), executor):
            found.append(one)
            if progress is not None:
                progress(len(found), plan.n)
            if kept is not None and time.monotonic() - saved > SAVE_SECONDS:
                kept.save(found)
                saved = time.monotonic()
            if len(found) < plan.n:
                deadline.check()
    except OutOfTimeError as late:
        if not found:
            raise TimeLimitError(f"no resample was finished: {late}", hint="raise time_limit") from late
    except KeyboardInterrupt:
        if not found:
            raise
    finally:  # also what was done before workers were lost
        if kept is not None and len(found) > done:
            kept.save(found)
    shares = Confidence.of((one.graph for one in found), plan.kind, seed, asked=plan.n)
    return replace(shares, targets=_target_shares(found, experiments, names))


def _target_shares(
    found: Sequence[Refitted], experiments: Sequence[str], names: Sequence[str]
) -> tuple[TargetShare, ...]:
    """Return how often each experiment changes a column, where it does at least once."""
    changed = [one.changed for one in found if one.changed is not None]
    if not experiments or not changed:
        return ()
    share = np.mean(changed, axis=0)
    return tuple(TargetShare(experiments[e], names[j], float(share[e, j])) for e, j in np.argwhere(share > 0).tolist())


def _refitted(refit: Refit, draws: RowDraws, executor: Executor | None) -> Iterator[Refitted]:
    """Yield what resamples give in their order, whoever computes them."""
    if not draws:
        return
    current().check()
    if executor is None:
        yield from (refit(rows, seed) for rows, seed in draws)
    else:
        from drbo.search.evaluation.spread import spread  # a saved result does without the search

        yield from spread(refit, draws, executor)
