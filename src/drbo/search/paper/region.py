"""The trust region: where candidates are drawn, and how it grows and shrinks (paper, App. C.1)."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from drbo import _core
from drbo.machine.threads import crew
from drbo.search.state import Fields, State
from drbo.settings import Settings

SOBOL_BITS = 30  # what torch's Sobol engine makes
SOBOL_MAX_DIM = torch.quasirandom.SobolEngine.MAXDIM


@dataclass(frozen=True, eq=False)
class Candidates:
    """Vectors near a centre, kept as what differs from it."""

    center: Tensor  # (dim,)
    coordinate: Tensor  # (C, room) int32: moved coordinates; dim in places that are free
    value: Tensor  # (C, room): where they moved to

    def __len__(self) -> int:
        return len(self.coordinate)

    def __getitem__(self, rows: slice) -> "Candidates":
        return Candidates(self.center, self.coordinate[rows], self.value[rows])

    def vectors(self, rows: Tensor | slice = slice(None)) -> Tensor:
        """Return some of the vectors (m, dim), written out."""
        coordinate = self.coordinate[rows].long()
        vectors = torch.cat([self.center, self.center.new_zeros(1)]).repeat(len(coordinate), 1)
        return vectors.scatter_(1, coordinate, self.value[rows])[:, :-1]


@dataclass(frozen=True, eq=False)
class SobolDigits:
    """The direction numbers of a Sobol sequence; without bits, points are plain uniform ones."""

    directions: Tensor  # (dim, bits)

    @cached_property
    def byte_tables(self) -> list[Tensor]:
        """The exclusive or of the direction numbers that each value of a byte chooses, flat (2^8 dim), byte by byte."""
        return [_byte_table(part) for part in self.directions.split(8, dim=1)]


class RegionMoves(NamedTuple):
    """What the moves of candidates are drawn from: a cube, and a Sobol sequence."""

    n: int  # candidates
    room: int  # moved coordinates of a candidate, at most
    probability: float
    low: Tensor  # (dim,)
    width: Tensor  # (dim,)
    digits: SobolDigits
    shift: Tensor  # (dim,)


@dataclass
class TrustRegion:
    """A cube around the best vector, of half-width ``length`` on [-1, 1] and cut to the domain.

    A candidate takes each coordinate from a scrambled Sobol point of the cube with probability
    ``moved_coordinates / dim`` and from the centre otherwise; at least one coordinate always moves.
    """

    dim: int
    settings: Settings
    length: float = field(init=False)
    successes: int = field(init=False, default=0)
    failures: int = field(init=False, default=0)
    seed: int | None = field(init=False, default=None)  # of the Sobol sequence, once there is one
    _digits: SobolDigits | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        self.length = self.settings.paper.region_start

    def update(self, improved: bool) -> None:
        """Double after successes in a row, halve after failures in a row; below the smallest, start again or stay."""
        self.successes = self.successes + 1 if improved else 0
        self.failures = 0 if improved else self.failures + 1
        if self.successes == self.settings.paper.region_successes:
            self.length = min(2 * self.length, self.settings.paper.region_max)
        elif self.failures == self.settings.paper.region_failures:
            self.length /= 2
        else:
            return
        self.successes = self.failures = 0
        if self.length < self.settings.paper.region_min:
            rules = self.settings.paper
            self.length = rules.region_max if rules.region == "restart" else rules.region_min

    def restart(self) -> None:
        """Start again at the largest length: nothing new is left in the region."""
        self.length = self.settings.paper.region_max
        self.successes = self.failures = 0

    def capture(self) -> State:
        """Return the state; the direction numbers follow from their seed."""
        return {name: getattr(self, name) for name in ("length", "successes", "failures", "seed")}

    def restore(self, fields: Fields) -> None:
        """Set the state."""
        settings = self.settings
        self.length = fields.number("length", 0.0, max(settings.paper.region_start, settings.paper.region_max))
        self.successes, self.failures = fields.integer("successes"), fields.integer("failures")
        self.seed = fields.integer("seed", 0, 2**31 - 1) if fields.has("seed") else None
        self._digits = None

    def candidates(
        self,
        center: Tensor,  # (dim,) in [-1, 1]
        n: int,
        generator: torch.Generator,
    ) -> Candidates:
        """Return n candidates around the centre."""
        device = center.device
        low = (center - self.length).clamp(min=-1.0)
        width = (center + self.length).clamp(max=1.0) - low
        probability = min(1.0, self.settings.paper.moved_coordinates / self.dim)
        draw = _moved_compiled if device.type == "cpu" else _moved
        sobol = self.sobol(n, generator, device)
        moves = RegionMoves(n, moves_kept(self.dim, self.settings), probability, low, width, *sobol)
        return Candidates(center, *draw(moves, generator))

    def sobol(self, n: int, generator: torch.Generator, device: torch.device) -> tuple[SobolDigits, Tensor]:
        """Return the direction numbers of one scrambled sequence, and a digital shift (dim,) drawn anew."""
        if self.dim > SOBOL_MAX_DIM:  # no direction numbers beyond: plain uniform points
            none = torch.empty(self.dim, 0, dtype=torch.int32, device=device)
            return SobolDigits(none), torch.empty(self.dim, dtype=torch.int32, device=device)
        if self.seed is None:
            self.seed = int(torch.randint(2**31, (1,), generator=generator, device=device))
        bits = max(1, (n - 1).bit_length())  # the further digits of the numbers 0 .. n - 1 are 0
        if self._digits is None or self._digits.directions.shape[1] != bits:
            engine = torch.quasirandom.SobolEngine(self.dim, scramble=True, seed=self.seed)
            self._digits = SobolDigits(engine.sobolstate[:, :bits].to(torch.int32).contiguous().to(device))
        shift = torch.randint(2**SOBOL_BITS, (self.dim,), generator=generator, device=device, dtype=torch.int32)
        return self._digits, shift


def moves_kept(dim: int, settings: Settings) -> int:
    """Return the room for moved coordinates: ten standard deviations of their number; more would never be seen.

    Examples
    --------
    >>> moves_kept(10, Settings()), moves_kept(270, Settings())
    (10, 65)
    """
    expected = min(float(dim), settings.paper.moved_coordinates)
    return min(dim, int(expected + 10 * expected**0.5 + 1))


def _moved_compiled(moves: RegionMoves, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return moved coordinates (n, room), free places dim, and their new values; on the CPU."""
    n, room, probability, low, width, digits, shift = moves
    coordinate, value = torch.empty(n, room, dtype=torch.int32), torch.empty(n, room)
    _core.region_moves(
        low.numpy(),
        width.numpy(),
        probability,
        digits.directions.numpy().view(np.uint32),
        shift.numpy().view(np.uint32),
        int(torch.randint(2**62, (1,), generator=generator)),
        coordinate.numpy(),
        value.numpy(),
        crew(n * room),
    )
    return coordinate, value


