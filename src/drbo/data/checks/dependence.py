"""Finds redundant columns: copies of another column, and exact linear combinations of others."""

import numpy as np

from drbo.arrays import Floats
from drbo.data.statistics.blocks import row_blocks
from drbo.data.statistics.moments import complete_moments
from drbo.data.statistics.statistics import Statistics
from drbo.data.statistics.sums import Sums
from drbo.machine.threads import one_blas_thread

#: A column of length 1 with a residual under this, given other columns, is a combination of them.
TOLERANCE = 1e-10
#: Coefficients under this, between columns of length 1, are rounding errors.
SMALLEST_COEFFICIENT = 1e-6
#: With a matrix of cosines whose eigenvalues are above this, every residual is above its root.
REGULAR = 1e-6
#: Products of columns of length 1 have rounding errors of about this size: smaller eigenvalues are 0.
GRAM_ROUNDING = 1e-12
#: Sizes of numbers, and standard deviations as a share of them, for which the cosines have digits enough to tell.
HUGE, FLAT = 1e100, 1e-4
#: So many columns of a combination are named.
MOST_NAMED = 5


def find_dependent(table: Statistics) -> dict[int, str]:
    """Return the columns that the others make superfluous, each with a phrase that says why.

    Of several columns that depend on each other the first ones by name count as the others, so the order of the
    columns decides nothing. The table must have no constant column.

    Numeric columns are centred and scaled to length 1; a pivoted QR factorisation gives their rank, unless the matrix
    of their cosines shows already that it is full. With fewer than d + 1 rows the rank says nothing, and columns are
    only compared in pairs. Of a categorical column and a number that form the same groups of rows, one is superfluous;
    two categorical columns with the same groups are left to :func:`find_relabelled`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 20))
    >>> find_dependent(Statistics.from_array(np.column_stack([a, b, a - b]), names=["a", "b", "c"]))
    {2: "is an exact linear combination of 'a', 'b'"}
    """
    by_name = sorted(range(table.n_columns), key=lambda j: table.names[j])
    numeric = [j for j in by_name if table.kinds[j] == "numeric"]
    with one_blas_thread():
        partners = _partners(table, numeric)
    found = {
        numeric[place]: _phrase(table, numeric[place], [numeric[p] for p in sorted(others)])
        for place, others in partners.items()
    }
    groups = _same_groups(table, [j for j in by_name if j not in found], ("numeric", "categorical"))
    return dict(sorted((found | groups).items()))


def find_relabelled(table: Statistics) -> dict[int, str]:
    """Return the categorical columns that divide the rows as another one does, under other labels.

    The one that comes first by name counts as the other.

    Examples
    --------
    >>> codes = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> find_relabelled(Statistics(codes, ("a", "b"), ("categorical",) * 2, (("no", "yes"), ("down", "up"))))
    {1: "divides the rows into the same groups as column 'a'"}
    """
    by_name = sorted(range(table.n_columns), key=lambda j: table.names[j])
    return dict(sorted(_same_groups(table, by_name, ("categorical", "categorical")).items()))


def find_dependent_sums(sums: Sums) -> dict[int, str]:
    """Return the columns that the others make superfluous, as :func:`find_dependent` does, from products alone.

    Products have half the digits: a column is a combination of others if its residual is under a millionth of it.

    Examples
    --------
    >>> a, b = np.random.default_rng(0).normal(size=(2, 50))
    >>> find_dependent_sums(Sums.of_rows(["a", "b", "c"], np.column_stack([a, b, 2 * a + 1])))
    {2: "is a linear function of column 'a' (2 * 'a' + 1)"}
    """
    by_name = sorted(range(len(sums.names)), key=lambda j: sums.names[j])
    lengths = np.sqrt(np.diag(sums.products))[by_name]
    cosines = sums.products[np.ix_(by_name, by_name)] / lengths / lengths[:, None]
    with one_blas_thread():
        if sums.n - 1 < len(by_name):
            copies = np.triu(np.abs(cosines) > 1 - GRAM_ROUNDING, 1)
            partners = {int(j): [int(np.argmax(copies[:, j]))] for j in np.flatnonzero(copies.any(axis=0))}
        elif _is_positive(cosines):
            return {}
        else:
            values, vectors = np.linalg.eigh(cosines)
            partners = _combinations(np.sqrt(np.where(values > GRAM_ROUNDING, values, 0.0))[:, None] * vectors.T)
    found = {by_name[place]: [by_name[p] for p in sorted(others)] for place, others in partners.items()}
    return {j: _phrase_of_sums(sums, j, others) for j, others in sorted(found.items())}


