"""Files are read in a guarded process: whatever happens there is a table or an error in words, in time."""

import io
import json
import math
import os
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from threading import Timer

import numpy as np
import pandas as pd
import pytest

import drbo
from drbo.data.files.packed import InputLimit
from drbo.data.reading import guard
from drbo.data.reading.guard import Guard, can_start, limits_of, read_guarded, release
from drbo.data.reading.guard_child import ChildLimits
from drbo.data.reading.read import open_source, read_table
from drbo.data.reading.source import ReadOptions, frames_of
from drbo.data.statistics.moments_file import is_moments_file
from drbo.data.statistics.row_counts import counts_of
from drbo.data.statistics.stream import streamed
from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DataError, SettingsError
from tests.data.workbooks import write_xlsx
from tests.forked import forked

pytestmark = pytest.mark.usefixtures("guarded")
LIMIT = InputLimit()
CHILD = """
import os, signal, sys, time
from drbo.data.reading import binary, guard_child
from drbo.errors import DataError, SettingsError

def read(path, notes, limit, **told):
    {body}
    yield {{}}

binary.READERS["sqlite"] = "__main__:read", ()
guard_child.main()
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "t.db").write_bytes(b"x" * 1000)
    return tmp_path / "t.db"


@pytest.fixture
def child(monkeypatch, path):
    """Return what reads a file with a reader of this body."""

    def read(body):
        monkeypatch.setattr(guard, "COMMAND", ("-P", "-c", CHILD.format(body=body)))
        return read_guarded("sqlite", path, LIMIT, [])

    return read


@pytest.fixture
def started(monkeypatch):
    """Return a list of the processes that are started."""
    found, start = [], Guard.__init__
    monkeypatch.setattr(Guard, "__init__", lambda self: found.append(self) or start(self))
    return found


@pytest.fixture
def tight(monkeypatch):
    monkeypatch.setattr(guard, "limits_of", lambda *_: ChildLimits(2**26, 1))


def test_limits_follow_the_size_of_the_file_and_what_the_user_allows():
    small, large = limits_of(1000, LIMIT), limits_of(10**7, LIMIT)
    assert small == (2**28 + 8 * 2**26, 5 + math.ceil(5 * 2**26 / 1e8))
    assert large.memory == min(2**28 + 8 * 10**9, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    assert large.seconds == 55
    assert limits_of(1000, InputLimit.of(10**8)).memory == 2**28 + 8 * 10**8
    assert limits_of(10**9, InputLimit.of(10**9)).seconds == 5005


def test_a_frozen_program_starts_no_copy_of_itself(monkeypatch):
    assert can_start()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert not can_start()


def test_unknown_readers_are_refused_before_and_in_the_child(monkeypatch, path):
    with closing(Guard()) as reader, pytest.raises(ValueError, match="reader must be one of parquet"):
        next(reader.pieces("os.system", path, LIMIT, []))
    monkeypatch.setitem(guard.READERS, "os.system", ("os:system", ()))  # as if this process were fooled
    with pytest.raises(DataError, match=r"t\.db': its reader ended with exit code 1"):
        read_guarded("os.system", path, LIMIT, [])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("os.abort()", "its reader ended with SIGABRT: it is damaged, or takes more than 64 MiB of memory"),
        ("os._exit(3)", "its reader ended with exit code 3"),
        ("bytearray(2**31)", "reading it takes more than 64 MiB of memory"),
        ("raise DataError('wrong') from MemoryError()", "reading it takes more than 64 MiB of memory"),
        ("while True: pass", "reading it takes more than 1 s of processor time"),
        ("open(path, 'ab').write(b'x' * 10**6)", "cannot be read: File too large"),
        ("path.with_name('new').write_bytes(b'x')", "cannot be read: File too large"),
        ("[open(path) for _ in iter(int, 1)]", "cannot be read: Too many open files"),
        ("1 / 0", "is damaged, or not the type of file that its name says: division by zero"),
        ("raise DataError('in words')", "^in words$"),
    ],
)
def test_whatever_ends_a_reader_is_an_error_in_words(child, tight, body, words):
    began = time.monotonic()
    with pytest.raises(DataError, match=words) as caught:
        child(body)
    assert time.monotonic() - began < 60
    assert "processor time" not in words or "max_input=" in caught.value.hint


LIMITED = """
    import resource
    names = "CPU", "FSIZE", "CORE", "NOFILE", "AS"
    raise DataError(str([resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))[0] for name in names]))
