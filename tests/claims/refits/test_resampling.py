"""Resampling: which rows are drawn, and fits that are counted, kept and resumed."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from drbo.claims.refits.resampling import KINDS, KeptResamples, Refitted, Resampling, bootstrap
from drbo.errors import ResultError, SettingsError
from drbo.graph.marks import MarkedGraph

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def found(graph):
    """What a fit of a resample gives."""
    return Refitted(MarkedGraph.of(graph, "abc"))


def resamples(n_rows, n, kind="bootstrap", seed=0, **given):
    """The rows of each resample."""
    return [rows for rows, _ in Resampling(n, kind, **given).draws(n_rows, seed)]


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
        few, many = (resamples(50, n, seed=3) for n in (2, 4))
        assert all((a == b).all() for a, b in zip(few, many, strict=False))


def _coin(rows, seed):
    return found(np.triu(np.random.default_rng(seed).random((3, 3)) < 0.5, 1))


class TestBootstrap:
    def test_the_refit_gets_rows_and_a_seed_of_its_own(self):
        calls = []

        def refit(rows, seed):
            calls.append((tuple(rows), seed))
            return found(CHAIN)

        bootstrap(refit, 30, list("abc"), Resampling(4))
        assert len({rows for rows, _ in calls}) == 4
        assert len({seed for _, seed in calls}) == 4

    def test_an_executor_changes_nothing(self):
        alone = bootstrap(_coin, 30, list("abc"), Resampling(20), seed=5)
        with ThreadPoolExecutor(3) as pool:
            together = bootstrap(_coin, 30, list("abc"), Resampling(20), seed=5, executor=pool)
        assert (alone.directed == together.directed).all()

    def test_what_was_done_before_an_error_is_kept(self, tmp_path):
        def refit(rows, seed):
            done.append(seed)
            if len(done) > 3:
                raise MemoryError
            return found(CHAIN)

        done: list[int] = []
        kept = KeptResamples(tmp_path / "resamples.json", "k")
        with pytest.raises(MemoryError):
            bootstrap(refit, 30, list("abc"), Resampling(20), kept=kept)
        assert len(kept.load("abc")) == 3

    def test_progress_is_told(self):
        told = []
        bootstrap(
            lambda rows, seed: found(CHAIN), 30, list("abc"), Resampling(3), progress=lambda *where: told.append(where)
        )
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
            bootstrap(refit, 30, list("abc"), Resampling(**change))


class TestKept:
    @staticmethod
    def refit(rows, seed):
        return found(np.triu(np.random.default_rng(seed).random((3, 3)) < 0.5, 1))

    def test_a_stopped_bootstrap_goes_on_where_it_was(self, tmp_path):
        kept, calls = KeptResamples(tmp_path / "resamples.json", "key"), []

        def stopping(rows, seed):
            if len(calls) == 4:
                raise KeyboardInterrupt
            calls.append(seed)
            return self.refit(rows, seed)

        part = bootstrap(stopping, 30, list("abc"), Resampling(10), kept=kept)
        assert (part.n, len(kept.load("abc"))) == (4, 4)
        calls.clear()

        def counting(rows, seed):
            calls.append(seed)
            return self.refit(rows, seed)

        whole = bootstrap(counting, 30, list("abc"), Resampling(10), kept=kept)
        assert (whole.n, len(calls)) == (10, 6)
        assert (whole.directed == bootstrap(self.refit, 30, list("abc"), Resampling(10)).directed).all()
        bootstrap(counting, 30, list("abc"), Resampling(10), kept=kept)
        assert len(calls) == 6  # nothing is left to do

    def test_an_interrupt_before_the_first_resample_is_one(self):
        def stopping(rows, seed):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bootstrap(stopping, 30, list("abc"), Resampling(10))

    def test_resamples_of_another_plan_are_not_used(self, tmp_path):
        KeptResamples(tmp_path / "kept.json", "one").save([found(CHAIN)])
        assert KeptResamples(tmp_path / "kept.json", "two").load("abc") == []

    def test_targets_of_experiments_are_kept(self, tmp_path):
        changed = np.array([[True, False, False], [False, True, True]])
        kept = KeptResamples(tmp_path / "kept.json", "k")
        kept.save([Refitted(found(CHAIN).graph, changed)])
        (back,) = kept.load("abc", 2)
        assert back.graph == found(CHAIN).graph
        assert (back.changed == changed).all()
        with pytest.raises(ResultError, match="not the targets of 9 experiments"):
            kept.load("abc", 9)
        with pytest.raises(ResultError, match="not the marks of a graph with 4 nodes"):
            kept.load("abcd", 2)

    @pytest.mark.parametrize(
        "graphs",
        [
            '["zz"]',
            "[7]",
            "7",
            '[{"kind": "dag", "marks": "zz"}]',
            '[{"kind": "dag"}]',
            '[{"kind": 1, "marks": "000000"}]',
        ],
    )
    def test_damaged_graphs_are_refused(self, tmp_path, graphs):
        path = tmp_path / "kept.json"
        path.write_text(f'{{"key": "k", "graphs": {graphs}}}')
        with pytest.raises(ResultError):
            KeptResamples(path, "k").load("abc")

    @pytest.mark.parametrize("text", ["{", '{"key": "k"}'])
    def test_a_damaged_file_is_refused(self, tmp_path, text):
        path = tmp_path / "kept.json"
        path.write_text(text)
        with pytest.raises(ResultError):
            KeptResamples(path, "k").load("abc")
