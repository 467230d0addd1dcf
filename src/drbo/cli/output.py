"""What a command writes: a result with its picture and report, or a table; a failed write is an output error."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drbo.cli.interrupts import broken_off
from drbo.cli.messages import SCHEMA_VERSION, OutputError, put, say, show
from drbo.deadline import LEAST_SECONDS, Deadline, current, no_deadline
from drbo.errors import ResultError, write_hint
from drbo.result.files.run_folder import PICTURE, REPORT
from drbo.result.words.plain_text import shell_line

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from drbo.result.result import Result

#: Nodes and edges of a graph whose picture, or report, is written in a moment.
SMALL_PICTURE, SMALL_REPORT = 120, 400


@contextmanager
def writing(what: Path) -> Iterator[None]:
    """Turn a failure to write into an OutputError."""
    try:
        yield
    except ResultError as error:
        raise OutputError(error.message, hint=error.hint) from error
    except OSError as error:
        raise OutputError(
            f"{what} cannot be written: {error.strerror or error}", hint=write_hint(error, "choose another location")
        ) from error


def show_json(content: Mapping[str, Any]) -> None:
    """Print the answer of a command to a program; ``drbo schema`` describes it."""
    show(json.dumps({"schema": SCHEMA_VERSION, **content}, indent=2, allow_nan=False), machine=True)


def say_written(text: str, files: Sequence[Path], *, as_json: bool, **facts: Any) -> None:
    """Say what was written, and list it for a program that asks."""
    say(text)
    if as_json:
        show_json({"files": [str(path) for path in files], **facts})


def write(path: Path, content: bytes) -> None:
    """Write a file, or say that it cannot be written."""
    from drbo.data.files.files import write_file

    with writing(path):
        write_file(path, content)


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
                again = shell_line(["drbo", "report", str(folder)])
                say(f"{name} was not written because time ran out; this draws the graph: {again}")
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


def _records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, which has null in place of NaN."""
    return [
        {str(key): None if value != value else value for key, value in row.items()} for row in table.to_dict("records")
    ]


def result_content(result: "Result", files: list[Path]) -> dict[str, Any]:
    """Return a result as one flat object for JSON."""
    content: dict[str, Any] = {
        "names": list(result.names),
        "n_rows": result.table.n_rows,
        "edges": _records(result.edges()),
        "cpdag_edges": result.cpdag_edges().to_dict("records"),
        "score_options": result.scoring.options,
        "found_by": result.search.found_by,
        "upper_bound": None if result.proof is None else result.proof.upper_bound,
        "bound_valid_for": None if result.proof is None else result.proof.valid_for,
        "fidelities": [vars(one) for one in result.search.fidelities],
        "top": [vars(entry) for entry in result.top],
        **({} if result.claims.experiments is None else {"targets": result.targets.to_dict("records")}),
        **({"arms": _records(result.arms)} if result.claims.arms else {}),
        "data_hash": result.table.sha256,
        "versions": result.provenance.versions,
        "files": [str(file) for file in files],
    }
    fields = (
        *("score_name", "score_equivalent", "score", "pruned_score", "pruner", "gap", "reasons"),
        *("n_evals", "n_local", "seconds", "seed", "stopped", "settings"),
    )
    return content | {name: getattr(result, name) for name in fields}


def write_table(
    path: Path | None,
    values: "npt.NDArray[np.float64]",  # (n, d)
    names: Sequence[str],
    *,
    whole: bool = False,
) -> None:
    """Write a table as CSV or NPZ, by the ending of the name, or as CSV to stdout; ``whole``: without decimals."""
    from drbo.result.files.export import table_bytes

    content = table_bytes(values, names, path, whole=whole)
    if path is None:
        put(content, newline=False)
        return
    write(path, content)
