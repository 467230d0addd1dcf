"""From vectors to DAGs: the low-rank map of the paper and the full-rank Vec2DAG.

Both maps give an edge i -> j exactly where node i comes before node j and the pair is linked, so every vector is a
DAG. Knowledge is part of the map: forbidden edges never appear, required ones always do.
"""

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import qmc
from torch import Tensor

from drbo import _core
from drbo.arrays import Bools, Floats
from drbo.constraints import Constraints
from drbo.graph.dag import topological_order
from drbo.machine.threads import crew
from drbo.search.paper.inputs import Inputs
from drbo.search.paper.region import Candidates

#: Potentials lie in [-1, 1]: this offset puts every tier behind the one before it, so that no vector is wasted.
TIER_STEP = 3.0


def latin_hypercube(n: int, dim: int, rng: np.random.Generator) -> Tensor:
    """Return n vectors (n, dim) in [-1, 1], evenly spread along every coordinate (paper, App. C.1)."""
    unit = qmc.LatinHypercube(dim, rng=rng).random(n)
    return torch.as_tensor(2 * unit - 1, dtype=torch.float32)


class Space(ABC):
    """What the search needs of a space: node potentials give the order, and a subclass says which pairs are linked."""

    def __init__(self, n_nodes: int, dim: int, constraints: Constraints | None) -> None:
        self.n_nodes = n_nodes
        self.dim = dim
        self.constraints = constraints or Constraints.none(n_nodes)

    @abstractmethod
    def links(self, vectors: Tensor, nodes: Tensor) -> Tensor:
        """Return a number (m, C, d) per pair of a node and another; above 0 the pair is linked."""

    @abstractmethod
    def encode(self, dag: Bools) -> Floats | None:
        """Return a vector (dim,) that decodes to the DAG, or None where none was found."""

    def decode(self, vectors: Tensor) -> Tensor:
        """Return the DAGs (C, d, d) of the vectors (C, dim)."""
        nodes = torch.arange(self.n_nodes, device=vectors.device)
        return self.parents(vectors, nodes).permute(1, 2, 0)

    def parents(self, vectors: Tensor, nodes: Tensor) -> Tensor:
        """Return the parents (m, C, d) of some nodes (m,) in the DAGs of the vectors (C, dim)."""
        potential = self._potentials(vectors)
        before = (potential[:, None, :] < potential[:, nodes][:, :, None]).transpose(0, 1)
        links = self.links(vectors, nodes)
        linked = before & (links > 0)
        if self.constraints.is_trivial:
            return linked
        device = vectors.device
        allowed = torch.as_tensor(self.constraints.allowed.T, device=device)[nodes][:, None, :]
        required = torch.as_tensor(self.constraints.required.T, device=device)[nodes][:, None, :]
        return self._at_most(linked & allowed | required, links, required, nodes)

    def _potentials(self, vectors: Tensor) -> Tensor:
        """Return potentials (C, d) whose order respects tiers and required edges."""
        potential = vectors[:, : self.n_nodes]
        if self.constraints.is_trivial:
            return potential
        potential = potential + self.tier_steps(vectors.device)
        if not self.constraints.required.any():
            return potential
        # Lift each node to its required parents, then rank; the topological order of the required edges breaks ties.
        order = topological_order(self.constraints.required)
        columns = list(potential.unbind(1))
        for node in order:
            for parent in np.flatnonzero(self.constraints.required[:, node]):
                columns[node] = torch.maximum(columns[node], columns[parent])
        lifted = torch.stack([columns[node] for node in order], 1)
        ranks = torch.argsort(torch.argsort(lifted, dim=1, stable=True), dim=1)
        place = torch.as_tensor(np.argsort(np.asarray(order)), device=vectors.device)
        return ranks[:, place].to(vectors.dtype)

    def codes(self, candidates: Candidates, inputs: Inputs) -> tuple[Tensor, Tensor, Tensor]:
        """Return parent sets as bits: the centre's (d, bytes), the candidates' (d, C, bytes), which differ (d, C).

        What is the same as in the centre's DAG is not decoded again, unless required edges or limits on the number of
        parents make one family depend on others.
        """
        d, n = self.n_nodes, len(candidates)
        center = self.decode(candidates.center[None]).numpy()
        center_codes = torch.as_tensor(inputs.encode(center)[:, 0])
        if not self.independent:
            codes = torch.as_tensor(inputs.encode(self.decode(candidates.vectors()).numpy()))
            return center_codes, codes, (codes != center_codes[:, None]).any(2).to(torch.uint8)
        codes = torch.empty(d, n, inputs.n_bytes, dtype=torch.uint8)
        changed = torch.empty(d, n, dtype=torch.uint8)
        potential = self._potentials(candidates.center[None])[0]
        rank, pairs = self.layout
        _core.decode_candidates(
            torch.cat([potential, candidates.center[d:]]).numpy(),
            rank,
            pairs,
            self.tier_steps(torch.device("cpu")).numpy(),
            inputs.place,
            np.ascontiguousarray(center[0].T, dtype=np.uint8),
            center_codes.numpy(),
            candidates.coordinate.numpy(),
            candidates.value.numpy(),
            codes.numpy(),
            changed.numpy(),
            crew(n * candidates.coordinate.shape[1] * d),
        )
        return center_codes, codes, changed

    @property
    def independent(self) -> bool:
        """Whether an edge depends on its own two nodes alone: no required edges, no limit on parents."""
        limits = self.constraints
        return not limits.required.any() and bool((limits.max_parents >= self.n_nodes - 1).all())

    @property
    @abstractmethod
    def layout(self) -> tuple[int, npt.NDArray[np.int32]]:
        """The rank, 0 for one number per pair, and the pairs (P, 2) of those numbers."""

    @property
    def has_tiers(self) -> bool:
        """Whether tiers order all nodes; a variable in no tier may come before or after any of them."""
        return bool((self.constraints.tier > 0).all())

    def tier_steps(self, device: torch.device) -> Tensor:
        """Return what is added to the potentials (d,) so that the tiers stand one behind the other."""
        tier = torch.as_tensor(self.constraints.tier, device=device, dtype=torch.float32)
        return TIER_STEP * tier if self.has_tiers else torch.zeros_like(tier)

    def _at_most(self, parents: Tensor, links: Tensor, required: Tensor, nodes: Tensor) -> Tensor:
        """Keep the most strongly linked parents where there are more than allowed."""
        limit = torch.as_tensor(self.constraints.max_parents, device=parents.device)[nodes][:, None, None]
        if bool((limit >= self.n_nodes - 1).all()):
            return parents
        strength = links.masked_fill(~parents, -torch.inf).masked_fill(required, torch.inf)
        rank = torch.argsort(torch.argsort(strength, dim=2, descending=True, stable=True), dim=2)
        return parents & (rank < limit)


