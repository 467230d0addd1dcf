"""The surrogate: one small dropout network per node, all trained and sampled as one batched tensor program.

For node i (paper, Sec. 4.3), with x the 0/1 parent vector and m a dropout mask:

    z = x W1 + b1,   a = ReLU(m z / (1 - p)),   f = BatchNorm(a) W2 + b2

One stochastic pass is one draw from an approximate posterior of the local score.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from drbo.search.history import History
from drbo.settings import Settings

GRAD_CLIP = 0.5  # largest norm of a gradient, from the authors' program
BATCH_NORM_EPS = 1e-5
ADAM_BETAS = (0.9, 0.999)
ADAM_EPS = 1e-8
#: Predictions are cut to the range of known values, widened by this many ranges on each side.
RANGE_MARGIN = 1.0
#: A node whose known values hardly differ is scaled as if they spread this much.
MIN_SPREAD = 1e-3


@dataclass
class Draws:
    """Functions drawn from the posterior: one dropout mask per function and network."""

    weight1: Tensor  # (d, d, h)
    bias1: Tensor  # (d, h)
    output: Tensor  # (d, h, S): output weights of each function, dropped units 0
    offset: Tensor  # (d, 1): output at zero activation, on the networks' scale

    def local(self, nodes: Tensor, parents: Tensor) -> Tensor:
        """Return the drawn values (m, C, S), on the networks' scale, for parents (m, C, d) of nodes (m,)."""
        hidden = torch.baddbmm(self.bias1[nodes][:, None, :], parents.to(self.weight1.dtype), self.weight1[nodes])
        return torch.baddbmm(self.offset[nodes][:, :, None], hidden.relu_(), self.output[nodes])


