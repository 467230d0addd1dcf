"""A mutation fuzzer for everything that drbo reads.

    python -m tests.faults.fuzz csv --cases 10000 --seed 1

A case is good if the reader returns or raises a DrboError. Anything else is an escape: another exception, more memory
or time than the limit, a crash of the process. Inputs that get a new kind of answer are kept in ``corpus/`` (with
``--keep``) and are the parents of later ones, as in coverage-guided fuzzers; tests read the corpus again.
"""

import argparse
import base64
import contextlib
import gzip
import hashlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tests.faults import fuzz_tables

CORPUS = Path(__file__).parent / "corpus"
KEPT = 40  # inputs per reader
KEPT_BYTES = 6_000
CASE_SECONDS = 10
#: With a process for each file, which a machine that does much else may start slowly; its own limits count CPU.
GUARDED_SECONDS = 300
CASE_BYTES = 3 * 2**30  # address space beyond what is there when the fuzzer starts

TOKENS = [
    *(b"", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b'"', b"'", b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\\"),
    *(b"NaN", b"nan", b"inf", b"-inf", b"1e309", b"-1e308", b"1e-320", b"0", b"-0", b"-1", b"1", b"1.5", b"0x10"),
    *(b"9" * 30, b"9" * 5000, b"1e" + b"9" * 20, b"true", b"null", b"[]", b"{}", b"[" * 200, b'{"a":' * 100),
    *(
        b"../../etc/passwd",
        b"/dev/zero",
        b"$(id)",
        b"=cmd()",
        b"__import__('os')",
        b"\x1b[31m",
        b"<script>",
        b"$\\frac",
    ),
    *("é".encode(), "\u202e".encode(), "\U0001f600".encode(), "\u2028".encode(), b"\xed\xa0\x80", b"\x85", b"\x1c"),
    *(b"a" * 70_000, b"a," * 3000, b"1,2\n" * 2000, b"->", b"a -> a", b"source", b"X.npy", b"names.npy", b"PK\x03\x04"),
    *(
        b"(1,)",
        b"(10000000, 10000000)",
        b"(-1, 2)",
        b"'|O'",
        b"'<f8'",
        b"'<U99999999'",
        b"'<M8[ns]'",
        b"True",
        b"False",
    ),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, 1e-320, "", " ", "a", "b", "c"),
    *("a -> b", "a->", "->", "a -> b -> c", "\ud800", "\0", "x" * 10_000, "\x1b[2J", "../..", "1e5", [], {}, [[]]),
    *([["a", "b"]], [["a"]], ["a", "a"], {"a": 1}, {"a": -1}, {"": 1}, [1, 2], [None], ["a", ["b", "c"]], [{}]),
]


def _mutated_bytes(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        end = min(end, at + rng.choice((1, 4, 16, 10**6)))
        kind = rng.randrange(9)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:end] = rng.choice(TOKENS)
        elif kind == 4:
            data[at:at] = rng.choice(TOKENS)
        elif kind == 5:
            data[at:at] = bytes(data[at:end]) * rng.choice((1, 2, 10))
        elif kind == 6:
            other = rng.choice(pool)
            cut = rng.randrange(len(other) + 1)
            data[at:] = other[cut:]
        elif kind == 7 and len(data) >= 8:
            place = rng.randrange(len(data) - 3)
            data[place : place + 4] = struct.pack("<I", rng.choice((0, 1, 2**31 - 1, 2**31, 2**32 - 1, 255, 65535)))
        else:
            data = data[:at]
    return bytes(data[:400_000])


