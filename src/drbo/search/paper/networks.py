"""The surrogate: one small dropout network per node, all trained and sampled as one batched tensor program.

For node i (paper, Sec. 4.3), with x the 0/1 parent vector and m a dropout mask:

    z = x W1 + b1,   a = ReLU(m z / (1 - p)),   f = BatchNorm(a) W2 + b2

One stochastic pass is one draw from an approximate posterior of the local score.

The module is long because a training step exists twice: compiled for the CPU, and batched for a GPU.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from drbo import _core
from drbo.machine.threads import crew
from drbo.search.paper.cuda_graphs import GraphedSteps
from drbo.search.paper.history import LARGEST, History
from drbo.search.paper.inputs import Inputs
from drbo.search.state import Fields, State
from drbo.settings import Settings

GRAD_CLIP = 0.5  # largest norm of a gradient, from the authors' program
BATCH_NORM_EPS = 1e-5
ADAM_BETAS = (0.9, 0.999)
ADAM_EPS = 1e-8
#: What a training step moves, and what is measured beside it.
MOVED = ("flat", "moment1", "moment2")
MEASURED = ("mean", "spread", "low", "high", "activation_mean", "activation_var")
#: The range of known values, which is infinite as long as none is known.
INFINITE = ("low", "high")
#: Predictions are cut to the range of known values, widened by this many ranges on each side.
RANGE_MARGIN = 1.0
#: A node whose known values hardly differ is scaled as if they spread this much.
MIN_SPREAD = 1e-3
#: What other numbers of a saved network are between: gradients are cut to a norm of 1/2, and a step is about as long
#: as the learning rate.
RANGES = {
    **{"flat": (-1e9, 1e9), "moment1": (-1.0, 1.0), "moment2": (0.0, 1.0), "spread": (MIN_SPREAD, LARGEST)},
    **{"activation_var": (0.0, np.inf), "activation_mean": (0.0, np.inf)},
    **dict.fromkeys(INFINITE, (-np.inf, np.inf)),
}


@dataclass
class NetworkDraws:
    """Functions drawn from the posterior: one dropout mask per function and network."""

    weight1: Tensor  # (d, n_inputs, h)
    bias1: Tensor  # (d, h)
    output: Tensor  # (d, h, S): output weights of each function, dropped units 0
    offset: Tensor  # (d, 1): output at zero activation, on the networks' scale
    inputs: Inputs

    def local(self, nodes: Tensor, parents: Tensor) -> Tensor:
        """Return the drawn values (m, C, S), on the networks' scale, for parents (m, C, d) of nodes (m,)."""
        return self.values(nodes, self.inputs.gather(nodes, parents).to(self.weight1.dtype))

    def values(self, nodes: Tensor, seen: Tensor) -> Tensor:
        """Return the same for 0.0/1.0 inputs (m, C, n_inputs)."""
        hidden = torch.baddbmm(self.bias1[nodes][:, None, :], seen, self.weight1[nodes])
        return torch.baddbmm(self.offset[nodes][:, :, None], hidden.relu_(), self.output[nodes])


