"""``drbo demo``: a complete run on data that ships with the package."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.commands.compare import answer
from drbo.cli.commands.fit import exit_if_interrupted, finish, search
from drbo.cli.interrupts import limited_run
from drbo.cli.messages import say, show
from drbo.cli.options import FILE, duration
from drbo.cli.run_folder import check_folder
from drbo.result.files.run_folder import PICTURE, REPORT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from drbo.graph.metrics import Comparison
    from drbo.result.result import Result

COMMAND = "drbo", "demo"
ARGUMENTS: dict[str, Any] = {"random_state": 0}
STORY = (
    "Sachs et al. (2005) measured 11 signalling proteins in single human T cells.\nWhich protein acts on which, "
    "judging only by the measurements of 853 cells? 17 links are known from biology.\n"
)


@click.command(short_help="Run a complete example on real data in under two minutes.")
@click.option(
    "-o", "--output", type=FILE, default="drbo-demo", show_default=True, metavar="DIR", help="Folder for the results."
)
@click.option("--time-limit", type=duration, metavar="TIME", help="Stop after this time, such as 60s, 5m or 1h.")
def demo(output: Path, time_limit: float | None) -> None:
    """Learn the network of 11 proteins in 853 cells (Sachs et al. 2005) and compare it with the known network.

    The demo takes less than two minutes and saves the result, a picture of the graph and a report.
    """
    check_folder(output, again=COMMAND)
    for line in STORY.splitlines():
        say(line)
    import pandas as pd

    from drbo.data.files.datasets import load
    from drbo.graph.metrics import compare
    from drbo.result.compare import ArrowComparison

    sachs = load("sachs")
    frame = pd.DataFrame(sachs.X, columns=list(sachs.names))
    with limited_run(time_limit) as run:
        result = replace(search(frame, ARGUMENTS, run, quiet=False), argv=COMMAND)
    say("")
    finish(result, output, quiet=True)
    comparison = compare(answer(result), sachs.dag)
    what = "The equivalence class" if result.score_equivalent else "The graph"
    text = ArrowComparison(sachs.names, comparison).text(("the graph", "the known network"))
    show(f"\n{what} compared with the known network: {text}")
    show(f"\nIn words: {_words(comparison)} {_supported(result, sachs.dag)}")
    say("")
    say(f"A picture of the graph:  {output / PICTURE}")
    say(f"The edges as a table:    {output / 'edges.csv'}")
    say("Next, try your own data: drbo fit table.csv -o result")
    say(f"The report (HTML):       {output / REPORT}")
    exit_if_interrupted(result, None)


def _supported(result: "Result", truth: "npt.NDArray[np.bool_]") -> str:
    """Return what became of the directions that the data support."""
    supported = result.dag & ~result.assumed & ~result.undirected
    if not supported.any():
        return (
            "The data support none of these directions: every one is assumed (a hollow arrowhead) or open (no "
            "arrowhead)."
        )
    against = int((supported & truth.T).sum())
    return f"The data support {int(supported.sum())} of these directions; {against} of them contradict the known ones."


def _words(comparison: "Comparison") -> str:
    found = comparison.n_true - len(comparison.missing)
    open_ones = f", and {len(comparison.undirected)} have no determined direction" if comparison.undirected else ""
    return (
        f"{found} of the {comparison.n_true} known links were found: {len(comparison.correct)} point in the known "
        f"direction, {len(comparison.reversed)} in the opposite one{open_ones}. The graph has "
        f"{len(comparison.extra)} other link{'s' * (len(comparison.extra) != 1)}."
    )
