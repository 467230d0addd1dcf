"""The acquisition: which candidates of the trust region are worth a true evaluation."""

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
import torch
from torch import Tensor

from drbo.errors import SettingsError
from drbo.scores.base import Families, Score
from drbo.scores.threads import in_threads
from drbo.search.evaluate import Evaluator
from drbo.search.inputs import Inputs
from drbo.search.region import Candidates
from drbo.search.space import Space
from drbo.search.surrogate import Draws, DropoutSurrogate
from drbo.settings import Settings

#: Candidates looked at more closely (known families, duplicates), as a multiple of the batch.
SHORTLIST = 4
#: Candidates decoded at a time when the favourites are all known.
LOOK_FURTHER = 1_024
#: Bytes of drawn values at a time on the CPU: what follows finds them in the cache.
CACHED_BYTES = 2**24
#: Candidates at a time, at least: every piece makes the tables of all networks.
LEAST_PIECE = 1_024
#: Random families on which a price is compared with the sum of its parents'.
PRICE_CHECKS = 16


class Acquisition:
    """Ranks candidates by drawn scores.

    The paper's rule is the top B of one drawn score per candidate. With ``skip_known`` a closer look at the best ones
    drops repeats and DAGs whose score is already known.
    """

    def __init__(self, space: Space, surrogate: DropoutSurrogate, evaluator: Evaluator, settings: Settings) -> None:
        self.space, self.surrogate, self.evaluator, self.settings = space, surrogate, evaluator, settings
        self.score = evaluator.score
        self.prices = additive_prices(self.score, surrogate.inputs)
        self._on_device: tuple[Tensor, ...] | None = None  # tables of the fused kernel
        self.memory = settings.max_memory * 2**30 / 2  # bytes of one piece of work; halved when the device has less

    def choose(self, candidates: Candidates, generator: torch.Generator) -> Tensor:
        """Return the vectors (at most B, dim) to evaluate next, best first."""
        settings, batch = self.settings, self.settings.batch_size
        wanted = SHORTLIST * batch if settings.skip_known else batch
        if settings.masks == "row" and settings.acquisition == "thompson":
            scores = self.row_scores(candidates.vectors(), generator)
            ranked = scores.topk(min(wanted, len(scores))).indices
        else:
            ranked = rank_draws(self.drawn_scores(candidates, settings.n_draws, generator), wanted, settings)
        vectors = candidates.vectors(ranked)
        if settings.skip_known:
            vectors = vectors[new_dags(vectors, self.space, self.evaluator)]
            if len(vectors) == 0:  # the favourites are known: take what else is new
                vectors = self._anything_new(candidates)
        return vectors[:batch]

    def _anything_new(self, candidates: Candidates) -> Tensor:
        """Return the first new DAGs among the candidates."""
        found = candidates.vectors(slice(0, 0))
        for start in range(0, len(candidates), LOOK_FURTHER):
            piece = candidates.vectors(slice(start, start + LOOK_FURTHER))
            found = torch.cat([found, piece[new_dags(piece, self.space, self.evaluator)]])
            if len(found) >= self.settings.batch_size:
                break
        return found[new_dags(found, self.space, self.evaluator)] if len(found) else found

    def row_scores(
        self,
        vectors: Tensor,  # (C, dim)
        generator: torch.Generator,
    ) -> Tensor:
        """Return one drawn score (C,) per candidate, with a dropout mask per candidate and node."""
        n, d = len(vectors), self.space.n_nodes
        local, price = vectors.new_empty(n, d), vectors.new_empty(n, d)

        def piece(first: int, last: int) -> None:
            nodes = torch.arange(first, last, device=vectors.device)
            parents = self.space.parents(vectors, nodes)
            drawn = self.surrogate.sample_rows(nodes, parents, generator)
            local[:, first:last] = self.surrogate.to_local(nodes, drawn).T
            price[:, first:last] = self.score.price(nodes, parents, local.dtype).T

        self._in_pieces(piece, d, 4 * n * (3 * self.settings.hidden + 3 * d + 3), generator)
        return self.score.combine(local, price)

    def drawn_scores(self, candidates: Candidates, n_draws: int, generator: torch.Generator) -> Tensor:
        """Return the scores (S, C) of the candidates under S functions drawn from the posterior."""
        draws = self.surrogate.draw(n_draws, generator)
        d, hidden = self.space.n_nodes, self.settings.hidden
        scores = candidates.value.new_empty(n_draws, len(candidates))
        values, floats, at_most = self._batched, d * (3 * d + 3 * hidden + 4 * n_draws), float("inf")
        if candidates.center.device.type == "cpu":
            values, floats = self._compiled, d * (4 * n_draws + 1)
            at_most = max(CACHED_BYTES, 4 * floats * LEAST_PIECE)
        elif self._can_fuse():
            values, floats = self._fused, 2 * self.space.dim + d * (4 * n_draws + 1)

        def piece(first: int, last: int) -> None:
            part = Candidates(candidates.center, candidates.coordinate[first:last], candidates.value[first:last])
            local, price = values(part, draws)
            scores[:, first:last] = self.score.combine(local.permute(1, 2, 0), price.T[:, None, :]).T

        self._in_pieces(piece, len(candidates), 4 * floats, generator, at_most)
        return scores

    def _can_fuse(self) -> bool:
        """Whether one kernel can decode and price these candidates, and Triton is there to compile it."""
        return self.prices is not None and self.space.independent and find_spec("triton") is not None

    def _batched(self, candidates: Candidates, draws: Draws) -> tuple[Tensor, Tensor]:
        """Return drawn local values (d, C, S) and prices (d, C), by batched matrix products."""
        nodes = torch.arange(self.space.n_nodes, device=candidates.center.device)
        parents = self.space.parents(candidates.vectors(), nodes)
        seen = draws.inputs.gather(nodes, parents).to(draws.weight1.dtype)
        local = self.surrogate.to_local(nodes, draws.values(nodes, seen))
        if self.prices is None:
            return local, self.score.price(nodes, parents, local.dtype)
        empty, each = (torch.as_tensor(part, device=seen.device) for part in self.prices)
        return local, torch.baddbmm(empty[:, None, None], seen, each[:, :, None])[:, :, 0]

    def _compiled(self, candidates: Candidates, draws: Draws) -> tuple[Tensor, Tensor]:
        """Return the same, by sums of rows for the families that differ from the centre's."""
        from drbo.search import compiled_draws  # compiled: only where it is used

        center_codes, codes, changed = self.space.codes(candidates, self.surrogate.inputs)
        d, n = changed.shape
        local, price = torch.empty(d, n, draws.output.shape[2]), torch.empty(d, n)
        function = (draws.weight1, draws.bias1, draws.output, draws.offset, self.surrogate.scale)
        arrays = (codes, changed, center_codes, *function, local)
        in_threads(compiled_draws.draw_values, d, local.numel(), *(array.numpy() for array in arrays))
        if self.prices is None:
            nodes = torch.arange(d)
            parents = self.space.parents(candidates.vectors(), nodes)
            return local, self.score.price(nodes, parents, local.dtype)
        in_threads(compiled_draws.add_prices, d, n * d, codes.numpy(), *self.prices, price.numpy())
        return local, price

    def _fused(self, candidates: Candidates, draws: Draws) -> tuple[Tensor, Tensor]:
        """Return the same, by one GPU kernel."""
        from drbo.search import fused  # compiled by Triton: only where it is used

        assert self.prices is not None
        if self._on_device is None:
            device, inputs = candidates.center.device, self.surrogate.inputs
            parents = np.where(
                np.take_along_axis(inputs.place, np.maximum(inputs.parents, 0), 1) >= 0, inputs.parents, -1
            )
            tables = (parents.astype(np.int32), self.space.rows_of(np.maximum(inputs.parents, 0)), *self.prices)
            self._on_device = tuple(torch.as_tensor(array, device=device) for array in tables)
        parents_of, rows, empty, each = self._on_device
        columns = fused.as_columns(candidates.center, candidates.coordinate, candidates.value)
        columns[: self.space.n_nodes] += self.space.tier_steps(columns.device)[:, None]
        function = (draws.weight1, draws.bias1, draws.output, draws.offset, self.surrogate.scale)
        local, price = fused.draw_values(columns, self.space.layout[0], parents_of, rows, function, (empty, each))
        n = len(candidates)
        return local[:, :, :n].transpose(1, 2), price[:, :n]

    def _in_pieces(
        self,
        piece: Callable[[int, int], None],
        size: int,
        each: int,  # bytes that one item takes
        generator: torch.Generator,
        at_most: float = np.inf,
    ) -> None:
        """Call ``piece(first, last)`` on parts that fit; where the device has less memory, on halves of them."""
        first = 0
        while first < size:
            step = max(1, int(min(self.memory, at_most) / each))
            before = generator.get_state()
            try:
                piece(first, min(first + step, size))
            except torch.OutOfMemoryError as error:
                if step == 1:
                    raise SettingsError(
                        f"one piece of {each / 2**30:.2g} GiB does not fit on the device",
                        hint="lower n_candidates or hidden, or use device='cpu'",
                    ) from error
                generator.set_state(before)  # the same numbers again: the answer does not depend on the pieces
                self.memory = min(self.memory, size * each) / 2
                if generator.device.type == "cuda":
                    torch.cuda.empty_cache()
            else:
                first += step


