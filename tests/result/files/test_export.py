import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drbo.deadline import Deadline, OutOfTimeError
from drbo.errors import DrboError, ResultError
from drbo.result.files.export import (
    adjacency_frame,
    edge_table,
    frame_bytes,
    printable,
    read_graph,
    to_networkx,
    write_file,
    write_graph,
)
from tests.results import make_result

DAG = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)  # a -> b <- c
NAMES = ("a", "b", "c")


class TestTables:
    def test_networkx_round_trip(self):
        weights = np.arange(9.0).reshape(3, 3)
        graph = to_networkx(DAG, NAMES, weights=weights)
        np.testing.assert_array_equal(nx.to_numpy_array(graph, nodelist=NAMES), weights * DAG)
        assert type(graph.edges["a", "b"]["weight"]) is float

    def test_networkx_keeps_nodes_without_edges(self):
        assert list(to_networkx(np.zeros((2, 2)))) == ["x0", "x1"]

    def test_edge_table_of_an_empty_graph_has_its_columns(self):
        table = edge_table(np.zeros((2, 2)), weights=np.zeros((2, 2)))
        assert list(table) == ["source", "target", "weight", "directed"]
        assert len(table) == 0

    def test_adjacency_frame_is_row_to_column(self):
        frame = adjacency_frame(DAG, NAMES)
        assert frame.loc["a", "b"] == 1
        assert frame.loc["b", "a"] == 0
        assert list(frame.index) == list(frame.columns) == list(NAMES)

    @pytest.mark.parametrize("function", [to_networkx, edge_table, adjacency_frame])
    def test_names_are_checked(self, function):
        with pytest.raises(ResultError, match="3 nodes need 3 names, got 2"):
            function(DAG, ["a", "b"])
        with pytest.raises(ResultError, match="unique, got 'a' twice"):
            function(DAG, ["a", "b", "a"])


def test_printable_keeps_what_can_be_printed():
    assert printable("größe [µg] 漢") == "größe [µg] 漢"
    assert printable("\x1b[0m") == "\\x1b[0m"
    assert printable("a\ud800").isprintable()


READABLE = {
    "edges.csv": "source,target\na,b\nc,b\n",
    "from.csv": "from,to\na,b\nc,b\n",
    "cause.csv": "Cause , Effect\na, b\nc, b\n",
    "more.csv": "weight,target,source,directed\n1.5,b,a,True\n-2,b,c,False\n",
    "bare.csv": "a,b\nc,b\n",
    "semicolon.csv": "source;target\na;b\nc;b\n",
    "bom.csv": "\ufeffsource,target\r\na,b\r\n\r\nc,b\r\n",
    "edges.tsv": "source\ttarget\na\tb\nc\tb\n",
    "edges.txt": "source\ttarget\na\tb\nc\tb\n",
    "quoted.csv": '"source","target"\n"a","b"\n"c","b"\n',
    "table.csv": ",a,b,c\na,0,1,0\nb,0,0,0\nc,0,1,0\n",
    "shuffled.csv": "node,a,b,c\nc,0,1,0\na,0,1,0\nb,0,0,0\n",
    "header.csv": "a,b,c\n0,1,0\n0,0,0\n0,-0.5,0\n",
    "graph.json": '{"nodes": ["a", "b", "c"], "edges": [["a", "b"], ["c", "b"]]}',
    "edges.json": '{"edges": [["a", "b"], ["c", "b"]]}',
}


