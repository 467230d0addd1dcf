"""What an edge rests on, as a picture: the two residuals, and the curve through them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from drbo.errors import DataError
from drbo.independence.residuals import AdditiveRegressions

if TYPE_CHECKING:
    import pandas as pd

MOST_FITTED, MOST_DRAWN = 2_000, 400  # rows


def scatter(frame: "pd.DataFrame", cause: str, effect: str, others: list[str]) -> dict[str, Any]:
    """Return the residuals of two columns given the other parents of the effect, and a smooth curve through them.

    Regressions are additive in splines, and have one mean per level of a category. Residuals are in standard deviations
    of their columns.

    Examples
    --------
    >>> import pandas as pd
    >>> x = np.linspace(-1, 1, 50)
    >>> found = scatter(pd.DataFrame({"x": x, "y": 2 * x}), "x", "y", [])
    >>> len(found["points"]), len(found["curve"]) > 10, found["given"]
    (50, True, [])
    """
    used = frame[[cause, effect, *others]].dropna()
    if any(used[name].dtype.kind not in "iuf" for name in (cause, effect)):
        raise DataError("there is a scatter plot only of two columns of numbers")
    used = used.iloc[np.unique(np.linspace(0, len(used) - 1, min(len(used), MOST_FITTED)).astype(int))]
    coded = [used[name] if used[name].dtype.kind in "iuf" else used[name].astype("category").cat.codes for name in used]
    categories = [k for k, name in enumerate(used) if used[name].dtype.kind not in "iuf"]
    fits = AdditiveRegressions(np.column_stack(coded), categorical=categories)
    given = range(2, used.shape[1])
    x, y = fits.residual(0, given), fits.residual(1, given)
    spread = y.std() or 1.0
    both = AdditiveRegressions(np.column_stack([x, y]))
    curve = (both.values[:, 1] - both.residual(1, (0,))) * spread + y.mean()
    order = np.argsort(x, kind="stable")
    some = order[np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_DRAWN)).astype(int))]
    rounded = [np.round(one[some], 4).tolist() for one in (x, y, curve)]
    return {
        "points": [list(one) for one in zip(rounded[0], rounded[1], strict=True)],
        "curve": [list(one) for one in zip(rounded[0], rounded[2], strict=True)],
        "given": others,
    }
