"""The whole state of a search as plain nodes and arrays, and back.

A search is a graph of objects of this package that hold numbers, arrays and generators. It is written as it is, object
by object, so that shared arrays, views and generators stay shared. What a search is built from (score, settings,
knowledge, executor) is not written: a search is built from it once more, and the state is put in place.
"""

import json
import math
import sys
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from drbo.deadline import Deadline
from drbo.errors import CheckpointError, ResultError
from drbo.knowledge import Constraints, Knowledge
from drbo.scores.base import Score
from drbo.search.workers import Workers
from drbo.settings import Settings

#: What a search is built from.
GIVEN = (Deadline, Score, Settings, Constraints, Knowledge, Executor, Workers, torch.device)
#: Objects of other packages are not part of a state.
HOME = "drbo.search."

_PLAIN = (type(None), bool, int, str)


class _Writer:
    """Turns a graph of objects into arrays and a list of plain nodes; an object that is met again is named again."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is used twice
        self._views: dict[int, list[tuple[Tensor, dict[str, Any]]]] = {}

    def put(self, value: Any, path: list[Any]) -> Any:
        """Return a plain value that stands for any value; ``path`` leads to it from the search."""
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, np.generic):
            return {"a": self._array(np.asarray(value))}
        if isinstance(value, float):
            return value if math.isfinite(value) else {"f": repr(value)}
        if id(value) not in self._seen:
            self._seen[id(value)] = number = len(self.nodes)
            self._kept.append(value)
            self.nodes.append(None)
            self.nodes[number] = self._node(value, path)
        return {"r": self._seen[id(value)]}

    def _array(self, array: "np.ndarray[Any, Any]") -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.array(array, order="C")
        return name

    def _node(self, value: Any, path: list[Any]) -> dict[str, Any]:
        if isinstance(value, GIVEN) or (callable(value) and not type(value).__module__.startswith(HOME)):
            return {"given": path}
        if isinstance(value, np.ndarray):
            return {"array": self._array(value)}
        if isinstance(value, Tensor):
            return self._tensor(value)
        if isinstance(value, np.random.Generator):
            return _rng_node(value)
        if isinstance(value, torch.Generator):
            return {"torch": self._array(value.get_state().numpy()), "device": str(value.device)}
        if isinstance(value, bytes):
            return {"bytes": value.hex()}
        if isinstance(value, dict):
            return self._dict(value, path)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return {"named": _class_name(value, path), "items": self._items(value, path)}
        for kind in (list, tuple, set, frozenset, deque):
            if type(value) is kind:
                return self._sequence(kind.__name__, value, path)
        return {"object": _class_name(value, path), "items": self._attributes(value, path)}

    def _items(self, values: Any, path: list[Any]) -> list[Any]:
        return [self.put(value, [*path, k]) for k, value in enumerate(values)]

    def _attributes(self, value: Any, path: list[Any]) -> dict[str, Any]:
        return {name: self.put(item, [*path, name]) for name, item in vars(value).items()}

    def _tensor(self, value: Tensor) -> dict[str, Any]:
        """Note a view of memory; the memory itself is written once, however many views there are of it."""
        storage = value.untyped_storage()
        key = -int(storage.data_ptr()) - 1 if storage.nbytes() else -id(value) - 1
        if key not in self._seen:
            self._seen[key] = len(self.nodes)
            self.nodes.append({})
            self._views[self._seen[key]] = []
        node = {"tensor": self._seen[key], "shape": list(value.shape), "stride": list(value.stride())}
        self._views[self._seen[key]].append((value, node))
        return node

    def finish(self) -> None:
        """Write the memory behind tensors, as far as they see it; what is between, which may be anything, as zeros."""
        for number, views in self._views.items():
            first = views[0][0]
            low = min(int(view.storage_offset()) for view, _ in views)
            high = max(_end(view) for view, _ in views)
            flat = torch.zeros(max(0, high - low), dtype=first.dtype)
            for view, node in views:
                node["offset"] = int(view.storage_offset()) - low
                seen = _once(view.detach())
                flat.as_strided(seen.shape, seen.stride(), node["offset"]).copy_(seen)
            self.nodes[number] = {"memory": self._array(flat.numpy()), "device": str(first.device)}

    def _dict(self, value: dict[Any, Any], path: list[Any]) -> dict[str, Any]:
        widths = {len(key) if isinstance(key, bytes) else -1 for key in value}
        if len(widths) == 1 and widths != {-1} and all(type(item) is float for item in value.values()):
            keys = np.frombuffer(b"".join(value), dtype=np.uint8).reshape(len(value), -1)
            return {"table": self._array(keys), "values": self._array(np.array(list(value.values())))}
        pairs = [[self.put(key, [*path, None]), self.put(item, [*path, str(key)])] for key, item in value.items()]
        return {"dict": pairs}

    def _sequence(self, kind: str, value: Any, path: list[Any]) -> dict[str, Any]:
        widths = {len(item) if type(item) is bytes else -1 for item in value}
        if kind == "list" and len(widths) == 1 and widths != {-1}:
            return {"rows": self._array(np.frombuffer(b"".join(value), dtype=np.uint8).reshape(len(value), -1))}
        ordered = sorted(value) if kind in ("set", "frozenset") else list(value)
        size = value.maxlen if kind == "deque" else None
        return {"sequence": kind, "items": self._items(ordered, path), "size": size}


def _once(view: Tensor) -> Tensor:
    """Return a view that sees each place once: along an expanded axis all places are the same."""
    for axis in reversed(range(view.dim())):
        if view.stride(axis) == 0 and view.shape[axis] > 1:
            view = view.select(axis, 0)
    return view


def _end(view: Tensor) -> int:
    """Return the place behind the last element that a tensor sees."""
    if view.numel() == 0:
        return int(view.storage_offset())
    steps = zip(view.shape, view.stride(), strict=True)
    return int(view.storage_offset()) + sum((size - 1) * stride for size, stride in steps) + 1


def _class_name(value: Any, path: list[Any]) -> str:
    kind = type(value)
    if not kind.__module__.startswith(HOME):
        raise CheckpointError(
            f"the state of the search holds a {kind.__module__}.{kind.__qualname__} at {'.'.join(map(str, path))}, "
            "which cannot be saved"
        )
    return f"{kind.__module__}:{kind.__qualname__}"


def _rng_node(rng: np.random.Generator) -> dict[str, Any]:
    """Return a numpy generator, with the seed that its children are spawned from, as JSON knows it."""
    bits = rng.bit_generator
    seed = bits.seed_seq
    if not isinstance(bits, np.random.PCG64) or not isinstance(seed, np.random.SeedSequence):
        raise CheckpointError(f"a generator of the kind {type(bits).__name__} cannot be saved")
    parts = {name: getattr(seed, name) for name in ("entropy", "spawn_key", "pool_size", "n_children_spawned")}
    return {"rng": bits.state, "seed": {name: _whole(value) for name, value in parts.items()}}


def _whole(value: Any) -> Any:
    return [int(item) for item in value] if isinstance(value, list | tuple | np.ndarray) else int(value)


def _rng(node: dict[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64(np.random.SeedSequence(**node["seed"]))
    bits.state = node["rng"]
    return np.random.Generator(bits)


class _Reader:
    """Builds the graph of objects again; ``fresh`` is a search that was just made from the same parts."""

    def __init__(self, nodes: list[Any], array: Callable[[str], Any], fresh: Any) -> None:
        self.nodes, self._array, self._fresh = nodes, array, fresh
        self._made: dict[int, Any] = {}
        self._classes = _classes()

    def get(self, value: Any) -> Any:
        """Return what a plain value stands for."""
        if not isinstance(value, dict):
            return value
        if "f" in value:
            return float(value["f"])
        if "a" in value:
            return self._array(value["a"])[()]
        number = value["r"]
        if number not in self._made:
            self._make(number)
        return self._made[number]

    def _make(self, number: int) -> None:
        node = self.nodes[number]
        if "object" in node:
            made = object.__new__(self._class(node["object"]))
            self._made[number] = made  # first: an object may hold itself
            vars(made).update({str(name): self.get(item) for name, item in node["items"].items()})
        elif "dict" in node:
            found: dict[Any, Any] = {}
            self._made[number] = found
            found.update({self.get(key): self.get(item) for key, item in node["dict"]})
        elif node.get("sequence") == "list":
            filled: list[Any] = []
            self._made[number] = filled
            filled.extend(self.get(item) for item in node["items"])
        else:
            self._made[number] = self._value(node)

    def _value(self, node: dict[str, Any]) -> Any:
        if "given" in node:
            return _follow(self._fresh, node["given"])
        if "array" in node:
            return self._array(node["array"])
        if "tensor" in node:
            return torch.as_strided(self._memory(node["tensor"]), node["shape"], node["stride"], node["offset"])
        if "rng" in node:
            return _rng(node)
        if "torch" in node:
            generator = torch.Generator(node["device"])
            generator.set_state(torch.as_tensor(self._array(node["torch"])))
            return generator
        if "bytes" in node:
            return bytes.fromhex(node["bytes"])
        if "table" in node:
            keys = self._rows(node["table"])
            return dict(zip(keys, self._array(node["values"]).tolist(), strict=True))
        if "rows" in node:
            return self._rows(node["rows"])
        items = [self.get(item) for item in node["items"]]
        if "named" in node:
            return self._class(node["named"])(*items)
        if node["sequence"] == "deque":
            return deque(items, node["size"])
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[node["sequence"]](items)

    def _rows(self, name: str) -> list[bytes]:
        table = self._array(name)
        raw, width = table.tobytes(), table.shape[1]
        return [raw[start : start + width] for start in range(0, len(raw), width)]

    def _memory(self, number: int) -> Tensor:
        if number not in self._made:
            node = self.nodes[number]
            self._made[number] = torch.as_tensor(self._array(node["memory"])).to(node["device"])
        memory: Tensor = self._made[number]
        return memory

    def _class(self, name: str) -> Any:
        if name not in self._classes:
            raise ResultError(f"the state names the unknown class {name!r:.80}")
        return self._classes[name]


def _classes() -> dict[str, type]:
    """Return the classes of this package that are loaded: no other one is ever made from a file."""
    found: dict[str, type] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith(HOME):
            kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and kind.__module__ == name]
            found |= {f"{name}:{kind.__qualname__}": kind for kind in kinds}
    return found


def _follow(start: Any, path: list[Any]) -> Any:
    for step in path:
        start = start[step] if isinstance(step, int) or isinstance(start, dict) else getattr(start, step)
    return start


def capture(state: Any) -> tuple[bytes, dict[str, "np.ndarray[Any, Any]"]]:
    """Return a search as JSON and arrays.

    Examples
    --------
    >>> from drbo.search.region import TrustRegion
    >>> region = TrustRegion(dim=4, settings=Settings())
    >>> region.length = 0.25
    >>> restore(TrustRegion(dim=4, settings=Settings()), *capture(region)).length
    0.25
    """
    writer = _Writer()
    writer.put(state, [])
    writer.finish()
    return json.dumps(writer.nodes, allow_nan=False).encode(), writer.arrays


def restore(fresh: Any, skeleton: bytes, arrays: dict[str, "np.ndarray[Any, Any]"]) -> Any:
    """Return the search that :func:`capture` saw; ``fresh`` is one that was made from the same parts."""
    nodes = json.loads(skeleton)
    kind = f"{type(fresh).__module__}:{type(fresh).__qualname__}"
    if nodes[0].get("object") != kind:
        raise ResultError(f"the state is one of {nodes[0].get('object')!r:.80}, not of {kind!r}")
    return _Reader(nodes, lambda name: arrays[name].copy(), fresh).get({"r": 0})
