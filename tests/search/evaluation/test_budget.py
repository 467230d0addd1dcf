import pytest

from drbo.search.evaluation.budget import NO_LIMIT, Budget
from drbo.settings import Settings


def test_the_settings_give_the_budget():
    budget = Budget.of(Settings(max_evals=7, max_local=30).with_(count_known=True), n_nodes=4)
    assert budget == Budget(4, max_evals=7, max_local=30, count_known=True)


@pytest.mark.parametrize(
    ("max_evals", "max_local", "total"),
    [(10, None, 10), (10, 49, 9), (None, 20, 4), (3, 1000, 3), (None, None, NO_LIMIT)],
)
def test_local_scores_count_as_shares_of_an_evaluation(max_evals, max_local, total):
    assert Budget(5, max_evals, max_local).total == total


def test_what_is_left_of_evaluations_and_local_scores():
    budget = Budget(5, max_evals=10, max_local=30)
    assert (budget.evals_left(4), budget.local_left(28)) == (6, 2)
    assert budget.families_left(n_evals=4, n_local=28) == 2
    assert budget.families_left(n_evals=9, n_local=0) == 5


@pytest.mark.parametrize(
    ("n_evals", "n_local", "reserve", "spent"),
    [
        (9, 0, 0, False),
        (10, 0, 0, True),
        (0, 29, 0, False),
        (0, 30, 0, True),
        (6, 0, 4, True),
        (0, 20, 2, True),
        (0, 19, 2, False),
    ],
)
def test_a_budget_is_spent_down_to_a_reserve(n_evals, n_local, reserve, spent):
    assert Budget(5, max_evals=10, max_local=30).is_spent(n_evals, n_local, reserve) is spent


def test_no_limit_is_never_reached():
    budget = Budget(5)
    assert not budget.is_spent(10**12, 10**12)
    assert budget.families_left(10**9, 10**9) > 10**15
