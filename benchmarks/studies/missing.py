"""Missing values: what each policy costs in edges, beside the complete table.

    python -m benchmarks missing --part graph --seeds 10
    python -m benchmarks missing --part null --seeds 20

``graph``: standardised 10ER2 data with 500 rows, score bic-nv with the default choices. ``mcar``: every cell is missing
with the same probability. ``mar``: half of the columns, chosen at random, lose cells in rows in which another column,
which is always seen, is large. SHD is counted between equivalence classes. ``null``: ten independent columns with 300
rows; every edge is false.
"""

import argparse
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from benchmarks import rows as table
from drbo import DrBO
from drbo.data.simulate import simulate, standardize
from drbo.metrics import shd_cpdag

KEY = ("part", "mechanism", "share", "policy", "seed")
POLICIES = ("complete", "drop", "em", "impute")
GRAPH, ROWS, NULL_ROWS = "10ER2", 500, 300
STEEP = 3.0  # of the curve by which a large value of the cause loses cells
Floats = npt.NDArray[np.float64]


def holed(values: Floats, mechanism: str, share: float, rng: np.random.Generator) -> Floats:
    """Return the table with about this share of missing cells."""
    n, d = values.shape
    lost = rng.random((n, d)) < share
    if mechanism == "mar":
        columns = rng.permutation(d)
        causes, victims = columns[: d // 2], columns[d // 2 :]
        chance = np.zeros((n, d))
        for victim in victims:
            cause = values[:, rng.choice(causes)]
            chance[:, victim] = expit(STEEP * (cause - np.quantile(cause, 1 - 2 * share)))
        lost = rng.random((n, d)) < chance
    return np.where(lost, np.nan, values)


def edges_by(policy: str, values: Floats, gaps: Floats, seed: int) -> npt.NDArray[np.bool_]:
    """Return the graph that a policy makes of the table with holes; ``complete``: of the table itself."""
    if policy == "complete":
        return DrBO(score="bic-nv", random_state=seed).fit(values).result_.dag
    return DrBO(score="bic-nv", missing=policy, random_state=seed).fit(gaps).result_.dag


def graph(seeds: range) -> list[table.Row]:
    """Fit tables of known graphs with holes."""
    found = []
    for seed in seeds:
        data = simulate(GRAPH, "linear", n=ROWS, seed=seed)
        values = standardize(data.X)
        for mechanism, share in (("mcar", 0.05), ("mcar", 0.15), ("mar", 0.15)):
            gaps = holed(values, mechanism, share, np.random.default_rng([1, seed]))
            lost = np.isnan(gaps)
            for policy in POLICIES:
                dag = edges_by(policy, values, gaps, seed)
                key = {"part": "graph", "mechanism": mechanism, "share": share, "policy": policy, "seed": seed}
                row = {"shd_c": shd_cpdag(dag, data.dag), "edges": int(dag.sum()), "missing": round(lost.mean(), 4)}
                found.append({**key, **row, "complete_rows": int((~lost.any(axis=1)).sum()), **table.stamp("cpu")})
        print(f"seed {seed} done", flush=True)
    return found


def null(seeds: range) -> list[table.Row]:
    """Count edges among independent columns."""
    found = []
    for seed in seeds:
        rng = np.random.default_rng([2, seed])
        values = rng.normal(size=(NULL_ROWS, 10))
        for share in (0.05, 0.15):
            gaps = holed(values, "mcar", share, rng)
            for policy in POLICIES:
                edges = int(edges_by(policy, values, gaps, seed).sum())
                key = {"part": "null", "mechanism": "mcar", "share": share, "policy": policy, "seed": seed}
                found.append({**key, "edges": edges, **table.stamp("cpu")})
        print(f"seed {seed} done", flush=True)
    return found


def write_docs() -> None:
    """Write the table of docs/missing.md from the committed rows."""
    groups: dict[tuple[str, str, str], list[table.Row]] = {}
    for row in table.load(table.FOLDER / "missing.csv"):
        groups.setdefault((row["part"], row["mechanism"], row["share"]), []).append(row)
    text = f"| data | complete rows | {' | '.join(POLICIES)} |\n|---|---|{'---|' * len(POLICIES)}\n"
    for (part, mechanism, share), rows in sorted(groups.items()):
        what, column, digits = ("SHD-C", "shd_c", 1) if part == "graph" else ("false edges", "edges", 2)
        size = f"{GRAPH}, {ROWS} rows" if part == "graph" else f"10 independent columns, {NULL_ROWS} rows"
        count = len({row["seed"] for row in rows})
        lost = float(share) if part == "null" else mean(float(row["missing"]) for row in rows)
        whole = "" if part == "null" else f"{mean(float(row['complete_rows']) for row in rows):.0f}"
        cells = [table.spread((row[column] for row in rows if row["policy"] == p), digits) for p in POLICIES]
        name = f"{size}, {lost:.0%} {mechanism.upper()}, {count} data sets: {what}"
        text += f"| {name} | {whole} | {' | '.join(cells)} |\n"
    table.fill(table.FOLDER.parent.parent / "docs" / "missing.md", "missing", text)


PARTS = {"graph": graph, "null": null}


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), default="graph")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--docs", action="store_true", help="write docs/missing.md from the rows, and nothing else")
    options = parser.parse_args(arguments)
    if options.docs:
        write_docs()
        return
    found = PARTS[options.part](range(options.first, options.first + options.seeds))
    if options.save:
        table.save(options.save, found, KEY)