"""


def test_the_system_enforces_limits_before_the_file_is_opened(child):
    with pytest.raises(DataError) as caught:
        child(LIMITED)
    seconds, *others, memory = json.loads(caught.value.message)
    assert 10 <= seconds <= 15
    assert others == [0, 0, 64]
    assert 768 * 2**20 < memory < 3 * 2**30


def test_settings_that_do_not_fit_stay_errors_of_settings(child):
    with pytest.raises(SettingsError, match="no column"):
        child("raise SettingsError('no column', hint='look')")


def _header(text):
    return len(text).to_bytes(4, "little") + text


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"nonsense" * 99, "a header of"),
        (bytes(4), "Expecting value"),
        (_header(b"[]"), "a header that is no object"),
        (_header(b'{"columns": 1, "rows": 1}') + _header(b'{"name": "a", "rows": 2, "kind": "numbers"}'), "lengths"),
        (_header(b'{"columns": 1e9, "rows": 1}'), "a count of"),
        (_header(b'{"columns": 1, "rows": 99999999999}') + _header(
            b'{"name": "a", "rows": 99999999999, "kind": "numbers", "type": "<f8", "sizes": [799999999992]}'
        ), "more bytes than its reader may use"),
        (_header(b'{"error": 1, "hint": null, "kind": "DataError"}'), "an end without a message"),
        (_header(b'{"notes": "x"}'), "an end without a message"),
        (_header(b"{}"), "notes"),
        (b"\1\0", "its reader ended with exit code 0"),
        (_header(b'{"notes": []}'), "0 tables were returned instead of one"),
        ((_header(b'{"columns": 0, "rows": 0}')) * 2 + _header(b'{"notes": []}'), "2 tables were returned instead"),
    ],
)  # fmt: skip
def test_answers_that_make_no_sense_are_refused(monkeypatch, path, raw, words):
    code = f"import os; os.read(0, 9999); os.write(1, {raw!r}); os.close(1)"
    monkeypatch.setattr(guard, "COMMAND", ("-I", "-S", "-c", code))
    with pytest.raises(DataError, match=words) as caught:
        read_guarded("sqlite", path, LIMIT, [])
    assert "t.db'" in caught.value.message


def test_what_a_library_prints_is_no_answer(child):
    assert child("print('hello', flush=True); os.write(1, b'more')").empty


def test_the_child_gets_no_secrets_and_no_modules_of_the_current_folder(child, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sqlite3.py").write_text("raise SystemExit(9)")
    with pytest.raises(DataError, match=r"^\[\], .*sqlite3.__init__\.py$"):
        child("import sqlite3; raise DataError(f\"{[x for x in os.environ if 'SECRET' in x]}, {sqlite3.__file__}\")")


def test_the_deadline_ends_a_reader_but_leaves_it_a_second(child):
    began = time.monotonic()
    with Deadline(0.1), pytest.raises(OutOfTimeError, match=r"time limit of 0\.1 s reached"):
        child("time.sleep(60)")
    assert 1.0 <= time.monotonic() - began < 20


def test_whoever_asks_to_stop_ends_a_reader_at_once(child):
    began = time.monotonic()
    with Deadline(60) as deadline:
        Timer(0.3, deadline.stop).start()
        with pytest.raises(OutOfTimeError, match="interrupted"):
            child("time.sleep(60)")
    assert time.monotonic() - began < 20


INTERRUPTED = """
import os, signal, threading, time
from pathlib import Path
from drbo.data.reading import guard
from drbo.data.files.packed import InputLimit

