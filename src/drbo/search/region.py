"""The trust region: where candidates are drawn, and how it grows and shrinks (paper, App. C.1)."""

import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from drbo.scores.threads import in_threads
from drbo.settings import Settings

SOBOL_BITS = 30  # what torch's Sobol engine makes
SOBOL_MAX_DIM = torch.quasirandom.SobolEngine.MAXDIM


@dataclass(frozen=True, eq=False)
class Candidates:
    """Vectors near a centre, kept as what differs from it.

    Examples
    --------
    >>> moved = Candidates(torch.zeros(3), torch.tensor([[1, 3]]), torch.tensor([[0.5, 0.0]]))
    >>> moved.vectors().tolist()
    [[0.0, 0.5, 0.0]]
    """

    center: Tensor  # (dim,)
    coordinate: Tensor  # (C, room) int32: moved coordinates; dim in places that are free
    value: Tensor  # (C, room): where they moved to

    def __len__(self) -> int:
        return len(self.coordinate)

    def vectors(self, rows: Tensor | slice = slice(None)) -> Tensor:
        """Return some of the vectors (m, dim), written out."""
        coordinate = self.coordinate[rows].long()
        vectors = torch.cat([self.center, self.center.new_zeros(1)]).repeat(len(coordinate), 1)
        return vectors.scatter_(1, coordinate, self.value[rows])[:, :-1]


@dataclass
class TrustRegion:
    """A cube around the best vector, of half-width ``length`` on [-1, 1] and cut to the domain.

    A candidate takes each coordinate from a scrambled Sobol point of the cube with probability
    ``moved_coordinates / dim`` and from the centre otherwise; at least one coordinate always moves.

    Examples
    --------
    >>> region = TrustRegion(dim=4, settings=Settings(region_failures=1))
    >>> region.update(improved=False)
    >>> region.length
    0.5
    """

    dim: int
    settings: Settings
    length: float = field(init=False)
    successes: int = field(init=False, default=0)
    failures: int = field(init=False, default=0)
    _directions: Tensor | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        self.length = self.settings.region_start

    def update(self, improved: bool) -> None:
        """Double after successes in a row, halve after failures in a row; below the smallest, start again or stay."""
        self.successes = self.successes + 1 if improved else 0
        self.failures = 0 if improved else self.failures + 1
        if self.successes == self.settings.region_successes:
            self.length = min(2 * self.length, self.settings.region_max)
        elif self.failures == self.settings.region_failures:
            self.length /= 2
        else:
            return
        self.successes = self.failures = 0
        if self.length < self.settings.region_min:
            self.length = self.settings.region_max if self.settings.region_restart else self.settings.region_min

    def restart(self) -> None:
        """Start again at the largest length: nothing new is left in the region."""
        self.length = self.settings.region_max
        self.successes = self.failures = 0

    def candidates(
        self,
        center: Tensor,  # (dim,) in [-1, 1]
        n: int,
        generator: torch.Generator,
    ) -> Candidates:
        """Return n candidates around the centre."""
        low = (center - self.length).clamp(min=-1.0)
        width = (center + self.length).clamp(max=1.0) - low
        probability = min(1.0, self.settings.moved_coordinates / self.dim)
        room = moves_kept(self.dim, self.settings)
        directions, shift = self._sobol(n, generator, center.device)
        draw = _moved_compiled if center.device.type == "cpu" else _moved
        coordinate, value = draw(n, room, probability, low, width, directions, shift, generator)
        return Candidates(center, coordinate, value)

    def _sobol(self, n: int, generator: torch.Generator, device: torch.device) -> tuple[Tensor, Tensor]:
        """Return direction numbers (dim, bits) of one scrambled sequence, and a digital shift (dim,) drawn anew."""
        if self.dim > SOBOL_MAX_DIM:  # no direction numbers beyond: plain uniform points
            none = torch.empty(self.dim, 0, dtype=torch.int32, device=device)
            return none, torch.empty(self.dim, dtype=torch.int32, device=device)
        if self._directions is None:
            seed = int(torch.randint(2**31, (1,), generator=generator, device=device))
            engine = torch.quasirandom.SobolEngine(self.dim, scramble=True, seed=seed)
            self._directions = engine.sobolstate.to(torch.int32).to(device)
        bits = max(1, (n - 1).bit_length())  # the further digits of the numbers 0 .. n - 1 are 0
        shift = torch.randint(2**SOBOL_BITS, (self.dim,), generator=generator, device=device, dtype=torch.int32)
        return self._directions[:, :bits].contiguous(), shift


