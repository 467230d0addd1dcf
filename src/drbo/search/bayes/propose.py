"""Where proposals come from: the paper's trust region (route paper), or climbs of drawn functions (route surrogate)."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from drbo.errors import SettingsError
from drbo.knowledge import Constraints
from drbo.scores.base import Families
from drbo.search.bayes.first_design import latin_hypercube, random_dags
from drbo.search.evaluation.evaluator import Evaluated, Evaluator
from drbo.search.paper.acquire import Acquisition, choose
from drbo.search.paper.history import History
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.networks import DropoutSurrogate
from drbo.search.paper.region import TrustRegion, around, moves_kept
from drbo.search.paper.space import FullRankSpace, LowRankSpace, Space
from drbo.search.state import Fields, State
from drbo.settings import Settings

Dags = npt.NDArray[np.bool_]  # (B, d, d)

#: Pairs that are changed before a climb from the best DAG: one of these numbers, times the boldness.
JUMPS = (0, 2, 6)
#: While nothing improves, jumps grow longer and draws bolder: twice after this many rounds, ... at most so many times.
BOLD_ROUNDS, MAX_BOLDNESS = 5, 6.0
#: Every so many rounds without a better score, so many draws are climbed over orders instead of single edges.
ORDER_ROUNDS, ORDER_CLIMBS = 10, 4
#: Every so many rounds without a better score draws are free of the bounds of known families: they explore more.
FREE_ROUNDS = 3
#: Good DAGs of the last rounds from which a climb may start, and how often one does.
POOL_SIZE, POOL_SHARE = 8, 0.25


#: Vectors lie in [-1, 1], up to rounding.
WIDEST = 1.0 + 1e-5
#: The least that the first design holds by default.
MIN_DESIGN = 8


class Proposer(Protocol):
    """What the loop needs: DAGs to evaluate, and to be told their scores."""

    def first(self, count: int) -> Dags:
        """Return the first design."""

    def propose(self, best: Evaluated, count: int) -> Dags:
        """Return at most ``count`` DAGs to evaluate next."""

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Take in the true scores of the last proposals; ``best`` is the incumbent after them."""

    def capture(self) -> State:
        """Return the state between two iterations."""

    def restore(self, fields: Fields, best: Evaluated | None, started: bool) -> None:
        """Set the state of a search with this incumbent, which has ``started`` if its first design was evaluated."""


