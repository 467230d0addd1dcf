"""Randomised arms: what every column shows about them, whatever graph is found."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from drbo import Design, DrBO, Knowledge, Result, Settings
from drbo.claims.checks.arms import RandomisedArms
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import KnowledgeError, SettingsError
from tests.claims.contexts import context_of


def trial(rng, n=300):
    """Return a trial with a drug that lowers the share of ill people a little, and pain by half a unit."""
    arm = rng.permutation(np.repeat(["drug", "placebo"], n // 2))
    age = rng.normal(50, 10, size=n)
    ill = np.where(rng.random(n) < np.where(arm == "drug", 0.12, 0.18), "yes", "no")
    pain = 0.05 * age - 0.5 * (arm == "drug") + rng.normal(size=n)
    return pd.DataFrame({"arm": arm, "age": age, "ill": ill, "pain": pain, "mood": rng.normal(size=n)})


def fitted(frame, **options):
    settings = {"random_state": 0, "design": Design(randomised=["arm"]), "settings": Settings(claims=False)}
    return DrBO(**settings | options).fit(frame).result_


def one_of(result, column):
    return next(one for one in result.claims.arms if one.effect == column)


def test_differences_are_those_of_the_arms(rng):
    frame = trial(rng)
    result = fitted(frame)
    drug, placebo = (frame[frame["arm"] == arm] for arm in ("drug", "placebo"))
    ill = one_of(result, "ill")
    assert (ill.level, ill.arm.label, ill.reference.label) == ("yes", "drug", "placebo")
    counts = [((part["ill"] == "yes").sum(), len(part)) for part in (drug, placebo)]
    assert ill.difference == pytest.approx(counts[0][0] / counts[0][1] - counts[1][0] / counts[1][1])
    wanted = confint_proportions_2indep(*counts[0], *counts[1], method="newcomb")
    assert (ill.low, ill.high) == pytest.approx(wanted)
    pain = one_of(result, "pain")
    wanted = stats.ttest_ind(drug["pain"], placebo["pain"], equal_var=False).confidence_interval()
    assert (pain.low, pain.high) == pytest.approx((wanted.low, wanted.high))


def test_an_effect_is_told_although_no_edge_is_found(rng):
    result = fitted(trial(rng, 80))
    assert not result.dag[0].any()
    assert {one.effect for one in result.claims.arms} == {"age", "ill", "pain", "mood"}
    assert "difference" in result.summary()


def test_prognostic_columns_are_those_that_cannot_follow_from_the_arm(rng):
    frame = trial(rng)
    assert all(one.adjusted is None for one in fitted(frame).claims.arms)  # age might follow from the arm
    pain = one_of(fitted(frame, knowledge=Knowledge(roots=["age"])), "pain")
    assert pain.adjusted_for == ("age",)
    design = sm.add_constant(np.column_stack([frame["arm"] == "drug", frame["age"]]).astype(float))
    wanted = sm.OLS(frame["pain"], design).fit(cov_type="HC3", use_t=True)
    assert pain.adjusted == pytest.approx(wanted.params.iloc[1])
    assert (pain.adjusted_low, pain.adjusted_high) == pytest.approx(tuple(wanted.conf_int().iloc[1]))


def test_a_randomised_column_is_a_root_and_grounds_its_arrows(rng):
    frame = trial(rng, 400)
    frame["pain"] -= 2 * (frame["arm"] == "drug")
    result = fitted(frame)
    edges = result.edges().set_index(["source", "target"])
    assert edges.loc[("arm", "pain"), ["direction", "ground"]].tolist() == ["supported", "randomised"]
    with pytest.raises(KnowledgeError, match="'arm' is a root"):
        fitted(frame, knowledge=Knowledge(required=["age -> arm"]))


def test_more_arms_are_compared_with_the_control_and_a_dose_has_a_slope(rng):
    frame = trial(rng)
    frame["arm"] = rng.permutation(np.repeat(["high", "control", "low"], 100))
    found = [(one.arm.label, one.reference.label) for one in fitted(frame).claims.arms if one.effect == "pain"]
    assert sorted(found) == [("high", "control"), ("low", "control")]
    frame["arm"] = rng.permutation(np.linspace(0, 1, 300))
    pain = one_of(fitted(frame), "pain")
    fit = sm.OLS(frame["pain"], sm.add_constant(frame["arm"])).fit(cov_type="HC3", use_t=True)
    assert pain.arm is None
    assert (pain.low, pain.high) == pytest.approx(tuple(fit.conf_int().loc["arm"]))


def test_codes_of_arms_are_arms(rng):
    frame = trial(rng)
    frame["arm"] = (frame["arm"] == "drug").astype(int)
    pain = one_of(fitted(frame), "pain")
    assert (pain.arm.label, pain.reference.label) == ("1", "0")


def test_an_arm_of_two_rows_is_not_compared(rng):
    frame = trial(rng)
    frame.loc[:1, "arm"] = "third"
    pain, rest = one_of(fitted(frame), "pain"), frame.loc[2:]
    assert pain.arm.label == "drug"
    assert pain.difference == pytest.approx(
        rest.loc[rest["arm"] == "drug", "pain"].mean() - rest.loc[rest["arm"] == "placebo", "pain"].mean()
    )
    frame["arm"] = np.where(np.arange(300) < 2, "drug", "placebo")
    assert fitted(frame).claims.arms == ()


def test_rows_that_are_alike_count_in_full(rng):
    table = Statistics.from_array(np.column_stack([np.repeat([0, 1], 40), rng.normal(size=80)]), names=["arm", "pain"])
    context = context_of(None, table.counting_as(0.5), np.zeros((2, 2), dtype=bool), randomised=("arm",))
    (one,) = RandomisedArms().run(context).record
    wanted = stats.ttest_ind(table.values[40:, 1], table.values[:40, 1], equal_var=False).confidence_interval()
    assert (one.low, one.high) == pytest.approx((wanted.low, wanted.high))


def test_weights_count_as_rows(rng):
    frame = trial(rng, 100).assign(arm=lambda rows: rows["arm"] == "drug", ill=lambda rows: rows["ill"] == "yes") * 1.0
    weights = rng.integers(1, 3, size=100)
    weighted = fitted(frame.assign(w=weights), design=Design(randomised=["arm"], weights="w"))
    repeated = fitted(frame.loc[np.repeat(np.arange(100), weights)])
    for one, other in zip(weighted.claims.arms, repeated.claims.arms, strict=True):
        assert (one.difference, one.low, one.high) == pytest.approx((other.difference, other.low, other.high))


def test_the_record_is_saved_and_shown(rng, tmp_path):
    result = fitted(trial(rng))
    again = Result.load(result.save(tmp_path))
    assert again.claims.arms == result.claims.arms
    assert again.arms.equals(result.arms)
    page = again.report(tmp_path / "report.html").read_text()
    assert "Randomised arms" in page
    assert " with placebo" in page


def test_moments_of_a_trial_leave_the_comparison_out(rng):
    frame = trial(rng)[["age", "pain", "mood"]]
    result = fitted(Sums.of_rows(list(frame), frame.to_numpy()), design=Design(randomised=["age"]), score="bic-nv")
    assert result.claims.arms == ()
    assert any("the differences between randomised arms (not all rows are in memory)" in one for one in result.reasons)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"randomised": 3}, "must be a list of names"),
        ({"randomised": [""]}, "must be a list of names"),
        ({"randomised": "arm", "groups": "clinic"}, "cannot be combined with groups"),
        ({"randomised": ["arm"], "time": "day"}, "cannot be combined with time"),
        ({"randomised": ["arm"], "outcome": "arm"}, "the outcome 'arm' is randomised"),
        ({"outcome": 3}, "outcome must be the name of a column"),
        ({"outcome": "pain", "time": "day"}, "outcome cannot be combined with time"),
    ],
)
def test_what_does_not_go_together_is_refused(options, words):
    with pytest.raises(SettingsError, match=words):
        Design(**options)


def test_a_name_that_is_no_column_is_refused(rng):
    with pytest.raises(SettingsError, match=r"'arms' is not a column of the search .*did you mean 'arm'"):
        fitted(trial(rng), design=Design(randomised=["arms"]))