def additive_prices(score: Score, inputs: Inputs) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the price of no parents (d,) and what each input adds (d, m); None where prices do not add up.

    Whether they do is seen on random parent sets of all sizes.
    """
    d, m = inputs.n_nodes, inputs.n_inputs
    rng = np.random.default_rng(0)
    empty, each = np.empty(d, np.float32), np.empty((d, m), np.float32)
    for node in range(d):
        members = inputs.parents[node]
        random = rng.random((PRICE_CHECKS, m)) < rng.random((PRICE_CHECKS, 1))
        sets = np.concatenate([np.zeros((1, m), bool), np.eye(m, dtype=bool), random])
        sets &= (members >= 0) & (members != node)
        parents = np.zeros((len(sets), d), bool)
        parents[:, members[members >= 0]] = sets[:, members >= 0]
        prices = score.price(torch.tensor([node]), torch.as_tensor(parents)[None])[0].numpy()
        gains = prices[1 : m + 1] - prices[0]
        if not np.allclose(prices[0] + sets @ gains, prices, rtol=1e-6, atol=1e-6):
            return None
        empty[node], each[node] = prices[0], gains
    return empty, each


def rank_draws(
    scores: Tensor,  # (S, C)
    wanted: int,
    settings: Settings,
) -> Tensor:
    """Return candidate indices, best first: by UCB, or the draws' favourites in turn, each candidate once.

    Draws that agree name fewer than ``wanted``: the batch is then smaller, and the networks learn sooner. On 20ER4 and
    30ER8 that finds better DAGs with the same number of evaluations than a batch filled with their later choices.
    """
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
