"""The noise check: right where noise is additive, silent where both directions fit, and not fooled by bent scales."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from drbo import DrBO
from drbo.claims.checks import noise_check
from drbo.claims.checks.noise_check import (
    SHOWN_PROBABILITY,
    NoiseChecks,
    NoiseClaim,
    against_class,
    direction_probability,
    noise_checks,
)
from drbo.claims.claim import MAX_EDGES, Context
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError
from drbo.independence.rank_hsic import Independence
from drbo.independence.residual_tests import ResidualTests, TableTests
from drbo.independence.residuals import AdditiveRegressions, smooth_term

FORWARD = np.array([[False, True], [False, False]])


def _check(x, y, dag=FORWARD, seed=0):
    i, j = np.argwhere(dag)[0].tolist()
    return NoiseChecks(TableTests(Statistics.from_array(np.column_stack([x, y])), seed), dag).check(i, j)


def _verdicts(make, n, tables=20):
    found = []
    for seed in range(tables):
        rng = np.random.default_rng([n, seed])
        found.append(_check(*make(rng, n)).verdict)
    return {name: found.count(name) for name in ("forward", "reverse", "neither", "undecided")}


def _additive(rng, n):
    x = rng.normal(size=n)
    return x, np.tanh(2 * x) + x + 0.4 * rng.normal(size=n)


def _linear_gaussian(rng, n):
    x = rng.normal(size=n)
    return x, 0.8 * x + 0.6 * rng.normal(size=n)


def _linear_uniform(rng, n):
    x = rng.uniform(-1, 1, size=n)
    return x, x + 0.7 * rng.uniform(-1, 1, size=n)


def _cubed(rng, n):
    """Return x and (x + u)^3. Given its cube root x + u, x is linear with Gaussian noise: additive backwards."""
    x = rng.normal(size=n)
    return x, (x + 0.5 * rng.normal(size=n)) ** 3


def _squared(rng, n):
    """Return a pair of the same kind whose root splines can follow even at zero."""
    x = rng.normal(size=n)
    bent = x + 0.5 * rng.normal(size=n)
    return x, bent * np.abs(bent)


def _heteroscedastic(rng, n):
    x = rng.uniform(-2, 2, size=n)
    return x, 2 * np.sin(x) + np.exp(0.6 * x) * 0.4 * rng.normal(size=n)


def test_additive_noise_tells_the_right_direction():
    found = _verdicts(_additive, 1000)
    assert found["reverse"] == 0
    assert found["forward"] >= 10


def test_linear_non_gaussian_noise_tells_the_right_direction():
    found = _verdicts(_linear_uniform, 500)
    assert found["reverse"] == 0
    assert found["forward"] >= 12


@pytest.mark.parametrize("n", [300, 1500])
def test_linear_gaussian_pairs_stay_undecided(n):
    found = _verdicts(_linear_gaussian, n, 30)
    assert found["forward"] == found["reverse"] == 0
    assert found["neither"] <= 1


@pytest.mark.parametrize("make", [_cubed, _squared])
@pytest.mark.parametrize("n", [300, 1500])
def test_a_bent_scale_does_not_fool_the_check(make, n):
    assert _verdicts(make, n)["reverse"] <= 1  # the veto itself has a level of 0.05


def test_without_the_ranks_and_the_rule_of_normal_effects_a_bent_scale_would_fool_it(monkeypatch):
    monkeypatch.setattr(NoiseChecks, "_may_be_distorted", lambda *_: False)
    monkeypatch.setattr(noise_check, "NORMAL_LEVELS", (1.0, 1.0))
    assert _verdicts(_squared, 1500)["reverse"] >= 15


def _bounded(rng, n):
    """Return a normal cause of a share, as of a beta regression: a line fits from the share to the cause."""
    x = rng.normal(size=n)
    mean = 1 / (1 + np.exp(-x))
    return x, rng.beta(6 * mean, 6 - 6 * mean)


def _with_error(rng, n):
    """Return a cause that is measured with an error, and its saturating effect."""
    x = rng.normal(size=n)
    return x + 0.5 * rng.normal(size=n), np.tanh(1.5 * x) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("make", [_bounded, _with_error])
def test_a_normal_column_is_no_effect(make):
    assert _verdicts(make, 1000)["reverse"] <= 2  # the rule itself has a level of 0.02


def test_without_the_rule_normal_columns_would_look_like_effects(monkeypatch):
    monkeypatch.setattr(noise_check, "NORMAL_LEVELS", (1.0, 1.0))
    assert _verdicts(_with_error, 1000)["reverse"] >= 5


def _skewed_line(rng, n):
    x = rng.exponential(size=n)
    return x, 0.4 * x + 0.6 * rng.normal(size=n)


def test_a_line_needs_no_ranks(monkeypatch):
    monkeypatch.setattr(NoiseChecks, "_may_be_scaled", lambda *_: False)
    lines = _verdicts(_skewed_line, 300)["forward"]
    monkeypatch.setattr(NoiseChecks, "_is_line", lambda *_: False)
    assert lines > _verdicts(_skewed_line, 300)["forward"]


def _spread_behind_scales(rng, n):
    """Return columns whose noise changes its spread between two scales that nobody knows."""
    x = rng.normal(size=n)
    return np.exp(x), np.sinh(x + np.exp(0.7 * x) * 0.5 * rng.normal(size=n))


def test_ranks_tell_noise_of_changing_spread_on_any_scale():
    found = _verdicts(_spread_behind_scales, 1000)
    assert found["reverse"] == 0
    assert found["forward"] >= 5
    assert "ranks" in {_check(*_spread_behind_scales(np.random.default_rng(k), 1000)).noise for k in range(5)}


def test_noise_of_changing_spread_has_a_second_chance():
    found = _verdicts(_heteroscedastic, 1000)
    assert found["reverse"] == 0
    assert found["forward"] >= 5
    assert _check(*_heteroscedastic(np.random.default_rng(1), 1000)).noise == "location-scale"


def test_neither_direction_fits_a_hidden_cause():
    rng = np.random.default_rng(0)
    hidden = rng.uniform(-2, 2, size=900)
    x, y = hidden**2 + 0.1 * rng.normal(size=900), np.sin(2 * hidden) + 0.1 * rng.normal(size=900)
    assert _check(x, y).verdict == "neither"


def test_the_mirror_image_is_the_reverse(rng):
    x, y = _additive(rng, 800)
    ahead, back = _check(x, y), _check(x, y, FORWARD.T)
    assert (ahead.verdict, back.verdict) == ("forward", "reverse")
    assert (ahead.p_value_forward, ahead.p_value_reverse) == (back.p_value_reverse, back.p_value_forward)
    assert (ahead.dependence_forward, ahead.dependence_reverse) == (back.dependence_reverse, back.dependence_forward)
    assert ahead.probability == pytest.approx(1 - back.probability)
    assert ahead.probability >= SHOWN_PROBABILITY


def test_monotone_units_and_the_seed(rng):
    x, y = _additive(rng, 800)
    assert _check(x, y).p_value_reverse == pytest.approx(_check(1e-4 * x + 7, -3e5 * y).p_value_reverse, rel=1e-3)
    many = rng.normal(size=(2, 5000))
    same = [_check(*many, seed=seed) for seed in (3, 3, 4)]
    assert same[0] == same[1] != same[2]


def test_other_parents_are_taken_into_account():
    """A collider with two causes: its noise is independent only given both."""
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-2, 2, size=(2, 900))
    c = np.sin(1.5 * a) + b**2 / 2 + 0.3 * rng.normal(size=900)
    dag = np.zeros((3, 3), dtype=bool)
    dag[[0, 1], 2] = True
    checks = NoiseChecks(TableTests(Statistics.from_array(np.column_stack([a, b, c]))), dag)
    assert [checks.check(i, 2).verdict for i in (0, 1)] == ["forward", "forward"]
    assert checks.check(0, 2).p_value_family == checks.check(1, 2).p_value_family


def test_the_level_is_corrected_for_the_number_of_arrows(rng):
    x, y = _additive(rng, 60)
    many = np.column_stack([x, y, rng.normal(size=(60, 18))])
    dag = np.zeros((20, 20), dtype=bool)
    dag[0, 1] = True
    alone = NoiseChecks(TableTests(Statistics.from_array(many)), dag)._rejects
    dag[0, 2:] = dag[1, 2:] = True
    assert alone == {"additive": 0.01, "location-scale": 0.001, "ranks": 0.02}
    assert NoiseChecks(TableTests(Statistics.from_array(many)), dag)._rejects["additive"] == pytest.approx(0.1 / 37)


def test_what_cannot_be_tested_says_so(rng):
    few = NoiseChecks(TableTests(Statistics.from_array(rng.normal(size=(30, 2)))), FORWARD)
    assert few.check(0, 1) is None
    assert few.untested(0, 1) == "The noise check needs 50 complete rows, got 30."
    binary = Statistics.from_array(
        np.column_stack([rng.integers(2, size=200), rng.normal(size=200)]), ["sex", "weight"]
    )
    checks = NoiseChecks(TableTests(binary), FORWARD)
    assert checks.check(0, 1) is None
    assert "'sex' is categorical or has fewer than 8 distinct values" in checks.untested(0, 1)


def test_the_probability_grows_with_the_gap_where_a_direction_fits():
    by_gap = [direction_probability(0.5, p) for p in (0.5, 0.1, 0.01, 1e-6, 0.0)]
    assert by_gap == sorted(by_gap)
    assert by_gap[0] == 0.5
    by_fit = [direction_probability(p, p * 1e-6) for p in (1e-4, 0.003, 0.03, 0.3)]
    assert by_fit == sorted(by_fit)
    assert by_fit[0] == 0.5
    assert max(by_gap + by_fit) < 0.97


def test_every_edge_has_a_check_or_a_reason():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=(200, 2)), rng.integers(2, size=200)])
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    table = Statistics.from_array(values, list("abc"))
    found = {(one.cause, one.effect): one for one in noise_checks(TableTests(table), dag)}
    assert found["a", "b"].check == NoiseChecks(TableTests(table), dag).check(0, 1)
    assert found["a", "b"].untested == ""
    assert found["b", "c"].check is None
    assert "'c' is categorical" in found["b", "c"].untested
    asked = np.zeros((3, 3), dtype=bool)
    asked[0, 1] = asked[1, 0] = True
    assert noise_checks(TableTests(table), dag, asked=asked) == (found["a", "b"],)


def test_arrows_with_many_causes_are_not_checked():
    rng = np.random.default_rng(0)
    dag = np.zeros((10, 10), dtype=bool)
    dag[:8, 9] = True
    checks = NoiseChecks(TableTests(Statistics.from_array(rng.normal(size=(200, 10)))), dag)
    assert checks.untested(0, 9) is None
    dag[8, 9] = True
    many = NoiseChecks(TableTests(Statistics.from_array(rng.normal(size=(200, 10)))), dag)
    assert many.untested(0, 9) == "The noise check is left out for arrows whose ends have more than 8 causes."
    assert many.check(0, 9) is None


def test_large_graphs_are_not_checked():
    dag = np.triu(np.ones((46, 46), dtype=bool), 1)
    assert dag.sum() > MAX_EDGES
    context = Context(inquiry=None, answer=SimpleNamespace(dag=dag))
    assert NoiseClaim().too_much(context) == "the graph has more than 1,000 edges"
    dag[0] = False
    assert NoiseClaim().too_much(context) == ""


def test_checks_end_with_the_time():
    table = Statistics.from_array(np.random.default_rng(0).normal(size=(60, 2)))
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        noise_checks(TableTests(table), FORWARD)


def test_families_are_tested_by_the_regression_of_the_score(rng):
    x, noise = rng.uniform(-1, 1, size=(2, 1000))
    for effect, fits in ((x, True), (np.exp(2 * x), False)):
        table = Statistics.from_array(np.column_stack([x, effect + noise]))
        found = noise_checks(TableTests(table), FORWARD, regression="linear")[0].check
        assert (found.p_value_family > 0.05) == fits


def test_arrows_of_bic_ng_rest_on_linear_residuals(rng):
    x, noise = rng.uniform(-1, 1, size=(2, 1000))
    for effect, direction in ((x, ("supported", "noise-check")), (np.exp(2 * x), ("assumed", ""))):
        table = np.column_stack([x, effect + noise])
        result = DrBO(score="bic-ng", random_state=0).fit(table).result_
        assert result.scoring.regression == "linear"
        assert [(one.direction, one.ground) for one in result.directions] == [direction]


@pytest.mark.parametrize(("n", "level"), [(100, 0.2), (400, 0.125), (2000, 0.05)])
def test_the_level_of_the_veto_is_higher_with_few_rows(rng, n, level):
    table = Statistics.from_array(np.column_stack(_additive(rng, n)))
    assert NoiseChecks(TableTests(table), np.array([[False, True], [False, False]]))._veto == level


def test_a_rejected_direction_needs_no_test_of_its_family(rng, monkeypatch):
    checks = NoiseChecks(
        TableTests(Statistics.from_array(np.column_stack(_linear_uniform(rng, 500)))),
        np.array([[False, True], [False, False]]),
    )
    tested = []
    family = checks._tests.family
    monkeypatch.setattr(checks._tests, "family", lambda node, *more: tested.append(node) or family(node, *more))
    assert checks.check(0, 1).verdict == "forward"
    assert set(tested) == {1}


def _blurred(rng, n):
    """Return a cause that is measured with error, and its effect: the effect is nearer to the cause itself."""
    x = rng.exponential(size=n)
    return x + 0.7 * rng.normal(size=n), x + 0.5 * rng.normal(size=n)


def _two_classes(rng, n):
    """Return two columns that share nothing but a hidden class of their rows."""
    hidden = rng.integers(2, size=n)
    return 2.5 * hidden + rng.normal(size=n), 2.5 * hidden + 0.6 * rng.normal(size=n)


def _cut(rng, n):
    """Return a cause, and an effect that is not measured below a floor."""
    x = rng.normal(size=n)
    return x, np.maximum(x + rng.normal(size=n), -0.5)


@pytest.mark.parametrize("make", [_blurred, _two_classes])
@pytest.mark.parametrize("n", [300, 1000])
def test_error_in_the_cause_and_hidden_classes_do_not_fool_the_check(make, n):
    found = _verdicts(make, n)
    assert found["reverse"] + (found["forward"] if make is _two_classes else 0) <= 1


@pytest.mark.parametrize(("name", "make"), [("_may_be_scaled", _blurred), ("_tests.classes_gain", _two_classes)])
def test_without_those_vetoes_they_would(monkeypatch, name, make):
    if name == "_may_be_scaled":
        monkeypatch.setattr(NoiseChecks, name, lambda *_: False)
    else:
        monkeypatch.setattr(ResidualTests, "classes_gain", lambda *_: -1.0)
    found = _verdicts(make, 1000)
    assert found["reverse"] + found["forward"] >= 5


def _slow(rng, n, memory):
    """Return a cause with a memory, and an effect whose noise has one as well."""
    x, noise = rng.uniform(-1, 1, size=(2, n))
    for t in range(1, n):
        x[t] += 0.8 * x[t - 1]
        noise[t] += memory * noise[t - 1]
    return np.column_stack([x, np.tanh(x) + 0.5 * noise])


@pytest.mark.parametrize(("memory", "told"), [(0.5, True), (0.97, False)])
def test_rows_in_a_row_are_told_unless_residuals_are_much_alike(memory, told):
    verdicts = Counter()
    for seed in range(10):
        table = Statistics.from_array(_slow(np.random.default_rng(seed), 1000, memory)).counting_as(0.3)
        verdicts[NoiseChecks(TableTests(table), FORWARD).check(0, 1).verdict] += 1
    assert verdicts["reverse"] == 0
    assert (verdicts["forward"] >= 5) == told


def test_an_effect_that_comes_a_row_later_is_not_told(monkeypatch):
    tables = []
    for seed in range(10):
        now = _slow(np.random.default_rng(seed), 1001, 0.0)
        tables.append(Statistics.from_array(np.column_stack([now[1:, 0], now[:-1, 1]])).counting_as(0.3))

    def told():
        checks = (NoiseChecks(TableTests(table), FORWARD).check(0, 1) for table in tables)
        return Counter(one.verdict for one in checks)

    found = told()
    assert found["forward"] + found["reverse"] == 0
    monkeypatch.setattr(ResidualTests, "beside", lambda *_: Independence(1.0, 0.0))
    assert told()["reverse"] + told()["forward"] > 0


def test_columns_that_pile_up_at_an_end_of_their_range_are_not_checked(rng):
    x, y = _cut(rng, 300)
    checks = NoiseChecks(TableTests(Statistics.from_array(np.column_stack([x, y]), ["dose", "response"])), FORWARD)
    assert checks.check(0, 1) is None
    assert checks.untested(0, 1) == ("The noise check does not apply: 'response' piles up at an end of its range.")


def test_residuals_of_fewer_rows_lean_to_a_direction_before_they_tell_it(rng):
    x, y = _additive(rng, 1000)
    checks = NoiseChecks(TableTests(Statistics.from_array(np.column_stack([x, y])[:200])), FORWARD)
    back = NoiseChecks(TableTests(Statistics.from_array(np.column_stack([x, y])[:200])), FORWARD.T)
    assert checks.leans(0, 1, "additive")
    assert not back.leans(1, 0, "additive")
    coins = NoiseChecks(TableTests(Statistics.from_array(rng.integers(2, size=(200, 2)))), FORWARD)
    assert not coins.leans(0, 1, "ranks")


@pytest.mark.parametrize("seed", range(10))
def test_what_checks_share_changes_no_verdict(seed, monkeypatch):
    """Ranked columns have one basis, regressions share their products: 10 tables against tests that share nothing."""
    rng, n = np.random.default_rng(seed), (150, 1000)[seed % 2]
    makes = _additive, _linear_gaussian, _linear_uniform, _cubed, _heteroscedastic
    cause, effect = makes[seed % 5](rng, n)
    other = np.sin(effect / effect.std()) + cause + rng.normal(size=n)
    table = Statistics.from_array(np.column_stack([cause, effect, other, other**2 + rng.normal(size=n)]))
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    dag[0, 3] = False
    shared = [one.check for one in noise_checks(TableTests(table), dag)]
    monkeypatch.setattr(AdditiveRegressions, "_smooth_term", lambda self, values: smooth_term(values))
    alone = [NoiseChecks(TableTests(table), dag).check(i, j) for i, j in np.argwhere(dag).tolist()]
    assert [one.verdict for one in shared] == [one.verdict for one in alone]
    for name in ("p_value_forward", "p_value_reverse", "p_value_family", "dependence_forward", "dependence_reverse"):
        found = [getattr(one, name) for one in shared]
        assert found == pytest.approx([getattr(one, name) for one in alone], rel=1e-3, abs=1e-12)


def test_a_class_arrow_with_a_likely_reverse_is_denied(rng):
    x, y = _additive(rng, 800)
    found = noise_checks(TableTests(Statistics.from_array(np.column_stack([y, x]), ["y", "x"])), FORWARD)[0]
    weak = replace(found, check=replace(found.check, verdict="undecided"))
    assert weak.check.probability < 0.5
    [denial] = against_class([weak], families=False)
    assert (denial.grounds, denial.sentence) == (
        ("experiment", "class"),
        "The residuals make the opposite direction more likely.",
    )
    silent = replace(weak, check=replace(weak.check, probability=None))
    assert against_class([silent], families=False) == ()
