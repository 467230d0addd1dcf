"""Tables with numbers and categories, from a CSV file to a graph by the command line.

    python -m benchmarks mixed --seeds 0-4

Runs ``drbo fit`` on simulated tables, with ``drbo compare`` against the truth, and on a real one: the diabetes study of
Efron, Hastie, Johnstone & Tibshirani (2004) as shipped with scikit-learn, 442 patients, sex as a category. There the
tiers say what cannot be an effect: age and sex come first, the progress of the disease comes last.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import load_diabetes

from benchmarks.parameters import SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import Result
from drbo.data.files.simulate import random_dag
from drbo.graph.dag import topological_order
from drbo.graph.metrics import compare

N_NODES, DEGREE = 8, 1.0
TIERS = "age,sex;bmi,bp,s1,s2,s3,s4,s5,s6;target"


def simulate_mixed(n: int, seed: int) -> tuple[pd.DataFrame, npt.NDArray[np.bool_]]:
    """Return a table of four numeric and four categorical columns, and the graph it was drawn from.

    Children see a numeric column in standard units and a categorical one as an indicator per level, each with an
    effect of size 1 to 2. A numeric column adds standard normal noise; a categorical one has 2 or 3 levels and takes
    them with probabilities that are the softmax of the effects.
    """
    rng = np.random.default_rng(seed)
    dag = random_dag(N_NODES, DEGREE, rng)
    seen: dict[int, npt.NDArray[np.float64]] = {}  # (n, width) what the children of a node see
    columns: dict[int, Any] = {}
    for node in topological_order(dag).tolist():
        width = 1 if node < N_NODES // 2 else int(rng.integers(2, 4))
        signal = np.zeros((n, width))
        for parent in np.flatnonzero(dag[:, node]).tolist():
            shape = (seen[parent].shape[1], width)
            signal += seen[parent] @ (rng.choice([-1.0, 1.0], shape) * rng.uniform(1.0, 2.0, shape))
        if width == 1:
            columns[node] = signal[:, 0] + rng.normal(size=n)
            seen[node] = ((columns[node] - columns[node].mean()) / columns[node].std())[:, None]
        else:
            level = np.argmax(signal + rng.gumbel(size=(n, width)), axis=1)
            columns[node] = np.array(["low", "mid", "top"])[level]
            seen[node] = np.eye(width)[level]
    names = [f"x{node}" if node < N_NODES // 2 else f"group{node}" for node in range(N_NODES)]
    return pd.DataFrame({name: columns[node] for node, name in enumerate(names)}), dag


def diabetes() -> pd.DataFrame:
    """Return the diabetes study in its own units; the source does not say which code of sex is which."""
    frame: pd.DataFrame = load_diabetes(as_frame=True, scaled=False).frame
    return frame.assign(sex=["sex" + str(int(code)) for code in frame["sex"]])


def drbo(*words: str | Path) -> None:
    """Run the command line; what it prints is the point."""
    command = [str(word) for word in words]
    print(f"\n$ drbo {' '.join(command)}", flush=True)
    subprocess.run([sys.executable, "-m", "drbo", *command], check=True)


def fit(frame: pd.DataFrame, name: str, *words: str) -> Result:
    """Write a table, find its graph by the command line and return the result that it saved."""
    frame.to_csv(f"{name}.csv", index=False)
    drbo("fit", f"{name}.csv", "-o", name, "--quiet", *words)
    return Result.load(name)


def row(result: Result, name: str, seed: int, **figures: Any) -> Row:
    """Return the row of a table."""
    return {
        "table": name,
        "seed": seed,
        "n": result.table.n_rows,
        "score": result.score_name,
        "penalty": result.scoring.options.get("penalty", ""),
        "n_found": int(result.dag.sum()),
        "found_score": round(result.score, 6),
        "n_evals": result.n_evals,
        "seconds": round(result.seconds, 2),
        **figures,
    }


def simulated(seed: int, n: int, *words: str) -> Row:
    """Return the row of one simulated table."""
    frame, dag = simulate_mixed(n, seed)
    name, names = f"simulated{seed}", list(frame.columns)
    edges = [f"{names[i]},{names[j]}\n" for i, j in np.argwhere(dag)]
    Path(f"{name}-truth.csv").write_text("source,target\n" + "".join(edges))
    result = fit(frame, name, "--seed", str(seed), *words)
    drbo("compare", name, f"{name}-truth.csv")
    found = compare(result.cpdag if result.score_equivalent else result.dag, dag)
    return row(
        result,
        "simulated",
        seed,
        n_edges=int(dag.sum()),
        shd_c=found.shd_c,
        adjacency_precision=round(found.adjacency_precision, 4),
        adjacency_recall=round(found.adjacency_recall, 4),
    )


@study("mixed", "table seed n score", seeds=range(1), rows=200, max_evals=20)
def run(
    seeds: Seeds = range(5),
    rows: SampleSize = 1_000,
    score: Annotated[str, "the score"] = "auto",
    penalty: Annotated[str | None, "of the score, where it is not the program's own"] = None,
    max_evals: Annotated[int | None, "evaluations of a search at most"] = None,
) -> Iterator[Row]:
    """Yield the rows of the simulated tables, then that of the real one."""
    words = ["--score", score, *(["--score-option", f"penalty={penalty}"] if penalty else [])]
    words += ["--max-evals", str(max_evals)] if max_evals else []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for seed in seeds:
            yield simulated(seed, rows, *words)
        yield row(fit(diabetes(), "diabetes", "--seed", "0", "--tiers", TIERS, *words), "diabetes", 0)
