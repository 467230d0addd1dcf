"""The comparison of arms in a report."""

import numpy as np
import pandas as pd

from drbo import Design, DrBO, Knowledge, Settings
from drbo.result.report.arms import arm_table


def test_the_report_compares_arms(rng, tmp_path):
    arm = np.repeat(["drug", "placebo"], 60)
    age = rng.normal(size=120)
    frame = pd.DataFrame({"arm": arm, "age": age, "pain": 2 * age - (arm == "drug") + rng.normal(size=120)})
    options = {"settings": Settings(claims=False), "random_state": 0}
    result = DrBO(**options, design=Design(randomised=["arm"]), knowledge=Knowledge(roots=["age"])).fit(frame).result_
    found = arm_table(result)
    assert [row[0] for row in found.rows] == ["pain"]
    assert "with placebo" in found.rows[0][2]
    assert "alike in age" in found.notes[1]
    assert found.rows[0][3] in result.report(tmp_path / "report.html").read_text()
    assert arm_table(DrBO(**options).fit(frame).result_) is None
