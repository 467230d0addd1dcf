"""Results as files: result.json holds the records, result.npz their arrays, each under the path of its field.

Files are untrusted. Sizes and the checksum are verified before an array is read, every value is checked against the
annotation of its field, and nothing is unpickled. Fields that have a default may be missing, because a version that did
not know them wrote the file. What the result said about its graph is saved with it, so that a file says the same for
ever, and opens without the score that found the graph.
"""

import ast
import hashlib
import io
import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np

from drbo.claims.record import Stored
from drbo.data.files.files import (
    MAX_TEXT_BYTES,
    check_version,
    npz_bytes,
    read_bytes,
    read_json,
    read_member,
    refusing,
    stored_archive,
    write_file,
)
from drbo.errors import KnowledgeError, ResultError
from drbo.knowledge import Knowledge
from drbo.result.files.export import MAX_NODES, csv_bytes
from drbo.result.records import hints_of, required, stored
from drbo.result.result import Result
from drbo.result.words.answer import told_by

FORMAT, FORMAT_VERSION = "drbo-result", 3
MAX_TRACE = 10**7
#: What a line of Python that repeats a fit may call: nothing of this does anything by itself.
PUBLIC_CALLS = {"DrBO", "Settings", "Design", "DataPolicy", "Knowledge", "array", "frozenset", "set"}
CHANGED = "the file was changed or is incomplete"


@dataclass(frozen=True)
class _About:
    """What result.json says about itself and about result.npz, beside the fields of the result."""

    format: str
    version: int
    arrays: tuple[str, ...]  # in result.npz
    trace_length: int
    sha256: str  # of result.npz


def _array_fields(kind: type, where: str = "") -> Iterator[tuple[str, Stored]]:
    """Yield the arrays that a record can hold, by their paths."""
    for name, hint in hints_of(kind).items():
        inner = required(hint)[0]
        if (spec := stored(hint)) is not None:
            yield where + name, spec
        elif is_dataclass(inner) and isinstance(inner, type):
            yield from _array_fields(inner, f"{where}{name}.")


ARRAYS = dict(_array_fields(Result))


def save(result: Result, folder: Path) -> Path:
    """Write result.json, result.npz and edges.csv to a folder, and return the folder."""
    arrays: dict[str, Any] = {}
    content = _encoded(result, "", arrays) | {"told": _encoded(told_by(result), "told", arrays)}
    packed = npz_bytes({name: item[result.dag] if ARRAYS[name].at_edges else item for name, item in arrays.items()})
    digest, length = hashlib.sha256(packed).hexdigest(), len(result.search.trace.n_evals)
    about = _About(FORMAT, FORMAT_VERSION, tuple(arrays), length, digest)
    text = json.dumps(vars(about) | content, indent=1, allow_nan=False)
    table = result.edges()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResultError(f"{folder} cannot be created: {error.strerror}", hint="choose another folder") from error
    write_file(folder / "result.npz", packed)
    write_file(folder / "edges.csv", csv_bytes([list(table), *table.itertuples(index=False)]))
    write_file(folder / "result.json", text.encode())
    return folder


def load(folder: str | Path) -> Result:
    """Return a result that was written to a folder; other content raises a ResultError, and nothing is unpickled.

    Examples
    --------
    >>> import tempfile
    >>> from drbo import DrBO
    >>> model = DrBO(score="bge", random_state=0).fit(np.random.default_rng(0).normal(size=(50, 3)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(model.result_.save(folder)).score == model.score_
    True
    """
    path, arrays_path = Path(folder, "result.json"), Path(folder, "result.npz")
    with refusing(path):
        content = read_json(read_bytes(path, MAX_TEXT_BYTES, follow=False))
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ResultError(f"{path} is not a saved result", hint="give a folder that 'drbo fit -o' wrote")
        check_version(content.get("version"), FORMAT_VERSION, path, earlier="fit again")
        about = {part.name: content.pop(part.name) for part in fields(_About) if part.name in content}
        about = _Reader(path, {}).record(_About, about)
        sizes = _sizes(content.get("names"), about, path)
    with refusing(arrays_path):
        arrays = _read_arrays(arrays_path, about, sizes)
    with refusing(path):
        reader = _Reader(path, arrays)
        result: Result = reader.record(Result, content)
        if result.argv[:1] not in ((), ("drbo",)):
            raise ResultError(f"{path}: 'argv' must be the words of a drbo command, got {result.argv!r:.80}")
        result = result if _is_fit(result.line) else replace(result, line="")
        if reader.arrays:
            raise ResultError(f"{path} lists arrays of a missing record: {', '.join(reader.arrays)}")
        return result


