"""``drbo export``: writes a saved graph in the format of another program."""

from pathlib import Path

import click

from drbo.cli.messages import say
from drbo.cli.options import FILE, json_option
from drbo.cli.output import say_written, writing
from drbo.errors import SettingsError


@click.command(short_help="Export a saved graph for another program.")
@click.argument("run", type=FILE)
@click.argument("path", metavar="FILE", type=FILE)
@click.option("--class", "as_class", is_flag=True, help="Export the equivalence class, with its undirected edges.")
@click.option(
    "--spreadsheet", is_flag=True, help="A .csv with the table of edges, in which no name is taken as a formula."
)
@json_option
def export(run: Path, path: Path, as_class: bool, spreadsheet: bool, as_json: bool) -> None:
    """Write the graph of the result in RUN to FILE; the file extension determines the format.

    \b
    .dot               Graphviz
    .gml               networkx, DoWhy
    .graphml           Gephi, yEd, igraph
    .dagitty           dagitty, in R or on its website
    .bnlearn           a model string for bnlearn's model2network()
    .lavaan            regressions for lavaan
    .csv .json .npz    edge list, nodes and edges, arrays; drbo can read these
    .pcalg             matrix of marks for pcalg, of a fit with --hidden

    \b
    Examples:
      drbo export run graph.dot
      drbo export run graph.dagitty --class
      drbo export run edges.csv --spreadsheet
    """
    from drbo.result.files import handover
    from drbo.result.result import Result

    if path.suffix.lower() not in handover.ENDINGS:
        raise SettingsError(
            f"a graph can be exported to {', '.join(handover.ENDINGS)}, got '{path}'",
            hint="choose one of these file extensions",
        )
    if spreadsheet and (as_class or path.suffix.lower() != ".csv"):
        raise SettingsError(
            "--spreadsheet writes the table of edges to a .csv file", hint="drbo export RUN edges.csv --spreadsheet"
        )
    result = Result.load(run)
    with writing(path):
        if spreadsheet:
            handover.write_sheet(path, result.edges())
        else:
            result.export(path, as_class=as_class)
    n_open = int((result.edges()["direction"] == "open").sum())
    if n_open and path.suffix.lower() in handover.ONLY_ARROWS:
        say(f"note: {path.suffix} has no undirected edge, so {n_open} open directions are written as arrows")
    say_written(f"wrote {path}", [path], as_json=as_json, n_open=n_open)
