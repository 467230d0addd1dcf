"""``drbo fit``: from a file to a graph."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.command_line import command_line, quoted
from drbo.cli.executors import executor_for, worker_options
from drbo.cli.experiments import experiment_options
from drbo.cli.fit_request import check_combinations, fit_arguments, read_rows, run_settings, start_of
from drbo.cli.interrupts import INTERRUPTED, Run, limited_run
from drbo.cli.many_rows import gathered, rows_options
from drbo.cli.messages import say, show
from drbo.cli.options import (
    COUNT,
    FILE,
    config_option,
    duration,
    json_option,
    quiet_option,
    score_options,
)
from drbo.cli.output import (
    CHECKPOINT,
    check_folder,
    result_as_json,
    run_folder,
    save_result,
    writing,
)
from drbo.cli.plan import RESAMPLES, Plan
from drbo.cli.problems import refused
from drbo.cli.table_options import data_options, group_options
from drbo.deadline import Deadline, Stop, current
from drbo.errors import DataError, TimeLimitError
from drbo.progress import clock_time, counting, watch_for
from drbo.settings import PRESETS

if TYPE_CHECKING:
    from drbo.result.result import Result


@click.command(short_help="Find the highest-scoring graph of a table.")
@click.argument("data", type=FILE, nargs=-1, required=True, metavar="DATA")
@config_option
@click.option("-o", "--output", type=FILE, metavar="DIR", help="Folder for the result, the picture and the report.")
@click.option("--force", is_flag=True, help="Replace the run in DIR, or write into a folder that contains other files.")
@score_options
@click.option(
    "--preset", type=click.Choice(list(PRESETS)), default="default", show_default=True, help="Named search settings."
)
@click.option(
    "--max-evals", type=COUNT, metavar="N", help="Maximum number of graphs to evaluate.  [default: set by the preset]"
)
@click.option("--time-limit", type=duration, metavar="TIME", help="Stop after this time, such as 60s, 5m or 1h.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="S", help="Random seed.")
@click.option(
    "--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True, help="Compute device."
)
@click.option(
    "--prune",
    metavar="NAME",
    default="auto",
    show_default=True,
    help="Method to remove weak edges at the end: auto, none, f-test, odds, threshold, cam, cam-sequential, kci.",
)
@click.option(
    "--set", "changes", multiple=True, metavar="NAME=VALUE", help="Any other setting, such as dropout=0.3; repeatable."
)
@click.option("--require", multiple=True, metavar="'A->B'", help="Required edge; repeatable.")
@click.option("--forbid", multiple=True, metavar="'A->B'", help="Forbidden edge; repeatable.")
@click.option("--tiers", default="", metavar="'a,b;c'", help="Groups of variables in temporal order, earliest first.")
@click.option("--forbid-within-tiers", is_flag=True, help="Also forbid edges between variables of the same tier.")
@click.option("--root", "roots", multiple=True, metavar="A", help="A variable without parents; repeatable.")
@click.option("--leaf", "leaves", multiple=True, metavar="A", help="A variable without children; repeatable.")
@click.option(
    "--context", multiple=True, metavar="A", help="A variable that only other context variables may cause; repeatable."
)
@click.option("--max-parents", type=click.IntRange(min=0), metavar="N", help="Maximum number of parents per variable.")
@click.option(
    "--knowledge",
    "knowledge_file",
    type=FILE,
    metavar="FILE",
    help="A TOML file with required, forbidden, tiers, roots, leaves, max_parents.",
)
@click.option(
    "--exact/--no-exact",
    default=None,
    help="Prove that the graph is optimal, or bound the gap, up to 64 columns.  [default: within a budget of families]",
)
@click.option("--hidden", is_flag=True, help="Allow hidden common causes: the answer is a PAG (docs/hidden.md).")
@click.option("--start", type=FILE, metavar="GRAPH", help="Start from this graph, e.g. an edited result.")
@click.option("--bootstrap", type=COUNT, metavar="N", help="Refit on N resamples to see how stable edges are.")
@click.option(
    "--resampling",
    type=click.Choice(["bootstrap", "subsample", "block"]),
    default="bootstrap",
    show_default=True,
    help="bootstrap: rows with replacement; subsample: half of the rows; block: blocks of consecutive rows.",
)
@click.option("--clusters", metavar="COLUMN", help="Resample whole clusters, named by this column (not a variable).")
@click.option(
    "--seeds", type=click.IntRange(min=2), metavar="N", help="Fit with N seeds to see which edges depend on them."
)
@click.option("--weights", metavar="COLUMN", help="Row weights, in this column (not a variable); w counts as w rows.")
@worker_options
@click.option(
    "--imputations",
    type=click.IntRange(min=2),
    metavar="M",
    help="Number of imputed tables for --missing impute, with one search each.  [default: 10]",
)
@experiment_options
@click.option(
    "--no-other-targets", is_flag=True, help="Experiments with known targets (--targets) change no other variable."
)
@click.option("--drift", is_flag=True, help="Small shifts between experiments are drift, not targets (--experiment).")
@group_options
@data_options
@rows_options
@json_option
@quiet_option
def fit(data: tuple[Path, ...], output: Path | None, force: bool, as_json: bool, quiet: bool, **options: Any) -> None:
    """Find the highest-scoring causal graph of the table in DATA.

    DATA is a CSV, TSV, Excel, Parquet, Feather, NPZ or NPY file, a table of an SQLite or DuckDB database
    (file.db::table), or - for standard input, with one named column per variable; or a folder of Parquet files, or
    files of 'drbo moments'. Large tables are read piece by piece (docs/big-tables.md). Ctrl-C ends the search and
    returns the best graph so far. With -o the search is saved at regular intervals; 'drbo resume DIR' continues it.

    \b
    Examples:
      drbo fit table.csv
      drbo fit table.csv -o result --time-limit 5m --penalty 2
      drbo fit table.csv --tiers "age,sex;dose;outcome" --json
      drbo fit trial.csv --context site --context arm
      drbo fit visits.csv --groups patient
      drbo fit runs.csv --experiment run --control plain --targets targets.csv
      drbo fit table.csv -o result --bootstrap 100 --workers 2
      drbo fit survey.csv --missing impute --imputations 20
      drbo fit messy.xlsx --drop id,date --types "sex=category,grade=low<medium<high"
      drbo fit counts.csv --weights times --seeds 10
      drbo fit table.csv --start result --require "dose->outcome" -o edited
      drbo fit clinic.npz hospital.npz
      drbo fit --config run.toml
    """
    arguments = fit_arguments(options)
    check_combinations(options)
    if output is not None:
        check_folder(output, force=force)
    with limited_run(run_settings(arguments).time_limit) as run:
        _fit(data, output, arguments, options, run, force=force, as_json=as_json, quiet=quiet)


def _fit(
    data: tuple[Path, ...],
    output: Path | None,
    arguments: dict[str, Any],
    options: dict[str, Any],
    run: Run,
    *,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Read the table, search, save and print the result."""
    from drbo.gathering import in_time

    with executor_for(options["workers"], options["dask"]) as executor:
        unread = gathered(data, options, run_settings(arguments).max_memory, executor, quiet=quiet)
        frame: Any
        if unread is None:
            with in_time("raise it"):
                frame, weights, resampling = read_rows(data[0], options, quiet=quiet)
        else:
            kind, n = "bootstrap" if unread.counts is None else "counted", options["bootstrap"]
            frame, weights, resampling = unread, None, None if n is None else {"n": n, "kind": kind}
        if options["start"] is not None:
            labels = (options["groups"], options["experiment"])
            arguments["start"] = start_of(options["start"], [str(name) for name in frame.columns if name not in labels])
        call = command_line(click.get_current_context())
        with run_folder(output, force=force):
            one_search = options["missing"] != "impute" and options["seeds"] is None
            if output is not None:
                resampling = _planned(output, call, frame, weights, resampling, options, one_search)
            where = {"executor": executor, "checkpoint": output / CHECKPOINT if output and one_search else None}
            extra = {"resampling": resampling, "weights": weights, "seeds": options["seeds"]}
            try:
                found = search(frame, arguments | where, run, quiet=quiet, **extra)
            except DataError as error:
                raise error if unread is not None else refused(error, frame, options) from error
            result = replace(found, call=call)
            finish(result, output, as_json=as_json, quiet=quiet)
    exit_if_interrupted(result, output if one_search else None)