def _mutated_value(value: Any, rng: random.Random) -> Any:
    """Return a JSON value with one place changed."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        changed, key = dict(value), rng.choice(list(value))
        kind = rng.randrange(10)
        if kind == 0:
            del changed[key]
        elif kind == 1:
            changed[str(rng.choice(VALUES))] = changed[key]
        else:
            changed[key] = _mutated_value(changed[key], rng)
        return changed
    if isinstance(value, list) and value and rng.random() < 0.8:
        changed_list, at = list(value), rng.randrange(len(value))
        kind = rng.randrange(8)
        if kind == 0:
            del changed_list[at]
        elif kind == 1:
            changed_list.insert(at, rng.choice(VALUES))
        elif kind == 2:
            changed_list *= rng.choice((2, 50))
        else:
            changed_list[at] = _mutated_value(changed_list[at], rng)
        return changed_list
    return rng.choice(VALUES)


def _json_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    if rng.random() < 0.4:
        return _mutated_bytes(raw, pool, rng)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return _mutated_bytes(raw, pool, rng)
    for _ in range(rng.choice((1, 1, 2, 4))):
        value = _mutated_value(value, rng)
    return json.dumps(value).encode()


def _zip_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    """Change what is inside an archive, with a right checksum, so that more than the checksum is tested."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return _mutated_bytes(raw, pool, rng)
    if rng.random() < 0.25 or not members:
        return _mutated_bytes(raw, pool, rng)
    inside = rng.choice(list(members))
    if rng.random() < 0.15:
        members[rng.choice(("X.npy", "names.npy", "dag.npy", "../x.npy", "a", "local.npy"))] = members.pop(inside)
    else:
        members[inside] = _mutated_bytes(members[inside], list(members.values()), rng)
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", rng.choice((0, 8))) as archive:
        warnings.simplefilter("ignore")
        for name, content in members.items():
            archive.writestr(name, content)
            if rng.random() < 0.03:
                archive.writestr(name, content)
    return buffer.getvalue()


def _csv_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    """Change a text; one that is packed is packed again."""
    if raw[:2] == b"\x1f\x8b" and rng.random() < 0.7:
        try:
            return gzip.compress(_mutated_bytes(gzip.decompress(raw), pool, rng), 1)
        except Exception:
            return _mutated_bytes(raw, pool, rng)
    return _mutated_bytes(raw, pool, rng)


def _page_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    """Change bytes where they are, so that the pages of a database stay where they are."""
    if rng.random() < 0.2 or not raw:
        return _mutated_bytes(raw, pool, rng)
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        token = rng.choice(
            (*TOKENS, bytes([rng.randrange(256)]), struct.pack(">I", rng.choice((0, 1, 2**31, 2**32 - 1))))
        )
        at = rng.randrange(len(data))
        data[at : at + len(token)] = token[: len(data) - at]
    return bytes(data)


def _result_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    """Change the JSON, the NPZ, or the NPZ with the checksum in the JSON made to fit."""
    try:
        parts = json.loads(raw)
        text, arrays = parts["json"], base64.b64decode(parts["npz"])
        content = json.loads(text)
    except Exception:
        return _mutated_bytes(raw, pool, rng)
    kind = rng.randrange(3)
    if kind == 0:
        raw = text.encode(errors="surrogateescape")
        text = _json_mutant(raw, [raw], rng).decode(errors="surrogateescape")
    else:
        arrays = _zip_mutant(arrays, [arrays], rng)
        if kind == 1:
            text = json.dumps(content | {"sha256": hashlib.sha256(arrays).hexdigest()})
    return json.dumps({"json": text, "npz": base64.b64encode(arrays).decode()}).encode()


def _graph_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    return (_zip_mutant if raw[:2] == b"PK" else _json_mutant)(raw, pool, rng)


def _npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def _csv_seeds() -> list[bytes]:
    rng = np.random.default_rng(0)
    cells = zip(*rng.normal(size=(2, 9)), "xyzxyzxyz", strict=True)
    rows = "\n".join(f"{a:.6g},{b:.6g},{c}" for a, b, c in cells)
    text = f"height,weight,group\n{rows}\n".encode()
    quoted = b'"a ""b""";c\r\n1;"2"\r\n3;4\r\n5;"6"\r\n7;9\r\n'
    return [text, quoted, text.replace(b",", b"\t"), gzip.compress(text, mtime=0), b"\xef\xbb\xbf" + text]


def _parquet_seeds() -> list[bytes]:
    import pandas as pd

    seeds = []
    frame = pd.DataFrame({"a": [1.0, 2.5, 3, 4], "b": [1, 2, 3, 5], "c": list("xyxy"), "e": [True, False, True, True]})
    frame["d"] = frame["c"].astype("category")
    dates = pd.DataFrame(
        {"t": pd.date_range("2020-01-01", periods=4), "n": [1.0, None, 2.0, 3.0], "l": [[1], [2], [], [3]]}
    )
    for table, codec in ((frame, "snappy"), (frame, None), (dates, "gzip")):
        buffer = io.BytesIO()
        table.to_parquet(buffer, compression=codec)
        seeds.append(buffer.getvalue())
    return seeds


