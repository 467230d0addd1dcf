"""Tables with groups, from the outside: fit, bootstrap, resume, judge, and the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo import DataPolicy, Design, DrBO, Result
from drbo.cli import main
from drbo.data.checks.prepare import Preparation
from drbo.errors import DataError, SettingsError
from drbo.independence.residual_tests import Sample


def panel(n_groups=20, size=12, seed=0):
    """Return a chain a -> b -> c inside patients who also differ in everything by a hidden cause."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n_groups), size)
    hidden = 3 * rng.normal(size=n_groups)[who]
    a = rng.normal(size=len(who))
    b = a + 0.5 * rng.normal(size=len(who))
    c = b + 0.5 * rng.normal(size=len(who))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "alone": rng.normal(size=len(who))}).add(hidden, axis=0)
    frame["patient"] = [f"p{k}" for k in who]
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted():
    return DrBO(design=Design(groups="patient"), random_state=0).fit(panel())


def test_a_cause_of_whole_groups_is_removed(fitted):
    links = {frozenset(edge) for edge in fitted.graph_.edges}
    assert links == {frozenset("ab"), frozenset("bc")}
    plain = DrBO(random_state=0, design=Design(groups=False)).fit(panel().drop(columns="patient"))
    assert "alone" in {end for edge in plain.graph_.edges for end in edge}
    assert fitted.n_features_in_ == 4
    table = fitted.result_.table
    assert (table.groups, table.n_groups, table.n_rows) == ("patient", 20, 240)
    assert table.n_effective == pytest.approx(220)
    assert "240 rows in 20 groups by 'patient' (worth 220 rows)" in fitted.result_.summary()
    assert "groups='patient'" in fitted.result_.call


def test_labels_say_the_same_as_a_column(fitted):
    frame = panel()
    other = DrBO(design=Design(groups=frame["patient"].to_numpy()), random_state=0).fit(frame.drop(columns="patient"))
    assert other.score_ == fitted.score_
    assert "groups=groups" in other.result_.call


def test_order_of_rows_and_names_of_groups_do_not_matter(fitted):
    frame = panel().sample(frac=1, random_state=1)
    frame["patient"] = frame["patient"].map(lambda word: int(word[1:]) * 7 % 20)
    again = DrBO(design=Design(groups="patient"), random_state=0).fit(frame)
    assert again.score_ == pytest.approx(fitted.score_, rel=1e-12)
    assert (again.adjacency_ == fitted.adjacency_).all()


def test_the_score_of_the_table_is_found_again(fitted, tmp_path):
    result = fitted.result_
    assert fitted.score_on(panel()) == pytest.approx(result.pruned_score)
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    assert loaded.table.n_groups == 20
    assert loaded.score_of(loaded.dag, panel()) == pytest.approx(result.pruned_score)
    assert loaded.has_seen(panel())
    assert not loaded.has_seen(panel(seed=1))
    assert DrBO.like(loaded).fit(panel()).score_ == pytest.approx(fitted.score_)
    effect = loaded.effects(panel(seed=1), "a", "b")
    assert effect.effects[0].low < 1 < effect.effects[0].high or not any(effect.effects[0].total)


def test_whole_groups_are_resampled():
    model = DrBO(design=Design(groups="patient"), random_state=0).fit(panel())
    found = model.bootstrap(panel(), n=4)
    assert found.kind == "cluster"
    assert found.adjacent[0, 1] == 1.0
    same = model.bootstrap(panel().drop(columns="patient").assign(patient=panel()["patient"]), n=4)
    assert (same.adjacent == found.adjacent).all()
    with pytest.raises(SettingsError, match="kind 'block' draws single rows"):
        model.bootstrap(panel(), n=2, kind="block")


@pytest.mark.parametrize("labels", [False, True])
def test_a_saved_search_goes_on_with_its_groups(tmp_path, labels):
    frame = panel()
    groups = frame["patient"].to_numpy() if labels else "patient"
    frame = frame.drop(columns="patient") if labels else frame
    first = DrBO(score="bic-nv", design=Design(groups=groups), random_state=0).fit(frame, checkpoint=tmp_path)
    again = DrBO.resume(tmp_path, frame)
    assert again.result_.score == first.score_
    assert again.result_.table.n_groups == 20
    assert again.bootstrap(frame, n=2).kind == "cluster"


