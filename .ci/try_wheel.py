"""Fit a small table with the drbo that is installed: the wheel must work where it was not built."""

from pathlib import Path

import numpy as np
import pandas as pd

import drbo
from drbo import DrBO, _core


def main() -> None:
    """Fit three columns, and say what was found."""
    here = Path(__file__).resolve().parents[1]
    assert here / "src" not in Path(drbo.__file__).parents, f"{drbo.__file__} is not installed"
    rng = np.random.default_rng(0)
    a = rng.normal(size=300)
    b = a + rng.normal(size=300)
    frame = pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=300)})
    model = DrBO(score="bic-nv", random_state=0).fit(frame)
    edges = {frozenset(edge) for edge in model.graph_.edges}
    assert edges == {frozenset("ab"), frozenset("bc")}, edges
    print(f"drbo {drbo.__version__}, {Path(_core.__file__).name}: score {model.score_:.3f}")


if __name__ == "__main__":
    main()
