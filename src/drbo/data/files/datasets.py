"""Data sets and graphs that ship with the package, loaded by name."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.data.files.greenhouse import ABOUT, CHANGED, DAYS, MECHANISMS, greenhouse
from drbo.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = files("drbo.data").joinpath("files")
#: Rows of the data sets that have some.
_ROWS = {"sachs": 853, "greenhouse": len(DAYS)}


@dataclass(frozen=True, eq=False)
class Dataset:
    """A known graph and, for ``sachs`` and ``greenhouse``, the rows that belong to it."""

    name: str
    X: Floats | None  # (n, d); None: the graph alone
    names: tuple[str, ...]
    dag: Bools  # (d, d); dag[i, j]: i -> j
    description: str
    source: str
    days: tuple[str, ...] | None = None  # of each row of ``greenhouse``
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by day, what somebody changed on it

    def frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame; those of ``greenhouse`` have a column ``day`` beside the nodes.

        Examples
        --------
        >>> load("greenhouse").frame()["day"].nunique()
        6
        """
        import pandas as pd

        frame = pd.DataFrame(self.X, columns=list(self.names))
        return frame if self.days is None else frame.assign(day=list(self.days))


class DatasetSize(NamedTuple):
    """One line of :func:`available`."""

    name: str
    n_rows: int
    n_nodes: int
    n_edges: int
    description: str


def load(name: str, *, permute: int | None = None) -> Dataset:
    """Return a data set by name.

    ``sachs`` holds 853 rows and the 17 edges of the literature, ``greenhouse`` 900 simulated rows of six experiments
    and their 19 edges. The others are structures of discrete networks from the Bayesian Network Repository, without
    rows; make data on them with :func:`drbo.data.files.simulate.simulate`.

    Parameters
    ----------
    name : one of the names that :func:`available` lists.
    permute : seed of a random order of the columns. In many of these files the order of the nodes is a topological
        order, so a search that favours the order of the columns looks better than it is: permute before you measure.

    Examples
    --------
    >>> sachs = load("sachs")
    >>> sachs.X.shape, int(sachs.dag.sum())
    ((853, 11), 17)
    >>> load("asia", permute=0).names == load("asia").names
    False
    """
    networks = _networks()
    if name not in networks:
        raise SettingsError(f"unknown data set {name!r}", hint=f"the data sets are {', '.join(networks)}")
    network = networks[name]
    names, rows, days = tuple(network["nodes"]), None, None
    dag = np.zeros((len(names), len(names)), dtype=bool)
    for node, parents in enumerate(network["parents"]):
        dag[parents, node] = True
    if name == "sachs":
        rows = _sachs_rows(names)
    elif name == "greenhouse":
        rows, days = greenhouse()
    order = np.arange(len(names)) if permute is None else np.random.default_rng(permute).permutation(len(names))
    return Dataset(
        name,
        None if rows is None else rows[:, order],
        tuple(names[j] for j in order),
        dag[np.ix_(order, order)],
        network["description"],
        network["source"],
        days,
        {} if days is None else CHANGED,
    )


def available() -> list[DatasetSize]:
    """Return the name and the size of every data set that :func:`load` knows.

    Examples
    --------
    >>> [size.name for size in available() if size.n_nodes < 10]
    ['asia', 'cancer', 'earthquake', 'survey']
    """
    return [
        DatasetSize(
            name,
            _ROWS.get(name, 0),
            len(network["nodes"]),
            sum(len(parents) for parents in network["parents"]),
            network["description"],
        )
        for name, network in _networks().items()
    ]


def _networks() -> dict[str, Any]:
    networks: dict[str, Any] = json.loads(_FOLDER.joinpath("networks.json").read_text(encoding="utf-8"))
    nodes = sorted(MECHANISMS)
    parents = [[nodes.index(cause) for cause in MECHANISMS[effect]] for effect in nodes]
    return dict(sorted({**networks, "greenhouse": {**ABOUT, "nodes": nodes, "parents": parents}}.items()))


def _sachs_rows(names: tuple[str, ...]) -> Floats:
    """Return the measurements with their columns in the order of ``names``."""
    header, *lines = _FOLDER.joinpath("sachs.csv").read_text(encoding="utf-8").splitlines()
    columns = header.split(",")
    values = np.array([line.split(",") for line in lines], dtype=np.float64)
    return values[:, [columns.index(name) for name in names]]
