"""What supported promises, by ``DrBO().fit`` and nothing else, on small versions of the tables of docs/results."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.experiments.field_kinds import drawn
from benchmarks.experiments.hard_pairs import HARD_PAIRS, hard_pair
from benchmarks.studies.kinds import causes_of, shd_c
from benchmarks.verdicts import fitted, supported
from drbo import DrBO

SEED = 100  # of choices, not of reports


def _arrows(frame):
    told = DrBO(random_state=0).fit(frame).result_.directions
    return {(one.cause, one.effect) for one in told if one.direction == "supported"}


@pytest.mark.parametrize(
    ("kind", "farthest"),
    [
        ("ordinal", 2),
        ("gamma", 3),
        ("zero-inflated counts", 9),
        ("log-normal", 1),
        ("heavy tails", 1),
        ("selection", 20),
    ],
)
def test_supported_arrows_of_kinds_met_in_practice_are_right(kind, farthest):
    table = drawn(kind, 1_000, SEED)
    row, result = fitted(table.frame, causes_of(table))
    right, wrong = int(row["supported right"]), int(row["supported wrong"])
    assert right >= 2
    assert wrong <= 0.05 * (right + wrong)
    assert shd_c(result, table) <= farthest


@pytest.mark.parametrize("kind", HARD_PAIRS)
def test_hard_pairs_mislead_nobody(kind):
    found = [supported(fitted(hard_pair(kind, 300, SEED + k), lambda *_: "", 0)[0]) for k in range(2)]
    right = [[("x", "y")] * (kind not in ("mixture, no edge", "hidden cause through exp, no edge")), []]
    assert all([one[:2] for one in arrows] in right for arrows in found)


def test_a_column_of_two_values_may_be_a_number_or_a_category():
    rng = np.random.default_rng(0)
    group, dose, age = rng.integers(2, size=1_500), *rng.normal(size=(2, 1_500))
    effect = 1.2 * group + dose + age + rng.normal(size=1_500)
    number = pd.DataFrame({"group": group, "dose": dose, "c": age, "effect": effect})
    category = number.assign(group=np.where(group == 1, "b", "a"))
    assert _arrows(number) == _arrows(category) == {(one, "effect") for one in ("group", "dose", "c")}


def test_far_more_columns_than_rows_support_nothing():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(40, 3))
    genes = common @ rng.normal(size=(3, 60)) + 0.7 * rng.normal(size=(40, 60))
    assert _arrows(pd.DataFrame(genes, columns=[f"c{j}" for j in range(60)])) == set()