def _npz_seeds() -> list[bytes]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 3))
    return [
        *(_npz(X=x, names=np.array(["a", "b", "c"])), _npz(values=x.astype("f4"), names=np.array([b"a", b"b", b"c"]))),
        *(
            _npz(X=(x > 0)),
            _npz(X=np.array([["a", "b"]] * 4)),
            _npy(x),
            _npy(np.asfortranarray(x)),
            _npy(x.astype(">i2")),
        ),
        *(_npy(np.array([[{}, 1]], dtype=object)), _npy(x.astype(complex)), _npy(x.astype("M8[s]"))),
    ]


def _graph_seeds() -> list[bytes]:
    return [
        b"source,target\na,b\nb,c\n",
        b"from;to;weight\na;b;1\nb;c;2\n",
        b"0,1,0\n0,0,1\n0,0,0\n",
        b",a,b\na,0,1\nb,0,0\n",
        b"a,b\n0,1\n0,0\n",
        b'{"nodes": ["a", "b", "c"], "edges": [["a", "b"], ["b", "c"]]}',
        b'{"edges": [["a", "b"]]}',
        _npz(dag=np.triu(np.ones((3, 3), bool), 1), names=np.array(["a", "b", "c"])),
        _npz(adjacency=np.triu(np.ones((3, 3)), 1)),
        _npy(np.triu(np.ones((3, 3), int), 1)),
    ]


def _result_seeds() -> list[bytes]:
    from drbo import Knowledge
    from drbo.claims.record import Margins, Proof, RankedClass
    from drbo.claims.refits.confidence import Confidence
    from drbo.data.checks.facts import Audit, ColumnFacts, Finding
    from drbo.graph.marks import MarkedGraph
    from tests.hidden import with_hidden
    from tests.results import make_result

    dag = np.array([[0, 1], [0, 0]])
    common = {"local": [-3.0, -2.0], "price": [0.0, -2.5], "score": -7.5, "pruned_score": -7.5}
    trace = {"n_evals": [1, 2], "n_local": [2, 4], "seconds": [0.1, 0.2], "best": [-8.0, -7.5]}
    results = [
        make_result(dag, names=("rain", "wet"), **common),
        with_hidden([[0, 0, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]]),
        make_result(
            dag,
            **common,
            names=("a\x1b", "=b"),
            score_equivalent=False,
            weights=dag * 2.0,
            standardised_weights=dag * 0.5,
            trace=trace,
            margins=Margins(dag * 1.0, dag * 0.5, exact=True),
            classes=(RankedClass(score=-7.5, behind=0.0, edges=(("a\x1b", "=b"),)),),
            proof=Proof(upper_bound=-7.5, tolerance=1e-9, valid_for="all DAGs"),
            confidence=Confidence.of([MarkedGraph.of(dag, ("a\x1b", "=b"))]),
            knowledge=Knowledge(max_parents=2),
            audit=Audit(
                (ColumnFacts(name="=b", kind="numeric", distinct=2, counts=(1, 1)),),
                (Finding("a", "b", serious=False),),
            ),
            settings={"max_evals": 10, "deep": {"a": [1, None]}},
            reasons=("because",),
            versions={"drbo": "0"},
        ),
    ]
    seeds = []
    for result in results:
        with tempfile.TemporaryDirectory() as folder:
            result.save(folder)
            text, raw = (Path(folder) / "result.json").read_text(), (Path(folder) / "result.npz").read_bytes()
        seeds.append(json.dumps({"json": text, "npz": base64.b64encode(raw).decode()}).encode())
    return seeds


def _knowledge_seeds() -> list[bytes]:
    full = {
        "forbidden": [["a", "b"], "b -> c"],
        "required": ["c -> d"],
        "tiers": [["a", "b"], ["c"]],
        "forbid_within_tiers": True,
        "roots": ["a"],
        "leaves": ["d"],
        "max_parents": {"b": 1, "c": 2},
    }
    return [json.dumps(full).encode(), b'{"max_parents": 2}', b'{"required": [["a", "b"], ["b", "c"], ["c", "a"]]}']


