import numpy as np
import pytest
import torch

from drbo.constraints import Constraints
from drbo.knowledge import Knowledge
from drbo.search.paper.history import History
from drbo.search.paper.inputs import Inputs
from drbo.settings import Settings

CPU = torch.device("cpu")


@pytest.mark.parametrize("d", [2, 8, 9, 21])
def test_dags_come_back_as_parent_vectors(d, rng):
    history = History(d, CPU)
    dags = rng.random((1500, d, d)) < 0.5
    local = rng.normal(size=(1500, d))
    history.append(dags[:700], local[:700])
    history.append(dags[700:], local[700:])  # grows past its first room
    rows = torch.tensor([3, 1499, 700, 3])
    assert len(history) == 1500
    assert (history.parents(rows).numpy() == dags[rows].transpose(2, 0, 1)).all()
    assert np.allclose(history.local(rows).numpy(), local[rows].T, rtol=1e-6)


def test_replay_draws_past_rows_only(rng):
    history = History(3, CPU)
    history.append(np.zeros((10, 3, 3), dtype=bool), np.zeros((10, 3)))
    generator = torch.Generator().manual_seed(0)
    settings = Settings().with_(n_grads=2)
    assert history.training_rows(10, settings, generator).tolist() == 2 * [list(range(10))]
    history.append(np.zeros((4, 3, 3), dtype=bool), np.zeros((4, 3)))
    steps = history.training_rows(4, settings.with_(n_replay=500), generator)
    assert steps.shape == (2, 500 + settings.paper.batch_size)
    for rows in steps:
        assert rows[:4].tolist() == [10, 11, 12, 13]
        assert set(rows[4:].tolist()) == set(range(10))
    assert not torch.equal(*steps)
    assert history.training_rows(4, settings.with_(n_replay=0), generator).tolist() == 2 * [[10, 11, 12, 13]]


def test_reservoir_is_a_uniform_sample():
    hits = np.zeros(40)
    for seed in range(400):
        history, rng = History(2, CPU), np.random.default_rng(seed)
        settings = Settings().with_(n_replay=10, replay="reservoir")
        for _ in range(5):
            history.append(np.zeros((8, 2, 2), dtype=bool), np.zeros((8, 2)))
            history.update_reservoir(8, settings, rng)
        kept = history.training_rows(8, settings, torch.Generator())[0, 8:].numpy()
        assert len(set(kept.tolist())) == 10
        hits[kept] += 1
    assert hits == pytest.approx(100, abs=5 * (400 * 0.25 * 0.75) ** 0.5)


def test_only_candidate_parents_are_kept(rng):
    allowed = rng.random((20, 20)) < 0.2
    np.fill_diagonal(allowed, False)
    names = [f"x{i}" for i in range(20)]
    known = Knowledge(forbidden=[(names[i], names[j]) for i, j in np.argwhere(~allowed) if i != j])
    inputs = Inputs.allowed(Constraints.of(known, names))
    history = History(20, CPU, inputs)
    dags = (rng.random((30, 20, 20)) < 0.5) & allowed
    history.append(dags, np.zeros((30, 20)))
    assert inputs.n_inputs == allowed.sum(axis=0).max() < 10
    seen = history.parents(torch.arange(30)).numpy()
    for node in range(20):
        members = np.flatnonzero(allowed[:, node])
        assert (seen[node][:, : len(members)] == dags[:, members, node]).all()
        assert not seen[node][:, len(members) :].any()
