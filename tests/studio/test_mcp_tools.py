"""What a call of a tool becomes: every argument is checked, and every file lies in the folder."""

from pathlib import Path

import pytest

from drbo.cli import main
from drbo.errors import SettingsError
from drbo.studio.mcp_tools import TOOLS, request_of


def test_a_call_becomes_a_command_whose_options_exist(tmp_path: Path):
    asked = {
        "table": "t.csv", "run": "out", "drop": ["id", "a,b"], "types": ["sex=category"], "missing": "drop",
        "forbid": ["a->b", "--help"], "outcome": "--force", "time_limit": 20,
    }  # fmt: skip
    words = request_of("fit", asked, tmp_path).words
    assert words == [
        "fit", f"--output={tmp_path / 'out'}", "--missing=drop", "--forbid=a->b", "--forbid=--help",
        "--outcome=--force", "--time-limit=20s", '--drop=id,"a,b"', "--types=sex=category", "--",
        str(tmp_path / "t.csv"),
    ]  # fmt: skip
    for tool in filter(lambda one: one.command, TOOLS.values()):
        known = {name for option in main.commands[tool.command].params for name in option.opts}
        assert {part.option for part in tool.parts.values() if part.option} <= known
    assert "--time-limit=300s" in request_of("check", {"table": "t.csv"}, tmp_path).words
    assert request_of("next", {"run": "out", "rows": 50}, tmp_path).words[1] == "--rows=50"


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x.csv", "a/../../x.csv", "link/x.csv", "/etc/passwd::t", "~root/../../../etc/x"]
)
def test_no_file_outside_the_folder_is_reached(tmp_path: Path, path: str):
    start = tmp_path / "start"
    start.mkdir()
    (start / "link").symlink_to("/etc")
    for name, given in (("table", "check"), ("run", "edges")):
        with pytest.raises(SettingsError, match="not in the folder"):
            request_of(given, {name: path}, start)


def test_a_table_of_a_database_stays_one(tmp_path: Path):
    assert request_of("check", {"table": "f.db::t"}, tmp_path).words[-1] == str(tmp_path / "f.db::t")


@pytest.mark.parametrize(
    "asked",
    [
        {}, [], {"table": 3}, {"table": ""}, {"table": "a\0b"}, {"table": "t.csv", "code": "x"},
        {"table": "t.csv", "time_limit": 0}, {"table": "t.csv", "time_limit": True},
        {"table": "t.csv", "time_limit": 99_999}, {"table": ["t.csv"]},
    ],
)  # fmt: skip
def test_other_arguments_are_refused(tmp_path: Path, asked):
    with pytest.raises(SettingsError):
        request_of("check", asked, tmp_path)


def test_lists_and_words_are_checked(tmp_path: Path):
    for wrong in ({"forbid": "a->b"}, {"forbid": [3]}, {"missing": "guess"}):
        with pytest.raises(SettingsError):
            request_of("fit", {"table": "t.csv", "run": "o", **wrong}, tmp_path)
