"""Proposals of the paper: candidates of a trust region, ranked by a draw of dropout networks (Algorithm 1)."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from drbo.constraints import Constraints
from drbo.errors import SettingsError
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.loop import Dags
from drbo.search.outcome import Evaluated
from drbo.search.paper.acquire import Acquisition
from drbo.search.paper.generator_state import restore_generator, torch_state
from drbo.search.paper.history import History
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.networks import DropoutSurrogate
from drbo.search.paper.region import TrustRegion, moves_kept
from drbo.search.paper.space import FullRankSpace, LowRankSpace, Space, latin_hypercube
from drbo.search.state import Fields, State
from drbo.settings import Settings

#: Vectors lie in [-1, 1], up to rounding.
WIDEST = 1.0 + 1e-5


class RegionProposer:
    """Algorithm 1: candidates of a trust region in a space of vectors, ranked by a draw of dropout networks."""

    finder = "trust region"
    stall, works_ahead = 5, False
    patience: int | None = None

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
        self.center: Tensor | None = None  # vector of the best DAG that has one

    def capture(self) -> State:
        """Return the state between two iterations, where the incumbent is the one that the region has seen."""
        return {
            "kind": "region",
            "generator": torch_state(self.generator),
            "center": None if self.center is None else self.center.cpu().numpy(),
            "region": self.region.capture(),
            "history": self.history.capture(),
            "surrogate": self.surrogate.capture(),
        }

    def restore(self, fields: Fields, best: Evaluated | None, started: bool) -> None:
        """Set the state."""
        fields.text("kind", ["region"])
        restore_generator(fields, "generator", self.generator)
        self.center = None
        if fields.has("center") or started:
            center = fields.array("center", np.float32, (self.space.dim,), -WIDEST, WIDEST)
            self.center = torch.as_tensor(center, device=self.generator.device)
        self.region.restore(fields.part("region"))
        self.history.restore(fields.part("history"))
        self.surrogate.restore(fields.part("surrogate"))

    def first(self, count: int) -> Dags:
        """Return the DAGs of a Latin hypercube."""
        vectors = latin_hypercube(self.settings.paper.batch_size, self.space.dim, self.rng)[:count]
        return self._decoded(vectors.to(self.generator.device))

    def propose(self, best: Evaluated, count: int) -> Dags:
        """Return the best candidates of the region around the best DAG, by a drawn score."""
        assert self.center is not None  # learn() has seen the first design
        with self._memory():
            candidates = self.region.candidates(self.center, self.settings.paper.n_candidates, self.generator)
            return self._decoded(self.acquisition.choose(candidates, self.generator)[:count])

    def learn(self, batch: Evaluated, best: Evaluated, improved: bool) -> None:
        """Move the region, and train the networks on the new evaluations and a replay of old ones."""
        started = self.center is not None
        if improved or not started:
            self._recenter(batch, best)
        if len(batch) == 0:
            self.region.restart()
            return
        if started:
            self.region.update(improved=improved)
        self.history.append(batch.dags, -batch.local)  # networks learn costs, such as the paper's ln MSE
        with self._memory():
            self.surrogate.update(self.history, len(batch), self.generator)
        if self.settings.paper.replay == "reservoir":
            self.history.update_reservoir(len(batch), self.settings, self.rng)

    def _decoded(self, vectors: Tensor) -> Dags:
        """Return the DAGs of the vectors that are proposed."""
        self._vectors = vectors
        dags: Dags = self.space.decode(vectors).cpu().numpy()
        return dags

    def _recenter(self, batch: Evaluated, best: Evaluated) -> None:
        """Centre the region on the best DAG; one that was not proposed gets a vector where it has one."""
        same = np.flatnonzero((batch.dags == best.dags).all(axis=(1, 2)))
        if len(same):
            self.center = self._vectors[same[0]]
            return
        vector = self.space.encode(best.dags[0])
        if vector is not None:
            self.center = torch.as_tensor(vector, dtype=torch.float32, device=self.generator.device)
        elif self.center is None:
            self.center = self._vectors[int(np.argmax(batch.scores))]

    @contextmanager
    def _memory(self) -> Iterator[None]:
        """Say in words that the device is out of memory: what can be computed in smaller pieces was."""
        try:
            yield
        except torch.OutOfMemoryError as error:
            raise SettingsError(
                f"the search does not fit into the memory of device '{self.generator.device}'",
                hint="lower n_candidates or hidden, set candidate_parents, or use device='cpu'",
            ) from error


def new_space(n_nodes: int, settings: Settings, constraints: Constraints | None = None) -> Space:
    """Return the space of vectors that the settings ask for."""
    if settings.paper.space == "low-rank":
        return LowRankSpace(n_nodes, settings.paper.rank, constraints)
    return FullRankSpace(n_nodes, constraints)


def candidates_gib(space: Space, settings: Settings) -> float:
    """Return the GiB that the candidates of one iteration take."""
    if (
        settings.paper.masks == "row" and settings.paper.acquisition == "thompson"
    ):  # vectors written out, a value per node
        floats = settings.paper.n_candidates * (2 * space.dim + 3 * space.n_nodes)
    else:  # moved coordinates with their values, a score per draw
        floats = settings.paper.n_candidates * (2 * moves_kept(space.dim, settings) + settings.paper.n_draws)
    return 4 * floats / 2**30


def _check_memory(space: Space, settings: Settings) -> None:
    """Refuse, before anything is spent, a run whose candidates cannot be held."""
    if (need := candidates_gib(space, settings)) > settings.max_memory:
        raise SettingsError(
            f"{settings.paper.n_candidates} candidates of {space.dim} numbers need {need:.1f} GiB, "
            f"but max_memory is {settings.max_memory:g} GiB",
            hint="lower n_candidates, raise max_memory, or use space='low-rank'",
        )
