"""First designs: the DAGs that are evaluated before the surrogate is used, including a given start."""

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Indices
from drbo.constraints import Constraints
from drbo.graph.dag import descendants, topological_order

#: Random DAGs have up to this many edges per node, and at most this share of all pairs.
MAX_DEGREE, MAX_DENSITY = 8.0, 0.7
#: Potentials lie in [-1, 1]: this offset puts every tier behind the one before it.
TIER_STEP = np.float32(3.0)


def repaired(
    dag: Bools,  # (d, d)
    constraints: Constraints,
) -> Bools:
    """Return a DAG as close to the given one as the knowledge allows: required edges in, what clashes with it out.

    Edges are taken over from the causes on; one that would close a cycle, is not allowed, or is one parent too many is
    left out.

    Examples
    --------
    >>> from drbo.constraints import Constraints
    >>> from drbo.knowledge import Knowledge
    >>> known = Constraints.of(Knowledge(required=["b -> a"], forbidden=["b -> c"]), ["a", "b", "c"])
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


def random_dags(n: int, constraints: Constraints, rng: np.random.Generator) -> Bools:
    """Return n DAGs (n, d, d) that obey the knowledge: the sparsest one, then random ones of many densities."""
    from scipy.stats import qmc  # takes half a second to load

    d = len(constraints.names)
    upper = np.triu_indices(d, 1)
    vectors = (2 * qmc.LatinHypercube(d + len(upper[0]), rng=rng).random(n) - 1).astype(np.float32)
    most = min(MAX_DENSITY, 2 * MAX_DEGREE / max(1, d - 1))
    density = np.float32(most) * (rng.permutation(n) + 1).astype(np.float32) / np.float32(n)
    density[0] = 0.0
    # A link is uniform on [-1, 1]: lowered by 1 - 2 density it is above 0 with that probability.
    links = np.zeros((n, d, d), dtype=np.float32)
    links[:, upper[0], upper[1]] = vectors[:, d:] - (1.0 - 2.0 * density)[:, None]
    links += links.transpose(0, 2, 1)
    return np.stack([_linked(*each, constraints) for each in zip(vectors[:, :d], links, strict=True)])


def _linked(
    potential: npt.NDArray[np.float32],  # (d,) nodes come in its order, as far as the knowledge allows
    links: npt.NDArray[np.float32],  # (d, d) above 0 where a pair is linked, larger where it is linked more strongly
    constraints: Constraints,
) -> Bools:
    """Return the DAG of linked pairs that obeys the knowledge."""
    place = np.argsort(_order(potential, constraints))
    dag = (place[:, None] < place[None, :]) & (links > 0)
    dag = dag & constraints.allowed | constraints.required
    for node in np.flatnonzero(dag.sum(axis=0) > constraints.max_parents):
        strength = np.where(dag[:, node], links[:, node], -np.inf)
        strength[constraints.required[:, node]] = np.inf
        dag[np.argsort(-strength, kind="stable")[constraints.max_parents[node] :], node] = False
    return dag


def _order(potential: npt.NDArray[np.float32], constraints: Constraints) -> Indices:
    """Return the nodes by rising potential, behind their required parents and, where all have tiers, by tiers."""
    tier, required = constraints.tier, constraints.required
    lifted = potential + TIER_STEP * tier.astype(np.float32) if (tier > 0).all() else potential.copy()
    order = np.array(topological_order(required))  # breaks ties
    for node in order:
        lifted[node] = max([lifted[node], *lifted[required[:, node]]])
    found: Indices = order[np.argsort(lifted[order], kind="stable")]
    return found
