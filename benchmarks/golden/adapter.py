"""Runs a golden case, and turns what users see into plain values.

What depends on names of drbo's interface is in :func:`arranged` and :func:`estimator`, which build a fit from a case,
:func:`typed`, which translates command lines, and :data:`FIELDS`, which reads a result: the same cases then run on old
and new versions. A field that a version lacks is left out.
"""

import re
import signal
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, closing, contextmanager, nullcontext
from dataclasses import fields, is_dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from pkgutil import walk_packages
from shlex import split
from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner

import drbo
from benchmarks.golden import files
from benchmarks.golden.cases import Commands, Fit
from benchmarks.golden.compare import differences
from drbo import DrBO, DrboError, Knowledge, Score, Settings
from drbo.cli import main

Record = dict[str, Any]
#: Fields of records that name the machine, the versions or the time.
VARYING = ("seconds", "versions")
#: Of a table, which a later version must recognise.
DIGEST = re.compile("[0-9a-f]{64}")


class Size(Score):
    """A score of one's own: a linear fit by the rows, written as a user would."""

    name = "size"

    def __init__(self, table: Any, **options: Any) -> None:
        super().__init__(table, **options)
        self.rows = np.asarray(table.values)

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        return _own(self.rows, node, parents)


def _own(rows: Any, node: int, parents: Any) -> float:
    causes = np.column_stack([np.ones(len(rows)), rows[:, list(parents)]])
    left = rows[:, node] - causes @ np.linalg.lstsq(causes, rows[:, node], rcond=None)[0]
    return float(-len(rows) / 2 * np.log(np.mean(left**2)) - np.log(len(rows)) * len(parents))


class Interrupted(Size):
    """The same score in a run that is interrupted at a fixed local score."""

    asked = 0

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        Interrupted.asked += 1
        if Interrupted.asked == 60:
            signal.raise_signal(signal.SIGINT)
        return super().local_one(node, parents)


#: Options of a case that are part of another parameter of the estimator, or arguments of its ``fit``, since 0.2.
PLACES = {
    "design": ("experiment", "control", "targets", "groups"),
    "policy": ("missing", "imputations", "on_constant", "on_collinear", "types"),
    "fit": ("start", "checkpoint", "callbacks"),
}
#: Options of commands since 0.2, by the words of before; ``{}`` is the value.
TYPED = {
    **{f"--{name}": f"--set {name}={{}}" for name in ("prune", "start", "seeds", "imputations", "targets")},
    "--on-constant": "--set on_constant={}",
    "--penalty": "--score-option penalty={}",
    "--no-other-targets": "--score-option others=none",
    "--independent-rows": "--groups none",
    "--stream": "--read stream=true",
}
#: Knowledge that is only in files since 0.2.
KNOWN = {
    "--leaf": "leaves = ['{}']",
    "--context": "context = ['{}']",
    "--max-parents": "max_parents = {}",
    "--forbid-within-tiers": "forbid_within_tiers = true",
}


