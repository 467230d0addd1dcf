"""``drbo demo``: two complete runs on data that ship with the package."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.commands.fit import exit_if_interrupted, search
from drbo.cli.interrupts import limited_run
from drbo.cli.messages import say, show
from drbo.cli.options import FILE, duration, json_option
from drbo.cli.output import save_result, say_written, writing
from drbo.cli.run_folder import check_folder
from drbo.result.files.run_folder import REPORT

if TYPE_CHECKING:
    from drbo.cli.interrupts import CommandRun
    from drbo.graph.metrics import Comparison
    from drbo.result.result import Result

COMMAND = "drbo", "demo"
GREENHOUSE = (
    "1. A greenhouse, simulated so that the truth is known: 12 readings on 400 rows of ordinary days, and on five\n"
    "   other days somebody changed something. Nobody wrote down what. Which reading acts on which?\n"
)
PROTEINS = (
    "\n2. Real cells: 11 signalling proteins in 853 human T cells (Sachs et al. 2005), without any experiment.\n"
    "   17 links are known from biology.\n"
)
NOTHING_SUPPORTED = (
    "The measurements alone confirm no direction, so every arrow is shown as assumed or open: experiments, as in\n"
    "the greenhouse, or knowledge would settle them ('drbo next' and the questions in the report say which)."
)
NOT_CHECKED = "Time ran out before all checks of directions were made, so none is supported."
PAPER = (
    "The paper reports 9 errors here, and '--set preset=paper-sachs' reproduces them. Its score prefers a nearly\n"
    "complete graph, so that figure is the work of the pruning that follows (docs/results/presets.md)."
)


@click.command(short_help="Run two complete examples in under a minute.")
@click.option(
    "-o", "--output", type=FILE, default="drbo-demo", show_default=True, metavar="DIR", help="Folder for the results."
)
@click.option("--time-limit", type=duration, metavar="TIME", help="Stop after this time, such as 60s, 5m or 1h.")
@json_option
def demo(output: Path, time_limit: float | None, as_json: bool) -> None:
    """Learn two networks whose links are known, and compare what was found with the truth.

    The first is a simulated greenhouse with rows from several experiments, the second are 11 proteins in 853 cells
    (Sachs et al. 2005). The demo takes less than a minute and saves both results with a picture and a report.
    """
    folders = [output / name for name in ("greenhouse", "proteins")]
    for folder in folders:
        check_folder(folder, again=COMMAND)
    from drbo.data.files.datasets import load

    with limited_run(time_limit) as run:
        tell = say if as_json else show
        _greenhouse(load("greenhouse"), folders[0], run, tell)
        _proteins(load("sachs"), folders[1], run, tell)
    for folder in folders:
        say(f"The report (HTML):  {folder / REPORT}")
    files = [path for folder in folders for path in sorted(folder.glob("*.*"))]
    say_written("Next, try your own data:  drbo check table.csv", files, as_json=as_json)


def _greenhouse(data: Any, folder: Path, run: "CommandRun", tell: Callable[[str], None]) -> None:
    import numpy as np

    from drbo.design import Design

    _tell(GREENHOUSE)
    result = _learned(data, folder, run, {"design": Design(experiment="day", control="ordinary")})
    kinds, found = result.edges()["direction"], _compared(result, data)
    right = [bool(data.dag[i, j]) for i, j in np.argwhere(result.dag)]
    tell(f"   links       {_links(found)}")
    for kind in ("supported", "assumed"):
        of_kind = [one for one, told in zip(right, kinds, strict=True) if told == kind]
        tell(f"   {kind:<10}  {len(of_kind)} arrows, {sum(of_kind)} of them point the right way")
    n_open = int(sum(kinds == "open"))
    tell(f"   open        {n_open} link{'s' * (n_open != 1)}, of which both directions fit equally well")
    targets = result.targets
    for day, changed in data.changed.items():
        named = ", ".join(sorted(targets.loc[targets["experiment"] == day, "column"])) or "nothing found"
        tell(f"   day {day}       changed: {named} (in truth {', '.join(sorted(changed))})")
    if not _checked(result) and "supported" not in set(kinds):
        _tell(f"   {NOT_CHECKED}")


def _proteins(data: Any, folder: Path, run: "CommandRun", tell: Callable[[str], None]) -> None:
    _tell(PROTEINS)
    result = _learned(data, folder, run, {})
    found = _compared(result, data)
    supported = result.dag & ~result.assumed & ~result.undirected
    tell(f"   links       {_links(found)}")
    tell(
        f"   directions  {len(found.correct)} as known, {len(found.reversed)} reversed, {len(found.undirected)} open; "
        f"{int(supported.sum())} supported, {int((supported & data.dag).sum())} of them as known"
    )
    tell(f"   errors      SHD {found.shd}: edges to add, remove or reverse")
    say("")
    if not supported.any():
        _tell(NOTHING_SUPPORTED if _checked(result) else NOT_CHECKED)
    _tell(PAPER + "\n")


def _learned(data: Any, folder: Path, run: "CommandRun", arguments: dict[str, Any]) -> "Result":
    """Fit the rows of a data set, and save the result beside the true graph."""
    from drbo.result.files.export import write_graph

    result = replace(search(data.frame(), {**arguments, "random_state": 0}, run, quiet=False), argv=COMMAND)
    save_result(result, folder)
    truth = folder.with_name(f"{folder.name}-truth.csv")
    with writing(truth):
        write_graph(truth, data.dag, data.names)
    exit_if_interrupted(result, None)
    return result


def _compared(result: "Result", data: Any) -> "Comparison":
    from drbo.graph.metrics import compare
    from drbo.result.compare import answer

    return compare(answer(result), data.dag)


def _checked(result: "Result") -> bool:
    """Tell whether every check of directions was made."""
    return all(one.status != "skipped" or not one.grounds for one in result.claims.made)


def _links(found: "Comparison") -> str:
    known = found.n_true - len(found.missing)
    return f"{known} of the {found.n_true} true ones found, {len(found.extra)} invented"


def _tell(text: str) -> None:
    for line in text.splitlines():
        say(line)
