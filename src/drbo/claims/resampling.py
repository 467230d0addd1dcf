"""How stable is an edge: frequencies over fits on many resamples of the rows, counted on equivalence classes.

A frequency is not the probability that an edge is true. It shows how often the same procedure finds the edge again on
similar data. The fit is passed in as a callable, so this module does not depend on how graphs are found.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from drbo.claims.record import Matrix
from drbo.data.files import MAX_TEXT_BYTES, read_bytes, read_json, refusing, write_file
from drbo.data.names import check_names
from drbo.deadline import OutOfTimeError, current
from drbo.errors import DataError, ResultError, SettingsError, TimeLimitError
from drbo.graph import descendants

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["bootstrap", "subsample", "block", "cluster"]
SAVE_SECONDS = 5.0  # between two writes of finished resamples
KINDS: tuple[str, ...] = get_args(Kind)
#: What refits one resample: rows and a seed in, a DAG or PDAG (d, d) out. With an executor it must pickle. Without one
#: a method ``many``, from a list of (rows, seed) to an iterator of graphs, is asked for all of them, if there is one.
Refit = Callable[[npt.NDArray[np.intp], int], npt.NDArray[np.bool_]]
Progress = Callable[[int, int], None]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class Confidence:
    """Edge and path frequencies over resamples, as matrices [i, j] over the names.

    Examples
    --------
    >>> found = Confidence.of([np.array([[0, 1], [0, 0]]), np.array([[0, 1], [1, 0]])], names=["a", "b"])
    >>> found.directed.tolist(), found.undirected.tolist(), found.path.tolist()
    ([[0.0, 0.5], [0.0, 0.0]], [[0.0, 0.5], [0.5, 0.0]], [[0.0, 0.5], [0.0, 0.0]])
    """

    names: tuple[str, ...]
    directed: Matrix  # i -> j, in every graph of the class
    undirected: Matrix  # i - j: linked, direction open; symmetric
    path: Matrix  # a directed path from i to j along directed edges
    n: int
    kind: str = "bootstrap"
    seed: int = 0
    asked: int = 0  # how many graphs were asked for, where that is more than n: the time was over before

    @classmethod
    def of(
        cls, graphs: Iterable[npt.ArrayLike], names: Any, kind: str = "bootstrap", seed: int = 0, asked: int = 0
    ) -> "Confidence":
        """Count the edges and paths in DAGs, or in equivalence classes with undirected edges."""
        found = [np.asarray(graph) != 0 for graph in graphs]
        if not found:
            raise DataError("confidence needs at least one graph, got none")
        stack = np.stack(found)
        both = stack & stack.transpose(0, 2, 1)
        arrows = stack & ~both
        paths = np.stack([descendants(graph) for graph in arrows])
        labels = check_names(names, stack.shape[1])
        shares = dict(zip(("directed", "undirected", "path"), (arrows, both, paths), strict=True))
        means = {name: part.mean(axis=0) for name, part in shares.items()}
        return cls(names=labels, **means, n=len(stack), kind=kind, seed=seed, asked=asked if asked > len(stack) else 0)

    @property
    def count(self) -> str:
        """The number of graphs that were counted, in words: 100, or 37 of 100."""
        return f"{self.n} of {self.asked}" if self.asked else str(self.n)

    @property
    def adjacent(self) -> Floats:
        """(d, d) share of resamples that link two variables, in either direction."""
        return self.directed + self.directed.T + self.undirected

    @property
    def cut(self) -> float:
        """The frequency threshold above which a link counts as real, estimated from all frequencies.

        The distribution of the frequencies is compared with that of a graph known with certainty, in which each is 0
        or 1; the closest such distribution (in L1) gives the share of links that are noise (Scutari & Nagarajan 2013).
        """
        values = np.sort(self.adjacent[np.triu_indices(len(self.names), 1)])
        return _cut(values)

    def averaged(self, cut: float | None = None) -> Bools:
        """Return the graph (d, d) of the links at or above the threshold, as a PDAG without directed cycles.

        A link is directed if more than half of its resamples agree on the direction. Arrows are added in order of
        decreasing frequency; one that would close a cycle stays undirected.

        Examples
        --------
        >>> graphs = [np.array([[0, 1], [0, 0]])] * 9 + [np.zeros((2, 2))]
        >>> Confidence.of(graphs, names=["a", "b"]).averaged().astype(int).tolist()
        [[0, 1], [0, 0]]
        """
        least = self.cut if cut is None else cut
        strength = self.adjacent
        linked = (strength >= max(least, np.finfo(float).tiny)) & ~np.eye(len(self.names), dtype=bool)
        graph = linked.copy()
        arrows = np.zeros_like(linked)
        with np.errstate(invalid="ignore"):
            wanted = np.argwhere(linked & (self.directed > 0.5 * strength))
        for i, j in sorted(wanted.tolist(), key=lambda pair: -self.directed[pair[0], pair[1]]):
            if not descendants(arrows)[j, i]:
                arrows[i, j], graph[j, i] = True, False
        return graph

    def table(self, least: float = 0.0) -> "pd.DataFrame":
        """Return one row per pair that was linked at least once, the most frequent first.

        Examples
        --------
        >>> Confidence.of([np.array([[0, 1], [0, 0]])], names=["a", "b"]).table().to_dict("records")
        [{'source': 'a', 'target': 'b', 'adjacent': 1.0, 'forward': 1.0, 'backward': 0.0, 'undirected': 0.0}]
        """
        import pandas as pd

        strength = self.adjacent
        rows = []
        for i, j in np.argwhere(np.triu(strength, 1) > 0).tolist():
            if strength[i, j] < least:
                continue
            a, b = (i, j) if self.directed[i, j] >= self.directed[j, i] else (j, i)
            shares = (strength[a, b], self.directed[a, b], self.directed[b, a], self.undirected[a, b])
            rows.append((self.names[a], self.names[b], *(float(share) for share in shares)))
        columns = ["source", "target", "adjacent", "forward", "backward", "undirected"]
        found = pd.DataFrame(rows, columns=columns)
        return found.sort_values("adjacent", ascending=False, kind="stable", ignore_index=True)


def _cut(values: Floats) -> float:
    """Return the cut for sorted frequencies: where their distribution function passes the best share of zeros."""
    if not len(values):
        return 1.0
    steps = np.unique(np.concatenate([[0.0, 1.0], values]))
    levels = np.searchsorted(values, steps[:-1], side="right") / len(values)  # on [steps[k], steps[k + 1])
    lengths = np.diff(steps)
    # The L1 distance to a constant is least at the median of the levels, weighted by the lengths they hold on.
    order = np.argsort(levels, kind="stable")
    half = np.searchsorted(np.cumsum(lengths[order]), lengths.sum() / 2)
    share = levels[order][min(half, len(order) - 1)]
    below, above = np.split(values, [round(share * len(values))])
    if not len(above) or not len(below):
        return float(above[0]) if len(above) else 1.0
    return float(below[-1] + above[0]) / 2  # every value between the two cuts the same links


@dataclass(frozen=True)
class Kept:
    """A file of finished resamples: a bootstrap that was stopped, or wants more of them, goes on from there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kept = Kept(Path(folder) / "resamples.json", key="data and seed")
    ...     kept.save([np.array([[0, 1], [0, 0]], dtype=bool)])
    ...     len(kept.load(2)), len(Kept(kept.path, key="other data").load(2))
    (1, 0)
    """

    path: Path
    key: str  # of all that decides the graphs; a file with another key is not used

    def load(self, d: int) -> list[Bools]:
        """Return the graphs of the file, none where it is not there or belongs to another run."""
        if not self.path.exists():
            return []
        with refusing(self.path):
            content = read_json(read_bytes(self.path, MAX_TEXT_BYTES))
            if not isinstance(content, dict) or content.get("key") != self.key:
                return []
            size = -(-d * d // 8)
            raw = [bytes.fromhex(word) for word in content["graphs"]]
            if any(len(part) != size for part in raw):
                raise ResultError(f"{self.path} contains graphs that do not have {d} nodes", hint="remove the file")
            bits = [np.unpackbits(np.frombuffer(part, np.uint8), count=d * d) for part in raw]
            return [part.reshape(d, d).astype(bool) for part in bits]

    def save(self, graphs: list[Bools]) -> None:
        """Write the graphs in one step."""
        words = [np.packbits(graph).tobytes().hex() for graph in graphs]
        write_file(self.path, json.dumps({"key": self.key, "graphs": words}).encode())


def bootstrap(
    refit: Refit,
    n_rows: int,
    names: Any,
    *,
    n: int = 100,
    kind: str = "bootstrap",
    block: int | None = None,
    clusters: npt.ArrayLike | None = None,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
    kept: Kept | None = None,
) -> Confidence:
    """Refit resamples of the rows and count what was found.

    Parameters
    ----------
    refit : takes the rows of a resample and a seed, returns its graph; see :data:`Refit`.
    n_rows, names : of the table.
    n : resamples.
    kind : ``"bootstrap"``: n_rows rows with replacement; ``"subsample"``: half of the rows without; ``"block"``:
        runs of ``block`` neighbouring rows with replacement, for rows in the order of time; ``"cluster"``: whole
        groups of rows with replacement.
    block : rows per block; the cube root of n_rows where not given (the rate of Künsch 1989).
    clusters : (n_rows,) the group of each row, for ``"cluster"``.
    seed : resample k has its own seed, made of this one and k: the answer does not depend on who computes it.
    executor : computes resamples at the same time; None: one after the other.
    progress : called with (done, n).
    kept : a file that finished resamples go to and are taken from.

    Ctrl-C and the deadline end it with the resamples so far, once there is one.

    Examples
    --------
    >>> found = bootstrap(lambda rows, seed: np.array([[0, 1], [0, 0]]), n_rows=10, names=["a", "b"], n=5)
    >>> float(found.directed[0, 1])
    1.0
    """
    check_resampling(n, kind, block, clusters, n_rows)
    draws = _Draws(n_rows, n, kind, block, clusters, seed)
    graphs = [] if kept is None else kept.load(len(names))[:n]
    done, saved, deadline = len(graphs), time.monotonic(), current()
    try:
        for graph in _refitted(refit, draws.after(done), executor):
            graphs.append(np.asarray(graph) != 0)
            if progress is not None:
                progress(len(graphs), n)
            if kept is not None and time.monotonic() - saved > SAVE_SECONDS:
                kept.save(graphs)
                saved = time.monotonic()
            if len(graphs) < n:
                deadline.check()
    except OutOfTimeError as late:
        if not graphs:
            raise TimeLimitError(f"no resample was finished: {late}", hint="raise time_limit") from late
    except KeyboardInterrupt:
        if not graphs:
            raise
    finally:  # also what was done before workers were lost
        if kept is not None and len(graphs) > done:
            kept.save(graphs)
    return Confidence.of(graphs, names, kind, seed, asked=n)


def _refitted(refit: Refit, draws: "_Draws", executor: Executor | None) -> Iterator[Bools]:
    """Yield the graphs of resamples in their order, whoever computes them."""
    if not draws:
        return
    current().check()
    if executor is None:
        yield from (refit(rows, seed) for rows, seed in draws)
    else:
        from drbo.search.evaluation.spread import spread  # a saved result does without the search

        yield from spread(refit, draws, executor)


def resamples(
    n_rows: int, n: int, kind: str = "bootstrap", block: int | None = None, clusters: npt.ArrayLike | None = None,
    seed: int = 0,
) -> Iterator[Rows]:  # fmt: skip
    """Yield the rows of each resample.

    Examples
    --------
    >>> [len(rows) for rows in resamples(9, 2, "subsample")]
    [4, 4]
    """
    check_resampling(n, kind, block, clusters, n_rows)
    yield from (rows for rows, _ in _Draws(n_rows, n, kind, block, clusters, seed))


class _Draws(Sequence[tuple[Rows, int]]):
    """The rows and the seed of each resample, drawn when they are asked for: all of them could fill the memory."""

    def __init__(
        self, n_rows: int, n: int, kind: str, block: int | None, clusters: npt.ArrayLike | None, seed: int
    ) -> None:
        self.n_rows, self.kind, self.seed = n_rows, kind, seed
        self._numbers = range(n)
        self._groups = _groups(clusters) if kind == "cluster" else []
        self._size = block or max(1, round(n_rows ** (1 / 3)))

    def after(self, count: int) -> "_Draws":
        """Return the draws without so many at the beginning."""
        rest = copy(self)
        rest._numbers = self._numbers[count:]
        return rest

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, k: Any) -> Any:
        rng, n_rows, size = np.random.default_rng([self.seed, self._numbers[k]]), self.n_rows, self._size
        if self.kind == "bootstrap":
            rows = rng.integers(n_rows, size=n_rows)
        elif self.kind == "subsample":
            rows = rng.permutation(n_rows)[: n_rows // 2]
        elif self.kind == "block":
            starts = rng.integers(n_rows - size + 1, size=-(-n_rows // size))
            rows = (starts[:, None] + np.arange(size)).ravel()[:n_rows]
        else:
            groups = self._groups
            rows = np.concatenate([groups[g] for g in rng.integers(len(groups), size=len(groups))])
        return np.sort(rows).astype(np.intp), int(rng.integers(2**31))


def _groups(clusters: npt.ArrayLike | None) -> list[Rows]:
    _, label = np.unique(np.asarray(clusters), return_inverse=True)
    return [np.flatnonzero(label == group) for group in range(label.max() + 1)]


def check_resampling(n: int, kind: str, block: int | None, clusters: npt.ArrayLike | None, n_rows: int) -> None:
    """Refuse a plan that cannot work, before anything is spent on it.

    Examples
    --------
    >>> check_resampling(100, "block", block=20, clusters=None, n_rows=10)
    Traceback (most recent call last):
        ...
    drbo.errors.SettingsError: block must be in 1..10, the number of rows, got 20 (omit block, ...)
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise SettingsError(f"the number of resamples must be a whole number of at least 1, got {n!r}", hint="try 100")
    if kind not in KINDS:
        raise SettingsError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}", hint="the default is 'bootstrap'")
    if block is not None and not 1 <= block <= n_rows:
        raise SettingsError(
            f"block must be in 1..{n_rows}, the number of rows, got {block}",
            hint="omit block, or choose a smaller value",
        )
    if kind != "cluster":
        return
    if clusters is None:
        raise SettingsError("kind 'cluster' requires clusters", hint="give the cluster of every row")
    shape, groups = np.shape(clusters), len(np.unique(np.asarray(clusters)))
    if shape != (n_rows,) or groups < 2:
        raise SettingsError(
            f"clusters must assign each of {n_rows} rows to one of at least 2 clusters, got {groups} in shape {shape}",
            hint="give one entry per row of the table",
        )