guard.COMMAND = ("-P", "-c", {child!r})
path = Path({path!r})
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background may have been told to ignore it

def interrupt():
    while not path.with_suffix(".read").exists():
        time.sleep(0.02)
    os.killpg(0, signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
try:
    guard.read_guarded("sqlite", path, InputLimit(), [])
except KeyboardInterrupt:
    print("interrupted", threading.active_count() < 9)
"""


def test_ctrl_c_ends_the_reader_and_an_unguarded_script_can_start_one(path):
    code = INTERRUPTED.format(
        child=CHILD.format(body="path.with_suffix('.read').touch(); time.sleep(600)"), path=str(path)
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(word for word in sys.path if word)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=False,
        start_new_session=True,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("interrupted True\n", 0), done.stderr


def _parquet(path):
    frame = pd.DataFrame({"a": [1.5, None, 2.5], "b": ["x", None, "y"], "c": pd.Categorical(["u", "v", "u"])})
    frame.to_parquet(path)


def _feather(path):
    pd.DataFrame({"a": np.arange(3), "b": [True, False, True]}).to_feather(path)


def _excel(path):
    pytest.importorskip("python_calamine")
    write_xlsx(path, {"s": [["a", "b", "c"], [1.5, "x", None], [2, "y", True], [None, "x", 3]]})


def _sqlite(path):
    with closing(sqlite3.connect(path)) as link, link:
        link.execute("CREATE TABLE t (a REAL, b TEXT, c)")
        link.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1.5, "x", 1), (None, "y", "z"), (2.5, None, b"\xff")])


def _duckdb(path):
    duckdb = pytest.importorskip("duckdb")
    with closing(duckdb.connect(str(path))) as link:
        link.execute("CREATE TABLE t AS SELECT i AS a, 'x' || i % 2 AS b, i * .5 AS c FROM range(4) r(i)")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.parquet", _parquet), ("t.feather", _feather), ("t.xlsx", _excel), ("t.db", _sqlite), ("t.duckdb", _duckdb),
    ],
)  # fmt: skip
def test_tables_are_the_same_as_without_a_guard(tmp_path, monkeypatch, started, name, write):
    write(tmp_path / name)
    notes, others = [], []
    found = drbo.read_table(tmp_path / name, notes=notes)
    assert len(started) == 1
    monkeypatch.setattr(guard, "can_start", lambda: False)
    pd.testing.assert_frame_equal(found, read_table(tmp_path / name, notes=others))
    assert notes == others


@pytest.fixture
def stream(tmp_path, rng):
    frame = pd.DataFrame(rng.normal(size=(900, 3)), columns=list("abc")).assign(t=rng.choice(["x", "y"], 900))
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=200)
    with closing(sqlite3.connect(tmp_path / "t.db")) as link:
        frame.to_sql("t", link, index=False)
    return frame, tmp_path


@pytest.mark.parametrize("name", ["t.parquet", "t.db", "t.duckdb"])
def test_a_fit_of_a_stream_is_that_of_its_table(tmp_path, rng, monkeypatch, started, name):
    frame = pd.DataFrame(rng.normal(size=(300, 3)) @ [[1, 1, 0], [0, 1, 1], [0, 0, 1]], columns=list("abc"))
    if name == "t.parquet":
        frame.to_parquet(tmp_path / name, row_group_size=100)
    elif name == "t.db":
        with closing(sqlite3.connect(tmp_path / name)) as link:
            frame.to_sql("t", link, index=False)
    else:
        with closing(pytest.importorskip("duckdb").connect(str(tmp_path / name))) as link:
            link.execute("CREATE TABLE t AS SELECT * FROM frame")
    how = {"random_state": 0, "score": "bic-nv", "max_evals": 50}
    whole = drbo.DrBO(**how).fit(frame)
    monkeypatch.setattr("drbo.gathering.COPIES", math.inf)  # no table fits into memory
    found = drbo.DrBO(**how).fit(tmp_path / name)
    assert found.score_ == whole.score_
    assert np.array_equal(found.adjacency_, whole.adjacency_)
    assert len(started) >= 1
    assert not any(process.is_alive() for process in started)


def test_streams_are_the_same_as_without_a_guard_and_share_a_process(stream, monkeypatch, started):
    frame, folder = stream
    path = folder / "t.parquet"
    numbers, texts = (open_source(path, ReadOptions(**given)) for given in ({"drop": "t"}, {"columns": "t"}))
    found = streamed(numbers)
    assert len(started) == 1
    for name in ("t.parquet", "t.db"):
        pieces = pd.concat(frames_of(open_source(folder / name)), ignore_index=True)
        pd.testing.assert_frame_equal(pieces, frame.astype({"t": pieces["t"].dtype}))
    assert len(started) == 2
    codes = streamed(open_source(path), levels={"t": ("x", "y")})
    rows = counts_of(texts)
    assert len(started) == 3
    monkeypatch.setattr(guard, "can_start", lambda: False)
    assert np.array_equal(found.sums.products, streamed(numbers).sums.products)
    assert np.array_equal(codes.sums.products, streamed(open_source(path), levels={"t": ("x", "y")}).sums.products)
    pd.testing.assert_frame_equal(rows.rows, counts_of(texts).rows)
    assert not guard._idle


def test_a_user_with_many_pipes_reads_through_small_ones(stream, monkeypatch, started):
    begin = subprocess.Popen

    def refused(*words, pipesize=None, **options):
        if pipesize is not None:
            raise PermissionError
        return begin(*words, **options)

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert len(drbo.read_table(stream[1] / "t.parquet")) == 900
    release()


def test_names_of_files_are_those_of_the_current_folder(stream, monkeypatch):
    _, folder = stream
    (folder / "other").mkdir()
    (folder / "t.db").rename(folder / "other" / "t.db")
    monkeypatch.chdir(folder)
    list(frames_of(open_source(Path("t.parquet"))))
    monkeypatch.chdir("other")
    assert sum(map(len, frames_of(open_source(Path("t.db"))))) == 900
    release()


def test_a_stream_that_is_left_ends_its_process(stream):
    _, folder = stream
    with closing(frames_of(open_source(folder / "t.db"))) as frames:
        next(frames)
    assert not guard._idle
    assert len(open_source(folder).frame([])) == 900  # of its Parquet file
    assert not guard._idle


def test_a_process_that_ended_while_it_waited_is_replaced(stream):
    _, folder = stream
    list(frames_of(open_source(folder / "t.db")))
    (dead,) = guard._idle
    dead._process.kill()
    dead._process.wait()
    assert sum(map(len, frames_of(open_source(folder / "t.db")))) == 900
    assert dead._process.stdout.closed
    assert forked(lambda: print(guard._taken())).out == "None\n"  # a fork leaves those of its parent alone
    assert guard._idle[0].is_alive()
    release()


def test_bombs_in_streams_are_refused_in_words(tmp_path):
    _parquet_bomb(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"decompresses to more than 67108864 bytes.*\(block 1, after 0 rows\)"):
        next(frames_of(open_source(tmp_path / "t.parquet")))
    _sqlite_bomb(tmp_path / "t.db")
    with pytest.raises(DataError, match=r"column 'g1' is generated by a formula.*\(block 1, after 0 rows\)"):
        next(frames_of(open_source(tmp_path / "t.db")))


def _coded(path):
    pa = pytest.importorskip("pyarrow")
    texts = pa.DictionaryArray.from_arrays(np.zeros(2**13, dtype=np.int32), ["x" * 2**20])
    return pa.table({"a": texts, "b": np.arange(2**13)})


def _parquet_bomb(path):
    pytest.importorskip("pyarrow.parquet").write_table(_coded(path), path, compression="zstd")


def _feather_bomb(path):
    pytest.importorskip("pyarrow.feather").write_feather(_coded(path), path, compression="zstd")


def _sqlite_bomb(path):
    columns = ", ".join(f"g{k} AS (g{k - 1} + g{k - 1})" for k in range(1, 30))
    with closing(sqlite3.connect(path)) as link, link:
        link.execute(f"CREATE TABLE t (a REAL, g0 INTEGER, {columns})")
        link.execute("INSERT INTO t (a, g0) VALUES (1, 2), (3, 4), (5, 6)")


def _duckdb_bomb(path):
    duckdb = pytest.importorskip("duckdb")
    columns = ", ".join(f"g{k} AS (g{k - 1} + g{k - 1})" for k in range(1, 4))
    with closing(duckdb.connect(str(path))) as link:
        link.execute(f"CREATE TABLE t (a DOUBLE, g0 BIGINT, {columns})")
        link.execute("INSERT INTO t (a, g0) VALUES (1, 2), (3, 4), (5, 6)")


def _ods(path):
    pytest.importorskip("python_calamine")
    """Write a spreadsheet of OpenDocument; cells are repeated by their number."""
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    cell = '<table:table-cell table:number-columns-repeated="1000" office:value-type="string"><text:p>x</text:p>'
    row = f'<table:table-row table:number-rows-repeated="1000">{cell}</table:table-cell></table:table-row>' * 100
    table = f'<table:table table:name="s">{row}</table:table>'
    content = f"<office:document-content {spaces}><office:body><office:spreadsheet>{table}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", f"{content}</office:spreadsheet></office:body></office:document-content>")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")


@pytest.mark.parametrize(
    ("name", "write", "words"),
    [
        ("t.parquet", _parquet_bomb, "needs more than 4294967296 bytes"),
        ("t.feather", _feather_bomb, "needs more than 4294967296 bytes"),
        ("t.db", _sqlite_bomb, "column 'g1' is generated by a formula, which is not run"),
        ("t.duckdb", _duckdb_bomb, "generated by formulas, which are not run"),
        ("t.xlsx", _ods, "is not an Excel workbook: it contains 'content.xml'"),
    ],
)
def test_bombs_are_refused_in_words(tmp_path, name, write, words):
    write(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 300_000 + 10**7 * (name == "t.duckdb")
    with pytest.raises(DataError, match=words):
        read_table(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "write", "blind"),
    [
        ("t.db", _sqlite_bomb, "from drbo.data.reading import sqlite as m; m._COMPUTED = -1"),
        ("t.xlsx", _ods, "from drbo.data.reading import excel as m; m._OTHER_FORMATS = frozenset()"),
        ("t.feather", _feather_bomb, "from drbo.data.reading import feather as m; m.check_written_out = lambda *_: 0; "
         "binary._columns = lambda table: dict(table.to_pandas().astype(str).items())"),
    ],
)  # fmt: skip
def test_the_guard_holds_where_a_check_of_a_format_is_blind(tmp_path, monkeypatch, name, write, blind):
    import resource

    write(tmp_path / name)
    code = f"from drbo.data.reading import binary, guard_child; {blind}; guard_child.main()"
    monkeypatch.setattr(guard, "COMMAND", ("-P", "-c", code))
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with pytest.raises(DataError, match=r"more than 768 MiB of memory|of processor time"):
        read_table(tmp_path / name)
    assert time.monotonic() - began < 60
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 2**20)  # KiB


def test_the_directory_of_a_file_of_moments_is_bounded(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for k in range(20_000):
            archive.writestr(f"{k:06}{'x' * 60}", b"")
    (tmp_path / "t.npz").write_bytes(buffer.getvalue())
    assert not is_moments_file(tmp_path / "t.npz")
    with pytest.raises(DataError, match="directory of more than 1048576 bytes"):
        read_table(tmp_path / "t.npz")


def test_no_process_is_left_behind(child, path):
    with suppress(DataError):
        child("os._exit(1)")
    with closing(Guard()) as reader:
        process = reader._process
    assert process.returncode is not None
    assert Path(path).exists()
