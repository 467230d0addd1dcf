import numpy as np
import pytest
import torch

from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.knowledge import Knowledge
from drbo.scores.base import Score
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.families import Families
from drbo.scores.linear import BicEV, BicNV
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.score_tensors import Prices, combined, on_device

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


class Product(Score):
    """Combined by a rule of its own."""

    def combine(self, local, price):
        return local.prod(axis=-1) + price.sum(axis=-1)


def _table(rng):
    return Statistics.from_array(rng.normal(size=(60, 4)))


class Constant(BicNV):
    """A family without parents has a price."""

    def parameters(self, families):
        return families.sizes + 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("few", [False, True], ids=["all nodes", "few inputs"])
@pytest.mark.parametrize(
    ("kind", "on_edges"), [(BicNV, True), (BicEV, True), (BDeu, True), (DiscreteBIC, False), (Constant, False)]
)
def test_prices_of_candidates_are_those_of_families(rng, kind, on_edges, few, device):
    table = Statistics.from_array(rng.integers(3, size=(60, 5)))
    score = kind(table, penalty="ebic", edge_prior=rng.normal(size=(5, 5)))
    forbidden = [f"x{i} -> x{j}" for i in range(5) for j in range(5) if j not in (i, i + 1, i + 2)] if few else []
    constraints = Constraints.of(Knowledge(forbidden=forbidden), table.names)
    inputs = Inputs.allowed(constraints)
    assert (inputs.n_inputs == 5) != few
    dags = (rng.random((7, 5, 5)) < 0.5) & constraints.allowed & ~np.eye(5, dtype=bool)
    nodes = torch.tensor([3, 1], device=device)
    parents = torch.as_tensor(dags.transpose(2, 0, 1), device=device)[nodes]
    found = Prices(score, inputs, torch.device(device))
    assert (found.each is not None) == on_edges
    found = found.of(nodes, parents, inputs.gather(nodes, parents).float())
    assert (found.dtype, found.shape, found.device.type) == (torch.float32, (2, 7), device)
    expected = score.family_price(Families.from_dags(dags)).reshape(7, 5)[:, [3, 1]].T
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
