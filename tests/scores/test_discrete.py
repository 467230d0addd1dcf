import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln

from drbo.data.statistics.levels import configurations
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError, SettingsError
from drbo.scores import discrete
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.families import Families
from tests.scores.conftest import random_families


def make_table(n, cardinalities, seed=0, strength=1.5):
    """Categorical columns, each depending on the one before it."""
    rng = np.random.default_rng(seed)
    columns, previous = [], np.zeros(n, dtype=int)
    for cardinality in cardinalities:
        logits = rng.normal(scale=strength, size=(32, cardinality))[previous]
        previous = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        columns.append(previous)
    levels = tuple(tuple(str(k) for k in range(c)) for c in cardinalities)
    names = tuple(f"x{j}" for j in range(len(cardinalities)))
    return Statistics(np.column_stack(columns).astype(float), names, ("categorical",) * len(names), levels)


def brute_counts(table, node, parents, rows=None):
    """A full table of counts: {configuration: counts of the levels}, all configurations included."""
    sizes = [len(table.levels[j]) for j in parents]
    counts = {key: [0] * len(table.levels[node]) for key in itertools.product(*map(range, sizes))}
    for row in table.values if rows is None else table.values[rows]:
        counts[tuple(int(row[j]) for j in parents)][int(row[node])] += 1
    return counts


def brute_likelihood(counts):
    return sum(k * math.log(k / sum(row)) for row in counts.values() for k in row if k)


def brute_bdeu(counts, ess):
    q, r = len(counts), len(next(iter(counts.values())))
    value = 0.0
    for row in counts.values():
        value += gammaln(ess / q) - gammaln(sum(row) + ess / q)
        value += sum(gammaln(k + ess / (q * r)) - gammaln(ess / (q * r)) for k in row)
    return value


FAMILIES = random_families(7, [0, 1, 2, 3, 4, 5, 6] * 3)


@pytest.mark.parametrize("n", [15, 60, 1000])  # 15 and 60: most families are counted by sorting
def test_likelihood_matches_full_tables(n):
    table = make_table(n, [2, 3, 4, 2, 5, 3, 2])
    for family, value in zip(range(len(FAMILIES)), DiscreteBIC(table).local(FAMILIES), strict=True):
        node, parents = FAMILIES.nodes[family], np.flatnonzero(FAMILIES.parents[family])
        assert value == pytest.approx(brute_likelihood(brute_counts(table, node, parents)), abs=1e-9)


