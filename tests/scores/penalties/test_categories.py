"""The penalty against chance edges of categories: its gains are those of the scores, and only content matters."""

import numpy as np
import pandas as pd
import pytest

from drbo.data.checks.check import check_table
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.penalties import categories as chance
from drbo.scores.registry import build_score, score_class

KINDS = ("bdeu", "bic-discrete", "logistic", "mixed")


def _frame(score, rng, n, d):
    columns = {}
    for j in range(d):
        levels = 2 if score == "logistic" else 2 + j % 3
        codes = rng.choice(levels, size=n, p=np.arange(1, levels + 1) / np.arange(1, levels + 1).sum())
        numbers = score == "mixed" and j % 2
        columns[f"x{j}"] = rng.standard_t(3, size=n) if numbers else np.array(list("abcd"))[codes]
    return pd.DataFrame(columns)


def _table(score, rng, n, d):
    return check_table(_frame(score, rng, n, d))[0]


@pytest.mark.parametrize("score", KINDS)
def test_gains_are_those_of_the_score(score, rng, monkeypatch):
    """The gains of one shuffled table, here the columns as they are, beside the score's own of every pair."""
    table, d = _table(score, rng, 60, 6), 6
    own = build_score(score, table, {"penalty": 1.0})
    gained = []
    for i in range(d):
        for j in range(i + 1, d):
            families = Families.from_sets(d, [(j, (i,)), (j, ())])
            shares = own.share(own.local(families), own.family_price(families), None, families.nodes)
            gained.append(shares[0] - shares[1])

    class Unshuffled:
        def permuted(self, places, axis):
            return places

    monkeypatch.setattr(chance.np.random, "default_rng", lambda seed: Unshuffled())
    found = chance._chance_gains(score_class(score), _as_given(table, score == "mixed"), 1.0)[0]
    assert found[: len(gained)] == pytest.approx(np.array(gained), abs=1e-5)


def _as_given(table, mixed):
    """Return the columns of a table with their rows as they are."""
    parts, levels = [], []
    for names, column in zip(table.levels, table.values.T[:, :, None], strict=True):
        levels.append(2.0 if names is None else float(len(names)))
        part = (column - column.mean()) / column.std() if names is None else column == np.arange(len(names))
        if names is not None and mixed:
            part = np.linalg.qr(part[:, 1:] - part[:, 1:].mean(axis=0))[0] * np.sqrt(len(column))
        parts.append(part.astype(float))
    starts = np.cumsum([0, *(part.shape[1] for part in parts[:-1])])
    return chance._Columns(np.hstack(parts), starts, np.array(levels))


@pytest.mark.parametrize("score", KINDS)
def test_independent_columns_get_hardly_any_edge(score):
    n, d, found = 60, 24, []
    for seed in range(10):
        table = _table(score, np.random.default_rng([seed, 7]), n, d)
        gamma = chance.chance_gamma(score_class(score), table)
        own = build_score(score, table, {"penalty": "ebic", "gamma": gamma})
        pairs = [(j, parents) for j in range(d) for i in range(j) for parents in ((i,), ())]
        families = Families.from_sets(d, pairs)
        shares = own.share(own.local(families), own.family_price(families), None, families.nodes)
        found.append((shares[::2] > shares[1::2]).sum())
    assert np.mean(found) <= 0.5


@pytest.mark.parametrize("score", ["bdeu", "mixed"])
def test_names_of_levels_and_order_do_not_matter(score, rng):
    frame = _frame(score, rng, 50, 30)
    other = frame.iloc[rng.permutation(50), rng.permutation(30)].replace(dict(zip("abcd", "wxzy", strict=True)))
    first, second = (chance.chance_gamma(score_class(score), check_table(one)[0]) for one in (frame, other))
    assert first == second > 0.5


def test_a_row_of_weight_two_counts_twice(rng):
    values, times = rng.integers(2, size=(50, 30)), rng.integers(1, 3, size=50)
    kind, table = score_class("bdeu"), Statistics.from_array(values)
    weighted = Statistics(table.values, table.names, table.kinds, table.levels, times.astype(float))
    repeated = Statistics.from_array(np.repeat(values, times, axis=0))
    assert chance.chance_gamma(kind, weighted) == chance.chance_gamma(kind, repeated)


def test_many_rows_are_sampled_and_gamma_is_never_below_the_usual_one(rng):
    coins = Statistics.from_array(rng.integers(2, size=(5_000, 10)))
    assert [chance.chance_gamma(score_class(score), coins) for score in ("bdeu", "logistic")] == [0.5, 0.5]


def test_levels_that_hardly_occur_do_not_decide_the_penalty_of_mixed(rng):
    """Two single rows that coincide would need a penalty that no real edge passes."""
    frame = _frame("mixed", rng, 60, 12)
    rare = {f"r{k}": np.where(np.arange(60) == rng.integers(60), "once", "else") for k in range(6)}
    kind = score_class("mixed")
    found = [chance.chance_gamma(kind, check_table(one)[0]) for one in (frame, frame.assign(**rare))]
    assert found[1] == pytest.approx(found[0], abs=0.2)


def test_other_scores_and_tables_are_left_alone(rng):
    numbers = Statistics.from_array(rng.normal(size=(100, 4)))
    assert chance.chance_gamma(BicNV, numbers) is None
    assert chance.chance_gamma(score_class("bdeu"), numbers) is None  # too many levels: the score refuses them
    assert chance.chance_gamma(score_class("bdeu"), Statistics.from_array(rng.integers(2, size=(9, 3)))) is None
