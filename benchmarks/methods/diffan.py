"""DiffAN: a diffusion model learns the score of the data; the leaf is the node whose own derivative varies least.

Sanchez, Liu, O'Neil & Tsaftaris (2023), "Diffusion Models for Causal Discovery via Topological Ordering". One network
predicts the noise that was added to standardised rows, at any of 100 noise levels; its output is the score up to a
factor per level. As in SCORE the leaf has the least variance of d score_j / dx_j over the rows. This is the version
"DiffAN Masking": columns of leaves found so far are set to zero and the network is not trained again. Leaves are voted
on at four noise levels.

What differs: pruning is drbo's CAM in place of R's ``mgcv``. The paper on DrBO prunes linear data by
``prune="threshold"`` and Sachs by ``"kci"``.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from benchmarks.methods.base import Graph, Record
from benchmarks.methods.ordering import pruned
from drbo.data.files.simulate import standardize

#: The authors' repository, diffan/diffan.py: noise levels and their variances, passes over the data, rows per step,
#: learning rate, part of the rows that decides when to stop, passes without progress that end training, votes.
LEVELS = 100
BETA = (1e-4, 0.02)
EPOCHS = 3_000
BATCH = 1_024
LEARNING_RATE = 1e-3
HELD_OUT = 0.2
FIRST_LOOK, LOOK_EVERY, PATIENCE = 300, 10, 300
VOTES = 3
#: The same, diffan/nn.py: least units of the outer and the inner layers, dropout.
OUTER, INNER = 128, 1_024
DROPOUT = 0.2
#: The last level as the network sees it: gaussian_diffusion.py there. Beside rows of variance 1 such numbers fill the
#: first layer norm and hide the rows; with 1 the same network learns more: ``time_scale=1`` is the stronger rival on
#: nonlinear data.
TIME_SCALE = 1_000.0


def learn(
    values: npt.NDArray[np.float64],  # (n, d)
    *,
    seed: int,
    record: Record | None = None,
    epochs: int = EPOCHS,
    inner: int = INNER,
    time_scale: float = TIME_SCALE,
    prune: str = "cam",
    device: str = "cpu",
) -> Graph:
    """Return the DAG after pruning."""
    graph = pruned(values, diffan_order(values, seed, epochs, inner, time_scale, device), prune)
    if record:
        record(1, graph)
    return graph


def diffan_order(
    values: npt.NDArray[np.float64],
    seed: int,
    epochs: int = EPOCHS,
    inner: int = INNER,
    time_scale: float = TIME_SCALE,
    device: str = "cpu",
) -> list[int]:
    """Return the nodes, causes first."""
    rows = torch.as_tensor(standardize(values), dtype=torch.float32, device=device)
    network = Network(rows.shape[1], inner, seed, time_scale).to(device)
    fit(network, rows, epochs, seed)
    rows = rows[:BATCH].clone()
    left, leaves = list(range(rows.shape[1])), list[int]()
    while len(left) > 1:
        spread = [network.slopes(rows, level, left).var(dim=0) for level in range(0, LEVELS + 1, LEVELS // VOTES)]
        votes = Counter(int(variances.argmin()) for variances in spread)
        leaves.append(left.pop(votes.most_common(1)[0][0]))
        rows[:, leaves[-1]] = 0.0
    return [*left, *reversed(leaves)]


class Network(nn.Module):
    """A network from a noisy row and its level to the noise in it."""

    def __init__(self, d: int, inner: int, seed: int, time_scale: float = TIME_SCALE) -> None:
        super().__init__()
        self.time_scale = time_scale
        wide, narrow = max(inner, 5 * d), max(OUTER, 3 * d)
        self.first_units = narrow
        generator = torch.Generator().manual_seed(seed)
        sizes = [(d + 1, narrow), (narrow, wide), (wide, wide), (wide, narrow), (narrow, d)]
        self.layers = nn.ModuleList(
            _linear(*size, bias=place > 0, generator=generator) for place, size in enumerate(sizes)
        )
        self.norms = nn.ModuleList([nn.LayerNorm(narrow), nn.LayerNorm(wide)])

    def forward(self, rows: Tensor, level: Tensor, kept: Tensor | None = None) -> Tensor:
        """Return the predicted noise (b, d); ``kept`` (b, narrow) is the dropout mask with its scale."""
        x = torch.cat([rows, level[:, None] * (self.time_scale / LEVELS)], dim=1)
        for place, layer in enumerate(self.layers):
            x = layer(x)
            if place < len(self.layers) - 1:
                x = nn.functional.leaky_relu(x)
            if place < len(self.norms):
                x = self.norms[place](x)
            if place == 0 and kept is not None:
                x = x * kept
        return x

    def slopes(self, rows: Tensor, level: int, nodes: Sequence[int]) -> Tensor:
        """Return d output_j / d row_j (b, len(nodes)) of some nodes."""
        levels = torch.full((len(rows),), float(level), device=rows.device)
        inputs = rows.detach().requires_grad_()
        output = self(inputs, levels)
        # Rows do not meet in the network, so the gradient of a column's sum holds every row's own.
        return torch.stack(
            [torch.autograd.grad(output[:, node].sum(), inputs, retain_graph=True)[0][:, node] for node in nodes], dim=1
        )


def _linear(size: int, units: int, *, bias: bool, generator: torch.Generator) -> nn.Linear:
    """Return a layer with torch's usual initialisation, drawn from the generator."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, size, units, bias=bias)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_((2 * torch.rand(parameter.shape, generator=generator) - 1) / size**0.5)
    return layer


