import math

import numpy as np
import pytest

from drbo import DrBO
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError
from drbo.independence.set_tests import MOST_ROWS, OneByOne, PartialCorrelations
from drbo.scores.base import Score
from drbo.scores.discrete import BDeu
from drbo.scores.families import Families
from drbo.scores.linear import BicNV
from drbo.scores.registry import build_score


@pytest.fixture
def table(rng):
    return Statistics.from_array(rng.normal(size=(30, 3)), ["a", "b", "c"])


class Counted(Score):
    """Local value: a number made of the family; one parameter per parent."""

    evidence_scale = 2.0

    def local_one(self, node, parents):
        return 10.0 * node + sum(parents)

    def parameters(self, families):
        return families.sizes


def test_local_one_is_enough(table):
    batch = Families.from_sets(3, [(2, (0, 1)), (0, ()), (1, (2,))])
    values = Counted(table).local(batch)
    assert values.dtype == np.float64
    assert values.tolist() == [21.0, 0.0, 12.0]
    assert Counted(table).local(batch[:0]).shape == (0,)
    with pytest.raises(NotImplementedError, match=r"local\(\) or local_one\(\)"):
        Score(table).local(batch)


def test_a_score_is_cheap_only_if_it_says_so(table):
    class Declared(Counted):
        cheap = True

    class Priced(BicNV):  # what a local score costs is that of BicNV
        edge_price = 3.0

    class Other(BicNV):  # what a local score costs is not known
        def local(self, families):
            return super().local(families)

    class Inner:
        def local_one(self, node, parents):
            return 0.0

    class CheapInner(Inner):
        cheap = True

    for kind in (Declared, BicNV, Priced, CheapInner()):
        assert build_score(kind, table).cheap is True
    for kind in (Counted, Other, Inner()):
        assert build_score(kind, table).cheap is False


def test_price_is_the_penalty_and_the_prior(rng):
    """By hand, family by family, for rows that differ between nodes."""
    values, prior = rng.normal(size=(40, 4)), rng.normal(size=(4, 4))
    targets = rng.random((40, 4)) < [0.5, 0.0, 0.2, 0.1]
    score = Counted(Statistics.from_array(values), penalty=1.5, edge_prior=prior, targets=targets)
    batch = Families.from_dags(rng.random((6, 4, 4)) < 0.5)
    rows = (~targets).sum(axis=0)
    for node, parents, price in zip(batch.nodes, batch.parents, score.family_price(batch), strict=True):
        expected = -1.5 * parents.sum() * math.log(rows[node]) + 2.0 * prior[parents, node].sum()
        assert price == pytest.approx(expected, abs=1e-12)


def test_prices_of_edges_are_those_of_single_parents(table, rng):
    score = BicNV(table, penalty="ebic", edge_prior=rng.normal(size=(3, 3)))
    prices = score.price_table()
    for child, parent in np.argwhere(~np.eye(3, dtype=bool)).tolist():
        expected = score.family_price(Families.from_sets(3, [(child, (parent,))]))[0]
        assert prices[child, parent] == pytest.approx(-expected)


def test_prices_that_do_not_add_up_have_no_table(table):
    class Pairs(Counted):
        def parameters(self, families):
            return families.sizes**2

    class Priced(Counted):
        def family_price(self, families):
            return super().family_price(families)

    assert Pairs(table).price_table() is None
    assert Priced(table).price_table() is None
    np.testing.assert_allclose(Counted(table).price_table(), np.full((3, 3), np.log(30)))
    binary = Statistics.from_array((table.values > 0).astype(float))
    assert build_score("bic-discrete", binary).price_table() is None
    np.testing.assert_allclose(build_score("bdeu", binary, {"penalty": 3.0}).price_table(), np.full((3, 3), np.log(30)))


@pytest.mark.parametrize(("scale", "expected"), [(2.0, 2 * math.log(5)), (1.0, math.log(5)), (None, math.log(5))])
def test_ebic_adds_ln_d_per_edge_on_the_scale_of_the_evidence(scale, expected, rng):
    """Foygel & Drton 2010, gamma = 1/2: BIC + 4 gamma |G| ln d for twice a log evidence, on top of penalty 1."""
    kind = type("Scaled", (Counted,), {"evidence_scale": scale})
    table = Statistics.from_array(rng.normal(size=(50, 5)))
    batch = Families.from_sets(5, [(0, ()), (1, (0,)), (2, (0, 1, 4))])
    extra = kind(table).family_price(batch) - kind(table, penalty="ebic").family_price(batch)
    assert extra == pytest.approx(expected * np.array([0, 1, 3]))
    twice = kind(table).family_price(batch) - kind(table, penalty="ebic", gamma=1.0).family_price(batch)
    assert twice == pytest.approx(2 * extra)


def test_combine_is_the_sum_of_shares(table, rng):
    score = Counted(table)
    score.gain = np.array([1.0, -2.0, 0.5])
    local, price = rng.normal(size=(2, 4, 3))
    expected = (local * score.gain + price).sum(-1)
    assert score.combine(local, price) == pytest.approx(expected)
    nodes = np.array([2, 0])
    part = score.share(local[:, nodes], price[:, nodes], None, nodes)
    assert part == pytest.approx(score.share(local, price)[:, nodes])
    assert score.level_of(local[0]) is None


