"""The sizes of effects on the outcome that a fit was told about."""

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO, Knowledge, Result, Settings
from drbo.errors import SettingsError
from drbo.result import outcome


def fitted(frame, name="y", **options):
    settings = {"score": "bic-nv", "random_state": 0, "settings": Settings(claims=False)}
    return DrBO(**settings | options, design=Design(outcome=name)).fit(frame).result_


@pytest.fixture
def frame(rng):
    x = rng.normal(size=(400, 4))
    x[:, 1] += x[:, 0]
    x[:, 3] += 2 * x[:, 1]
    return pd.DataFrame(x, columns=["a", "b", "c", "y"])


def test_sizes_are_those_of_effects(frame, tmp_path):
    result = fitted(frame)
    found = result.effects(frame, target="y").effects
    told = [(one.cause, one.total, one.low, one.high, one.probability) for one in result.outcome.sizes]
    assert told == [(one.source, one.total, one.low, one.high, one.probability) for one in found]
    assert {one.cause for one in result.outcome.sizes} == {"a", "b", "c"}
    assert Result.load(result.save(tmp_path)).outcome == result.outcome


def test_without_an_outcome_nothing_is_sized(frame):
    assert DrBO(score="bic-nv", random_state=0).fit(frame).result_.outcome is None
    with pytest.raises(SettingsError, match=r"the outcome 'yy' is not a column of the search"):
        fitted(frame, "yy")


def test_hidden_causes_leave_sizes_out_where_no_adjustment_tells_them(frame):
    result = fitted(frame, hidden=True)
    assert {one.cause for one in result.outcome.sizes} == {"a", "b", "c"}
    assert "Outcome y" in result.summary()


def test_wide_tables_size_what_leads_to_the_outcome(frame, monkeypatch):
    monkeypatch.setattr(outcome, "MOST_COLUMNS", 3)
    result = fitted(frame, knowledge=Knowledge(required=["a -> b", "b -> y"]))
    assert {one.cause for one in result.outcome.sizes} == {"a", "b"}


def test_arrows_of_hubs_are_taken_as_drawn_and_that_is_said(frame, monkeypatch):
    monkeypatch.setattr(outcome, "MOST_REVERSED", 0)
    result = fitted(frame)
    assumed = np.zeros((4, 4), dtype=bool)
    assumed[0, 1] = True
    assert not outcome.reversible(assumed).any()
    assert result.assumed.any() == ("taken as drawn" in result.outcome.left_out)
