"""What a fit leaves in an estimator: the attributes that end in an underscore, and the error before there is a fit."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats
from drbo.result.result import Result

if TYPE_CHECKING:
    import networkx as nx

#: Attributes that only a fit sets.
FITTED = ("adjacency_", "graph_", "weights_", "score_", "result_")


class FittedAttributes:
    """The attributes of a fitted estimator, made from its result.

    Examples
    --------
    >>> FittedAttributes().score_
    Traceback (most recent call last):
    sklearn.exceptions.NotFittedError: This FittedAttributes instance is not fitted yet: call fit before reading score_.
    """

    result_: Result
    adjacency_: npt.NDArray[np.int8]
    weights_: Floats | None
    score_: float
    n_features_in_: int
    feature_names_in_: npt.NDArray[np.object_]  # absent where the table has no names
    _columns: list[str]

    @cached_property
    def graph_(self) -> "nx.DiGraph[str]":
        """Made when it is first read: loading networkx can take longer than a fit."""
        return self.result_.to_networkx()

    if not TYPE_CHECKING:  # a type checker should still find misspelled attributes

        def __getattr__(self, name: str) -> Any:
            """Raise scikit-learn's error for the attributes of a fit before there is one."""
            kind = type(self).__name__
            if name in FITTED:
                from sklearn.exceptions import NotFittedError  # takes longer to load than a fit

                raise NotFittedError(f"This {kind} instance is not fitted yet: call fit before reading {name}.")
            raise AttributeError(f"'{kind}' object has no attribute {name!r}", name=name, obj=self)

    def _check_fitted(self) -> None:
        from sklearn.utils.validation import check_is_fitted  # takes longer to load than a fit

        check_is_fitted(self)

    def _set_fitted(self, result: Result, columns: list[str], X: Any) -> None:
        """Take over a result about the columns of a table X."""
        self.result_, self._columns, self.n_features_in_ = result, columns, len(columns)
        labels = getattr(X, "column_names", getattr(X, "columns", [0]))  # of pyarrow; of pandas and polars; none
        if all(isinstance(name, str) for name in labels):
            self.feature_names_in_ = np.array(columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.adjacency_ = result.dag.astype(np.int8)
        self.weights_ = result.weights
        self.score_ = result.score
        vars(self).pop("graph_", None)
