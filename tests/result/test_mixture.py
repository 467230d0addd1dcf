"""Values that are 0 unless there is an effect."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from drbo import Knowledge
from drbo.constraints import Constraints
from drbo.data.checks.check import check_table
from drbo.result.mixture import Doubt, interval


@pytest.mark.parametrize("share", [0.0, 0.01, 0.04, 0.2, 0.7, 0.97, 1.0])
@pytest.mark.parametrize(("value", "error"), [(1.0, 0.3), (-1.0, 0.3), (0.1, 0.5), (0.0, 0.1), (2.0, 0.0)])
def test_the_interval_holds_95_percent_of_the_mixture(share, value, error, rng):
    low, high = interval(value, error, share)
    effect = rng.normal(value, error, size=200_000)
    draws = np.where(rng.random(200_000) < share, effect, 0.0)
    assert ((draws >= low - 1e-9) & (draws <= high + 1e-9)).mean() > 0.948
    assert (draws < low - 1e-9).mean() < 0.027
    assert (draws > high + 1e-9).mean() < 0.027


def test_the_evidence_of_two_categories_is_the_bic_of_their_table(rng):
    a = rng.choice(["u", "v"], size=150)
    b = np.where(rng.random(150) < 0.25, a, rng.choice(["u", "v", "w"], size=150))
    table, _ = check_table(pd.DataFrame({"a": a, "b": b}))
    counts = pd.crosstab(a, b).to_numpy()
    gain = stats.chi2_contingency(counts, lambda_="log-likelihood", correction=False).statistic
    wanted = 1 / (1 + np.exp((2 * np.log(150) - gain) / 2))
    doubt = Doubt(Constraints.of(Knowledge(), ["a", "b"]))
    assert doubt.share_of_categories(0, 1, table) == pytest.approx(wanted)
    known = Doubt(doubt.limits, np.array([[0, 0.3], [0.3, 0]]))
    assert known.share_of_categories(0, 1, table) == 0.3
