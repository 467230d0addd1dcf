from dataclasses import replace

import numpy as np
import pytest

from drbo.data.checks.experiments import Experiments, KnownTarget
from drbo.data.statistics.statistics import Statistics
from drbo.errors import ScoreError
from drbo.scores.by_experiment import FREE, HARD, SHARED, SOFT
from drbo.scores.discrete import DiscreteBIC
from drbo.scores.experiment_counts import ExperimentCounts
from drbo.scores.families import Families
from tests.changed_sets import losses

SETS = [(0, ()), (0, (2,)), (1, (0,)), (1, (0, 2)), (2, ()), (2, (0, 1))]


def made(seed=0, sizes=(90, 50, 60, 40), strength=0.5, known=(), weights=None):
    """Return a table of three columns of 2, 3 and 2 levels whose probabilities change at random."""
    rng, parts = np.random.default_rng(seed), []
    tables = [rng.dirichlet(np.ones(2), 1), rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2), 6)]
    for number, size in enumerate(sizes):
        own = [rng.dirichlet(np.ones(t.shape[1]), len(t)) if number and rng.random() < strength else t for t in tables]
        x, place = np.zeros((size, 3), dtype=int), np.zeros(size, dtype=int)
        for j, table in enumerate(own):
            x[:, j] = (rng.random(size)[:, None] > table[place].cumsum(axis=1)).sum(axis=1).clip(max=table.shape[1] - 1)
            place = x[:, 0] if j == 0 else x[:, 0] * 3 + x[:, 1]
        parts.append(x)
    levels = ((0, 1), (0, 1, 2), (0, 1))
    table = Statistics(np.concatenate(parts) * 1.0, tuple("abc"), ("categorical",) * 3, levels, weights=weights)
    labels = ("control", *(f"e{k}" for k in range(1, len(sizes))))
    return replace(table, experiments=Experiments(np.repeat(np.arange(len(sizes)), sizes), labels, known))


def likelihood(rows, node, parents):
    """Return the maximised log-likelihood of a column, by counting rows one by one."""
    total = 0.0
    for config in {tuple(row) for row in rows[:, list(parents)].tolist()}:
        own = rows[(rows[:, list(parents)] == config).all(axis=1), node]
        shares = np.array([(own == level).mean() for level in np.unique(own)])
        total += len(own) * float(shares @ np.log(shares))
    return total


def direct(table, node, parents, changed, charge=1.0, price=0.0, cut=()):
    """Return the formula of the class for a given set of changed experiments."""
    codes, levels = table.experiments.codes, [len(one) for one in table.levels]

    def worth(rows, own):
        parameters = (levels[node] - 1) * np.prod([levels[j] for j in own], dtype=float)
        return 2 * likelihood(table.values[rows], node, own) - charge * parameters * np.log(rows.sum())

    total = worth(~np.isin(codes, changed), parents)
    return total + sum(worth(codes == e, () if e in cut else parents) - price for e in changed)


@pytest.mark.parametrize("penalty", [1.0, 2.5, "ebic"])
def test_one_experiment_alone_is_bic_discrete(penalty):
    table, families = replace(made(), experiments=None), Families.from_sets(3, SETS)
    ours, plain = ExperimentCounts(table, penalty=penalty), DiscreteBIC(table, penalty=penalty)
    np.testing.assert_allclose(ours.local(families), plain.local(families), rtol=1e-12)
    np.testing.assert_allclose(ours.family_price(families), plain.family_price(families))
    assert ours.gain == plain.gain


@pytest.mark.parametrize("changed", [(), (2,), (1, 3), (1, 2, 3)])
def test_a_given_set_is_worth_what_counting_says(changed):
    table, families = made(1), Families.from_sets(3, SETS)
    fixed = np.zeros((4, 3), dtype=np.int64)
    fixed[list(changed)] = SOFT
    found = ExperimentCounts(table, penalty=2.0).changes(families, fixed)
    expected = [direct(table, node, parents, changed, charge=2.0) for node, parents in SETS]
    np.testing.assert_allclose(found.worth, expected, rtol=1e-10)
    assert found.changed.sum() == len(SETS) * len(changed)


@pytest.mark.parametrize("strength", [0.0, 0.3, 0.8])
def test_the_set_found_is_the_best_of_all_but_for_rare_families(strength):
    short = []
    for seed in range(4):
        table = made(seed, (70, 50, 40, 60, 50, 40, 45), strength)
        short += losses(ExperimentCounts(table), Families.from_sets(3, SETS)).tolist()
    assert sum(lost > 1e-8 for lost in short) <= 1
    assert sum(short) < 5


def test_known_targets_cost_no_prior_and_hard_ones_have_no_parents():
    table = made(5, known=(KnownTarget("e1", "b", "hard"), KnownTarget("e2", "b")))
    score = ExperimentCounts(table, others="none")
    assert score.states[:, 1].tolist() == [SHARED, HARD, SOFT, FREE]
    assert score.states[:, 0].tolist() == [SHARED, SHARED, SHARED, FREE]
    fixed = score.states.copy()
    fixed[3] = SHARED
    found = score.changes(Families.from_sets(3, [(1, (0,))]), fixed).worth[0]
    assert found == pytest.approx(direct(table, 1, (0,), (1, 2), cut=(1,)), rel=1e-10)


def test_an_experiment_with_few_rows_has_a_table_without_parents():
    table = made(2, sizes=(90, 11))
    fixed = np.array([[SHARED], [SOFT]]).repeat(3, axis=1)
    found = ExperimentCounts(table).changes(Families.from_sets(3, [(2, (0, 1)), (2, (0,))]), fixed).worth
    assert found[0] == pytest.approx(direct(table, 2, (0, 1), (1,), cut=(1,)), rel=1e-10)  # 6 parameters
    assert found[1] == pytest.approx(direct(table, 2, (0,), (1,)), rel=1e-10)


def test_a_weight_counts_as_often_as_the_row_occurs():
    table = made(3)
    twice = table.take(np.repeat(np.arange(table.n_rows), 2), np.arange(3))
    families = Families.from_sets(3, SETS)
    weighted = ExperimentCounts(replace(table, weights=np.full(table.n_rows, 2.0))).changes(families)
    expected = ExperimentCounts(twice).changes(families)
    np.testing.assert_allclose(weighted.worth, expected.worth, rtol=1e-12)
    assert (weighted.changed == expected.changed).all()


def test_numbers_with_many_values_are_refused():
    table = Statistics.from_array(np.random.default_rng(0).normal(size=(60, 2)))
    with pytest.raises(ScoreError, match="is continuous"):
        ExperimentCounts(table)
