"""Forged checkpoints: saved searches that somebody changed on purpose, with checksums that fit.

Every forgery starts from a search that drbo saved and changes what a thoughtful attacker would change: types, shapes,
ranges and counts of single fields, DAGs and orders, states of generators, members of the archive, and names that
older formats followed. ``attack`` lets searches go on from them.
"""

import hashlib
import io
import json
import os
import pickle
import random
import re
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

#: Searches that are forged, one for each kind of state.
BASES: dict[str, dict[str, Any]] = {
    "orders": {"score": "bic-nv", "settings": {"order_patience": 4, "route": "orders"}},
    "orders with a level": {"score": "bic-ev", "settings": {"order_patience": 4, "route": "orders"}},
    "climbs": {"score": "bge", "settings": {"max_evals": 20}},
    "climbs with a level": {"score": "bic-ev", "settings": {"max_evals": 20}},
    "climbs with a relative": {"score": "gp", "settings": {"max_evals": 20}},
    "no surrogate": {"score": "bge", "settings": {"max_evals": 20, "surrogate": False}},
    "region": {
        "score": "bic-ev",
        "preset": "paper",
        "settings": {"max_evals": 30, "n_candidates": 40, "batch_size": 5, "hidden": 4, "n_replay": 8},
    },
    "region with a reservoir": {
        "score": "bge",
        "preset": "paper",
        "settings": {
            **{"max_evals": 30, "n_candidates": 40, "batch_size": 5, "hidden": 4, "n_replay": 8},
            **{"replay": "reservoir", "recombine": True, "polish": True, "skip_known": True},
        },
    },
}

#: Values that are no use in place of others.
STRANGE: list[Any] = [
    *(None, True, False, 0, 1, -1, 7, 2**31, 2**62, 2**63, -(2**70), 10**400, 0.5, -0.5, 1e308, -1e308, 1e-320, ""),
    *("0", "NaN", "builtins.exec", "__import__('os').system('true')", "../../etc/passwd", "drbo.search.loop:Search"),
    *("\ud800", "x" * 5000, [], {}, [[]], [0], [None], {"r": 0}, {"given": ["evaluate", "__globals__"]}),
    *({"object": "os:system", "items": {}}, {"__reduce__": ["os.system", ["true"]]}, {"py/object": "os.system"}),
]
#: Names that a reader must not follow.
NAMES = [
    *("__class__", "__dict__", "__init__", "__reduce__", "__globals__", "builtins", "builtins.exec", "os.system"),
    *(
        "evaluate",
        "propose",
        "learn",
        "score",
        "settings",
        "constraints",
        "evaluator.score",
        "proposer.landscape.rules",
    ),
    *(
        "state",
        "fields",
        "skeleton",
        "object",
        "given",
        "..",
        "../../x",
        "/etc/passwd",
        "a\0b",
        "",
        " ",
        "é",
        "\x1b[2J",
    ),
]


@dataclass
class Saved:
    """A checkpoint in parts that can be changed."""

    about: dict[str, Any]
    plain: Any  # fields that are JSON
    arrays: dict[str, Any]  # arrays, or the bytes of a member
    table: dict[str, Any]
    manifest: dict[str, Any] = field(default_factory=dict)  # what is changed in it
    text: bytes | None = None  # in place of plain
    compressed: bool = False
    raw: bytes | None = None  # in place of the whole state

    @classmethod
    def read(cls, folder: Path) -> "Saved":
        """Take a checkpoint apart."""
        content = json.loads((folder / "checkpoint.json").read_text())
        parts = []
        for name in (content["state"], "table.npz"):
            with np.load(folder / name) as archive:
                parts.append(dict(archive))
        plain = json.loads(parts[0].pop("fields").tobytes())
        return cls(content["about"], plain, *parts)

    def write(self, folder: Path) -> None:
        """Put it together, with checksums that fit."""
        from drbo.search.checkpoint import files as checkpoint

        text = json.dumps(self.plain).encode(errors="surrogatepass") if self.text is None else self.text
        fields = {"fields": np.frombuffer(text, dtype=np.uint8)}
        state = _archive({**fields, **self.arrays}, self.compressed) if self.raw is None else self.raw
        table = _archive(self.table, False)
        about = self.about
        if isinstance(about, dict) and "table_sha256" in about:
            about = about | {"table_sha256": hashlib.sha256(table).hexdigest()}
        content = {"format": checkpoint.FORMAT, "version": checkpoint.FORMAT_VERSION, "about": about}
        content |= {"state": "state-0.npz", "sha256": hashlib.sha256(state).hexdigest()} | self.manifest
        content["checksum"] = checkpoint._checksum(content)
        folder.mkdir(parents=True)
        for name, raw in (("state-0.npz", state), ("table.npz", table)):
            (folder / name).write_bytes(raw)
        (folder / "checkpoint.json").write_text(json.dumps(content))

    def digest(self) -> bytes:
        """Return a digest of all parts."""
        parts = [repr((self.about, self.plain, self.manifest, self.text, self.compressed, self.raw)).encode()]
        for members in (self.arrays, self.table):
            for name, content in members.items():
                array = np.asarray(content) if not isinstance(content, bytes) else np.frombuffer(content, np.uint8)
                parts += [repr((name, array.dtype, array.shape)).encode(), array.tobytes()]
        return hashlib.sha256(b"\0".join(parts)).digest()


