"""The graph of a window of time: which column acts on which, after how many steps.

Columns of the past have no causes in a window, and an edge stands for all times: the window moves with the row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from drbo.arrays import Bools, Indices


@dataclass(frozen=True, eq=False)
class WindowGraph:
    """Series, and the edges between them at every lag.

    Examples
    --------
    >>> dag = np.zeros((4, 4), dtype=bool)
    >>> dag[0, 1] = dag[2, 0] = True
    >>> graph = WindowGraph.of(dag, ["dose", "mood", "dose[-1]", "mood[-1]"], [0, 0, 1, 1])
    >>> graph.names, [(graph.names[i], graph.names[j], lag) for i, j, lag in graph.edges()]
    (('dose', 'mood'), [('dose', 'mood', 0), ('dose', 'dose', 1)])
    """

    names: tuple[str, ...]  # (d,) of the series
    edges_at: Bools  # (L + 1, d, d) edges_at[l, i, j]: column i at t - l acts on column j at t

    @classmethod
    def of(cls, dag: Bools, names: Sequence[str], lags: Sequence[int]) -> "WindowGraph":
        """Return the graph of a DAG over the columns of a window, of which some may be missing."""
        present, place = places(names, lags)
        now = np.array([lag == 0 for lag in lags], dtype=bool)
        found = np.zeros((max(lags, default=0) + 1, len(present), len(present)), dtype=bool)
        for i, j in np.argwhere(dag & now).tolist():
            if place[i] >= 0:
                found[lags[i], place[i], place[j]] = True
        return cls(present, found)

    @property
    def max_lag(self) -> int:
        """The largest lag that was looked at."""
        return len(self.edges_at) - 1

    @property
    def used(self) -> tuple[int, ...]:
        """The lags at which one series acts on another, or on itself."""
        return tuple(np.flatnonzero(self.edges_at.any(axis=(1, 2))).tolist())

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Yield cause, effect and lag of every edge, those of the same time first."""
        for lag, i, j in np.argwhere(self.edges_at).tolist():
            yield i, j, lag

    def mechanisms(self) -> dict[tuple[int, int], tuple[int, ...]]:
        """Return the lags at which each series acts on each other one, in the order of the columns."""
        pairs = np.argwhere(self.edges_at.any(axis=0)).tolist()
        return {(i, j): tuple(np.flatnonzero(self.edges_at[:, i, j]).tolist()) for i, j in pairs}

    def links(self) -> "np.ndarray[tuple[int, ...], np.dtype[np.str_]]":
        """Return the links (d, d, L + 1) as tigramite writes and plots them: ``-->``, and ``<--`` or ``o-o`` at lag 0.

        ``o-o`` stands for an edge of the present in both directions, as in the class of a result:
        ``WindowGraph.of(result.mpdag, result.names, result.series.lags).links()``.
        """
        found = np.where(self.edges_at.transpose(1, 2, 0), "-->", "").astype("<U3")
        found[:, :, 0] = np.where(self.edges_at[0].T, np.where(self.edges_at[0], "o-o", "<--"), found[:, :, 0])
        return found


def places(names: Sequence[str], lags: Sequence[int]) -> tuple[tuple[str, ...], Indices]:
    """Return the names of the series, and (d,) the number of the series of each column; -1: it has no present."""
    present = tuple(name for name, lag in zip(names, lags, strict=True) if lag == 0)
    number = {name: k for k, name in enumerate(present)}
    series = (name.removesuffix(f"[-{lag}]") if lag else name for name, lag in zip(names, lags, strict=True))
    return present, np.array([number.get(name, -1) for name in series], dtype=np.intp)
