"""Variants of the paper's loop for its ablations: one network, training from scratch, exact and sparse GPs.

Each is the paper's proposer with one part replaced; everything else is drbo's own code.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from benchmarks.methods import inducing
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.outcome import Evaluated
from drbo.search.paper.acquire import Acquisition
from drbo.search.paper.history import History
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.networks import DropoutSurrogate
from drbo.search.paper.propose import RegionProposer
from drbo.search.paper.region import Candidates
from drbo.search.paper.score_tensors import combined
from drbo.search.paper.space import Space
from drbo.settings import Settings

#: Length scales of the exact Gaussian processes, in the units of the 0/1 parent vectors, and their noise: the local
#: scores are exact, so it only keeps the factorisation stable.
LENGTH_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)
NOISE = 1e-3
#: Parent sets on which a length scale is chosen by marginal likelihood.
CHOSEN_ON = 512


class ShuffledHistory(History):
    """Training rows are minibatches of passes over all that was evaluated."""

    _left = torch.empty(0, dtype=torch.int64)

    def training_rows(self, n_new: int, settings: Settings, generator: torch.Generator) -> Tensor:
        """Return the next minibatches, each as large as one of the continual training."""
        size, rows = min(len(self), settings.paper.batch_size + settings.paper.n_replay), []
        for _ in range(settings.paper.n_grads):
            if len(self._left) < size:
                self._left = torch.randperm(len(self), generator=generator, device=self.device)
            rows.append(self._left[:size])
            self._left = self._left[size:]
        return torch.stack(rows)


class RetrainedSurrogate(DropoutSurrogate):
    """Networks that start anew in every iteration and take ``n_grads`` passes over all evaluations."""

    def update(self, history: History, n_new: int, generator: torch.Generator) -> None:
        """Forget everything and train."""
        self.flat.copy_(DropoutSurrogate(self.n_nodes, self.settings, generator, self.inputs).flat)
        self.moment1.zero_()
        self.moment2.zero_()
        self.steps = 0
        size = self.settings.paper.batch_size + self.settings.paper.n_replay
        for _ in range(max(1, len(history) // size)):
            super().update(history, n_new, generator)


class RetrainingProposer(RegionProposer):
    """Full retraining with all data in every iteration, in place of continual training (paper, Fig. 3d)."""

    def __init__(self, evaluator: Evaluator, settings: Settings, *parts: Any) -> None:
        super().__init__(evaluator, settings, *parts)
        inputs = self.history.inputs
        self.history = ShuffledHistory(inputs.n_nodes, self.generator.device, inputs)
        self.surrogate = RetrainedSurrogate(inputs.n_nodes, settings, self.generator, inputs)
        self.acquisition = Acquisition(self.space, self.surrogate, evaluator, settings)


class WholeGraph(Inputs):
    """One network whose inputs are all pairs of nodes."""

    def encode(self, dags: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
        """Return DAGs (B, d, d) as bits (1, B, bytes)."""
        return np.packbits(dags.reshape(1, len(dags), -1), axis=2)

    def gather(self, nodes: Tensor, parents: Tensor) -> Tensor:
        """Return what is already one row of inputs per DAG."""
        return parents


class DirectAcquisition(Acquisition):
    """The drawn value of a DAG is that of its one network; no rule combines anything."""

    def __init__(self, space: Space, surrogate: DropoutSurrogate, settings: Settings) -> None:
        self.space, self.surrogate, self.settings = space, surrogate, settings

    def row_scores(self, candidates: Candidates, generator: torch.Generator) -> Tensor:
        """Return one drawn score (C,) per candidate."""
        vectors = candidates.vectors()
        dags, node = self.space.decode(vectors), torch.zeros(1, dtype=torch.int64, device=vectors.device)
        drawn = self.surrogate.sample_rows(node, dags.reshape(1, len(dags), -1).to(vectors.dtype), generator)
        return self.surrogate.to_local(node, drawn)[0]


class DirectProposer(RegionProposer):
    """A direct map from a DAG to its score, penalty and all, in place of one network per node (paper, Fig. 3c)."""

    def __init__(self, evaluator: Evaluator, settings: Settings, *parts: Any) -> None:
        super().__init__(evaluator, settings, *parts)
        d = evaluator.score.n_nodes
        pairs = WholeGraph(np.arange(d * d, dtype=np.int32)[None], np.zeros((1, d * d), dtype=np.int32))
        scaled = settings.with_(standardize_targets=True)  # scores are of the order of n d, not of a logarithm
        self.history = History(1, self.generator.device, pairs)
        self.surrogate = DropoutSurrogate(1, scaled, self.generator, pairs)
        self.acquisition = DirectAcquisition(self.space, self.surrogate, settings)

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Take in the scores of whole DAGs alone."""
        super().learn(replace(batch, local=-batch.scores[:, None]), best, improved)  # it learns minus these