@pytest.mark.parametrize("ess", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("n", [15, 1000])
def test_bdeu_matches_full_tables(n, ess):
    table = make_table(n, [2, 3, 4, 2, 5, 3, 2])
    for family, value in zip(range(len(FAMILIES)), BDeu(table, ess=ess).local(FAMILIES), strict=True):
        node, parents = FAMILIES.nodes[family], np.flatnonzero(FAMILIES.parents[family])
        assert value == pytest.approx(brute_bdeu(brute_counts(table, node, parents), ess), abs=1e-8)


@pytest.mark.parametrize("dense", [0, 10**9])
@pytest.mark.parametrize("merge", [0.0, 1.0])
def test_all_ways_of_counting_agree(monkeypatch, dense, merge):
    table = make_table(300, [2, 3, 4, 2, 5, 3, 2])
    expected = BDeu(table).local(FAMILIES)
    monkeypatch.setattr(discrete, "DENSE_CELLS", dense)
    monkeypatch.setattr(discrete, "MERGE_SHARE", merge)
    np.testing.assert_allclose(BDeu(table).local(FAMILIES), expected, rtol=1e-12)


def test_renumbering_keeps_configurations_apart(monkeypatch):
    table = make_table(200, [2, 3, 4, 2, 5, 3, 2])
    expected = DiscreteBIC(table).local(FAMILIES)
    monkeypatch.setattr(discrete, "CODE_LIMIT", 1500)  # 200 rows times 5 levels must fit, 2,880 configurations not
    np.testing.assert_allclose(DiscreteBIC(table).local(FAMILIES), expected, rtol=1e-12)


def test_parent_configurations_beyond_int64():
    d, n = 100, 40
    rng = np.random.default_rng(1)
    values = rng.integers(5, size=(n, d)).astype(float)
    values[0], values[1] = 4.0, 4.0  # two rows with equal parents
    values[1, 0] = 0.0
    table = Statistics(values, tuple(f"x{j}" for j in range(d)), ("categorical",) * d, (tuple("abcde"),) * d)
    family = Families.from_sets(d, [(0, range(1, d))])
    codes, _ = configurations(values[:, 1:].T.astype(np.int32), np.full(d - 1, 5))
    assert len(np.unique(codes)) == n - 1
    assert DiscreteBIC(table).local(family)[0] == pytest.approx(2 * math.log(0.5))
    # n - 2 configurations seen once: each gives ln(a / r) - ln a; one seen twice: the same and ln((a / r) / (1 + a)).
    log_a = -(d - 1) * math.log(5)
    assert BDeu(table).local(family)[0] == pytest.approx(-(n - 1) * math.log(5) + log_a - math.log(5), rel=1e-12)


@pytest.mark.parametrize("score_class", [DiscreteBIC, BDeu])
@pytest.mark.parametrize("options", [{}, {"penalty": 2}, {"penalty": "ebic"}])
def test_reversing_a_covered_edge_changes_nothing(score_class, options):
    """Chickering 1995: equivalent DAGs differ by reversals of edges i -> j with pa(j) = pa(i) + i."""
    score = score_class(make_table(400, [2, 3, 4, 2, 5, 3]), **options)
    rng = np.random.default_rng(2)
    for _ in range(40):
        i, j, *common = rng.permutation(6)[: 2 + rng.integers(4)].tolist()
        families = Families.from_sets(6, [(i, common), (j, [*common, i]), (j, common), (i, [*common, j])])
        shares = score.gain * score.local(families) + score.family_price(families)
        assert shares[0] + shares[1] == pytest.approx(shares[2] + shares[3], abs=1e-8)


def test_bic_of_a_dag_is_the_textbook_one():
    table = make_table(250, [2, 3, 4])
    score = DiscreteBIC(table, penalty=1.5)
    dag = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
    families = Families.from_dags(dag[None])
    found = score.combine(score.local(families), score.family_price(families))
    likelihood = sum(brute_likelihood(brute_counts(table, j, np.flatnonzero(dag[:, j]))) for j in range(3))
    assert float(found) == pytest.approx(2 * likelihood - 1.5 * math.log(250) * (1 + 2 * 2 + 3 * 6))


def test_bdeu_pays_for_edges_only_beyond_penalty_one():
    table = make_table(250, [2, 3, 4])
    families = Families.from_sets(3, [(0, ()), (1, (0,)), (2, (0, 1))])
    np.testing.assert_array_equal(BDeu(table).family_price(families), 0)
    np.testing.assert_array_equal(BDeu(table, penalty=0.5).family_price(families), 0)
    doubled = BDeu(table, penalty=2).family_price(families)
    np.testing.assert_allclose(doubled, -np.array([0, 1, 2]) * math.log(250) / 2)
    sparse = BDeu(table, penalty="ebic").family_price(families)
    np.testing.assert_allclose(sparse, -np.array([0, 1, 2]) * math.log(3))


def test_parameter_counts_saturate():
    d = 400
    rng = np.random.default_rng(3)
    values = rng.integers(8, size=(50, d)).astype(float)
    table = Statistics(values, tuple(map(str, range(d))), ("categorical",) * d, (tuple("abcdefgh"),) * d)
    sets = [(0, range(1, 1 + size)) for size in (3, 15, 20, d - 1)]
    families = Families.from_sets(d, sets)
    counts = DiscreteBIC(table).parameters(families)
    assert counts[:2].tolist() == [7 * 8**3, 7 * 8**15]
    assert counts[2] == counts[3] == 7 * discrete.PARAMETER_CAP
    assert np.isfinite(DiscreteBIC(table).family_price(families)).all()


@pytest.mark.parametrize("score_class", [DiscreteBIC, BDeu])
def test_rows_with_interventions_are_left_out(score_class):
    table = make_table(200, [2, 3, 4, 2])
    targets = np.random.default_rng(4).random((200, 4)) < [0.3, 0.0, 0.3, 0.0]
    score = score_class(table, targets=targets)
    assert not score.score_equivalent
    families = random_families(4, [0, 1, 2, 3] * 4)
    for family, value in zip(range(16), score.local(families), strict=True):
        node = families.nodes[family]
        kept = score_class(table.take(np.flatnonzero(~targets[:, node]), np.arange(4)))
        assert value == pytest.approx(kept.local(families[[family]])[0], abs=1e-9)


def test_likelihood_never_falls_with_a_parent():
    score = DiscreteBIC(make_table(50, [2, 3, 4, 2, 5, 3, 2]))
    rng = np.random.default_rng(5)
    for _ in range(20):
        node, *others = rng.permutation(7).tolist()
        values = score.local(Families.from_sets(7, [(node, others[:size]) for size in range(7)]))
        assert (np.diff(values) >= -1e-9).all()


def test_numeric_codes_units_and_row_order_do_not_matter():
    table = make_table(300, [2, 3, 4])
    families = random_families(3, [0, 1, 2] * 3)
    expected = BDeu(table).local(families)
    scaled = Statistics.from_array(np.random.default_rng(6).permutation(table.values) * 0.01 - 7)
    np.testing.assert_allclose(BDeu(scaled).local(families), expected, rtol=1e-12)


def test_declared_levels_count_even_if_unseen():
    values = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    wide = Statistics(values, ("a", "b"), ("categorical",) * 2, (("p", "q", "r"), ("p", "q")))
    families = Families.from_sets(2, [(1, (0,))])
    assert DiscreteBIC(wide).family_price(families)[0] == pytest.approx(-3 * math.log(4))
    assert BDeu(wide).local(families)[0] == pytest.approx(brute_bdeu(brute_counts(wide, 1, [0]), 1.0))


@pytest.mark.parametrize("score_class", [DiscreteBIC, BDeu])
def test_continuous_columns_are_refused(score_class):
    values = np.column_stack([np.arange(100) % 2, np.random.default_rng(7).normal(size=100)])
    with pytest.raises(
        ScoreError, match=r"column 'x1' is continuous: it has 100 distinct values in 100 rows"
    ) as caught:
        score_class(Statistics.from_array(values))
    assert "categorical" in caught.value.hint
    with pytest.raises(ScoreError, match=r"accepts at most 32"):
        score_class(Statistics.from_array(np.column_stack([np.arange(1000) % 2, np.arange(1000) % 33])))
    score_class(Statistics.from_array(np.column_stack([np.arange(1000) % 2, np.arange(1000) % 32])))


def test_columns_with_one_level_are_refused():
    with pytest.raises(ScoreError, match="column 'x1' has 1 distinct value"):
        DiscreteBIC(Statistics.from_array([[0, 2], [1, 2], [1, 2]]))
    with pytest.raises(ScoreError, match="column 'b' has 1 distinct value"):
        BDeu(Statistics(np.array([[0.0, 0], [1, 0], [1, 0]]), ("a", "b"), ("categorical",) * 2, (("p", "q"), ("p",))))


@pytest.mark.parametrize("ess", [0, -1, float("nan"), float("inf")])
def test_ess_must_be_positive(ess):
    with pytest.raises(SettingsError, match="ess must be a number > 0"):
        BDeu(make_table(20, [2, 2]), ess=ess)


def test_three_rows_and_perfect_fits_stay_finite():
    table = Statistics.from_array([[0, 0, 1], [1, 1, 0], [1, 1, 0]])
    families = random_families(3, [0, 1, 2] * 3)
    assert np.isfinite(DiscreteBIC(table).local(families)).all()
    assert np.isfinite(BDeu(table).local(families)).all()
    assert len(BDeu(table).local(families[:0])) == 0
