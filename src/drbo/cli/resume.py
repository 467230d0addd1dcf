"""``drbo resume``: go on with a search that was saved."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.executors import executor_for, worker_options
from drbo.cli.fit import exit_if_interrupted, finish
from drbo.cli.interrupts import Run, limited_run, start_of_program
from drbo.cli.messages import say
from drbo.cli.options import duration, find_own_score, json_option
from drbo.cli.output import CHECKPOINT
from drbo.cli.progress import watch_for

if TYPE_CHECKING:
    from drbo.result.result import Result


@click.command(short_help="Go on with a search that was saved.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--max-evals",
    type=click.IntRange(min=1),
    metavar="N",
    help="Evaluate N more graphs.  [default: what is left of the first budget]",
)
@click.option("--time-limit", type=duration, metavar="TIME", help="Stop after 60s, 5m, 1h, ... in all.")
@worker_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on stderr.")
def resume(run: Path, as_json: bool, quiet: bool, workers: int | None, dask: str | None, **limits: Any) -> None:
    """Go on with the search that 'drbo fit -o RUN' saved in the folder RUN, as if it had never stopped.

    The data is in the folder. The result is written there, too. On the same machine with the same versions it is the
    result of the uninterrupted search.

    \b
    Examples:
      drbo resume run                    after a crash, a reboot or Ctrl-C
      drbo resume run --max-evals 500    search longer
    """
    folder = run / CHECKPOINT if (run / CHECKPOINT).is_dir() else run
    with limited_run(None) as limited:
        with executor_for(workers, dask) as executor:
            result = continued(folder, executor, limits, limited, quiet=quiet)
        finish(result, folder.parent if folder.name == CHECKPOINT else run, as_json=as_json, quiet=quiet)
        exit_if_interrupted(result)


def continued(folder: Path, executor: Any, limits: dict[str, Any], run: Run, *, quiet: bool) -> "Result":
    """Go on with a search and show its progress."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # see fit.search
    from drbo.estimator import DrBO
    from drbo.search.saving import Saved

    saved = Saved.load(folder)
    arguments = saved.arguments(**limits)
    if (seconds := arguments["settings"].time_limit) is not None:
        run.deadline.limit(seconds, start=start_of_program() - float(saved.about["seconds"]))
    find_own_score(arguments["score"])
    if not quiet:
        table, spent = saved.table, saved.about["n_evals"]
        say(f"{folder}: {table.n_rows:,} rows, {table.n_columns} columns, {spent:,} evaluations so far")
    with watch_for(arguments["settings"], quiet=quiet) as watch:
        run.announce = watch.interrupted
        model = DrBO.resume(folder, executor=executor, callbacks=[watch], **limits)
    result: Result = model.result_
    return result
