"""The table of features says what the scores say, and is the one in the docs."""

import numpy as np
import pytest

from benchmarks.reports import features
from benchmarks.reports.pages import ROOT
from drbo import DataPolicy, Design, DrBO
from drbo.errors import DrboError
from drbo.scores.registry import SCORES

pytestmark = pytest.mark.torch

CELLS = [title.strip() for title in features.TITLES.split("|")]


def _cells(name):
    return dict(zip(CELLS, features.row_of(name), strict=True))


def test_the_table_in_the_docs_is_up_to_date():
    text = (ROOT / "docs" / "reference" / "scores.md").read_text()
    assert features.features() in text, "run python -m benchmarks report"
    assert all(f"| `{name}` |" in features.features() for name in SCORES)


def _fits(name, frame, weights=None, **given):
    try:
        DrBO(score=name, max_evals=3, exact=False, random_state=0, **given).fit(frame, sample_weight=weights)
    except DrboError:
        return False
    return True


@pytest.mark.parametrize("name", ["bge", "bdeu", "splines", "logistic", "mixed", "bic-ng"])
def test_a_fit_takes_what_the_table_says(name):
    cells, rng = _cells(name), np.random.default_rng(0)
    kind = next(one for one in features.TABLES if features.built(name, features.TABLES[one]) is not None)
    frame = features.TABLES[kind].frame()
    weights = rng.uniform(1, 2, len(frame))
    assert _fits(name, frame, weights) == (cells["weights"] == "yes")
    assert _fits(name, frame, np.rint(weights)) == (cells["weights"] in ("yes", "whole numbers"))
    groups = Design(groups="g")
    numbers = features.TABLES["numbers"].frame()
    if cells["columns"].startswith("numbers"):
        assert _fits(name, numbers.assign(g=np.arange(len(frame)) // 8), design=groups) == (cells["groups"] == "yes")
        gaps = numbers.mask(rng.random(numbers.shape) < 0.05)
        assert _fits(name, gaps, policy=DataPolicy(missing="em")) == (cells["missing cells by EM"] == "yes")


@pytest.mark.parametrize(
    ("name", "columns"),
    [("bge", "numbers"), ("bdeu", "categories"), ("logistic", "two values"), ("mixed", "numbers, categories")],
)
def test_columns_are_named_by_the_most_that_a_score_takes(name, columns):
    assert features.columns_of(name) == columns