class DropoutSurrogate:
    """d dropout networks from a node's parents to its local score.

    Parameters and Adam's moments are each one flat tensor, so a training step is a handful of batched operations.
    """

    def __init__(self, n_nodes: int, settings: Settings, generator: torch.Generator) -> None:
        d, h = n_nodes, settings.hidden
        self.n_nodes, self.settings = n_nodes, settings
        self.device = generator.device
        shapes = {"w1": (d, d, h), "b1": (d, h), "gamma": (d, h), "beta": (d, h), "w2": (d, h), "b2": (d, 1)}
        sizes = [torch.Size(shape).numel() for shape in shapes.values()]
        self.flat, self.moment1, self.moment2, self._gradient = torch.zeros(4, sum(sizes), device=self.device)
        self._p = _views(self.flat, shapes, sizes)
        self._g = _views(self._gradient, shapes, sizes)
        for name, fan_in in (("w1", d), ("b1", d), ("w2", h), ("b2", h)):  # the usual start of a linear layer
            self._p[name].uniform_(-(fan_in**-0.5), fan_in**-0.5, generator=generator)
        self._p["gamma"].fill_(1.0)
        self.steps = 0
        self.mean = torch.zeros(d, 1, device=self.device)
        self.spread = torch.ones(d, 1, device=self.device)
        self.low = torch.full((d, 1), -torch.inf, device=self.device)
        self.high = torch.full((d, 1), torch.inf, device=self.device)
        self.activation_mean = torch.zeros(d, h, device=self.device)
        self.activation_var = torch.ones(d, h, device=self.device)

    def update(self, history: History, n_new: int, generator: torch.Generator) -> None:
        """Train on the newest DAGs and a replay of past ones (paper, Sec. 4.5)."""
        self._rescale(history, n_new)
        rows = None
        for _ in range(self.settings.n_grads):
            rows = history.training_rows(n_new, self.settings, generator)
            self._step(history.parents(rows), self._scaled(history.local(rows)), generator)
        if rows is not None:
            self._measure_activations(history.parents(rows))

    def _scaled(self, local: Tensor) -> Tensor:
        return (local - self.mean) / self.spread

    def _rescale(self, history: History, n_new: int) -> None:
        """Keep the range of known values; set their mean and spread while there are few, then at each doubling."""
        fresh = history.local(torch.arange(len(history) - n_new, len(history), device=self.device))
        self.low = torch.minimum(self.low, fresh.amin(1, keepdim=True)) if len(history) > n_new else fresh.amin(1, True)
        self.high = (
            torch.maximum(self.high, fresh.amax(1, keepdim=True)) if len(history) > n_new else fresh.amax(1, True)
        )
        doubled = len(history).bit_length() != (len(history) - n_new).bit_length()
        if self.settings.standardize_targets and doubled:
            known = history.local(torch.arange(len(history), device=self.device))
            self.mean = known.mean(1, keepdim=True)
            self.spread = known.std(1, correction=0, keepdim=True).clamp(min=MIN_SPREAD)

    def _step(
        self,
        parents: Tensor,  # (d, N, d) float
        targets: Tensor,  # (d, N)
        generator: torch.Generator,
    ) -> None:
        """Take one Adam step on the square loss; the gradient is written out, with a the activations.

        With v = gamma w2 / sigma the output is (a - mu) v + (beta . w2 + b2), and the gradient of the loss with
        respect to a is v (r - mean r - (a - mu) q / sigma) for the residuals r and q = mean(r (a - mu)) / sigma.
        """
        p, g, n = self._p, self._g, parents.shape[1]
        keep = 1.0 / (1.0 - self.settings.dropout)
        act = torch.baddbmm(p["b1"][:, None, :], parents, p["w1"]).relu_()
        act *= self._kept(act.shape, generator)
        act *= keep
        var, mu = _moments(act)
        inv_sigma = (var + BATCH_NORM_EPS).rsqrt()  # (d, h)
        v = p["gamma"] * p["w2"] * inv_sigma
        offset = (p["beta"] * p["w2"]).sum(1, keepdim=True) + p["b2"] - (mu * v).sum(1, keepdim=True)
        residual = torch.baddbmm(offset[:, :, None], act, v[:, :, None])[:, :, 0] - targets  # (d, N)
        residual *= 2.0 / targets.numel()  # the loss is the mean over rows and nodes
        total = residual.sum(1, keepdim=True)
        centred = (torch.bmm(residual[:, None, :], act)[:, 0] - mu * total) * inv_sigma  # sum of r xhat, (d, h)
        g["gamma"].copy_(centred * p["w2"])
        g["w2"].copy_(centred * p["gamma"] + total * p["beta"])
        g["beta"].copy_(total * p["w2"])
        g["b2"].copy_(total)
        slope = v * centred * inv_sigma / n
        back = torch.baddbmm((slope * mu - v * total / n)[:, None, :], residual[:, :, None], v[:, None, :])
        back.addcmul_(act, slope[:, None, :], value=-1.0)
        back *= act > 0
        back *= keep
        torch.bmm(parents.transpose(1, 2), back, out=g["w1"])
        torch.sum(back, 1, out=g["b1"])
        self._adam()

    def _adam(self) -> None:
        """Clip the gradient's norm and take one step of Adam (Kingma & Ba 2015)."""
        self.steps += 1
        gradient, (beta1, beta2) = self._gradient, ADAM_BETAS
        gradient *= (GRAD_CLIP / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp(max=1.0)
        self.moment1.lerp_(gradient, 1 - beta1)
        self.moment2.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        rate = self.settings.learning_rate / (1 - beta1**self.steps)
        root = (self.moment2 / (1 - beta2**self.steps)).sqrt_().add_(ADAM_EPS)
        self.flat.addcdiv_(self.moment1, root, value=-rate)

    def _kept(self, shape: torch.Size, generator: torch.Generator) -> Tensor:
        """Draw a mask of kept units from 16 random bits each: drawing is most of the cost of dropout."""
        size = shape.numel()
        bits = torch.empty((size + 3) // 4, dtype=torch.int64, device=self.device)
        bits.random_(-(2**63), None, generator=generator)
        threshold = round(self.settings.dropout * 2**16) - 2**15
        return (bits.view(torch.int16)[:size] >= threshold).view(shape)

    def _measure_activations(self, parents: Tensor) -> None:
        """Set the statistics that draws normalise with: of the last training batch, averaged over masks."""
        act = torch.baddbmm(self._p["b1"][:, None, :], parents, self._p["w1"]).relu_()
        self.activation_mean = act.mean(1)
        second = act.square().mean(1) / (1.0 - self.settings.dropout)
        self.activation_var = (second - self.activation_mean.square()).clamp(min=0.0)

    def draw(self, n: int, generator: torch.Generator) -> Draws:
        """Draw n functions from the posterior."""
        p = self._p
        v = p["gamma"] * p["w2"] * (self.activation_var + BATCH_NORM_EPS).rsqrt()
        offset = (p["beta"] * p["w2"]).sum(1, keepdim=True) + p["b2"]
        offset = offset - (self.activation_mean * v).sum(1, keepdim=True)
        kept = self._kept(torch.Size((*v.shape, n)), generator)
        output = v[:, :, None] * kept / (1.0 - self.settings.dropout)
        return Draws(p["w1"], p["b1"], output, offset)

    def sample_rows(self, nodes: Tensor, parents: Tensor, generator: torch.Generator) -> Tensor:
        """Return one draw (m, C) per candidate, each with a mask of its own, on the networks' scale."""
        p = {name: value[nodes] for name, value in self._p.items()}
        act = torch.baddbmm(p["b1"][:, None, :], parents.to(p["w1"].dtype), p["w1"]).relu_()
        act *= self._kept(act.shape, generator)
        act *= 1.0 / (1.0 - self.settings.dropout)
        if self.settings.batch_norm == "candidates":
            var, mu = _moments(act)
        else:
            var, mu = self.activation_var[nodes], self.activation_mean[nodes]
        v = p["gamma"] * p["w2"] * (var + BATCH_NORM_EPS).rsqrt()
        offset = (p["beta"] * p["w2"]).sum(1, keepdim=True) + p["b2"] - (mu * v).sum(1, keepdim=True)
        return torch.baddbmm(offset[:, :, None], act, v[:, :, None])[:, :, 0]

    def to_local(self, nodes: Tensor, drawn: Tensor) -> Tensor:
        """Bring draws (m, ...) back to the scale of the local scores, cut to the range that was seen, widened."""
        shape = (-1, *[1] * (drawn.dim() - 1))
        mean, spread = self.mean[nodes].view(shape), self.spread[nodes].view(shape)
        margin = RANGE_MARGIN * (self.high - self.low)[nodes].view(shape)
        low, high = self.low[nodes].view(shape) - margin, self.high[nodes].view(shape) + margin
        return torch.clamp(mean + spread * drawn, low, high)

    def node_chunks(self, n_candidates: int, n_values: int) -> Iterator[Tensor]:
        """Split the nodes so that hidden layers, parents and drawn values stay within ``max_memory``."""
        floats = 3 * self.settings.hidden + 3 * self.n_nodes + 3 * n_values
        per_node = 4 * n_candidates * floats
        step = max(1, int(self.settings.max_memory * 2**30 / 2 / per_node))
        yield from torch.arange(self.n_nodes, device=self.device).split(step)


def _moments(act: Tensor) -> tuple[Tensor, Tensor]:
    """Return variance and mean (m, h) of activations (m, N, h) over the rows, as matrix products: quicker."""
    ones = act.new_full((act.shape[0], 1, act.shape[1]), 1.0 / act.shape[1])
    mean = torch.bmm(ones, act)[:, 0]
    second = torch.bmm(ones, act.square())[:, 0]
    return (second - mean.square()).clamp_(min=0.0), mean


def _views(flat: Tensor, shapes: dict[str, tuple[int, ...]], sizes: list[int]) -> dict[str, Tensor]:
    parts = flat.split(sizes)
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
