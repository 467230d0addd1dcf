import numpy as np
import pytest
import torch

from drbo.data.statistics.table import Table
from drbo.scores.base import Score
from drbo.scores.discrete import DiscreteBIC
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.paper.score_tensors import combined, on_device, prices

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


class Product(Score):
    """Combined by a rule of its own."""

    def combine(self, local, price):
        return local.prod(axis=-1) + price.sum(axis=-1)


def _table(rng):
    return Table.from_array(rng.normal(size=(60, 4)))


@pytest.mark.parametrize("device", DEVICES)
def test_prices_of_candidates_are_those_of_families(rng, device):
    table = Table.from_array(rng.integers(3, size=(60, 4)))
    score = DiscreteBIC(table, penalty="ebic", edge_prior=rng.normal(size=(4, 4)))
    dags = rng.random((7, 4, 4)) < 0.5
    nodes = torch.tensor([3, 1], device=device)
    found = prices(score, nodes, torch.as_tensor(dags.transpose(2, 0, 1), device=device)[nodes])
    assert (found.dtype, found.shape, found.device.type) == (torch.float32, (2, 7), device)
    expected = score.family_price(Families.from_dags(dags)).reshape(7, 4)[:, [3, 1]].T
    assert found.cpu().numpy() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", [BicNV, BicEV, Product])
@pytest.mark.parametrize("targets", [False, True], ids=["same rows", "other rows"])
def test_draws_are_combined_as_by_the_score(rng, kind, targets, device):
    """In any layout, also where rows differ from node to node."""
    given = rng.random((60, 4)) < [0.0, 0.3, 0.0, 0.1] if targets else None
    score = kind(_table(rng), targets=given)
    cost, price = rng.normal(size=(4, 5, 3)).astype(np.float32), rng.normal(size=(4, 5)).astype(np.float32)
    tensors = torch.as_tensor(cost, device=device), torch.as_tensor(price, device=device)
    found = combined(score, tensors[0].permute(1, 2, 0), tensors[1].T[:, None, :])
    assert (found.dtype, found.shape, found.device.type) == (torch.float32, (5, 3), device)
    by_torch = on_device(score, tensors[0].permute(1, 2, 0), tensors[1].T[:, None, :])
    assert (by_torch is None) == (kind is Product)
    expected = score.combine(-cost.astype(float).transpose(1, 2, 0), price.astype(float).T[:, None, :])
    assert found.cpu().numpy() == pytest.approx(expected, rel=1e-5, abs=1e-4)
    if by_torch is not None:
        assert by_torch.cpu().numpy() == pytest.approx(expected, rel=1e-5, abs=1e-4)