def test_targets_without_a_single_intervention_change_nothing(table):
    assert Counted(table, targets=np.zeros((30, 3))).targets is None
    assert Counted(table, targets=np.eye(30, 3, dtype=int)).n_rows.tolist() == [29, 29, 29]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"penalty": -1}, SettingsError, "penalty must be a number >= 0 or 'ebic', got -1"),
        ({"gamma": -1}, SettingsError, "gamma must be a number >= 0, got -1"),
        ({"penalty": "bic"}, SettingsError, "penalty must be a number >= 0 or 'ebic', got 'bic'"),
        ({"penalty": None}, SettingsError, "penalty must be a number >= 0 or 'ebic', got None"),
        ({"penalty": math.inf}, SettingsError, "penalty must be a number >= 0 or 'ebic', got inf"),
        (
            {"edge_prior": np.zeros((2, 2))},
            SettingsError,
            r"finite \(3, 3\) matrix of log-odds of size at most .*, got shape \(2, 2\)",
        ),
        ({"penalty": 1e308}, SettingsError, r"penalty must be at most 1e\+100, got 1e\+308"),
        ({"edge_prior": np.full((3, 3), -np.inf)}, SettingsError, "edge_prior must be a finite"),
        ({"edge_prior": np.full((3, 3), 1e308)}, SettingsError, r"log-odds of size at most 1e\+100"),
        (
            {"targets": np.zeros((30, 2))},
            SettingsError,
            r"targets must be a boolean \(30, 3\) array, got shape \(30, 2\)",
        ),
        ({"targets": np.full((30, 3), 2)}, SettingsError, "boolean"),
        ({"targets": np.arange(90).reshape(30, 3) > 6}, ScoreError, "node 'b' has only 2 rows without intervention"),
    ],
)
def test_bad_options_are_refused(table, options, kind, message):
    with pytest.raises(kind, match=message):
        Counted(table, **options)


@pytest.mark.parametrize("score", ["bic-nv", "bge"])
def test_no_edge_of_the_optimum_is_weaker_than_asked_for(score):
    """Partial R2 of every edge by a regression of its own; the graph is the proved optimum of the score."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 5))
    x[:, 2] += x[:, 0] + 0.06 * x[:, 1]
    x[:, 3] += 0.3 * x[:, 2] + 0.05 * x[:, 0]
    table = Statistics.from_array(x)
    edges = {}
    for strength in (0.0, 0.01):
        model = DrBO(
            score=score, score_options={"min_strength": strength, "penalty": 1.0}, prune="none", random_state=0
        )
        result = model.fit(x).result_
        assert result.gap == 0
        edges[strength] = int(result.dag.sum())
        for i, j in np.argwhere(result.dag):
            others = [k for k in np.flatnonzero(result.dag[:, j]) if k != i]
            given = np.column_stack([np.ones(len(x)), x[:, others]])
            full = np.column_stack([given, x[:, i]])
            left, less = (np.linalg.lstsq(part, x[:, j])[1][0] for part in (given, full))
            assert 1 - less / left > strength * 0.99
    assert edges == {0.0: 4, 0.01: 2}
    weak = build_score(score, table, {"min_strength": 0.01})
    plain = build_score(score, table, {})
    pair = Families.from_sets(5, [(2, (0,))])
    more = 20_000 * -math.log(0.99) - math.log(20_000)
    scale = 1.0 if score == "bic-nv" else 2.0
    assert plain.family_price(pair)[0] - weak.family_price(pair)[0] == pytest.approx(more / scale)


class ByRows(Score):
    """Minus the variance of what a mean leaves, on the rows it is told to use."""

    def __init__(self, table):
        super().__init__(table)
        self.values = table.values

    def local_one(self, node, parents, rows):
        return -float(np.var(self.values[rows, node])) - len(parents)


def test_a_score_that_takes_rows_has_a_relative_on_a_quarter_of_them(rng):
    values = rng.normal(size=(100, 3))
    score, families = ByRows(Statistics.from_array(values)), Families.from_sets(3, [(0, ()), (2, (0, 1))])
    assert score.local(families) == pytest.approx(-np.var(values[:, [0, 2]], axis=0) - [0, 2])
    (relative,) = score.relatives()
    assert relative.cost == 0.25
    assert relative.score.name == "custom on 25 rows"
    rows = relative.score._rows
    assert len(np.unique(rows)) == 25
    assert relative.score.local(families) == pytest.approx(-np.var(values[rows][:, [0, 2]], axis=0) - [0, 2])
    assert ByRows(Statistics.from_array(values[:50])).relatives() == ()  # a quarter would be too few rows


def test_many_rows_of_categories_are_sampled_with_the_seed(rng):
    codes = (rng.random((MOST_ROWS + 500, 2)) > 0.5).astype(float)
    table = Statistics(codes, ("a", "b"), ("categorical",) * 2, (("x", "y"),) * 2)
    first, second = (BDeu(table).set_tests(table, 0) for _ in range(2))
    one, two = (tests.best(0, 1, [], 0)[0] for tests in (first, second))
    assert one == two


def test_rows_that_are_counted_are_sampled_by_their_counts(rng):
    codes, weights = (rng.random((MOST_ROWS + 500, 2)) > 0.5).astype(float), rng.integers(1, 9, MOST_ROWS + 500)
    table = Statistics(codes, ("a", "b"), ("categorical",) * 2, (("x", "y"),) * 2, weights=weights.astype(float))
    counted = BDeu(table).set_tests(table, 0)._tests
    assert counted.weights.sum() == MOST_ROWS
    assert 0 < len(counted.weights) < table.n_rows


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((one, PartialCorrelations) for one in ("bic-nv", "bge", "splines", "splines-ranks")), ("mixed", OneByOne)],
)
def test_a_score_has_the_tests_of_its_relations(name, kind, table):
    assert isinstance(build_score(name, table).set_tests(table, 0), kind)