class TestReadText:
    @pytest.mark.parametrize("name", READABLE)
    @pytest.mark.parametrize("names", [None, NAMES, ("b", "c", "a")])
    def test_same_graph_in_every_form(self, tmp_path, name, names):
        (tmp_path / name).write_text(READABLE[name], encoding="utf-8", newline="")
        adjacency, found = read_graph(tmp_path / name, names)
        assert adjacency.dtype == bool
        if names is not None:
            assert found == names
        assert sorted(found) == ["a", "b", "c"]
        edges = {(found[i], found[j]) for i, j in np.argwhere(adjacency)}
        assert edges == {("a", "b"), ("c", "b")}

    @pytest.mark.parametrize("form", ["matrix.csv", "matrix.npy", "A.npz", "dag.npz", "adjacency.npz", "arr_0.npz"])
    @pytest.mark.parametrize("names", [None, NAMES])
    @pytest.mark.parametrize("dtype", [bool, int, np.float32])
    def test_without_names(self, tmp_path, form, names, dtype):
        path = tmp_path / form
        if form == "matrix.csv":
            np.savetxt(path, DAG.astype(dtype), delimiter=",")
        elif form == "matrix.npy":
            np.save(path, np.asfortranarray(DAG.astype(dtype)))
        else:
            np.savez_compressed(path, **{path.stem: DAG.astype(dtype), "X": np.zeros((9, 3))})
        adjacency, found = read_graph(path, names)
        np.testing.assert_array_equal(adjacency, DAG)
        assert found == (names or ("x0", "x1", "x2"))

    def test_pandas_tables(self, tmp_path):
        adjacency_frame(DAG, NAMES).to_csv(tmp_path / "1.csv")
        adjacency_frame(DAG, NAMES).to_csv(tmp_path / "2.csv", index=False)
        pd.DataFrame(DAG.astype(int)).to_csv(tmp_path / "3.csv")
        for name, names in (("1.csv", NAMES), ("2.csv", NAMES), ("3.csv", ("0", "1", "2"))):
            adjacency, found = read_graph(tmp_path / name)
            np.testing.assert_array_equal(adjacency, DAG)
            assert found == names

    def test_two_columns_can_be_a_table_or_a_list(self, tmp_path):
        for text, edges in (
            ("0,1\n0,0\n", {("x0", "x1")}),
            ("a,b\n0,1\n0,0\n", {("a", "b")}),
            ("1,2\n2,3\n3,4\n", {("1", "2"), ("2", "3"), ("3", "4")}),
            ("a,b\n", {("a", "b")}),
            ("a,b\nb,c\nc,d\n", {("a", "b"), ("b", "c"), ("c", "d")}),
        ):
            (tmp_path / "graph.csv").write_text(text)
            adjacency, names = read_graph(tmp_path / "graph.csv")
            assert {(names[i], names[j]) for i, j in np.argwhere(adjacency)} == edges

    def test_edge_list_may_leave_out_nodes_that_are_named(self, tmp_path):
        (tmp_path / "graph.csv").write_text("source,target\n")
        adjacency, names = read_graph(tmp_path / "graph.csv", NAMES)
        assert names == NAMES
        assert not adjacency.any()

    def test_both_directions_are_an_undirected_edge(self, tmp_path):
        (tmp_path / "graph.csv").write_text("source,target\na,b\nb,a\na,b\n")
        assert read_graph(tmp_path / "graph.csv")[0].tolist() == [[False, True], [True, False]]

    def test_cycles_are_left_to_the_caller(self, tmp_path):
        (tmp_path / "graph.csv").write_text("source,target\na,b\nb,c\nc,a\n")
        assert read_graph(tmp_path / "graph.csv")[0].sum() == 3

    def test_result_folder(self, tmp_path):
        make_result(DAG, names=NAMES).save(tmp_path)
        for path in (tmp_path, str(tmp_path / "result.json"), tmp_path / "edges.csv"):
            adjacency, names = read_graph(path, NAMES)
            np.testing.assert_array_equal(adjacency, DAG)
            assert names == NAMES
        turned, _ = read_graph(tmp_path, ("b", "c", "a"))
        assert np.argwhere(turned).tolist() == [[1, 0], [2, 0]]


