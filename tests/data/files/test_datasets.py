import csv
import os
from importlib.resources import files
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from drbo.data.files.datasets import available, load
from drbo.data.files.greenhouse import MECHANISMS
from drbo.errors import SettingsError

# Number of nodes and of edges as the Bayesian Network Repository states them.
PUBLISHED = {
    "alarm": (37, 46),
    "andes": (223, 338),
    "asia": (8, 8),
    "barley": (48, 84),
    "cancer": (5, 4),
    "child": (20, 25),
    "diabetes": (413, 602),
    "earthquake": (5, 4),
    "hailfinder": (56, 66),
    "hepar2": (70, 123),
    "insurance": (27, 52),
    "link": (724, 1125),
    "mildew": (35, 46),
    "munin": (1041, 1397),
    "munin1": (186, 273),
    "munin2": (1003, 1244),
    "munin3": (1041, 1306),
    "munin4": (1038, 1388),
    "pathfinder": (109, 195),
    "pigs": (441, 592),
    "sachs": (11, 17),
    "survey": (6, 6),
    "water": (32, 66),
    "win95pts": (76, 112),
}


def reference(*parts: str) -> Path:
    folder = os.environ.get("DRBO_DATA")
    if not folder:
        pytest.skip("DRBO_DATA is not set: no reference files to compare with")
    path = Path(folder).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def named_edges(names: tuple[str, ...], dag: np.ndarray) -> set[tuple[str, str]]:
    return {(names[i], names[j]) for i, j in np.argwhere(dag)}


def read_edges(path: Path) -> set[tuple[str, str]]:
    with path.open(newline="") as lines:
        return {(row["from"], row["to"]) for row in csv.DictReader(lines)}


def test_sizes_are_the_published_ones() -> None:
    made = {"greenhouse": (len(MECHANISMS), sum(map(len, MECHANISMS.values())))}
    assert {size.name: (size.n_nodes, size.n_edges) for size in available()} == PUBLISHED | made
    rows = {size.name: size.n_rows for size in available() if size.n_rows}
    assert rows == {name: len(load(name).frame()) for name in ("greenhouse", "sachs")}


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_is_a_dag_as_announced(name: str) -> None:
    data = load(name)
    graph = nx.from_numpy_array(data.dag, create_using=nx.DiGraph)
    assert nx.is_directed_acyclic_graph(graph)
    assert (len(data.names), graph.number_of_edges()) == PUBLISHED[name]
    assert len(set(data.names)) == len(data.names)
    assert (data.X is None) == (name != "sachs")
    assert data.days is None
    assert data.description
    assert data.source


def test_asia_by_hand() -> None:
    asia = load("asia")
    assert named_edges(asia.names, asia.dag) == {
        ("asia", "tub"),
        ("smoke", "lung"),
        ("smoke", "bronc"),
        ("tub", "either"),
        ("lung", "either"),
        ("either", "xray"),
        ("either", "dysp"),
        ("bronc", "dysp"),
    }


@pytest.mark.parametrize("name", ["sachs", "greenhouse", "alarm"])
def test_permute_moves_columns_and_graph_together(name: str) -> None:
    plain, moved = load(name), load(name, permute=3)
    assert moved.names != plain.names
    assert named_edges(moved.names, moved.dag) == named_edges(plain.names, plain.dag)
    assert load(name, permute=3).names == moved.names
    assert load(name, permute=4).names != moved.names
    if plain.X is not None and moved.X is not None:
        for j, column in enumerate(plain.names):
            assert (moved.X[:, moved.names.index(column)] == plain.X[:, j]).all()


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="unknown data set 'alarmm'") as caught:
        load("alarmm")
    assert "alarm, andes" in str(caught.value.hint)


def test_shipped_files_are_small() -> None:
    folder = Path(str(files("drbo.data").joinpath("files")))
    assert sum(file.stat().st_size for file in folder.iterdir()) < 400_000


def test_sachs_is_the_reference() -> None:
    """The columns may come in another order; values and edges are compared by name."""
    sachs = load("sachs")
    assert sachs.X is not None
    with reference("sachs", "observations.csv").open(newline="") as lines:
        header, *rows = csv.reader(lines)
    expected = np.array(rows, dtype=float)
    assert sorted(header) == sorted(sachs.names)
    assert (sachs.X[:, [sachs.names.index(name) for name in header]] == expected).all()
    assert named_edges(sachs.names, sachs.dag) == read_edges(reference("sachs", "edges.csv"))


def test_networks_are_the_reference() -> None:
    """Fourteen of the networks have a second copy to compare with."""
    with reference("bnlearn", "index.csv").open(newline="") as lines:
        names = [row["name"] for row in csv.DictReader(lines)]
    assert len(names) == 14
    for name in names:
        data = load(name)
        assert sorted(data.names) == sorted(reference("bnlearn", f"{name}.nodes.txt").read_text().split())
        assert named_edges(data.names, data.dag) == read_edges(reference("bnlearn", f"{name}.edges.csv"))
