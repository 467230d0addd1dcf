"""Reliability of edge posteriors: of the edges given probability p, a share p should be there.

    python -m benchmarks reliability --sets 1000 --save benchmarks/rows/reliability.csv
    python -m benchmarks reliability --plot docs/images/reliability.png

The true graph of data set s is drawn from all 29,281 DAGs on 5 nodes, each as likely as the other: the prior of the
exact sums. ``bdeu``: the probabilities of each family come from the Dirichlet prior of the score, so that its posterior
is the right answer and only chance separates the two; data with a constant column are drawn again. ``bge`` and
``bic-nv``: weights and log noise variances are standard normal, which is near the prior of bge but not it. n = 100.
"""

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks import rows as table
from benchmarks.studies.equivalence import all_dags
from drbo.claims.findings import edge_posterior
from drbo.data.table import Table
from drbo.graph import topological_order
from drbo.knowledge import Constraints
from drbo.scores.base import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.settings import Settings

KEY = ("score", "bin")
D, N_ROWS, LEVELS, ESS = 5, 100, 2, 4.0
BINS = np.linspace(0.0, 1.0, 11)
SCORES: dict[str, dict[str, float]] = {"bdeu": {"ess": ESS, "penalty": 1.0}, "bge": {"penalty": 1.0}, "bic-nv": {}}

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def draw_linear(dag: Bools, rng: np.random.Generator) -> Floats:
    """Draw rows with standard normal weights and log noise variances."""
    values = np.zeros((N_ROWS, D))
    for node in topological_order(dag):
        noise = np.exp(rng.normal() / 2) * rng.normal(size=N_ROWS)
        values[:, node] = values @ (rng.normal(size=D) * dag[:, node]) + noise
    return values


def draw_categorical(dag: Bools, rng: np.random.Generator) -> Floats:
    """Draw rows from probabilities that come from the prior of BDeu."""
    while True:
        values = np.zeros((N_ROWS, D), dtype=np.int64)
        for node in topological_order(dag):
            parents = np.flatnonzero(dag[:, node])
            code = values[:, parents] @ LEVELS ** np.arange(len(parents))
            q = LEVELS ** len(parents)
            chances = rng.dirichlet(np.full(LEVELS, ESS / (q * LEVELS)), size=q)
            values[:, node] = (rng.random(N_ROWS)[:, None] > chances[code].cumsum(axis=1)[:, :-1]).sum(axis=1)
        if (values != values[0]).any(axis=0).all():
            return values.astype(np.float64)


def posterior(name: str, values: Floats) -> Floats:
    """Return the exact edge posterior of a table."""
    score = build_score(name, Table.from_array(values), SCORES[name])
    tables = all_tables(Evaluator(score, Settings()), Constraints.none(D))
    assert score.evidence_scale is not None
    return edge_posterior(tables.shares(score) / score.evidence_scale)[0]


def one_score(name: str, sets: int, dags: Bools) -> list[table.Row]:
    """Return one row per bin of probability."""
    given, true = [], []
    pairs = ~np.eye(D, dtype=bool)
    for seed in range(sets):
        rng = np.random.default_rng([seed, 7])
        dag = dags[rng.integers(len(dags))]
        values = draw_categorical(dag, rng) if name == "bdeu" else draw_linear(dag, rng)
        given.append(posterior(name, values)[pairs])
        true.append(dag[pairs])
    p, there = np.concatenate(given), np.concatenate(true)
    place = np.clip(np.digitize(p, BINS) - 1, 0, len(BINS) - 2)
    print(f"{name}: {sets} data sets, mean square error {np.mean((p - there) ** 2):.4f}, ", end="")
    error = sum(abs(p[place == k].sum() - there[place == k].sum()) for k in range(len(BINS) - 1)) / len(p)
    print(f"mean distance from the diagonal {error:.4f}")
    return [
        {
            "score": name,
            "bin": k,
            "sets": sets,
            "count": int((place == k).sum()),
            "given": round(float(p[place == k].mean()), 4),
            "found": round(float(there[place == k].mean()), 4),
            **table.stamp("cpu"),
        }
        for k in range(len(BINS) - 1)
        if (place == k).any()
    ]


def plot(rows: list[table.Row], path: Path) -> None:
    """Draw frequency against probability, with a bar of two standard errors."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, name in zip(figure.subplots(1, len(SCORES), sharey=True), SCORES, strict=True):
        part = [row for row in rows if row["score"] == name]
        x, y, count = (np.array([float(row[key]) for row in part]) for key in ("given", "found", "count"))
        axis.plot([0, 1], [0, 1], color="0.7", lw=1)
        axis.errorbar(x, y, 2 * np.sqrt(np.maximum(y * (1 - y), 0.25 / count) / count), fmt="o-", ms=4, lw=1.2)
        axis.set(title=name, xlabel="posterior probability of an edge", xlim=(0, 1), ylim=(0, 1))
        axis.set_aspect("equal")
    figure.axes[0].set_ylabel("share that is in the true graph")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--plot", type=Path, help="draw the committed rows into this file, and do nothing else")
    options = parser.parse_args(arguments)
    if options.plot:
        plot(table.load(table.FOLDER / "reliability.csv"), options.plot)
        return
    dags = all_dags(D)
    found = [row for name in SCORES for row in one_score(name, options.sets, dags)]
    if options.save:
        table.save(options.save, found, KEY)
