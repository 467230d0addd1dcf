"""Variants of the paper's loop replace one part each."""

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from benchmarks.methods.metrics import dag_score
from benchmarks.methods.variants import NOISE, VARIANTS, draw_posterior
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.linear import BicEV
from drbo.search.strategy import new_search
from drbo.settings import Settings


@pytest.fixture
def started():
    def start(variant, evals=24):
        score = BicEV(Statistics.from_array(simulate("4ER1", n=100, seed=100).X), penalty=1.0)
        settings = Settings.preset("paper").with_(max_evals=evals, batch_size=8, n_candidates=32, n_replay=4)
        state = new_search(score, settings, seed=0)
        generator = state.proposer.generator
        state.proposer = VARIANTS[variant](state.evaluator, settings, state.constraints, state.rng, generator)
        return state

    return start


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_spends_the_same_evaluations_and_finds_a_dag(started, variant):
    state = started(variant)
    assert state.run().n_evals == 24
    assert np.isfinite(state.best.scores[0])


def test_the_direct_network_sees_whole_dags_and_whole_scores(started):
    state = started("direct", evals=8)
    state.run()
    history = state.proposer.history
    dags = history.parents(torch.arange(8))[0].numpy().astype(bool).reshape(8, 4, 4)
    scores = [dag_score(state.evaluator.score, dag) for dag in dags]
    assert history.local(torch.arange(8))[0].numpy() == pytest.approx(scores, rel=1e-5)


def test_a_pass_of_the_retraining_covers_every_evaluation(started):
    state = started("retrained")
    state.run()
    history, settings = state.proposer.history, state.settings
    history._left = torch.empty(0, dtype=torch.int64)
    rows = history.training_rows(8, settings.with_(n_grads=2), state.proposer.generator)
    assert sorted(rows.flatten().tolist()) == list(range(24))


def test_the_posterior_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    seen, asked = np.unique(rng.integers(0, 2, (12, 6)), axis=0).astype(float), rng.integers(0, 2, (5, 6)).astype(float)
    values = seen @ rng.normal(size=6)
    models = [
        GaussianProcessRegressor(RBF(scale, "fixed"), alpha=NOISE, optimizer=None, normalize_y=True).fit(seen, values)
        for scale in (1.0, 2.0, 4.0, 8.0, 16.0)
    ]
    best = max(models, key=lambda model: model.log_marginal_likelihood_value_)
    mean, deviation = best.predict(asked, return_std=True)
    tensors = [torch.as_tensor(array) for array in (seen, values, asked)]
    assert draw_posterior(*tensors, torch.zeros(5)).numpy() == pytest.approx(mean, abs=1e-6)
    assert draw_posterior(*tensors, torch.ones(5)).numpy() == pytest.approx(mean + deviation, abs=1e-6)
