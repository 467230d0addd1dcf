"""Which score fits a table, with the reasons in words.

The module is long because it also holds the test for nonlinear relations that the choice depends on.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import betainc
from scipy.stats import rankdata

from drbo.data.table import Table
from drbo.torch_device import INSTALL, has_torch

Floats = npt.NDArray[np.float64]

#: A numeric column with so few distinct values is discrete: ten grades, or a 0/1 answer.
FEW_LEVELS = 10
#: And a value must be repeated: on average so many rows per distinct value.
ROWS_PER_LEVEL = 5

#: Rows that are looked at first: most columns of numbers show in them that they are not discrete.
FIRST_ROWS = 1_000

#: Nonlinear relations are tested with at most so many columns, and at least so many rows per column and in all.
MOST_COLUMNS = 100
ROWS_PER_COLUMN = 5
LEAST_ROWS = 50
#: More rows than this make the test slower and not better.
MOST_ROWS = 1_000
#: The p-value of a whole table under which its relations count as nonlinear.
LEVEL = 0.01
#: Which of the columns that may be an effect is taken away, by rank of its p-value: one of these ways must succeed.
WAYS = (1.0, 0.5, 0.75, 0.25, 0.0)
#: A column may be an effect of the others if its p-value is above this.
ACCEPTED = 0.05
#: With many columns several are taken away at once: this share of them.
TAKEN = 1 / 15
#: Residuals are cut at so many robust standard deviations in the fit (Huber), and their size at so many.
HUBER_CUT, SIZE_CUT = 1.5, 3.0
HUBER_ROUNDS = 30
#: A column whose residual has less than this share of its variance is a combination of the others: linear for sure.
COMBINATION = 1e-8
#: The median of |x| of a standard normal.
NORMAL_MAD = 0.6744897501960817

#: Seconds of one Gaussian-process family on one core, per squared row: 0.02 s for 200 rows, 0.3 s for 800.
GP_SECONDS = 5e-7
#: Local scores that a search of default length asks for, per column.
LOCAL_PER_COLUMN = 250
#: Seconds of Gaussian processes that are worth it, and the rows that they take; splines need a thousandth of the time.
GP_BUDGET = 120.0
GP_ROWS = 1_000


class Nonlinearity(NamedTuple):
    """What the test found: its p-value, and the pair (cause, effect) whose relation bends most.

    Examples
    --------
    >>> Nonlinearity(p_value=0.002, pair=(0, 3)).p_value < LEVEL
    True
    """

    p_value: float
    pair: tuple[int, int]


def choose_score(table: Table) -> tuple[str, tuple[str, ...]]:
    """Return the name of the score that ``score="auto"`` takes, and why.

    Discrete columns alone (categories, or numbers with few distinct values) get ``bdeu``, numeric and categorical
    ones together ``mixed``, numeric ones ``bic-nv``; or, where :func:`nonlinearity` finds that no linear model fits,
    ``gp`` for small tables and ``splines`` for others. An equal-variance score is never chosen: equal variances are
    an assumption about units. The choice depends neither on units nor on the order of rows and columns.

    Examples
    --------
    >>> choose_score(Table.from_array([[0.5, 1.0], [1.2, 0.1], [2.0, 2.2]]))[0]
    'bic-nv'
    >>> choose_score(Table.from_array([[0, 1], [1, 1], [0, 0], [1, 0]]))[0]
    'bdeu'
    """
    discrete = [_is_discrete(table, column) for column in range(table.n_columns)]
    if all(discrete) and not table.incomplete and table.groups is None:
        return "bdeu", (f"score bdeu: all columns are discrete ({_levels_in_words(table)})",)
    categorical = [column for column, levels in enumerate(table.levels) if levels is not None]
    if categorical:
        reasons = [f"score mixed: {_named(table, categorical)} categorical, the others are numeric"]
        return "mixed", (*reasons, *_about_codes(table, discrete))
    if table.by_moments:
        what = "weighted rows are summarised by a covariance"
        if table.incomplete:
            what = "with missing values, only a covariance is available"
        elif table.groups is not None:
            what = "only linear relations keep their shape when group means are removed"
        return "bic-nv", (f"score bic-nv: all columns are numeric; {what}, so relations are assumed to be linear",)
    found, untested = _tested(table, [column for column, few in enumerate(discrete) if not few])
    if found is None or found.p_value >= LEVEL:
        linear = untested or "a linear model fits their relations"
        reasons = [
            "score bic-nv: all columns are numeric; a score with unequal noise variances does not depend on "
            f"units; {linear}"
        ]
        return "bic-nv", (*reasons, *_about_codes(table, discrete))
    cause, effect = (table.names[column] for column in found.pair)
    bends = f"a linear model does not fit (p {_p_in_words(found.p_value)}; for example, '{effect}' given '{cause}')"
    name, size = _by_size(table)
    return name, (f"score {name}: {bends}", size, *_about_codes(table, discrete))


def nonlinearity(values: npt.ArrayLike) -> Nonlinearity:  # (n, d)
    """Test whether a linear model could have made the data, with noise of any shape.

    In a linear model ``x_j = sum_i w_ij x_i + e_j`` with independent noise, the residual of a column without effects,
    regressed on all others, is independent of them; without that column the same holds for the next one. So columns
    are taken away one by one, the most independent first. The data are not linear if at some point every remaining
    column has a residual that depends on the others. Regressing all pairs would not do: against the causal direction
    a linear model with skewed or heavy-tailed noise looks bent (Shimizu et al. 2006).

    Residuals are those of Huber's estimator. Their value (cut at 1.5 standard deviations) and their size (cut at 3) are
    regressed on polynomials of degree 3 in the ranks of one other column at a time, the first one only on what is not
    linear; F tests, Bonferroni over columns and steps. The size is corrected for the fitted slopes, so that skewed
    noise does no harm. A column that is taken away by mistake can make the rest look nonlinear: five ways through
    the columns are tried, and one that ends well is enough.

    At the level 0.01 at most 1% of linear data sets are called nonlinear, whether their noise is Gaussian, t3,
    exponential, Gumbel, Laplace, uniform or log-normal; of Gaussian-process models 80% with 200 rows and 98% with 500,
    of cosine models 99% with 200 (``python -m benchmarks false_edges --part nonlinear --seeds 100-149``: 200 data sets
    each).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, noise = rng.exponential(size=(2, 300))
    >>> nonlinearity(np.column_stack([x, 2 * x + noise])).p_value > 0.05
    True
    >>> nonlinearity(np.column_stack([x, np.sin(3 * x) + noise])).p_value < 0.01
    True
    """
    data = np.asarray(values, dtype=np.float64)
    columns = _Columns(data[_sampled_rows(data)])
    best = _take_away(columns, WAYS[0])
    for way in WAYS[1:]:
        if best.p_value >= LEVEL:
            break
        best = max(best, _take_away(columns, way), key=lambda found: found.p_value)
    return best


class _Columns:
    """Every column as a standardised line and as curves: polynomials of its ranks."""

    def __init__(self, values: Floats) -> None:
        centred = values - values.mean(axis=0)
        self.lines = centred / np.sqrt(np.square(centred).mean(axis=0))  # (n, d)
        n = len(values)
        place = (rankdata(values, axis=0) - 0.5) / n * 2 - 1
        powers = np.stack([place, place**2, place**3], axis=2)  # (n, d, 3)
        powers -= powers.mean(axis=0)
        slopes = np.einsum("nd,ndq->dq", self.lines, powers) / n
        self.curves = _orthonormal(powers)
        self.bends = _orthonormal(powers - self.lines[:, :, None] * slopes)  # without the straight line

    def take(self, kept: npt.NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        return self.lines[:, kept], self.curves[kept], self.bends[kept]


def _orthonormal(functions: Floats) -> Floats:  # (n, d, q) -> (d, n, q)
    """Return orthonormal functions with the same span per column; those that add nothing are zero."""
    left, size, _ = np.linalg.svd(functions.transpose(1, 0, 2), full_matrices=False)
    return left * (size > 1e-6 * size[:, :1])[:, None, :]


def _take_away(columns: _Columns, way: float) -> Nonlinearity:
    """Take away the columns that may be effects of the others; return the smallest p-value on the way."""
    n_columns = columns.lines.shape[1]
    left = np.arange(n_columns)
    worst = Nonlinearity(1.0, (0, 1))
    while len(left) > 1:
        pairs = _pair_p_values(*columns.take(left.tolist()))  # (k, k)
        p_values = 2 * (len(left) - 1) * pairs.min(axis=0)
        whole = min(1.0, (n_columns - 1) * float(p_values.max()))
        if whole < worst.p_value:
            cause, effect = np.unravel_index(int(pairs.argmin()), pairs.shape)
            worst = Nonlinearity(whole, (int(left[cause]), int(left[effect])))
        if whole < LEVEL:
            return worst
        order = np.argsort(p_values, kind="stable")
        accepted = order[p_values[order] > min(ACCEPTED, float(p_values.max()) / 2)]
        last = round(way * (len(accepted) - 1)) + 1
        count = max(1, min(int(TAKEN * len(left)), last))
        left = np.delete(left, accepted[last - count : last])
    return worst


def _pair_p_values(lines: Floats, curves: Floats, bends: Floats) -> Floats:
    """Return (k, k): does the residual of column j, given all others, depend on column i? Entry (i, j)."""
    n = len(lines)
    residuals, scale = _huber_residuals(lines)
    values = np.clip(residuals, -HUBER_CUT * scale, HUBER_CUT * scale)
    sizes = np.minimum(np.abs(residuals), SIZE_CUT * scale)
    # Fitted slopes move the residuals, and these the sizes: subtract that share of the values, which cancels it.
    moved = (np.sign(residuals) * (np.abs(residuals) < SIZE_CUT * scale)).mean(axis=0)
    inside = (np.abs(residuals) < HUBER_CUT * scale).mean(axis=0)
    p_values = np.ones((len(curves),) * 2)
    for functions, scores, known in ((bends, values, 2), (curves, sizes - values * (moved / inside), 1)):
        centred = scores - scores.mean(axis=0)
        along = np.tensordot(functions, centred, axes=([1], [0]))  # (k, q, k)
        share = np.square(along).sum(axis=1) / np.maximum(np.square(centred).sum(axis=0), np.finfo(float).tiny)
        freedom = np.square(functions).sum(axis=(1, 2)).round()[:, None]
        # The F test in its beta form.
        found = betainc((n - known - freedom) / 2, np.maximum(freedom, 1) / 2, np.clip(1 - share, 0.0, 1.0))
        p_values = np.minimum(p_values, found)
    p_values[:, np.square(residuals).mean(axis=0) < COMBINATION] = 1.0
    np.fill_diagonal(p_values, 1.0)
    return p_values


def _huber_residuals(lines: Floats) -> tuple[Floats, Floats]:
    """Return the residuals (n, k) of each column on all others by Huber's estimator, and their robust scale (k,)."""
    n, k = lines.shape
    inverse = np.linalg.inv(lines.T @ lines / n + 1e-10 * np.eye(k))
    own = np.diag(inverse)
    residuals = lines @ inverse / own
    residuals -= np.median(residuals, axis=0)
    scale = np.median(np.abs(residuals), axis=0) / NORMAL_MAD
    scale = np.maximum(scale, 1e-12 * np.sqrt(np.square(residuals).mean(axis=0)))
    for _ in range(HUBER_ROUNDS):
        scores = np.clip(residuals, -HUBER_CUT * scale, HUBER_CUT * scale)
        products = lines.T @ scores / n
        np.fill_diagonal(products, 0.0)
        # The inverse without column j is the whole inverse less its j-th rank-one part.
        slopes = inverse @ products - inverse * (np.einsum("ij,ij->j", inverse, products) / own)
        step = (lines @ slopes + scores.mean(axis=0)) / np.maximum((scores == residuals).mean(axis=0), 0.3)
        residuals -= step
        if (np.abs(step).max(axis=0) < 1e-3 * scale).all():
            break
    return residuals, scale