def fit(network: Network, rows: Tensor, epochs: int, seed: int) -> None:
    """Train the network to predict the noise of a random level; keep the weights that are best on held-out rows."""
    generator = torch.Generator(rows.device).manual_seed(seed)
    held_out = int(HELD_OUT * len(rows))
    training, validation = rows[: len(rows) - held_out], rows[len(rows) - held_out :]
    optimiser = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    best, best_epoch, weights = float("inf"), min(FIRST_LOOK, epochs - LOOK_EVERY), dict[str, Tensor]()
    for epoch in range(epochs):
        for batch in training.split(min(BATCH, len(training))):
            if len(batch) < min(BATCH, len(training)):
                break  # the authors drop a smaller last batch
            optimiser.zero_grad()
            noise_loss(network, batch, generator, dropout=True).backward()
            optimiser.step()
        if epoch % LOOK_EVERY == 0 and epoch > best_epoch:
            with torch.no_grad():
                loss = float(noise_loss(network, validation, generator, dropout=True))
            if loss < best:
                best, best_epoch = loss, epoch
                weights = {name: value.clone() for name, value in network.state_dict().items()}
        if epoch - best_epoch > PATIENCE:
            break
    if weights:
        network.load_state_dict(weights)


def noise_loss(network: Network, rows: Tensor, generator: torch.Generator, *, dropout: bool) -> Tensor:
    """Return the mean squared error of the predicted noise at random levels.

    The authors leave dropout on when they look at held-out rows.
    """
    kept_part = torch.cumprod(1 - torch.linspace(*BETA, LEVELS, device=rows.device), 0)
    level = torch.randint(LEVELS, (len(rows),), generator=generator, device=rows.device)
    noise = torch.randn(rows.shape, generator=generator, device=rows.device)
    part = kept_part[level][:, None]
    noisy = part.sqrt() * rows + (1 - part).sqrt() * noise
    kept = None
    if dropout:
        shape = (len(rows), network.first_units)
        kept = (torch.rand(shape, generator=generator, device=rows.device) >= DROPOUT) / (1 - DROPOUT)
    predicted: Tensor = network(noisy, level.float(), kept)
    return ((noise - predicted) ** 2).mean()
