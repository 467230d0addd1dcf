"""Ranks the columns that could be parents of a node by what they explain together.

A forest of extremely randomised trees sees causes that act only together, which no test of single edges does (Geurts,
Ernst & Wehenkel 2006, "Extremely randomized trees").
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.data.table import unit_free
from drbo.deadline import current

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

#: Trees of a forest, and the least rows of a leaf.
TREES, LEAF_ROWS = 60, 10
#: Rows that a forest is grown on; more hardly change the ranking.
MOST_ROWS = 500
#: Candidates that are tried at a split of a numeric node: a forest costs the same for any larger number of columns.
MOST_TRIED = 100
#: Trees that are grown between two looks at the deadline.
STEP = 10


class ForestScreen:
    """The importance of candidate parents in forests of randomised trees, each grown once.

    Parameters
    ----------
    values : (n, d) the complete rows; categories are codes.
    seed : draws the rows, if there are more than 500, and the splits.
    categorical : positions of categorical columns.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(400, 4))
    >>> x[:, 3] = x[:, 0] * x[:, 1] + 0.1 * x[:, 3]
    >>> importance = ForestScreen(x, seed=0).importance(3, np.array([True, True, True, False]))
    >>> sorted(np.argsort(-importance)[:2].tolist())
    [0, 1]
    """

    def __init__(self, values: Floats, seed: int, categorical: Sequence[int] = ()) -> None:
        rows = np.random.default_rng(seed).permutation(len(values))[:MOST_ROWS]
        self._values, self._seed, self._categorical = unit_free(values[np.sort(rows)]), seed, frozenset(categorical)
        self._found: dict[tuple[int, bytes, bytes], Floats] = {}

    def importance(self, node: int, candidates: Bools, given: Bools | None = None) -> Floats:
        """Return (d,) the share that splits at each candidate explain; 0 for all other columns.

        With ``given`` columns, what a forest of them leaves of the node is explained, by all candidates.
        """
        given = np.zeros_like(candidates) if given is None else given
        key = node, candidates.tobytes(), given.tobytes()
        if key not in self._found:
            self._found[key] = self._importance(node, candidates, given)
        return self._found[key]

    def _importance(self, node: int, candidates: Bools, given: Bools) -> Floats:
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor  # takes a second to load

        result = np.zeros(len(candidates))
        if not candidates.any():
            return result
        options: dict[str, Any] = {"min_samples_leaf": LEAF_ROWS, "random_state": self._seed, "warm_start": True}
        tried = min(MOST_TRIED, int(candidates.sum()))
        forest: ExtraTreesRegressor | ExtraTreesClassifier = ExtraTreesRegressor(max_features=tried, **options)
        target = self._values[:, node]
        if given.any():
            known = ExtraTreesRegressor(bootstrap=True, **options)
            target = target - _grown(known, self._values[:, given], target, oob_score=True).oob_prediction_
        elif node in self._categorical:
            target = np.unique(target, return_inverse=True)[1].astype(np.float64)
            forest = ExtraTreesClassifier(**options)
        result[candidates] = _grown(forest, self._values[:, candidates], target).feature_importances_
        return result


def _grown(forest: Any, inputs: Floats, target: Floats, **last: bool) -> Any:
    """Return a forest with all its trees, unless the deadline ends it; ``last``: options once they are all there."""
    deadline = current()
    for count in range(STEP, TREES + 1, STEP):
        deadline.check()
        forest.set_params(n_estimators=count, **(last if count == TREES else {})).fit(inputs, target)
    return forest
