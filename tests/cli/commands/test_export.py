"""drbo export."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result as CommandResult

from drbo import DrBO
from drbo.claims.record import Claims
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


def test_a_spreadsheet_takes_no_name_as_a_formula(run: Run, result: Result, folder: Path) -> None:
    names = ("=HYPERLINK(1)", "+wet", "@slip", "\u2212sun")
    replace(result, names=names, claims=Claims()).save("odd")
    assert run("export", "odd", "edges.csv", "--spreadsheet").exit_code == 0
    found, plain = pd.read_csv("edges.csv"), pd.read_csv("odd/edges.csv")
    assert set(found["source"]) | set(found["target"]) <= {f"'{name}" for name in names[:3]} | {names[3]}
    pd.testing.assert_frame_equal(found.drop(columns=["source", "target"]), plain.drop(columns=["source", "target"]))
    for words in (("edges.json", "--spreadsheet"), ("edges.csv", "--spreadsheet", "--class")):
        assert run("export", "odd", *words).exit_code == 2
