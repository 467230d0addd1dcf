"""Scores, which compute with NumPy, applied to the tensors of the networks."""

import numpy as np
import torch
from torch import Tensor

from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.paper.inputs import Inputs


class Prices:
    """The prices of families: on the device, by sums over edges, where each edge has a price of its own.

    A score whose prices are no such sums is asked for each family, in NumPy.
    """

    def __init__(self, score: Score, inputs: Inputs, device: torch.device) -> None:
        self.score, self.each = score, None
        table = score.price_table()
        if table is not None:
            gains = np.take_along_axis(-table, np.maximum(inputs.parents, 0), axis=1) * (inputs.parents >= 0)
            self.each = torch.as_tensor(gains, dtype=torch.float32, device=device)  # (d, m) of each input

    def of(
        self,
        nodes: Tensor,  # (m,)
        parents: Tensor,  # (m, C, d) bool
        seen: Tensor,  # (m, C, n_inputs) the same as inputs of the networks, 0.0 or 1.0
    ) -> Tensor:
        """Return the prices (m, C) of parent sets."""
        if self.each is None:
            return self.asked(nodes, parents)
        return torch.bmm(seen, self.each[nodes][:, :, None])[:, :, 0]

    def asked(self, nodes: Tensor, parents: Tensor) -> Tensor:
        """Return the same from the score."""
        m, count, d = parents.shape
        families = Families(np.repeat(nodes.cpu().numpy(), count), parents.cpu().numpy().reshape(m * count, d))
        found = self.score.family_price(families).reshape(m, count)
        return torch.as_tensor(found, dtype=torch.float32, device=parents.device)


def combined(
    score: Score,
    cost: Tensor,  # (..., d): minus the local values
    price: Tensor,  # (..., d)
) -> Tensor:
    """Return the scores (...) of DAGs from the drawn costs and the prices of their families.

    The networks learn costs, such as the paper's ln MSE. On a GPU the common forms of a score are computed there:
    copying all draws to the CPU would take longer than drawing them.
    """
    found = on_device(score, cost, price) if cost.is_cuda else None
    if found is not None:
        return found
    scores = score.combine(-cost.cpu().numpy(), price.cpu().numpy())
    return torch.as_tensor(scores, dtype=cost.dtype, device=cost.device)


def on_device(score: Score, cost: Tensor, price: Tensor) -> Tensor | None:
    """Return the same by torch, for a score that is additive or has one noise variance; None for any other."""
    if score.equal_variance:
        total = float(score.n_rows.sum())
        weighted = cost + _numbers(np.log(score.n_rows / total), cost)
        return _sum(price) - total * torch.logsumexp(weighted, -1)
    if type(score).combine is Score.combine and type(score).share is Score.share:
        return _sum(price - _numbers(np.broadcast_to(score.gain, score.n_nodes), cost) * cost)
    return None


def _numbers(values: np.ndarray[tuple[int], np.dtype[np.float64]], like: Tensor) -> Tensor | float:
    """Return numbers (d,) as a tensor, or the number that all nodes share: a copy to a GPU waits for its work."""
    return float(values[0]) if (values == values[0]).all() else torch.tensor(values).to(like)


def _sum(values: Tensor) -> Tensor:
    """Return the sums over the last axis, in double precision, so that the order of the terms hardly matters."""
    return values.sum(-1, dtype=torch.float64).to(values.dtype)
