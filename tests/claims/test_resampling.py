"""Resampling and counting, against counts by hand."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from drbo.claims.resampling import KINDS, Confidence, Kept, _cut, bootstrap, resamples
from drbo.errors import DataError, ResultError, SettingsError
from drbo.graph import is_acyclic

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
OPEN = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])  # a - b
EMPTY = np.zeros((3, 3))


def counted(*graphs):
    return Confidence.of(graphs, names=list("abc"[: len(graphs[0])]))


class TestCounting:
    def test_arrows_open_links_and_paths_are_counted_apart(self):
        found = counted(CHAIN, CHAIN, OPEN, EMPTY)
        assert found.directed[0, 1] == 0.5
        assert found.undirected[0, 1] == found.undirected[1, 0] == 0.25
        assert found.adjacent[0, 1] == found.adjacent[1, 0] == 0.75
        assert (found.path[0, 2], found.directed[0, 2]) == (0.5, 0.0)
        assert found.n == 4

    def test_no_graph_is_no_confidence(self):
        with pytest.raises(DataError, match="at least one graph"):
            Confidence.of([], names=["a"])

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
            graph = Confidence.of(graphs, names=list("abcdef")).averaged(cut=0.1)
            assert is_acyclic(graph & ~graph.T)


class TestResampling:
    def test_sizes_and_replacement(self):
        (rows,) = resamples(1000, 1, "bootstrap")
        assert len(rows) == 1000
        assert 590 < len(set(rows)) < 675  # 1 - 1/e of them
        (rows,) = resamples(1000, 1, "subsample")
        assert len(rows) == len(set(rows)) == 500

    def test_blocks_are_runs_of_rows(self):
        (rows,) = resamples(100, 1, "block", block=10)
        counts = np.bincount(rows, minlength=100)
        assert len(rows) == 100
        changes = np.flatnonzero(np.diff(np.r_[0, counts, 0]))
        assert len(changes) <= 2 * 10  # ten blocks begin and end

    def test_clusters_stay_whole(self):
        clusters = np.repeat(np.arange(20), 5)
        (rows,) = resamples(100, 1, "cluster", clusters=clusters)
        counts = np.bincount(rows, minlength=100).reshape(20, 5)
        assert (counts == counts[:, :1]).all()
        assert counts.max() > 1

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_resample_has_its_own_rows_and_the_seed_decides(self, kind):
        clusters = np.repeat(np.arange(10), 5)
        first, second = ([r.tolist() for r in resamples(50, 3, kind, clusters=clusters, seed=1)] for _ in range(2))
        assert first == second
        assert first[0] != first[1]
        assert first != [r.tolist() for r in resamples(50, 3, kind, clusters=clusters, seed=2)]

    def test_more_resamples_keep_the_first_ones(self):
        few, many = (list(resamples(50, n, seed=3)) for n in (2, 4))
        assert all((a == b).all() for a, b in zip(few, many, strict=False))


def _coin(rows, seed):
    return np.triu(np.random.default_rng(seed).random((3, 3)) < 0.5, 1)


class TestBootstrap:
    def test_the_refit_gets_rows_and_a_seed_of_its_own(self):
        calls = []

        def refit(rows, seed):
            calls.append((tuple(rows), seed))
            return CHAIN

        bootstrap(refit, 30, names=list("abc"), n=4)
        assert len({rows for rows, _ in calls}) == 4
        assert len({seed for _, seed in calls}) == 4

    def test_an_executor_changes_nothing(self):
        alone = bootstrap(_coin, 30, names=list("abc"), n=20, seed=5)
        with ThreadPoolExecutor(3) as pool:
            together = bootstrap(_coin, 30, names=list("abc"), n=20, seed=5, executor=pool)
        assert (alone.directed == together.directed).all()

    def test_what_was_done_before_an_error_is_kept(self, tmp_path):
        def refit(rows, seed):
            done.append(seed)
            if len(done) > 3:
                raise MemoryError
            return CHAIN

        done: list[int] = []
        kept = Kept(tmp_path / "resamples.json", "k")
        with pytest.raises(MemoryError):
            bootstrap(refit, 30, names=list("abc"), n=20, kept=kept)
        assert len(kept.load(3)) == 3

    def test_progress_is_told(self):
        told = []
        bootstrap(lambda rows, seed: CHAIN, 30, names=list("abc"), n=3, progress=lambda *where: told.append(where))
        assert told == [(1, 3), (2, 3), (3, 3)]

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"n": 0}, "at least 1, got 0"),
            ({"kind": "jackknife"}, "kind must be one of"),
            ({"kind": "block", "block": 99}, "block must be in 1..30"),
            ({"kind": "cluster"}, "requires clusters"),
            ({"kind": "cluster", "clusters": [1] * 30}, "at least 2 clusters"),
            ({"kind": "cluster", "clusters": [1, 2]}, "each of 30 rows"),
        ],
    )
    def test_bad_wishes_are_refused_before_any_work(self, change, words):
        def refit(rows, seed):
            pytest.fail("work was done")

        with pytest.raises(SettingsError, match=words):
            bootstrap(refit, 30, names=list("abc"), **change)


class TestKept:
    @staticmethod
    def refit(rows, seed):
        return np.triu(np.random.default_rng(seed).random((3, 3)) < 0.5, 1)

    def test_a_stopped_bootstrap_goes_on_where_it_was(self, tmp_path):
        kept, calls = Kept(tmp_path / "resamples.json", "key"), []

        def stopping(rows, seed):
            if len(calls) == 4:
                raise KeyboardInterrupt
            calls.append(seed)
            return self.refit(rows, seed)

        part = bootstrap(stopping, 30, names=list("abc"), n=10, kept=kept)
        assert (part.n, len(kept.load(3))) == (4, 4)
        calls.clear()

        def counting(rows, seed):
            calls.append(seed)
            return self.refit(rows, seed)

        whole = bootstrap(counting, 30, names=list("abc"), n=10, kept=kept)
        assert (whole.n, len(calls)) == (10, 6)
        assert (whole.directed == bootstrap(self.refit, 30, names=list("abc"), n=10).directed).all()
        bootstrap(counting, 30, names=list("abc"), n=10, kept=kept)
        assert len(calls) == 6  # nothing is left to do

    def test_an_interrupt_before_the_first_resample_is_one(self):
        def stopping(rows, seed):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bootstrap(stopping, 30, names=list("abc"), n=10)

    def test_resamples_of_another_plan_are_not_used(self, tmp_path):
        Kept(tmp_path / "kept.json", "one").save([CHAIN != 0])
        assert Kept(tmp_path / "kept.json", "two").load(3) == []

    @pytest.mark.parametrize(
        "text", ["{", *('{"key": "k"' + rest for rest in ("}", ', "graphs": ["zz"]}', ', "graphs": ["f"]}'))]
    )
    def test_a_damaged_file_is_refused(self, tmp_path, text):
        path = tmp_path / "kept.json"
        path.write_text(text)
        with pytest.raises(ResultError):
            Kept(path, "k").load(3)
