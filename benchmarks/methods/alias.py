"""ALIAS: policy gradients over the vectors that Vec2DAG turns into DAGs.

Duong, Le, Huang & Nguyen (2025), "Reinforcement Learning for Causal Discovery without Acyclicity Constraints". A policy
draws vectors of node potentials and edge strengths from a diagonal Gaussian; the reward of a vector is the score of its
DAG per row and node. The authors use PPO of Stable-Baselines3 with episodes of one step. The mean comes from a network
on a constant input, and the gradient of the value network counts in the clipping of the norm; both are kept here
because they set the size of a step.

What differs: scores are drbo's (with intercept), and the answer is the best DAG seen, as in the paper on DrBO, after
pruning; the authors return the DAG of the mean vector.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from benchmarks.methods.base import Graph, Record
from drbo.claims.answer.prune import prune as prune_dag
from drbo.data.statistics.statistics import Statistics
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.paper.space import FullRankSpace
from drbo.settings import Settings

#: The authors' repository, configs/ALIAS_default.yml: vectors per batch, and batches.
BATCH = 64
MAX_EVALS = 20_000 * BATCH
#: Defaults of Stable-Baselines3, which the authors leave as they are: PPO's learning rate, clipping, weight of the
#: value loss, largest norm of the gradient, epsilon of Adam, units of both hidden layers.
LEARNING_RATE = 3e-4
CLIP = 0.2
VALUE_WEIGHT = 0.5
MAX_NORM = 0.5
ADAM_EPSILON = 1e-5
UNITS = 64
#: Steps per batch: the default of Stable-Baselines3. With it the figures in the paper on DrBO are met (30ER8, 10,000 to
#: 50,000 evaluations); the authors' repository has 1, which learns more slowly per evaluation.
EPOCHS = 10
#: The authors' repository, alias/DAGEnv.py: vectors are cut to [-10, 10] before they become DAGs.
LIMIT = 10.0


def learn(
    values: npt.NDArray[np.float64],  # (n, d)
    *,
    seed: int,
    record: Record | None = None,
    score: str = "bic-ev",
    score_options: dict[str, Any] | None = None,
    prune: str = "threshold",
    max_evals: int = MAX_EVALS,
    learning_rate: float = LEARNING_RATE,
    n_epochs: int = EPOCHS,
    device: str = "cpu",
) -> Graph:
    """Return the DAG with the best score, pruned; ``record`` gets it at every improvement, after pruning too."""
    n, d = values.shape
    evaluator = Evaluator(
        build_score(score, Statistics.from_array(values), score_options),
        Settings(max_evals=max_evals).with_(count_known=True),
    )
    generator = torch.Generator(device).manual_seed(seed)
    space, policy = FullRankSpace(d), Policy(d * (d + 1) // 2, seed, device)
    optimiser = torch.optim.Adam(policy.parameters(), lr=learning_rate, eps=ADAM_EPSILON)
    best, best_dag = -math.inf, np.zeros((d, d), dtype=bool)
    while not evaluator.down_to(0):
        with torch.no_grad():
            vectors = torch.normal(*policy.moments(BATCH), generator=generator)
        found = evaluator.evaluate(space.decode(vectors.clamp(-LIMIT, LIMIT)).cpu().numpy())
        top = int(np.argmax(found.scores))
        if found.scores[top] > best:
            best, best_dag = float(found.scores[top]), found.dags[top]
            if record:
                record(evaluator.n_evals, prune_dag(prune, values, best_dag)[0])
        rewards = torch.as_tensor(found.scores / (n * d), dtype=torch.float32, device=device)
        if len(rewards) == BATCH:
            train(policy, optimiser, rewards, vectors, n_epochs)
    return prune_dag(prune, values, best_dag)[0]


def train(policy: "Policy", optimiser: torch.optim.Optimizer, rewards: Tensor, vectors: Tensor, n_epochs: int) -> None:
    """Take a step of the policy and the value per epoch, on one batch of vectors (b, dim) and rewards (b,)."""
    with torch.no_grad():
        before, value = policy.log_density(vectors), policy.value_of()
    advantages = rewards - value
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    for _ in range(n_epochs):
        gain = clipped_gain(policy.log_density(vectors) - before, advantages)
        loss = VALUE_WEIGHT * ((rewards - policy.value_of()) ** 2).mean() - gain
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), MAX_NORM)
        optimiser.step()


def clipped_gain(log_ratio: Tensor, advantages: Tensor) -> Tensor:
    """Return PPO's objective (Schulman et al. 2017, equation 7)."""
    ratio = log_ratio.exp()
    return torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages).mean()


class Policy(nn.Module):
    """A mean vector, its deviations and the expected reward; networks of a constant input, as in Stable-Baselines3."""

    def __init__(self, dim: int, seed: int, device: str) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def layer(size: int, units: int, gain: float) -> nn.Linear:
            linear: nn.Linear = nn.utils.skip_init(nn.Linear, size, units)
            nn.init.orthogonal_(linear.weight, gain, generator=generator)
            nn.init.zeros_(linear.bias)
            return linear

        def network(outputs: int, gain: float) -> nn.Sequential:
            first, second = layer(1, UNITS, math.sqrt(2)), layer(UNITS, UNITS, math.sqrt(2))
            return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), layer(UNITS, outputs, gain))

        self.mean, self.value = network(dim, 0.01), network(1, 1.0)
        self.log_deviation = nn.Parameter(torch.zeros(dim))
        self.register_buffer("constant", torch.ones(1))
        self.to(device)

    def distribution(self) -> torch.distributions.Normal:
        """Return the Gaussian (dim,) that vectors are drawn from."""
        return torch.distributions.Normal(self.mean(self.get_buffer("constant")), self.log_deviation.exp())

    def moments(self, count: int) -> tuple[Tensor, Tensor]:
        """Return means and deviations (count, dim)."""
        drawn = self.distribution()
        return drawn.mean.expand(count, -1), drawn.stddev.expand(count, -1)

    def log_density(self, vectors: Tensor) -> Tensor:
        """Return the log densities (b,) of vectors (b, dim)."""
        density: Tensor = self.distribution().log_prob(vectors)
        return density.sum(-1)

    def value_of(self) -> Tensor:
        """Return the expected reward (1,)."""
        value: Tensor = self.value(self.get_buffer("constant"))
        return value
