"""The state of a search as named fields: every class writes its own, and reads them back by name, type and range.

A state is a nested dict of plain values, numpy arrays, and further states. Plain values are kept as JSON, arrays as
members of an .npz archive, named by the path of the field. The reader asks for each field that it knows and checks it;
a field that nobody asked for is an error. A file therefore cannot name a module, a class, an attribute or a function.
"""

import json
import math
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np

from drbo.constraints import Constraints
from drbo.data.files.files import read_header, read_json
from drbo.errors import CheckpointError
from drbo.graph.dag import is_acyclic

#: Values are None, bool, int, float, str, numpy arrays, states, or lists of states.
State = dict[str, Any]
Array = np.ndarray[Any, Any]

#: The member of an archive that holds all plain values, and its largest size: a search writes a few thousand bytes.
PLAIN = "fields"
MAX_PLAIN_BYTES = 2**20
#: The largest count in a state: sums of a few of them still fit into 64 bits.
MOST = 2**60
#: The largest size of a local score, a price or a score: squares of such numbers are still finite.
LARGEST = 1e150

HINT = "the file was changed or written by another program; start a new search"


class Restorable(Protocol):
    """Something whose state can be saved, and put into another one that was built from the same parts."""

    def capture(self) -> State:
        """Return the state."""

    def restore(self, fields: "Fields") -> None:
        """Set the state to one that was captured; a field that does not fit is a CheckpointError."""


def pack(state: State) -> dict[str, Array]:
    """Return a state as the members of an archive."""
    arrays: dict[str, Array] = {}
    plain = _plain(state, "", arrays)
    text = json.dumps(plain, allow_nan=False).encode()
    return {PLAIN: np.frombuffer(text, dtype=np.uint8), **arrays}


def _plain(value: Any, path: str, arrays: dict[str, Array]) -> Any:
    """Return the plain part of a value; arrays are put aside under their path."""
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, np.ndarray):
                arrays[_join(path, name)] = np.ascontiguousarray(item)
        items = {name: item for name, item in value.items() if not isinstance(item, np.ndarray)}
        return {name: _plain(item, _join(path, name), arrays) for name, item in items.items()}
    if isinstance(value, list):
        return [_plain(item, _join(path, str(place)), arrays) for place, item in enumerate(value)]
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


@dataclass(eq=False)
class _Source:
    """Where fields come from, and what of it was not asked for yet."""

    where: str  # its name in errors
    archive: zipfile.ZipFile | None = None
    members: dict[str, int] = field(default_factory=dict)  # names and sizes
    parts: "list[Fields]" = field(default_factory=list)