def _archive(members: dict[str, Any], compressed: bool) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", 8 if compressed else 0) as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        for name, content in members.items():
            inside = io.BytesIO()
            if not isinstance(content, bytes):
                np.save(inside, content, allow_pickle=True)
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else inside.getvalue())
    return buffer.getvalue()


def _header(dtype: str, shape: Any, fortran: bool = False) -> bytes:
    text = f"{{'descr': {dtype}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@cache
def bases() -> dict[str, Saved]:
    """Return a saved search of each kind, with work left to do."""
    from drbo import DrBO, Settings
    from drbo.data.files.simulate import simulate

    data, found = simulate("6ER2", n=30, seed=1).X, {}
    for name, given in BASES.items():
        settings = Settings.preset(given.get("preset", "default")).with_(exact="off", **given["settings"])
        rounds = iter(["", "enough"])
        with tempfile.TemporaryDirectory() as place:
            options = {"score": given["score"], "preset": given.get("preset", "default"), "settings": settings}
            folder = Path(place) / "run"
            model = DrBO(**options, prune="none", random_state=1, device="cpu")
            model.fit(data, checkpoint=folder, callbacks=[lambda _, rounds=rounds: next(rounds, "enough") or None])
            found[name] = Saved.read(folder)
    return found


def _places(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all plain values."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    return [place for key, item in items for place in [(*path, key), *_places(item, (*path, key))]]


def _inside(plain: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        plain = plain[step]
    return plain


def plain_value(saved: Saved, rng: random.Random) -> None:
    """Put another value in place of a plain field."""
    *path, name = rng.choice(_places(saved.plain))
    _inside(saved.plain, tuple(path))[name] = deepcopy(rng.choice(STRANGE))


def plain_number(saved: Saved, rng: random.Random) -> None:
    """Change a number to one that may be possible, or just beyond what is."""
    numbers = [path for path in _places(saved.plain) if type(_inside(saved.plain, path)) in (int, float)]
    *path, name = rng.choice(numbers)
    home = _inside(saved.plain, tuple(path))
    home[name] = rng.choice([home[name] + 1, home[name] - 1, -home[name], 2 * home[name], 0 * home[name], 10**9])


def plain_missing(saved: Saved, rng: random.Random) -> None:
    """Leave a field out."""
    *path, name = rng.choice(_places(saved.plain))
    del _inside(saved.plain, tuple(path))[name]


def plain_extra(saved: Saved, rng: random.Random) -> None:
    """Add a field whose name means something in Python, or in a path."""
    homes = [(), *(path for path in _places(saved.plain) if isinstance(_inside(saved.plain, path), dict))]
    _inside(saved.plain, rng.choice(homes))[rng.choice(NAMES)] = deepcopy(rng.choice(STRANGE))


def plain_moved(saved: Saved, rng: random.Random) -> None:
    """Exchange two fields."""
    one, other = (rng.choice(_places(saved.plain)) for _ in range(2))
    if one[: len(other)] != other and other[: len(one)] != one:
        homes = [(_inside(saved.plain, path[:-1]), path[-1]) for path in (one, other)]
        values = [home[name] for home, name in homes]
        for (home, name), value in zip(homes, reversed(values), strict=True):
            home[name] = value


def plain_text(saved: Saved, rng: random.Random) -> None:
    """Write JSON that is no good: nested deeply, not finite, with keys twice, cut short, or no object."""
    text = json.dumps(saved.plain).encode()
    saved.text = rng.choice(
        [
            *(b"[" * 50_000 + b"]" * 50_000, b'{"a":' * 900 + b"1" + b"}" * 900, b"[]", b"null", b"", b"\xff\xfe"),
            *(text[: len(text) // 2], text + text, text[:-1] + b', "kind": "orders"}', b"1" * 5000, b'"exec"'),
            *(
                re.sub(rb"\d+\.\d+", b"NaN", text),
                re.sub(rb": \d+", b": 1e999", text),
                re.sub(rb"\d+", b"9" * 400, text),
            ),
            text[:-1] + b', "x": ' + b"[" * 200 + b"]" * 200 + b"}",
        ]
    )


def array_type(saved: Saved, rng: random.Random) -> None:
    """Give an array another type."""
    name = rng.choice(list(saved.arrays))
    kind = rng.choice(["f8", "f4", "i8", "i4", "u1", "?", ">f8", ">i8", "c16", "U5", "S3", "M8[s]", "O", "f2", "V4"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        saved.arrays[name] = (
            np.zeros(saved.arrays[name].shape, kind) if kind in ("M8[s]", "V4") else (saved.arrays[name].astype(kind))
        )


def array_shape(saved: Saved, rng: random.Random) -> None:
    """Give an array another shape."""
    name = rng.choice(list(saved.arrays))
    array = saved.arrays[name]
    shapes: list[Callable[[], Any]] = [
        *(array.ravel, lambda: array[:-1], lambda: array[..., :-1], lambda: array[None], lambda: array[:0]),
        *(lambda: np.concatenate([array, array]), lambda: array.T, lambda: np.asfortranarray(array)),
        *(lambda: np.repeat(array, 50, axis=0), lambda: array.reshape(-1, 1), lambda: array.sum()),
    ]
    saved.arrays[name] = rng.choice(shapes)()


def array_value(saved: Saved, rng: random.Random) -> None:
    """Change one number of an array, or all."""
    name = rng.choice([name for name, array in saved.arrays.items() if array.size])
    array = saved.arrays[name] = saved.arrays[name].copy()
    if array.dtype.kind == "f":
        values = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e149, -1e149, 0.0, -1.0, 1e-320, 700.0, -700.0]
    else:
        info = np.iinfo(np.uint8 if array.dtype == bool else array.dtype)
        values = [info.min, info.max, 0, 1, -1 % info.max, info.max // 2]
    place = rng.choice([slice(None), rng.randrange(array.size)])
    with np.errstate(over="ignore"):
        array.reshape(-1)[place] = np.array(rng.choice(values)).astype(array.dtype)


def array_random(saved: Saved, rng: random.Random) -> None:
    """Shuffle the numbers of an array, or draw others."""
    name = rng.choice([name for name, array in saved.arrays.items() if array.size])
    array, draws = saved.arrays[name].copy(), np.random.default_rng(rng.randrange(2**32))
    if rng.random() < 0.5:
        draws.shuffle(array.reshape(-1))
    elif array.dtype.kind == "f":
        array[...] = draws.normal(size=array.shape) * 10.0 ** rng.randrange(-3, 30)
    else:
        array = draws.integers(0, 2 if array.dtype == bool else 12, size=array.shape).astype(array.dtype)
    saved.arrays[name] = array


def array_missing(saved: Saved, rng: random.Random) -> None:
    """Leave an array out, or give it another name."""
    name = rng.choice(list(saved.arrays))
    array = saved.arrays.pop(name)
    if rng.random() < 0.5:
        saved.arrays[rng.choice([*NAMES, f"../{name}", f"{name}.npy", name.upper(), f"{name}.0"])] = array


def array_extra(saved: Saved, rng: random.Random) -> None:
    """Add an array."""
    saved.arrays[rng.choice(NAMES)] = rng.choice(list(saved.arrays.values()))


class Canary:
    """What runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("true",)


def member_bytes(saved: Saved, rng: random.Random) -> None:
    """Write a member that is no array: pickled objects, headers that lie or do harm, nothing."""
    name = rng.choice(list(saved.arrays))
    objects = io.BytesIO()
    np.save(objects, np.array([Canary(), 1], dtype=object), allow_pickle=True)
    harm = "__import__('os').system('true')"
    saved.arrays[name] = rng.choice(
        [
            *(objects.getvalue(), pickle.dumps(Canary()), b"", b"\x93NUMPY", b"\x93NUMPY\x07\x00", b"\0" * 200),
            *(_header("'<f8'", "(10**12,)"), _header("'<f8'", "(1000000000000,)"), _header("'<f8'", "(-5, 3)")),
            *(_header("'|O'", "(2,)") + pickle.dumps([Canary(), 1]), _header(harm, "(1,)"), _header("'<f8'", harm)),
            *(_header("[('a', '<f8'), ('b', '|O')]", "(1,)") + b"\0" * 16, _header("'<U999999999'", "(1,)")),
            *(_header("'<f8'", "(" * 2000 + ")" * 2000), _header("'<i8'", "(2,)", fortran=True) + b"\0" * 16),
            _header("'<f8'", "(3,)") + b"\0" * 2000,
        ]
    )


def whole_archive(saved: Saved, rng: random.Random) -> None:
    """Write another archive: compressed, with more than fits, cut short, or none."""
    plain = _archive({"fields": np.frombuffer(json.dumps(saved.plain).encode(), np.uint8), **saved.arrays}, False)
    choice = rng.randrange(6)
    if choice == 0:
        saved.compressed = True
    elif choice == 1:
        saved.arrays[rng.choice(list(saved.arrays))] = np.zeros(4_000_000)
        saved.compressed = True
    elif choice == 2:
        saved.raw = plain[: rng.randrange(len(plain))]
    elif choice == 3:
        saved.raw = rng.choice([b"", b"PK\x05\x06" + b"\0" * 18, pickle.dumps(Canary()), plain + plain, b"x" + plain])
    elif choice == 4:  # sizes in the directory
        at = plain.index(b"PK\x01\x02") + rng.choice([20, 24, 42])
        saved.raw = plain[:at] + rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"\xff\xff\xff\xff"]) + plain[at + 4 :]
    else:
        at = rng.randrange(len(plain))
        saved.raw = plain[:at] + bytes([plain[at] ^ 1 << rng.randrange(8)]) + plain[at + 1 :]


def graphs(saved: Saved, rng: random.Random) -> None:
    """Put cycles, loops, full graphs or unknown families in place of a DAG."""
    name = rng.choice([name for name, array in saved.arrays.items() if array.dtype == bool and array.ndim == 3])
    shape = saved.arrays[name].shape
    d = shape[1]
    every = np.zeros((max(1, shape[0]), d, d), dtype=bool)
    cycle, loop = every.copy(), every.copy()
    cycle[:, range(d), [*range(1, d), 0]] = True
    loop[:, 1, 1] = True
    order = rng.sample(range(d), d)
    full = np.triu(~every, 1)[:, order][:, :, order]
    saved.arrays[name] = rng.choice([cycle, loop, ~every, full, np.repeat(every, 40, axis=0), every])


def orders(saved: Saved, rng: random.Random) -> None:
    """Put what is no order, or another one, in place of an order; change what depends on it."""
    name = rng.choice([name for name in saved.arrays if name.endswith((".order", ".rows", ".keys", "reservoir"))])
    array = saved.arrays[name].copy()
    flat = array.reshape(-1)
    choice = rng.randrange(5)
    if choice == 0:
        flat[: max(1, len(flat) // 2)] = flat[-1] if len(flat) else 0
    elif choice == 1:
        flat[:] = flat[::-1].copy()
    elif choice == 2:
        flat[:1] = rng.choice([len(flat), -1 % 200, 99])
    elif choice == 3:
        flat[:] = 0
    else:
        np.random.default_rng(rng.randrange(99)).shuffle(array)
    saved.arrays[name] = array


def counts(saved: Saved, rng: random.Random) -> None:
    """Let counts contradict each other."""
    wanted = ("n_evals", "charged", "stalled", "empty", "reserve", "taken", "count", "begun", "rounds")
    wanted += ("waited", "improved_at", "steps", "successes", "failures", "seed", "length", "level", "score", "best")
    places = [path for path in _places(saved.plain) if path[-1] in wanted]
    for *path, name in rng.sample(places, rng.randrange(1, 4)):
        home, level = _inside(saved.plain, tuple(path)), 10.0 ** rng.randrange(-12, 12)
        if type(home[name]) is int:
            home[name] = rng.choice([0, 1, 2, 3, 5, 10, 100, 10**6, 2**59, home[name] + 1, max(0, home[name] - 1)])
        elif type(home[name]) is float:
            home[name] = rng.choice([0.0, -1.0, level, -level, home[name] * 1.5, 1e149, -1e149, 1e-300])


def generators(saved: Saved, rng: random.Random) -> None:
    """Give a generator the state of another kind, or one that it cannot be in."""
    homes = [path for path in _places(saved.plain) if path[-1] == "rng"]
    torch = [name for name in saved.arrays if name.endswith("generator")]
    if torch and rng.random() < 0.5:
        raw = saved.arrays[torch[0]].copy()
        choice = rng.randrange(5)
        if choice == 0:  # left, next: torch would read beyond its memory
            raw[8:12].view("<i4")[0] = rng.choice([0, -1, 2, 600, 624, 625, 2**31 - 1])
            raw[16:24].view("<u8")[0] = rng.choice([0, 1, 624, 625, 2**40, 2**64 - 1])
        elif choice == 1:
            raw[24:5016] = rng.choice([0, 255, 1])
        elif choice == 2:
            raw = np.random.default_rng(rng.randrange(99)).integers(0, 256, len(raw)).astype(np.uint8)
        elif choice == 3:
            raw = raw[: rng.choice([0, 16, 5055])]
        else:
            raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        saved.arrays[torch[0]] = raw
        return None
    if not homes:
        return counts(saved, rng)
    *path, name = rng.choice(homes)
    state = deepcopy(_inside(saved.plain, (*path, name)))
    changes: list[Any] = [
        *({"bit_generator": "MT19937", "state": {"key": [0] * 624, "pos": 0}}, {"bit_generator": "PCG64DXSM", **state}),
        *(state | {"inc": 0, "state": 0}, state | {"inc": 2**128}, state | {"inc": 4}, state | {"state": -1}),
        *(state | {"has_uint32": 2}, state | {"uinteger": 2**32}, state | {"state": str(state["state"])}, None, 7),
        *(state | {"state": rng.randrange(2**128)}, state | {"inc": rng.randrange(2**127) * 2 + 1}, "PCG64"),
    ]
    _inside(saved.plain, tuple(path))[name] = rng.choice(changes)
    return None


def other_part(saved: Saved, rng: random.Random) -> None:
    """Take the state, or a part of it, from a search of another kind."""
    other = deepcopy(rng.choice(list(bases().values())))
    choice = rng.randrange(3)
    if choice == 0:
        saved.plain, saved.arrays = other.plain, other.arrays
    elif choice == 1:
        saved.plain = other.plain
    else:
        names = set(saved.arrays) & set(other.arrays)
        for name in rng.sample(sorted(names), min(len(names), 3)):
            saved.arrays[name] = other.arrays[name]


def about_value(saved: Saved, rng: random.Random) -> None:
    """Put another value in place of one that the search says about itself; not the score, which is read elsewhere."""
    places = [path for path in _places(saved.about) if "settings" not in path and path[-1] != "score"]
    *path, name = rng.choice(places)
    home = _inside(saved.about, tuple(path))
    if rng.random() < 0.25:
        del home[name]
    elif rng.random() < 0.25 and isinstance(home, dict):
        home[rng.choice(NAMES)] = deepcopy(rng.choice(STRANGE))
    else:
        home[name] = deepcopy(rng.choice(STRANGE))


def about_settings(saved: Saved, rng: random.Random) -> None:
    """Change a setting; one that asks for much is left alone: anybody may ask for a large search."""
    settings = saved.about["parameters"]["settings"]
    settings = rng.choice([settings, settings["paper"], settings["parts"]])
    small = [value for value in STRANGE if not (type(value) in (int, float) and value > 10)]
    name = rng.choice(list(settings))
    choice = rng.randrange(4)
    if choice == 0:
        del settings[name]
    elif choice == 1:
        settings[rng.choice(NAMES)] = deepcopy(rng.choice(STRANGE))
    else:
        settings[name] = deepcopy(rng.choice(small))


def about_options(saved: Saved, rng: random.Random) -> None:
    """Give the score options, or the search knowledge, of the wrong kind."""
    parameters = saved.about["parameters"]
    if rng.random() < 0.5:
        name = rng.choice(["penalty", "edge_prior", "targets", "device", "table", "alpha", *NAMES[:6]])
        parameters["score_options"] = {name: deepcopy(rng.choice([*STRANGE, [[0.0] * 5] * 5, [[True] * 5] * 30]))}
    else:
        part = rng.choice(["forbidden", "required", "tiers", "roots", "leaves", "context", "max_parents", *NAMES[:3]])
        value = rng.choice([*STRANGE, ["x0"], ["x9"], [["x0", "x1"]], [["x0", "x1"], ["x1", "x0"]], {"x0": 1}, 0])
        parameters["knowledge"] = {part: deepcopy(value)}


def manifest(saved: Saved, rng: random.Random) -> None:
    """Change what names the files, their format or their checksums."""
    name = rng.choice(["format", "version", "state", "sha256", "about", "extra"])
    paths = ["../state-0.npz", "/etc/passwd", "table.npz", "checkpoint.json", ".", "", "state-1.npz", "a\0b", "x" * 300]
    saved.manifest[name] = deepcopy(rng.choice([*STRANGE, *paths, 1, 3, "2", 2.0]))


def tables(saved: Saved, rng: random.Random) -> None:
    """Change the copy of the data."""
    values = saved.table["values"]
    strange = [np.nan, np.inf, 1e308, 0.0]
    choices: list[Callable[[], Any]] = [
        *(lambda: values[:2], lambda: values[:, :-1], lambda: values.astype("f4"), lambda: values.ravel()),
        *(lambda: values.astype(object), lambda: np.full_like(values, rng.choice(strange)), lambda: values[::-1]),
        *(lambda: np.where(np.eye(*values.shape, dtype=bool), rng.choice(strange), values), lambda: values * 1e200),
        *(lambda: np.repeat(values[:, :1], values.shape[1], axis=1), lambda: pickle.dumps(Canary()), lambda: b""),
    ]
    if rng.random() < 0.7:
        saved.table["values"] = rng.choice(choices)()
    else:
        weights = [np.zeros(len(values)), -np.ones(len(values)), np.full(len(values), np.nan), np.ones(3)]
        saved.table[rng.choice(["weights", *NAMES])] = rng.choice([*weights, np.full(len(values), 1e300)])


def of_version_1(saved: Saved, rng: random.Random) -> None:
    """Write nodes as version 1 did: paths of attributes that lead to code, put in place of methods."""
    path = [
        ["evaluate", "__func__", "__globals__", "__builtins__", "exec"],
        ["propose", "__globals__", "torch", "load"],
    ]
    method = rng.choice(["evaluate", "propose", "learn", "run", "_round", "_finished"])
    kind = rng.choice(
        ["drbo.search.loop:Search", "drbo.search.orders.search:OrderSearch", "drbo.search.checkpoint.saver:Course"]
    )
    nodes = [{"object": kind, "items": {method: {"r": 1}}}, {"given": path}, {"bytes": "00"}]
    text = json.dumps(nodes).encode()
    choice = rng.randrange(3)
    if choice == 0:
        saved.manifest["version"] = 1
        saved.arrays = {"skeleton": np.frombuffer(text, dtype=np.uint8)}
    elif choice == 1:
        saved.text = text
    else:
        saved.plain = {**saved.plain, **nodes[rng.randrange(3)]}


FORGERIES: list[Callable[[Saved, random.Random], None]] = [
    *(plain_value, plain_value, plain_number, plain_missing, plain_extra, plain_moved, plain_text, array_type),
    *(array_shape, array_value, array_value, array_random, array_missing, array_extra, member_bytes, whole_archive),
    *(graphs, orders, counts, counts, generators, other_part, about_value, about_settings, about_options, manifest),
    *(tables, of_version_1),
]


def forgeries(cases: int, seed: int) -> Iterator[tuple[str, Saved]]:
    """Yield forgeries that differ from each other and from the searches themselves, with what was done to which."""
    names = list(bases())
    seen = {saved.digest() for saved in bases().values()}
    for number in range(cases):
        lap, place = divmod(number, len(FORGERIES))  # every lap meets each forgery, with another kind of search
        name, forge = names[(place + 5 * lap) % len(names)], FORGERIES[place]
        rng, saved = random.Random(f"{seed} {number}"), bases()[name]
        while saved.digest() in seen:
            saved = deepcopy(bases()[name])
            forge(saved, rng)
        seen.add(saved.digest())
        yield f"{forge.__name__} of {name}", saved