def test_missing_values():
    frame = panel()
    holed = frame.mask(np.random.default_rng(4).random(frame.shape) < 0.05)
    holed["patient"] = frame["patient"]
    dropped = DrBO(design=Design(groups="patient"), policy=DataPolicy(missing="drop"), random_state=0).fit(holed)
    alone = DrBO(design=Design(groups="patient"), random_state=0).fit(holed.dropna())
    assert dropped.score_ == alone.score_
    for policy in ("em", "impute"):
        found = DrBO(
            score="bic-nv",
            design=Design(groups="patient"),
            policy=DataPolicy(missing=policy, imputations=2),
            random_state=0,
        ).fit(holed)
        assert found.adjacency_[0, 1] or found.adjacency_[1, 0]


def test_groups_of_one_row_are_dropped_and_said():
    frame = pd.concat([panel(), panel(seed=2).iloc[:1].assign(patient="new")], ignore_index=True)
    result = DrBO(design=Design(groups="patient"), random_state=0).fit(frame).result_
    assert (result.table.n_rows, result.table.n_groups) == (240, 20)
    assert any("groups of one row were dropped (1)" in reason for reason in result.reasons)


def test_what_does_not_go_together():
    with pytest.raises(SettingsError, match="groups cannot be combined with sample weights"):
        DrBO(design=Design(groups="patient")).fit(panel(), sample_weight=np.full(240, 2.0))
    with pytest.raises(DataError, match="score 'splines' cannot be combined with groups"):
        DrBO(score="splines", design=Design(groups="patient")).fit(panel())
    with pytest.raises(SettingsError, match="no column 'person'"):
        DrBO(design=Design(groups="person")).fit(panel())


def test_the_noise_check_uses_as_many_rows_as_there_are_degrees_of_freedom():
    frame = panel().assign(flag=np.arange(240) % 2)
    sample = Sample.of(Preparation(design=Design(groups="patient")).prepare(frame).table, seed=0)
    assert len(sample.values) == 220
    assert sample.testable.tolist() == [True, True, True, True, False]


class TestCommands:
    @pytest.fixture
    def table(self, tmp_path):
        path = tmp_path / "visits.csv"
        panel().to_csv(path, index=False)
        return path

    def _run(self, *words):
        found = CliRunner().invoke(main, [str(word) for word in words])
        assert found.exit_code == 0, found.output
        return found

    def test_fit_resume_judge_and_score(self, table, tmp_path):
        run = tmp_path / "run"
        self._run("fit", table, "--groups", "patient", "-o", run, "--bootstrap", 3, "-q")
        first = Result.load(run)
        assert first.call == f"drbo fit {table} --groups patient --bootstrap 3".replace("drbo", first.call.split()[0])
        assert first.confidence.kind == "cluster"
        self._run("resume", run, "--bootstrap", 4, "-q")
        assert Result.load(run).confidence.n == 4
        assert (Result.load(run).confidence.kind, Result.load(run).score) == ("cluster", first.score)
        judged = json.loads(self._run("judge", table, run, "--random", 19, "--no-path", "--json").stdout)
        assert judged["n_rows"] == 110
        scored = json.loads(self._run("score", table, run, "--groups", "patient", "--json").stdout)
        assert scored["score"] == pytest.approx(first.pruned_score)

    def test_check_and_init(self, table, tmp_path):
        found = self._run("check", table, "--groups", "patient")
        assert "20 groups: group means were removed" in found.output
        self._run("init", tmp_path / "run.toml")
        assert "# groups = ..." in (tmp_path / "run.toml").read_text()

    def test_clusters_are_not_needed(self, table):
        words = ["fit", str(table), "--groups", "patient", "--bootstrap", "cluster=patient:2"]
        found = CliRunner().invoke(main, words)
        assert found.exit_code == 2
        assert "both name whole groups" in found.output