def _planned(
    output: Path,
    call: str,
    frame: Any,
    weights: Any,
    resampling: dict[str, Any] | None,
    options: dict[str, Any],
    one_search: bool,
) -> dict[str, Any] | None:
    """Save what the run was asked for, and return the arguments of the bootstrap with the file for its resamples."""
    plan = Plan(call, time.strftime("%Y-%m-%d %H:%M:%S"), resumable=one_search)
    clusters = None
    if resampling is not None:
        plan = replace(plan, resamples=resampling["n"], kind=resampling["kind"])
        clusters = resampling.get("clusters")
        resampling = resampling | {"keep": output / RESAMPLES}
    if clusters is not None:
        from drbo.data.checks.prepare import Preparation

        clusters = clusters[Preparation(missing=options["missing"]).used_rows(frame, weights)]
    with writing(output):
        plan.save(output, clusters)
    return resampling


def search(
    frame: Any,
    arguments: dict[str, Any],
    run: Run,
    *,
    quiet: bool,
    resampling: dict[str, Any] | None = None,
    weights: Any = None,
    seeds: int | None = None,
) -> "Result":
    """Fit the estimator and show its progress; then the resamples, if any are wanted."""
    # Read when torch is loaded. Its threads otherwise spin while they wait for work: on a busy machine several times
    # slower than one thread.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from drbo.estimator import DrBO

    with watch_for(run_settings(arguments), quiet=quiet, tell=say) as watch:
        run.announce = watch.interrupted
        model = DrBO(**arguments, callbacks=[watch])
        with Deadline(None if seeds is None else current().share(seeds)):
            model.fit(frame, sample_weight=weights)
        if seeds is not None:
            model.stability(frame, seeds, sample_weight=weights)
    if resampling is not None and model.result_.search.stop is not Stop.INTERRUPTED:
        refit(model, frame, resampling | {"sample_weight": weights}, quiet=quiet)
    result: Result = model.result_
    return result