def _phrase_of_sums(sums: Sums, column: int, others: list[int]) -> str:
    if len(others) != 1:
        return _combination([sums.names[j] for j in others])
    other = others[0]
    slope = sums.products[column, other] / sums.products[other, other]
    offset = sums.mean[column] - slope * sums.mean[other]
    size = max(abs(sums.low[column]), abs(sums.high[column]))
    return _line(sums.names[other], slope, offset if abs(offset) > 1e-9 * size else 0.0)


def _partners(table: Statistics, numeric: list[int]) -> dict[int, list[int]]:
    """Return the superfluous ones among the numeric columns, by their place among them, each with its partners."""
    telling = rank_is_telling(table)
    if telling and _is_regular(table, numeric):
        return {}
    if table.large and telling:
        return _combinations(_triangle_by_blocks(table, numeric))
    columns = np.empty((table.n_rows, len(numeric)), order="F")
    for place, j in enumerate(numeric):
        columns[:, place] = _unit(table.values[:, j])
    return _combinations(columns) if telling else _copies(columns)


def _triangle_by_blocks(table: Statistics, numeric: list[int]) -> Floats:
    """Return a triangle with the lengths and angles of the unit columns of a large table, without a copy of it."""
    triangle = np.empty((0, len(numeric)))
    means, lengths = np.empty(len(numeric)), np.empty(len(numeric))
    for place, j in enumerate(numeric):
        means[place] = table.values[:, j].mean()
        centred = table.values[:, j] - means[place]
        size = np.abs(centred).max()  # squares stay in range
        lengths[place] = size * np.linalg.norm(centred / size)
    for part in row_blocks(table.n_rows):
        block = (table.values[part][:, numeric] - means) / lengths
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle


def _is_regular(table: Statistics, numeric: list[int]) -> bool:
    """Tell whether all columns are far from combinations of others, at a fraction of the cost and without a copy.

    The residual of a column of length 1 is at least the root of the smallest eigenvalue of the matrix of cosines. Where
    a multiple of the identity far above rounding can be taken away from it, no residual is near TOLERANCE.
    """
    scale = np.array([max(-column.min(), column.max()) for column in (table.values[:, j] for j in numeric)])
    if len(scale) == 0 or not 1 / HUGE < scale.min() <= scale.max() < HUGE:
        return False  # squares could leave the range of numbers, or lose digits
    covariance = complete_moments(table.values if len(numeric) == table.n_columns else table.values[:, numeric])
    lengths = np.sqrt(np.diag(covariance.covariance))
    if not (lengths > FLAT * scale).all():
        return False  # nearly constant beside its size: the mean took too many digits
    return _is_positive(covariance.covariance / lengths / lengths[:, None])


def _is_positive(cosines: Floats) -> bool:
    """Tell whether all eigenvalues of a matrix of cosines are far above rounding."""
    try:
        np.linalg.cholesky(cosines - REGULAR * np.eye(len(cosines)))
    except np.linalg.LinAlgError:
        return False
    return True


def rank_is_telling(table: Statistics) -> bool:
    """Return whether there are enough rows to find linear combinations: d centred columns have rank n - 1 at most.

    Examples
    --------
    >>> rank_is_telling(Statistics.from_array(np.eye(3)))
    False
    """
    return table.n_rows - 1 >= table.kinds.count("numeric")


