"""``drbo resume``: continues a saved search."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.commands.fit import exit_if_interrupted, finish, refit
from drbo.cli.executors import executor_for, worker_option
from drbo.cli.interrupts import CommandRun, limited_run, start_of_program
from drbo.cli.messages import say
from drbo.cli.options import COUNT, FILE, json_option, own_score, quiet_option, time_option
from drbo.cli.output import writing
from drbo.deadline import Stop
from drbo.errors import CheckpointError
from drbo.progress import watch_for
from drbo.result.files.plan import Plan
from drbo.result.files.run_folder import CHECKPOINT, held, search_folder
from drbo.result.words.plain_text import shell_line

if TYPE_CHECKING:
    from drbo.result.result import Result


@click.command(short_help="Continue a saved search.")
@click.argument("run", type=FILE)
@click.option(
    "--max-evals",
    type=COUNT,
    metavar="N",
    help="Evaluate N more graphs.  [default: what is left of the original budget]",
)
@time_option("Stop after this time in total, such as 60s, 5m or 1h.")
@click.option(
    "--bootstrap", type=COUNT, metavar="N", help="Total number of resamples.  [default: as in the original run]"
)
@click.option(
    "--score", callback=own_score, metavar="module:Class", help="The score of the search, if it is not built in."
)
@worker_option
@json_option
@quiet_option
def resume(
    run: Path, as_json: bool, quiet: bool, bootstrap: int | None, workers: int | str | None, **changes: Any
) -> None:
    """Continue the search that 'drbo fit -o RUN' saved in the folder RUN.

    The folder contains the data, and the result is written to it. On the same machine with the same versions, the
    result is identical to that of an uninterrupted search. A search that was killed before it was first saved starts
    again, and missing resamples of --bootstrap are computed.

    \b
    Examples:
      drbo resume run                    after a crash, a reboot or Ctrl-C
      drbo resume run --max-evals 500    search longer
      drbo resume run --bootstrap 200    more resamples, or the first ones
      drbo resume run --score my_scores:Mine
    """
    home = run.parent if run.name == CHECKPOINT else run
    if not home.is_dir():
        raise CheckpointError(f"{run} does not contain a saved search", hint="give a folder that 'drbo fit -o' wrote")
    with limited_run(None) as limited:
        with held(home), executor_for(workers) as executor:
            folder = search_folder(home) if (home / CHECKPOINT).is_dir() else run
            plan = Plan.load(home)
            _check_saved(folder, home, plan)
            if bootstrap is not None:
                plan = (plan or Plan((), time.strftime("%Y-%m-%d %H:%M:%S"))).with_resamples(bootstrap)
                with writing(home):
                    plan.save(home)
            limited.finish = lambda found: finish(found, home, as_json=as_json, quiet=quiet)
            result = continued(folder, plan, executor, changes, limited, quiet=quiet)
            limited.finish(result)
        exit_if_interrupted(result, home)


def _check_saved(folder: Path, home: Path, plan: Plan | None) -> None:
    """Refuse a folder without a saved search; where it cannot have one, say how to start the run again."""
    if plan is not None and not plan.resumable:
        raise CheckpointError(
            f"the run in {home} consists of several searches, which are not saved, so it cannot be resumed",
            hint=f"start the run again: {shell_line([*plan.argv, '-o', str(home), '--force'])}",
        )
    if not any(folder.glob("*.json")):
        again = "give a folder that 'drbo fit -o' wrote"
        if plan is not None and plan.argv:
            again = (
                f"the run ended before its search began; start it again: {shell_line([*plan.argv, '-o', str(home)])}"
            )
        raise CheckpointError(f"{folder} does not contain a saved search", hint=again)


def continued(
    folder: Path, plan: Plan | None, executor: Any, changes: dict[str, Any], run: CommandRun, *, quiet: bool
) -> "Result":
    """Go on with a search and show its progress; then with its resamples, if any were wanted."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # see fit.search
    from drbo.estimator import DrBO
    from drbo.search.checkpoint.saver import Saved

    saved = Saved.load(folder)
    limits = {name: changes[name] for name in ("max_evals", "time_limit")}
    arguments = saved.arguments(**limits)
    if (seconds := arguments["settings"].time_limit) is not None:
        run.deadline.limit(seconds, start=start_of_program() - float(saved.about["seconds"]))
    if not quiet:
        table, spent = saved.table, saved.about["n_evals"]
        say(f"{folder}: {table.n_rows:,} rows, {table.n_columns} columns, {spent:,} evaluations so far")
    with watch_for(arguments["settings"], quiet=quiet, tell=say) as watch:
        run.announce = watch.interrupted
        model = DrBO.resume(folder, executor=executor, callbacks=[watch], **changes)
    if plan is not None:
        if plan.argv:
            model.result_ = replace(model.result_, argv=plan.argv, line="")
        wish = plan.resampling(folder.parent)
        if wish is not None and model.result_.search.stop is not Stop.INTERRUPTED:
            refit(model, saved.table, wish, quiet=quiet)
    result: Result = model.result_
    return result