def refit(model: Any, rows: Any, wish: dict[str, Any], *, quiet: bool) -> None:
    """Add the shares of resamples, of the rows of a data frame or of a checked table, to the result of a model."""
    executor = model.executor
    model.set_params(executor=None)  # resamples are the unit of work now
    if "keep" in wish:
        save_result(model.result_, wish["keep"].parent)  # the graph is safe before hours of resamples begin
    with counting("resamples", quiet=quiet, tell=say) as progress:
        try:
            model.bootstrap(rows, progress=progress, executor=executor, **wish)
        except TimeLimitError as error:  # the graph itself is there
            model.result_ = replace(model.result_, reasons=(*model.result_.reasons, error.message))


def finish(result: "Result", output: Path | None, *, as_json: bool = False, quiet: bool = False) -> None:
    """Save and print a result."""
    files: list[Path] = []
    try:
        if output is not None:
            files = save_result(result, output)
    finally:  # the result is not lost when it cannot be saved
        if as_json and not quiet:
            say(f"search: {result.n_evals:,} evaluations in {clock_time(result.seconds)}, {result.stopped}")
        show(result_as_json(result, files) if as_json else result.summary(), machine=as_json)
    if files and not quiet:
        say(f"saved {', '.join(file.name for file in files)} in {output}")


def exit_if_interrupted(result: "Result", folder: Path | None) -> None:
    """End the program with the exit code of an interrupted search; its last line continues one that is saved."""
    if result.search.stop is Stop.INTERRUPTED or current().interrupted:
        if folder is not None:
            say(f"drbo resume {quoted(str(folder))}")
        raise click.exceptions.Exit(INTERRUPTED)
