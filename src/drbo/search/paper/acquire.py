"""The acquisition: which candidates of the trust region are worth a true evaluation."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from drbo import _core
from drbo.errors import SettingsError
from drbo.machine.threads import crew
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.paper.networks import BATCH_NORM_EPS, DropoutSurrogate, NetworkDraws
from drbo.search.paper.region import Candidates
from drbo.search.paper.score_tensors import Prices, combined
from drbo.search.paper.space import Space
from drbo.settings import PaperSettings, Settings

#: Candidates looked at more closely (known families, duplicates), as a multiple of the batch.
SHORTLIST = 4
#: Candidates decoded at a time when the favourites are all known.
LOOK_FURTHER = 1_024
#: Bytes of drawn values at a time on the CPU: what follows finds them in the cache.
CACHED_BYTES = 2**24
#: Candidates at a time, at least: every piece makes the tables of all networks.
LEAST_PIECE = 1_024


class Acquisition:
    """Ranks candidates by drawn scores.

    The paper's rule is the top B of one drawn score per candidate. With ``skip_known`` a closer look at the best ones
    drops repeats and DAGs whose score is already known.
    """

    def __init__(
        self,
        space: Space,
        surrogate: DropoutSurrogate,
        evaluator: Evaluator,
        settings: Settings,
    ) -> None:
        self.space, self.surrogate, self.evaluator, self.settings = space, surrogate, evaluator, settings
        self.score, self.inputs = evaluator.score, surrogate.inputs
        self.prices = Prices(self.score, self.inputs, surrogate.device)
        self.memory = settings.max_memory * 2**30 / 2  # bytes of one piece of work; halved when the device has less

    def choose(self, candidates: Candidates, generator: torch.Generator) -> Tensor:
        """Return the vectors (at most B, dim) to evaluate next, best first."""
        rules, skip_known = self.settings.paper, self.settings.parts.skip_known
        wanted = rules.batch_size * (SHORTLIST if skip_known else 1)
        if rules.masks == "row" and rules.acquisition == "thompson":
            scores = self.row_scores(candidates, generator)
            ranked = scores.topk(min(wanted, len(scores))).indices
        else:
            ranked = rank_draws(self.drawn_scores(candidates, rules.n_draws, generator), wanted, rules)
        vectors = candidates.vectors(ranked)
        if skip_known:
            vectors = vectors[new_dags(vectors, self.space, self.evaluator)]
            if len(vectors) == 0:  # the favourites are known: take what else is new
                vectors = self._anything_new(candidates)
        return vectors[: rules.batch_size]

    def _anything_new(self, candidates: Candidates) -> Tensor:
        """Return the first new DAGs among the candidates."""
        found = candidates.vectors(slice(0, 0))
        for start in range(0, len(candidates), LOOK_FURTHER):
            piece = candidates.vectors(slice(start, start + LOOK_FURTHER))
            found = torch.cat([found, piece[new_dags(piece, self.space, self.evaluator)]])
            if len(found) >= self.settings.paper.batch_size:
                break
        return found[new_dags(found, self.space, self.evaluator)] if len(found) else found

    def row_scores(self, candidates: Candidates, generator: torch.Generator) -> Tensor:
        """Return one drawn score (C,) per candidate, with a dropout mask per candidate and node."""
        way = self.compiled_rows if self.surrogate.compiled else self.batched_rows
        local, price = way(candidates, generator)
        return combined(self.score, local.T, price.T)

    def batched_rows(self, candidates: Candidates, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return one drawn local value and the price (d, C) of each family, by batched matrix products."""
        vectors, d = candidates.vectors(), self.space.n_nodes
        n = len(vectors)
        local, price = vectors.new_empty(d, n), vectors.new_empty(d, n)

        def piece(first: int, last: int) -> None:
            nodes = torch.arange(first, last, device=vectors.device)
            parents = self.space.parents(vectors, nodes)
            seen = self.inputs.gather(nodes, parents).to(local.dtype)
            local[first:last] = self.surrogate.to_local(nodes, self.surrogate.sample_rows(nodes, seen, generator))
            price[first:last] = self.prices.of(nodes, parents, seen)

        self.in_pieces(piece, d, 4 * n * (3 * self.settings.paper.hidden + 3 * d + 3), generator)
        return local, price

    def compiled_rows(self, candidates: Candidates, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Return the same by sums of rows, node by node."""
        d, n = self.space.n_nodes, len(candidates)
        codes = torch.empty(d, n, self.inputs.n_bytes, dtype=torch.uint8)
        local, price = torch.empty(d, n), torch.empty(d, n)

        def piece(start: int, end: int) -> None:
            part = candidates[start:end]
            _, own, _ = self.space.codes(part, self.inputs)
            codes[:, start:end], price[:, start:end] = own, self.compiled_price(part, own)

        self.in_pieces(piece, n, 4 * d * (3 * d + 4), generator)
        networks, rules = self.surrogate, self.settings
        moments = torch.stack([networks.activation_mean, networks.activation_var])
        _core.network_samples(
            codes.numpy(),
            networks.parameters(),
            (moments[:, :0] if rules.paper.batch_norm == "candidates" else moments).numpy(),
            networks.scale.numpy(),
            int(torch.randint(2**62, (1,), generator=generator)),
            rules.paper.dropout,
            BATCH_NORM_EPS,
            local.numpy(),
            crew(n * d * rules.paper.hidden),
        )
        return local, price

    def drawn_scores(self, candidates: Candidates, n_draws: int, generator: torch.Generator) -> Tensor:
        """Return the scores (S, C) of the candidates under S functions drawn from the posterior."""
        draws = self.surrogate.draw(n_draws, generator)
        d, hidden = self.space.n_nodes, self.settings.paper.hidden
        scores = candidates.value.new_empty(n_draws, len(candidates))
        way, floats, at_most = self.batched, d * (3 * d + 3 * hidden + 4 * n_draws), float("inf")
        if self.surrogate.compiled:
            way, floats = self.compiled, d * (4 * n_draws + 1)
            at_most = max(CACHED_BYTES, 4 * floats * LEAST_PIECE)

        def piece(start: int, end: int) -> None:
            local, price = way(candidates[start:end], draws)
            scores[:, start:end] = combined(self.score, local.permute(1, 2, 0), price.T[:, None, :]).T

        self.in_pieces(piece, scores.shape[1], 4 * floats, generator, at_most)
        return scores

    def batched(self, candidates: Candidates, draws: NetworkDraws) -> tuple[Tensor, Tensor]:
        """Return drawn local values (d, C, S) and prices (d, C), by batched matrix products."""
        nodes = torch.arange(self.space.n_nodes, device=candidates.center.device)
        parents = self.space.parents(candidates.vectors(), nodes)
        seen = draws.inputs.gather(nodes, parents).to(draws.weight1.dtype)
        local = self.surrogate.to_local(nodes, draws.values(nodes, seen))
        return local, self.prices.of(nodes, parents, seen)

    def compiled(self, candidates: Candidates, draws: NetworkDraws) -> tuple[Tensor, Tensor]:
        """Return the same, by sums of rows for the families that differ from the centre's."""
        center_codes, codes, changed = self.space.codes(candidates, self.inputs)
        d, n = changed.shape
        local = torch.empty(d, n, draws.output.shape[2])
        _core.network_values(
            codes.contiguous().numpy(),
            changed.contiguous().numpy(),
            center_codes.contiguous().numpy(),
            draws.weight1.contiguous().numpy(),
            draws.bias1.contiguous().numpy(),
            draws.output.contiguous().numpy(),
            draws.offset.contiguous().numpy(),
            self.surrogate.scale.numpy(),
            local.numpy(),
            crew(local.numel()),
        )
        return local, self.compiled_price(candidates, codes)

    def compiled_price(
        self,
        candidates: Candidates,
        codes: Tensor,  # (d, C, bytes)
    ) -> Tensor:
        """Return the prices (d, C) of the families of candidates."""
        d, n = codes.shape[:2]
        if self.prices.each is None:
            nodes = torch.arange(d)
            return self.prices.asked(nodes, self.space.parents(candidates.vectors(), nodes))
        price, none = torch.empty(d, n), np.zeros(d, dtype=np.float32)  # what no parents cost
        _core.candidate_prices(codes.numpy(), none, self.prices.each.numpy(), price.numpy(), crew(n * d))
        return price

    def in_pieces(
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
                        f"the smallest unit of work needs {each / 2**30:.2g} GiB, which does not fit on the device",
                        hint="lower n_candidates or hidden, or use device='cpu'",
                    ) from error
                generator.set_state(before)  # the same numbers again: the answer does not depend on the pieces
                self.memory = min(self.memory, size * each) / 2
                if generator.device.type == "cuda":
                    torch.cuda.empty_cache()
            else:
                first += step


def rank_draws(
    scores: Tensor,  # (S, C)
    wanted: int,
    rules: PaperSettings,
) -> Tensor:
    """Return candidates, best first: by UCB, or the draws' favourites in turn, each once.

    Draws that agree name fewer than ``wanted``: the batch is then smaller, and the networks learn sooner. On 20ER4 and
    30ER8 that finds better DAGs with the same number of evaluations than a batch filled with their later choices.
    """
    if rules.acquisition == "ucb":
        bound = scores.mean(0) + rules.ucb_beta * scores.std(0, correction=0)
        return bound.topk(min(wanted, len(bound))).indices
    per_draw = min(-(-2 * wanted // len(scores)), scores.shape[1])
    named = scores.topk(per_draw, dim=1).indices.T.flatten().cpu().numpy()  # first choices of all draws, then second
    _, first = np.unique(named, return_index=True)
    return torch.as_tensor(named[np.sort(first)][:wanted], device=scores.device)


def new_dags(vectors: Tensor, space: Space, evaluator: Evaluator) -> Tensor:
    """Return which vectors (m,) decode to a DAG that has an unknown family and is the first of its kind."""
    dags = space.decode(vectors).cpu().numpy()
    known = np.array(evaluator.is_known(Families.from_dags(dags).keys())).reshape(dags.shape[:2])
    _, first = np.unique(np.packbits(dags.reshape(len(dags), -1), axis=1), axis=0, return_index=True)
    once = np.zeros(len(dags), dtype=bool)
    once[first] = True
    return torch.as_tensor(once & ~known.all(axis=1), device=vectors.device)
