"""``drbo datasets``: lists the data sets that ship with the package."""

from pathlib import Path
from typing import Any

import click

from drbo.cli.messages import say, show
from drbo.cli.options import FILE, json_option
from drbo.cli.output import show_json, write, write_table, writing
from drbo.errors import SettingsError
from drbo.result.words.plain_text import table


@click.command(short_help="List the included data sets and networks, or write one to a file.")
@click.argument("name", required=False)
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write to this .csv or .npz file.")
@click.option("--permute", type=click.IntRange(min=0), metavar="SEED", help="Shuffle the columns.")
@json_option
def datasets(name: str | None, output: Path | None, permute: int | None, as_json: bool) -> None:
    """List the data sets and networks that ship with the package, or write the one called NAME.

    Without -o the edges of NAME are printed. With -o data.csv the rows are written to data.csv and the edges to
    data-edges.csv; if a network has no rows, its edges are written to data.csv.

    \b
    Examples:
      drbo datasets
      drbo datasets sachs -o sachs.csv
      drbo datasets greenhouse -o greenhouse.csv
      drbo fit greenhouse.csv --experiment day --control ordinary
    """
    from drbo.data.files.datasets import available, load

    if name is not None:
        data = load(name, permute=permute)
        written = _write(data, output, silent=as_json)
        if as_json:
            show_json(_content(data, written))
        return
    if output is not None or permute is not None:
        raise SettingsError("-o and --permute require the NAME of a data set", hint="'drbo datasets' lists the names")
    rows = [
        [size.name, f"{size.n_rows or '-'}", f"{size.n_nodes}", f"{size.n_edges}", size.description]
        for size in available()
    ]
    if as_json:
        show_json({"datasets": [size._asdict() for size in available()]})
        return
    show(table(["name", "rows", "nodes", "edges", "about"], rows, align="lrrrl"))


def _content(data: Any, written: list[Path]) -> dict[str, Any]:
    """Return a data set for a program: its edges, and the files that were written."""
    edges = [[data.names[i], data.names[j]] for i, j in zip(*data.dag.nonzero(), strict=True)]
    facts = {"name": data.name, "description": data.description, "source": data.source, "names": list(data.names)}
    return {**facts, "edges": edges, "files": [str(path) for path in written]}


def _write(data: Any, output: Path | None, *, silent: bool) -> list[Path]:
    """Write the rows and the edges of a data set and return the files; without a file, print the edges."""
    from drbo.result.files.export import csv_bytes, write_graph

    say(f"{data.name}: {data.description} ({data.source}), {len(data.names)} nodes, {int(data.dag.sum())} edges")
    if output is None and silent:
        return []
    if output is None:
        edges = [(data.names[i], data.names[j]) for i, j in zip(*data.dag.nonzero(), strict=True)]
        click.echo(csv_bytes([("source", "target"), *edges]), nl=False)
        return []
    graph = output
    if data.X is not None:
        graph = output.with_name(f"{output.stem}-edges{output.suffix}")
        _write_rows(data, output)
        say(f"wrote {len(data.X)} rows to {output}")
    with writing(graph):
        write_graph(graph, data.dag, data.names)
    say(f"wrote the edges to {graph}")
    return list(dict.fromkeys([output, graph]))


def _write_rows(data: Any, output: Path) -> None:
    """Write the rows of a data set; those of experiments have a column of words, which only CSV holds."""
    from drbo.result.files.export import frame_bytes

    if data.days is None:
        write_table(output, data.X, data.names)
        return
    if output.suffix.lower() != ".csv":
        raise SettingsError(f"the column 'day' of {data.name} holds words", hint="write the rows as .csv")
    write(output, frame_bytes(data.frame()))
