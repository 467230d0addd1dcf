"""First designs: the vectors that are evaluated before anything is known."""

import numpy as np
import torch
from scipy.stats import qmc
from torch import Tensor


def latin_hypercube(n: int, dim: int, rng: np.random.Generator) -> Tensor:
    """Return n vectors (n, dim) in [-1, 1], evenly spread along every coordinate (paper, App. C.1).

    Examples
    --------
    >>> points = latin_hypercube(4, 3, np.random.default_rng(0))
    >>> sorted(((points[:, 0] + 1) * 2).int().tolist())
    [0, 1, 2, 3]
    """
    unit = qmc.LatinHypercube(dim, rng=rng).random(n)
    return torch.as_tensor(2 * unit - 1, dtype=torch.float32)