def _toml_seeds() -> list[bytes]:
    return [
        b'[knowledge]\nrequired = ["a -> b"]\nforbidden = [["b", "c"]]\nmax_parents = {b = 2}\n',
        b'tiers = [["a", "b"], ["c"]]\nforbid_within_tiers = true\nroots = ["a"]\nmax_parents = 3\n',
        b'knowledge = {leaves = ["d"], required = ["c -> d"]} # why\n',
        b"a.b.c = 1979-05-27T07:32:00Z\n[[x]]\ny = 0xff\nz = -inf\n",
    ]


def _checkpoint_seeds() -> list[bytes]:
    """Return saved searches, each as one text: manifest, state and table."""
    from tests.faults.forge import bases

    seeds = []
    for saved in bases().values():
        with tempfile.TemporaryDirectory() as name:
            saved.write(Path(name) / "run")
            manifest = json.loads((Path(name) / "run" / "checkpoint.json").read_text())
            raw = [(Path(name) / "run" / file).read_bytes() for file in (manifest["state"], "table.npz")]
        state, table = (base64.b64encode(part).decode() for part in raw)
        seeds.append(json.dumps({"manifest": manifest, "state": state, "table": table}).encode())
    return seeds


def _checkpoint_mutant(raw: bytes, pool: list[bytes], rng: random.Random) -> bytes:
    """Change manifest, state or table; mostly with checksums that fit, so that more than those is tested."""
    try:
        parts = json.loads(raw)
        state, table = base64.b64decode(parts["state"]), base64.b64decode(parts["table"])
        manifest = dict(parts["manifest"])
    except Exception:
        return _mutated_bytes(raw, pool, rng)
    kind = rng.randrange(5)
    if kind == 0:
        manifest = _mutated_value(manifest, rng)
    elif kind == 1:
        table = _zip_mutant(table, [table], rng)
    elif kind == 2:
        state = _zip_mutant(state, [state], rng)
    else:
        state = _fields_mutant(state, rng)
    if rng.random() < 0.9 and isinstance(manifest, dict):
        manifest["sha256"] = hashlib.sha256(state).hexdigest()
        if isinstance(manifest.get("about"), dict):
            manifest["about"] = manifest["about"] | {"table_sha256": hashlib.sha256(table).hexdigest()}
    parts = {"manifest": manifest, "state": base64.b64encode(state).decode(), "table": base64.b64encode(table).decode()}
    return json.dumps(parts).encode()


def _fields_mutant(state: bytes, rng: random.Random) -> bytes:
    """Change the plain fields of a saved search."""
    try:
        with np.load(io.BytesIO(state)) as loaded:
            arrays = dict(loaded)
        plain = json.loads(arrays["fields"].tobytes())
    except Exception:
        return _zip_mutant(state, [state], rng)
    for _ in range(rng.choice((1, 1, 3))):
        plain = _mutated_value(plain, rng)
    return _npz(**arrays | {"fields": np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8)})


def _request_seeds() -> list[bytes]:
    """Return what a search was asked for, as DrBO saves it before it starts."""
    from drbo import DrBO, Knowledge, Settings
    from drbo.search.checkpoint.parameters import plain_parameters

    model = DrBO(score="bge", knowledge=Knowledge(roots=["a"]))
    own = DrBO(score="os:system", preset="paper", score_options={"penalty": 2.0})
    others = {"settings": Settings().to_dict(), "random_state": 0}
    abouts = [
        {"columns": ["a", "b", "c"], "notes": ["n"], "versions": {"numpy": "2"}, "seconds": 0.0, "n_evals": 0}
        | {"parameters": plain_parameters(each.get_params(), start) | others}
        for each, start in ((model, np.triu(np.ones((3, 3)), 1)), (own, None))
    ]
    return [json.dumps(about).encode() for about in abouts]


def _read_request(raw: bytes, folder: Path) -> None:
    """Read a search that was asked for, with a checksum that fits, as far as its estimator would be made."""
    from drbo.data.statistics.statistics import Statistics
    from drbo.scores.named import score_of_file
    from drbo.search.checkpoint import request
    from drbo.search.checkpoint.saver import Saved, begin

    plain = {"columns": ["a", "b", "c"], "notes": [], "versions": {}, "parameters": {}}
    table = Statistics.from_array(np.random.default_rng(0).normal(size=(9, 3)), ["a", "b", "c"])
    added = {key: value for key, value in begin(folder, table, plain).items() if key not in plain}
    try:
        about = json.loads(raw)
        request.save(folder, about | added if isinstance(about, dict) else about)
    except (ValueError, RecursionError):
        (folder / request.REQUEST).write_bytes(raw)
    arguments = Saved.load(folder).arguments()
    score_of_file(arguments["score"], None, "the saved search")


