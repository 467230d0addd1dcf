"""The audit as a claim: rows that depend on each other leave no direction supported."""

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
    assert {one.sentence for one in result.directions if one.direction == "assumed"} <= {SERIAL}


def test_the_audit_is_that_of_the_rows_as_they_were_given(rng):
    frame = _walks(rng)
    model = DrBO(score="bic-nv", design=Design(groups=False), random_state=0).fit(frame)
    found = model.result_.table.audit
    assert not found.is_serial
    assert [one.name for one in found.columns] == list(frame)
    assert found.columns == audit(model._preparation.prepare(frame).table, independent=True).columns
