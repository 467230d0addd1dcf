"""Sorts a table by its content alone, so that no tie depends on the given order of rows and columns."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from drbo.arrays import Floats
from drbo.data.statistics.statistics import Statistics
from drbo.errors import SettingsError

Cell = TypeVar("Cell", bound=np.generic)


class Canonical:
    """A table in canonical order, and the way back.

    Parameters
    ----------
    table : checked.
    all_names : of the columns that were passed in, of which the table may have lost some.
    movable : False: the score is bound to the given order, nothing moves.
    sort_rows : False: only columns move.
    """

    def __init__(self, table: Statistics, all_names: list[str], movable: bool, *, sort_rows: bool = True) -> None:
        self._n_columns, self._given = len(all_names), table
        place = {name: j for j, name in enumerate(all_names)}
        self.kept = np.array([place[name] for name in table.names])
        if movable:
            self.rows, self.columns = table.canonical_order()
        else:
            self.rows, self.columns = np.arange(table.n_rows), np.arange(table.n_columns)
        if not sort_rows:
            self.rows = np.arange(table.n_rows)
        given = not movable and table.large  # no copy of what stays as it is
        self.table = table if given else table.take(self.rows, self.columns)
        table.adopt_moments(self.table, self.columns)  # the order of the input must not decide their last bits
        if movable and sort_rows:
            self.table.note_order()

    def digest(self) -> str:
        """Return the hash of the table, which does not depend on its order: sorted rows are quicker to read."""
        return self._given.adopt_digest(self.table)

    def ordered_options(self, options: dict[str, Any]) -> dict[str, Any]:
        """Bring options that speak of columns into the canonical order."""
        ordered = dict(options)
        columns = self.kept[self.columns]
        if ordered.get("edge_prior") is not None:
            shape = (self._n_columns, self._n_columns)
            ordered["edge_prior"] = checked_matrix("edge_prior", ordered["edge_prior"], shape)[np.ix_(columns, columns)]
        return ordered

    def restored(self, dag: npt.NDArray[Cell]) -> npt.NDArray[Cell]:
        """Return a DAG, or weights, over the canonical columns as one over the given columns."""
        given = np.empty_like(dag)
        given[np.ix_(self.columns, self.columns)] = dag
        return given

    def restored_vector(self, values: Floats) -> Floats:
        """Return values of the canonical columns as those of the given columns."""
        given = np.empty_like(values)
        given[self.columns] = values
        return given


def checked_matrix(name: str, value: Any, shape: tuple[int, int]) -> npt.NDArray[Any]:
    """Return an array of the given shape, or say what is wrong with it."""
    matrix = np.asarray(value)
    if matrix.shape != shape:
        raise SettingsError(
            f"{name} must have shape {shape}, got {matrix.shape}",
            hint="edge_prior and start need one row and one column per column of the table",
        )
    return matrix
