"""Columns that almost follow from others support no direction around them."""

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO
from drbo.claims.checks.formula_check import Formulas, formulas
from drbo.data.statistics.statistics import Statistics
from drbo.independence.residual_tests import TableTests
from drbo.scores.linear import BicNV
from tests.claims.contexts import context_of

#: food and rent make up costs, which with income makes savings.
DAG = np.array([[0, 0, 1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], dtype=bool)


def _budget(noise, n=1500):
    rng = np.random.default_rng(0)
    food, rent, income = rng.normal(size=(3, n))
    costs = food + rent + noise * rng.normal(size=n)
    savings = income - costs + rng.normal(size=n)
    return pd.DataFrame({"food": food, "rent": rent, "costs": costs, "income": income, "savings": savings})


@pytest.mark.parametrize(("noise", "part"), [(0.02, True), (0.09, True), (0.12, False), (0.3, False)])
def test_a_formula_has_a_partial_r2_above_99_percent(noise, part):
    """Given rent, food has the variance 1 and the rest that of the noise: R2 is 1 / (1 + noise^2)."""
    assert (1 / (1 + noise**2) > 0.99) == part
    table = Statistics.from_array(_budget(noise).to_numpy())
    assert list(formulas(TableTests(table), DAG)) == ([(0, 2), (1, 2)] if part else [])


def test_curves_and_many_causes_are_seen():
    rng = np.random.default_rng(1)
    size, *others = rng.gamma(2.0, size=(10, 400))
    table = Statistics.from_array(np.column_stack([size, np.log(size), sum(others, size), *others]))
    dag = np.zeros((12, 12), dtype=bool)
    dag[0, 1] = dag[0, 2] = dag[3:, 2] = True
    assert list(formulas(TableTests(table), dag)) == [(0, 1)]  # ten causes are too many to look at


def test_all_arrows_at_both_ends_are_denied_and_no_others():
    table = Statistics.from_array(_budget(0.02).to_numpy(), list(_budget(0.02)))
    ruling = Formulas().run(context_of(BicNV(table), table, DAG))
    assert {(one.cause, one.effect) for one in ruling.denied} == {
        ("food", "costs"),
        ("rent", "costs"),
        ("costs", "savings"),
    }
    assert ruling.denied[0].sentence.startswith("'costs' is almost a formula of 'food' and other columns")
    assert {one.grounds for one in ruling.denied} == {("noise-check", "class")}


@pytest.mark.parametrize(("noise", "direction"), [(0.02, "assumed"), (0.6, "supported")])
def test_a_fit_supports_no_arrow_around_a_formula(noise, direction):
    told = {(one.cause, one.effect): one for one in DrBO(random_state=0).fit(_budget(noise)).result_.directions}
    assert {told[one, "costs"].direction for one in ("food", "rent")} == {direction}
