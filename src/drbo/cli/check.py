"""``drbo check``: what the program makes of a table, before any search."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.messages import plain, show, table
from drbo.cli.options import data_options, read_checked, score_choice

if TYPE_CHECKING:
    from drbo.data.table import Table

SHOWN_COLUMNS = 60
SHOWN_LEVELS = 5


@click.command(short_help="Say what the program makes of a table.")
@click.argument("data", type=click.Path(path_type=Path))
@data_options
def check(data: Path, **options: Any) -> None:
    """Read and check the table in DATA as 'drbo fit' would, and say what was found.

    Ends with exit code 2 and the reason if the table cannot be used as it is.
    """
    checked, notes = read_checked(data, options)
    n_numeric = checked.kinds.count("numeric")
    kinds = [f"{n_numeric} numeric"] * bool(n_numeric)
    kinds += [f"{checked.n_columns - n_numeric} categorical"] * (n_numeric < checked.n_columns)
    lines = [f"{data}: {checked.n_rows:,} rows, {checked.n_columns} columns ({', '.join(kinds)})", ""]
    lines.append(_columns(checked))
    if checked.n_columns > SHOWN_COLUMNS:
        lines.append(f"  ... and {checked.n_columns - SHOWN_COLUMNS} more")
    lines += ["", "Notes:", *(f"  {plain(note)}" for note in notes)] if notes else []
    name, _, reasons = score_choice(checked, "auto", None)
    lines += [
        "",
        f"--score auto takes {name}:",
        *(f"  {plain(reason.removeprefix(f'score {name}: '))}" for reason in reasons),
    ]
    show("\n".join(lines))


def _columns(checked: "Table") -> str:
    """Return one line per column: its name, its kind, and its range or levels."""
    rows = []
    for j, name in enumerate(checked.names[:SHOWN_COLUMNS]):
        levels, values = checked.levels[j], checked.values[:, j]
        if levels is None:
            what = f"mean {values.mean():.4g}, sd {values.std():.4g}, from {values.min():.4g} to {values.max():.4g}"
        else:
            more = ", ..." if len(levels) > SHOWN_LEVELS else ""
            what = f"{len(levels)} levels: {', '.join(levels[:SHOWN_LEVELS])}{more}"
        rows.append([name, checked.kinds[j], what])
    return table(["column", "kind", "values"], rows, align="lll")
