"""The example of a package that adds a score: built and used without a network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PLUGIN = Path(__file__).parent.parent / "examples" / "plugin"
SOURCE = Path(__file__).parent.parent / "src"
PROGRAM = """
import json, sys, numpy as np
from drbo import DrBO, Settings
from drbo.data.statistics.statistics import Statistics
from drbo.testing import check_score
rng = np.random.default_rng(0)
x = rng.laplace(size=(300, 3))
x[:, 1] += 2 * x[:, 0]
x[:5, 1] += 500
check_score("laplace", Statistics.from_array(x[5:]))
model = DrBO(score="laplace", settings=Settings(claims=False), random_state=0).fit(x)
again = DrBO.like(model.result_).fit(x)
print(json.dumps([model.result_.score_name, model.adjacency_.tolist(), again.score_ == model.score_]))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the built package is installed in."""
    folder = tmp_path_factory.mktemp("plugin")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    alone = ["--no-deps", "--no-index", "--no-build-isolation"]
    source = folder / "source"
    source.mkdir()
    for path in PLUGIN.glob("*.*"):
        (source / path.name).write_bytes(path.read_bytes())
    subprocess.run([*pip, "wheel", *alone, "-w", str(folder), str(source)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", *alone, "--target", str(folder / "site"), str(wheel)], check=True)
    return folder


def _python(place: Path, *words: str, known: bool = True) -> subprocess.CompletedProcess[str]:
    paths = [str(SOURCE), *([str(place / "site")] if known else [])]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, cwd=place)


def test_an_installed_package_adds_a_score(place: Path) -> None:
    done = _python(place, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    name, adjacency, same = json.loads(done.stdout)
    assert (name, same) == ("laplace", True)
    assert np.asarray(adjacency)[0, 1] + np.asarray(adjacency)[1, 0] == 1
    assert np.asarray(adjacency).sum() == 1


def test_a_run_names_the_score_and_needs_the_package(place: Path) -> None:
    rows = np.random.default_rng(1).laplace(size=(200, 3))
    np.savetxt(place / "t.csv", rows, delimiter=",", header="a,b,c", comments="")
    words = ["-m", "drbo", "fit", "t.csv", "--score", "laplace", "-o", "run", "--force", "-q", "--json"]
    done = _python(place, *words)
    assert json.loads(done.stdout)["score_name"] == "laplace", done.stderr
    done = _python(place, "-m", "drbo", "judge", "t.csv", "run", "--json", known=False)
    assert done.returncode == 2
    assert "does not load code that only a file names" in json.loads(done.stdout)["error"]
