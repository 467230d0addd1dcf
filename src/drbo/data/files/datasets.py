"""Data sets and graphs that ship with the package, loaded by name."""

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from drbo.arrays import Bools, Floats
from drbo.errors import SettingsError

_FOLDER = files("drbo.data").joinpath("files")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A known graph and, for ``sachs``, the measurements that belong to it."""

    name: str
    X: Floats | None  # (n, d); None: the graph alone
    names: tuple[str, ...]
    dag: Bools  # (d, d); dag[i, j]: i -> j
    description: str
    source: str


class DatasetSize(NamedTuple):
    """One line of :func:`available`."""

    name: str
    n_rows: int
    n_nodes: int
    n_edges: int
    description: str


def load(name: str, *, permute: int | None = None) -> Dataset:
    """Return a data set by name.

    ``sachs`` holds 853 rows and the 17 edges of the literature. The others are structures of discrete networks from
    the Bayesian Network Repository, without rows; make data on them with :func:`drbo.data.simulate.simulate`.

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
    names, rows = tuple(network["nodes"]), None
    dag = np.zeros((len(names), len(names)), dtype=bool)
    for node, parents in enumerate(network["parents"]):
        dag[parents, node] = True
    if name == "sachs":
        rows = _sachs_rows(names)
    order = np.arange(len(names)) if permute is None else np.random.default_rng(permute).permutation(len(names))
    return Dataset(
        name,
        None if rows is None else rows[:, order],
        tuple(names[j] for j in order),
        dag[np.ix_(order, order)],
        network["description"],
        network["source"],
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
            853 if name == "sachs" else 0,
            len(network["nodes"]),
            sum(len(parents) for parents in network["parents"]),
            network["description"],
        )
        for name, network in _networks().items()
    ]


def _networks() -> dict[str, Any]:
    networks: dict[str, Any] = json.loads(_FOLDER.joinpath("networks.json").read_text(encoding="utf-8"))
    return networks


def _sachs_rows(names: tuple[str, ...]) -> Floats:
    """Return the measurements with their columns in the order of ``names``."""
    header, *lines = _FOLDER.joinpath("sachs.csv").read_text(encoding="utf-8").splitlines()
    columns = header.split(",")
    values = np.array([line.split(",") for line in lines], dtype=np.float64)
    return values[:, [columns.index(name) for name in names]]