def _run_seeds() -> list[bytes]:
    from drbo.result.files.plan import Plan

    plans = [
        Plan(("drbo", "fit", "t.csv"), "2025-01-01"),
        Plan(("drbo", "fit", "t.csv"), "now", resamples=9, kind="cluster"),
    ]
    seeds = []
    for plan in plans:
        with tempfile.TemporaryDirectory() as folder:
            plan.save(Path(folder))
            seeds.append((Path(folder) / "run.json").read_bytes())
    return seeds


def _read_run(raw: bytes, folder: Path) -> None:
    """Read the plan of a run as ``drbo resume`` and ``drbo fit -o`` do."""
    from drbo.claims.refits.resampling import Resampling
    from drbo.cli.run_folder import check_folder
    from drbo.result.files.plan import Plan

    np.save(folder / "clusters.npy", np.arange(9))
    (folder / "run.json").write_bytes(raw)
    plan = Plan.load(folder)
    assert plan is not None
    wish = plan.resampling(folder)
    if wish is not None:
        Resampling(wish["n"], wish["kind"], None, wish.get("clusters")).check(9)
    check_folder(folder)


def _lock_seeds() -> list[bytes]:
    from dataclasses import asdict, replace

    from drbo.data.files.lock import Owner

    owner = Owner.this_process()
    owners = (owner, replace(owner, started="1"), replace(owner, space="elsewhere"))
    return [*(json.dumps(asdict(each)).encode() for each in owners), b"", b"{}", b'{"pid": 1}']


def _read_lock(raw: bytes, folder: Path) -> None:
    from drbo.data.files.lock import LOCK, discard_ended, locked

    (folder / LOCK).write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a lock that is taken over
        with locked(folder):
            pass
    discard_ended(folder)


def _settings_seeds() -> list[bytes]:
    from drbo import Settings

    return [json.dumps(Settings().to_dict()).encode(), b'{"dropout": 0.3, "max_local": null, "space": "low-rank"}']


def _config_seeds() -> list[bytes]:
    from drbo.cli.commands.init import TABLES

    return [
        b'[fit]\ndata = "t.csv"\noutput = "run"\nmax-evals = 100\ntime_limit = "5m"\nrequire = ["a->b"]\n',
        b'[fit]\nscore = "bge"\nseed = 3\nquiet = true\n[score_options]\npenalty = 2.0\n[settings]\ndropout = 0.3\n',
        b'[fit]\nscore = "os:system"\ntime-limit = 300\n[settings]\nexact = "on"\nseeds = 3\n[read]\nheader = true\n',
        b"[fit]\nworkers = 2\n" + TABLES.replace("# ", "").encode(),
    ]


def _resamples_seeds() -> list[bytes]:
    from drbo.graph.marks import MarkedGraph

    graphs = [MarkedGraph.of(np.triu(np.ones((3, 3), bool), k), "abc").to_plain() for k in (1, 2)]
    return [json.dumps({"key": "k", "graphs": graphs}).encode(), b'{"key": "other", "graphs": []}']


def _read_table(path: Path) -> None:
    from drbo.data.checks.check import check_table
    from drbo.data.reading.read import read_table

    check_table(read_table(path), on_constant="drop", on_collinear="keep")


def _read_csv(raw: bytes, folder: Path) -> None:
    path = folder / ("t.csv.gz" if raw[:2] == b"\x1f\x8b" else "t.csv")
    path.write_bytes(raw)
    _read_table(path)


def _read_parquet(raw: bytes, folder: Path) -> None:
    (folder / "t.parquet").write_bytes(raw)
    _read_table(folder / "t.parquet")


def _read_npz(raw: bytes, folder: Path) -> None:
    path = folder / ("t.npy" if raw[:6] == b"\x93NUMPY" else "t.npz")
    path.write_bytes(raw)
    _read_table(path)


def _read_graph(raw: bytes, folder: Path) -> None:
    from drbo.result.files.export import read_graph

    suffix = (
        ".npz" if raw[:2] == b"PK" else ".npy" if raw[:6] == b"\x93NUMPY" else ".json" if raw[:1] == b"{" else ".csv"
    )
    path = folder / f"g{suffix}"
    path.write_bytes(raw)
    read_graph(path)
    read_graph(path, names=["a", "b", "c"])


