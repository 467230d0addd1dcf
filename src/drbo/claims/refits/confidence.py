"""How often an edge is found again: frequencies of edges and paths in many graphs, counted on equivalence classes.

A frequency is not the probability that an edge is true. It shows how often the same procedure finds the edge again on
similar data.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.record import Matrix, TargetShare
from drbo.errors import DataError
from drbo.graph.dag import descendants
from drbo.graph.marks import ARROW, CIRCLE, TAIL, MarkedGraph

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class MarkShares:
    """How often the edge between i and j has a mark at j, where causes may be hidden, as matrices [i, j]."""

    arrow: Matrix
    tail: Matrix
    circle: Matrix

    @classmethod
    def of(cls, graphs: Sequence[MarkedGraph]) -> "MarkShares":
        """Count the marks of graphs over the same nodes."""
        stack = np.stack([graph.marks for graph in graphs])
        shares = {"arrow": ARROW, "tail": TAIL, "circle": CIRCLE}
        return cls(**{name: (stack == mark).mean(axis=0) for name, mark in shares.items()})


@dataclass(frozen=True, eq=False, kw_only=True)
class Confidence:
    """Edge and path frequencies over resamples, as matrices [i, j] over the names.

    Examples
    --------
    >>> graphs = [MarkedGraph.of(matrix, ["a", "b"]) for matrix in ([[0, 1], [0, 0]], [[0, 1], [1, 0]])]
    >>> found = Confidence.of(graphs)
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
    targets: tuple[TargetShare, ...] = ()  # of experiments, where there are some
    asked: int = 0  # how many graphs were asked for, where that is more than n: the time was over before
    marks: MarkShares | None = None  # of graphs with hidden causes

    @classmethod
    def of(cls, graphs: Iterable[MarkedGraph], kind: str = "bootstrap", seed: int = 0, asked: int = 0) -> "Confidence":
        """Count the edges and paths in graphs over the same nodes; in PAGs the marks as well.

        An arrow with a tail at its other end is a directed edge, every other edge is undirected.

        Examples
        --------
        >>> marks = [[[0, 2], [3, 0]], [[0, 2], [2, 0]]]
        >>> found = Confidence.of(MarkedGraph(("a", "b"), np.array(one), "pag") for one in marks)
        >>> found.directed[0, 1].item(), found.marks.arrow.tolist()
        (0.5, [[0.0, 1.0], [0.5, 0.0]])
        """
        found = list(graphs)
        if not found:
            raise DataError("confidence needs at least one graph, got none")
        arrows = np.stack([graph.directed for graph in found])
        open_links = np.stack([graph.skeleton for graph in found]) & ~(arrows | arrows.transpose(0, 2, 1))
        paths = np.stack([descendants(graph) for graph in arrows])
        shares = dict(zip(("directed", "undirected", "path"), (arrows, open_links, paths), strict=True))
        means = {name: part.mean(axis=0) for name, part in shares.items()}
        asked = asked if asked > len(found) else 0
        marks = MarkShares.of(found) if CIRCLE in found[0].telling else None
        return cls(names=found[0].names, **means, n=len(found), kind=kind, seed=seed, asked=asked, marks=marks)

    @property
    def count(self) -> str:
        """The number of graphs that were counted, in words: 100, or 37 of 100."""
        return f"{self.n} of {self.asked}" if self.asked else str(self.n)

    def at_ends(self, source: Indices, target: Indices) -> dict[str, Floats]:
        """Return the shares of edges, and of every mark at both of their ends, by name.

        Examples
        --------
        >>> found = Confidence.of([MarkedGraph(("a", "b"), np.array([[0, 2], [1, 0]]), "pag")])
        >>> {name: share.tolist() for name, share in found.at_ends(np.array([0]), np.array([1])).items() if share[0]}
        {'link_frequency': [1.0], 'source_circle': [1.0], 'target_arrow': [1.0]}
        """
        columns = {"link_frequency": self.adjacent[source, target]}
        if self.marks is not None:
            for end, place in (("source", (target, source)), ("target", (source, target))):
                columns |= {f"{end}_{mark}": share[place] for mark, share in vars(self.marks).items()}
        return columns

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
        >>> arrow, none = (MarkedGraph.of(matrix, ["a", "b"]) for matrix in ([[0, 1], [0, 0]], np.zeros((2, 2))))
        >>> Confidence.of([arrow] * 9 + [none]).averaged().astype(int).tolist()
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
        >>> Confidence.of([MarkedGraph.of([[0, 1], [0, 0]], ["a", "b"])]).table().to_dict("records")
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
