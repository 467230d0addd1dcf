import numpy as np
import pytest
from scipy.stats import multivariate_normal

from drbo.data.statistics.statistics import Statistics
from drbo.scores.base import Relative, Score
from drbo.scores.families import Families
from drbo.search.evaluation import promotion as module
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.evaluation.promotion import Promotion
from drbo.settings import Settings

D = 6


class Slow(Score):
    """Parents are worth their own weights; the cheaper version is a third of that, with an error."""

    name = "slow"

    def __init__(self, table, error=0.01, cost=0.1):
        super().__init__(table)
        self.error, self.cost = error, cost
        self.weights = np.random.default_rng(0).normal(size=(D, D))

    def local(self, families):
        return (families.parents * self.weights[families.nodes]).sum(axis=1)

    def relatives(self):
        return [Relative(Third(self), self.cost)]


class Third(Score):
    name = "third"

    def __init__(self, whole):
        self.names, self.n_nodes, self.whole = whole.names, whole.n_nodes, whole

    def local(self, families):
        noise = np.sin(1e3 * (families.parents @ np.arange(1, D + 1) + 10 * families.nodes))
        return self.whole.local(families) / 3 + self.whole.error * noise + families.nodes


def made(score=None, **settings):
    table = Statistics.from_array(np.random.default_rng(0).normal(size=(20, D)))
    score = score or Slow(table)
    return Promotion(Evaluator(score, Settings(max_evals=10**6).with_(**settings), relatives=score.relatives()))


def every_set(node=0):
    others = [j for j in range(D) if j != node]
    return Families.from_sets(
        D, [(node, [j for k, j in enumerate(others) if mask >> k & 1]) for mask in range(2 ** (D - 1))]
    )


def more_than_known(promotion, families):
    """Promise what a family may gain over the best known one."""

    def promise(values):
        known = np.array(promotion.evaluator.is_known(families.keys()))
        return np.where(values > max(values[known], default=-np.inf), values, -np.inf)

    return promise


def test_the_best_family_is_found_with_few_true_values():
    promotion, families = made(), every_set()
    truth = promotion.evaluator.score.local(families)
    found = promotion.values(families, more_than_known(promotion, families))
    assert np.nanargmax(found) == np.argmax(truth)
    assert promotion.evaluator.n_local < len(families) / 2
    assert len(promotion.evaluator.levels[0].known) == len(families)
    known = ~np.isnan(found)
    assert found[known].tolist() == truth[known].tolist()


def test_a_level_that_says_nothing_rules_nothing_out_and_is_given_up():
    table = Statistics.from_array(np.random.default_rng(0).normal(size=(20, D)))
    promotion = made(Slow(table, error=100.0, cost=0.9))
    for node in range(D):
        families = every_set(node)
        found = promotion.values(families, more_than_known(promotion, families))
        assert np.nanmax(found) == pytest.approx(promotion.evaluator.score.local(families).max())
    assert promotion.levels == []
    families = every_set(0)
    before = len(promotion.evaluator.levels[0].known)
    assert not np.isnan(promotion.values(families, more_than_known(promotion, families))).any()
    assert len(promotion.evaluator.levels[0].known) == before


def test_without_levels_everything_is_promoted_within_the_budget():
    score = Slow(Statistics.from_array(np.random.default_rng(0).normal(size=(20, D))))
    promotion = Promotion(Evaluator(score, Settings(max_evals=10**6, max_local=10)))
    families = every_set()
    found = promotion.values(families, lambda values: np.full(len(values), -np.inf))
    assert found[:10].tolist() == score.local(families)[:10].tolist()
    assert np.isnan(found[10:]).all()


def test_the_budget_counts_what_levels_cost():
    promotion, families = made(max_local=20), every_set()
    promotion.values(families, more_than_known(promotion, families))
    evaluator = promotion.evaluator
    assert evaluator.n_spent == evaluator.n_local + int(0.1 * 32) <= 20
    spent = evaluator.n_local + 0.1 * len(evaluator.levels[0].known)
    assert evaluator.n_evals == int(spent // D)
    assert [(one.name, one.cost, one.n_local) for one in evaluator.fidelities] == [("third", 0.1, 32)]


def test_predictions_are_those_of_the_gaussian_process(rng):
    """By the joint density of all values, with a slope of large prior variance, computed without any factor."""
    promotion, families = made(), every_set()
    evaluator = promotion.evaluator
    pairs, new = families[:14], families[20:24]
    cheap, other = evaluator.preview(pairs, 0), evaluator.preview(new, 0)
    true = evaluator.families(pairs)
    mean, deviation = promotion.predicted(new)
    _, fit = promotion._model(0)
    theta, bend = fit.shape

    def covariance(left, right, a, b):
        apart = np.abs(left.parents[:, None] ^ right.parents[None]).sum(axis=2)
        sizes = np.outer(1 + left.sizes, 1 + right.sizes)
        slopes = (bend + 1e8) * np.outer(a - cheap.mean(), b - cheap.mean())
        return module.LEVEL_VARIANCE + sizes * np.exp(-theta * apart) + slopes

    known = covariance(pairs, pairs, cheap, cheap) + module.NOISE * np.eye(14)
    across = covariance(pairs, new, cheap, other)
    weights = np.linalg.solve(known, across)
    assert mean == pytest.approx(true.mean() + weights.T @ (true - true.mean()), rel=1e-4, abs=1e-4)
    left = np.diag(covariance(new, new, other, other) - across.T @ weights)
    assert deviation == pytest.approx(np.sqrt(fit.variance * left), rel=1e-3)
    likelihood = []
    for one in module.THETAS:
        theta = one
        matrix = covariance(pairs, pairs, cheap, cheap) + module.NOISE * np.eye(14)
        scale = (true - true.mean()) @ np.linalg.solve(matrix, true - true.mean()) / 14
        likelihood.append(multivariate_normal.logpdf(true - true.mean(), cov=scale * matrix))
    assert module.THETAS[int(np.argmax(likelihood))] == fit.shape.theta


def test_nothing_depends_on_what_was_asked_before():
    promotion, families = made(), every_set()
    promotion.values(families, more_than_known(promotion, families))
    again = Promotion(promotion.evaluator)
    assert again.predicted(every_set())[0].tolist() == promotion.predicted(every_set())[0].tolist()
    tried, values = promotion.tried()
    assert not any(promotion.evaluator.is_known(tried.keys()))
    assert len(tried) == len(families) - promotion.evaluator.n_local
    truth = promotion.evaluator.score.local(tried)
    assert np.corrcoef(values, truth)[0, 1] > 0.99


def test_at_endless_hope_everything_is_promoted():
    promotion, families = made(), every_set()
    promotion.hope = np.inf
    found = promotion.values(families, lambda values: np.full(len(values), -np.inf))
    assert found.tolist() == promotion.evaluator.score.local(families).tolist()
    assert len(promotion.evaluator.levels[0].known) == 0
