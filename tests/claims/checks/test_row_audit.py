"""The audit as a claim: the class supports no direction where rows depend on each other."""

import numpy as np
import pandas as pd
import pytest

from drbo import Design, DrBO
from drbo.claims.checks.row_audit import SERIAL, RowAudit
from drbo.data.checks.audit import audit


def _walks(rng, n=400):
    steps = rng.normal(size=(n, 3))
    a, b = np.cumsum(steps[:, 0]), np.cumsum(steps[:, 1])
    return pd.DataFrame({"a": a, "b": b, "c": a + b + steps[:, 2]})


def test_rows_in_a_row_leave_every_arrow_assumed(rng):
    with pytest.warns(UserWarning, match="neighbouring rows are correlated"):
        result = DrBO(score="bic-nv", random_state=0).fit(_walks(rng)).result_
    assert result.table.audit.is_serial
    denied = [one for one in result.claims.denials if one.claim == RowAudit.name]
    assert len(denied) == result.dag.sum()
    assert {one.direction for one in result.directions} <= {"assumed", "open"}
    assumed = [one for one in result.directions if one.direction == "assumed"]
    assert all(one.sentence.startswith(SERIAL) for one in assumed)


def _slow_cause(rng, n=1000):
    x, noise = rng.uniform(-1, 1, size=(2, n))
    for t in range(1, n):
        x[t] += 0.8 * x[t - 1]
    return pd.DataFrame({"a": x, "b": np.tanh(x) + 0.5 * noise, "c": np.cumsum(rng.normal(size=n))})


def test_the_noise_check_sees_the_order_of_rows(rng):
    frame = _slow_cause(rng)
    with pytest.warns(UserWarning, match="neighbouring rows are correlated"):
        result = DrBO(random_state=0).fit(frame).result_
    arrow = next(one for one in result.directions if {one.cause, one.effect} == {"a", "b"})
    assert (arrow.cause, arrow.direction, arrow.ground) == ("a", "supported", "noise-check")
    assert {one.grounds for one in result.claims.denials if one.claim == RowAudit.name} == {("class",)}


def test_where_rows_count_in_full_no_ground_is_left(rng):
    frame = _slow_cause(rng).assign(group=rng.choice(["x", "y", "z"], 1000))
    with pytest.warns(UserWarning, match="neighbouring rows are correlated"):
        result = DrBO(random_state=0).fit(frame).result_
    assert result.dag.any()
    assert {one.grounds for one in result.claims.denials if one.claim == RowAudit.name} == {RowAudit.denies}
    assert "supported" not in {one.direction for one in result.directions}


def test_the_audit_is_that_of_the_rows_as_they_were_given(rng):
    frame = _walks(rng)
    model = DrBO(score="bic-nv", design=Design(groups=False), random_state=0).fit(frame)
    found = model.result_.table.audit
    assert not found.is_serial
    assert [one.name for one in found.columns] == list(frame)
    assert found.columns == audit(model._preparation.prepare(frame).table, independent=True).columns