def _sampled_rows(values: Floats) -> npt.NDArray[np.intp]:
    """Return at most MOST_ROWS rows, as if drawn at random; units and the order of rows and columns do not matter."""
    n = len(values)
    if n <= MOST_ROWS:
        return np.arange(n)
    draws = np.random.default_rng(0).random(n)
    ranks = rankdata(values, method="min", axis=0).astype(np.intp) - 1
    return np.argsort(np.sort(draws[ranks], axis=1).sum(axis=1), kind="stable")[:MOST_ROWS]


def _tested(table: Table, columns: list[int]) -> tuple[Nonlinearity | None, str]:
    """Test the columns with many distinct values; or say why not."""
    if len(columns) < 2:
        return None, "their relations were not tested for linearity: fewer than two columns have many distinct values"
    if len(columns) > MOST_COLUMNS:
        return None, f"their relations were not tested for linearity: there are more than {MOST_COLUMNS} columns"
    least = max(LEAST_ROWS, ROWS_PER_COLUMN * len(columns))
    if table.n_rows < least:
        return None, f"their relations were not tested for linearity, which needs {least} rows"
    if table.is_hurried:
        return None, "their relations were not tested for linearity: time ran out"
    found = nonlinearity(_tested_rows(table, columns))
    cause, effect = found.pair
    return Nonlinearity(found.p_value, (columns[cause], columns[effect])), ""