class LowRankSpace(Space):
    """Potentials p and embeddings R: edge i -> j iff ``p_i < p_j`` and ``<r_i, r_j> > 0`` (paper, Eq. 4).

    The dimension is d (1 + k). With k < d - 1 not every DAG has a vector: at most k + 1 generic vectors have pairwise
    negative products, so a graph with a larger independent set is out of reach before pruning.
    """

    def __init__(self, n_nodes: int, rank: int = 8, constraints: Constraints | None = None) -> None:
        super().__init__(n_nodes, n_nodes * (1 + rank), constraints)
        self.rank = rank

    def links(self, vectors: Tensor, nodes: Tensor) -> Tensor:
        """Return the inner products of embeddings (m, C, d).

        Their signs make the graph, so a CPU sums them in one order, that of the compiled kernel: a matrix product
        rounds by its shape, and the sign of a product near 0 would follow.
        """
        embeddings = vectors[:, self.n_nodes :].reshape(-1, self.n_nodes, self.rank)
        if vectors.is_cuda:  # as a sum of products it would read and write the whole several times
            return (embeddings[:, nodes] @ embeddings.transpose(1, 2)).transpose(0, 1)
        own, others = embeddings[:, nodes].permute(2, 1, 0), embeddings.permute(2, 0, 1)  # (k, m, C), (k, C, d)
        total = own[0, :, :, None] * others[0]
        for k in range(1, self.rank):
            total += own[k, :, :, None] * others[k]
        return total

    @property
    def layout(self) -> tuple[int, npt.NDArray[np.int32]]:
        """The rank; no pairs."""
        return self.rank, np.empty((0, 2), np.int32)

    def encode(self, dag: Bools) -> Floats | None:
        """Return a vector that decodes to the DAG, or None where the search for one gave up.

        Embeddings are fitted to the signs of the skeleton by a margin perceptron from the leading eigenvectors.
        """
        signs = np.where(dag | dag.T, 1.0, -1.0)
        values, vectors = np.linalg.eigh(signs + self.n_nodes * np.eye(self.n_nodes))
        embedding = vectors[:, -self.rank :] * np.sqrt(values[-self.rank :].clip(0.0))  # 0 up to rounding
        if self.rank > self.n_nodes:
            embedding = np.pad(embedding, ((0, 0), (0, self.rank - self.n_nodes)))
        for _ in range(ENCODE_STEPS):
            wrong = signs * (embedding @ embedding.T) < ENCODE_MARGIN
            np.fill_diagonal(wrong, False)
            if not wrong.any():
                break
            embedding = embedding + ENCODE_RATE * (wrong * signs) @ embedding
            embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
        vector = np.concatenate([_potentials_of(dag), (embedding / np.abs(embedding).max()).ravel()])
        return vector if _decodes_to(self, vector, dag) else None


