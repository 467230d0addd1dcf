"""Linear-Gaussian data on the structures of the bnlearn repository, columns permuted by the seed (paper, Table 1).

python -m benchmarks bnlearn --preset paper --seeds 10 --evals 20000
"""

import numpy as np

from benchmarks.linear import parser, run_all
from drbo.data.datasets import load
from drbo.data.simulate import Simulated, simulate


def dataset(graph: str, seed: int, n: int) -> Simulated:
    """Return data set ``seed`` of a structure; the order of its columns tells nothing."""
    structure = load(graph, permute=seed)
    return simulate(np.asarray(structure.dag), n=n, seed=seed)


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    options = parser(__doc__ or "", "asia,cancer,earthquake,child,alarm")
    options.set_defaults(evals=20_000)
    run_all(options.parse_args(arguments), dataset)
