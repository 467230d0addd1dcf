"""drbo export."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result as CommandResult

from drbo.result.files.export import read_graph
from drbo.result.result import Result

Run = Callable[..., CommandResult]


ARROWS = ("bnlearn", "lavaan")  # formats without an open edge


@pytest.fixture
def saved(run: Run, chain: Path) -> Path:
    assert run("fit", chain, "--score", "bic-nv", "-o", "out", "-q").exit_code == 0
    return Path("out")


@pytest.mark.parametrize("kind", ["dot", "gml", "graphml", "dagitty", "bnlearn", "lavaan", "csv", "json", "npz"])
def test_every_form_is_written(run: Run, saved: Path, kind: str) -> None:
    done = run("export", saved, f"graph.{kind}")
    said = done.stderr.splitlines()
    assert (done.exit_code, done.stdout, said[-1]) == (0, "", f"wrote graph.{kind}")
    assert [f"note: .{kind} has no undirected edge" in line for line in said[:-1]] == [True] * (kind in ARROWS)
    assert Path(f"graph.{kind}").stat().st_size > 5


def test_the_class_keeps_its_undirected_edges(run: Run, saved: Path) -> None:
    assert run("export", saved, "graph.json", "--class").exit_code == 0
    result = Result.load(saved)
    graph, names = read_graph("graph.json")
    assert names == result.names
    assert (graph == result.cpdag).all()
    assert run("export", saved, "graph.bnlearn", "--class").exit_code == 1


def test_another_ending_is_a_mistake(run: Run, saved: Path) -> None:
    done = run("export", saved, "graph.doc")
    assert done.exit_code == 2
    assert "one of these file extensions" in done.stderr
