"""``drbo report``: one HTML file that explains a saved result."""

from contextlib import nullcontext
from pathlib import Path

import click

from drbo.cli.options import FILE, json_option
from drbo.cli.output import say_written, writing
from drbo.result.files.run_folder import REPORT, private


@click.command(short_help="Write an HTML report of a saved result.")
@click.argument("run", type=FILE)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="[default: RUN/report.html]")
@json_option
def report(run: Path, output: Path | None, as_json: bool) -> None:
    """Write the report of the result in RUN, a folder that 'drbo fit -o' wrote.

    The report is a single HTML file that works offline. It shows the graph, the evidence for each edge, the progress of
    the search, the data and the settings, and explains how to repeat and cite the run.

    \b
    Examples:
      drbo report run
      drbo report run -o report.html
    """
    from drbo.result.result import Result

    path = output or run / REPORT
    result = Result.load(run)
    with writing(path), private() if output is None else nullcontext():
        result.report(path)
    say_written(f"wrote {path}", [path], as_json=as_json)
