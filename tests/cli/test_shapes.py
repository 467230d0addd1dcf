"""What commands print with --json is what 'drbo schema' says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from drbo.cli import main
from drbo.cli.shapes import SHAPES, json_schema

TYPES = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "object": dict, "array": list,
    "null": type(None),
}  # fmt: skip


def faults(value: Any, schema: dict[str, Any], where: str = "$") -> list[str]:
    """Return where a value breaks a schema of those that drbo writes."""
    if "const" in schema:
        return [] if value == schema["const"] else [f"{where} is {value!r}"]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[kind]) and (kind == "boolean") >= (value is True) for kind in kinds):
        return [f"{where} is {value!r:.60}, not {kinds}"]
    found = [f"{where} lacks {name}" for name in schema.get("required", []) if name not in value]
    for name, part in schema.get("properties", {}).items():
        found += faults(value[name], part, f"{where}.{name}") if isinstance(value, dict) and name in value else []
    items = enumerate(value) if isinstance(value, list) and "items" in schema else ()
    return found + [fault for k, item in items for fault in faults(item, schema["items"], f"{where}[{k}]")]


def test_the_test_finds_faults() -> None:
    schema = json_schema({"a": "number", "b?": ["string"]})
    assert faults({"a": 1.5}, schema) == []
    assert faults({"b": [1]}, schema) == ["$ lacks a", "$.b[0] is 1, not ['string']"]
    assert faults({"a": True}, schema) == ["$.a is True, not ['number']"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    x = np.random.default_rng(0).normal(size=(200, 4))
    x[:, 1] += x[:, 0]
    pd.DataFrame(x, columns=list("abcd")).to_csv(folder / "t.csv", index=False)
    pd.DataFrame({"source": ["a"], "target": ["b"]}).to_csv(folder / "g.csv", index=False)
    return folder


CALLS = {
    "fit": "t.csv -o run",
    "resume": "run --max-evals 5",
    "check": "t.csv",
    "report": "run",
    "export": "run g.dot",
    "judge": "t.csv g.csv --permutations 20",
    "effects": "run t.csv",
    "next": "run",
    "score": "t.csv g.csv",
    "compare": "run g.csv",
    "moments": "t.csv -o m.npz",
    "lag": "t.csv -o l.csv",
    "simulate": "4ER1 -o s.csv",
    "datasets": "sachs",
    "init": "run.toml",
    "schema": "",
    "studio": "t.csv --no-browser --time-limit 0.01s",
}


def test_every_command_answers_in_json(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    schemas = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    assert set(schemas["commands"]) == set(SHAPES) == set(main.commands) - {"mcp"}
    assert set(CALLS) == set(SHAPES) - {"demo"}  # its own test runs it
    for name, words in CALLS.items():
        done = CliRunner().invoke(main, [name, *words.split(), "--json"])
        assert done.exit_code == 0, done.output
        assert faults(json.loads(done.stdout), schemas["commands"][name], name) == []


ERRORS = {
    "fit absent.csv": 2,
    "fit": 2,
    "fit c.csv": 2,
    "check t.csv --drop e": 2,
    "export run g.xyz": 2,
    "schema nothing": 2,
    "simulate 4ER1": 2,
    "report run -o absent/r.html": 1,
}


@pytest.mark.parametrize("words", ERRORS)
def test_an_error_is_json_too(place: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    monkeypatch.chdir(place)
    pd.DataFrame({"a": range(9), "b": 1.0, "c": np.arange(9) % 4}).to_csv("c.csv", index=False)
    if not Path("run").exists():
        CliRunner().invoke(main, ["fit", "t.csv", "-o", "run", "-q"])
    schemas = json.loads(CliRunner().invoke(main, ["schema"]).stdout)
    done = CliRunner().invoke(main, [*words.split(), "--json"])
    answer = json.loads(done.stdout)
    assert done.exit_code == ERRORS[words]
    assert faults(answer, schemas["error"]) == []
    assert answer["error"].split(":")[0] in done.stderr
    if words == "fit c.csv":
        assert answer["column"] in ("a", "b")
