"""What has been evaluated: an append-only record of DAGs as bits and of their local scores."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from drbo.settings import Settings

_BIT = 2 ** torch.arange(7, -1, -1, dtype=torch.uint8)


class History:
    """Evaluated DAGs, their local scores, and draws from them for training.

    DAGs are kept as packed parent bits on the device of the networks; 50,000 DAGs of 100 nodes take 65 MB.

    Examples
    --------
    >>> history = History(2, torch.device("cpu"))
    >>> history.append(np.array([[[False, True], [False, False]]]), np.array([[0.0, -1.0]]))
    >>> history.parents(torch.tensor([0]))[1].tolist()
    [[1.0, 0.0]]
    """

    def __init__(self, n_nodes: int, device: torch.device) -> None:
        self.n_nodes, self.device = n_nodes, device
        self._bits = torch.empty(0, n_nodes, -(-n_nodes // 8), dtype=torch.uint8, device=device)
        self._local = torch.empty(0, n_nodes, device=device)
        self._size = 0
        self._reservoir = torch.empty(0, dtype=torch.int64, device=device)

    def __len__(self) -> int:
        return self._size

    def append(
        self,
        dags: npt.NDArray[np.bool_],  # (B, d, d)
        local: npt.NDArray[np.float64],  # (B, d)
    ) -> None:
        """Add a batch of evaluated DAGs."""
        bits = np.packbits(dags.transpose(0, 2, 1), axis=2)
        end = self._size + len(dags)
        if end > len(self._bits):
            room = max(end, 2 * len(self._bits), 1_024)
            self._bits = _grown(self._bits, room)
            self._local = _grown(self._local, room)
        self._bits[self._size : end] = torch.as_tensor(bits, device=self.device)
        self._local[self._size : end] = torch.as_tensor(local, device=self.device, dtype=self._local.dtype)
        self._size = end

    def parents(self, rows: Tensor) -> Tensor:
        """Return the 0.0/1.0 parent vectors (d, N, d) of some DAGs, node by node."""
        bits = self._bits[rows].transpose(0, 1)  # (d, N, bytes)
        spread = (bits[:, :, :, None] & _BIT.to(self.device)) > 0
        return spread.flatten(2)[:, :, : self.n_nodes].to(torch.float32)

    def local(self, rows: Tensor) -> Tensor:
        """Return the local scores (d, N) of some DAGs."""
        return self._local[rows].T

    def training_rows(self, n_new: int, settings: Settings, generator: torch.Generator) -> Tensor:
        """Return the newest rows and a replay of earlier ones."""
        first_new = self._size - n_new
        newest = torch.arange(first_new, self._size, device=self.device)
        if first_new == 0 or settings.n_replay == 0:
            return newest
        if settings.replay == "uniform":
            past = torch.randint(first_new, (settings.n_replay,), generator=generator, device=self.device)
        else:
            past = self._reservoir
        return torch.cat([newest, past])

    def update_reservoir(self, n_new: int, settings: Settings, rng: np.random.Generator) -> None:
        """Let the newest rows enter a uniform sample of fixed size of all rows (Vitter 1985, algorithm R)."""
        kept = self._reservoir.tolist()
        for row in range(self._size - n_new, self._size):
            if len(kept) < settings.n_replay:
                kept.append(row)
            elif (place := int(rng.integers(row + 1))) < settings.n_replay:
                kept[place] = row
        self._reservoir = torch.tensor(kept, dtype=torch.int64, device=self.device)


def _grown(tensor: Tensor, room: int) -> Tensor:
    grown = tensor.new_empty((room, *tensor.shape[1:]))
    grown[: len(tensor)] = tensor
    return grown
