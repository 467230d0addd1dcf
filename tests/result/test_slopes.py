"""Slopes against statsmodels."""

import pandas as pd
import pytest
import statsmodels.formula.api as smf

from drbo.data.checks.check import check_table
from drbo.data.statistics.statistics import Statistics
from drbo.errors import DataError
from drbo.result.slopes import Slopes


@pytest.fixture
def frame(rng):
    sex = rng.choice(["f", "m"], size=120)
    arm = rng.choice(["low", "mid", "top"], size=120)
    dose = rng.normal(size=120) + (sex == "m")
    outcome = 2 * dose + (arm == "top") - (sex == "m") + rng.normal(size=120)
    return pd.DataFrame({"sex": sex, "arm": arm, "dose": dose, "outcome": outcome})


def test_slopes_and_errors_are_those_of_statsmodels(frame):
    table = check_table(frame)[0]
    slopes = Slopes(table)
    fitted = smf.ols("outcome ~ dose + C(sex) + C(arm)", frame).fit()
    value, error = slopes.of(2, 3, [0, 1])
    assert value[:, 0] == pytest.approx([fitted.params["dose"]])
    assert error[:, 0] == pytest.approx([fitted.bse["dose"]])
    assert slopes.contrasts(1) == ("mid instead of low", "top instead of low")
    value, error = slopes.of(1, 3, [0, 2])
    assert value[:, 0] == pytest.approx(fitted.params[["C(arm)[T.mid]", "C(arm)[T.top]"]].to_numpy())
    assert error[:, 0] == pytest.approx(fitted.bse[["C(arm)[T.mid]", "C(arm)[T.top]"]].to_numpy())


def test_outcomes_of_a_category_are_the_shares_of_its_levels(frame):
    slopes = Slopes(check_table(frame)[0])
    fitted = smf.ols("I((arm == 'top').astype(float)) ~ dose", frame).fit()
    value, error = slopes.of(2, 1, [])
    assert slopes.outcomes(1) == ("mid", "top")
    assert value.shape == (1, 2)
    assert (value[0, 1], error[0, 1]) == pytest.approx((fitted.params["dose"], fitted.bse["dose"]))


def test_numbers_have_no_contrast_and_too_few_rows_are_refused(rng):
    slopes = Slopes(Statistics.from_array(rng.normal(size=(4, 4))))
    assert slopes.contrasts(0) == ("",)
    with pytest.raises(DataError, match="4 rows are too few to adjust for 2 columns"):
        slopes.of(0, 3, [1, 2])