def _moved(moves: RegionMoves, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the same as :func:`_moved_compiled`, with batched operations; other random numbers.

    Candidates are columns inside: sums along columns are much quicker on a GPU.
    """
    n, room, probability, low, width, sobol, shift = moves
    device, dim = low.device, len(low)
    uniform = torch.rand(room, n, generator=generator, device=device)
    if probability < 1.0:  # gaps between moved coordinates are geometric
        gaps = (torch.log1p(-uniform) / math.log1p(-probability)).clamp_(max=dim).to(torch.int32) + 1
    else:
        gaps = torch.ones(room, n, dtype=torch.int32, device=device)
    coordinate = (gaps.cumsum(0, dtype=torch.int32) - 1).clamp_(max=dim)
    forced = torch.randint(dim, (n,), generator=generator, device=device, dtype=torch.int32)
    coordinate[0] = torch.where(coordinate[0] < dim, coordinate[0], forced)
    place = coordinate.clamp(max=dim - 1).long()  # free places get some value
    if sobol.directions.shape[1] == 0:
        unit = torch.rand(room, n, generator=generator, device=device)
    else:
        row = torch.arange(n, device=device)
        gray, digits = row ^ (row >> 1), shift[place]
        for number, table in enumerate(sobol.byte_tables):
            digits ^= table[((gray >> 8 * number) % (len(table) // dim)) * dim + place]
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
