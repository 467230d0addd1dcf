import pickle

import numpy as np
import pytest

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.scores.forms import CountForm, Gaussian, GramForm, RowForm
from drbo.scores.linear import BicEV, BicNV
from drbo.scores.registry import SCORES, build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.search.exact.proof import certify, certify_large
from drbo.search.exact.useful_parents import Effort
from drbo.search.orders.gains import ScoreSteps, steps_of
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings
from drbo.testing import check_score

D = 6
EXPERIMENTS = ("bic-experiments", "discrete-experiments", "splines-experiments")
#: The forms of scores; those that are not listed are regressions from one matrix of products.
FORMS = dict.fromkeys((*EXPERIMENTS, "gp", "gp-ev", "gp-nv", "logistic", "mixed-cg"), type(None)) | {
    "bic-ng": RowForm, "bdeu": CountForm, "bic-discrete": CountForm,
}  # fmt: skip


@pytest.fixture
def table(rng):
    weights = np.triu(rng.normal(size=(D, D)), 1)
    return Statistics.from_array(rng.normal(size=(120, D)) @ np.linalg.inv(np.eye(D) - weights))


class Scaled(BicNV):
    """Half of a BIC, as a log evidence: a score of somebody's own that says how it is compiled."""

    name = "scaled"
    evidence_scale = 1.0
    cheap = True

    def local(self, families):
        return super().local(families) / 2

    def family_price(self, families):
        return super().family_price(families) / 2

    def compiled(self):
        return GramForm.linear(
            [self.groups[0][1]], rows=self.n_rows / 2, prices=self.parameter_price[:, None] / 2,
            log_scales=[self.groups[0][0]], most_parents=self.most_parents,
        )  # fmt: skip


class Plain(Scaled):
    name = "plain"

    def compiled(self):
        return None


@pytest.mark.parametrize("name", sorted(SCORES))
def test_scores_of_numbers_and_of_categories_alone_are_compiled(name, table):
    if name.startswith("gp"):
        pytest.importorskip("torch")
    counts = name in ("bdeu", "bic-discrete", "logistic", "discrete-experiments")
    form = build_score(name, Statistics.from_array((table.values > 0).astype(float)) if counts else table).compiled()
    assert type(form) is FORMS.get(name, GramForm)


def test_a_form_can_be_pickled_and_copies_no_large_matrix(table):
    score = BicNV(table)
    form = score.compiled()
    assert form.grams[0] is score.groups[0][1]
    assert form.prices.shape == (D, 1)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(form)).edge_prices, np.tile(form.prices, D))
    assert BicNV(table, edge_prior=np.ones((D, D))).compiled().prices.shape == (D, D)


def test_a_bound_at_a_level_is_that_of_the_score(table):
    score, families = BicEV(table), Families.from_sets(D, [(node, ()) for node in range(D)])
    shares = score.share(score.local(families), np.zeros(D), 0.7)
    np.testing.assert_allclose(score.compiled().bound_weights(0.7), -shares, rtol=1e-12)


def test_a_score_of_ones_own_is_climbed_and_proved_by_its_form(table):
    check_score(Scaled, table)
    found, settings, free = {}, Settings(order_patience=4), Constraints.none(D)
    for kind in (Scaled, Plain):
        evaluator = Evaluator(kind(table), Settings(max_evals=10**6))
        assert isinstance(steps_of(evaluator, free, None), ScoreSteps) == (kind is Plain)
        best = OrderSearch(kind(table), settings, seed=0).run().best
        tables = all_tables(evaluator, free)
        found[kind] = best.scores[0], certify(tables, evaluator, free, best).upper_bound, tables.local
        large = certify_large(evaluator, free, best, Effort(np.inf))
        assert (large is None) == (kind is Plain)
        if large is not None:
            assert large.upper_bound == pytest.approx(found[kind][1], rel=1e-12)
    (ours, proved, local), (plain, also, same) = found.values()
    assert (ours, proved) == pytest.approx((plain, also), rel=1e-12)
    assert ours == pytest.approx(proved, rel=1e-12)
    np.testing.assert_allclose(local, same, rtol=1e-9)
    twice = OrderSearch(BicNV(table), settings, seed=0).run().best
    assert 2 * ours == pytest.approx(twice.scores[0], rel=1e-12)


def test_linear_relations_are_those_of_the_table(table, rng):
    correlation = np.corrcoef(table.values.T)
    for name, price in (("bic-nv", np.log(120)), ("bic-ng", np.log(120)), ("bic-ev", None)):
        found = build_score(name, table).gaussian()
        assert isinstance(found, Gaussian)
        np.testing.assert_allclose(found.correlation, correlation, atol=1e-12)
        assert (found.n_rows, found.price) == (120, price)
    assert BicNV(table, targets=rng.random((120, D)) < 0.1).gaussian() is None
    for name in ("bge", "splines", "mixed"):
        assert build_score(name, table).gaussian() is None


def test_what_a_graph_is_worth_decides_what_a_subclass_inherits(table):
    class Renamed(BicNV):
        name = "renamed"

    class Turned(BicEV):
        def combine(self, local, price):
            return -super().combine(local, price)

    assert isinstance(Renamed(table).compiled(), GramForm)
    turned = Turned(table)
    assert (turned.compiled(), turned.equal_variance) == (None, False)
    assert (Score(table).compiled(), Score(table).gaussian(), Score(table).family_work()) == (None, None, None)