def _read_result(raw: bytes, folder: Path) -> None:
    from drbo import Result

    try:
        parts = json.loads(raw)
        text, arrays = parts["json"].encode(errors="surrogatepass"), base64.b64decode(parts["npz"])
    except Exception:
        text = arrays = raw
    (folder / "result.json").write_bytes(text)
    (folder / "result.npz").write_bytes(arrays)
    result = Result.load(folder)
    result.summary()
    result.save(folder / "again")


def _read_knowledge(raw: bytes, folder: Path) -> None:
    from drbo import Knowledge
    from drbo.constraints import Constraints

    try:
        mapping = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if isinstance(mapping, dict):
        known = Knowledge.from_mapping(mapping)
        Constraints.of(known, ["a", "b", "c", "d"])
        Knowledge.from_mapping(known.to_mapping())


def _read_toml(raw: bytes, folder: Path) -> None:
    from drbo import Knowledge
    from drbo.constraints import Constraints

    (folder / "k.toml").write_bytes(raw)
    Constraints.of(Knowledge.from_toml(folder / "k.toml"), ["a", "b", "c", "d"])


def _read_checkpoint(raw: bytes, folder: Path) -> None:
    """Read a saved search and put its state into a fresh one; ``attack`` lets such searches go on, too."""
    from drbo import DrBO
    from drbo.problem import prepare, request_of
    from drbo.search.checkpoint import files as checkpoint
    from drbo.search.checkpoint.saver import Saved
    from tests.faults.forge import bases

    try:
        parts = json.loads(raw)
        state, table = base64.b64decode(parts["state"]), base64.b64decode(parts["table"])
        manifest = parts["manifest"]
        if isinstance(manifest, dict):
            manifest = manifest | {"state": "state-0.npz"}
            manifest["checksum"] = checkpoint._checksum(manifest)
        text = json.dumps(manifest).encode()
    except Exception:
        state = table = text = raw
    for name, content in (("checkpoint.json", text), ("state-0.npz", state), ("table.npz", table)):
        (folder / name).write_bytes(content)
    saved = Saved.load(folder)
    given = saved.arguments()
    if given["settings"].to_dict() in [base.about["parameters"]["settings"] for base in bases().values()]:
        defaults = DrBO().get_params(deep=False)
        prepare(request_of(defaults | given, defaults), saved.data(), saved)


def _read_config(raw: bytes, folder: Path) -> None:
    """Read options as ``drbo fit --config`` does; an error of click is one in words, too."""
    import click

    from drbo.cli.commands.fit import fit
    from drbo.cli.fit_request import FitRequest

    (folder / "run.toml").write_bytes(raw)
    with contextlib.suppress(click.ClickException, click.exceptions.Exit), contextlib.redirect_stdout(io.StringIO()):
        FitRequest.of(fit.make_context("fit", ["t.csv", "--config", str(folder / "run.toml")]).params)


def _read_resamples(raw: bytes, folder: Path) -> None:
    from drbo.claims.refits.resampling import KeptResamples

    (folder / "resamples.json").write_bytes(raw)
    KeptResamples(folder / "resamples.json", "k").load(["a", "b", "c"])


def _read_settings(raw: bytes, folder: Path) -> None:
    from drbo import Settings

    try:
        mapping = json.loads(raw)
    except (ValueError, RecursionError):
        return
    if isinstance(mapping, dict):
        Settings().with_(**mapping)


