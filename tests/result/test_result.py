import csv
import dataclasses
import hashlib
import io
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from drbo import DrBO
from drbo.errors import ResultError
from drbo.result.result import JSON_TYPES, Result

NAMES = ("a", "b,c", "naïve\n$x$", '"q"')
# a -> b,c -> naïve <- "q": a v-structure at node 2, and a - b,c free.
DAG = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
SEARCHED = DAG | (np.arange(16).reshape(4, 4) == 2)


def make(**changes):
    rng = np.random.default_rng(0)
    values = {
        "names": NAMES,
        "dag": DAG,
        "searched_dag": SEARCHED,
        "score": -1234.1 / 3,
        "pruned_score": -1234.2 / 3,
        "score_name": "bic-nv",
        "score_equivalent": True,
        "score_options": {"penalty": 1.0, "prior": [0.1, None]},
        "local": rng.normal(size=4),
        "price": -rng.random(4),
        "weights": DAG * rng.normal(size=(4, 4)),
        "standardised_weights": DAG * rng.normal(size=(4, 4)),
        "trace_columns": {
            "n_evals": [0, 64, 128],
            "n_local": [0, 100, 150],
            "seconds": [0.0, 0.1, 0.3],
            "best": [-np.inf, -500.0, -1234.1 / 3],
        },
        "settings": {"batch": 64, "nested": {"k": 8, "name": "x"}},
        "seed": 2**70,
        "versions": {"drbo": "0.1.0"},
        "data_hash": "ab" * 32,
        "n_rows": 853,
        "knowledge": {"max_parents": 3},
        "preflight": {"columns": [], "findings": []},
        "call": "drbo fit table.csv",
        "reasons": ("numeric columns: bic-nv", "column 'a' is skewed"),
        "found_by": "trust region",
        "pruner": "f-test",
        "stopped": "budget of 2000 evaluations spent",
        "n_evals": 2000,
        "n_local": 5123,
        "seconds": 12.3,
    }
    return Result(**(values | changes))


def assert_same(one, two):
    for field in dataclasses.fields(Result):
        left, right = getattr(one, field.name), getattr(two, field.name)
        pairs = left.items() if field.name == "trace_columns" else [("", left)]
        for key, value in pairs:
            other = right[key] if key else right
            if isinstance(value, np.ndarray):
                assert value.dtype == other.dtype
                assert value.tobytes() == other.tobytes(), field.name
            else:
                assert type(value) is type(other), field.name
                assert value == other, field.name


class TestGraph:
    def test_cpdag_leaves_open_what_no_v_structure_orients(self):
        expected = DAG.copy()
        expected[1, 0] = True
        np.testing.assert_array_equal(make().cpdag, expected)

    def test_edges_of_a_score_equivalent_score(self):
        result = make()
        table = result.edges()
        assert list(table) == ["source", "target", "weight", "standardised_weight", "directed", "reason"]
        assert list(zip(table["source"], table["target"], table["directed"], strict=True)) == [
            ("a", "b,c", False),
            ("b,c", "naïve\n$x$", True),
            ('"q"', "naïve\n$x$", True),
        ]
        assert table["weight"].tolist() == [result.weights[0, 1], result.weights[1, 2], result.weights[3, 2]]
        assert table["standardised_weight"][0] == result.standardised_weights[0, 1]

    def test_other_scores_direct_every_edge(self):
        assert make(score_equivalent=False).edges()["directed"].all()
        assert not make(score_equivalent=False).undirected.any()

    def test_edges_without_weights(self):
        result = make(weights=None, standardised_weights=None)
        assert list(result.edges()) == ["source", "target", "directed", "reason"]
        assert list(make(dag=np.zeros((4, 4))).edges().index) == []

    def test_cpdag_edges_list_an_undirected_edge_once(self):
        table = make().cpdag_edges()
        assert table["directed"].tolist() == [False, True, True]
        assert table["source"].tolist() == ["a", "b,c", '"q"']

    def test_adjacency_and_networkx_agree_with_the_matrix(self):
        result = make()
        frame, graph = result.adjacency(), result.to_networkx()
        assert frame.loc["a", "b,c"] == 1
        assert frame.loc["b,c", "a"] == 0
        assert list(graph.nodes) == list(NAMES)
        assert graph.edges["a", "b,c"] == {
            "weight": result.weights[0, 1],
            "standardised_weight": result.standardised_weights[0, 1],
        }
        assert graph.number_of_edges() == 3

    def test_trace(self):
        trace = make().trace
        assert list(trace) == ["n_evals", "n_local", "seconds", "best"]
        assert trace["n_evals"].tolist() == [0, 64, 128]
        trace.loc[0, "n_evals"] = 7
        assert make().trace["n_evals"][0] == 0

    def test_is_frozen_and_shares_nothing_with_the_caller(self):
        dag = DAG.copy()
        result = make(dag=dag)
        dag[:] = False
        assert result.dag.sum() == 3
        with pytest.raises(ValueError, match="read-only"):
            result.dag[0, 0] = True
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.score = 0.0

    def test_survives_pickling_between_processes(self):
        assert_same(make(), pickle.loads(pickle.dumps(make())))

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"names": ("a", "b")}, "4 nodes need 4 names, got 2"),
            ({"names": ("a", "b", "a", "c")}, "unique, got 'a' twice"),
            ({"names": ("a", "b", "", "c")}, "non-empty string"),
            ({"dag": DAG | DAG.T}, "dag: .*cycle"),
            ({"searched_dag": np.zeros((3, 3))}, "searched_dag must have shape"),
            ({"local": np.zeros(3)}, r"local must have shape \(4,\), got \(3,\)"),
            ({"weights": np.zeros(4)}, "weights must have shape"),
            ({"trace_columns": {"best": [1.0]}}, "trace must have n_evals"),
            ({"trace_columns": {"n_evals": [1], "n_local": [1, 2], "seconds": [1], "best": [1]}}, "n_local must have"),
        ],
    )
    def test_parts_must_fit_together(self, changes, message):
        with pytest.raises(ResultError, match=message):
            make(**changes)


