"""Scores on held-out rows: useful parents gain, and values are kept."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.methods import held_out
from benchmarks.methods.held_out import BOOSTING, NETWORK, HeldOut


@pytest.fixture(autouse=True)
def memo(tmp_path, monkeypatch):
    monkeypatch.setattr(held_out, "MEMO", tmp_path)


@pytest.fixture
def bent(rng):
    """Column 1 is the size of column 0 with noise."""
    x = rng.normal(size=(200, 3))
    x[:, 1] += np.abs(2 * x[:, 0])
    return x


@pytest.mark.parametrize("kind", ["boosting", "network"])
def test_a_useful_parent_scores_higher_and_scores_are_kept(kind, bent, monkeypatch):
    score = HeldOut(bent, kind, "table")
    assert score(1, (0,)) > max(score(1, ()), score(1, (2,)), score(1, (2, 0)))
    assert score(1, ()) == pytest.approx(0.0)  # the log of the variance of a standardised column
    with score.path.open("a") as file:
        file.write("2 0 1")  # a process that was killed leaves half a line
    again = HeldOut(bent, kind, "table")
    monkeypatch.delattr(HeldOut, "compute")
    assert [again(1, ()), again(1, (0, 2))] == [score(1, ()), score(1, (0, 2))]
    assert len(again.known) == 4


def test_boosting_is_cross_validated(bent):
    x = (bent - bent.mean(axis=0)) / bent.std(axis=0)
    folds, trees = KFold(2, shuffle=True, random_state=0), HistGradientBoostingRegressor(**BOOSTING)
    error = np.mean((x[:, 1] - cross_val_predict(trees, x[:, [0, 2]], x[:, 1], cv=folds)) ** 2)
    assert HeldOut(bent, "boosting", "table")(1, (0, 2)) == pytest.approx(-200 * np.log(error) - 2 * np.log(200))


def test_networks_that_are_trained_together_are_those_that_are_trained_alone(bent):
    score, alone = HeldOut(bent, "network", "table"), HeldOut(bent, "network", "alone")
    score.fill(2)
    assert len(score.known) == 3 * 4
    for (node, *parents), value in score.known.items():
        assert alone(node, tuple(parents)) == pytest.approx(value, abs=0.01)


def test_a_network_is_the_one_that_torch_trains(bent):
    x = torch.tensor((bent - bent.mean(axis=0)) / bent.std(axis=0), dtype=torch.float32)
    inner, outer = held_out._weights(3, torch.tensor([[[1.0], [0.0], [1.0]]]))
    errors = []
    for seen, unseen in KFold(2, shuffle=True, random_state=0).split(bent):
        with torch.random.fork_rng(devices=[]):
            first, last = torch.nn.Linear(2, NETWORK["hidden"]), torch.nn.Linear(NETWORK["hidden"], 1)
        with torch.no_grad():
            first.weight.copy_(inner[0, [0, 2]].T)
            last.weight.copy_(outer[0].T)
            first.bias.zero_()
            last.bias.zero_()
        network = torch.nn.Sequential(first, torch.nn.Tanh(), last)
        adam = torch.optim.Adam(network.parameters(), lr=NETWORK["rate"])
        for _ in range(NETWORK["steps"]):
            adam.zero_grad()
            weight = (first.weight**2).sum() + (last.weight**2).sum()
            loss = torch.mean((network(x[seen][:, [0, 2]])[:, 0] - x[seen, 1]) ** 2) + NETWORK["decay"] * weight / 100
            loss.backward()
            adam.step()
        errors.append(torch.mean((network(x[unseen][:, [0, 2]])[:, 0] - x[unseen, 1]) ** 2).item())
    expected = -200 * np.log(np.mean(errors)) - 2 * np.log(200)
    assert HeldOut(bent, "network", "table")(1, (0, 2)) == pytest.approx(expected, abs=0.05)
