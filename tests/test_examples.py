"""Every example runs from beginning to end; the site shows what it prints and draws."""

import runpy
from pathlib import Path

import pytest

from drbo import DrBO

BOOTSTRAP = DrBO.bootstrap  # a few resamples are enough here: the site makes them all
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_draws(path, monkeypatch, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(DrBO, "bootstrap", lambda self, X, n, **options: BOOTSTRAP(self, X, min(n, 5), **options))
    runpy.run_path(str(path), run_name="__main__")
    assert pyplot.get_fignums()
    pyplot.close("all")


def test_there_are_four_examples_on_real_data():
    assert len(EXAMPLES) >= 4
