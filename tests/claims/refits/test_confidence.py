"""Frequencies of edges and paths, against counts by hand."""

import numpy as np
import pytest

from drbo.claims.refits.confidence import Confidence, _cut
from drbo.errors import DataError
from drbo.graph.dag import is_acyclic
from drbo.graph.marks import MarkedGraph
from tests.results import shares

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
OPEN = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])  # a - b
EMPTY = np.zeros((3, 3))


def counted(*graphs):
    return shares(graphs, "abc"[: len(graphs[0])])


class TestCounting:
    def test_arrows_open_links_and_paths_are_counted_apart(self):
        found = counted(CHAIN, CHAIN, OPEN, EMPTY)
        assert found.directed[0, 1] == 0.5
        assert found.undirected[0, 1] == found.undirected[1, 0] == 0.25
        assert found.adjacent[0, 1] == found.adjacent[1, 0] == 0.75
        assert (found.path[0, 2], found.directed[0, 2]) == (0.5, 0.0)
        assert found.n == 4

    def test_pags_have_their_marks_counted_and_other_graphs_do_not(self):
        pags = [MarkedGraph(("a", "b"), np.array(marks), "pag") for marks in ([[0, 2], [3, 0]], [[0, 1], [1, 0]])]
        found = Confidence.of(pags)
        assert (found.directed[0, 1], found.undirected[0, 1], found.marks.circle[1, 0]) == (0.5, 0.5, 0.5)
        assert counted(CHAIN).marks is None

    def test_no_graph_is_no_confidence(self):
        with pytest.raises(DataError, match="at least one graph"):
            Confidence.of([])

    def test_the_table_is_sorted_and_points_the_frequent_way(self):
        table = counted(CHAIN.T, CHAIN.T, OPEN).table()
        assert table["adjacent"].tolist() == [1.0, pytest.approx(2 / 3)]
        first = table.iloc[0]
        assert (first["source"], first["target"]) == ("b", "a")
        assert (first["forward"], first["backward"], first["undirected"]) == pytest.approx((2 / 3, 0, 1 / 3))
        assert len(counted(CHAIN, EMPTY, EMPTY).table(least=0.5)) == 0


class TestCut:
    def test_the_cut_lies_between_noise_and_signal(self):
        noise, signal = [0.02, 0.05, 0.1, 0.12, 0.2], [0.85, 0.9, 1.0]
        assert 0.2 < _cut(np.array([*noise, *signal])) <= 0.85

    def test_it_minimises_the_distance_to_zeros_and_ones(self, rng):
        """The share of zeros that the cut implies has the least L1 distance, by brute force on a grid."""
        values = np.sort(np.r_[rng.beta(1, 6, 20), rng.beta(6, 1, 8)])
        grid = (np.arange(20_000) + 0.5) / 20_000
        level = np.searchsorted(values, grid, side="right") / len(values)
        distance = {k: np.abs(level - k / len(values)).mean() for k in range(len(values) + 1)}
        best = min(distance.values())
        share = np.searchsorted(values, _cut(values)) / len(values)
        assert np.abs(level - share).mean() == pytest.approx(best, abs=1e-3)

    def test_extremes(self):
        assert _cut(np.zeros(5)) == 1.0
        assert _cut(np.ones(5)) == 1.0
        assert _cut(np.array([])) == 1.0


class TestAveraged:
    def test_frequent_links_stay_and_rare_ones_go(self):
        graphs = [CHAIN] * 9 + [OPEN]
        assert counted(*graphs).averaged().tolist() == (CHAIN != 0).tolist()
        assert not counted(EMPTY, EMPTY).averaged().any()

    def test_a_link_without_a_majority_is_undirected(self):
        found = counted(CHAIN, CHAIN.T)
        assert found.averaged(cut=0.5).tolist() == (CHAIN + CHAIN.T != 0).tolist()

    def test_arrows_never_close_a_cycle(self, rng):
        for _ in range(20):
            graphs = []
            for _ in range(5):
                order = rng.permutation(6)
                graphs.append(np.triu(rng.random((6, 6)) < 0.6, 1)[np.ix_(order, order)])
            graph = shares(graphs, "abcdef").averaged(cut=0.1)
            assert is_acyclic(graph & ~graph.T)
