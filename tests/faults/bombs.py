"""Small files that would take minutes or gigabytes to read, one or more for each reader.

    python -m tests.faults.bombs csv

Each is read once, as a user's file is: binary ones by the guarded process. The outcome is a line of JSON: the answer,
the seconds of CPU, and the bytes of memory that it took. With --here, they are read in this process instead, by the
checks of each format alone, which is all there is on systems without such limits.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import re
import resource
import signal
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from functools import cache, reduce
from operator import xor
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults import bomb_tables, fuzz

#: The share of their size that bombs have whose every byte is read: ``make test-faults`` throws whole ones.
SHARE = float(os.environ.get("DRBO_BOMBS", "0.1"))
#: Seconds of CPU and bytes of memory that no file may take before it is refused.
MAX_SECONDS, MAX_BYTES = max(5.0, 10.0 * SHARE), 2**30


def _part(count: int) -> int:
    return int(count * SHARE)


def _deflated(head: bytes, block: bytes, times: int, rest: bytes = b"") -> tuple[bytes, int, int]:
    """Return a block many times over, packed, with the checksum and the size of it all; it is packed only once."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    each = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)  # stands for itself: it refers to nothing before it
    end = packer.compress(rest) + packer.flush()
    checksum = zlib.crc32(head)
    first = zlib.crc32(block)
    bits = [zlib.crc32(block, 1 << k) ^ first for k in range(32)]  # each bit of the checksum before changes it by this
    for _ in range(times):
        checksum = reduce(xor, [bit for k, bit in enumerate(bits) if checksum >> k & 1], first)
    size = len(head) + len(block) * times + len(rest)
    return start + each * times + end, zlib.crc32(rest, checksum), size


