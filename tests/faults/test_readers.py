"""Hostile files: an error in words, never a traceback, a hang, a full memory, or a file outside the folder."""

import contextlib
import io
import json
import os
import signal
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo import Knowledge, Result, Settings
from drbo.constraints import Constraints
from drbo.data.checks.check import check_table
from drbo.data.reading.read import read_table
from drbo.errors import DataError, DrboError, ResultError
from drbo.result.files.export import read_graph, write_graph
from drbo.settings import PAPER_NAMES
from tests.faults import bombs, fuzz
from tests.forked import forked
from tests.results import make_result

CASES = int(os.environ.get("DRBO_FUZZ_CASES", "50"))  # per reader; make test-faults asks for 10,000
HOSTILE_NAMES = [
    *("../../etc/passwd", "/dev/null", "a\0b", "\x1b[31mred", "=cmd|' /C calc'!A0", "<script>alert(1)</script>"),
    *(
        "$\\frac{",
        "$x$",
        'a"b',
        "a,b",
        "a\nb",
        "a\r\nb",
        "a;b",
        "\u202egnp",
        "é",
        "a -> b",
        " ",
        "x" * 300,
        "%s",
        "{0}",
    ),
]


@pytest.mark.parametrize("reader", list(fuzz.READERS))
def test_the_corpus_is_refused_or_read(reader, tmp_path):
    before = signal.signal(signal.SIGALRM, fuzz._ring)
    try:
        inputs = fuzz.READERS[reader][0]() + [path.read_bytes() for path in sorted((fuzz.CORPUS / reader).glob("*"))]
        for raw in inputs:
            good, words = fuzz.answer(reader, raw, tmp_path)
            assert good, words
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(inputs) > 5


@pytest.fixture(scope="module")
def fuzzed():
    """What became of the mutants of every reader, in one process whose memory is limited."""
    done = forked(lambda: fuzz.main([*fuzz.READERS, "--cases", str(CASES), "--seed", "7"]))
    outcomes = [json.loads(line) for line in done.out.splitlines()]
    return {outcome["reader"]: outcome for outcome in outcomes}, done.err


@pytest.mark.parametrize("reader", list(fuzz.READERS))
def test_mutants_are_refused_or_read(reader, fuzzed):
    outcomes, words = fuzzed
    assert reader in outcomes, words  # the process ended at this reader or before it
    outcome = outcomes[reader]
    print(json.dumps({"fuzz": outcome}))
    assert outcome["cases"] == CASES
    assert outcome["escapes"] == 0, outcome["examples"]
    assert outcome["slowest"] < 5


@pytest.mark.parametrize("reader", list(bombs.BOMBS))
def test_bombs_are_refused_within_seconds_and_a_gigabyte(reader):
    """By the checks of each format alone; the reduced campaign reads them as a user does, in a guarded process."""
    names = [name for name in bombs.BOMBS[reader] if (reader, name) not in bombs.GUARDED_ONLY]
    done = forked(lambda: bombs.main([reader, "--here"]))
    outcomes, words = [json.loads(line) for line in done.out.splitlines()], done.out + done.err
    assert len(outcomes) == len(names), words
    for outcome in outcomes:
        assert outcome["good"], outcome
        assert outcome["seconds"] < bombs.MAX_SECONDS, outcome
        assert outcome["bytes"] < bombs.MAX_BYTES, outcome


def test_the_fuzzer_sees_an_escape(monkeypatch, tmp_path):
    before = signal.signal(signal.SIGALRM, fuzz._ring)
    try:
        for broken in (lambda raw, folder: 1 / 0, lambda raw, folder: [0] * 10**18, lambda raw, folder: sys.exit(1)):
            monkeypatch.setitem(fuzz.READERS, "csv", (list, fuzz._mutated_bytes, broken))
            assert not fuzz.answer("csv", b"", tmp_path)[0]
        monkeypatch.setattr(fuzz, "CASE_SECONDS", 0.05)
        monkeypatch.setitem(fuzz.READERS, "csv", (list, fuzz._mutated_bytes, lambda raw, folder: signal.pause()))
        assert "TooSlow" in fuzz.answer("csv", b"", tmp_path)[1]
    finally:
        signal.signal(signal.SIGALRM, before)


