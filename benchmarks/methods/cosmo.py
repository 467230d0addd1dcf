"""COSMO: weights times a smooth orientation that priorities of the nodes give, sharpened while training.

Massidda, Landolfi, Cinquini & Bacciu (2024), "Constraint-Free Structure Learning with Smooth Acyclic Orientations": the
weight of i -> j is A_ij sigmoid((p_j - p_i - shift) / temperature). The temperature falls along half a cosine, after
which only edges to clearly higher priorities are left: a DAG. The loss is the mean squared error of a linear model, or
of a network per node with one hidden layer, plus lambda_1 |A|_1 + lambda_2 |A|_2 + lambda_p |p|_2.

The authors tune the settings for every kind of data by the true graphs (their section 5); the constants are what they
chose for 30 nodes, ER4, Gaussian noise, and for 20 nodes, ER4, networks. A step is one minibatch, which the paper on
DrBO takes as one evaluation; it cuts training at a number of steps, ``max_steps`` shortens the annealing instead.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import mse_loss

from benchmarks.methods.base import Graph, Record

#: The authors' repository, config/grids: size of an edge, rows per step, passes over the data, first temperature.
THRESHOLD = 0.3
BATCH = 64
EPOCHS = 2_000
FIRST_TEMPERATURE = 0.45
#: The same, validation/n1000_d30_ER4_gauss_cosmo.csv, rounded to two digits.
LINEAR = {
    "learning_rate": 7.9e-3,
    "l1": 9.4e-4,
    "l2": 2.2e-2,
    "priority": 1.7e-4,
    "temperature": 9.8e-4,
    "shift": 1.3e-2,
}
#: The same, validation/n1000_d20_ER4_mlp_cosmo_nl.csv, rounded; and hidden units of config/grids/cosmo_nl.yaml.
NONLINEAR = {
    "learning_rate": 2.1e-3,
    "l1": 9.7e-4,
    "l2": 1.6e-3,
    "priority": 1.8e-3,
    "temperature": 7.4e-4,
    "shift": 1.9e-2,
}
HIDDEN = 10


def learn(
    values: npt.NDArray[np.float64],  # (n, d)
    *,
    seed: int,
    record: Record | None = None,
    nonlinear: bool = False,
    threshold: float = THRESHOLD,
    epochs: int = EPOCHS,
    max_steps: int | None = None,
    record_every: int = 100,
    device: str = "cpu",
    **settings: float,
) -> Graph:
    """Return the edges whose weights are larger than the threshold; ``settings`` replace those of the constants."""
    unknown = settings.keys() - LINEAR.keys()
    if unknown:
        raise TypeError(f"unknown settings: {', '.join(sorted(unknown))}; known: {', '.join(LINEAR)}")
    chosen = {**(NONLINEAR if nonlinear else LINEAR), **settings}
    generator = torch.Generator().manual_seed(seed)
    data = torch.as_tensor(values, dtype=torch.float32)
    model = Model(data.shape[1], HIDDEN if nonlinear else None, chosen["shift"], generator, device)
    optimiser = torch.optim.Adam(model.parameters, lr=chosen["learning_rate"], foreach=True)
    total = max_steps or epochs * math.ceil(len(data) / BATCH)
    for step, rows in enumerate(_batches(len(data), total, generator), start=1):
        progress = (step - 1) / total
        fall = (1 + math.cos(math.pi * progress)) / 2
        temperature = chosen["temperature"] + (FIRST_TEMPERATURE - chosen["temperature"]) * fall
        batch = data[rows].to(device)
        loss = mse_loss(model(batch, temperature), batch)
        loss = loss + chosen["l1"] * model.adjacency.abs().sum() + chosen["l2"] * model.adjacency.norm()
        loss = loss + chosen["priority"] * model.priority.norm()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if record and step % record_every == 0:
            record(step, model.edges(temperature, threshold))
    return model.edges(chosen["temperature"], threshold)


def _batches(n: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield the rows of each step: passes over all rows in random order, the last batch of a pass smaller."""
    done = 0
    while True:
        for rows in torch.randperm(n, generator=generator).split(BATCH):
            if done == steps:
                return
            done += 1
            yield rows


class Model:
    """A structural model of all nodes: linear, or with a hidden layer of sigmoids per node."""

    def __init__(self, d: int, hidden: int | None, shift: float, generator: torch.Generator, device: str) -> None:
        self.hidden, self.shift = hidden, shift
        width = hidden or 1

        def uniform(bound: float, *shape: int) -> Tensor:
            return ((2 * torch.rand(*shape, generator=generator) - 1) * bound).to(device).requires_grad_()

        # torch's Kaiming initialisation as the authors call it: fan-in d, or d * hidden with torch's default gain
        self.adjacency = uniform(math.sqrt(3 / d) if hidden is None else 1 / math.sqrt(d * width), d, d, width)
        self.priority = (shift / math.sqrt(2) * torch.randn(d, generator=generator)).to(device).requires_grad_()
        self.parameters = [self.adjacency, self.priority]
        if hidden is not None:
            self.bias = uniform(1 / math.sqrt(d * width), d, width)
            self.output = uniform(1 / math.sqrt(width), d, width)
            self.intercept = uniform(1 / math.sqrt(width), d)
            self.parameters += [self.bias, self.output, self.intercept]
        self._off_diagonal = 1 - torch.eye(d, device=device)

    def weights(self, temperature: float) -> Tensor:
        """Return the oriented weights (d, d, width) from each node into the units of each other."""
        difference = self.priority[None, :] - self.priority[:, None]
        orientation = torch.sigmoid((difference - self.shift) / temperature) * self._off_diagonal
        return self.adjacency * orientation[:, :, None]

    def __call__(self, batch: Tensor, temperature: float) -> Tensor:
        """Return the predictions (b, d) of all nodes from the others."""
        weights = self.weights(temperature)
        if self.hidden is None:
            return batch @ weights[:, :, 0]
        units = torch.sigmoid(torch.einsum("bi,ijh->bjh", batch, weights) + self.bias)
        return (units * self.output).sum(-1) + self.intercept

    def edges(self, temperature: float, threshold: float) -> Graph:
        """Return the edges whose weights, summed over units, are larger than the threshold in size."""
        with torch.no_grad():
            found: Graph = (self.weights(temperature).sum(-1).abs() > threshold).cpu().numpy()
        return found
