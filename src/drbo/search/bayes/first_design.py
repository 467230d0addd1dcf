"""First designs: what is evaluated before anything is known, and a start that somebody gave."""

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import qmc
from torch import Tensor

from drbo.graph import descendants, topological_order
from drbo.knowledge import Constraints
from drbo.search.paper.space import FullRankSpace

#: Random DAGs have up to this many edges per node, and at most this share of all pairs.
MAX_DEGREE, MAX_DENSITY = 8.0, 0.7


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


def repaired(
    dag: npt.NDArray[np.bool_],  # (d, d)
    constraints: Constraints,
) -> npt.NDArray[np.bool_]:
    """Return a DAG as close to the given one as the knowledge allows: required edges in, what clashes with it out.

    Edges are taken over from the causes on; one that would close a cycle, is not allowed, or is one parent too many is
    left out.

    Examples
    --------
    >>> from drbo.knowledge import Knowledge
    >>> known = Knowledge(required=["b -> a"], forbidden=["b -> c"]).compile(["a", "b", "c"])
    >>> repaired(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool), known).astype(int).tolist()
    [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    """
    made = constraints.required.copy()
    reach = descendants(made)
    wanted = dag & constraints.allowed & ~made
    for source in topological_order(dag):
        for target in np.flatnonzero(wanted[source]):
            if reach[target, source] or made[:, target].sum() >= constraints.max_parents[target]:
                continue
            made[source, target] = True
            reach = descendants(made)
    return made


def random_dags(n: int, constraints: Constraints, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return n DAGs (n, d, d) that obey the knowledge: the sparsest one, then random ones of many densities.

    Examples
    --------
    >>> random_dags(3, Constraints.none(4), np.random.default_rng(0)).sum(axis=(1, 2))[0]
    np.int64(0)
    """
    space = FullRankSpace(len(constraints.names), constraints)
    vectors = latin_hypercube(n, space.dim, rng)
    most = min(MAX_DENSITY, 2 * MAX_DEGREE / max(1, space.n_nodes - 1))
    density = most * torch.as_tensor(rng.permutation(n) + 1, dtype=torch.float32) / n
    density[0] = 0.0
    # A link is uniform on [-1, 1]: lowered by 1 - 2 density it is above 0 with that probability.
    vectors[:, space.n_nodes :] -= 1.0 - 2.0 * density[:, None]
    return space.decode(vectors).numpy()
