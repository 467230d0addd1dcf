"""A fitted model used again: resamples of its rows, and what they share with the fit."""

import json

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, DrBO, Knowledge, Result
from drbo.claims.refits.resampling import Refitted, Resampling
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError
from drbo.graph.marks import MarkedGraph
from drbo.refitting import resampling_key
from drbo.scores.linear import BicNV
from drbo.search.checkpoint.saver import Saved
from tests import rain


class TestBootstrap:
    @staticmethod
    def collider(n=300):
        x = np.random.default_rng(3).normal(size=(n, 4))
        x[:, 2] += x[:, 0] + x[:, 1]
        return pd.DataFrame(x, columns=["a", "b", "effect", "alone"])

    def test_strong_edges_are_found_again_and_absent_ones_are_not(self):
        table = self.collider()
        model = DrBO(score="bic-nv", random_state=0).fit(table)
        before = model.adjacency_
        found = model.bootstrap(table, n=20)
        assert (model.adjacency_ == before).all()
        assert found.directed[0, 2] > 0.8
        assert found.directed[1, 2] > 0.8
        assert found.adjacent[3].max() < 0.4
        assert model.result_.edges()["frequency"].min() > 0.8
        assert model.result_.confidence.n == 20

    @pytest.mark.parametrize("score", ["bic-nv", "bic-ev"])
    def test_warm_and_cold_starts_agree_where_there_is_little_doubt(self, score):
        table = self.collider(150)
        model = DrBO(score=score, random_state=0).fit(table)
        warm, cold = (model.bootstrap(table, n=6, warm=warm) for warm in (True, False))
        assert np.abs(warm.adjacent - cold.adjacent).max() <= 0.5
        assert np.abs(warm.adjacent - cold.adjacent).mean() < 0.1

    def test_other_scores_search_every_resample_from_nothing(self):
        table = self.collider(80)
        model = DrBO(score="bge", random_state=0, max_evals=24).fit(table)
        warm, cold = (model.bootstrap(table, n=2, warm=warm) for warm in (True, False))
        assert (warm.directed == cold.directed).all()

    def test_neither_workers_nor_the_order_of_columns_matter(self):
        table = self.collider(120)
        other = table[table.columns[::-1]]
        one, turned = (DrBO(score="bic-nv", random_state=0).fit(x).bootstrap(x, n=8) for x in (table, other))
        assert one.directed.tolist() == turned.directed[::-1, ::-1].tolist()

    def test_knowledge_holds_in_every_resample(self):
        known = Knowledge(forbidden=["a -> effect"], required=["effect -> b"])
        table = self.collider()
        found = DrBO(score="bic-ev", knowledge=known, random_state=0).fit(table).bootstrap(table, n=10)
        assert found.directed[0, 2] == 0
        assert found.directed[2, 1] == 1

    def test_the_shares_are_saved_with_the_result(self, tmp_path):
        table = self.collider()
        model = DrBO(score="bic-nv", random_state=0).fit(table)
        found = model.bootstrap(table, n=5, kind="subsample")
        back = Result.load(model.result_.save(tmp_path)).confidence
        assert (back.directed == found.directed).all()
        assert (back.n, back.kind, back.seed) == (5, "subsample", 0)

    @pytest.mark.parametrize("kind", ["block", "cluster"])
    def test_rows_that_belong_together_stay_together(self, kind, monkeypatch):
        """Groups of 10 neighbouring rows share the value of a column: a resample has each value in tens."""
        import drbo.claims.refits.refit as module

        rng, seen = np.random.default_rng(0), []
        table = pd.DataFrame(rng.normal(size=(100, 2)), columns=["a", "b"])
        table["group"] = np.repeat(rng.permutation(10) + 0.5, 10)

        def watching(self, rows, seed):
            seen.append(self.table.values[rows][:, self.columns.tolist().index(2)])
            return Refitted(MarkedGraph.of(np.zeros((3, 3)), ["a", "b", "group"]))

        monkeypatch.setattr(module.TableRefit, "__call__", watching)
        given = {"block": 10} if kind == "block" else {"clusters": np.repeat(np.arange(10), 10)}
        DrBO(score="bic-nv", random_state=0).fit(table).bootstrap(table, n=5, kind=kind, **given)
        for values in seen:
            counts = np.unique(values, return_counts=True)[1]
            assert len(values) == 100
            assert (counts % 10 == 0).all() if kind == "cluster" else len(counts) < 10

    def test_finished_resamples_are_kept_for_the_same_plan_only(self, tmp_path, monkeypatch):
        table, path = self.collider(), tmp_path / "resamples.json"
        first, second = (DrBO(score="bic-nv", random_state=seed).fit(table) for seed in (0, 1))
        few = first.bootstrap(table, n=3, keep=path)
        many = first.bootstrap(table, n=6, keep=path)
        assert (many.directed == first.bootstrap(table, n=6).directed).all()
        assert (few.n, many.n) == (3, 6)
        before = path.read_bytes()
        second.bootstrap(table, n=2, keep=path)
        assert path.read_bytes() != before

    def test_a_ready_made_score_cannot_be_refitted(self):
        table = self.collider()
        model = DrBO(score=BicNV(Statistics.from_array(table.to_numpy())), max_evals=5).fit(table)
        with pytest.raises(SettingsError, match="is bound to its own data"):
            model.bootstrap(table)


