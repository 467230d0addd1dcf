"""The same fits on every kind of machine: an equal score, and where it is proved to be the best, the same graph.

Last bits may differ between kinds of machines, and with them the course of a search. ``.ci/cpus.py`` runs this file as
on several of them and names a folder, in which the fits of each are compared with those of the others.
"""

import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from drbo import DrBO, Settings
from drbo.data.files.simulate import simulate
from drbo.graph.dag import dag_to_cpdag

#: Relative error of sums of some hundred terms, whichever way they are rounded.
ROUNDING = 1e-9
#: Score, settings, and whether the score is proved to be the best.
FITS = {
    "bic-nv": ("bic-nv", {"exact": "on"}, True),
    "bic-ev": ("bic-ev", {"exact": "on"}, True),
    "bge": ("bge", {"exact": "on"}, True),
    "bdeu": ("bdeu", {"exact": "on"}, True),
    "mixed": ("mixed", {"exact": "on"}, True),
    "logistic": ("logistic", {"exact": "on"}, True),
    "splines": ("splines", {"exact": "on"}, True),
    "an order search": ("bic-nv", {"exact": "off"}, False),
    "a surrogate": ("bic-nv", {"exact": "off", "max_evals": 300}, False),
    "gp": ("gp", {"exact": "off", "max_evals": 20}, False),
}


def _table(score: str, seed: int) -> pd.DataFrame:
    """Return a table for a score, with values that are the same on every machine."""
    d = 4 if score == "gp" else 6
    values = np.round(simulate(f"{d}ER2", n=60 if score == "gp" else 200, seed=seed).X, 6)
    frame = pd.DataFrame(values, columns=list("abcdef"[:d]))
    above = frame > frame.median()
    if score == "logistic":
        return above
    groups = above.replace({True: "high", False: "low"}).astype("category")
    if score == "mixed":
        return frame.assign(a=groups["a"], d=groups["d"])
    return groups if score == "bdeu" else frame


def _others(folder: Path, own: str) -> dict[str, dict]:
    """Return what other kinds of machines found."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json")) if path.stem != own}


@pytest.mark.floats
@pytest.mark.parametrize("name", FITS)
def test_the_same_fit_on_every_kind_of_machine(name, tmp_path):
    score, changes, proved = FITS[name]
    # A surrogate's search takes another way on every kind of machine: on this table all of them lead to the optimum.
    table = _table(score, seed=3 if name == "a surrogate" else 5)
    result = DrBO(score=score, random_state=1, settings=Settings().with_(**changes)).fit(table).result_
    assert (result.gap == 0.0) == proved
    found = {"score": result.score, "class": dag_to_cpdag(result.searched_dag).astype(int).tolist()}
    folder = Path(os.environ.get("DRBO_CPUS_FOLDER", tmp_path)) / name
    folder.mkdir(parents=True, exist_ok=True)
    own = os.environ.get("DRBO_CPUS_NAME", "host")
    (folder / f"{own}.json").write_text(json.dumps(found))
    for other, theirs in _others(folder, own).items():
        assert result.score == pytest.approx(theirs["score"], rel=ROUNDING), other
        if proved:
            assert found["class"] == theirs["class"], other


@pytest.fixture
def driver(monkeypatch, tmp_path):
    """The program that runs the marked tests as on other machines, with no test to run."""
    path = Path(__file__).resolve().parents[1] / ".ci/cpus.py"
    spec = importlib.util.spec_from_file_location("cpus", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    monkeypatch.setattr(module, "PROBE", "")
    monkeypatch.setattr(module, "pytest", lambda environment, *options: 0)
    monkeypatch.setattr(sys, "argv", ["cpus.py"])
    return module


def test_a_machine_that_lacks_instructions_is_told_so(driver, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(driver.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(driver, "CPUINFO", tmp_path / "cpuinfo")
    driver.CPUINFO.write_text("processor : 0\nflags : fpu sse2 fma\n")
    assert driver.main() == 0
    told = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.split("=== summary ===")[1].split("\n") if line
    )
    assert told["haswell"] == told["zen"] == "skipped: this machine has no avx2"
    assert told["sse"].startswith("ok")
    monkeypatch.setattr(driver.platform, "machine", lambda: "arm64")
    assert driver.main() == 0
    assert capsys.readouterr().out.count("skipped: this machine is arm64, not x86-64") == 4


def test_one_failure_is_a_failure_of_all(driver, monkeypatch, capsys):
    """The summary names it, and the exit code is not 0."""
    failing = {"sse": 1}
    monkeypatch.setattr(driver, "lacking", lambda combination: "")
    monkeypatch.setattr(driver, "pytest", lambda environment, *options: failing.get(environment["DRBO_CPUS_NAME"], 0))
    assert driver.main() == 1
    assert "sse      failed" in capsys.readouterr().out
    monkeypatch.setattr(driver, "PROBE", "print('torch uses AVX512')")
    monkeypatch.setattr(sys, "argv", ["cpus.py", "mixed"])
    assert driver.main() == 1
    assert "failed: the machine is not imitated: torch uses AVX512" in capsys.readouterr().out


def test_four_combinations_differ_in_threads_and_the_c_library(driver):
    assert [each.name for each in driver.COMBINATIONS] == ["sse", "haswell", "zen", "mixed"]
    assert {each.threads for each in driver.COMBINATIONS} == {1, 2}
    assert [each.name for each in driver.COMBINATIONS if "GLIBC_TUNABLES" in each.variables] == ["sse", "zen"]
