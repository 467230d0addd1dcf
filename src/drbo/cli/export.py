"""``drbo export``: a saved graph in the words of another program."""

from pathlib import Path

import click

from drbo.cli.messages import say
from drbo.cli.output import writing
from drbo.errors import SettingsError


@click.command(short_help="Write a saved graph for another program.")
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--class", "as_class", is_flag=True, help="The equivalence class, with undirected edges.")
def export(run: Path, path: Path, as_class: bool) -> None:
    """Write the graph of the result in RUN into FILE; the ending of its name says how.

    \b
    .dot               Graphviz
    .gml               networkx, DoWhy
    .graphml           Gephi, yEd, igraph
    .dagitty           dagitty, in R or on its web page
    .bnlearn           a model string for bnlearn's model2network()
    .lavaan            regressions for lavaan
    .csv .json .npz    edge list, nodes and edges, arrays; drbo reads these back

    \b
    Examples:
      drbo export run graph.dot
      drbo export run graph.dagitty --class
    """
    from drbo.result.handover import ENDINGS
    from drbo.result.result import Result

    if path.suffix.lower() not in ENDINGS:
        raise SettingsError(f"a graph is written as {', '.join(ENDINGS)}, got '{path}'", hint="change the ending")
    result = Result.load(run)
    with writing(path):
        result.export(path, as_class=as_class)
    say(f"wrote {path}")
