"""Columns that say nothing new: copies of another column, and exact linear combinations of others."""

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from drbo.data.table import Table
from drbo.threads import one_blas_thread

FloatArray = npt.NDArray[np.float64]

#: A column of length 1 with a residual under this, given other columns, is a combination of them.
TOLERANCE = 1e-10
#: Coefficients under this, between columns of length 1, are rounding errors.
SMALLEST_COEFFICIENT = 1e-6
#: So many columns of a combination are named.
MOST_NAMED = 5


def find_dependent(table: Table) -> dict[int, str]:
    """Return the columns that the others make superfluous, each with a phrase that says why.

    Of several columns that depend on each other the first ones by name count as the others, so the order of the
    columns decides nothing. The table must have no constant column.

    Numeric columns are centred and scaled to length 1; a pivoted QR factorisation gives their rank. With fewer than
    d + 1 rows the rank says nothing, and columns are only compared in pairs. A categorical column is superfluous if
    it forms the same groups of rows as another column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(2, 20))
    >>> find_dependent(Table.from_array(np.column_stack([a, b, a - b]), names=["a", "b", "c"]))
    {2: "is an exact linear combination of 'a', 'b'"}
    """
    by_name = sorted(range(table.n_columns), key=lambda j: table.names[j])
    numeric = [j for j in by_name if table.kinds[j] == "numeric"]
    columns = np.empty((table.n_rows, len(numeric)), order="F")
    for place, j in enumerate(numeric):
        columns[:, place] = _unit(table.values[:, j])
    with one_blas_thread():
        partners = _combinations(columns) if rank_is_telling(table) else _copies(columns)
    found = {
        numeric[place]: _phrase(table, numeric[place], [numeric[p] for p in sorted(others)])
        for place, others in partners.items()
    }
    return dict(sorted((found | _same_groups(table, [j for j in by_name if j not in found])).items()))


def rank_is_telling(table: Table) -> bool:
    """Return whether there are enough rows to find linear combinations: d centred columns have rank n - 1 at most.

    Examples
    --------
    >>> rank_is_telling(Table.from_array(np.eye(3)))
    False
    """
    return table.n_rows - 1 >= table.kinds.count("numeric")


def _unit(values: FloatArray) -> FloatArray:
    """Centre a column and scale it to length 1, without overflow on the way."""
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    unit: FloatArray = centred / np.linalg.norm(centred)
    return unit


def _copies(columns: FloatArray) -> dict[int, list[int]]:
    """Return each column that is an earlier one up to units, with that one."""
    found: dict[int, list[int]] = {}
    for place in range(1, columns.shape[1]):
        cosines = columns[:, :place].T @ columns[:, place]
        for near in np.flatnonzero(np.abs(cosines) > 1 - 1e-8):
            gap = columns[:, place] - np.sign(cosines[near]) * columns[:, near]
            if np.linalg.norm(gap) <= TOLERANCE:
                found[place] = [int(near)]  # the first of its kind: near ones come in order
                break
    return found


def _combinations(columns: FloatArray) -> dict[int, list[int]]:
    """Return each column that is a combination of others, with the columns of that combination."""
    count = columns.shape[1]
    if count < 2:
        return {}
    triangle: FloatArray = np.asarray(np.linalg.qr(columns, mode="r"))  # lengths and angles stay, rows are fewer
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


def _residuals(columns: FloatArray) -> FloatArray:
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


def _phrase(table: Table, column: int, others: list[int]) -> str:
    if len(others) > 1:
        named = ", ".join(f"'{table.names[j]}'" for j in others[:MOST_NAMED])
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        return f"is an exact linear combination of {named}{more}"
    values, other = table.values[:, column], table.values[:, others[0]]
    name = table.names[others[0]]
    if (values == other).all():
        return f"is a copy of column '{name}'"
    low, high = np.argmin(other), np.argmax(other)
    slope = (values[high] - values[low]) / (other[high] - other[low])
    offset = values[low] - slope * other[low]
    shift = "" if abs(offset) <= 1e-9 * np.abs(values).max() else f" {'-' if offset < 0 else '+'} {abs(offset):.6g}"
    return f"is column '{name}' in other units ({slope:.6g} * '{name}'{shift})"


def _same_groups(table: Table, columns: list[int]) -> dict[int, str]:
    """Return each column that splits the rows as an earlier one does, where one of the two is categorical."""
    if "categorical" not in table.kinds:
        return {}
    found: dict[int, str] = {}
    seen: dict[bytes, list[int]] = {}
    for j in columns:
        values = table.values[:, j]
        _, first, member = np.unique(values, return_index=True, return_inverse=True)
        earlier = seen.setdefault(first[member.ravel()].tobytes(), [])
        partner = next((i for i in earlier if "categorical" in (table.kinds[i], table.kinds[j])), None)
        if partner is None:
            earlier.append(j)
        else:
            found[j] = f"has the same groups of rows as column '{table.names[partner]}'"
    return found
