"""drbo export."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result as CommandResult

from drbo import DrBO
from drbo.result.files.export import read_graph
from drbo.result.result import Result

Run = Callable[..., CommandResult]


ARROWS = ("bnlearn", "lavaan")  # formats without an open edge


@pytest.fixture(scope="module")
def result() -> Result:
    """rain -> wet -> slip, and sun alone."""
    rain, wet, slip, sun = np.random.default_rng(0).normal(size=(4, 200))
    wet += 2 * rain
    slip -= 1.5 * wet
    frame = pd.DataFrame({"rain": rain, "wet": wet, "slip": slip, "sun": sun})
    return DrBO(score="bic-nv", random_state=0).fit(frame).result_


@pytest.fixture
def saved(result: Result, folder: Path) -> Path:
    result.save("out")
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
