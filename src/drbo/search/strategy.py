"""Decides which search runs, from what the score declares and what was asked for, never from a clock."""

from collections.abc import Sequence
from concurrent.futures import Executor
from typing import Literal

import numpy as np

from drbo.arrays import Bools
from drbo.constraints import Constraints
from drbo.machine.torch_device import chosen_device, need_torch
from drbo.scores.base import Score
from drbo.search.base import Search
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import ProposalSearch, Proposer
from drbo.search.orders.search import OrderSearch
from drbo.search.parent_sets import Screen
from drbo.settings import Settings

ChosenRoute = Literal["orders", "surrogate", "paper"]


def choose_route(score: Score, settings: Settings, rationed: bool) -> tuple[ChosenRoute, str]:
    """Return the route of a search, and why; ``rationed``: evaluations are to be spent sparingly."""
    if settings.route != "auto":
        return settings.route, f"route {settings.route}: set by the settings, the preset or an earlier fit"
    if rationed:
        return "surrogate", "route surrogate: the number of evaluations is limited"
    if score.cheap:
        return "orders", f"route orders: local scores of {score.name} are cheap for this table"
    return "surrogate", f"route surrogate: {score.name} does not declare its local scores cheap for this table"


def new_search(
    score: Score,
    settings: Settings,
    *,
    constraints: Constraints | None = None,
    seed: int = 0,
    device: str = "cpu",
    executor: Executor | None = None,
    start: Bools | None = None,
    screens: Sequence[Screen] = (),
) -> Search:
    """Return the search of a route; ``"auto"`` stands for the surrogate.

    Parameters
    ----------
    constraints : what every graph obeys; None: anything goes.
    device : "auto", "cpu" or "cuda", of the networks of route paper.
    executor : computes local scores on the other routes than orders; None: this process does.
    start : (d, d) a DAG within the constraints to search from.
    screens : rank candidate parents on other routes than orders; none: whole parent sets are not tried.
    """
    limits = constraints or Constraints.none(score.n_nodes)
    if settings.route == "orders":
        return OrderSearch(score, settings, constraints=limits, seed=seed, start=start)
    tried = settings.route != "paper" and settings.parts.fidelities
    relatives = [each for each in score.relatives() if each.cost > 0] if tried else []
    rng, evaluator = np.random.default_rng(seed), Evaluator(score, settings, executor, relatives=relatives)
    proposer = _proposer(evaluator, settings, limits, rng, device)
    return ProposalSearch(evaluator, settings, limits, proposer, rng, start, screens)


def _proposer(
    evaluator: Evaluator, settings: Settings, limits: Constraints, rng: np.random.Generator, device: str
) -> Proposer:
    own_seed = int(rng.integers(2**62))
    if settings.route == "paper":
        need_torch("route paper")
        import torch

        from drbo.search.paper.propose import RegionProposer

        device = chosen_device(device)
        return RegionProposer(evaluator, settings, limits, rng, torch.Generator(device).manual_seed(own_seed))
    from drbo.search.bayes.propose import ClimbProposer

    return ClimbProposer(evaluator, settings, limits, rng)
