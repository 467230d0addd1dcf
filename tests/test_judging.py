"""A result is judged on rows that it has not seen: its own are split, whole groups at a time."""

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, Design, DrBO
from drbo.errors import SettingsError
from drbo.judging import Judging, halves
from drbo.result.judge import judge


@pytest.fixture(scope="module")
def table():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(240, 4)).cumsum(axis=1), columns=list("abcd"))


@pytest.fixture(scope="module")
def result(table):
    return DrBO(score="bic-nv", random_state=0).fit(table).result_


def _judged(result, rows, **given):
    """Return what was found and told, but for the seconds on a busy machine."""
    told = []
    tell = lambda line: "so far" in line or told.append(line)  # noqa: E731
    return Judging(tell=tell, options={"n_random": 19, "path": False}, **given).of_result(result, rows, "x"), told


def test_new_rows_are_judged_as_they_are(table, result):
    found, told = _judged(result, table.iloc[::2])
    again = judge(result.dag, table.iloc[::2], names=result.names, score="bic-nv",
                  score_options=result.scoring.plain_options, n_random=19, path=False)  # fmt: skip
    assert (found, told) == (again, [])


def test_own_rows_are_split_unless_they_are_to_be_used(table, result):
    found, told = _judged(result, table, seed=3)
    train, held = halves(table, "", np.random.default_rng(3))
    learned = DrBO.like(result, exact=False).fit(table.iloc[train]).result_
    again = judge(learned.dag, table.iloc[held], names=result.names, score="bic-nv", seed=3,
                  score_options=learned.scoring.plain_options, n_random=19, path=False)  # fmt: skip
    assert found == again
    assert "learned from 120 rows" in told[0]
    assert f"{len(learned.directions)} edges, the original graph {len(result.directions)}" in told[1]
    assert _judged(result, table, as_is=True)[0].n_rows == 240


def test_halves_share_no_group(table):
    frame = table.assign(patient=np.arange(240) % 9)
    train, held = halves(frame, "patient", np.random.default_rng(0))
    assert sorted([*train, *held]) == list(range(240))
    assert not set(train % 9) & set(held % 9)
    few = table.assign(patient=np.arange(240) % 3)
    assert len(halves(few, "patient", np.random.default_rng(0))[0]) == 120  # too few groups to split


def test_the_groups_of_a_result_are_split_and_compared_within():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)).cumsum(axis=1), columns=list("abc"))
    frame["clinic"] = np.repeat([f"c{k}" for k in range(10)], 20)
    result = DrBO(score="bic-nv", design=Design(groups="clinic"), random_state=0).fit(frame).result_
    assert _judged(result, frame)[0].n_rows == 100 - 5  # one row of each group takes the place of its mean


def test_what_cannot_be_judged_is_refused(table, result):
    with pytest.raises(SettingsError, match="--missing em works only for a fit"):
        _judged(result, table, policy=DataPolicy(missing="em"))
    hidden = DrBO(hidden=True, random_state=0).fit(table).result_
    with pytest.raises(SettingsError, match="--score bge cannot judge a graph with hidden causes"):
        _judged(hidden, table.iloc[::2], score="bge")


def test_rows_with_gaps_are_dropped_and_another_score_is_chosen(table, result):
    gaps = table.iloc[::2].copy()
    gaps.iloc[0, 0] = np.nan
    found, told = _judged(result, gaps, policy=DataPolicy(missing="drop"), score="bge")
    assert (found.n_rows, found.score_name) == (119, "bge")
    assert "note: " in told[0]


def test_a_graph_of_a_file_is_read_by_the_names_of_the_columns(table):
    dag = np.triu(np.ones((3, 3), dtype=bool), 1)
    asked = []

    def read(names):
        asked.append(names)
        return dag, ("a", "b", "c")

    told = []
    frame = table.assign(d=np.arange(240) // 20)
    how = Judging(score="bic-nv", groups="d", tell=told.append, options={"n_random": 19, "path": False})
    assert how.of_graph(read, frame).n_edges == 3
    assert asked == [["a", "b", "c"]]
    assert "does not record which rows" in told[0]
