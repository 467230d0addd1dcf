"""drbo demo, as users get it."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result as CommandResult

from drbo.data.files.datasets import load
from drbo.data.files.greenhouse import CHANGED
from drbo.graph.metrics import compare
from drbo.result.files.export import read_graph
from drbo.result.result import Result

Run = Callable[..., CommandResult]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[CommandResult, Path]:
    """The demo, run once."""
    from click.testing import CliRunner

    from drbo.cli import main

    folder = tmp_path_factory.mktemp("demo") / "demo"
    return CliRunner().invoke(main, ["demo", "-o", str(folder)]), folder


def told(done: CommandResult) -> list[str]:
    """Return the lines that the demo prints, without the progress of a search that takes long on a busy machine."""
    return [line for line in done.output.splitlines() if not line.startswith("search: ")]


def test_the_greenhouse_is_found_with_what_was_changed(shown: tuple[CommandResult, Path]) -> None:
    done, folder = shown
    assert done.exit_code == 0, done.output
    result, truth = Result.load(folder / "greenhouse"), load("greenhouse")
    assert ((result.dag | result.dag.T) == (truth.dag | truth.dag.T)).all()
    assert "links       19 of the 19 true ones found, 0 invented" in done.stdout
    supported = result.dag & ~result.assumed & ~result.undirected
    assert supported.sum() >= 10
    assert not (supported & ~truth.dag).any()
    told = re.search(r"supported   (\d+) arrows, (\d+) of them point the right way", done.stdout)
    assert told is not None
    assert [int(number) for number in told.groups()] == [supported.sum(), supported.sum()]
    for day, changed in CHANGED.items():
        names = ", ".join(sorted(changed))
        assert f"day {day}       changed: {names} (in truth {names})" in done.stdout
    np.testing.assert_array_equal(read_graph(folder / "greenhouse-truth.csv", names=truth.names)[0], truth.dag)


def test_the_proteins_are_shown_as_they_are(shown: tuple[CommandResult, Path]) -> None:
    done, folder = shown
    result, truth = Result.load(folder / "proteins"), load("sachs")
    assert (result.names, result.table.n_rows) == (truth.names, 853)
    found = compare(result.cpdag if result.score_equivalent else result.dag, truth.dag)
    n_found = 17 - len(found.missing)
    assert f"links       {n_found} of the 17 true ones found, {len(found.extra)} invented" in done.stdout
    assert f"directions  {len(found.correct)} as known, {len(found.reversed)} reversed" in done.stdout
    assert f"SHD {found.shd}:" in done.stdout
    supported = result.dag & ~result.assumed & ~result.undirected
    assert ("The measurements alone confirm no direction" in done.stderr) != supported.any()


def test_both_have_a_picture_and_a_report(shown: tuple[CommandResult, Path]) -> None:
    done, folder = shown
    for name in ("greenhouse", "proteins"):
        assert (folder / name / "graph.svg").exists()
        assert "drbo demo" in (folder / name / "report.html").read_text()
        assert f"The report (HTML):  {folder / name / 'report.html'}" in done.stderr
    assert len(told(done)) <= 40


def test_the_readme_shows_what_the_demo_prints(shown: tuple[CommandResult, Path]) -> None:
    done, folder = shown
    page = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    printed = page.partition("This is what `make demo` prints:\n\n```text\n")[2].partition("```")[0]
    assert len(printed.splitlines()) > 25
    assert sorted(printed.replace("drbo-demo", str(folder)).split()) == sorted(" ".join(told(done)).split())


def test_directions_that_were_not_checked_are_said_to_be_so(run: Run) -> None:
    done = run("demo", "--time-limit", "0.01s")
    assert "Time ran out before all checks of directions were made" in done.stderr
    assert "confirm no direction" not in done.stderr


def test_the_demo_leaves_other_files_alone(run: Run) -> None:
    Path("drbo-demo/greenhouse").mkdir(parents=True)
    Path("drbo-demo/greenhouse/thesis.txt").write_text("precious")
    done = run("demo")
    assert done.exit_code == 2
    assert "is not empty" in done.stderr
    assert Path("drbo-demo/greenhouse/thesis.txt").read_text() == "precious"
