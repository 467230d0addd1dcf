"""Run the commands and the Python of README.md in an empty folder, with the drbo that is installed beside this Python.

    build/install/env/bin/python .ci/readme.py build/install/try

The folder gets a table with the columns that the README speaks of, rows that were not seen (also as the part of an
owner), rows of two experiments, rows with a time, and a graph to compare to. ``drbo studio`` is left out: it serves a
page until it is ended, and needs what this installation lacks; tests/studio tries it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

README = Path(__file__).parents[1] / "README.md"


def prepare(folder: Path) -> None:
    """Write the files that the README takes as given."""
    rng = np.random.default_rng(0)
    n = 400
    age, sex, rain = rng.normal(50, 10, n), rng.integers(2, size=n), rng.normal(size=n)
    dose = 0.1 * age + rng.normal(size=n)
    outcome = 2 * dose + sex + rng.normal(size=n)
    weight, wet = 0.5 * age + 3 * sex + rng.normal(size=n), 2 * rain + rng.normal(size=n)
    columns = {"age": age, "sex": sex, "dose": dose, "outcome": outcome, "weight": weight, "rain": rain, "wet": wet}
    frame = pd.DataFrame(columns)
    frame[: n // 2].to_csv(folder / "table.csv", index=False)
    frame[n // 2 :].to_csv(folder / "new-rows.csv", index=False)
    frame[n // 2 :].to_csv(folder / "part.csv", index=False)
    run = np.where(np.arange(n) < n // 2, "plain", "heated")
    frame[["age", "dose"]].assign(dose=dose + 3 * (run == "heated"), run=run).to_csv(folder / "runs.csv", index=False)
    series = pd.DataFrame(rng.normal(size=(120, 3)), columns=["x", "y", "z"])
    series.assign(day=pd.date_range("2026-01-01", periods=120)).to_csv(folder / "series.csv", index=False)
    (folder / "truth.csv").write_text("source,target\nage,dose\ndose,outcome\nrain,wet\nsex,outcome\nage,weight\n")


def commands() -> list[list[str]]:
    """Return the commands of the README, and its Python as one of them."""
    blocks = re.findall(r"```(\w*)\n(.*?)```", README.read_text(), re.DOTALL)
    lines = [line.split("  #")[0].strip() for kind, text in blocks if kind in ("", "sh") for line in text.splitlines()]
    found = [["sh", "-c", line] for line in lines if re.match(r"drbo (?!studio)", line)]
    return [*found, *([sys.executable, "-c", text] for kind, text in blocks if kind == "python")]


def main() -> int:
    """Run them all; the first that fails ends it."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    prepare(folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = commands()
    assert len(found) > 5, "the README has lost its commands"
    for command in found:
        print("$", command[-1], flush=True)
        done = subprocess.run(command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n")
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