class TestMalformed:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("g.csv", "", "is empty"),
            ("g.csv", "source,target\n", "1 to 16384 nodes, got 0"),
            ("g.csv", "source,target\na,b\nc\n", r"line 3: an edge needs a source and a target, got \['c'\]"),
            ("g.csv", "source,target\na,b\nc,\n", "line 3: a node must be a name, got ''"),
            ("g.csv", "a,b,c\n0,1,0\n0,0,0\n0,x,0\n", "line 4: an adjacency matrix must contain numbers, got 'x'"),
            ("g.csv", "a,b,c\n0,1,0\n0,0,0\n0,nan,0\n", "line 4: an adjacency matrix must contain numbers, got 'nan'"),
            ("g.csv", "a,b,c\n0,1,0\n0,0\n0,1,0\n", "line 3: expected 3 cells"),
            ("g.csv", "a,b,c\n0,1,0\n", "neither an edge list nor an adjacency matrix: 2 lines of 3 cells"),
            ("g.csv", ",a,b\na,0,1\nz,0,0\n", "only one side has"),
            ("g.csv", "a,a,b\n0,1,0\n0,0,0\n0,1,0\n", "unique, got 'a' twice"),
            ("g.csv", 'source,target\n"a,b\n', "damaged"),
            ("g.csv", b"source,target\n\xff,b\n", "damaged"),
            ("g.json", "{", "damaged"),
            ("g.json", "[]", '"edges"'),
            ("g.json", '{"nodes": 3, "edges": []}', "nodes must be a list"),
            ("g.json", '{"nodes": ["a", "b"], "edges": [["a", "b"], ["a"]]}', r"edge 1: .* got \['a'\]"),
            ("g.json", '{"nodes": ["a", "b"], "edges": [["a", "z"]]}', "edge 0: 'z' is not a node"),
            ("g.json", '{"nodes": ["a", "b"], "edges": [["a", 1]]}', "edge 0: a node must be a name, got 1"),
            ("g.json", '{"nodes": ["a", 1], "edges": []}', "a name must be a non-empty string"),
            ("g.json", "[" * 100_000, "damaged"),
            ("g.npz", b"PK", "damaged"),
            ("g.npy", b"\x93NUMPY\x01\x00v\x00{'descr': broken", "damaged"),
            ("g.xml", "<graph/>", "is not a result folder, .csv"),
        ],
    )
    def test_message_names_the_place(self, tmp_path, name, content, message):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(ResultError, match=message):
            read_graph(path)

    def test_missing_file(self, tmp_path):
        for name in ("no.csv", "no.json", "no.npz", "no", "result.json"):
            with pytest.raises(ResultError):
                read_graph(tmp_path / name)
        with pytest.raises(ResultError, match=r"no\.csv cannot be read: No such file"):
            read_graph(tmp_path / "no.csv")

    def test_names_that_do_not_fit(self, tmp_path):
        (tmp_path / "g.csv").write_text(READABLE["edges.csv"])
        (tmp_path / "g.json").write_text(READABLE["graph.json"])
        with pytest.raises(ResultError, match="line 3: 'c' is not a node"):
            read_graph(tmp_path / "g.csv", ["a", "b"])
        with pytest.raises(ResultError, match="has the unknown node 'c'"):
            read_graph(tmp_path / "g.json", ["a", "b"])
        with pytest.raises(ResultError, match="lacks node 'd'"):
            read_graph(tmp_path / "g.json", ["a", "b", "c", "d"])

    @pytest.mark.parametrize(
        "array",
        [
            np.zeros(4),
            np.zeros((2, 3)),
            np.zeros((0, 0)),
            np.array([["a"]]),
            np.array([[None]]),
            np.full((2, 2), np.nan),
        ],
    )
    @pytest.mark.parametrize("kind", ["npy", "npz"])
    def test_wrong_arrays(self, tmp_path, array, kind):
        path = tmp_path / f"g.{kind}"
        if kind == "npy":
            np.save(path, array)
        else:
            np.savez(path, A=array)
        with pytest.raises(ResultError, match=r"must|not finite|pickled"):
            read_graph(path)

    def test_npz_without_a_graph(self, tmp_path):
        np.savez(tmp_path / "g.npz", X=np.zeros((3, 3)))
        with pytest.raises(ResultError, match=r"must contain an array named dag, adjacency, A, arr_0, got \['X.npy'\]"):
            read_graph(tmp_path / "g.npz")

    @pytest.mark.parametrize("shape", ["(100000, 100000)", "(-1, 5)", "(3, -1)", "(2, 2, 99999999999)"])
    def test_declared_size_is_checked_before_reading(self, tmp_path, shape):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)
        (tmp_path / "g.npy").write_bytes(raw)
        with zipfile.ZipFile(tmp_path / "g.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("A.npy", raw)
        for name in ("g.npy", "g.npz"):
            with pytest.raises(ResultError, match=r"must be numbers|must have at most"):
                read_graph(tmp_path / name)

    def test_data_beyond_the_declared_size(self, tmp_path):
        buffer = io.BytesIO()
        np.save(buffer, DAG)
        (tmp_path / "g.npy").write_bytes(buffer.getvalue() + b"\0")
        with pytest.raises(ResultError, match="must have 9 bytes, got more"):
            read_graph(tmp_path / "g.npy")
        (tmp_path / "g.npy").write_bytes(buffer.getvalue()[:-1])
        with pytest.raises(ResultError, match="must have 9 bytes, got 8"):
            read_graph(tmp_path / "g.npy")

    def test_pickle_is_never_run(self, tmp_path):
        marker = tmp_path / "ran"

        class Evil:
            def __reduce__(self):
                return (Path.touch, (marker,))

        np.savez(tmp_path / "g.npz", A=np.array([[Evil()]], dtype=object))
        with pytest.raises(ResultError, match="pickled Python objects"):
            read_graph(tmp_path / "g.npz")
        assert not marker.exists()

    def test_random_damage_never_escapes(self, tmp_path):
        rng = np.random.default_rng(0)
        for kind in ("csv", "json", "npz"):
            path = tmp_path / f"graph.{kind}"
            write_graph(path, DAG, NAMES)
            whole = path.read_bytes()
            for _ in range(150):
                raw = bytearray(whole)
                for place in rng.integers(len(raw), size=rng.integers(1, 4)):
                    raw[place] = rng.integers(256)
                path.write_bytes(raw)
                try:
                    read_graph(path)
                except DrboError:
                    continue


class TestWrite:
    @settings(deadline=None, max_examples=40)
    @given(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip),
            min_size=2,
            max_size=6,
            unique=True,
        ),
        st.integers(0, 2**30),
    )
    @pytest.mark.parametrize("kind", ["csv", "json", "npz"])
    def test_round_trip_with_any_names(self, tmp_path_factory, kind, names, code):
        d = len(names)
        adjacency = np.array([code >> k & 1 for k in range(d * d)], dtype=bool).reshape(d, d)
        path = tmp_path_factory.mktemp("graph") / f"graph.{kind}"
        write_graph(path, adjacency, names)
        found, order = read_graph(path, names)
        np.testing.assert_array_equal(found, adjacency)
        assert order == tuple(names)
        if kind != "csv":
            assert read_graph(path)[1] == tuple(names)

    def test_other_endings(self, tmp_path):
        with pytest.raises(ResultError, match=r"written as \.csv, \.json or \.npz, got 'g.dot'"):
            write_graph(tmp_path / "g.dot", DAG, NAMES)

    def test_folder_that_is_not_there(self, tmp_path):
        with pytest.raises(ResultError, match="cannot be written: No such file"):
            write_graph(tmp_path / "no" / "g.csv", DAG, NAMES)

    def test_failed_write_leaves_the_old_file_alone(self, tmp_path, monkeypatch):
        path = tmp_path / "file"
        write_file(path, b"old")

        def fail(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(ResultError, match="No space left"):
            write_file(path, b"new")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["file"]

    def test_json_is_what_others_expect(self, tmp_path):
        write_graph(tmp_path / "g.json", DAG, NAMES)
        assert json.loads((tmp_path / "g.json").read_text()) == {
            "nodes": ["a", "b", "c"],
            "edges": [["a", "b"], ["c", "b"]],
        }


def test_import_needs_numpy_alone():
    code = "import sys, drbo.result.files.export; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "matplotlib", "networkx", "torch"} & set(done.stdout.split())


@pytest.mark.skipif("DRBO_DATA" not in os.environ, reason="DRBO_DATA is not set")
class TestPublishedFiles:
    def test_edge_list_and_table_of_sachs_agree(self):
        folder = Path(os.environ["DRBO_DATA"]) / "sachs"
        table, names = read_graph(folder / "dag.csv")
        edges, order = read_graph(folder / "edges.csv", names)
        np.testing.assert_array_equal(table, edges)
        assert order == names
        assert edges.sum() == 17

    def test_every_bnlearn_edge_list(self):
        folder = Path(os.environ["DRBO_DATA"]) / "bnlearn"
        files = sorted(folder.glob("*.edges.csv"))
        assert files
        for path in files:
            names = path.with_name(path.name.replace(".edges.csv", ".nodes.txt")).read_text().split()
            adjacency, _ = read_graph(path, names)
            assert adjacency.sum() == len(path.read_text().split()) - 1

    def test_array_of_a_simulator(self):
        path = Path(os.environ["DRBO_DATA"]) / "linear_30er4_seed1_n1000.npz"
        with np.load(path) as arrays:
            np.testing.assert_array_equal(read_graph(path)[0], arrays["A"] != 0)


def test_names_that_no_file_can_hold_are_refused():
    with pytest.raises(ResultError, match=r"a name must be valid Unicode, got 'b\\ud800'"):
        write_graph("graph.csv", [[0, 1], [0, 0]], ["a", "b\ud800"])


@pytest.mark.parametrize("cells", [4, 2**18])
def test_a_data_frame_is_written_in_pieces_between_which_the_deadline_is_heard(cells, monkeypatch):
    monkeypatch.setattr("drbo.result.files.export.CELLS", cells)
    for frame in (pd.DataFrame({"a": range(7), "b": list("xyz,'\"u")}), pd.DataFrame({"a": [], "b": []})):
        assert frame_bytes(frame) == frame.to_csv(index=False).encode()
    with Deadline(0.0), pytest.raises(OutOfTimeError):
        frame_bytes(frame)
