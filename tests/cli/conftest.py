"""The command line as a function, in a folder of its own with a small table."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from drbo.cli import main

Run = Callable[..., Result]


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    """Small searches on a busy machine spend their time waiting for threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("drbo.machine.threads._asked", 1)
        yield


@pytest.fixture
def fast() -> tuple[str, ...]:
    """Options of a search that takes a fraction of a second."""
    return ("--max-evals", "30", "--set", "batch_size=8", "--set", "n_candidates=200", "--set", "patience=3")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def chain(folder: Path) -> Path:
    """rain -> wet -> slip, and sun alone; 200 rows."""
    rng = np.random.default_rng(0)
    rain, wet, slip, sun = rng.normal(size=(4, 200))
    wet += 2 * rain
    slip -= 1.5 * wet
    path = folder / "chain.csv"
    np.savetxt(path, np.column_stack([rain, wet, slip, sun]), delimiter=",", header="rain,wet,slip,sun", comments="")
    return path


@pytest.fixture
def truth(folder: Path) -> Path:
    path = folder / "truth.csv"
    path.write_text("source,target\nrain,wet\nwet,slip\n")
    return path
