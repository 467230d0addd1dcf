from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from drbo import Design, DrBO
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.errors import DataError, ScoreError
from drbo.graph.metrics import shd_cpdag
from drbo.scores.families import Families
from drbo.scores.forms import GramForm
from drbo.scores.linear import BicNV
from drbo.scores.ranks import BicRanks
from drbo.scores.registry import build_score


@pytest.fixture
def values(rng):
    return rng.normal(size=(150, 4)) @ np.triu(rng.normal(size=(4, 4)))


def by_hand(values):
    return stats.norm.ppf((stats.rankdata(values, axis=0) - 0.5) / len(values))


def test_local_values_are_those_of_regressions_between_normal_scores(values):
    values = np.round(values)  # with ties
    scores = by_hand(values)
    local = BicRanks(Statistics.from_array(values)).local(Families.from_sets(4, [(3, ()), (3, (0, 2))]))
    fit = LinearRegression().fit(scores[:, [0, 2]], scores[:, 3])
    mse = np.mean((scores[:, 3] - fit.predict(scores[:, [0, 2]])) ** 2)
    assert local == pytest.approx([-np.log(scores[:, 3].var()), -np.log(mse)])


def test_no_increasing_function_of_a_column_changes_anything(values):
    families = Families.from_dags(np.triu(np.ones((1, 4, 4), dtype=bool), 1))
    local = [BicRanks(Statistics.from_array(part)).local(families) for part in (values, np.exp(values) ** 3)]
    assert np.array_equal(*local)
    assert BicRanks.default_penalty(Statistics.from_array(values), False) == BicRanks.default_penalty(
        Statistics.from_array(np.exp(values)), False
    )


def test_a_row_of_weight_w_counts_as_w_rows(values, rng):
    times = rng.integers(1, 4, size=len(values))
    table = Statistics.from_array(np.round(values))
    weighted, repeated = (
        replace(table, weights=times.astype(float)),
        table.take(np.repeat(np.arange(150), times), np.arange(4)),
    )
    families = Families.from_sets(4, [(0, ()), (1, (0,)), (3, (0, 1, 2))])
    one, other = BicRanks(weighted), BicRanks(repeated)
    assert one.local(families) == pytest.approx(other.local(families))
    assert one.family_price(families) == pytest.approx(other.family_price(families))


def test_cells_that_were_set_keep_their_ranks_and_are_left_out(values):
    targets = np.zeros(values.shape, dtype=bool)
    targets[:60, 2] = True
    score = BicRanks(Statistics.from_array(values), targets=targets)
    plain = BicNV(Statistics.from_array(by_hand(values)[60:]))
    family = Families.from_sets(4, [(2, (0, 1))])
    assert score.local(family) == pytest.approx(plain.local(family))
    assert not score.score_equivalent


def test_it_is_compiled_and_gaussian_between_the_ranks(values):
    score = build_score("bic-ranks", Statistics.from_array(values))
    assert isinstance(score.compiled(), GramForm)
    np.testing.assert_allclose(score.gaussian().correlation, np.corrcoef(by_hand(values).T), atol=1e-12)
    assert score.score_equivalent


def test_what_has_no_ranks_is_refused(values):
    gap = values.copy()
    gap[0, 0] = np.nan
    with pytest.raises(DataError, match="requires complete rows"):
        DrBO(score="bic-ranks", policy=None).fit(Statistics.from_array(gap))
    sums = Statistics.from_sums(Sums.of_rows(["a", "b", "c", "d"], values))
    with pytest.raises(DataError, match="needs the rows of the table"):
        DrBO(score="bic-ranks").fit(sums)
    with pytest.raises(ScoreError, match="covariance matrix"):
        BicRanks.from_covariance(np.eye(2), 10)
    coded = Statistics(values[:, :2], ("a", "b"), ("numeric", "categorical"), (None, ("u", "v")))
    with pytest.raises(ScoreError, match="'b' is categorical"):
        BicRanks(coded)


def test_a_fit_finds_the_graph_of_skewed_columns_and_weighs_its_edges_between_ranks():
    data = simulate("8ER1", n=1000, seed=4)
    bent = np.exp(data.X / data.X.std(axis=0))
    model = DrBO(score="bic-ranks", random_state=0).fit(bent)
    assert shd_cpdag(data.dag, model.adjacency_) <= 1
    effect = int(np.argmax(model.adjacency_.sum(axis=0)))
    causes = np.flatnonzero(model.adjacency_[:, effect])
    scores = by_hand(bent)
    slopes = LinearRegression().fit(scores[:, causes], scores[:, effect]).coef_
    assert model.weights_[causes, effect] == pytest.approx(slopes)
    assert "normal scores of its ranks" in model.result_.scoring.words[0]


def test_groups_rank_the_differences_from_their_means(rng):
    person = np.repeat(np.arange(40), 10)
    frailty = 3 * rng.normal(size=40)[person]
    dose = rng.normal(size=400)
    columns = np.column_stack(
        [dose + frailty, np.sinh(2 * dose + 0.5 * rng.normal(size=400)) + frailty, frailty + rng.normal(size=400)]
    )
    found = DrBO(score="bic-ranks", design=Design(groups=person), random_state=0).fit(columns).adjacency_
    assert found[0, 1] + found[1, 0] == 1
    assert found.sum() == 1
