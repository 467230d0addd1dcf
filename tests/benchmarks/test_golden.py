"""The golden cases: a record is plain, the same twice, and shows what a change of the code changes."""

import json

import pytest

import drbo
from benchmarks.golden import adapter, command, files
from benchmarks.golden.__main__ import record
from benchmarks.golden.cases import CASES, commands, fit, step
from benchmarks.golden.compare import MISSING, Difference, differences
from benchmarks.golden.tables import grown, with_gaps

SMALL = grown(3, 60, 1)


def test_a_fit_is_recorded_with_all_that_it_tells():
    case = fit(SMALL, step("bootstrap", n=2), step("score_on", half=True), score="bge", knowledge={"roots": ["x0"]})
    found = json.loads(json.dumps(adapter.run_fit(case)))
    one, again = found["fit"], adapter.run_fit(case)
    model = drbo.DrBO(score="bge", random_state=0, knowledge=drbo.Knowledge(roots=["x0"])).fit(SMALL())
    assert (one["score"], one["n_evals"]) == (model.score_, model.result_.n_evals)
    assert one["adjacency"] == {"others": False} | {f"{a} -> {b}": True for a, b in model.graph_.edges}
    assert {"margins", "posterior", "classes", "noise", "proof", "edges", "reasons", "table", "why"} <= one.keys()
    assert one["knowledge"]["roots"] == ["x0"]
    assert (found["loaded"], found["warnings"]) == ([], [])
    assert found["after"]["confidence"]["n"] == 2
    assert isinstance(found["score_on {'half': True}"]["value"], float)
    assert list(differences(found, json.loads(json.dumps(again)), "")) == []


def test_errors_and_interrupted_searches_are_recorded():
    assert "missing values in column 'x0'" in adapter.run_fit(fit(with_gaps(SMALL, 0.2)))["error"]
    options = {"score": "bic-nv", "settings": {"route": "surrogate", "max_evals": 12}}
    found = adapter.run_fit(fit(SMALL, **options)._replace(interrupt=4))
    assert found["fit"]["stopped"] == "enough"
    assert found["resumed"]["n_evals"] >= found["fit"]["n_evals"]


def test_commands_are_recorded_with_their_files_and_without_seconds():
    case = commands("fit t.csv -o run", "fit t.csv --json -q", "fit none.csv", tables={"t.csv": SMALL})
    found = adapter.run_commands(case)
    assert [found[key]["exit"] for key in found if key[0].isdigit()] == [0, 0, 2]
    assert found["1 fit t.csv --json -q"]["stdout"]["names"] == ["x0", "x1", "x2"]
    assert any("SECONDS s" in line for line in found["0 fit t.csv -o run"]["stdout"])
    assert {"run/result.json", "run/edges.csv", "run/report.html"} <= {*found["files"]}
    assert "seconds" not in found["content"]["run/result.json"]["search"]
    assert found["result in run"]["names"] == ["x0", "x1", "x2"]
    assert list(differences(found, adapter.run_commands(case), "")) == []


def test_a_changed_constant_is_seen(tmp_path, monkeypatch, capsys):
    record(tmp_path / "before", "two-columns")
    assert command.compare(tmp_path / "before", tmp_path / "before") == 0
    monkeypatch.setattr("drbo.claims.margins.TOP", 1)
    record(tmp_path / "after", "two-columns")
    assert command.compare(tmp_path / "before", tmp_path / "after") == 1
    assert "two-columns:fit/classes" in capsys.readouterr().out
    accept = tmp_path / "accept"
    accept.write_text("*:fit/classes\ntwo-*:fit/summary\n")
    assert command.compare(tmp_path / "before", tmp_path / "after", accept=accept) == 0


def test_a_case_that_breaks_is_recorded(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(CASES, "broken", fit(lambda: 1 / 0))
    record(tmp_path, "broken")
    assert json.loads((tmp_path / "broken.json").read_text()) == {"broken": "ZeroDivisionError: division by zero"}


def test_differences_are_named_and_rounding_is_told_apart():
    before = {"a": [1.0, float("nan")], "b": ["one", "two"], "c": 1, "d": None}
    after = {"a": [1.0 + 2e-16, float("nan")], "b": ["one", "new", "two"], "c": 1.0}
    found = list(differences(before, after, "case:"))
    assert [one.where for one in found] == ["case:/a/0", "case:/b/1", "case:/c", "case:/d"]
    assert [one.is_rounding for one in found] == [True, False, False, False]
    assert found[1][1:] == (MISSING, ["new"])
    assert Difference("case:fit/edges/0", 1, 2).is_accepted(["ca*:fit/edges"])
    assert not Difference("case:fit/edges/0", 1, 2).is_accepted(["case:fit/edge"])


def test_what_differs_between_two_runs_is_left_out(tmp_path):
    assert files.steady("0.1 s at 2026-11-18 14:02:03 in 1 min 05 s") == "SECONDS s at DATE in SECONDS s"
    assert files.notes("search: 30 evaluations, 3 s so far\nt.csv: read\n") == ["t.csv: read"]
    assert files.parsed('{"seconds": 1.5, "score": 2}') == {"score": 2}
    page = tmp_path / "page.html"
    page.write_text("<p>one</p>\n<script>let a;\n</script><p>two</p>")
    assert files.content(page) == ["<p>one</p>", "<p>two</p>"]


def test_options_that_contradict_each_other_are_refused(capsys):
    for words in ([], ["--compare", "a", "--base", "HEAD"], ["--compare", "a", "--record", "b"]):
        with pytest.raises(SystemExit):
            command.read(words)


@pytest.mark.skipif(not (command.ROOT / ".git").exists(), reason="needs the history")
def test_another_commit_is_recorded_with_its_own_sources(monkeypatch):
    asked = []
    monkeypatch.setattr(command, "record", lambda folder, source, only: asked.append((folder.name, source)))
    monkeypatch.setattr(command, "compare", lambda *_: 0)
    with command.sources("HEAD", command.ROOT / "src") as source:
        assert (source / "drbo" / "__init__.py").exists()
    assert not source.exists()
    assert command.main(["--compare", "somewhere"]) == 0
    assert command.main(["--record", "folder"]) == 0
    assert asked == [("after", command.ROOT / "src"), ("folder", command.ROOT / "src")]