def test_resamples_of_the_checked_table_are_those_of_the_data(rng, tmp_path):
    x = rng.normal(size=(80, 4))
    x[:, 1] += x[:, 0]
    x[:, 2] = 0.0
    x[rng.random(80) < 0.1, 3] = np.nan
    weights, clusters = rng.integers(0, 3, 80).astype(float), np.arange(80) // 4
    model = DrBO(score="bic-nv", random_state=0, policy=DataPolicy(missing="drop", on_constant="drop"))
    model.fit(x, sample_weight=weights, checkpoint=tmp_path)
    used = (weights > 0) & ~np.isnan(x).any(axis=1)
    for kind, groups in (("bootstrap", None), ("subsample", None), ("cluster", clusters)):
        keep = tmp_path / f"{kind}.json"
        whole = model.bootstrap(x, 6, kind, clusters=groups, sample_weight=weights, keep=keep)
        before = json.loads(keep.read_text())
        resumed = DrBO.resume(tmp_path, time_limit=1000.0)
        given = None if groups is None else groups[used]
        again = resumed.bootstrap(Saved.load(tmp_path).table, 6, kind, clusters=given, keep=keep)
        assert json.loads(keep.read_text()) == before  # it was used
        keep.unlink()
        anew = resumed.bootstrap(Saved.load(tmp_path).table, 6, kind, clusters=given)
        for found in (again, anew):
            assert (found.directed == whole.directed).all()
            assert (found.undirected == whole.undirected).all()


def test_resamples_draw_no_seed_from_the_source_of_the_fit():
    source = np.random.default_rng(4)
    model = DrBO(score="bic-nv", random_state=source).fit(rain.frame())
    before = source.bit_generator.state
    model.bootstrap(rain.frame(), n=2)
    model.effects(rain.frame(), "rain", "wet", n=2)
    assert source.bit_generator.state == before


def test_finished_resamples_belong_to_all_that_decides_them_and_to_no_time_limit():
    plan, weights = Resampling(5, "cluster", clusters=[0, 0, 1, 1]), np.array([1.0, 2.0])
    results = [DrBO(score="bic-nv", random_state=0, time_limit=limit).fit(rain.frame()).result_ for limit in (60, 99)]
    key = resampling_key(results[0], plan, True, None)
    assert key == resampling_key(results[1], plan, True, None)
    assert key == resampling_key(results[0], Resampling(9, "cluster", clusters=list("aabb")), True, None)
    assert key != resampling_key(results[0], Resampling(5, "cluster", clusters=[0, 1, 0, 1]), True, None)
    assert key != resampling_key(results[0], plan, False, None)
    assert key != resampling_key(results[0], plan, True, weights)
