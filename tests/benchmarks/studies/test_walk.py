"""The walk from a check to a report: what is printed is run, and trials are compared with plain differences."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.studies.walk import Trial, advised, compared, walked
from drbo.data.files.datasets import load
from tests.result.report.conftest import start


def messy(n=200):
    """Return a table with row names, identifiers, a marker, text with units, dates, a copy and missing cells."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 80, n)
    dose = 0.1 * age + rng.normal(size=n)
    frame = pd.DataFrame({"rownames": range(1, n + 1), "age": age, "dose": dose})
    frame["weight"] = [f"{value:.1f} kg" for value in 60 + 3 * dose + rng.normal(size=n)]
    frame["grade"] = np.array(["1_Good", "2_Fair", "3_Poor"])[np.clip((dose / 3).astype(int), 0, 2)]
    frame["again"], frame["day"] = 2 * frame["dose"], "2024-01-01"
    frame["note"] = np.where(rng.random(n) < 0.97, "", "seen")
    frame["answer"] = np.where(rng.random(n) < 0.1, "*", rng.integers(1, 6, n).astype(str))
    frame.loc[rng.random(n) < 0.05, "dose"] = np.nan
    return frame.drop(columns="again")


def shipped():
    known = load("sachs")
    return pd.DataFrame(known.X, columns=list(known.names))


@pytest.mark.parametrize("frame", [messy(), shipped()], ids=["messy", "sachs"])
def test_the_printed_command_leads_to_a_report(frame, tmp_path):
    row = walked(frame, tmp_path)
    assert (row["refused"], row["message"]) == ("no", "")
    assert row["command"].startswith("drbo fit table.csv")
    assert row["fit_cpu_seconds"] < 60


def test_a_check_without_a_command_is_refused(tmp_path):
    row = walked(pd.DataFrame({"a": [1.0] * 30, "b": [2.0] * 30}), tmp_path)
    assert row["refused"] == "yes"
    assert advised("Fewer than 2 columns can be used") == []


def test_the_report_of_a_trial_has_the_difference_on_its_first_page(tmp_path):
    rng = np.random.default_rng(1)
    arm = rng.permutation(np.repeat(["drug", "placebo"], 150))
    ill = np.where(rng.random(300) < np.where(arm == "drug", 0.2, 0.4), "yes", "no")
    frame = pd.DataFrame({"arm": arm, "ill": ill, "age": rng.normal(50, 9, 300)})
    trial = Trial("arm", "ill", "yes")
    plain = (ill[arm == "drug"] == "yes").mean() - (ill[arm == "placebo"] == "yes").mean()
    assert trial.plain(frame, "drug", "placebo") == pytest.approx(plain)
    row = walked(frame, tmp_path, ["--randomised", "arm", "--outcome", "ill"])
    assert row["refused"] == "no"
    if (browser := start()) is None:
        pytest.skip("no Chromium is installed")
    browser.close()
    found = compared(tmp_path / "run", frame, trial)
    assert found["difference"] == pytest.approx(plain, abs=1e-4)
    assert (found["covers"], found["first_page"]) == ("yes", "yes")
