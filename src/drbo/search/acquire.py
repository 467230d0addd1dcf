"""The acquisition: which candidates of the trust region are worth a true evaluation."""

import numpy as np
import torch
from torch import Tensor

from drbo.scores.base import Families, Score
from drbo.search.evaluate import Evaluator
from drbo.search.space import Space
from drbo.search.surrogate import DropoutSurrogate
from drbo.settings import Settings

#: Candidates looked at more closely (known families, duplicates), as a multiple of the batch.
SHORTLIST = 4


def choose(
    vectors: Tensor,  # (C, dim)
    space: Space,
    surrogate: DropoutSurrogate,
    evaluator: Evaluator,
    settings: Settings,
    generator: torch.Generator,
) -> Tensor:
    """Return the vectors (at most B, dim) to evaluate next, best first.

    The paper's rule is the top B of one drawn score per candidate. With ``skip_known`` a closer look at the best
    ones drops repeats and DAGs whose score is already known.
    """
    batch = settings.batch_size
    wanted = SHORTLIST * batch if settings.skip_known else batch
    if settings.masks == "row" and settings.acquisition == "thompson":
        scores = row_scores(vectors, space, surrogate, evaluator.score, generator)
        ranked = scores.topk(min(wanted, len(scores))).indices
    else:
        drawn = drawn_scores(vectors, space, surrogate, evaluator.score, settings.n_draws, generator)
        ranked = rank_draws(drawn, wanted, settings)
    if settings.skip_known:
        fresh = ranked[new_dags(vectors[ranked], space, evaluator)]
        if len(fresh) == 0:  # the favourites are known: take what else is new
            fresh = new_dags(vectors, space, evaluator).nonzero()[:, 0]
        ranked = fresh[:batch]
    return vectors[ranked]


def row_scores(
    vectors: Tensor, space: Space, surrogate: DropoutSurrogate, score: Score, generator: torch.Generator
) -> Tensor:
    """Return one drawn score (C,) per candidate, with a dropout mask per candidate and node."""
    local = vectors.new_empty(len(vectors), space.n_nodes)
    price = torch.empty_like(local)
    for nodes in surrogate.node_chunks(len(vectors), n_values=1):
        parents = space.parents(vectors, nodes)
        drawn = surrogate.sample_rows(nodes, parents, generator)
        local[:, nodes] = surrogate.to_local(nodes, drawn).T
        price[:, nodes] = score.price(nodes, parents, local.dtype).T
    return score.combine(local, price)


def drawn_scores(
    vectors: Tensor, space: Space, surrogate: DropoutSurrogate, score: Score, n_draws: int, generator: torch.Generator
) -> Tensor:
    """Return the scores (S, C) of the candidates under S functions drawn from the posterior."""
    draws = surrogate.draw(n_draws, generator)
    local = vectors.new_empty(n_draws, len(vectors), space.n_nodes)
    price = vectors.new_empty(len(vectors), space.n_nodes)
    for nodes in surrogate.node_chunks(len(vectors), n_values=n_draws):
        parents = space.parents(vectors, nodes)
        local[:, :, nodes] = surrogate.to_local(nodes, draws.local(nodes, parents)).permute(2, 1, 0)
        price[:, nodes] = score.price(nodes, parents, local.dtype).T
    return score.combine(local, price)


def rank_draws(
    scores: Tensor,  # (S, C)
    wanted: int,
    settings: Settings,
) -> Tensor:
    """Return candidate indices, best first: by UCB, or the draws' favourites in turn, each candidate once."""
    if settings.acquisition == "ucb":
        bound = scores.mean(0) + settings.ucb_beta * scores.std(0, correction=0)
        return bound.topk(min(wanted, len(bound))).indices
    per_draw = min(-(-2 * wanted // len(scores)), scores.shape[1])
    favourites = scores.topk(per_draw, dim=1).indices.T.flatten().cpu().numpy()  # first choices of all, then second
    _, first = np.unique(favourites, return_index=True)
    return torch.as_tensor(favourites[np.sort(first)][:wanted], device=scores.device)


def new_dags(vectors: Tensor, space: Space, evaluator: Evaluator) -> Tensor:
    """Return which vectors (m,) decode to a DAG that has an unknown family and is the first of its kind."""
    dags = space.decode(vectors).cpu().numpy()
    known = np.array(evaluator.is_known(Families.from_dags(dags).keys())).reshape(dags.shape[:2])
    _, first = np.unique(np.packbits(dags.reshape(len(dags), -1), axis=1), axis=0, return_index=True)
    once = np.zeros(len(dags), dtype=bool)
    once[first] = True
    return torch.as_tensor(once & ~known.all(axis=1), device=vectors.device)
