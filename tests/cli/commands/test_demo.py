"""drbo demo, as users get it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import Result as CommandResult

from drbo.data.files.datasets import load
from drbo.graph.metrics import compare
from drbo.result.result import Result

Run = Callable[..., CommandResult]


def test_the_demo_finds_compares_and_saves(run: Run) -> None:
    done = run("demo")
    assert done.exit_code == 0
    result = Result.load("drbo-demo")
    sachs = load("sachs")
    assert (result.names, result.table.n_rows) == (sachs.names, 853)
    assert "Raf" in done.stdout
    figures = compare(result.cpdag if result.score_equivalent else result.dag, sachs.dag)
    for kind in ("reversed", "missing", "extra"):
        assert f"  {kind:<11} {len(getattr(figures, kind)):>4}   " in done.stdout
    assert any(line.split()[:2] == ["SHD", str(figures.shd)] for line in done.stdout.splitlines())
    assert any(line.split()[:2] == ["SHD-C", str(figures.shd_c)] for line in done.stdout.splitlines())
    assert f"{17 - len(figures.missing)} of the 17 known links were found" in done.stdout
    supported = result.dag & ~result.assumed & ~result.undirected
    assert not (supported & ~sachs.dag).any()
    assert "The data support none of these directions" in done.stdout or supported.any()
    source, target = (sachs.names[end] for end in np.argwhere(result.dag)[0])
    assert any(line.split()[:3] == [source, "-?>", target] for line in done.stdout.splitlines())
    assert Path("drbo-demo/graph.svg").exists()
    *_, picture, edges, following, report = done.stderr.splitlines()
    assert report.endswith("drbo-demo/report.html")
    assert "drbo demo" in Path("drbo-demo/report.html").read_text()
    assert picture.endswith("drbo-demo/graph.svg")
    assert edges.endswith("drbo-demo/edges.csv")
    assert following.endswith("drbo fit table.csv -o result")


def test_the_demo_leaves_other_files_alone(run: Run) -> None:
    Path("drbo-demo").mkdir()
    Path("drbo-demo/thesis.txt").write_text("precious")
    done = run("demo")
    assert done.exit_code == 2
    assert "is not empty" in done.stderr
    assert Path("drbo-demo/thesis.txt").read_text() == "precious"