class ExactAcquisition(Acquisition):
    """Local scores drawn from the posterior of one exact Gaussian process per node, each candidate for itself."""

    history: History

    def row_scores(self, candidates: Candidates, generator: torch.Generator) -> Tensor:
        """Return one drawn score (C,) per candidate."""
        vectors = candidates.vectors()
        rows = torch.arange(len(self.history), device=vectors.device)
        seen, values = self.history.parents(rows), self.history.local(rows)
        local, price = (vectors.new_empty(len(vectors), self.space.n_nodes) for _ in range(2))
        for i in range(self.space.n_nodes):
            node = torch.tensor([i], device=vectors.device)
            parents = self.space.parents(vectors, node)
            noise = torch.randn(len(vectors), generator=generator, device=vectors.device)
            local[:, i] = draw_posterior(seen[i], values[i], parents[0].to(seen.dtype), noise)
            price[:, i] = self.prices.asked(node, parents)[0]
        return combined(self.score, local, price)


def draw_posterior(seen: Tensor, values: Tensor, asked: Tensor, noise: Tensor) -> Tensor:
    """Return mean plus noise times deviation (C,) at the parent vectors asked, given distinct ones that were seen."""
    points, place = torch.unique(seen.double(), dim=0, return_inverse=True)
    known = points.new_zeros(len(points)).scatter_(0, place, values.double())  # equal parents have equal values
    mean, spread = known.mean(), known.std(correction=0).clamp(min=1e-6)
    target, distances = (known - mean) / spread, torch.cdist(points, points) ** 2
    factor, scale = best_factor(distances, target)
    across = torch.exp(-(torch.cdist(asked.double(), points) ** 2) / (2 * scale**2))
    weights = torch.cholesky_solve(target[:, None], factor)[:, 0]
    reduced = torch.linalg.solve_triangular(factor, across.T, upper=False)
    variance = (1.0 - reduced.square().sum(0)).clamp(min=0.0)
    return mean + spread * (across @ weights + variance.sqrt() * noise)


def best_factor(distances: Tensor, target: Tensor) -> tuple[Tensor, float]:
    """Return the Cholesky factor at the length scale with the highest marginal likelihood on some of the points."""

    def factorised(size: int, scale: float) -> Tensor:
        part = distances[:size, :size]
        return torch.linalg.cholesky(torch.exp(-part / (2 * scale**2)) + NOISE * torch.eye(size).to(part))

    def evidence(scale: float) -> float:
        factor = factorised(min(len(target), CHOSEN_ON), scale)
        white = torch.linalg.solve_triangular(factor, target[: len(factor), None], upper=False)
        return float(-0.5 * white.square().sum() - factor.diagonal().log().sum())

    scale = max(LENGTH_SCALES, key=evidence)
    return factorised(len(target), scale), scale


class ExactProposer(RegionProposer):
    """Exact Gaussian processes over parent vectors in place of the networks (paper, Fig. 3b)."""

    def __init__(self, evaluator: Evaluator, settings: Settings, *parts: Any) -> None:
        super().__init__(evaluator, settings.with_(n_grads=0), *parts)
        self.acquisition = ExactAcquisition(self.space, self.surrogate, evaluator, settings)
        self.acquisition.history = self.history


class SparseAcquisition(ExactAcquisition):
    """The same with Gaussian processes by inducing points: the cost grows with the evaluations, not with their cube."""

    def row_scores(self, candidates: Candidates, generator: torch.Generator) -> Tensor:
        """Return one drawn score (C,) per candidate."""
        vectors = candidates.vectors()
        rows, nodes = (torch.arange(size, device=vectors.device) for size in (len(self.history), self.space.n_nodes))
        seen, parents = self.history.parents(rows), self.space.parents(vectors, nodes)
        noise = torch.randn(len(nodes), len(vectors), generator=generator, device=vectors.device)
        local = inducing.draw(seen, self.history.local(rows), parents.to(seen.dtype), noise).to(vectors.dtype)
        return combined(self.score, local.T, self.prices.asked(nodes, parents).T)


class SparseProposer(ExactProposer):
    """Gaussian processes by 100 inducing points in place of the networks (paper, Fig. 3b: AGP)."""

    def __init__(self, evaluator: Evaluator, settings: Settings, *parts: Any) -> None:
        super().__init__(evaluator, settings, *parts)
        self.acquisition = SparseAcquisition(self.space, self.surrogate, evaluator, settings)
        self.acquisition.history = self.history


VARIANTS = {
    "direct": DirectProposer,
    "retrained": RetrainingProposer,
    "exact-gp": ExactProposer,
    "approximate-gp": SparseProposer,
}
