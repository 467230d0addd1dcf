"""The neighbourhood of a column, against Markov blankets of known graphs and regressions by least squares."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, Design, DrBO, Knowledge
from drbo.data.checks.neighbourhood import around
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError, SettingsError
from drbo.scores.linear import BicNV


def wide(rng, d=300, n=500):
    """Return a table in which 0 -> 2 <- 1, 2 -> 3 <- 4 and 5 -> 4, and all other columns are unrelated."""
    x = rng.normal(size=(n, d))
    x[:, 2] += x[:, 0] - x[:, 1]
    x[:, 4] += x[:, 5]
    x[:, 3] += x[:, 2] + x[:, 4]
    return x


def blanket(result, name):
    goal, dag = result.names.index(name), result.dag
    children = np.flatnonzero(dag[goal])
    near = {*children, *np.flatnonzero(dag[:, goal]), *np.flatnonzero(dag[:, children].any(axis=1))} - {goal}
    return {result.names[k] for k in near}


def test_the_blanket_and_what_surrounds_it_are_kept_and_little_else(rng):
    found, told = around(Statistics.from_array(wide(rng)), "x2")
    assert {f"x{k}" for k in range(6)} <= set(found.names)
    assert found.n_columns < 12
    assert found.chosen_from == 300
    assert f"{found.n_columns} of 300 columns" in told


def test_the_fit_finds_the_blanket_and_says_what_it_left_out(rng):
    x = wide(rng)
    model = DrBO(design=Design(outcome="x2", neighbourhood=True), random_state=0).fit(x)
    assert blanket(model.result_, "x2") == {"x0", "x1", "x3", "x4"}
    assert any("only the neighbourhood of 'x2' was searched" in reason for reason in model.result_.reasons)
    assert model.score_on(x) == pytest.approx(model.result_.pruned_score)  # the whole table is taken again


def test_a_column_alone_has_one_column_beside_it(rng):
    x = np.linalg.qr(rng.normal(size=(400, 6)))[0]  # hardly any correlation
    result = DrBO(design=Design(outcome="x3", neighbourhood=True), random_state=0).fit(x).result_
    assert len(result.names) == 2
    assert not result.dag.any()


def test_what_is_left_is_what_least_squares_leaves(rng):
    """The sentence bounds the gain of every column that was left out, over the columns that were kept."""
    x = wide(rng)
    found, told = around(Statistics.from_array(x), "x2")
    most, chance = map(float, re.findall(r"(?:more than|chance reaches) ([0-9.]+)", told))
    assert most <= chance == pytest.approx(np.log(300), abs=0.01)
    kept = [int(name[1:]) for name in found.names if name != "x2"]
    left = np.setdiff1d(np.arange(300), [*kept, 2])
    centred = x - x.mean(axis=0)
    rest = centred - centred[:, kept] @ np.linalg.lstsq(centred[:, kept], centred, rcond=None)[0]
    shares = (rest[:, left].T @ rest[:, 2]) ** 2 / (rest[:, left] ** 2).sum(axis=0) / (rest[:, 2] @ rest[:, 2])
    assert -len(x) / 2 * np.log1p(-shares.max()) < chance + 2  # fewer terms entered, of normal scores


def test_a_parent_that_other_parents_hide_is_found(rng):
    """A column that explains hardly anything alone, and much beside the others."""
    x = rng.normal(size=(1000, 400))
    x[:, 10] = 0.12 * x[:, 0] + x[:, 1:5].sum(axis=1) + 0.1 * x[:, 10]
    assert abs(np.corrcoef(x[:, 0], x[:, 10])[0, 1]) < 0.15
    assert set(around(Statistics.from_array(x), "x0")[0].names) >= {"x0", "x1", "x2", "x3", "x4", "x10"}


def test_categories_and_weights_count(rng):
    group = rng.choice(["a", "b", "c"], size=400)
    frame = pd.DataFrame(rng.normal(size=(400, 60))).add_prefix("x")
    frame["group"], frame["y"] = group, rng.normal(size=400) + 2.0 * (group == "b")
    result = DrBO(design=Design(outcome="y", neighbourhood=True), random_state=0).fit(frame).result_
    assert "group" in result.names
    assert len(result.names) < 10
    table = Statistics.from_array(wide(rng, 40, 200))
    twice = Statistics.from_array(np.repeat(table.values, 2, axis=0))
    weighted = replace(table, weights=np.full(200, 2.0))
    assert around(weighted, "x2")[0].names == around(twice, "x2")[0].names


def test_columns_that_the_knowledge_names_are_kept(rng):
    design, known = Design(outcome="x2", neighbourhood=True), Knowledge(roots=["x77"], forbidden=[("x2", "x0")])
    assert "x77" in DrBO(design=design, knowledge=known, random_state=0).fit(wide(rng)).result_.names


def test_a_penalty_counts_the_columns_that_were_chosen_from(rng):
    table = Statistics.from_array(rng.normal(size=(200, 6)))
    chosen, _ = BicNV.default_penalty(replace(table, chosen_from=100_000), tested=False)
    assert chosen == pytest.approx(1 + 2 * np.log(100_000) / np.log(200), abs=0.01)
    assert BicNV.default_penalty(table, tested=False)[0] < chosen


def test_a_search_of_a_neighbourhood_is_resumed(rng, tmp_path):
    x, design = wide(rng, 60), Design(outcome="x2", neighbourhood=True)
    first = DrBO(design=design, random_state=0).fit(x, checkpoint=tmp_path / "run").result_
    again = DrBO.resume(tmp_path / "run", x).result_
    assert again.names == first.names
    assert again.scoring == first.scoring
    assert again.pruned_score == first.pruned_score


@pytest.mark.parametrize("design", [{}, {"outcome": "x2", "experiment": "run"}])
def test_a_neighbourhood_without_an_outcome_is_refused(design):
    with pytest.raises(SettingsError, match="needs an outcome, and no experiment"):
        Design(neighbourhood=True, **design)


def test_unknown_outcomes_and_missing_cells_are_refused(rng):
    x = wide(rng, 20)
    with pytest.raises(DataError, match="no variable 'y'"):
        DrBO(design=Design(outcome="y", neighbourhood=True)).fit(x)
    x[3, 4] = np.nan
    with pytest.raises(SettingsError, match="complete rows"):
        DrBO(design=Design(outcome="x2", neighbourhood=True), policy=DataPolicy(missing="em")).fit(x)
    sums = Sums.of_rows([f"x{k}" for k in range(20)], wide(rng, 20))
    with pytest.raises(SettingsError, match="complete rows"):
        DrBO(design=Design(outcome="x2", neighbourhood=True)).fit(sums)
