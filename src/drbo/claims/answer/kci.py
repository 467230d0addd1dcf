"""KCI pruning: a kernel test of every edge, node and parent given the node's other parents.

The test is the kernel conditional independence test of Zhang, Peters, Janzing & Schölkopf (2011), "Kernel-based
conditional independence test and application in causal discovery", with the kernel widths of its authors' program.
"""

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpstrf
from scipy.special import gammaincc

from drbo.arrays import Bools, Floats, Indices
from drbo.claims.answer.cam import check_inputs
from drbo.deadline import current
from drbo.errors import DataError

#: The ridge epsilon of the kernel regressions on z.
RIDGE = 1e-3
#: (fewer rows than, width of the conditional test, width of the unconditional one), for columns of variance 1.
WIDTHS = ((200, 1.2, 0.8), (1200, 0.7, 0.5), (np.inf, 0.4, 0.3))
#: The weight of z in the kernel of (x, z).
WEIGHT_OF_Z = 0.5
#: Kernel matrices are factorised until no element of the rest exceeds this. Moves p-values by less than 1e-4.
FACTOR_TOLERANCE = 1e-6
#: More rows would take minutes a test and gigabytes.
MAX_ROWS = 5_000


def kci_test(x: npt.ArrayLike, y: npt.ArrayLike, z: npt.ArrayLike | None = None) -> float:
    r"""Return the p-value of "x and y are independent given z": small if they are dependent.

    With the centred Gaussian kernel matrices :math:`K_x` of (x, z/2), :math:`K_y` and :math:`K_z`, and
    :math:`R = \epsilon (K_z + \epsilon I)^{-1}`, the statistic is the trace of :math:`R K_x R \, R K_y R`. Under
    independence it is nearly a gamma variable of mean :math:`\sum_t M_{tt}` and variance
    :math:`2 \sum_{st} M_{st}^2`, where M is the elementwise product of :math:`R K_x R` and :math:`R K_y R`. Without z,
    the statistic is the trace of :math:`K_x K_y` with mean :math:`\operatorname{tr} K_x \operatorname{tr} K_y / n` and
    variance :math:`2 \|K_x\|_F^2 \|K_y\|_F^2 / n^2`.

    Columns are standardised: units do not matter. Given z, exchanging x and y gives a slightly different test. A
    constant is independent of everything: p-value 1. Time grows with the cube of the rows, of which 5,000 are allowed.

    Parameters
    ----------
    x, y : (n,) each.
    z : (n,) or (n, k), or None for the unconditional test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z, a, b = rng.normal(size=(3, 200))
    >>> x, y = z + 0.5 * a, z**2 + z + 0.5 * b
    >>> kci_test(x, y) < 0.001, kci_test(x, y, z) > 0.05
    (True, True)
    """
    columns = [np.asarray(part, dtype=np.float64) for part in ((x, y) if z is None else (x, y, z))]
    shapes = [part.shape for part in columns]
    if len(shapes[0]) != 1 or shapes[0] != shapes[1] or shapes[-1][:1] != shapes[0] or len(shapes[-1]) > 2:
        raise DataError(
            f"x and y must be columns, and z one or more columns, of equal length, got shapes {shapes}",
            hint="take all of them from the same table",
        )
    values = _standardise(np.column_stack(columns))
    parents = np.delete(np.arange(values.shape[1]), 1)
    return _edge_p_values(values, 1, parents, n_tested=1)[0]


def prune_kci(
    values: npt.ArrayLike,  # (n, d)
    dag: npt.ArrayLike,  # (d, d) bool
    *,
    required: npt.ArrayLike | None = None,  # (d, d) bool
    alpha: float = 0.001,
) -> tuple[Bools, Floats]:
    """Remove the edges whose node and parent may be independent given the node's other parents.

    Every test uses the unpruned parents and all removals happen together. The parent takes the role of x, the node
    that of y in :func:`kci_test`, so that the order of the columns does not matter.

    Parameters
    ----------
    values : the data, one column per node; at most 5,000 rows.
    dag : the graph; ``dag[i, j]`` means i -> j.
    required : edges that are never removed.
    alpha : an edge stays if its p-value is below this.

    Returns
    -------
    pruned : (d, d) bool.
    p_values : (d, d), nan where ``dag`` has no edge.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(150, 2))
    >>> values = np.column_stack([x, x[:, 0] ** 2 + 0.3 * rng.normal(size=150)])
    >>> pruned, p_values = prune_kci(values, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    >>> pruned[:, 2].tolist()
    [True, False, False]
    """
    data, graph, kept = check_inputs(values, dag, required, alpha)
    standard = _standardise(data)
    p_values = np.full(graph.shape, np.nan)
    for node in np.flatnonzero(graph.any(axis=0)):
        parents = np.flatnonzero(graph[:, node])
        p_values[parents, node] = _edge_p_values(standard, int(node), parents, n_tested=len(parents))
    return graph & (kept | (p_values < alpha)), p_values


