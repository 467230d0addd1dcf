"""Numbers at the edge: a finite score or an error in words, and never a NaN chosen as the best."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from drbo import DataPolicy, DrBO
from drbo.data.checks.check import check_table
from drbo.errors import DrboError
from drbo.scores.families import Families
from drbo.scores.registry import SCORES, build_score

BINARY = ("logistic",)
DISCRETE = ("bic-discrete", "bdeu", "discrete-experiments")
NUMERIC = tuple(name for name in SCORES if name not in (*BINARY, *DISCRETE))


def _normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def _near_collinear():
    x = _normal(40, 3)
    x[:, 2] = x[:, 0] + x[:, 1] + 1e-8 * x[:, 2]  # closer still is refused as an exact combination
    return x


def _line(n=30):
    t = np.linspace(-1, 1, n)
    return np.column_stack([t, t**3, np.sin(40 * t)])


def _perfect():
    """Every column is the sum of two others: the mean squared error of a regression is 0."""
    x = np.random.default_rng(3).integers(-8, 9, size=(30, 3)).astype(float)
    x[:, 2] = x[:, 0] + x[:, 1]
    return x


TABLES = {
    "as small as it gets: 3 rows, 2 columns": _normal(3, 2),
    "fewer rows than columns": _normal(5, 8),
    "as many rows as columns": _normal(6, 6),
    "scale 1e140": _normal(30, 3) * 1e140,
    "scale 1e-140": _normal(30, 3) * 1e-140,
    "scales 1e-140 to 1e140": _normal(30, 3) * [1e-140, 1.0, 1e140],
    "scale 1e300": _normal(30, 3) * 1e300,
    "scale 1e-300": _normal(30, 3) * 1e-300,
    "far from zero": _normal(30, 3) + 1e9,
    "all rows twenty times": np.repeat(_normal(3, 3), 20, axis=0),
    "nearly collinear": _near_collinear(),
    "no noise": _line(),
    "perfect fits": _perfect(),
    "a column twice": _normal(30, 3)[:, [0, 1, 1]],
    "all rows the same but one": np.vstack([np.ones((29, 3)), [[2.0, 3.0, 5.0]]]),
    "one outlier": np.vstack([_normal(30, 3), [[1e12, 0, 0]]]),
    "two values": (_normal(30, 3) > 0).astype(float) * 1e-100,
    "whole numbers": np.random.default_rng(1).poisson(3, (30, 3)).astype(float) * 2**60,
}


def _every_family(d):
    """Return all families of up to 3 parents, and the largest ones."""
    sets = [
        (node, parents)
        for node in range(d)
        for size in {0, 1, 2, 3, d - 1}
        for parents in itertools.combinations([j for j in range(d) if j != node], size)
    ]
    return Families.from_sets(d, sets)


def _finite_or_refused(name, frame, **policy):
    """Return whether the table was scored; every value must then be finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            table, _ = check_table(frame, **policy)
            score = build_score(name, table)
            local = score.local(_every_family(table.n_columns))
        except DrboError:
            return False
    assert np.isfinite(local).all()
    return True


@pytest.mark.parametrize("what", list(TABLES))
@pytest.mark.parametrize("name", NUMERIC)
def test_numeric_scores(name, what):
    _finite_or_refused(name, TABLES[what], on_collinear="keep", on_constant="drop")


@pytest.mark.parametrize("name", ["bic-nv", "bic-ev", "bge", "gp", "splines"])
def test_ordinary_tables_are_not_refused(name):
    for what in ("fewer rows than columns", "scale 1e140", "scale 1e-140", "nearly collinear", "no noise"):
        assert _finite_or_refused(name, TABLES[what], on_collinear="keep"), what


def test_near_collinear_below_the_tolerance_is_named():
    x = _normal(40, 3)
    x[:, 2] = x[:, 0] + x[:, 1] + 1e-12 * x[:, 2]
    with pytest.raises(DrboError, match="exact linear combination"):
        check_table(x)
    for name in NUMERIC:
        _finite_or_refused(name, x, on_collinear="keep")


def _groups(n, d, levels, seed=0):
    codes = np.random.default_rng(seed).integers(levels, size=(n, d))
    codes[:levels] = np.arange(levels)[:, None]
    return pd.DataFrame({f"x{j}": pd.Categorical([f"l{c}" for c in codes[:, j]]) for j in range(d)})


@pytest.mark.parametrize("name", [*DISCRETE, *BINARY, "mixed", "mixed-cg"])
def test_categories(name):
    separated = pd.DataFrame({"a": list("xy" * 15), "b": list("pq" * 14 + "qp"), "c": list("xxyyy" * 6)})
    for frame in (_groups(30, 3, 2), _groups(30, 8, 2), _groups(60, 3, 30), _groups(6, 3, 2), separated):
        _finite_or_refused(name, frame, on_collinear="keep")
    one_level = _groups(30, 3, 2).assign(x0="same")
    with pytest.raises(DrboError, match="constant"):
        check_table(one_level)
    _finite_or_refused(name, one_level, on_constant="drop")


def test_perfect_separation_in_logistic_regression():
    a = np.repeat([0, 1], 50)
    frame = pd.DataFrame({"a": a == 1, "b": np.r_[a[1:], 0] == 1, "c": np.random.default_rng(0).random(100) < 0.5})
    assert _finite_or_refused("logistic", frame, on_collinear="keep")


@pytest.mark.parametrize("name", DISCRETE)
def test_more_parent_states_than_an_integer_counts(name):
    """30 parents of 10 levels have 1e30 states: only those that occur may be counted."""
    frame = _groups(200, 31, 10)
    table, _ = check_table(frame)
    score = build_score(name, table)
    local = score.local(Families.from_sets(31, [(0, tuple(range(1, 31))), (30, tuple(range(30))), (5, ())]))
    assert np.isfinite(local).all()


@pytest.mark.filterwarnings("ignore::UserWarning")  # some of these tables look like a series
@pytest.mark.parametrize("what", list(TABLES))
@pytest.mark.parametrize("options", [{}, {"max_evals": 15}, {"score": "gp", "max_evals": 6}], ids=str)
def test_a_whole_fit(what, options):
    try:
        model = DrBO(random_state=0, policy=DataPolicy(on_collinear="keep", on_constant="drop"), **options).fit(
            TABLES[what]
        )
    except DrboError:
        return
    assert np.isfinite(model.score_)
    assert np.isfinite(model.result_.pruned_score)
    assert model.weights_ is None or np.isfinite(model.weights_).all()
