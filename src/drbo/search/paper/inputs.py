"""The inputs of the networks: which parents the network of a node sees, and parent sets as packed bits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from drbo.arrays import Bools
from drbo.constraints import Constraints


@dataclass(frozen=True, eq=False)
class Inputs:
    """The candidate parents of every node: all nodes, or only the allowed ones where these are few.

    Networks, candidates and the history hold ``n_inputs`` numbers or bits per node, so their size follows the number
    of candidate parents, not the number of nodes.

    Examples
    --------
    >>> inputs = Inputs.all_nodes(3)
    >>> dag = np.array([[[False, True, True], [False, False, False], [False, True, False]]])  # 0 -> 1, 0 -> 2, 2 -> 1
    >>> codes = inputs.encode(dag)
    >>> [f"{int(code[0, 0]):08b}" for code in codes]  # one byte per node
    ['00000000', '10100000', '10000000']
    """

    parents: npt.NDArray[np.int32]  # (d, m): the parent behind each input of a node; -1: none
    place: npt.NDArray[np.int32]  # (d, d): the input of node j that parent i has, at [j, i]; -1: not allowed

    @classmethod
    def all_nodes(cls, n_nodes: int) -> "Inputs":
        """Every node is an input of every other."""
        return cls.allowed(Constraints.none(n_nodes))

    @classmethod
    def allowed(cls, constraints: Constraints) -> "Inputs":
        """Only allowed parents are inputs, where that at least halves their number; required ones always are."""
        allowed = constraints.allowed | constraints.required
        np.fill_diagonal(allowed, False)
        d, most = len(allowed), int(allowed.sum(axis=0).max())
        if 2 * most >= d or most == 0:
            parents = np.broadcast_to(np.arange(d, dtype=np.int32), (d, d)).copy()
            return cls(parents, np.where(allowed.T, parents, -1).astype(np.int32))
        parents, place = np.full((d, most), -1, np.int32), np.full((d, d), -1, np.int32)
        for node in range(d):
            members = np.flatnonzero(allowed[:, node])
            parents[node, : len(members)] = members
            place[node, members] = np.arange(len(members))
        return cls(parents, place)

    @property
    def n_nodes(self) -> int:
        return len(self.parents)

    @property
    def n_inputs(self) -> int:
        return int(self.parents.shape[1])

    @property
    def n_bytes(self) -> int:
        return -(-self.n_inputs // 8)

    @cached_property
    def is_complete(self) -> bool:
        """Input i is node i, for every node."""
        n_variables = self.place.shape[1]
        return self.n_inputs == n_variables and bool((self.parents == np.arange(n_variables)).all())

    def encode(
        self,
        dags: Bools,  # (B, d, d)
    ) -> npt.NDArray[np.uint8]:
        """Return the parent sets (d, B, bytes) of DAGs as bits, node by node."""
        parents = dags.transpose(2, 0, 1)
        if not self.is_complete:
            parents = np.take_along_axis(parents, np.maximum(self.parents, 0)[:, None, :], axis=2)
            parents = parents & (self.parents >= 0)[:, None, :]
        return np.packbits(parents, axis=2)

    def unpack(
        self,
        codes: Tensor,  # (m, N, bytes)
    ) -> Tensor:
        """Return bits as the 0.0/1.0 inputs (m, N, n_inputs) of the networks."""
        bit = torch.arange(7, -1, -1, dtype=torch.uint8, device=codes.device)
        return ((codes[:, :, :, None] >> bit) & 1).flatten(2)[:, :, : self.n_inputs].to(torch.float32)

    def gather(
        self,
        nodes: Tensor,  # (m,)
        parents: Tensor,  # (m, C, d)
    ) -> Tensor:
        """Return the inputs (m, C, n_inputs) that belong to parent vectors."""
        if self.is_complete:
            return parents
        index = self._parents.to(parents.device)[nodes]
        picked = parents.gather(2, index.clamp(min=0)[:, None, :].expand(-1, parents.shape[1], -1))
        return picked & (index >= 0)[:, None, :]

    @cached_property
    def _parents(self) -> Tensor:
        return torch.as_tensor(self.parents, dtype=torch.int64)
