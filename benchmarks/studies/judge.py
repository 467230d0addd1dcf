"""Judging graphs: how often true, learned and wrong graphs pass the tests of ``drbo judge`` on held-out rows.

    python -m benchmarks judge --seeds 50

Standardised 8ER2 data, 300 rows to learn from (score bic-nv, default choices) and 300 to judge by. ``true``: the graph
behind the data; ``learned``: the fit; ``half``: half of the true edges replaced by random ones; ``random``: a random
DAG with as many edges. A level of 0.05 throughout.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import rows as table
from drbo import DrBO, judge
from drbo.data.simulate import simulate, standardize

KEY = ("graph", "seed")
GRAPHS = ("true", "learned", "half", "random")
NAME, ROWS = "8ER2", 300
Bools = npt.NDArray[np.bool_]


def random_like(dag: Bools, kept: float, rng: np.random.Generator) -> Bools:
    """Return a DAG with as many edges, of which this share are edges of the given one."""
    d, edges = len(dag), np.argwhere(dag)
    order = rng.permutation(d) if kept == 0 else np.argsort(np.argsort(_layers(dag)))
    stay = edges[rng.permutation(len(edges))[: round(kept * len(edges))]]
    found = np.zeros_like(dag)
    found[tuple(stay.T)] = True
    free = np.argwhere((order[:, None] < order) & ~dag & ~found)
    room = free[rng.permutation(len(free))[: len(edges) - len(stay)]]
    found[tuple(room.T)] = True
    return found


def _layers(dag: Bools) -> npt.NDArray[Any]:
    from drbo.graph import topological_order

    place = np.empty(len(dag), dtype=np.intp)
    place[topological_order(dag)] = np.arange(len(dag))
    return place


def run(seeds: range) -> list[table.Row]:
    """Judge four graphs on each data set."""
    found = []
    for seed in seeds:
        data = simulate(NAME, "linear", n=2 * ROWS, seed=seed)
        values, rng = standardize(data.X), np.random.default_rng([3, seed])
        learned = DrBO(score="bic-nv", random_state=seed).fit(values[:ROWS]).result_.dag
        graphs = {"true": data.dag, "learned": learned, "half": random_like(data.dag, 0.5, rng)}
        graphs["random"] = random_like(data.dag, 0.0, rng)
        for name in GRAPHS:
            one = judge(graphs[name], values[ROWS:], score="bic-nv", path=False, seed=seed)
            row = {"edges": one.n_edges, "beats_random": one.beats_random, "informative": one.informative}
            row |= {"falsified": one.falsified, "claims": one.n_claims, "discoveries": one.n_discoveries}
            found.append({"graph": name, "seed": seed, **row, **table.stamp("cpu")})
        print(f"seed {seed} done", flush=True)
    return found


def write_docs() -> None:
    """Write the table of docs/judge.md from the committed rows."""
    rows = table.load(table.FOLDER / "judge.csv")
    text = "| graph | better than random graphs | permutations tell something | falsified | claims that fail (FDR) |\n"
    text += "|---|---|---|---|---|\n"
    for name in GRAPHS:
        here = [row for row in rows if row["graph"] == name]
        shares = [np.mean([row[key] == "True" for row in here]) for key in ("beats_random", "informative", "falsified")]
        failed = sum(int(row["discoveries"]) for row in here) / max(1, sum(int(row["claims"]) for row in here))
        text += f"| {name} | " + " | ".join(f"{share:.0%}" for share in shares) + f" | {failed:.1%} |\n"
    count = len({row["seed"] for row in rows})
    words = f"{NAME}, standardised, {ROWS} held-out rows, {count} data sets (`python -m benchmarks judge`).\n\n"
    table.fill(table.FOLDER.parent.parent / "docs" / "judge.md", "judge", words + text)


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--docs", action="store_true", help="write docs/judge.md from the rows, and nothing else")
    options = parser.parse_args(arguments)
    if options.docs:
        write_docs()
        return
    found = run(range(options.first, options.first + options.seeds))
    if options.save:
        table.save(options.save, found, KEY)
