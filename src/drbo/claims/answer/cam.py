"""CAM pruning: an additive spline regression of each node on its parents, and a significance test per parent.

The rule is that of Bühlmann, Peters & Ernest (2014), "CAM: causal additive models, high-dimensional order search and
penalized regression": keep a parent if its smooth term is significant at 0.001. The test here is a partial F test on
unpenalised cubic B-splines. Heavy tails ruin the F test at such a level (with t3 noise it rejects ten times too
often), so it is computed from Huber's scores: see :func:`prune_cam`.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betainc

from drbo.arrays import Bools, Floats
from drbo.deadline import current
from drbo.errors import DataError, SettingsError
from drbo.independence.residuals import b_spline_values

#: Basis functions of a smooth term, the constant included; the default of CAM and of mgcv.
BASIS_FUNCTIONS = 10
#: A node spends at most one coefficient on this many rows; with more parents the splines get coarser.
ROWS_PER_COEFFICIENT = 3
#: Residuals are cut at this many robust standard deviations: Gaussian data hardly change, outliers lose their power.
HUBER_CUT = 2.5
#: The median of |x| of a standard normal: turns the median absolute residual into a standard deviation.
NORMAL_MAD = 0.6744897501960817
#: Most rounds of the Huber fit, and the change of a fit, in standard deviations, that ends it.
HUBER_ROUNDS = 50
HUBER_TOLERANCE = 1e-6
#: Directions of the design with less than this share of a unit term's variance count as collinear.
COLLINEAR = 1e-8
#: Relative residual variance under which a fit counts as perfect.
RESIDUAL_FLOOR = 1e-12


def prune_cam(
    values: npt.ArrayLike,  # (n, d)
    dag: npt.ArrayLike,  # (d, d) bool
    *,
    required: npt.ArrayLike | None = None,  # (d, d) bool
    alpha: float = 0.001,
    sequential: bool = False,
) -> tuple[Bools, Floats]:
    """Remove the parents whose smooth term is not significant in an additive regression of the node.

    A parent enters as a cubic B-spline with knots at its quantiles: 9 coefficients, fewer with few rows or few
    distinct values, down to a straight line. For each parent the node is first regressed on the *other* parents by
    Huber's M-estimator (cut at 2.5 robust standard deviations). Its scores, the residuals cut at the same place, are
    orthogonal to the other parents and bounded; the partial F test of the parent on them is a score test (Markatou &
    Hettmansperger 1990). Without outliers it is the classical partial F test.

    Parameters
    ----------
    values : the data, one column per node.
    dag : the graph; ``dag[i, j]`` means i -> j.
    required : edges that are never removed.
    alpha : an edge stays if its p-value is below this.
    sequential : False: every test uses the unpruned parents and all removals happen together, so that two similar
        parents may both go. Only parents that add nothing leave before the tests: of exact copies one stays. True:
        remove the least significant parent, fit again, and so on.

    Returns
    -------
    pruned : (d, d) bool.
    p_values : (d, d), of the last fit that held the edge; nan where ``dag`` has no edge. It is 1 for a parent that
        adds nothing to the span of the others, and where the rows are too few for a test.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(300, 2))
    >>> values = np.column_stack([x, np.sin(2 * x[:, 0]) + rng.normal(size=300)])
    >>> pruned, p_values = prune_cam(values, [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    >>> pruned[:, 2].tolist()
    [True, False, False]
    """
    values, dag, kept = check_inputs(values, dag, required, alpha)
    pruned = dag.copy()
    p_values = np.full(dag.shape, np.nan)
    deadline = current()
    for node in np.flatnonzero(dag.any(axis=0)):
        deadline.check()
        parents = np.flatnonzero(dag[:, node])
        stay, found = _eliminate(
            values[:, node], values[:, parents], kept[parents, node], level=alpha if sequential else 1.0
        )
        pruned[parents, node] = stay & (kept[parents, node] | (found < alpha))
        p_values[parents, node] = found
    return pruned, p_values


def _eliminate(
    response: Floats,  # (n,)
    parents: Floats,  # (n, J)
    kept: Bools,  # (J,)
    level: float,
) -> tuple[Bools, Floats]:
    """Drop the least significant parent while its p-value reaches the level; return who stays, and all p-values.

    At level 1 only parents go that add nothing to the others. Among equals the weakest by itself goes first.
    """
    stay, p_values = np.ones(len(kept), dtype=bool), np.ones(len(kept))
    alone = None
    while stay.any():
        p_values[stay] = term_p_values(response, parents[:, stay])
        free = np.flatnonzero(stay & ~kept)
        worst = free[p_values[free] == p_values[free].max(initial=0.0)]
        if worst.size == 0 or p_values[worst[0]] < level:
            break
        if worst.size > 1 and alone is None:
            alone = np.array([term_p_values(response, column[:, None])[0] for column in parents.T])
        stay[worst[0] if alone is None else worst[alone[worst].argmax()]] = False
    return stay, p_values


def check_inputs(
    values: npt.ArrayLike, dag: npt.ArrayLike, required: npt.ArrayLike | None, alpha: float
) -> tuple[Floats, Bools, Bools]:
    """Return data, graph and required edges as arrays, or say what is wrong with them.

    Examples
    --------
    >>> values, dag, required = check_inputs([[0, 1], [1, 2]], [[0, 1], [0, 0]], None, 0.001)
    >>> values.dtype, dag.tolist(), required.any()
    (dtype('float64'), [[False, True], [False, False]], np.False_)
    """
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 2 or not np.isfinite(data).all():
        got = f"shape {data.shape}" if data.ndim != 2 else "missing or infinite values"
        raise DataError(f"values must be a finite (n, d) array, got {got}", hint="drop or impute missing values")
    graph = np.asarray(dag, dtype=bool)
    kept = np.zeros_like(graph) if required is None else np.asarray(required, dtype=bool)
    for name, matrix in (("dag", graph), ("required", kept)):
        if matrix.shape != (data.shape[1],) * 2:
            raise DataError(
                f"{name} must have shape ({data.shape[1]}, {data.shape[1]}), one row and column per column of "
                f"the table, got {matrix.shape}",
                hint="pass the table that the graph was learned from",
            )
    if not 0.0 < alpha <= 1.0:
        raise SettingsError(f"alpha must be in (0, 1], got {alpha}", hint="the usual significance level is 0.001")
    return data, graph, kept


def spline_term(column: npt.ArrayLike, n_functions: int) -> Floats:
    """Return an orthonormal basis (n, q) of the centred B-splines of a column, q < ``n_functions``.

    Cubic with knots at the quantiles of the distinct values; u distinct values carry at most u - 1 coefficients, so
    that few of them are saturated (a binary column is linear) and a constant column gets none.
    """
    x = np.asarray(column, dtype=np.float64)
    distinct = np.unique(x)
    width = min(n_functions, len(distinct)) - 1
    if width < 1:
        return np.empty((len(x), 0))
    # Units must not matter, and the largest numbers must not overflow.
    low, half_range = distinct[0], distinct[-1] / 2 - distinct[0] / 2
    x, distinct = (x / 2 - low / 2) / half_range, (distinct / 2 - low / 2) / half_range
    degree = min(3, width)
    inner = np.quantile(distinct, np.arange(1, width - degree + 1) / (width - degree + 1))
    knots = np.concatenate([np.zeros(degree + 1), inner, np.ones(degree + 1)])
    basis = b_spline_values(np.clip(x, 0.0, 1.0), knots, degree)
    left, singular, _ = np.linalg.svd(basis - basis.mean(axis=0), full_matrices=False)
    return np.ascontiguousarray(left[:, :width][:, singular[:width] > COLLINEAR * singular[0]])


def term_p_values(response: Floats, parents: Floats) -> Floats:  # (n,), (n, J) -> (J,)
    """Return the p-value of each parent's smooth term, given the other parents."""
    n_rows, n_parents = parents.shape
    p_values = np.ones(n_parents)
    if n_rows <= n_parents + 1:
        return p_values
    width = int(np.clip(n_rows // ROWS_PER_COEFFICIENT // n_parents, 1, BASIS_FUNCTIONS - 1))
    span, new = _directions([spline_term(column, width + 1) for column in parents.T])
    spare = n_rows - span.shape[1]
    scale = np.abs(response).max(initial=0.0)
    if spare < 1 or scale == 0.0:
        return p_values
    centred = response / scale - np.mean(response / scale)
    scores, explained = _huber_scores(centred, span, new)
    total = np.square(scores).sum(axis=0)
    n_new = np.square(new).sum(axis=(1, 2)).round()
    tested = (n_new > 0) & (total > RESIDUAL_FLOOR * np.square(centred).sum())
    unexplained = np.clip(1.0 - explained[tested] / total[tested], 0.0, 1.0)
    # The F test in its beta form, which a perfect fit does not break.
    p_values[tested] = betainc(spare / 2, n_new[tested] / 2, unexplained)
    return p_values


def _directions(terms: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return an orthonormal basis (n, r) of the constant and all terms, and what each term adds to the others.

    The second array (J, r, q) holds, in coordinates of the first, orthonormal directions of the span that are
    orthogonal to all terms but one; unused columns are zero.
    """
    design = np.concatenate(terms, axis=1)
    root, projector = _inverse_root(design.T @ design)
    span = np.column_stack([np.full(len(design), len(design) ** -0.5), design @ root])
    new = np.zeros((len(terms), span.shape[1], max(term.shape[1] for term in terms)))
    start = 0
    for place, term in enumerate(terms):
        block = slice(start, start + term.shape[1])
        start += term.shape[1]
        # Combinations of the coefficients that the other terms leave determined have eigenvalue 1.
        shares, combinations = np.linalg.eigh(projector[block, block])
        directions = root[block].T @ combinations[:, shares > 1.0 - COLLINEAR]
        new[place, 1:, : directions.shape[1]] = np.linalg.qr(directions)[0]
    return span, new


def _inverse_root(gram: Floats) -> tuple[Floats, Floats]:
    """Return B (p, r) such that B' gram B = I, and the projector (p, p) on the row space of gram."""
    try:
        factor = np.linalg.cholesky(gram)
        if np.square(np.diag(factor)).min(initial=1.0) > COLLINEAR:
            return np.linalg.inv(factor).T, np.eye(len(gram))
    except np.linalg.LinAlgError:
        pass
    variance, vectors = np.linalg.eigh(gram)
    regular = variance > COLLINEAR
    vectors = vectors[:, regular]
    return vectors / np.sqrt(variance[regular]), vectors @ vectors.T


def _huber_scores(response: Floats, span: Floats, new: Floats) -> tuple[Floats, Floats]:
    """Return the Huber scores (n, J) of the fits without each term, and the sum of squares that term explains of them.

    The scale is fixed: the median absolute residual of least squares. The iteration by modified residuals (Huber
    1981, chapter 7) needs only projections.
    """

    def project(columns: Floats) -> tuple[Floats, Floats]:
        coordinates = span.T @ columns  # (r, J)
        along = np.einsum("jrq,rj->jq", new, coordinates)
        return span @ (coordinates - np.einsum("jrq,jq->rj", new, along)), np.square(along).sum(axis=1)

    residuals = np.repeat(response[:, None], len(new), axis=1)
    residuals -= project(residuals)[0]
    spread = np.median(np.abs(residuals), axis=0) / NORMAL_MAD
    cut = np.where(spread > 0.0, HUBER_CUT * spread, np.inf)
    for _ in range(HUBER_ROUNDS):
        scores = np.clip(residuals, -cut, cut)
        fitted, explained = project(scores)
        scores -= fitted
        if np.all(np.abs(fitted).max(axis=0) <= HUBER_TOLERANCE * spread):
            break
        residuals -= fitted
    return scores, explained