class RegionProposer:
    """Algorithm 1: candidates of a trust region in a space of vectors, ranked by a draw of dropout networks."""

    def __init__(
        self,
        evaluator: Evaluator,
        settings: Settings,
        constraints: Constraints,
        rng: np.random.Generator,
        generator: torch.Generator,
    ) -> None:
        d = evaluator.score.n_nodes
        self.evaluator, self.settings, self.rng, self.generator = evaluator, settings, rng, generator
        self.space = new_space(d, settings, constraints)
        _check_memory(self.space, settings)
        inputs = Inputs.allowed(constraints)
        self.history = History(d, generator.device, inputs)
        self.surrogate = DropoutSurrogate(d, settings, generator, inputs)
        self.acquisition = Acquisition(self.space, self.surrogate, evaluator, settings)
        self.region = TrustRegion(self.space.dim, settings)
        self._vectors = torch.empty(0, self.space.dim)  # of the last proposals
        self._best: Evaluated | None = None
        self.center: Tensor | None = None  # vector of the best DAG that has one

    def capture(self) -> State:
        """Return the state between two iterations, where the incumbent is the one that the region has seen."""
        center = None if self.center is None else self.center.cpu().numpy()
        parts = {"region": self.region.capture(), "history": self.history.capture()}
        return {"kind": "region", "center": center, **parts, "surrogate": self.surrogate.capture()}

    def restore(self, fields: Fields, best: Evaluated | None, started: bool) -> None:
        """Set the state."""
        fields.text("kind", ["region"])
        self.center, self._best = None, None
        if fields.has("center") or started:
            center = fields.array("center", np.float32, (self.space.dim,), -WIDEST, WIDEST)
            self.center, self._best = torch.as_tensor(center, device=self.generator.device), best
        self.region.restore(fields.part("region"))
        self.history.restore(fields.part("history"))
        self.surrogate.restore(fields.part("surrogate"))

    def first(self, count: int) -> Dags:
        """Return the DAGs of a Latin hypercube."""
        vectors = latin_hypercube(self.settings.batch_size, self.space.dim, self.rng)[:count]
        dags: Dags = self.decoded(vectors.to(self.generator.device)).cpu().numpy()
        return dags

    def propose(self, best: Evaluated, count: int) -> Dags:
        """Return the best candidates of the region around the best DAG, by a drawn score."""
        return propose_all([self], [count])[0]

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Move the region, and train the networks on the new evaluations and a replay of old ones."""
        self.note(batch, best, improved)
        if len(batch):
            train_all([self], [len(batch)])

    def note(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Move the region and keep the new evaluations; the networks are yet to learn from them."""
        started = self.center is not None
        self._recenter(batch, best)
        if len(batch) == 0:
            self.region.restart()
            return
        if started:
            self.region.update(improved=improved)
        self.history.append(batch.dags, batch.local)

    def decoded(self, vectors: Tensor) -> Tensor:
        """Return the DAGs of the vectors that are proposed, on the device."""
        self._vectors = vectors
        return self.space.decode(vectors)

    def _recenter(self, batch: Evaluated, best: Evaluated) -> None:
        """Centre the region on the best DAG; one that was not proposed gets a vector where it has one."""
        if best is self._best:
            return
        self._best = best
        same = np.flatnonzero((batch.dags == best.dags).all(axis=(1, 2)))
        if len(same):
            self.center = self._vectors[same[0]]
            return
        vector = self.space.encode(best.dags[0])
        if vector is not None:
            self.center = torch.as_tensor(vector, dtype=torch.float32, device=self.generator.device)
        elif self.center is None:
            self.center = self._vectors[int(np.argmax(batch.scores))]


def propose_all(searches: Sequence[RegionProposer], counts: Sequence[int]) -> list[Dags]:
    """Return the proposals of each of the searches, whose networks are those of one surrogate, by one program."""
    centers = [search.center for search in searches]
    generators = [search.generator for search in searches]
    regions, n = [search.region for search in searches], searches[0].settings.n_candidates
    known = [center for center in centers if center is not None]
    assert len(known) == len(searches)  # learn() has seen the first designs
    candidates = around(regions, torch.stack(known), n, generators)
    chosen = choose([search.acquisition for search in searches], candidates, generators)
    vectors = [each[:count] for each, count in zip(chosen, counts, strict=True)]
    dags = torch.cat([search.decoded(each) for search, each in zip(searches, vectors, strict=True)]).cpu().numpy()
    return np.split(dags, np.cumsum([len(each) for each in vectors])[:-1])


def train_all(searches: Sequence[RegionProposer], n_new: Sequence[int]) -> None:
    """Train the networks of each of the searches, those of one surrogate, on its newest evaluations and a replay."""
    histories = [search.history for search in searches]
    searches[0].surrogate.update_all(histories, n_new, [search.generator for search in searches])
    for search, count in zip(searches, n_new, strict=True):
        if search.settings.replay == "reservoir":
            search.history.update_reservoir(count, search.settings, search.rng)


