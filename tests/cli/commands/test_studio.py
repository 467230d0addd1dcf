"""The command that opens a studio: what it refuses, and how it ends."""

import json
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

from drbo.cli.commands import studio as command
from tests.cli.conftest import Run


@pytest.fixture
def table(folder: Path) -> Path:
    np.savetxt("t.csv", np.random.default_rng(0).normal(size=(50, 3)), delimiter=",", header="a,b,c", comments="")
    return folder


def test_it_ends_at_its_time_limit_and_says_how_to_go_on(run: Run, table: Path) -> None:
    done = run("studio", "t.csv", "--no-browser", "--json", "--time-limit", "0.01s")
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["address"].startswith("http://127.0.0.1:")
    assert len(answer["address"].split("/")[3]) >= 32
    assert "drbo studio t.csv -o t-studio" in done.stderr
    assert Path("t-studio").stat().st_mode & 0o077 == 0
    assert run("studio", "t.csv", "--no-browser", "--time-limit", "0.01s").exit_code == 0  # the same folder again


def test_a_browser_gets_the_address_by_a_private_file(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(command.webbrowser, "open", lambda url: bool(asked.append(url)))
    done = run("studio", "t.csv", "--time-limit", "0.01s")
    address = done.stdout.strip()
    (url,) = asked
    assert url.startswith("file://")
    assert address not in url
    page = Path("t-studio") / command.OPENER
    assert address in page.read_text()
    assert page.stat().st_mode & 0o077 == 0
    assert "no browser could be opened" in done.stderr


def test_what_cannot_be_opened_is_told(run: Run, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is not a file" in run("studio", "absent.csv").stderr
    Path("other").mkdir()
    Path("other/letter.txt").write_text("mine")
    assert "holds no run of drbo" in run("studio", "t.csv", "-o", "other").stderr
    assert "needs a folder" in run("studio", "t.csv", "-o", "t.csv").stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("studio", "t.csv", "--no-browser", "--port", port)
    assert (done.exit_code, "--port 0" in done.stderr) == (2, True)
    monkeypatch.setitem(sys.modules, "drbo.studio.server", None)
    done = run("studio", "t.csv")
    assert (done.exit_code, "pip install 'drbo[studio]'" in done.stderr) == (2, True)