class DropoutSurrogate:
    """d dropout networks from a node's candidate parents to its local score.

    Parameters and Adam's moments are each one flat tensor. A training step is compiled for the CPU; on a GPU it is a
    handful of batched operations, replayed as one graph.
    """

    def __init__(
        self, n_nodes: int, settings: Settings, generator: torch.Generator, inputs: Inputs | None = None
    ) -> None:
        self.inputs = inputs or Inputs.all_nodes(n_nodes)
        self.n_nodes, self.settings, self.device = self.inputs.n_nodes, settings, generator.device
        self.compiled = self.device.type == "cpu"
        d, m, h, device = self.n_nodes, self.inputs.n_inputs, settings.paper.hidden, self.device
        shapes = {"w1": (d, m, h), "b1": (d, h), "gamma": (d, h), "beta": (d, h), "w2": (d, h), "b2": (d, 1)}
        sizes = [torch.Size(shape).numel() for shape in shapes.values()]
        self.flat, self.moment1, self.moment2, self._gradient = torch.zeros(4, sum(sizes), device=device)
        self._p = _views(self.flat, shapes, sizes)
        self._g = _views(self._gradient, shapes, sizes)
        self.steps = 0
        self._graph: GraphedSteps | None = None
        self.mean = torch.zeros(d, 1, device=device)
        self.spread = torch.ones(d, 1, device=device)
        self.low = torch.full((d, 1), -torch.inf, device=device)
        self.high = torch.full((d, 1), torch.inf, device=device)
        self.activation_mean = torch.zeros(d, h, device=device)
        self.activation_var = torch.ones(d, h, device=device)
        for name, fan_in in (("w1", m), ("b1", m), ("w2", h), ("b2", h)):  # the usual start of a linear layer
            self._p[name].uniform_(-(fan_in**-0.5), fan_in**-0.5, generator=generator)
        self._p["gamma"].fill_(1.0)

    def capture(self) -> State:
        """Return the state."""
        return {"steps": self.steps} | {name: getattr(self, name).cpu().numpy() for name in (*MOVED, *MEASURED)}

    def restore(self, fields: Fields) -> None:
        """Set the state; parameters stay where they are, because views look at them."""
        self.steps = fields.integer("steps")
        for name in (*MOVED, *MEASURED):
            own: Tensor = getattr(self, name)
            low, high = RANGES.get(name, (-LARGEST, LARGEST))
            array = fields.array(name, np.float32, tuple(own.shape), low, high, finite=name not in INFINITE)
            own.copy_(torch.as_tensor(array))

    def parameters(self) -> _core.Networks:
        """Return the parameters as the compiled kernels take them."""
        return _core.Networks(*(value.numpy() for value in self._p.values()))

    def update(self, history: History, n_new: int, generator: torch.Generator) -> None:
        """Train on the newest DAGs and a replay of past ones (paper, Sec. 4.5)."""
        self._rescale(history, n_new)
        batches = history.training_rows(n_new, self.settings, generator)
        if self.settings.paper.n_grads == 0:
            return
        if self.compiled:
            for rows in batches:
                ordered = rows.sort().values  # gathered once, in the order of memory: a long past costs no more
                codes, values = history.codes.index_select(1, ordered), history.values.index_select(1, ordered)
                self._compiled_step(codes, values, generator)
        else:
            self._batched_steps(history, batches, generator)
        self._measure_activations(history, batches[-1])

    def _rescale(self, history: History, n_new: int) -> None:
        """Keep the range of known values; set their mean and spread while there are few, then at each doubling."""
        past = len(history) - n_new
        fresh = history.values[:, past : len(history)]
        low, high = fresh.amin(1, True), fresh.amax(1, True)
        if past:
            low, high = torch.minimum(self.low, low), torch.maximum(self.high, high)
        self.low, self.high = low, high
        if self.settings.paper.standardize_targets and len(history).bit_length() != past.bit_length():
            known = history.local(torch.arange(len(history), device=self.device))
            self.mean = known.mean(1, True)
            self.spread = known.std(1, correction=0, keepdim=True).clamp(min=MIN_SPREAD)

    def _compiled_step(
        self,
        codes: Tensor,  # (d, N, bytes)
        values: Tensor,  # (d, N)
        generator: torch.Generator,
    ) -> None:
        """Take one Adam step on the CPU."""
        squares = _core.network_gradients(
            codes.contiguous().numpy(),
            values.contiguous().numpy(),
            torch.cat([self.mean, self.spread], 1).T.contiguous().numpy(),
            self.parameters(),
            _core.Networks(*(value.numpy() for value in self._g.values())),
            int(torch.randint(2**62, (1,), generator=generator)),
            self.settings.paper.dropout,
            BATCH_NORM_EPS,
            crew(values.numel() * self.settings.paper.hidden),
        )
        clip = min(1.0, GRAD_CLIP / (float(np.sqrt(squares.sum(dtype=np.float64))) + 1e-6))
        rate, correction = self._corrections()
        _core.adam_step(
            self.flat.numpy(),
            self.moment1.numpy(),
            self.moment2.numpy(),
            self._gradient.numpy(),
            clip,
            *ADAM_BETAS,
            rate,
            correction,
            ADAM_EPS,
            crew(len(self.flat)),
        )

    def _corrections(self) -> tuple[float, float]:
        """Count a step; return Adam's rate and the factor of the second moment, corrected for their start at 0."""
        self.steps += 1
        rate = self.settings.paper.learning_rate / (1 - ADAM_BETAS[0] ** self.steps)
        return rate, 1 / (1 - ADAM_BETAS[1] ** self.steps)

    def _batched_steps(
        self,
        history: History,
        batches: Tensor,  # (G, N)
        generator: torch.Generator,
    ) -> None:
        """Take one Adam step per row of ``batches`` with batched operations; on a GPU as a graph."""
        (count, n), rows = batches.shape, batches.flatten()
        codes = history.codes[:, rows].unflatten(1, (count, n)).transpose(0, 1)  # (G, d, N, bytes)
        targets = history.local(rows).sub_(self.mean).div_(self.spread)
        targets = targets.unflatten(1, (count, n)).transpose(0, 1)
        units = count * self.n_nodes * n * self.settings.paper.hidden
        coins = self._coins(units, generator).view(count, -1)
        corrections = torch.tensor([self._corrections() for _ in range(count)], device=self.device)
        arguments = (codes, targets, coins, corrections)
        rules = self.settings.paper
        full = n == rules.batch_size + rules.n_replay  # else a rare size: not worth a recording
        if self.device.type != "cuda" or not full:
            self._steps(*arguments)
            return
        if self._graph is None:
            self._graph = GraphedSteps(self._steps, arguments, (self.flat, self.moment1, self.moment2))
        self._graph.replay(arguments)

    def _steps(self, codes: Tensor, targets: Tensor, coins: Tensor, corrections: Tensor) -> None:
        shape = (self.n_nodes, targets.shape[2], self.settings.paper.hidden)
        for code, target, coin, correction in zip(codes, targets, coins, corrections, strict=True):
            kept = (coin >= self._threshold).view(shape)
            self._gradients(self.inputs.unpack(code), target, kept)
            self._adam(correction)

    def _gradients(
        self,
        parents: Tensor,  # (d, N, n_inputs) float
        targets: Tensor,  # (d, N)
        kept: Tensor,  # (d, N, h) bool
    ) -> None:
        """Set the gradient of the square loss; it is written out, with a the activations.

        With v = gamma w2 / sigma the output is (a - mu) v + (beta . w2 + b2), and the gradient of the loss with
        respect to a is v (r - mean r - (a - mu) q / sigma) for the residuals r and q = mean(r (a - mu)) / sigma.
        """
        p, g, n = self._p, self._g, parents.shape[1]
        keep = 1.0 / (1.0 - self.settings.paper.dropout)
        act = torch.baddbmm(p["b1"][:, None, :], parents, p["w1"]).relu_()
        act *= kept
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

    def _adam(
        self,
        correction: Tensor,  # (2,): rate and factor of the second moment
    ) -> None:
        """Clip the norm of the gradient and take one step of Adam (Kingma & Ba 2015)."""
        gradient, (beta1, beta2) = self._gradient, ADAM_BETAS
        gradient *= (GRAD_CLIP / (torch.linalg.vector_norm(gradient) + 1e-6)).clamp(max=1.0)
        self.moment1.lerp_(gradient, 1 - beta1)
        self.moment2.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root = (self.moment2 * correction[1]).sqrt_().add_(ADAM_EPS)
        self.flat.sub_((self.moment1 * correction[0]).div_(root))

    def _coins(self, size: int, generator: torch.Generator, times: int = 1) -> Tensor:
        """Return 16 random bits for each of ``size`` units (times, size): drawing is most of the cost of dropout."""
        words = torch.empty(times, (size + 3) // 4, dtype=torch.int64, device=self.device)
        for row in words:
            row.random_(-(2**63), None, generator=generator)
        return words.view(torch.int16)[:, :size]

    @property
    def _threshold(self) -> int:
        """A unit is kept whose coin is at least this."""
        return round(self.settings.paper.dropout * 2**16) - 2**15

    def _kept(self, shape: torch.Size, generator: torch.Generator) -> Tensor:
        """Draw a mask of kept units."""
        return (self._coins(shape.numel(), generator) >= self._threshold).view(shape)

    def _measure_activations(self, history: History, rows: Tensor) -> None:
        """Set the statistics that draws normalise with: of the last training batch, averaged over masks."""
        w1, b1 = self._p["w1"], self._p["b1"]
        if self.compiled:
            mean, second = torch.empty_like(b1), torch.empty_like(b1)
            codes = history.codes.index_select(1, rows).numpy()
            _core.activation_moments(
                codes, self.parameters(), mean.numpy(), second.numpy(), crew(len(rows) * b1.numel())
            )
        else:
            act = torch.baddbmm(b1[:, None, :], history.parents(rows), w1).relu_()
            mean, second = act.mean(1), act.square().mean(1)
        self.activation_mean = mean
        self.activation_var = (second / (1.0 - self.settings.paper.dropout) - mean.square()).clamp(min=0.0)

    def draw(self, n: int, generator: torch.Generator) -> NetworkDraws:
        """Draw n functions from the posterior."""
        p = self._p
        v = p["gamma"] * p["w2"] * (self.activation_var + BATCH_NORM_EPS).rsqrt()
        offset = (p["beta"] * p["w2"]).sum(1, keepdim=True) + p["b2"]
        offset = offset - (self.activation_mean * v).sum(1, keepdim=True)
        kept = self._kept(torch.Size((*v.shape, n)), generator)
        output = v[:, :, None] * kept / (1.0 - self.settings.paper.dropout)
        return NetworkDraws(p["w1"], p["b1"], output, offset, self.inputs)

    def sample_rows(self, nodes: Tensor, seen: Tensor, generator: torch.Generator) -> Tensor:
        """Return one draw (m, C) per row of 0.0/1.0 inputs (m, C, n_inputs), each with a mask of its own.

        It is on the networks' scale.
        """
        p = {name: value[nodes] for name, value in self._p.items()}
        keep = 1.0 / (1.0 - self.settings.paper.dropout)
        act = torch.baddbmm(keep * p["b1"][:, None, :], seen, keep * p["w1"]).relu_()
        coins = self._coins(act[0].numel(), generator, len(act))  # node by node, whichever nodes come together
        act *= (coins >= self._threshold).view(act.shape)
        if self.settings.paper.batch_norm == "candidates":
            var, mu = _moments(act)
        else:
            var, mu = self.activation_var[nodes], self.activation_mean[nodes]
        v = p["gamma"] * p["w2"] * (var + BATCH_NORM_EPS).rsqrt()
        offset = (p["beta"] * p["w2"]).sum(1, keepdim=True) + p["b2"] - (mu * v).sum(1, keepdim=True)
        return torch.baddbmm(offset[:, :, None], act, v[:, :, None])[:, :, 0]

    def to_local(self, nodes: Tensor, drawn: Tensor) -> Tensor:
        """Bring draws (m, ...) back to the scale of the local scores, cut to the range that was seen, widened."""
        shape = (-1, *[1] * (drawn.dim() - 1))
        mean, spread, low, high = (part[nodes].view(shape) for part in self.scale)
        return torch.clamp(mean + spread * drawn, low, high)

    @property
    def scale(self) -> Tensor:
        """Mean and spread of the targets, least and largest value of a prediction, of each node: (4, d)."""
        margin = RANGE_MARGIN * (self.high - self.low)
        return torch.cat([self.mean, self.spread, self.low - margin, self.high + margin], 1).T.contiguous()


def _moments(act: Tensor) -> tuple[Tensor, Tensor]:
    """Return variance and mean (m, h) of activations (m, N, h) over the rows, as matrix products: quicker."""
    ones = act.new_full((act.shape[0], 1, act.shape[1]), 1.0 / act.shape[1])
    mean = torch.bmm(ones, act)[:, 0]
    second = torch.bmm(ones, act.square())[:, 0]
    return (second - mean.square()).clamp_(min=0.0), mean


def _views(flat: Tensor, shapes: dict[str, tuple[int, ...]], sizes: list[int]) -> dict[str, Tensor]:
    parts = flat.split(sizes)
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