ENCODE_STEPS = 2_000
ENCODE_MARGIN = 1e-3
ENCODE_RATE = 0.02


class FullRankSpace(Space):
    """Vec2DAG: potentials p and one number per pair: edge i -> j iff ``p_i < p_j`` and ``E_ij > 0``.

    The dimension is d (d + 1) / 2, and every DAG has a vector (Duong et al. 2024, Theorem 1).
    """

    def __init__(self, n_nodes: int, constraints: Constraints | None = None) -> None:
        super().__init__(n_nodes, n_nodes * (n_nodes + 1) // 2, constraints)
        self._upper = np.triu_indices(n_nodes, 1)
        place = np.zeros((n_nodes, n_nodes), dtype=np.int64)
        place[self._upper] = np.arange(len(self._upper[0]))
        self._place = torch.as_tensor(n_nodes + place + place.T)

    def links(self, vectors: Tensor, nodes: Tensor) -> Tensor:
        """Return the edge potentials of the pairs (m, C, d); a node is never linked to itself."""
        return vectors[:, self._place.to(vectors.device)[nodes]].permute(1, 0, 2)

    @property
    def layout(self) -> tuple[int, npt.NDArray[np.int32]]:
        """One number per pair, and the pairs (P, 2)."""
        return 0, np.column_stack(self._upper).astype(np.int32)

    def encode(self, dag: Bools) -> Floats | None:
        """Return a vector that decodes to the DAG; every number away from 0 by 1/2."""
        links = np.where((dag | dag.T)[self._upper], 0.5, -0.5)
        vector = np.concatenate([_potentials_of(dag), links])
        return vector if _decodes_to(self, vector, dag) else None


def _potentials_of(dag: Bools) -> Floats:
    """Return potentials, evenly spread over (-1, 1), that rise along every edge."""
    d = len(dag)
    potentials = np.empty(d)
    potentials[np.asarray(topological_order(dag))] = (2 * np.arange(d) + 1) / d - 1
    return potentials


def _decodes_to(space: Space, vector: Floats, dag: Bools) -> bool:
    decoded = space.decode(torch.as_tensor(vector, dtype=torch.float32)[None])[0].numpy()
    return bool((decoded == dag).all())