class TestSummary:
    def test_class_comes_first_for_a_score_equivalent_score(self):
        text = make().summary()
        assert text.index("Equivalence class (CPDAG): 2 directed and 1 undirected") < text.index(
            "one member of the class"
        )
        assert "a -- b,c" in text
        assert "a -> b,c" in text[text.index("one member") :]
        assert str(make()) == text

    def test_other_scores_show_the_dag_alone(self):
        text = make(score_equivalent=False).summary()
        assert "CPDAG" not in text
        assert "member" not in text
        assert "DAG: 3 edges" in text
        assert "--" not in text

    def test_tells_how_it_was_found(self):
        text = make().summary()
        for part in (
            "4 variables, 853 rows, score bic-nv",
            "-411.366667 before pruning, -411.400000 after",
            "f-test: 1 of 4 edges removed",
            "2000 evaluations, 5123 local scores, 12.3 s",
            "budget of 2000 evaluations spent",
            "trust region",
            "numeric columns: bic-nv",
            "column 'a' is skewed",
            "(standardised",
        ):
            assert part in text

    @pytest.mark.parametrize(
        ("stopped", "cut_short"),
        [("time limit of 5 s reached", True), ("interrupted", True), ("budget exhausted", False), ("", False)],
    )
    def test_says_where_another_run_may_end_elsewhere(self, stopped, cut_short):
        result = make(stopped=stopped)
        assert result.cut_short == cut_short
        assert ("another run may find a different graph" in result.summary()) == cut_short

    def test_hostile_texts_cannot_reach_the_terminal(self):
        text = make(names=("\x1b[2J", "\r", "\u202e", "d"), stopped="\x07", reasons=("\x1b]0;",)).summary()
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\\x1b[2J" in text

    def test_long_lists_are_cut(self):
        d = 20
        dag = np.triu(np.ones((d, d), dtype=bool), 1)
        result = make(
            names=[f"v{j}" for j in range(d)], dag=dag, searched_dag=dag, local=np.zeros(d), price=np.zeros(d),
            weights=None, standardised_weights=None, score_equivalent=False,
        )  # fmt: skip
        assert "... and 130 more" in result.summary()
        assert repr(result) == "<Result: 20 nodes, 190 edges, bic-nv -411.4>"


class TestSaveAndLoad:
    @pytest.mark.parametrize("changes", [{}, {"weights": None, "standardised_weights": None}, {"weights": None}])
    def test_round_trip_is_exact(self, tmp_path, changes):
        result = make(**changes)
        assert result.save(tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
        assert_same(Result.load(tmp_path / "new" / "folder"), result)
        assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["edges.csv", "result.json", "result.npz"]

    def test_numpy_scalars_and_tuples_become_plain(self, tmp_path):
        result = make(score=np.float64(0.1), seed=np.int64(3), settings={"a": (1, np.float32(0.5)), 2: np.arange(2)})
        assert result.settings == {"a": [1, 0.5], "2": [0, 1]}
        assert_same(Result.load(result.save(tmp_path)), result)

    def test_edges_csv_is_for_machines(self, tmp_path):
        result = make()
        result.save(tmp_path)
        with open(tmp_path / "edges.csv", newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert [row["target"] for row in rows] == ["b,c", "naïve\n$x$", "naïve\n$x$"]
        assert float(rows[0]["weight"]) == result.weights[0, 1]
        assert rows[0]["directed"] == "False"

    def test_arrays_need_no_pickle_and_save_is_reproducible(self, tmp_path):
        make().save(tmp_path / "1")
        make().save(tmp_path / "2")
        with np.load(tmp_path / "1" / "result.npz", allow_pickle=False) as arrays:
            assert arrays["dag"].tolist() == DAG.tolist()
        for name in os.listdir(tmp_path / "1"):
            assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()

    @pytest.mark.parametrize(
        ("changes", "place"),
        [
            ({"score": float("nan")}, "result.score"),
            ({"settings": {"a": [0, {"b": float("inf")}]}}, r"result.settings.a\[1\].b"),
            ({"score_options": {"f": len}}, "result.score_options.f"),
        ],
    )
    def test_what_json_cannot_hold_is_named_and_nothing_is_written(self, tmp_path, changes, place):
        with pytest.raises(ResultError, match=place):
            make(**changes).save(tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_failed_write_leaves_the_old_result(self, tmp_path, monkeypatch):
        old = make()
        old.save(tmp_path)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ResultError, match="No space left"):
            make(score=1.0, local=np.ones(4)).save(tmp_path)
        assert sorted(os.listdir(tmp_path)) == ["edges.csv", "result.json", "result.npz"]
        assert_same(Result.load(tmp_path), old)

    def test_folder_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ResultError, match="cannot be created"):
            make().save(tmp_path / "file")


def forge(folder, change=None, arrays=None, compressed=False):
    """Rewrite a saved result, with a checksum that is right again."""
    content = json.loads((folder / "result.json").read_text())
    with np.load(folder / "result.npz") as old:
        stored = {**old, **(arrays or {})}
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **{k: v for k, v in stored.items() if v is not None})
    (folder / "result.npz").write_bytes(buffer.getvalue())
    content["sha256"] = hashlib.sha256(buffer.getvalue()).hexdigest()
    (change or (lambda _: None))(content)
    (folder / "result.json").write_text(json.dumps(content))


def test_a_result_of_version_0_1_opens_with_the_route_that_was_taken(tmp_path):
    def as_before(content):
        content["settings"] = {"route": "networks", "proposals": "region", "rank": 3}

    folder = make().save(tmp_path)
    forge(folder, as_before)
    assert Result.load(folder).settings == {"route": "paper", "rank": 3}


class TestHostileFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        return make().save(tmp_path)

    def refused(self, folder, message):
        with pytest.raises(ResultError, match=message) as caught:
            Result.load(folder)
        assert str(caught.value)

    def test_missing(self, folder, tmp_path):
        self.refused(tmp_path / "nowhere", "cannot be read: No such file")
        (folder / "result.npz").unlink()
        self.refused(folder, "result.npz cannot be read")

    def test_truncated(self, folder):
        for name, message in (("result.npz", "checksum"), ("result.json", "damaged")):
            path = folder / name
            whole = path.read_bytes()
            for size in (0, 1, len(whole) // 2, len(whole) - 1):
                path.write_bytes(whole[:size])
                self.refused(folder, message)
            path.write_bytes(whole)
        Result.load(folder)

    @pytest.mark.parametrize("text", ["[]", "{}", "null", '{"format": "other"}'])
    def test_other_json(self, folder, text):
        (folder / "result.json").write_text(text)
        self.refused(folder, "is not a saved result")

    @pytest.mark.parametrize("raw", [b"\xff\xfe", b"[" * 100_000, b"9" * 10_000, b'{"a": NaN}', b"{'a': 1}"])
    def test_not_json(self, folder, raw):
        (folder / "result.json").write_bytes(raw)
        self.refused(folder, r"result\.json")

    @pytest.mark.parametrize("version", [0, 2, "1", None])
    def test_unknown_version(self, folder, version):
        forge(folder, lambda content: content.update(version=version))
        self.refused(folder, "format version")

    @pytest.mark.parametrize("key", [*JSON_TYPES, "optional_arrays", "trace_length", "sha256"])
    def test_missing_or_mistyped_entry(self, folder, key):
        forge(folder, lambda content: content.pop(key))
        self.refused(folder, f"no entry '{key}'")
        forge(folder, lambda content: content.update({key: None}))
        self.refused(folder, f"'{key}' must be")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"n_evals": True}, "'n_evals' must be int"),
            ({"seed": 1.5}, "'seed' must be int"),
            ({"names": ["a", "b", "c", 4]}, "must be strings, got 4"),
            ({"names": ["a", "a", "b", "c"]}, "unique"),
            ({"names": []}, "1 to"),
            ({"names": ["a"]}, "must have shape"),
            ({"names": [f"v{j}" for j in range(9)]}, "must have shape"),
            ({"reasons": [["x"]]}, "must be strings"),
            ({"versions": {"drbo": 1}}, "must be strings"),
            ({"trace_length": -1}, "trace_length must be in"),
            ({"trace_length": 10**15}, "trace_length must be in"),
            ({"trace_length": 2}, "must have shape"),
            ({"optional_arrays": []}, "must contain|bytes, but at most"),
            ({"sha256": "0" * 64}, "checksum"),
        ],
    )
    def test_wrong_entries(self, folder, change, message):
        forge(folder, lambda content: content.update(change))
        self.refused(folder, message)

    def test_numbers_that_are_not_finite(self, folder):
        text = (folder / "result.json").read_text()
        (folder / "result.json").write_text(text.replace('"seconds": 12.3', '"seconds": 1e999'))
        self.refused(folder, "holds 1e999, which is not a finite number")
        (folder / "result.json").write_text(text.replace('"seconds": 12.3', '"seconds": Infinity'))
        self.refused(folder, "holds Infinity")

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"dag": DAG | DAG.T}, "dag: .*cycle"),
            ({"dag": DAG.astype(np.uint8)}, r"must have shape \(4, 4\) and type \|b1, got \(4, 4\) and \|u1"),
            ({"dag": np.full((4, 4), 2, np.uint8).view(bool)}, "booleans"),
            ({"local": np.zeros(5)}, "must have shape"),
            ({"local": np.zeros(4, ">f8")}, "type <f8"),
            ({"local": np.array([None] * 4)}, r"type <f8, got \(4,\) and \|O"),
            ({"price": None}, "must contain"),
            ({"extra": np.zeros(1)}, "must contain"),
        ],
    )
    def test_wrong_arrays(self, folder, arrays, message):
        forge(folder, arrays=arrays)
        self.refused(folder, message)

    def test_bomb_is_refused_by_its_directory(self, folder, monkeypatch):
        forge(folder, arrays={"local": np.zeros(500_000)}, compressed=True)
        made = []
        frombuffer = np.frombuffer
        monkeypatch.setattr(np, "frombuffer", lambda raw, **k: made.append(len(raw)) or frombuffer(raw, **k))
        self.refused(folder, "result.npz contains the compressed member")
        assert max(made, default=0) < 1000

    def test_large_file_is_refused_unread(self, folder):
        with (folder / "result.npz").open("ab") as stream:
            stream.truncate(10**12)  # sparse: takes no room
        self.refused(folder, "has 1000000000000 bytes, but at most")

    def test_random_damage_never_escapes(self, folder):
        rng = np.random.default_rng(0)
        for name in ("result.json", "result.npz"):
            path = folder / name
            whole = path.read_bytes()
            for _ in range(150):
                raw = bytearray(whole)
                for place in rng.integers(len(raw), size=rng.integers(1, 4)):
                    raw[place] = rng.integers(256)
                path.write_bytes(raw)
                if name == "result.npz":
                    content = json.loads((folder / "result.json").read_text())
                    content["sha256"] = hashlib.sha256(raw).hexdigest()
                    (folder / "result.json").write_text(json.dumps(content))
                try:
                    Result.load(folder)
                except ResultError:
                    continue
            path.write_bytes(whole)


def test_plot_is_forwarded(tmp_path):
    make().plot(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_import_needs_numpy_alone():
    code = "import sys, drbo.result.result; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pandas", "matplotlib", "networkx", "torch", "sklearn"} & set(done.stdout.split())


def test_a_result_that_version_0_1_wrote_still_opens():
    """The files in saved/0.1 were written by version 0.1 and must never be written again."""
    result = Result.load(Path(__file__).parent / "saved" / "0.1")
    assert result.names == ("rain", "wet", "slip", "sun")
    assert np.argwhere(result.dag).tolist() == [[0, 1], [1, 2]]
    assert result.confidence.n == 8
    assert "drbo fit chain.csv --score bic-nv" in result.call
    assert "2 directed and 0 undirected edges" in result.summary()
    again = DrBO.like(result).get_params()
    assert (again["score"], again["random_state"], again["knowledge"].required) == ("bic-nv", 0, (("rain", "wet"),))
