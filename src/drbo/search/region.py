"""The trust region: where candidates are drawn, and how it grows and shrinks (paper, App. C.1)."""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from drbo.settings import Settings

SOBOL_BITS = 30  # what torch's Sobol engine makes
SOBOL_MAX_DIM = torch.quasirandom.SobolEngine.MAXDIM


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
    _base: Tensor | None = field(init=False, default=None, repr=False)

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
    ) -> Tensor:
        """Return n candidates (n, dim) around the centre."""
        device = center.device
        place = self._moved(n, generator, device)  # flat positions in (n, dim)
        coordinate = place % self.dim
        low = (center - self.length).clamp(min=-1.0)
        width = (center + self.length).clamp(max=1.0) - low
        unit = self._sobol(n, place, coordinate, generator, device)
        vectors = center.repeat(n, 1)
        vectors.view(-1)[place] = low[coordinate] + width[coordinate] * unit
        return vectors

    def _moved(self, n: int, generator: torch.Generator, device: torch.device) -> Tensor:
        """Draw which coordinates move: each with the same probability, at least one per candidate.

        The gaps between moved coordinates are geometric, so the cost is that of the moved ones alone.
        """
        size = n * self.dim
        probability = min(1.0, self.settings.moved_coordinates / self.dim)
        if probability == 1.0:
            return torch.arange(size, device=device)
        expected = size * probability
        count = int(expected + 8 * expected**0.5 + 16)
        uniform = torch.rand(count, generator=generator, device=device, dtype=torch.float64)
        log_stay = torch.log1p(torch.tensor(-probability, dtype=torch.float64, device=device))
        gaps = (torch.log1p(-uniform) / log_stay).floor().long() + 1
        place = gaps.cumsum(0) - 1
        place = place[place < size]
        moved = torch.zeros(n, dtype=torch.bool, device=device)
        moved[place // self.dim] = True
        still = (~moved).nonzero()[:, 0]
        forced = torch.randint(self.dim, (len(still),), generator=generator, device=device)
        return torch.cat([place, still * self.dim + forced])

    def _sobol(
        self, n: int, place: Tensor, coordinate: Tensor, generator: torch.Generator, device: torch.device
    ) -> Tensor:
        """Return Sobol numbers in [0, 1) at flat positions; one scrambled sequence, shifted anew at each call."""
        if self.dim > SOBOL_MAX_DIM:  # no direction numbers beyond: plain uniform points
            return torch.rand(len(place), generator=generator, device=device)
        if self._base is None or len(self._base) < n:
            seed = int(torch.randint(2**31, (1,), generator=generator, device=device))
            engine = torch.quasirandom.SobolEngine(self.dim, scramble=True, seed=seed)
            points = engine.draw(n, dtype=torch.float64)
            self._base = (points * 2**SOBOL_BITS).to(torch.int32).to(device)
        shift = torch.randint(2**SOBOL_BITS, (self.dim,), generator=generator, device=device, dtype=torch.int32)
        digits: Tensor = self._base.view(-1)[place] ^ shift[coordinate]
        return (digits.to(torch.float32) + 0.5) * 2.0**-SOBOL_BITS
