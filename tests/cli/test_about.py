"""What a bug report needs is printed without a name of a person, a folder or a machine."""

import os
import platform
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import drbo
from drbo.cli.about import ABSENT, PACKAGES, installation

Run = Callable[..., Result]
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_the_version_is_one_line_and_verbose_says_what_a_report_needs(run: Run) -> None:
    assert run("--version").stdout == f"drbo {drbo.__version__}\n"
    done = run("--version", "--verbose")
    assert done.exit_code == 0
    assert done.stdout == run("--verbose", "--version").stdout == f"{installation()}\n"
    words = dict(line.split(": ", 1) for line in done.stdout.splitlines()[1:])
    assert platform.python_version() in words["python"]
    assert words["compiled core"].startswith("_core.")
    assert re.fullmatch(r"\d+ on \d+ processors", words["threads"])
    assert re.fullmatch(r"[\d.]+ GiB", words["memory"])


def test_every_package_that_is_needed_or_can_be_used_is_listed() -> None:
    tools = ("docs", "dev")
    wanted = [text for name, texts in PROJECT["optional-dependencies"].items() if name not in tools for text in texts]
    names = [re.match(r"[\w-]+", text)[0] for text in (*PROJECT["dependencies"], *wanted)]  # type: ignore[index]
    assert sorted(names) == sorted(PACKAGES)


def test_what_is_missing_is_said_and_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drbo.cli.about.PACKAGES", ("no-such-package",))
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setitem(sys.modules, "drbo._core", None)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    text = installation()
    assert f"no-such-package: {ABSENT}" in text
    assert "memory: unknown" in text
    assert "compiled core: cannot be loaded" in text
    assert "OMP_NUM_THREADS: 3" in text
    for private in (str(Path.home()), str(Path.cwd()), platform.node()):
        assert private not in text


def test_verbose_alone_is_refused(run: Run) -> None:
    done = run("--verbose")
    assert done.exit_code == 2
    assert "--verbose goes with --version" in done.stderr
