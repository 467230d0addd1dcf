import numpy as np
import pytest

from benchmarks.studies.missing import POLICIES, edges_by, holed


@pytest.mark.parametrize("mechanism", ["mcar", "mar"])
def test_holes_have_the_wanted_share(mechanism):
    values = np.random.default_rng(0).normal(size=(2000, 10))
    gaps = holed(values, mechanism, 0.15, np.random.default_rng(1))
    assert np.isnan(gaps).mean() == pytest.approx(0.15, abs=0.03)
    assert (gaps[~np.isnan(gaps)] == values[~np.isnan(gaps)]).all()


def test_missing_at_random_depends_on_what_is_seen_alone():
    values = np.random.default_rng(0).normal(size=(4000, 6))
    gaps = holed(values, "mar", 0.15, np.random.default_rng(1))
    lost = np.isnan(gaps)
    victims = np.flatnonzero(lost.any(axis=0))
    causes = np.flatnonzero(~lost.any(axis=0))
    assert len(victims) == len(causes) == 3
    for victim in victims:
        assert max(np.corrcoef(lost[:, victim], values[:, cause])[0, 1] for cause in causes) > 0.2
        assert abs(np.corrcoef(lost[:, victim], values[:, victim])[0, 1]) < 0.06


def test_every_policy_gives_a_graph():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 3))
    gaps = holed(values, "mcar", 0.1, rng)
    assert all(edges_by(policy, values, gaps, seed=0).shape == (3, 3) for policy in POLICIES)
