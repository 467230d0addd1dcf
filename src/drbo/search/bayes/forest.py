"""Ranks the columns that could be parents of a node by what they explain together.

A forest of extremely randomised trees sees causes that act only together, which no test of single edges does (Geurts,
Ernst & Wehenkel 2006, "Extremely randomized trees").
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Indices
from drbo.data.statistics.units import unit_free
from drbo.deadline import current
from drbo.search.parent_sets import Screen

#: Trees of a forest, and the least rows of a leaf.
TREES, LEAF_ROWS = 60, 10
#: Steps of a tree, for each row and column.
TREE_STEPS = 70
#: Rows that a forest is grown on; more hardly change the ranking.
MOST_ROWS = 500
#: Candidates that are tried at a split of a numeric node: a forest costs the same for any larger number of columns.
MOST_TRIED = 100


class ForestScreen(Screen):
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

    def work(self) -> float:
        """Return the steps of two forests, whose trees take as long as the rows times the columns that are tried."""
        n, d = self._values.shape
        return float(2 * TREES * TREE_STEPS * n * min(d, MOST_TRIED))

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
        from sklearn import config_context  # type: ignore[attr-defined]  # takes a second to load

        result = np.zeros(len(candidates))
        if not candidates.any():
            return result
        target, is_class = self._values[:, node], False
        with config_context(skip_parameter_validation=True):
            if given.any():
                target = target - self._predicted(given, target)
            elif node in self._categorical:
                target, is_class = np.unique(target, return_inverse=True)[1].astype(np.float64), True
            trees = [tree for tree, _ in self._grown(self._inputs(candidates), target, is_class=is_class)]
        shares = [tree.feature_importances_ for tree in trees if tree.tree_.node_count > 1]
        if shares:
            mean = np.mean(shares, axis=0)
            result[candidates] = mean / mean.sum()
        return result

    def _inputs(self, columns: Bools) -> npt.NDArray[np.float32]:
        return np.ascontiguousarray(self._values[:, columns], dtype=np.float32)

    def _grown(
        self, inputs: npt.NDArray[np.float32], target: Floats, *, is_class: bool = False, bootstrap: bool = False
    ) -> Iterator[tuple[Any, Indices]]:
        """Yield the trees of a forest, and how often each saw each row.

        They are those of scikit-learn's forests, which take half as long again to copy and check the parameters.
        """
        from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor
        from sklearn.utils import check_random_state

        kind, rng = ExtraTreeClassifier if is_class else ExtraTreeRegressor, check_random_state(self._seed)
        n, deadline = len(inputs), current()
        tried: dict[str, Any] = {} if is_class else {"max_features": min(MOST_TRIED, inputs.shape[1])}
        for seed in rng.randint(np.iinfo(np.int32).max, size=TREES).tolist():
            drawn = check_random_state(seed).randint(0, n, n, dtype=np.int32) if bootstrap else np.arange(n)
            times = np.bincount(drawn, minlength=n)
            deadline.check()
            tree = kind(min_samples_leaf=LEAF_ROWS, random_state=seed, **tried)
            weight = times.astype(np.float64) if bootstrap else None
            yield tree.fit(inputs, target[:, None], sample_weight=weight, check_input=False), times

    def _predicted(self, given: Bools, target: Floats) -> Floats:
        """Return what a forest of the given columns predicts for each row, by the trees that did not see it."""
        inputs, total, count = self._inputs(given), np.zeros(len(target)), np.zeros(len(target))
        for tree, times in self._grown(inputs, target, bootstrap=True):
            unseen = times == 0
            total[unseen] += tree.predict(inputs[unseen], check_input=False)
            count += unseen
        return total / np.maximum(count, 1)
