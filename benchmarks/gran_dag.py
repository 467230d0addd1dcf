"""GraN-DAG's Gaussian-process data: five tables of 10 nodes and 40 edges, and the local scores of all their families.

They are read from the folder that DRBO_DATA names. With all local scores in a table, the best DAG is known.
"""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from drbo.data.statistics.statistics import Statistics
from drbo.scores.base import Relative, Score
from drbo.scores.families import Families
from drbo.scores.splines import SplineScore
from drbo.search.subset_kernels import best_dag, column

SETS = range(1, 6)
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class Unavailable(Exception):
    """This machine lacks something that a benchmark needs; the message says what."""


def data_folder() -> Path:
    """Return the folder of the data that are not part of the repository."""
    if "DRBO_DATA" not in os.environ:
        raise Unavailable("set DRBO_DATA to the folder that holds gran_dag/ and sachs/")
    return Path(os.environ["DRBO_DATA"])


def data_set(number: int) -> tuple[Floats, Bools]:
    """Return the table and the graph of a data set, 1 to 5."""
    sets = np.load(data_folder() / "gran_dag" / "p10_e40_n1000_gp_ids1to5.npz")
    return np.asarray(sets["X"][number - 1], dtype=np.float64), sets["A"][number - 1].astype(bool)


def local_scores(number: int) -> Floats:
    """Return ln MSE (d, 2^d) of every node given every set of parents."""
    values: Floats = np.load(data_folder() / "gran_dag" / "gp_local_scores_ids1to5.npz")[f"T{number}"]
    return values


@cache
def optimum(number: int) -> Bools:
    """Return the best DAG of a data set under the score gp-nv."""
    (data, _), values = data_set(number), local_scores(number)
    d, n = len(values), len(data)
    nodes, masks = np.divmod(np.arange(d << d), 1 << d)
    kept = (masks >> nodes) & 1 == 0
    nodes, masks = nodes[kept], masks[kept]
    shares = -n * values[nodes, masks] - np.bitwise_count(masks) * np.log(n)
    table = np.empty((d, 1 << (d - 1)))
    table[nodes, column(masks, nodes)] = shares
    return best_dag(table)


class TableScore(Score):
    """BIC with a noise variance per node from a table of all ln MSE, as if each were expensive."""

    name = "gp-table"
    cheap = True  # route auto may climb over orders: a look-up costs nothing

    def __init__(self, data: Statistics, values: Floats) -> None:
        super().__init__(data)
        self.data, self.values = data, values
        self.gain = self.n_rows

    def local(self, families: Families) -> Floats:
        """Look the families up."""
        found: Floats = self.values[families.nodes, families.parents @ (1 << np.arange(self.n_nodes))]
        return -found

    def relatives(self) -> Sequence[Relative]:
        """Additive splines, as for the score whose table this is."""
        return (Relative(SplineScore(self.data), 0.0),)

    def parameters(self, families: Families) -> npt.NDArray[np.intp]:
        """Return the number of parents: each has one weight, as in the paper."""
        return families.sizes


def table_score(number: int) -> TableScore:
    """Return the score of a data set whose local scores are looked up."""
    return TableScore(Statistics.from_array(data_set(number)[0]), local_scores(number))