def _refused(call, message, kind=DataError):
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("raw", [b"\xef\xbb\xbf", b"\xef\xbb\xbf \n", b"\x0b\x0c", b"\n\n"])
def test_text_without_a_cell(tmp_path, raw):
    (tmp_path / "t.csv").write_bytes(raw)
    _refused(lambda: read_table(tmp_path / "t.csv"), "is empty")


def test_separators_that_cannot_separate(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    for separator in ('"', "\n", "\r"):
        _refused(
            lambda separator=separator: read_table(tmp_path / "t.csv", separator=separator), "separator", DrboError
        )


def test_pipes_and_devices(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    _refused(lambda: read_table(tmp_path / "t.csv"), "not a regular file")
    (tmp_path / "g.csv").symlink_to("/dev/zero")
    _refused(lambda: read_graph(tmp_path / "g.csv"), "not a regular file", ResultError)
    (tmp_path / "z.csv").symlink_to(tmp_path / "z.csv")
    _refused(lambda: read_table(tmp_path / "z.csv"), "z.csv")


def test_a_file_too_large_to_read(tmp_path):
    for name in ("t.csv", "t.npy"):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(2**40)
        _refused(lambda name=name: read_table(tmp_path / name), "needs more than")


def test_a_table_that_is_too_wide(tmp_path):
    _refused(lambda: check_table(np.zeros((3, 2**14 + 1))), "16385 columns, but at most 16384")
    (tmp_path / "t.csv").write_text(
        "\n".join([",".join(f"c{k}" for k in range(20_000)), *[",".join("1" * 20_000)] * 3])
    )
    _refused(lambda: check_table(read_table(tmp_path / "t.csv")), "at most 16384")


def test_archive_members_with_paths_are_never_written(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../escaped.npy", b"x")
    (tmp_path / "deep").mkdir()
    for name in ("t.npz", "g.npz"):
        (tmp_path / "deep" / name).write_bytes(buffer.getvalue())
    _refused(lambda: read_table(tmp_path / "deep" / "t.npz"), "t.npz")
    _refused(lambda: read_graph(tmp_path / "deep" / "g.npz"), "must contain an array", ResultError)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "g.npz", "t.npz"]


def test_hostile_names_stay_text_in_every_output(tmp_path):
    names = tuple(HOSTILE_NAMES)
    d = len(names)
    dag = np.eye(d, k=1, dtype=bool)
    result = make_result(dag, names=names, score_name="\x1b[2J", reasons=("\x1b]0;title\x07",))
    home = tmp_path / "run"
    again = Result.load(result.save(home))
    assert again.names == names
    assert "\x1b" not in result.summary()
    result.plot(path=home / "graph.png")
    for suffix in ("csv", "json", "npz"):
        write_graph(home / f"g.{suffix}", dag, names)
        found, labels = read_graph(home / f"g.{suffix}", names)
        assert labels == names
        assert (found == dag).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    files = {"edges.csv", "g.csv", "g.json", "g.npz", "graph.png", "result.json", "result.npz"}
    assert {path.name for path in home.iterdir()} == files


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["a", "b", "a -> b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "zz", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
parts = ["forbidden", "required", "tiers", "forbid_within_tiers", "roots", "leaves", "max_parents", "nonsense"]


@given(st.dictionaries(st.sampled_from(parts), values, max_size=4))
@settings(max_examples=2 * CASES, deadline=None)
def test_any_mapping_is_knowledge_or_refused(mapping):
    with contextlib.suppress(DrboError):
        Constraints.of(Knowledge.from_mapping(mapping), ["a", "b", "c"])


@given(st.dictionaries(st.sampled_from([*Settings().to_dict(), *PAPER_NAMES, "nonsense"]), values, max_size=4))
@settings(max_examples=2 * CASES, deadline=None)
def test_any_mapping_is_settings_or_refused(mapping):
    with contextlib.suppress(DrboError):
        Settings.from_dict(mapping)


@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
@settings(max_examples=2 * CASES, deadline=None)
def test_any_bytes_are_a_table_a_graph_or_refused(tmp_path_factory, raw):
    path = tmp_path_factory.getbasetemp() / "any"
    for suffix, call in ((".csv", read_table), (".npz", read_table), (".json", read_graph), (".csv", read_graph)):
        file = path.with_suffix(suffix)
        file.write_bytes(raw)
        with contextlib.suppress(DrboError):
            call(file)
