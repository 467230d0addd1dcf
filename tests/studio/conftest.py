"""A small table, and a studio as a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest

from tests.result.report.conftest import Browser as Browser
from tests.result.report.conftest import browser as browser

SOURCE = Path(__file__).parent.parent.parent / "src"


class Opened:
    """A studio that runs, and its address."""

    def __init__(self, place: Path, *words: str) -> None:
        env = os.environ | {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "drbo", "studio", *words, "--no-browser", "--json"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=place, env=env, text=True
        )
        text, depth = "", 1
        assert self.process.stdout is not None
        while depth:
            line = self.process.stdout.readline()
            assert line, "the studio ended"
            text += line
            depth = 0 if line.startswith("}") else 1
        self.address: str = json.loads(text)["address"]

    def state(self) -> dict[str, Any]:
        with urlopen(f"{self.address}state", timeout=30) as answer:
            return json.load(answer)

    def post(self, path: str, content: Any = None) -> dict[str, Any]:
        body = content if isinstance(content, bytes) else json.dumps(content or {}).encode()
        with urlopen(Request(f"{self.address}{path}", body), timeout=60) as answer:
            return json.load(answer)

    def close(self, *, kill: bool = False) -> int:
        self.process.kill() if kill else self.process.terminate()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(timeout=60)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a table of five columns, one of them an identifier."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 4))
    x[:, 1] += x[:, 0]
    x[:, 3] += x[:, 1] + x[:, 2]
    frame = pd.DataFrame(x, columns=["age", "dose", "<b>sex</b>", "out, come"])
    frame.insert(0, "id", range(1, 301))
    frame.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path


@pytest.fixture
def studio(place: Path) -> Iterator[Callable[..., Opened]]:
    """What opens a studio in the folder."""
    found: list[Opened] = []

    def start(*words: str) -> Opened:
        found.append(Opened(place, *words))
        return found[-1]

    yield start
    for one in found:
        if one.process.poll() is None:
            one.close(kill=True)