def moves_kept(dim: int, settings: Settings) -> int:
    """Return the room for moved coordinates: ten standard deviations of their number; more would never be seen.

    Examples
    --------
    >>> moves_kept(10, Settings()), moves_kept(270, Settings())
    (10, 65)
    """
    expected = min(float(dim), settings.moved_coordinates)
    return min(dim, int(expected + 10 * expected**0.5 + 1))


def _moved_compiled(
    n: int,
    room: int,
    probability: float,
    low: Tensor,  # (dim,)
    width: Tensor,  # (dim,)
    directions: Tensor,  # (dim, bits)
    shift: Tensor,  # (dim,)
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return moved coordinates (n, room), free places dim, and their new values; on the CPU."""
    from drbo.search import compiled_draws  # compiled: only where it is used

    seed = np.uint64(int(torch.randint(2**62, (1,), generator=generator)))
    coordinate, value = torch.empty(n, room, dtype=torch.int32), torch.empty(n, room)
    sobol = (directions.numpy().view(np.uint32), shift.numpy().view(np.uint32))
    arguments = (low.numpy(), width.numpy(), probability, *sobol, seed, coordinate.numpy(), value.numpy())
    in_threads(compiled_draws.move, n, n * room, *arguments)
    return coordinate, value


def _moved(
    n: int,
    room: int,
    probability: float,
    low: Tensor,
    width: Tensor,
    directions: Tensor,
    shift: Tensor,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return the same as :func:`_moved_compiled`, with batched operations; other random numbers.

    Candidates are columns inside: sums along columns are much quicker on a GPU.
    """
    device, dim = low.device, len(low)
    uniform = torch.rand(room, n, generator=generator, device=device, dtype=torch.float64)
    if probability < 1.0:  # gaps between moved coordinates are geometric
        gaps = (torch.log1p(-uniform) / math.log1p(-probability)).clamp_(max=dim).to(torch.int32) + 1
    else:
        gaps = torch.ones(room, n, dtype=torch.int32, device=device)
    coordinate = (gaps.cumsum(0, dtype=torch.int32) - 1).clamp_(max=dim)
    forced = torch.randint(dim, (n,), generator=generator, device=device, dtype=torch.int32)
    coordinate[0] = torch.where(coordinate[0] < dim, coordinate[0], forced)
    place = coordinate.clamp(max=dim - 1).long()  # free places get some value
    if directions.shape[1] == 0:
        unit = torch.rand(room, n, generator=generator, device=device)
    else:
        row = torch.arange(n, device=device)
        gray, digits = row ^ (row >> 1), shift[place]
        for start in range(0, directions.shape[1], 8):
            table = _byte_table(directions[:, start : start + 8])
            digits ^= table[((gray >> start) % (len(table) // dim)) * dim + place]
        unit = (digits.to(torch.float32) + 0.5) * 2.0**-SOBOL_BITS
    return coordinate.T, (low[place] + width[place] * unit).T


def _byte_table(
    directions: Tensor,  # (dim, at most 8)
) -> Tensor:
    """Return, flat, the exclusive or of the chosen direction numbers for every value of a byte: (2^bits, dim)."""
    table = directions.new_zeros(1, len(directions))
    for column in directions.T:
        table = torch.cat([table, table ^ column])
    return table.flatten()