Mutator = Callable[[bytes, list[bytes], random.Random], bytes]
READERS: dict[str, tuple[Callable[[], list[bytes]], Mutator, Callable[[bytes, Path], None]]] = {
    "csv": (_csv_seeds, _csv_mutant, _read_csv),
    "parquet": (_parquet_seeds, _mutated_bytes, _read_parquet),
    "excel": (fuzz_tables.excel_seeds, _zip_mutant, fuzz_tables.read_excel),
    "feather": (fuzz_tables.feather_seeds, _mutated_bytes, fuzz_tables.read_feather),
    "sqlite": (fuzz_tables.sqlite_seeds, _page_mutant, fuzz_tables.read_sqlite),
    "duckdb": (fuzz_tables.duckdb_seeds, _page_mutant, fuzz_tables.read_duckdb),
    "json lines": (fuzz_tables.json_lines_seeds, _mutated_bytes, fuzz_tables.read_json_lines),
    "encodings": (fuzz_tables.encoding_seeds, _mutated_bytes, fuzz_tables.read_encodings),
    "stdin": (fuzz_tables.stdin_seeds, _csv_mutant, fuzz_tables.read_stdin),
    "npz": (_npz_seeds, _zip_mutant, _read_npz),
    "graph": (
        _graph_seeds,
        lambda raw, pool, rng: (_zip_mutant if raw[:2] == b"PK" else _json_mutant)(raw, pool, rng),
        _read_graph,
    ),
    "result": (_result_seeds, _result_mutant, _read_result),
    "knowledge": (_knowledge_seeds, _json_mutant, _read_knowledge),
    "toml": (_toml_seeds, _mutated_bytes, _read_toml),
    "checkpoint": (_checkpoint_seeds, _checkpoint_mutant, _read_checkpoint),
    "settings": (_settings_seeds, _json_mutant, _read_settings),
    "config": (_config_seeds, _mutated_bytes, _read_config),
    "resamples": (_resamples_seeds, _json_mutant, _read_resamples),
    "request": (_request_seeds, _json_mutant, _read_request),
    "run": (_run_seeds, _json_mutant, _read_run),
    "lock": (_lock_seeds, _json_mutant, _read_lock),
}
#: Modules whose branches guide atheris: readers, and the parsers in Python under them. Compiled kernels are left alone.
GUIDING = [
    *("drbo.data", "drbo.knowledge", "drbo.settings", "drbo.result.files.export", "drbo.result.result"),
    *("drbo.graph.marks", "drbo.result.words.answer", "drbo.result.records", "drbo.result.files.storage"),
    *(
        "drbo.claims.refits.resampling",
        "drbo.search.checkpoint.files",
        "drbo.search.checkpoint.saver",
        "drbo.search.state",
    ),
    *(
        "drbo.cli.options",
        "drbo.cli.commands.fit",
        "drbo.cli.fit_request",
        "drbo.result.files.plan",
        "drbo.search.checkpoint.request",
        "drbo.toml",
    ),
    *("json", "tomllib", "zipfile", "gzip", "csv", "numpy.lib"),
]


class TooSlow(BaseException):
    """A case took longer than CASE_SECONDS; no reader may catch it."""


def _ring(_signal: int, _frame: Any) -> None:
    raise TooSlow


