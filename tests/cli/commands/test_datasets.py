"""drbo datasets lists and writes what ships with the package."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from click.testing import Result

from drbo.data.files.datasets import available, load
from drbo.result.files.export import read_graph

Run = Callable[..., Result]


def test_the_list_is_complete(run: Run) -> None:
    done = run("datasets")
    assert done.exit_code == 0
    header, *rows = done.stdout.splitlines()
    assert header.split() == ["name", "rows", "nodes", "edges", "about"]
    sizes = [[size.name, str(size.n_rows or "-"), str(size.n_nodes), str(size.n_edges)] for size in available()]
    assert [row.split()[:4] for row in rows] == sizes
    assert all(len(row) <= 130 for row in rows)


def test_sachs_comes_with_its_edges(run: Run) -> None:
    assert run("datasets", "sachs", "-o", "sachs.csv").exit_code == 0
    expected = load("sachs")
    assert Path("sachs.csv").read_text().splitlines()[0] == ",".join(expected.names)
    np.testing.assert_array_equal(np.loadtxt("sachs.csv", delimiter=",", skiprows=1), expected.X)
    np.testing.assert_array_equal(read_graph("sachs-edges.csv", names=expected.names)[0], expected.dag)


def test_rows_of_experiments_come_with_their_days(run: Run) -> None:
    assert run("datasets", "greenhouse", "-o", "rows.csv").exit_code == 0
    pd.testing.assert_frame_equal(pd.read_csv("rows.csv"), load("greenhouse").frame())
    done = run("datasets", "greenhouse", "-o", "rows.npz")
    assert done.exit_code == 2
    assert "hint: write the rows as .csv" in done.stderr


def test_permuted_columns_keep_their_edges(run: Run) -> None:
    assert run("datasets", "sachs", "-o", "sachs.npz", "--permute", 1).exit_code == 0
    plain = load("sachs")
    names = np.load("sachs.npz")["names"].tolist()
    assert sorted(names) == sorted(plain.names)
    assert names != list(plain.names)
    np.testing.assert_array_equal(np.load("sachs.npz")["X"][:, [names.index(name) for name in plain.names]], plain.X)
    np.testing.assert_array_equal(read_graph("sachs-edges.npz", names=plain.names)[0], plain.dag)


def test_a_network_is_its_edges(run: Run) -> None:
    done = run("datasets", "cancer")
    assert done.stdout.splitlines()[0] == "source,target"
    assert set(done.stdout.splitlines()[1:]) == {
        "Pollution,Cancer",
        "Smoker,Cancer",
        "Cancer,Xray",
        "Cancer,Dyspnoea",
    }
    assert "lung cancer" in done.stderr
    assert run("datasets", "cancer", "-o", "cancer.json").exit_code == 0
    expected = load("cancer")
    np.testing.assert_array_equal(read_graph("cancer.json", names=expected.names)[0], expected.dag)


def test_mistakes(run: Run) -> None:
    done = run("datasets", "sax")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "unknown data set 'sax'" in done.stderr
    assert "sachs" in done.stderr
    assert run("datasets", "-o", "x.csv").exit_code == 2
    assert run("datasets", "cancer", "-o", "absent/cancer.csv").exit_code == 1