class Fields:
    """The saved fields of one object; each is read once, by name, and checked."""

    def __init__(self, source: _Source, path: str, plain: dict[str, Any]) -> None:
        self._source, self._path, self._unread = source, path, dict(plain)
        source.parts.append(self)

    @classmethod
    def plain(cls, content: Any, where: str) -> "Fields":
        """Return the fields of a JSON object; ``where`` names it in errors."""
        if not isinstance(content, dict):
            raise CheckpointError(f"{where} must contain a JSON object, got {content!r:.80}", hint=HINT)
        return cls(_Source(where), "", content)

    @classmethod
    def of(cls, archive: zipfile.ZipFile, where: str) -> "Fields":
        """Return the fields of a whole archive, as :func:`pack` made it."""
        source = _Source(where, archive, {info.filename: info.file_size for info in archive.infolist()})
        if source.members.get(f"{PLAIN}.npy", 0) > MAX_PLAIN_BYTES:
            raise CheckpointError(f"{where}: {PLAIN} has more than {MAX_PLAIN_BYTES} bytes", hint=HINT)
        plain = read_json(cls(source, "", {}).array(PLAIN, np.uint8, (None,)).tobytes())
        if not isinstance(plain, dict):
            raise CheckpointError(f"{where}: {PLAIN} must contain a JSON object, got {plain!r:.80}", hint=HINT)
        return cls(source, "", plain)

    def finish(self) -> None:
        """Refuse fields and arrays that nobody asked for, in this part and in all others of the same file."""
        unknown = [_join(part._path, name) for part in self._source.parts for name in part._unread]
        unknown += sorted(self._source.members)
        if unknown:
            raise CheckpointError(f"{self._source.where}: unknown field {unknown[0]!r:.80}", hint=HINT)

    def refuse(self, name: str, must: str, got: str) -> NoReturn:
        """Raise an error about a field."""
        raise CheckpointError(f"{self._source.where}: {_join(self._path, name)} must {must}, got {got}", hint=HINT)

    def _missing(self, name: str) -> NoReturn:
        raise CheckpointError(f"{self._source.where}: the field '{_join(self._path, name)}' is missing", hint=HINT)

    def _take(self, name: str) -> Any:
        if name not in self._unread:
            self._missing(name)
        return self._unread.pop(name)

    def has(self, name: str) -> bool:
        """Tell whether an optional field has a value; None is the value of one that has not."""
        if name in self._unread and self._unread[name] is None:
            self._unread.pop(name)
            return False
        return True

    def expect(self, name: str, present: bool) -> bool:
        """Return ``present``, which an optional field must agree with."""
        if self.has(name) != present:
            self.refuse(name, "be set" if present else "be null", "null" if present else "a value")
        return present

    def integer(self, name: str, low: int = 0, high: int | None = None) -> int:
        """Return a whole number; without a limit, one of at most MOST."""
        value = self._take(name)
        if type(value) is not int or not low <= value <= (MOST if high is None else high):
            words = f"of at least {low}" if high is None else f"from {low} to {high}"
            self.refuse(name, f"be a whole number {words}", f"{value!r:.80}")
        return value

    def number(self, name: str, low: float = -LARGEST, high: float = LARGEST) -> float:
        """Return a finite number."""
        value = self._take(name)
        if type(value) is not float or not low <= value <= high:
            self.refuse(name, f"be a number from {low:g} to {high:g}", f"{value!r:.80}")
        return value

    def text(self, name: str, options: Sequence[str] = ()) -> str:
        """Return a text, one of the ``options`` if there are any."""
        value = self._take(name)
        if not isinstance(value, str) or (options and value not in options):
            self.refuse(name, f"be one of {', '.join(options)}" if options else "be a string", f"{value!r:.80}")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        value = self._take(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.refuse(name, "be a list of strings", f"{value!r:.80}")
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        """Return a JSON object whose content the caller checks."""
        value = self._take(name)
        if not isinstance(value, dict):
            self.refuse(name, "be a JSON object", f"{value!r:.80}")
        return value

    def listed(self, name: str) -> list[Any]:
        """Return a JSON list whose content the caller checks."""
        value = self._take(name)
        if not isinstance(value, list):
            self.refuse(name, "be a list", f"{value!r:.80}")
        return value

    def part(self, name: str) -> "Fields":
        """Return the fields of a part."""
        return self._part(name, self.mapping(name))

    def parts(self, name: str, most: int) -> "list[Fields]":
        """Return the fields of each of at most so many parts."""
        items = self.listed(name)
        if len(items) > most or not all(isinstance(item, dict) for item in items):
            self.refuse(name, f"be a list of at most {most} items", f"{items!r:.80}")
        return [self._part(f"{name}.{place}", item) for place, item in enumerate(items)]

    def _part(self, name: str, plain: dict[str, Any]) -> "Fields":
        return Fields(self._source, _join(self._path, name), plain)

    def array(
        self,
        name: str,
        dtype: Any,
        shape: tuple[int | None, ...],  # None: any length
        low: float = -math.inf,
        high: float = math.inf,
        *,
        finite: bool = True,
    ) -> Any:
        """Return an array; its header is checked before its content is read. Not ``finite``: it may hold infinities."""
        path, kind = _join(self._path, name), np.dtype(dtype)
        room = self._source.members.pop(f"{path}.npy", None)
        if room is None or self._source.archive is None:
            self._missing(name)
        with self._source.archive.open(f"{path}.npy") as stream:
            found, fortran, given = read_header(stream, f"{self._source.where}: {path}")
            fits = len(found) == len(shape) and all(b in (None, a) for a, b in zip(found, shape, strict=True))
            size = math.prod(found) * given.itemsize
            if not fits or min(found, default=0) < 0 or given != kind or fortran or size > room:
                words = ", ".join("any" if length is None else str(length) for length in shape)
                self.refuse(name, f"be {kind.name} of shape ({words})", f"{given.str:.20} of shape {found!s:.80}")
            raw = stream.read(size + 1)
        if len(raw) != size:
            self.refuse(name, f"have {size} bytes", "more" if len(raw) > size else f"{len(raw)}")
        truth = kind.kind == "b"
        array = np.frombuffer(bytearray(raw), dtype=np.uint8 if truth else kind).reshape(found)
        if truth:
            low, high = 0, 1
        if array.size and (array.dtype.kind == "f" or (low, high) != (-math.inf, math.inf)):
            least, largest = array.min().item(), array.max().item()
            finite = finite and kind.kind == "f"
            if not low <= least <= largest <= high or (finite and not math.isfinite(least + largest)):
                words = f"numbers from {low:g} to {high:g}" if high < math.inf else "finite numbers"
                self.refuse(name, f"contain {words}", f"{least:g} to {largest:g}")
        return array.view(bool) if truth else array

    def dags(self, name: str, count: int | None, limits: Constraints) -> Any:
        """Return DAGs (count, d, d) that obey the knowledge; without a count, any number."""
        d = len(limits.names)
        dags = self.array(name, bool, (count, d, d))
        parents = dags.transpose(0, 2, 1).reshape(-1, d)
        if not limits.allow(np.tile(np.arange(d), len(dags)), parents):
            self.refuse(name, "satisfy the knowledge", "edges that do not")
        if not all(is_acyclic(dag) for dag in dags):
            self.refuse(name, "be acyclic", "a cycle")
        return dags

    def generator(self, name: str, generator: np.random.Generator) -> None:
        """Set a numpy generator; it is always a PCG64."""
        part = self.part(name)
        words = {key: part.integer(key, 0, 2**128 - 1) for key in ("state", "inc")}
        if words["inc"] % 2 == 0:  # its period would be short: the same numbers for ever
            part.refuse("inc", "be odd", str(words["inc"]))
        rest = {"has_uint32": part.integer("has_uint32", 0, 1), "uinteger": part.integer("uinteger", 0, 2**32 - 1)}
        generator.bit_generator.state = {"bit_generator": "PCG64", "state": words, **rest}


def generator_state(generator: np.random.Generator) -> State:
    """Return the state of a numpy generator; children are spawned from the seed that a search is built with."""
    found = generator.bit_generator.state
    assert found["bit_generator"] == "PCG64"  # what default_rng makes
    rest = {name: int(found[name]) for name in ("has_uint32", "uinteger")}
    return {name: int(found["state"][name]) for name in ("state", "inc")} | rest
