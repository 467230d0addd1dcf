import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.constraints import Constraints
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables, sets_of
from drbo.search.exact.useful_parents import Effort, enumerable, useful_sets
from drbo.settings import Settings

D = 7
NAMES = [f"x{k}" for k in range(D)]
KINDS = ["bic-nv", "bic-ev", "bge", "bdeu", "bic-discrete"]


def _score(name, seed, n=80, **options):
    model = "logistic" if name in ("bdeu", "bic-discrete") else "linear"
    return build_score(name, Statistics.from_array(simulate(f"{D}ER2", model, n=n, seed=seed).X), options)


def _effort():
    return Effort(time.monotonic() + 60)


def _known():
    return Constraints.of(Knowledge(forbidden=["x0 -> x1"], required=["x2 -> x3"], roots=["x4"], max_parents=3), NAMES)


def _level(score):
    return 1.3 if score.name == "bic-ev" else None


def _check(score, constraints, known=-np.inf):
    """Every listed set has the share of the tables; every set that beats all of its subsets is listed."""
    level = _level(score)
    shares = all_tables(Evaluator(score, Settings()), constraints).shares(score, level)
    found = useful_sets(score, enumerable(score), constraints, known, level, _effort())
    tops = shares.max(axis=1)
    for node in range(D):
        true = dict(zip(sets_of(D, node).tolist(), shares[node].tolist(), strict=True))
        listed = dict(zip(found.masks[node].tolist(), found.shares[node].tolist(), strict=True))
        assert all(abs(true[mask] - share) < 1e-7 for mask, share in listed.items())
        assert (np.diff(found.shares[node]) <= 0).all()
        inside = {}
        for mask in sorted(true, key=int.bit_count):
            less = max((inside[mask & ~(1 << k)] for k in range(D) if mask >> k & 1), default=-np.inf)
            if true[mask] > less + 1e-7 and true[mask] >= known - (tops.sum() - tops[node]) + 1e-7:
                assert mask in listed
            inside[mask] = max(less, true[mask])
    return found


@pytest.mark.parametrize("with_knowledge", [False, True])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_only_sets_that_a_subset_beats_are_skipped(name, seed, with_knowledge):
    prior = np.random.default_rng(seed).normal(size=(D, D)) if seed == 2 else None
    score = _score(name, seed, edge_prior=prior)
    _check(score, _known() if with_knowledge else Constraints.none(D))


@pytest.mark.parametrize("name", ["bic-nv", "bge", "bic-discrete"])
def test_rows_set_by_intervention_are_left_out(name):
    targets = np.zeros((80, D), dtype=bool)
    targets[:20, 1] = targets[15:30, 3] = True
    _check(_score(name, 1, targets=targets), Constraints.none(D))


@given(seed=st.integers(0, 10**6), n=st.integers(12, 200), name=st.sampled_from(KINDS), high=st.booleans())
@settings(max_examples=40, deadline=None)
def test_skipped_sets_are_in_no_better_dag(seed, n, name, high):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D)) @ (np.eye(D) + (rng.random((D, D)) < 0.4) * rng.normal(size=(D, D)))
    if name in ("bdeu", "bic-discrete"):
        x = (x > rng.normal(size=D)).astype(float) + (x > 1)
        x[:3] = np.arange(3)[:, None]
    score = build_score(name, Statistics.from_array(x))
    if enumerable(score) is None:
        return
    shares = all_tables(Evaluator(score, Settings()), Constraints.none(D)).shares(score, _level(score))
    _check(score, Constraints.none(D), float(shares[:, 0].sum()) if high else -np.inf)


def test_a_good_dag_leaves_fewer_sets():
    score = _score("bic-nv", 0)
    everything = _check(score, Constraints.none(D))
    tops = sum(part[0] for part in everything.shares)
    fewer = _check(score, Constraints.none(D), tops - 20)
    assert fewer.count < everything.count


@pytest.mark.parametrize("limit", [{"max_looked_at": 100}, {"max_kept": 9}])
@pytest.mark.parametrize("name", ["bge", "bdeu"])
def test_too_many_sets_are_given_up(name, limit):
    score, effort = _score(name, 0), Effort(time.monotonic() + 60, **limit)
    assert useful_sets(score, enumerable(score), Constraints.none(D), -np.inf, None, effort) is None


def test_scores_that_can_be_enumerated():
    class Own(Score):
        def local_one(self, node, parents):
            return 0.0

    values = np.random.default_rng(0).normal(size=(70, 65))
    assert enumerable(build_score("bge", Statistics.from_array(values[:, :64]))) is not None
    assert enumerable(build_score("bge", Statistics.from_array(values))) is None
    assert enumerable(Own(Statistics.from_array(values[:, :5]))) is None
    values[:, 1] = values[:, 0] + 1e-6 * values[:, 2]
    assert enumerable(build_score("bic-nv", Statistics.from_array(values[:, :5]))) is None
