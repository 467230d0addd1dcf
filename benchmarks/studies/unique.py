"""How many of 1,000 random DAGs with 30 nodes differ, by the rank of the search space (paper, App. F: exploration).

    python -m benchmarks unique --save benchmarks/rows/unique.csv

The paper draws vectors from [-1, 1] and finds fewer different DAGs the higher the rank. Uniform vectors give 1,000
different DAGs at any rank; candidates of a trust region do not, so both are counted: ``length`` is the half-width of
the region, 0 for uniform vectors.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from benchmarks import rows as table
from drbo.search.paper.region import TrustRegion
from drbo.search.paper.space import FullRankSpace, LowRankSpace, Space
from drbo.settings import Settings

KEY = ("rank", "length", "seed")
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


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="0,0.05,0.01", help="half-widths, comma-separated; 0: uniform vectors")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows")
    options = parser.parse_args(arguments)
    for length in map(float, options.lengths.split(",")):
        for rank in RANKS:
            space = FullRankSpace(N_NODES) if rank == "full" else LowRankSpace(N_NODES, int(rank))
            part = [
                {"rank": rank, "length": length, "seed": seed, "dim": space.dim, "unique": count(space, length, seed)}
                for seed in range(options.seeds)
            ]
            print(f"rank {rank}, length {length}: {table.spread(row['unique'] for row in part)} of {N_DAGS}")
            if options.save:
                table.save(options.save, [{**row, **table.stamp("cpu")} for row in part], KEY)
