"""``drbo simulate``: draws data from a random or given graph, and saves the true graph with it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from drbo.cli.options import COUNT, FILE, json_option, seed_option
from drbo.cli.output import say_written, write_table, writing
from drbo.errors import SettingsError

if TYPE_CHECKING:
    import numpy.typing as npt

MODELS = ("linear", "gp", "cos", "logistic")
NOISES = ("gaussian", "exponential", "gumbel", "laplace", "uniform")


def one_or_two(word: str) -> float | tuple[float, float]:
    """Return a number, or two as a pair; their order and sign are checked by the simulator.

    Examples
    --------
    >>> one_or_two("0.5,2"), one_or_two("1")
    ((0.5, 2.0), 1.0)
    """
    try:
        first, *more = [float(part) for part in word.split(",")]
    except ValueError:
        more = [0.0, 0.0]
    if len(more) > 1:
        raise click.BadParameter(f"give one number, or two such as 0.5,2; got {word!r}")
    return (first, more[0]) if more else first


@click.command(short_help="Simulate data from a known graph.")
@click.argument("graph")
@click.option(
    "--model", type=click.Choice(MODELS), default="linear", show_default=True, help="How a node depends on its parents."
)
@click.option("-n", "--rows", type=COUNT, default=1000, show_default=True, metavar="N", help="Rows.")
@seed_option("Random seed; the same seed gives the same data.")
@click.option("--noise", type=click.Choice(NOISES), help="Noise distribution of the linear model.  [default: gaussian]")
@click.option(
    "--noise-scale",
    type=one_or_two,
    metavar="X[,Y]",
    help="Noise scale of the linear model; X,Y draws one per node from this range.  [default: 1]",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write the data to this .csv or .npz file.  [default: CSV to stdout]",
)
@click.option("--truth", type=FILE, metavar="FILE", help="Write the true graph to this .csv, .json or .npz file.")
@json_option
def simulate(
    graph: str,
    model: str,
    rows: int,
    seed: int,
    noise: str | None,
    noise_scale: float | tuple[float, float] | None,
    output: Path | None,
    truth: Path | None,
    as_json: bool,
) -> None:
    """Simulate data from GRAPH.

    GRAPH is a random graph such as 30ER8 or 20SF2 (number of nodes, Erdős-Rényi or scale-free, edges per node), the
    name of a network that 'drbo datasets' lists, or a file that contains a graph, such as an edge list.

    \b
    Example:
      drbo simulate 10ER2 -n 500 -o data.csv --truth truth.csv
      drbo fit data.csv -o result
      drbo compare result truth.csv
    """
    from drbo.data.files import simulate as simulators
    from drbo.result.files.export import write_graph

    if as_json and output is None:
        raise SettingsError("--json needs -o, because the rows go to stdout without it", hint="add -o data.csv")
    options = {name: value for name, value in (("noise", noise), ("noise_scale", noise_scale)) if value is not None}
    given, names = (graph, None) if simulators.is_graph_name(graph) else _read(graph)
    data = simulators.simulate(given, model, rows, seed, **options)  # type: ignore[arg-type]  # checked there
    names = names or data.names
    write_table(output, data.X, names, whole=model == "logistic")
    if truth is not None:
        with writing(truth):
            write_graph(truth, data.dag, names)
    written = [path for path in (output, truth) if path is not None]
    facts = {"n_rows": rows, "names": list(names), "n_edges": int(data.dag.sum()), "seed": seed}
    say_written(
        f"{rows:,} rows of {len(names)} variables, {int(data.dag.sum())} edges, model {model}, seed {seed}"
        + (f" -> {output}" if output else "")
        + (f", true graph -> {truth}" if truth else ""),
        written,
        as_json=as_json,
        **facts,
    )


def _read(word: str) -> tuple["npt.ArrayLike", tuple[str, ...]]:
    """Return the graph in a file, and the names of its nodes."""
    from drbo.graph.dag import check_dag
    from drbo.result.files.export import read_graph

    path = Path(word)
    if not path.suffix and not path.exists():
        raise SettingsError(
            f"'{word}' is neither a random graph, nor an included network, nor a file",
            hint="a random graph has a name such as 30ER8 (nodes, ER or SF, edges per node); 'drbo datasets' lists "
            "the networks",
        )
    adjacency, names = read_graph(path)
    return check_dag(adjacency, names), names