def _tested_rows(table: Table, columns: list[int]) -> Floats:
    """Return the rows to test; of a large table some, drawn from its rows in canonical order."""
    if not table.large:
        return table.values[:, columns]
    rows, _ = table.canonical_order(seed=0)
    drawn = np.sort(np.random.default_rng(0).choice(table.n_rows, size=min(MOST_ROWS, table.n_rows), replace=False))
    tested: Floats = table.values[np.ix_(rows[drawn], np.array(columns))]
    return tested


def _by_size(table: Table) -> tuple[str, str]:
    """Choose the nonlinear score by what it costs."""
    families = min(table.n_columns * 2.0 ** (table.n_columns - 1), LOCAL_PER_COLUMN * table.n_columns)
    seconds = families * GP_SECONDS * table.n_rows**2
    size = f"{table.n_rows} rows and {table.n_columns} columns"
    if seconds <= GP_BUDGET and table.n_rows <= GP_ROWS and not has_torch():
        return "splines", f"gp, which models interactions between causes, was left out: it needs torch; {INSTALL}"
    if seconds <= GP_BUDGET and table.n_rows <= GP_ROWS:
        return "gp", f"gp models interactions between causes, and {size} are few enough for it"
    return (
        "splines",
        f"splines are used instead of gp, because Gaussian processes would take {_duration(seconds)} for {size}",
    )


