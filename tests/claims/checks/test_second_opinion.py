"""The second opinion by ranks, on the route of a fit."""

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Knowledge
from drbo.claims.checks.second_opinion import NOT_LINKED, REVERSED, SecondOpinion
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicNV
from tests.claims.contexts import context_of

COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)


def _status(result):
    return next(one for one in result.claims.made if one.name == "ranks")


def _against(result):
    return {(one.cause, one.effect): one.sentence for one in result.claims.denials if one.claim == "ranks"}


def test_a_direction_that_rests_on_the_scale_is_denied():
    """Two causes that look uncorrelated because of a few outliers, but are not by their ranks."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=600)
    b = 0.5 * a + rng.normal(size=600)
    c = a + b + rng.normal(size=600)
    a[:4], b[:4] = 30.0 * np.array([1, -1, 1, -1]), 30.0 * np.array([-1, 1, -1, 1]) * 0.55
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    result = DrBO(score="bic-nv", random_state=0).fit(frame).result_
    assert _status(result).status == "ran"
    assert all(one.ground != "class" for one in result.directions)


def test_a_clear_collider_is_confirmed_for_numbers_and_mixed_tables(rng):
    a, b, c = rng.normal(size=(3, 800))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "d": a + b + c + rng.normal(size=800)})
    for table in (frame, frame.assign(b=np.where(b > 0, "yes", "no"))):
        result = DrBO(random_state=0, score="mixed" if table is not frame else "bic-nv").fit(table).result_
        assert _against(result) == {}
        assert {one.ground for one in result.directions} == {"class"}


def test_it_does_not_apply_where_columns_have_no_scale(rng):
    values = rng.integers(2, size=(200, 3)).astype(float)
    table = Statistics.from_array(values, list("abc"))
    assert not SecondOpinion().relevant(context_of(BicNV(table), table, COLLIDER))
    with_numbers = Statistics.from_array(rng.normal(size=(200, 3)), list("abc"))
    assert SecondOpinion().relevant(context_of(BicNV(with_numbers), with_numbers, COLLIDER))


def test_a_score_that_cannot_be_searched_again_leaves_it_out(rng):
    table = Statistics.from_array(rng.normal(size=(200, 3)), list("abc"))
    assert "too expensive" in SecondOpinion().too_much(context_of(BicNV(table), table, COLLIDER))


def test_knowledge_holds_for_the_ranks_too(rng):
    a, b = rng.normal(size=(2, 500))
    frame = pd.DataFrame({"a": np.exp(a), "b": b, "c": a + b + rng.normal(size=500)})
    result = DrBO(score="bic-nv", knowledge=Knowledge(roots=["c"]), random_state=0).fit(frame).result_
    assert REVERSED not in _against(result).values()
    assert {NOT_LINKED, REVERSED} >= set(_against(result).values())


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_categories_keep_their_codes(kind):
    table = Statistics(
        np.array([[0.0], [1.0], [5.0]]), ("a",), (kind,), (None if kind == "numeric" else tuple("xyzuvw"),)
    )
    assert (table.ranks.values == table.values).all() == (kind == "categorical")
