"""Where a command writes: checked before the work starts, and reported as an output error if it fails."""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from drbo.cli.interrupts import broken_off
from drbo.cli.messages import OutputError, say
from drbo.deadline import LEAST_SECONDS, Deadline, current, no_deadline
from drbo.errors import ResultError, SettingsError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from drbo.result.result import Result

#: Where an option comes from when it is not a default.
GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.DEFAULT_MAP)
PICTURE = "graph.png"
CHECKPOINT = "checkpoint"  # the folder of the saved search inside that of the result
REPORT = "report.html"
#: Nodes and edges of a graph whose picture, or report, is written in a moment.
SMALL_PICTURE, SMALL_REPORT = 120, 400


def check_folder(folder: Path, *, force: bool = False) -> None:
    """Refuse a folder that cannot take a result, before hours are spent on one."""
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"'{folder}' is a file, a result needs a folder", hint="choose another name with -o")
    try:
        strange = folder.exists() and any(folder.iterdir()) and not _is_result(folder)
    except OSError as error:
        raise OutputError(
            f"'{folder}' cannot be used: {error.strerror}", hint="choose another folder with -o"
        ) from error
    if strange and not force:
        raise SettingsError(
            f"folder '{folder}' is not empty and holds no drbo result",
            hint="choose another folder with -o, or add --force to write into this one",
        )
    home = folder
    while not home.exists():
        home = home.parent
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        raise OutputError(
            f"'{folder}' cannot be written: no permission in '{home}'", hint="choose another folder with -o"
        )


def _is_result(folder: Path) -> bool:
    """Tell whether a folder holds a result, or a search that has none yet."""
    from drbo.data.files import MAX_TEXT_BYTES, read_bytes, read_json
    from drbo.result.result import FORMAT

    if {path.name for path in folder.iterdir()} == {CHECKPOINT}:
        return True
    try:
        content = read_json(read_bytes(folder / "result.json", MAX_TEXT_BYTES))
    except (OSError, ValueError):  # a ResultError is a ValueError
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


@contextmanager
def writing(what: Path) -> Iterator[None]:
    """Turn a failure to write into an OutputError."""
    try:
        yield
    except ResultError as error:
        raise OutputError(error.message, hint=error.hint) from error
    except OSError as error:
        raise OutputError(
            f"{what} cannot be written: {error.strerror or error}", hint="choose another place"
        ) from error


def save_result(result: "Result", folder: Path) -> list[Path]:
    """Write the result, a picture of its graph and the report; return the files.

    Where the time is over, or somebody asks to stop, pictures of large graphs are left out, and a line says so.
    """
    with writing(folder):
        result.save(folder)
        files = [folder / name for name in ("edges.csv", "result.json", "result.npz")]
        size = len(result.names) + int(result.dag.sum())
        for name, most, write in (
            (PICTURE, SMALL_PICTURE, result.plot),
            (REPORT, SMALL_REPORT, result.report),
        ):
            if _drawn(folder / name, write, small=size <= most):
                files.append(folder / name)
            else:
                say(f"{name} was left out: the time was over; 'drbo report {folder}' draws the graph")
    return sorted(files)


def _drawn(path: Path, write: "Callable[[Path], Any]", *, small: bool) -> bool:
    """Write a picture unless the time is over; that of a small graph takes a moment and is written in any case."""
    try:
        if current().over() and not small:
            return False
        with broken_off(), no_deadline() if small else Deadline(least=LEAST_SECONDS):
            write(path)
    except KeyboardInterrupt:  # an OutOfTimeError, or a signal
        path.unlink(missing_ok=True)
        return False
    return True


def command_line(context: click.Context) -> str:
    """Return the words that repeat a command: its arguments and the options that were given, not its defaults.

    Where the output goes and how much is said does not change the result and is left out.
    """
    options, arguments = [], []
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        given = context.get_parameter_source(parameter.name or "") in GIVEN
        if not isinstance(parameter, click.Option):
            arguments.append(str(value))
        elif given and parameter.name not in ("output", "force", "as_json", "quiet"):
            flag = max(parameter.opts, key=len)
            values: Sequence[Any] = value if parameter.multiple else [value]  # type: ignore[assignment]
            options += [flag] if parameter.is_flag else [word for item in values for word in (flag, str(item))]
    return shlex.join([*context.command_path.split(), *arguments, *options])


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, which has null in place of NaN."""
    return [
        {str(key): None if value != value else value for key, value in row.items()} for row in table.to_dict("records")
    ]


def result_as_json(result: "Result", files: list[Path]) -> str:
    """Return a result as one JSON object; names are those of the fields of Result."""
    content: dict[str, Any] = {
        "names": list(result.names),
        "n_rows": result.n_rows,
        "edges": _records(result.edges()),
        "cpdag_edges": result.cpdag_edges().to_dict("records"),
    }
    fields = (
        *("score_name", "score_options", "score_equivalent", "score", "pruned_score", "pruner"),
        *(
            "n_evals",
            "n_local",
            "seconds",
            "seed",
            "found_by",
            "stopped",
            "upper_bound",
            "gap",
            "bound_valid_for",
            "top",
            "reasons",
            "settings",
            "data_hash",
            "versions",
        ),
    )
    content |= {name: getattr(result, name) for name in fields}
    return json.dumps(content | {"files": [str(file) for file in files]}, indent=2, allow_nan=False)


def write_table(
    path: Path | None,
    values: "npt.NDArray[np.float64]",  # (n, d)
    names: Sequence[str],
    *,
    whole: bool = False,
) -> None:
    """Write a table as CSV or NPZ, by the ending of the name, or as CSV to stdout; ``whole``: without decimals."""
    import numpy as np

    from drbo.data.files import npz_bytes, write_file
    from drbo.result.export import csv_bytes

    kind = ".csv" if path is None else path.suffix.lower()
    if kind == ".csv":
        content = csv_bytes([names, *(values.astype(np.int64) if whole else values).tolist()])
    elif kind == ".npz":
        content = npz_bytes({"X": values, "names": np.array(names, dtype=np.str_)})
    else:
        raise SettingsError(f"a table is written as .csv or .npz, got '{path}'", hint="change the ending of the name")
    if path is None:
        click.echo(content, nl=False)
        return
    with writing(path):
        write_file(path, content)
