"""One command: what there is, what it writes and what it prints."""

import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from benchmarks import runner
from benchmarks.experiments import EXPERIMENTS, cells
from benchmarks.golden.command import read as read_golden
from benchmarks.gran_dag import Unavailable
from benchmarks.rows import QUICK_FOLDER, load
from benchmarks.studies import STUDIES, judge, unique
from benchmarks.studies.study import study

ROOT = Path(__file__).parents[2]
PATHS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"))
PAGES = "".join(path.read_text() for path in PATHS)
MODULES = "".join(path.read_text() for path in (ROOT / "benchmarks").rglob("*.py"))
COMMANDS = {
    *(" ".join(words.split()) for words in re.findall(r"`python -m benchmarks([^`]*)`", PAGES)),
    *re.findall(r"^    (?:DRBO_DATA=\.\.\. )?python -m benchmarks (.*?)(?:  .*)?$", MODULES, re.MULTILINE),
    *re.findall(r"-m benchmarks (.*)", (ROOT / "Makefile").read_text().replace("$(shell nproc)", "2")),
}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_that_is_named_exists_with_its_options(command, monkeypatch):
    monkeypatch.setattr(cells, "run", lambda *_: None)
    name, *words = shlex.split(command, comments=True) or [""]
    if name in STUDIES:
        runner.read_study(name, words)
    elif name in EXPERIMENTS or name == "experiments":
        runner.run_experiments(name, words)
    elif name == "golden":
        read_golden(words)
    else:
        assert command in ("", "NAME", "EXPERIMENT", "report", "studies --quick")


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"(?<!tests/)\bbenchmarks/[a-z_/]+\.(?:py|csv|txt)\b", PAGES + MODULES))
    assert len(named) > 5
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("words", [[], ["nothing"]])
def test_without_a_known_name_everything_is_listed(words):
    with pytest.raises(SystemExit) as left:
        runner.main(words)
    for name in (*EXPERIMENTS, *STUDIES):
        assert f"\n  {name} " in left.value.code


def test_a_name_means_one_thing():
    assert not {*EXPERIMENTS} & {*STUDIES}
    assert not {"report", "experiments", "studies", "golden"} & {*EXPERIMENTS, *STUDIES}


def test_a_study_writes_its_rows_with_machine_and_version_and_prints_them(tmp_path, capsys):
    runner.main(["unique", "--quick", "--folder", str(tmp_path), "--lengths", "0"])
    rows = load(tmp_path / "unique.csv")
    assert [(row["rank"], row["unique"]) for row in rows] == [("2", "1000"), ("full", "1000")]
    assert all(row["machine"] and row["drbo"] for row in rows)
    assert "rank 2, length 0.0, seed 0, dim 90, unique 1000" in capsys.readouterr().out


def test_a_study_ends_with_the_table_of_the_docs(tmp_path, capsys, monkeypatch):
    figures = {"edges": 9, "beats_random": True, "informative": True, "falsified": False, "claims": 4}

    def run():
        yield from ({"graph": name, "seed": 0, **figures, "discoveries": 1} for name in judge.GRAPHS)

    monkeypatch.setattr(judge.run, "study", judge.run.study._replace(run=run))
    runner.main(["judge", "--folder", str(tmp_path)])
    assert "| random | 100% | 100% | 0% | 25.0% |" in capsys.readouterr().out


def test_a_row_may_name_its_own_machine_and_replaces_the_old_one(tmp_path, monkeypatch):
    def run(value: int = 1):
        yield {"seed": 0, "value": value, "machine": "another"}

    monkeypatch.setattr(unique, "run", study("file", "seed")(run))
    for value in ("1", "2"):
        runner.main(["unique", "--folder", str(tmp_path), "--value", value])
    [row] = load(tmp_path / "file.csv")
    assert (row["value"], row["machine"]) == ("2", "another")


def test_what_is_lacking_ends_one_study_and_is_left_out_of_all(monkeypatch, capsys):
    def run():
        raise Unavailable("no telescope")
        yield

    monkeypatch.setattr(runner, "STUDIES", {"unique": ""})
    monkeypatch.setattr(unique, "run", study("file", "")(run))
    monkeypatch.setattr(unique, "again", study("file", "", slow=True)(partial(run)), raising=False)
    with pytest.raises(SystemExit, match="unique: no telescope"):
        runner.main(["unique"])
    runner.main(["studies", "--quick"])
    text = capsys.readouterr().out
    assert "left out: no telescope" in text
    assert "left out: it has no quick run" in text


def test_experiments_get_their_options(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(cells, "run", lambda *given: seen.append(given))
    runner.main(["raw", "--seeds", "0-1", "--methods", "EqVar", "--folder", str(tmp_path)])
    runner.main(["experiments", "--quick", "--workers", "2"])
    first, every = seen
    assert first == (["raw"], cells.Request(methods="EqVar", seeds=[0, 1]), False, tmp_path / "run")
    assert (list(every[0]), every[1].workers, every[2:]) == (list(EXPERIMENTS), 2, (True, QUICK_FOLDER / "run"))
