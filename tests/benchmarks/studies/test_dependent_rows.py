import numpy as np
import pytest

from benchmarks.studies.dependent_rows import WITHIN, autoregressive, panel, panels, series


@pytest.mark.parametrize("kind", ["own", "shared"])
def test_groups_have_the_wanted_share_of_the_variance(kind):
    x = np.concatenate([panel(kind, 50, 0, seed)[0] for seed in range(20)])
    means = x.reshape(-1, 50, 10).mean(axis=1)
    assert means.var() == pytest.approx(WITHIN + (1 - WITHIN) / 50, rel=0.2)
    assert x.var() == pytest.approx(1, rel=0.1)
    links = np.abs(np.corrcoef(means[:20].T)[np.triu_indices(10, 1)])  # of the first table: signs differ between tables
    assert (links.mean() > 0.8) == (kind == "shared")


def test_series_have_the_wanted_autocorrelation():
    x, truth = autoregressive("0.8", 0, seed=0)
    lagged = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in x.T]
    assert np.mean(lagged) == pytest.approx(0.8, abs=0.05)
    assert not truth.any()
    assert autoregressive("0.8", 15, seed=0)[1].sum() == 15


def test_rows_of_both_parts():
    found = list(panels(kinds=("own",), sizes=(10,), edges=(0,), seeds=range(1)))
    assert [row["method"] for row in found] == ["plain", "design effect", "groups"]
    assert [row["worth"] for row in found] == pytest.approx([200, 54.1, 180])
    plain, default = series(kinds=("0.8",), edges=(0,), seeds=range(1))
    assert plain["worth"] == 300
    assert default["worth"] < 100
    assert default["supported"] == 0
