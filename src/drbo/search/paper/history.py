"""What has been evaluated: an append-only record of DAGs as bits and of their local scores."""

import numpy as np
import torch
from torch import Tensor

from drbo.arrays import Bools, Floats
from drbo.search.paper.inputs import Inputs
from drbo.search.state import Fields, State
from drbo.settings import Settings

FIRST_ROOM = 1_024
#: The largest local score in a saved history: sums of squares stay finite in single precision.
LARGEST = 1e15


class History:
    """Evaluated DAGs, their local scores, and draws from them for training.

    DAGs are kept as packed bits of candidate parents on the device of the networks, node by node: 50,000 DAGs of 100
    nodes take 65 MB, of 1,000 nodes with 48 candidate parents each 300 MB.
    """

    def __init__(self, n_nodes: int, device: torch.device, inputs: Inputs | None = None) -> None:
        self.n_nodes, self.device = n_nodes, device
        self.inputs = inputs or Inputs.all_nodes(n_nodes)
        self.codes = torch.empty(n_nodes, 0, self.inputs.n_bytes, dtype=torch.uint8, device=device)  # (d, room, bytes)
        self.values = torch.empty(n_nodes, 0, device=device)  # (d, room)
        self._size = 0
        self._reservoir = torch.empty(0, dtype=torch.int64, device=device)

    def __len__(self) -> int:
        return self._size

    def append(
        self,
        dags: Bools,  # (B, d, d)
        local: Floats,  # (B, d)
    ) -> None:
        """Add a batch of evaluated DAGs."""
        end = self._size + len(dags)
        if end > self.codes.shape[1]:
            room = max(end, 2 * self.codes.shape[1], FIRST_ROOM)
            self.codes, self.values = _grown(self.codes, room), _grown(self.values, room)
        self.codes[:, self._size : end] = torch.as_tensor(self.inputs.encode(dags), device=self.device)
        self.values[:, self._size : end] = torch.as_tensor(local.T, device=self.device, dtype=self.values.dtype)
        self._size = end

    def capture(self) -> State:
        """Return the state, without the room for more."""
        codes, values = self.codes[:, : self._size], self.values[:, : self._size]
        return {name: part.cpu().numpy() for name, part in (("codes", codes), ("values", values))} | {
            "reservoir": self._reservoir.cpu().numpy()
        }

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        d, n_inputs = self.n_nodes, self.inputs.n_inputs
        codes = fields.array("codes", np.uint8, (d, None, self.inputs.n_bytes))
        values = fields.array("values", np.float32, codes.shape[:2], -LARGEST, LARGEST)
        reservoir = fields.array("reservoir", np.int64, (None,), 0, codes.shape[1] - 1)
        if n_inputs % 8 and (codes[:, :, -1] & (0xFF >> n_inputs % 8)).any():
            fields.refuse("codes", f"have bits for {n_inputs} inputs", "more")
        self.codes, self.values = (torch.as_tensor(part, device=self.device) for part in (codes, values))
        self._reservoir = torch.as_tensor(reservoir, device=self.device)
        self._size = codes.shape[1]

    def parents(self, rows: Tensor) -> Tensor:
        """Return the 0.0/1.0 inputs (d, N, n_inputs) of the networks for some DAGs: parent vectors, node by node."""
        return self.inputs.unpack(self.codes[:, rows])

    def local(self, rows: Tensor) -> Tensor:
        """Return the local scores (d, N) of some DAGs."""
        return self.values[:, rows]

    def training_rows(self, n_new: int, settings: Settings, generator: torch.Generator) -> Tensor:
        """Return the rows (n_grads, N) of the training steps: the newest, and a replay of earlier ones.

        Where the newest are fewer than a batch the replay is larger. The number of rows is then the same in every
        iteration, which a recorded training step needs.
        """
        first_new, steps = self._size - n_new, settings.paper.n_grads
        newest = torch.arange(first_new, self._size, device=self.device).expand(steps, -1)
        if first_new == 0 or settings.paper.n_replay == 0:
            return newest
        if settings.paper.replay == "uniform":
            count = settings.paper.n_replay + max(0, settings.paper.batch_size - n_new)
            past = torch.randint(first_new, (steps, count), generator=generator, device=self.device)
        else:
            past = self._reservoir.expand(steps, -1)
        return torch.cat([newest, past], 1)

    def update_reservoir(self, n_new: int, settings: Settings, rng: np.random.Generator) -> None:
        """Let the newest rows enter a uniform sample of fixed size of all rows (Vitter 1985, algorithm R)."""
        kept = self._reservoir.tolist()
        for row in range(self._size - n_new, self._size):
            if len(kept) < settings.paper.n_replay:
                kept.append(row)
            elif (place := int(rng.integers(row + 1))) < settings.paper.n_replay:
                kept[place] = row
        self._reservoir = torch.tensor(kept, dtype=torch.int64, device=self.device)


def _grown(tensor: Tensor, room: int) -> Tensor:
    """Return the tensor with more room along its second axis."""
    grown = tensor.new_zeros((tensor.shape[0], room, *tensor.shape[2:]))
    grown[:, : tensor.shape[1]] = tensor
    return grown