class ClimbProposer:
    """Climbs of functions drawn from a surrogate of the score, each from a DAG near the best one.

    Known families count with their true values. With ``skip_known`` a DAG made of known families only is not proposed:
    recombination has seen it. With ``surrogate="none"`` the starts of the climbs are proposed themselves.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        settings: Settings,
        constraints: Constraints,
        rng: np.random.Generator,
        generator: torch.Generator,
    ) -> None:
        from drbo.search.bayes.drawn_score import Landscape  # compiled: only where it is used

        self.evaluator, self.settings, self.constraints, self.rng = evaluator, settings, constraints, rng
        self.landscape = Landscape(evaluator, settings, constraints, rng, generator)
        self.stalled = 0  # rounds without a better score
        self._pool: list[Dags] = []

    def capture(self) -> State:
        """Return the state between two iterations."""
        d = self.evaluator.score.n_nodes
        pool = np.stack(self._pool) if self._pool else np.empty((0, d, d), dtype=bool)
        return {"kind": "climbs", "stalled": self.stalled, "pool": pool, "landscape": self.landscape.capture()}

    def restore(self, fields: Fields, best: Evaluated | None, started: bool) -> None:
        """Set the state."""
        fields.text("kind", ["climbs"])
        self.stalled = fields.integer("stalled")
        self._pool = list(fields.dags("pool", None, self.constraints))[-POOL_SIZE:]
        self.landscape.restore(fields.part("landscape"))

    def first(self, count: int) -> Dags:
        """Return the sparsest DAG the knowledge allows, and random ones of many densities."""
        d = self.evaluator.score.n_nodes
        wanted = self.settings.first_design or max(MIN_DESIGN, d // 2 if self.landscape.has_relative else d)
        return random_dags(min(wanted, count), self.constraints, self.rng)

    def propose(self, best: Evaluated, count: int) -> Dags:
        """Return the ends of the climbs that have an unknown family, each once."""
        self.landscape.refresh(best)
        boldness = min(1 + self.stalled / BOLD_ROUNDS, MAX_BOLDNESS)
        if self.settings.surrogate != "none" and self.stalled and self.stalled % ORDER_ROUNDS == 0:
            ends = self.landscape.climb_orders(best.dags[0], ORDER_CLIMBS, boldness)
        else:
            starts = np.stack([self._start(best.dags[0], boldness) for _ in range(self.settings.n_draws)])
            ends = self.landscape.climb(starts, boldness, bounded=self.stalled % FREE_ROUNDS != FREE_ROUNDS - 1)
        keys = Families.from_dags(ends).keys()
        known = np.all(np.array(self.evaluator.is_known(keys)).reshape(ends.shape[:2]), axis=1)
        _, once = np.unique(np.packbits(ends.reshape(len(ends), -1), axis=1), axis=0, return_index=True)
        fresh = np.sort(once[~np.take(known, once)] if self.settings.skip_known else once)
        chosen: Dags = ends[fresh[:count]]
        return chosen

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Remember good DAGs to start from, and train what learns from whole DAGs."""
        self.stalled = 0 if improved else self.stalled + 1
        self.landscape.learn(batch)
        for row in np.argsort(-batch.scores, kind="stable")[:2]:
            self._pool.append(batch.dags[row])
        self._pool = self._pool[-POOL_SIZE:]

    def _start(self, best: Dags, boldness: float) -> Dags:
        pairs = self.rng.integers(len(best), size=(int(self.rng.choice(JUMPS) * boldness), 2))
        from_pool = self._pool and self.rng.random() < POOL_SHARE
        return self.landscape.jump(self._pool[self.rng.integers(len(self._pool))] if from_pool else best, pairs)


def new_space(n_nodes: int, settings: Settings, constraints: Constraints | None = None) -> Space:
    """Return the space of vectors that the settings ask for."""
    if settings.space == "low-rank":
        return LowRankSpace(n_nodes, settings.rank, constraints)
    return FullRankSpace(n_nodes, constraints)


def candidates_gib(space: Space, settings: Settings) -> float:
    """Return the GiB that the candidates of one iteration take."""
    if settings.masks == "row" and settings.acquisition == "thompson":  # vectors written out, a value per node
        floats = settings.n_candidates * (2 * space.dim + 3 * space.n_nodes)
    else:  # moved coordinates with their values, a score per draw
        floats = settings.n_candidates * (2 * moves_kept(space.dim, settings) + settings.n_draws)
    return 4 * floats / 2**30


def _check_memory(space: Space, settings: Settings) -> None:
    """Refuse, before anything is spent, a run whose candidates cannot be held."""
    if (need := candidates_gib(space, settings)) > settings.max_memory:
        raise SettingsError(
            f"{settings.n_candidates} candidates of {space.dim} numbers need {need:.1f} GiB, but max_memory is "
            f"{settings.max_memory:g} GiB",
            hint="lower n_candidates, raise max_memory, or use space='low-rank'",
        )