def _packed_text(head: bytes, line: bytes, times: int) -> bytes:
    each = max(1, 2**20 // len(line))
    raw, checksum, size = _deflated(head, line * each, times // each)
    return b"\x1f\x8b\x08" + bytes(6) + b"\xff" + raw + struct.pack("<II", checksum, size)


@cache
def _npz_bomb(shape: tuple[int, ...], kind: str = "<f8", name: str = "X", header: bytes | None = None) -> bytes:
    """Return an archive with one array of zeros, packed."""
    if header is None:
        description = io.BytesIO()
        np.lib.format.write_array_header_1_0(description, {"descr": kind, "fortran_order": False, "shape": shape})
        header = description.getvalue()
    count = int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
    packed, checksum, size = _deflated(header, bytes(2**20), count >> 20, bytes(count % 2**20))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.npy", packed)
    raw = bytearray(buffer.getvalue())  # says that the member is stored: method, checksum and size are set right
    for method in (raw.index(b"PK\x03\x04") + 8, raw.rindex(b"PK\x01\x02") + 10):
        struct.pack_into("<H", raw, method, zipfile.ZIP_DEFLATED)
        struct.pack_into("<III", raw, method + 6, checksum, len(packed), size)
    return bytes(raw)


def _crowded_archive() -> bytes:
    """Return an archive with 300,000 members, all of the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.npy", b"")
    raw = buffer.getvalue()
    start = raw.index(b"PK\x01\x02")
    entry, end = raw[start : raw.index(b"PK\x05\x06")], raw[raw.index(b"PK\x05\x06") :]
    count = 300_000
    size = (len(entry) * count).to_bytes(4, "little")
    return raw[:start] + entry * count + end[:8] + b"\xff\xff" * 2 + size + end[16:]


def _overlapping_archive() -> bytes:
    """Return an archive with 200 names for the same megabyte of packed zeros, a gigabyte each."""
    buffer = io.BytesIO(_npz_bomb((2**27,)))
    with zipfile.ZipFile(buffer) as archive:
        (member,) = archive.filelist
    raw = buffer.getvalue()
    start, stop = raw.index(b"PK\x01\x02"), raw.index(b"PK\x05\x06")
    entry, end, count = raw[start:stop], raw[stop:], 200
    entries = b"".join(entry.replace(b"X.npy", bytes([65 + k % 26]) + b".npy") for k in range(count))
    counts = count.to_bytes(2, "little") * 2
    assert member.file_size > 2**30
    return raw[:start] + entries + end[:8] + counts + len(entries).to_bytes(4, "little") + end[16:]


def _parquet_bomb(**columns: Any) -> bytes:
    import pyarrow
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    table = pyarrow.table(columns)
    pq.write_table(table, buffer, compression="zstd", data_page_size=2**30, store_schema=False)
    return buffer.getvalue()


def _repeated(value: str | bytes, times: int) -> Any:
    """Return a column that holds one value many times; a file stores it once and calls the column plain."""
    import pyarrow

    return pyarrow.DictionaryArray.from_arrays(np.zeros(times, dtype=np.int32), [value])


def _lists(size: int, times: int) -> Any:
    import pyarrow

    starts = np.arange(0, size * times + 1, size, dtype=np.int32)
    return pyarrow.ListArray.from_arrays(starts, np.tile(np.arange(size), times))


def _result_bomb() -> bytes:
    """Return a result of 16384 nodes with packed matrices of 2 GiB."""
    parts = json.loads(fuzz._result_seeds()[0])
    content = json.loads(parts["json"])
    content |= {"names": [f"n{k}" for k in range(2**14)], "arrays": ["weights"]}
    raw = _npz_bomb((2**14, 2**14), name="weights")
    content["sha256"] = hashlib.sha256(raw).hexdigest()
    return json.dumps({"json": json.dumps(content), "npz": base64.b64encode(raw).decode()}).encode()


def _keys(count: int) -> bytes:
    """Return JSON with many keys, of which the first comes back at the end."""
    return b'{"nodes": 1, ' + b", ".join(b'"k%d": 1' % k for k in range(count)) + b', "k0": 1}'


def _result_json(text: bytes) -> bytes:
    return json.dumps({"json": text.decode(), "npz": ""}).encode()


BOMBS: dict[str, dict[str, Callable[[], bytes]]] = {
    "csv": {
        "gzip of 204 MB": lambda: _packed_text(b"a,b\n", b"1,2\n", 51_000_000),
        "gzip of one line": lambda: _packed_text(b"a,b\n1,", b"9" * 100, 10_000_000),
        "gzip of quotes": lambda: _packed_text(b"a,b\n", b'"1","2"\n', _part(4_000_000)),
        "gzip of blank lines": lambda: _packed_text(b"a,b\n1,2\n", b"\n", 400_000_000),
        "gzip of countless members": lambda: (
            gzip.compress(b"a,b\n1,2\n", mtime=0) + gzip.compress(b"", mtime=0) * 200_000
        ),
        "millions of columns": lambda: b"," * 30_000_000 + b"\n1\n",
        "a line of spaces": lambda: b" " * 30_000_000,
        "a quote that never ends": lambda: b'a,b\n1,"' + b"x\n" * 15_000_000,
        "countless empty cells": lambda: b"a,b\n" + b",\n" * _part(5_000_000) + b",,\n",
    },
    "npz": {
        "a gigabyte of zeros": lambda: _npz_bomb((2**27,)),
        "a table of a gigabyte": lambda: _npz_bomb((2**20, 2**7)),
        "a header of a gigabyte": lambda: _npz_bomb((2**30,), "|u1", header=b"\x93NUMPY\x02\0" + b"\0\0\0\x40"),
        "texts": lambda: _npz_bomb((2**25,), "<U1"),
        "300,000 members": _crowded_archive,
        "overlapping members": _overlapping_archive,
    },
    "parquet": {
        "zeros": lambda: _parquet_bomb(a=np.zeros(_part(2**26)), b=np.zeros(_part(2**26))),
        "long texts": lambda: _parquet_bomb(a=_repeated("x" * 2**20, 4096)),
        "long bytes": lambda: _parquet_bomb(a=_repeated(b"x" * 2**20, 4096)),
        "lists": lambda: _parquet_bomb(a=_lists(1000, 10_000)),
        **bomb_tables.BOMBS["parquet"],
    },
    **{name: found for name, found in bomb_tables.BOMBS.items() if name != "parquet"},
    "stdin": {
        "gzip of 204 MB": lambda: _packed_text(b"a,b\n", b"1,2\n", 51_000_000),
        "a workbook": bomb_tables.far_cell,
        "an OpenDocument table": bomb_tables.open_document,
        "columns that double": lambda: bomb_tables.BOMBS["sqlite"]["columns that double"](),
        "coded long texts": lambda: bomb_tables.BOMBS["feather"]["coded long texts"](),
    },
    "encodings": {
        "a line of nulls": lambda: b"\xff\xfe" + bytes(_part(30_000_000)),
        "one character": lambda: "a;b\n".encode("utf-16") + "\u00e9".encode("utf-16-le") * _part(15_000_000),
        "separators": lambda: "a;b\n".encode("utf-16") + ";".encode("utf-16-le") * _part(15_000_000),
        "quotes": lambda: b'a;b\n"' + b"\xe9\n" * _part(15_000_000),
        "blank lines": lambda: b"a;b\n1;\xe9\n" + b"\r" * _part(30_000_000),
    },
    "graph": {
        "many keys, one twice": lambda: _keys(_part(400_000)),
        "empty lists": lambda: b'{"edges": [' + b"[]," * 20_000_000 + b"[]]}",
        "edges": lambda: b"a,b\n" * 16_000_000,
        "blank lines": lambda: b"\n" * 60_000_000,
        "a wide table": lambda: b"0,1,0\n" * 10_000_000,
        "zeros": lambda: _npz_bomb((int(2**14 * SHARE**0.5),) * 2, "|b1", "dag"),
        "nodes, one twice": lambda: (
            b'{"nodes": [' + b",".join(b'"%d"' % k for k in range(_part(1_000_000))) + b', "7"], "edges": []}'
        ),
    },
    "result": {"matrices of 2 GiB": _result_bomb, "many keys, one twice": lambda: _result_json(_keys(_part(400_000)))},
    "toml": {
        "a dotted key": lambda: b".".join([b"a"] * 500_000) + b" = 1",
        "nested lists": lambda: b"a = " + b"[" * 1_000_000,
        "escapes": lambda: b'a = "' + rb"\"" * _part(1_000_000),
        "tables": lambda: b"\n".join(b"[t%d]" % k for k in range(_part(180_000))),
        "unknown names": lambda: b"roots = [" + b",".join(b'"n%d"' % k for k in range(_part(200_000))) + b"]",
        "names in many tiers": lambda: b"tiers = [" + b'["a", "b", "c", "d"],' * _part(90_000) + b"]",
        "required edges": lambda: b"required = [" + b'"a -> b",' * _part(180_000) + b']\nroots = ["b"]',
    },
    "config": {
        "a dotted key": lambda: b"[fit]\n" + b".".join([b"a"] * 500_000) + b" = 1",
        "required edges": lambda: b"[fit]\nrequire = [" + b'"a -> b",' * _part(180_000) + b"]",
        "settings": lambda: b"[settings]\n" + b"\n".join(b"k%d = 1" % k for k in range(_part(150_000))),
    },
    "resamples": {"many keys, one twice": lambda: b'{"key": "k", ' + _keys(_part(400_000))[1:]},
}


#: Readers whose formats have checks that hold without a guarded process, too.
CHECKED = ("parquet", "feather", "excel")
#: Bombs that no check knows: the limits of the guarded process stop them.
GUARDED_ONLY = frozenset[tuple[str, str]]()


def _memory(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    found = re.search(rf"{field}:\s+(\d+) kB", status)
    assert found
    return 1024 * int(found[1])


def _cpu() -> float:
    """Return the seconds of CPU of this process and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def outcome(reader: str, name: str, folder: Path) -> dict[str, Any]:
    """Read one bomb."""
    from drbo.data.reading.guard import release

    raw = BOMBS[reader][name]()
    with tempfile.TemporaryDirectory() as other:
        fuzz.answer(reader, fuzz.READERS[reader][0]()[0], Path(other))  # libraries are loaded before
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, begun = _memory("VmRSS"), _cpu()
    good, words = fuzz.answer(reader, raw, folder)
    release()
    seconds, peak = _cpu() - begun, _memory("VmHWM") - before
    peak = max(peak, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    return {
        "bomb": f"{reader}: {name}", "size": len(raw), "good": good, "answer": words, "seconds": round(seconds, 2),
        "bytes": peak,
    }  # fmt: skip


def main(words: list[str] | None = None) -> None:
    """Read the bombs of some readers, each in a process whose memory no bomb of another reader has touched."""
    import drbo.estimator  # noqa: F401 - once for all of them

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", choices=list(BOMBS), nargs="+", metavar="reader")
    parser.add_argument("--here", action="store_true", help="without the guarded process")
    parser.add_argument("--most", type=int, help="so many bombs of each reader")
    options = parser.parse_args(words)
    if options.here:
        fuzz.read_here()
    fuzz.limit_memory()
    signal.signal(signal.SIGALRM, fuzz._ring)
    fuzz.CASE_SECONDS = 600  # the seconds of CPU are what counts
    for reader in options.readers:
        for name in list(BOMBS[reader])[: options.most]:
            if options.here and (reader, name) in GUARDED_ONLY:
                continue
            if (child := os.fork()) == 0:  # what one bomb takes is not counted for the next
                with tempfile.TemporaryDirectory() as folder:
                    print(json.dumps(outcome(reader, name, Path(folder))), flush=True)
                os._exit(0)
            os.waitpid(child, 0)


if __name__ == "__main__":
    sys.exit(main())