def answer(reader: str, raw: bytes, folder: Path) -> tuple[bool, str]:
    """Return whether a case is good, and its answer without names and numbers."""
    from drbo.errors import DrboError

    _, _, read = READERS[reader]
    signal.setitimer(signal.ITIMER_REAL, CASE_SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read(raw, folder)
    except DrboError as error:
        words = re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+", "_", error.message.replace(str(folder), ""))
        return True, f"{type(error).__name__}: {words[:60]}"
    except BaseException:
        return False, traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return True, "accepted"


class Fuzzer:
    """Tries mutants of the seeds and the corpus of one reader, and counts what happened."""

    def __init__(self, reader: str, *, keep: bool = False) -> None:
        make, self._mutate, _ = READERS[reader]
        self.reader, self.keep, self.home = reader, keep, CORPUS / reader
        self.pool = make() + [path.read_bytes() for path in sorted(self.home.glob("*"))]
        self.kinds: set[str] = set()
        self.escapes: list[str] = []
        self.slowest, self.tried, self.start = 0.0, 0, time.monotonic()
        self.memory = most_memory()  # libraries count before

    def mutant(self, raw: bytes, rng: random.Random) -> bytes:
        return self._mutate(raw, self.pool, rng)

    def try_one(self, raw: bytes, folder: Path) -> None:
        """Read one input; keep it where its answer is new."""
        begun = time.monotonic()
        good, kind = answer(self.reader, raw, folder)
        self.slowest, self.tried = max(self.slowest, time.monotonic() - begun), self.tried + 1
        new = kind not in self.kinds
        self.kinds.add(kind)
        if not good:
            self.escapes.append(kind)
        if new and len(raw) <= 50_000:
            self.pool.append(raw)
        room = new and len(raw) <= KEPT_BYTES and len(list(self.home.glob("*"))) < KEPT
        if self.keep and (room or not good):
            self.home.mkdir(parents=True, exist_ok=True)
            (self.home / hashlib.sha256(raw).hexdigest()[:16]).write_bytes(raw)

    def outcome(self) -> dict[str, Any]:
        return {
            "reader": self.reader,
            "cases": self.tried,
            "answers": len(self.kinds),
            "escapes": len(self.escapes),
            "slowest": round(self.slowest, 3),
            "mib": max(0, most_memory() - self.memory),
            "seconds": round(time.monotonic() - self.start, 1),
            "examples": sorted(set(self.escapes))[:5],
        }


def most_memory() -> int:
    """Return the most MiB that this process has taken so far, or one that it has waited for."""
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024


def fuzz(fuzzer: Fuzzer, cases: int, seed: int, seconds: float) -> dict[str, Any]:
    """Try mutants drawn at random, the seeds and the corpus first."""
    rng, queue = random.Random(seed), list(fuzzer.pool)
    with tempfile.TemporaryDirectory() as name:
        while fuzzer.tried < cases and time.monotonic() - fuzzer.start < seconds:
            raw = queue.pop() if queue else fuzzer.mutant(rng.choice(fuzzer.pool), rng)
            fuzzer.try_one(raw, Path(name))
    return fuzzer.outcome()


def fuzz_guided(make: Callable[[], Fuzzer], cases: int, seed: int) -> NoReturn:
    """Try mutants that atheris (libFuzzer) chooses by the branches that they reach; prints the outcome and exits."""
    import atheris

    with atheris.instrument_imports(include=GUIDING, enable_loader_override=False):
        fuzzer = make()
        limit_memory()
    folder, start = Path(tempfile.mkdtemp()), Path(tempfile.mkdtemp())
    for number, raw in enumerate(fuzzer.pool):
        (start / str(number)).write_bytes(raw)

    def one(raw: bytes) -> None:
        fuzzer.try_one(raw, folder)
        if fuzzer.tried == cases:
            shutil.rmtree(folder)
            shutil.rmtree(start)
            print(json.dumps(fuzzer.outcome()), flush=True)
            os._exit(1 if fuzzer.escapes else 0)  # libFuzzer would not give control back

    def mutate(raw: bytes, most: int, number: int) -> bytes:
        return fuzzer.mutant(raw, random.Random(number))[:most]

    # Time and memory have limits of our own.
    words = [sys.argv[0], f"-seed={seed + 1}", "-timeout=0", "-rss_limit_mb=0", "-max_len=400000", "-verbosity=0"]
    atheris.Setup([*words, str(start)], one, custom_mutator=mutate)
    atheris.Fuzz()
    raise AssertionError("libFuzzer ended before its cases did")


def limit_memory() -> None:
    """Let more than CASE_BYTES of new memory be an error, not a full machine; a core dump is not wanted either."""
    import drbo.estimator  # libraries count before the limit is set

    with contextlib.suppress(ImportError):
        import drbo.scores.gp.gp  # noqa: F401

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + CASE_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def read_here() -> None:
    """Read binary files in this process: the checks of each format are tried, without the limits of a guarded one."""
    import drbo.data.reading.guard

    drbo.data.reading.guard.can_start = lambda: False


def main(words: list[str] | None = None) -> int:
    """Fuzz readers, one after the other, and print each outcome as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", choices=list(READERS), nargs="+", metavar="reader")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop earlier")
    parser.add_argument("--keep", action="store_true", help="add inputs with new answers to the corpus")
    parser.add_argument("--guided", action="store_true", help="let atheris choose inputs by the branches they reach")
    parser.add_argument("--guarded", action="store_true", help="read binary files by the guarded process, as users do")
    options = parser.parse_args(words)
    if options.guarded:
        globals()["CASE_SECONDS"] = GUARDED_SECONDS
    else:
        read_here()
    signal.signal(signal.SIGALRM, _ring)
    if options.guided:
        fuzz_guided(lambda: Fuzzer(options.readers[0], keep=options.keep), options.cases, options.seed)
    limit_memory()
    escapes = 0
    for reader in options.readers:
        outcome = fuzz(Fuzzer(reader, keep=options.keep), options.cases, options.seed, options.seconds)
        print(json.dumps(outcome), flush=True)
        escapes += outcome["escapes"]
    return 1 if escapes else 0


if __name__ == "__main__":
    sys.exit(main())