def arranged(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of the estimator and the arguments of its fit that the options of a case stand for."""
    if not hasattr(drbo, "Design"):
        return options, {}
    parts = {place: {name: options[name] for name in names if name in options} for place, names in PLACES.items()}
    moved = {name for names in PLACES.values() for name in names}
    rest = {name: value for name, value in options.items() if name not in moved}
    rest |= {"design": drbo.Design(**parts["design"])} if parts["design"] else {}
    rest |= {"policy": drbo.DataPolicy(**parts["policy"])} if parts["policy"] else {}
    return rest, parts["fit"]


def typed(line: str) -> list[str]:
    """Return the words of a command as this version knows them; knowledge without an option goes to a file."""
    words, found, known = split(line), list[str](), list[str]()
    if not hasattr(drbo, "Design"):
        return words
    while words:
        word = words.pop(0)
        pattern = KNOWN.get(word) or TYPED.get(word)
        if pattern is None:
            found.append(word)
            continue
        text = pattern.format(words.pop(0)) if "{}" in pattern else pattern
        known += [text] if word in KNOWN else []
        found += [] if word in KNOWN else text.split()
    if known:
        before = Path(found.pop(found.index("--knowledge") + 1)).read_text() if "--knowledge" in found else ""
        found = [word for word in found if word != "--knowledge"]
        Path("given.toml").write_text("\n".join([*known, before]))
        found += ["--knowledge", "given.toml"]
    return _resampled(found)


def _resampled(words: list[str]) -> list[str]:
    """Return words in which the kind of resamples stands beside their number."""
    for option, kind in (("--resampling", "{}"), ("--clusters", "cluster={}")):
        if option in words:
            place = words.index(option)
            _, value = words.pop(place), words.pop(place)
            number = words.index("--bootstrap") + 1
            words[number] = f"{kind.format(value)}:{words[number]}"
    return words


def estimator(options: dict[str, Any], table: pd.DataFrame, executor: Any = None) -> DrBO:
    """Return the unfitted model that the options of a case stand for."""
    given = {"random_state": 0} | options
    if "knowledge" in given:
        given["knowledge"] = Knowledge(**given["knowledge"])
    if "settings" in given:
        given["settings"] = Settings.preset(given.get("preset", "default")).with_(**given["settings"])
    if given.get("score") == "function":
        given["score"] = lambda node, parents: _own(table.to_numpy(), node, parents)
    elif given.get("score") == "function of rows":
        given["score"] = lambda node, parents, rows: _own(table.to_numpy()[rows], node, parents)
    elif given.get("score") == "class":
        given["score"] = Size
    if given.get("score_options", {}).get("edge_prior") == "alternating":
        odds = np.where(np.add.outer(*[np.arange(table.shape[1])] * 2) % 2, 3.0, -3.0)
        given["score_options"] = given["score_options"] | {"edge_prior": odds}
    return DrBO(**given, executor=executor)


#: Where a result has its parts: attributes, some of them under other names, and methods.
FIELDS = {
    **{name: name for name in (
        "names", "cpdag", "mpdag", "pag", "hidden", "score", "pruned_score", "scoring", "n_evals", "n_local", "stopped",
        "search", "pruner", "reasons", "weights", "standardised_weights", "proof", "gap", "posterior", "targets",
        "confidence", "knowledge", "table", "settings", "seed", "call", "weak", "undirected", "assumed", "edges", "why",
        "summary",
    )},
    "adjacency": "dag", "searched": "searched_dag", "classes": "top", "margins": "claims.margins",
    "over": "claims.over", "prior": "claims.prior", "noise": "claims.noise", "experiments": "claims.experiments",
    "repr": "__repr__",
}  # fmt: skip


def record_of(result: Any) -> Record:
    """Return all that a result tells; what it refuses, as the words of the error."""
    names = list(result.names)
    return {part: found for part in FIELDS if (found := _read(result, part, names)) is not None}


def _read(result: Any, part: str, names: list[str]) -> Any:
    try:
        found = attrgetter(FIELDS[part])(result)
        return plain(found() if callable(found) else found, names)
    except AttributeError:
        return None
    except DrboError as error:
        return f"refused: {error.message}"


def plain(value: Any, names: list[str] | None = None) -> Any:
    """Return a value as JSON can hold it; None and what differs between two runs is left out of records."""
    if isinstance(value, str):
        return value if DIGEST.fullmatch(value) else files.lines_of(value)
    if isinstance(value, np.ndarray):
        return _cells(value, names) if value.ndim == 2 and names and len(value) == len(names) else value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, pd.DataFrame):
        return [plain(row) for row in value.to_dict("records")]
    if is_dataclass(value):
        value = {part.name: getattr(value, part.name) for part in fields(value) if part.name[0] != "_"}
    if isinstance(value, dict):
        found = {str(key): plain(item, names) for key, item in value.items() if key not in VARYING}
        return {key: item for key, item in found.items() if item is not None}
    if isinstance(value, list | tuple):
        return [plain(item, names) for item in value]
    return value if isinstance(value, int | float | bool | None) else repr(value)


def _cells(matrix: Any, names: list[str]) -> Record:
    """Return the cells of a matrix (d, d) that differ from its first one, by the names of row and column."""
    fill = matrix[0, 0]
    other = ~((matrix == fill) | ((matrix != matrix) & (fill != fill)))
    cells = {f"{names[i]} -> {names[j]}": matrix[i, j].item() for i, j in np.argwhere(other).tolist()}
    return {"others": fill.item()} | cells


def run_fit(case: Fit) -> Record:
    """Return what a fit, its saved files and what is done with it afterwards tell; or the error of one of them."""
    table, found = case.table(), Record()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            _fit(case, table, found)
        except DrboError as error:
            found["error"] = plain(str(error))
    return found | {"warnings": [plain(str(one.message)) for one in warned]}


def _fit(case: Fit, table: pd.DataFrame, found: Record) -> None:
    weighted = isinstance(table, pd.DataFrame) and "weight" in table
    rows = {"sample_weight": table.pop("weight")} if weighted else {}
    with ThreadPoolExecutor(1) if case.executor else nullcontext() as executor:
        options = dict(case.options)
        if case.interrupt:
            options |= {
                "checkpoint": "saved",
                "callbacks": [lambda at: "enough" if at.n_evals >= case.interrupt else None],
            }
        options, more = arranged(options)
        model = estimator(options, table, executor).fit(table, **rows, **more)
        found["fit"] = record_of(model.result_)
        if case.interrupt:
            model = DrBO.resume("saved")
            found["resumed"] = record_of(model.result_)
        model.result_.save("result")
        loaded, told = record_of(drbo.load("result")), record_of(model.result_)
        found["loaded"] = [str(one) for one in differences(told, loaded, "result")]
        for step, arguments in case.steps:
            found[f"{step} {arguments}"] = _step(model, table, rows, step, dict(arguments))
        if case.steps:
            found["after"] = record_of(model.result_)


def _step(model: DrBO, table: pd.DataFrame, rows: Record, step: str, arguments: Record) -> Any:
    """Return what a method of the model, or of its result, tells; ``X`` is the table, unless it asks for new rows."""
    refits = step in ("bootstrap", "stability")  # with the weights of the rows
    owner = model if refits or step == "score_on" or "n" in arguments else model.result_
    X = table if not arguments.pop("half", False) else table[::2]
    try:
        done = getattr(owner, step)(X, **arguments, **(rows if refits else {}))
    except DrboError as error:
        return plain(str(error))
    return {
        "value": plain(done, list(model.result_.names)),
        "words": plain(done.summary()) if hasattr(done, "summary") else [],
    }


def run_commands(case: Commands) -> Record:
    """Return what commands print, and the files that they leave behind."""
    found = Record()
    with tempfile.TemporaryDirectory() as folder, chdir(folder), _few_rows_kept(case.kept_rows):
        for name, table in case.tables.items():
            _write(table(), Path(name))
        for name, text in case.texts.items():
            Path(name).write_text(text)
        Interrupted.asked = 0
        given = files.names_in(Path())
        for k, line in enumerate(case.lines):
            done = CliRunner().invoke(main, typed(line), prog_name="drbo")
            told = {"exit": done.exit_code, "stdout": files.parsed(done.stdout), "stderr": files.notes(done.stderr)}
            found[f"{k} {line}"] = told
        written = [name for name in files.names_in(Path()) if name not in (*given, "given.toml")]
        found["files"] = sorted({files.steady(name) for name in written})
        found["content"] = {name: files.content(Path(name)) for name in written if "checkpoint" not in name}
        for run in sorted({Path(name).parent for name in written if Path(name).name == "result.json"}):
            found[f"result in {run}"] = record_of(drbo.load(run))
    return found


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format that a file name ends in."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix in (".parquet", ".feather"):
        getattr(table, f"to_{path.suffix[1:]}")(path)
    elif path.suffix == ".npz":
        np.savez(path, X=table.to_numpy(), names=np.array(list(table)))
    elif path.suffix == ".db":
        with closing(sqlite3.connect(path)) as database:
            table.to_sql("rows", database, index=False)
    else:
        table.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@contextmanager
def _few_rows_kept(n: int | None) -> Iterator[None]:
    """Let a stream keep a sample of so many rows."""
    if n is None:
        yield
        return
    homes = [one.name for one in walk_packages(drbo.__path__, "drbo.") if one.name.endswith(".statistics.sums")]
    home = import_module(homes[0])
    before = home.SAMPLE_CELLS, home.SAMPLE_ROWS
    home.SAMPLE_CELLS, home.SAMPLE_ROWS = 0, n
    try:
        yield
    finally:
        home.SAMPLE_CELLS, home.SAMPLE_ROWS = before