def _unit(values: Floats) -> Floats:
    """Centre a column and scale it to length 1, without overflow on the way."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    unit: Floats = centred / np.linalg.norm(centred)
    return unit


def _copies(columns: Floats) -> dict[int, list[int]]:
    """Return each column that is an earlier one up to units, with that one.

    Two unit columns that differ by so little also differ by so little in their product with any unit vector.
    """
    probe = np.random.default_rng(0).normal(size=len(columns))
    shadow = np.abs(columns.T @ (probe / np.linalg.norm(probe)))
    order = np.argsort(shadow, kind="stable")
    breaks = np.flatnonzero(np.diff(shadow[order]) > 2 * TOLERANCE) + 1
    found: dict[int, list[int]] = {}
    for group in np.split(order, breaks):
        first, *others = np.sort(group).tolist() or [0]
        kept = [first]
        for one in others:
            earlier = columns[:, kept]
            signs = np.where(columns[:, one] @ earlier < 0, -1.0, 1.0)
            gaps = np.linalg.norm(columns[:, [one]] - signs * earlier, axis=0)
            if (same := np.flatnonzero(gaps <= TOLERANCE)).size:
                found[one] = [kept[same[0]]]
            else:
                kept.append(one)
    return dict(sorted(found.items()))


def _combinations(columns: Floats) -> dict[int, list[int]]:
    """Return each column that is a combination of others, with the columns of that combination."""
    count = columns.shape[1]
    if count < 2:
        return {}
    from scipy.linalg import qr  # only suspicious tables come this far

    triangle: Floats = np.asarray(np.linalg.qr(columns, mode="r"))  # lengths and angles stay, rows are fewer
    pivots = np.abs(np.diag(qr(triangle, mode="r", pivoting=True)[0]))
    n_dependent = int((pivots <= TOLERANCE).sum())
    if n_dependent == 0:
        return {}
    dependent = np.sort(np.argsort(_residuals(triangle), kind="stable")[:n_dependent])
    kept = np.setdiff1d(np.arange(count), dependent)
    coefficients = np.linalg.lstsq(triangle[:, kept], triangle[:, dependent], rcond=None)[0]
    return {
        int(place): kept[np.abs(coefficients[:, k]) > SMALLEST_COEFFICIENT].tolist()
        for k, place in enumerate(dependent)
    }


def _residuals(columns: Floats) -> Floats:
    """Return the length of each column that the columns before it leave unexplained (Gram-Schmidt, done twice)."""
    basis = np.zeros_like(columns)
    residuals = np.zeros(columns.shape[1])
    rank = 0
    for place in range(columns.shape[1]):
        rest = columns[:, place].copy()
        for _ in range(2):
            rest -= basis[:, :rank] @ (basis[:, :rank].T @ rest)
        residuals[place] = np.linalg.norm(rest)
        if residuals[place] > TOLERANCE:
            basis[:, rank] = rest / residuals[place]
            rank += 1
    return residuals


def _phrase(table: Statistics, column: int, others: list[int]) -> str:
    if len(others) > 1:
        return _combination([table.names[j] for j in others])
    values, other = table.values[:, column], table.values[:, others[0]]
    name = table.names[others[0]]
    if (values == other).all():
        return f"is a copy of column '{name}'"
    low, high = np.argmin(other), np.argmax(other)
    slope = (values[high] - values[low]) / (other[high] - other[low])
    offset = values[low] - slope * other[low]
    return _line(name, slope, offset if abs(offset) > 1e-9 * np.abs(values).max() else 0.0)


def _combination(names: list[str]) -> str:
    named = ", ".join(f"'{name}'" for name in names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"is an exact linear combination of {named}{more}"


def _line(name: str, slope: float, offset: float) -> str:
    shift = f" {'-' if offset < 0 else '+'} {abs(offset):.6g}" if offset else ""
    return f"is a linear function of column '{name}' ({slope:.6g} * '{name}'{shift})"


def _same_groups(table: Statistics, columns: list[int], kinds: tuple[str, str]) -> dict[int, str]:
    """Return each column that splits the rows as an earlier one does, where the two are of these kinds."""
    if "categorical" not in table.kinds:
        return {}
    found: dict[int, str] = {}
    seen: dict[bytes, list[int]] = {}
    for j in columns:
        values = table.values[:, j]
        _, first, member = np.unique(values, return_index=True, return_inverse=True)
        earlier = seen.setdefault(first[member.ravel()].tobytes(), [])
        partner = next((i for i in earlier if sorted((table.kinds[i], table.kinds[j])) == sorted(kinds)), None)
        if partner is None:
            earlier.append(j)
        else:
            found[j] = f"divides the rows into the same groups as column '{table.names[partner]}'"
    return found
