"""Records every call of the compiled core that a test run makes, for :mod:`tests.core.fuzz` to mutate.

    DRBO_RECORD_CORE=FOLDER python -m pytest -p tests.core.recording tests/...

A call is kept as plain data: arrays, numbers, and references to the calls that made the objects of the core among its
arguments, so that an object is made again, and brought into the same state, where it is needed.
"""

import os
import pickle
import random
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

FOLDER = "DRBO_RECORD_CORE"
#: Calls of each entry point that are kept, of those that are small enough: the first ones, then some at random.
KEPT, MOST_BYTES, LARGEST = 12, 200_000, 20_000_000


class Made(NamedTuple):
    """An object of the core, by the call that made it."""

    call: "Call"


class Scorer(NamedTuple):
    """A function of Python that the core asks for scores."""


class Call(NamedTuple):
    """A call of an entry point; of a method, the object comes first."""

    name: str  # such as climb_known, or OrderClimb.climb
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Recorder:
    """Stands in for the core, and passes everything on to it; it holds all objects, so that no id comes twice."""

    def __init__(self, core: ModuleType) -> None:
        self.core, self.kept, self.seen = core, dict[str, list[Call]](), Counter[str]()
        self.rng, self.origin = (
            random.Random(0),
            dict[int, tuple[Any, Call]](),
        )  # objects are held: no number comes twice

    def install(self) -> None:
        """Wrap every function, constructor and method of the core, in place."""
        for name, entry in list(vars(self.core).items()):
            if name.startswith("_") or name == "set_stop_source" or name == "StopFlag":
                continue
            if not isinstance(entry, type):
                setattr(self.core, name, self._function(name, entry))
            elif not issubclass(entry, BaseException):
                setattr(self.core, name, self._class(name, entry))

    def _function(self, name: str, real: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.note(Call(name, self.plain(args), self.plain(kwargs)))
            return real(*args, **kwargs)

        return call

    def _class(self, name: str, kind: type) -> type:
        """Return a class of the same objects that takes note of its calls."""
        recorder = self

        def init(made: Any, *args: Any, **kwargs: Any) -> None:
            call = Call(name, recorder.plain(args), recorder.plain(kwargs))
            recorder.note(call)
            kind.__init__(made, *args, **kwargs)
            recorder.origin[id(made)] = made, call

        def method(key: str) -> Any:
            def call(made: Any, *args: Any, **kwargs: Any) -> Any:
                recorder.note(Call(f"{name}.{key}", recorder.plain((made, *args)), recorder.plain(kwargs)))
                return getattr(kind, key)(made, *args, **kwargs)

            return call

        methods = {key: method(key) for key in dir(kind) if not key.startswith("_") and callable(getattr(kind, key))}
        return type(name, (kind,), {"__init__": init, **methods})

    def plain(self, value: Any) -> Any:
        """Return a value as plain data."""
        if isinstance(value, tuple | list):
            return type(value)(self.plain(one) for one in value) if type(value) in (tuple, list) else list(value)
        if isinstance(value, dict):
            return {key: self.plain(one) for key, one in value.items()}
        if isinstance(value, np.ndarray):
            return value.copy()
        if id(value) in self.origin:
            return Made(self.origin[id(value)][1])
        if callable(value) and not isinstance(value, type):
            return Scorer()
        return value if isinstance(value, int | float | bool | str | None | np.generic) else None

    def note(self, call: Call) -> None:
        """Keep a call, or not."""
        makers = "".join(f" of {one.call.name}" for one in call.args if isinstance(one, Made))
        kept = self.kept.setdefault(call.name + makers, [])  # a climb with each kind of steps
        self.seen[call.name + makers] += 1
        if _size(call) > (MOST_BYTES if kept else LARGEST):  # a large one, where nothing else is there
            return
        if len(kept) < KEPT:
            kept.append(call)
        elif self.rng.random() < KEPT / self.seen[call.name + makers]:
            kept[self.rng.randrange(KEPT)] = call

    def save(self, path: Path) -> None:
        """Write what was kept."""
        path.write_bytes(pickle.dumps(self.kept))


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Call):
        return _size(value.args) + _size(value.kwargs)
    if isinstance(value, tuple | list):
        return sum(map(_size, value))
    return sum(map(_size, value.values())) if isinstance(value, dict) else 8


def recorded(folder: Path) -> dict[str, list[Call]]:
    """Return the calls of all processes of a test run, by entry point."""
    found: dict[str, list[Call]] = {}
    for path in sorted(folder.glob("*.calls")):
        for name, calls in pickle.loads(path.read_bytes()).items():
            found.setdefault(name, []).extend(calls)
    return found


def pytest_unconfigure() -> None:
    """Write what was recorded by this process."""
    _recorder.save(Path(os.environ[FOLDER], f"{os.getpid()}.calls"))


if FOLDER in os.environ:  # as a plugin, before any other module takes names from the core
    from drbo import _core

    _recorder = Recorder(_core)
    _recorder.install()