def _is_discrete(table: Table, column: int) -> bool:
    """Return whether a column is categorical or has few distinct values, whatever its units."""
    if table.levels[column] is not None:
        return True
    values = table.values[:, column]
    if len(np.unique(values[:FIRST_ROWS])) > FEW_LEVELS:  # so do all rows
        return False
    count = len(np.unique(values))
    return count <= FEW_LEVELS and (count <= 2 or count * ROWS_PER_LEVEL <= table.n_rows)


def _levels_in_words(table: Table) -> str:
    counts = [len(np.unique(table.values[:, column])) for column in range(table.n_columns)]
    low, high = min(counts), max(counts)
    return f"{low} levels each" if low == high else f"{low} to {high} levels"


def _about_codes(table: Table, discrete: list[bool]) -> tuple[str, ...]:
    """Say which numbers look like codes of groups: a two-valued one makes no difference."""
    codes = [
        column
        for column, levels in enumerate(table.levels)
        if levels is None and discrete[column] and len(np.unique(table.values[:, column])) > 2
    ]
    if not codes:
        return ()
    return (
        f"{_named(table, codes)} treated as numeric despite few distinct values; use text or a categorical type "
        "for categories",
    )


def _named(table: Table, columns: list[int], most: int = 3) -> str:
    names = ", ".join(f"'{table.names[column]}'" for column in columns[:most])
    more = f" and {len(columns) - most} more" if len(columns) > most else ""
    return f"column {names} is" if len(columns) == 1 else f"columns {names}{more} are"


def _p_in_words(p_value: float) -> str:
    return "< 1e-12" if p_value < 1e-12 else f"= {p_value:.1g}"


def _duration(seconds: float) -> str:
    if seconds < 5400:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.0f} hours" if seconds < 2e5 else "days"
