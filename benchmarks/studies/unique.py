"""How many of 1,000 random DAGs with 30 nodes differ, by the rank of the search space (paper, App. F: exploration).

    python -m benchmarks unique

The paper draws vectors from [-1, 1] and finds fewer different DAGs the higher the rank. Uniform vectors give 1,000
different DAGs at any rank; candidates of a trust region do not, so both are counted: ``length`` is the half-width of
the region, 0 for uniform vectors.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import torch

from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo.search.paper.region import TrustRegion
from drbo.search.paper.space import FullRankSpace, LowRankSpace, Space
from drbo.settings import Settings

N_NODES, N_DAGS = 30, 1_000
RANKS = ("2", "4", "8", "12", "32", "full")


def count(space: Space, length: float, seed: int) -> int:
    """Return the number of different DAGs among 1,000 candidates around a random centre, or uniform ones."""
    generator = torch.Generator().manual_seed(seed)
    if length:
        region = TrustRegion(space.dim, Settings())
        region.length = length
        center = 2 * torch.rand(space.dim, generator=generator) - 1
        vectors = region.candidates(center, N_DAGS, generator).vectors()
    else:
        vectors = 2 * torch.rand(N_DAGS, space.dim, generator=generator) - 1
    dags = space.decode(vectors).numpy()
    return len(np.unique(np.packbits(dags.reshape(N_DAGS, -1), axis=1), axis=0))


@study("unique", "rank length seed", ranks=("2", "full"), seeds=range(1))
def run(
    lengths: Annotated[Names, "half-widths; 0: uniform vectors"] = ("0", "0.05", "0.01"),
    ranks: Annotated[Names, "numbers, or full"] = RANKS,
    seeds: Seeds = range(10),
) -> Iterator[Row]:
    """Yield how many DAGs differ."""
    for length in map(float, lengths):
        for rank in ranks:
            space = FullRankSpace(N_NODES) if rank == "full" else LowRankSpace(N_NODES, int(rank))
            for seed in seeds:
                key = {"rank": rank, "length": length, "seed": seed}
                yield {**key, "dim": space.dim, "unique": count(space, length, seed)}