def _is_fit(line: str) -> bool:
    """Tell whether a line of Python is nothing but a fit: people paste what a result shows, whoever made its file.

    Examples
    --------
    >>> _is_fit("DrBO(score='bge', design=Design(groups='id')).fit(table)"), _is_fit("DrBO(score=print()).fit(table)")
    (True, False)
    """
    try:
        call = ast.parse(line, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # such as an object that cannot be written as Python
        return False
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "fit":
        return False
    inner = [call.func.value, *call.args, *(part.value for part in call.keywords)]
    calls = [node for part in inner for node in ast.walk(part) if isinstance(node, ast.Call)]
    plain = (ast.Call, ast.keyword, ast.Constant, ast.Name, ast.Load, ast.Dict, ast.List, ast.Tuple, ast.Set)
    signs = (ast.UnaryOp, ast.USub)
    return call.func.value in calls and all(
        isinstance(one.func, ast.Name) and one.func.id in PUBLIC_CALLS for one in calls
    ) and all(isinstance(node, plain + signs) for part in inner for node in ast.walk(part))  # fmt: skip


def _encoded(value: Any, where: str, arrays: dict[str, Any]) -> Any:
    """Return a value as JSON knows it, and put the arrays of records aside; what cannot be saved is refused."""
    if isinstance(value, Knowledge):
        return value.to_mapping()
    if is_dataclass(value) and not isinstance(value, type):
        inner = f"{where}." if where else ""
        found = {part.name: (f"{inner}{part.name}", getattr(value, part.name)) for part in fields(value)}
        arrays |= {place: item for place, item in found.values() if place in ARRAYS and item is not None}
        return {name: _encoded(item, place, arrays) for name, (place, item) in found.items() if place not in ARRAYS}
    if isinstance(value, dict):
        return {str(key): _encoded(item, f"{where}.{key}", arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(item, f"{where}[{k}]", arrays) for k, item in enumerate(value)]
    if not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        raise ResultError(
            f"{where} must be a string, a finite number, a list or a table, got {value!r:.80}",
            hint="use None for a value that is not set",
        )
    return value


def _sizes(names: Any, about: _About, path: Path) -> dict[str, int]:
    """Return the sizes that all arrays of a result have, checked before one is read."""
    unknown = [name for name in about.arrays if name not in ARRAYS]
    if unknown:
        raise ResultError(f"{path}: arrays contains the unknown array {unknown[0]!r:.80}", hint=CHANGED)
    if type(names) is not list or not 1 <= len(names) <= MAX_NODES:
        raise ResultError(f"{path}: names must be a list of 1 to {MAX_NODES} names, got {names!r:.80}")
    if not 0 <= about.trace_length <= MAX_TRACE:
        raise ResultError(f"{path}: trace_length must be in 0..{MAX_TRACE}, got {about.trace_length}")
    return {"d": len(names), "t": about.trace_length}


def _read_arrays(path: Path, about: _About, sizes: dict[str, int]) -> dict[str, Any]:
    """Return the arrays of result.npz by the paths of their fields."""
    expected = {name: ARRAYS[name] for name in about.arrays}
    room = sum(math.prod(spec.shape(sizes)) * np.dtype(spec.dtype).itemsize + 1024 for spec in expected.values())
    raw = read_bytes(path, limit=room, follow=False)
    if hashlib.sha256(raw).hexdigest() != about.sha256:
        raise ResultError(f"{path} does not match the checksum in result.json", hint="one of these files was changed")
    arrays: dict[str, Any] = {}
    with stored_archive(io.BytesIO(raw), f"{path}") as archive:
        if sorted(archive.namelist()) != sorted(f"{name}.npy" for name in expected):
            wanted = ", ".join(expected)
            raise ResultError(f"{path} must contain {wanted}, got {', '.join(archive.namelist())[:200]}")
        for name, spec in sorted(expected.items(), key=lambda item: item[1].at_edges):  # the graph before its edges
            shape = (int(arrays["dag"].sum()),) if spec.at_edges else spec.shape(sizes)
            values = read_member(archive, name, f"{path} {name}", shape=shape, dtype=spec.dtype)
            arrays[name] = _at_edges(arrays["dag"], values) if spec.at_edges else values
    return arrays


def _at_edges(dag: Any, values: Any) -> Any:
    """Return values of the edges of a graph as a matrix, 0 where there is no edge."""
    matrix = np.zeros(dag.shape)
    matrix[dag] = values
    matrix.setflags(write=False)
    return matrix


def _options(kind: Any) -> dict[str, Any] | None:
    """Return the values that a field of a Literal or of an Enum can have, as they are written; None: any other."""
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {member.value: member for member in kind}
    return {value: value for value in get_args(kind)} if get_origin(kind) is Literal else None


@dataclass
class _Reader:
    """Builds records from what a file holds, each value checked against the annotation of its field."""

    path: Path
    arrays: dict[str, Any]  # those that are not yet in a record

    def record(self, kind: type, content: Any, where: str = "") -> Any:
        """Return a record of a kind."""
        if type(content) is not dict:
            raise self._wrong(where.rstrip("."), "an object", content)
        hints = hints_of(kind)
        unknown = next((key for key in content if key not in hints or stored(hints[key]) is not None), None)
        if unknown is not None:
            raise ResultError(f"{self.path} has the unknown entry '{where}{unknown:.80}'", hint=CHANGED)
        values = {}
        for part in fields(kind):
            name, hint = part.name, hints[part.name]
            if where + name in self.arrays:
                values[name] = self.arrays.pop(where + name)
            elif name in content:
                values[name] = self.value(hint, content[name], where + name)
            elif part.default is MISSING and part.default_factory is MISSING:
                raise ResultError(f"{self.path} has no entry '{where}{name}'", hint=CHANGED)
        return kind(**values)

    def value(self, hint: Any, value: Any, where: str) -> Any:
        """Return a value of the annotated kind."""
        kind, optional = required(hint)
        if optional and value is None:
            return None
        if kind is Knowledge and type(value) is dict:
            try:
                return Knowledge.from_mapping(value)
            except KnowledgeError as error:
                raise ResultError(f"{self.path}: {where}: {error.message}", hint=error.hint) from error
        if isinstance(kind, type) and is_dataclass(kind):
            return self.record(kind, value, f"{where}.")
        if kind is float and type(value) in (int, float):
            return float(value)
        if (options := _options(kind)) is not None:
            if type(value) is str and value in options:
                return options[value]
            raise self._wrong(where, f"one of {', '.join(options)}", value)
        if get_origin(kind) is tuple and type(value) is list:
            inner, *rest = get_args(kind)
            if rest == [...] or len(value) == 1 + len(rest):
                return tuple(self.value(inner, item, f"{where}[{k}]") for k, item in enumerate(value))
        elif get_origin(kind) is dict and type(value) is dict:
            inner = get_args(kind)[1]
            return value if inner is Any else {k: self.value(inner, v, f"{where}.{k:.80}") for k, v in value.items()}
        elif type(value) is kind:
            return value
        raise self._wrong(where, getattr(kind, "__name__", str(kind)), value)

    def _wrong(self, where: str, kind: str, value: Any) -> ResultError:
        return ResultError(f"{self.path}: '{where}' must be {kind}, got {value!r:.80}")