def _standardise(values: Floats) -> Floats:
    """Check the data; return columns of mean 0 and variance 1, and 0 for constants."""
    if not 1 <= len(values) <= MAX_ROWS:
        raise DataError(
            f"the kernel test accepts 1 to {MAX_ROWS} rows, got {len(values)}",
            hint='use a random sample of the rows, or prune="cam"',
        )
    if not np.isfinite(values).all():
        raise DataError("the kernel test requires finite values", hint="drop or impute missing values")
    varies = (values != values[:1]).any(axis=0)
    scaled = values[:, varies] / np.abs(values[:, varies]).max(axis=0)  # the largest numbers must not overflow
    scaled -= scaled.mean(axis=0)
    standard = np.zeros_like(values)
    standard[:, varies] = scaled * np.sqrt((len(values) - 1) / np.square(scaled).sum(axis=0))
    return standard


def _edge_p_values(values: Floats, node: int, parents: Indices, n_tested: int) -> list[float]:
    """Test the node against each of its first parents, given all others; ``values`` are standardised."""
    conditional = len(parents) > 1
    width = next(widths[1 - conditional] for rows, *widths in WIDTHS if len(values) < rows)
    rate = 0.5 / width**2 / max(1, len(parents) - 1)  # distances grow with the number of columns of z
    factor_y = _kernel_factor(rate * _distances(values[:, node]))
    if not conditional:
        return [_marginal_p_value(_kernel_factor(rate * _distances(values[:, parents[0]])), factor_y)]
    together = np.zeros((len(values), len(values)))
    for parent in parents:
        together += _distances(values[:, parent])
    p_values, deadline = [], current()
    for parent in parents[:n_tested]:
        deadline.check()
        distances = _distances(values[:, parent])
        if not distances.any():  # a constant; (x, z) would only repeat z
            p_values.append(1.0)
            continue
        distances_z = together - distances
        factor_x = _kernel_factor(rate * (distances + WEIGHT_OF_Z**2 * distances_z))
        p_values.append(_conditional_p_value(factor_x, factor_y, np.exp(-rate * distances_z)))
    return p_values


def _distances(column: Floats) -> Floats:
    """Return the squared distances (n, n)."""
    return np.square(column[:, None] - column)


def _kernel_factor(exponents: Floats) -> Floats:
    """Return F (n, r) such that F F' is the centred matrix of exp(-exponents): a pivoted Cholesky factor."""
    factor, pivots, rank, _ = dpstrf(np.exp(-exponents).T, tol=FACTOR_TOLERANCE, lower=1, overwrite_a=1)
    ordered: Floats = np.empty((len(factor), rank))
    ordered[pivots - 1] = np.tril(factor[:, :rank])
    ordered -= ordered.mean(axis=0)
    return ordered


def _marginal_p_value(factor_x: Floats, factor_y: Floats) -> float:
    mean = np.square(factor_x).sum() * np.square(factor_y).sum() / len(factor_x)
    squares = np.square(factor_x.T @ factor_x).sum() * np.square(factor_y.T @ factor_y).sum()
    return _gamma_tail(np.square(factor_x.T @ factor_y).sum(), mean, 2.0 * squares / len(factor_x) ** 2)


def _conditional_p_value(factor_x: Floats, factor_y: Floats, kernel_z: Floats) -> float:
    """Regress both factors on z by kernel ridge regression and test what is left; ``kernel_z`` is overwritten."""
    kernel_z -= kernel_z.mean(axis=0)
    kernel_z -= kernel_z.mean(axis=1)[:, None]
    kernel_z.flat[:: len(kernel_z) + 1] += RIDGE
    cholesky = cho_factor(kernel_z.T, lower=True, overwrite_a=True)
    rest_x = RIDGE * cho_solve(cholesky, factor_x)
    rest_y = RIDGE * cho_solve(cholesky, factor_y)
    # Lower triangles; in scipy's BLAS, because numpy's has threads of its own that would fight for the cores.
    products = dsyrk(1.0, rest_x, lower=1) * dsyrk(1.0, rest_y, lower=1)
    diagonal = np.diag(products)
    variance = 2.0 * (2.0 * np.square(products).sum() - np.square(diagonal).sum())
    return _gamma_tail(2.0 * products.sum() - diagonal.sum(), diagonal.sum(), variance)


def _gamma_tail(statistic: float, mean: float, variance: float) -> float:
    """Return the probability of more than the statistic under a gamma distribution with these moments."""
    if variance <= 0.0:
        return 1.0
    return float(gammaincc(mean**2 / variance, statistic * mean / variance))
