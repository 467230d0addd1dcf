"""Small graphs against the truth, against the best of all DAGs and against other libraries (paper, App. F).

    python -m benchmarks bge --sets 50
    python -m benchmarks logistic --sets 50

Data set s is ``drbo.data.simulate.simulate("5ER1", model, seed=s)``: 5 nodes, 5 edges on average. The score is the
textbook one (penalty 1), the search is the default one with seed s, nothing is pruned. The best score is that of all
29,281 DAGs on 5 nodes, listed one by one. The rivals need ``pip install -r benchmarks/requirements.txt``.
"""

import argparse
from itertools import permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from benchmarks import rows as table
from benchmarks.methods import Task, Worker, library, timed
from benchmarks.methods.metrics import dag_score, judge
from drbo import DrBO
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.base import Families, Score, build_score

GRAPH = "5ER1"
KEY = ("score", "method", "seed", "n")
MODELS = {"bge": "linear", "logistic": "logistic"}
RIVALS = {
    "bge": ("gcastle PC", "gcastle GES", "causal-learn PC", "causal-learn GES"),
    "logistic": ("dagma 0.02", "dagma 0.03", "dagma 0.05"),
}
OPTIONS = {"penalty": 1.0}
#: Scores closer than this share of themselves are equal.
ROUNDING = 1e-9


def all_dags(n_nodes: int) -> npt.NDArray[np.bool_]:
    """Return every DAG (N, d, d) on a few nodes: all subsets of the edges of all orders, each once."""
    pairs = np.triu_indices(n_nodes, 1)
    chosen = np.arange(2 ** len(pairs[0]))[:, None] >> np.arange(len(pairs[0])) & 1
    upper = np.zeros((len(chosen), n_nodes, n_nodes), dtype=bool)
    upper[:, pairs[0], pairs[1]] = chosen
    orders = (np.array(order) for order in permutations(range(n_nodes)))
    every = np.concatenate([upper[:, order][:, :, order] for order in orders])
    packed = np.unique(np.packbits(every.reshape(len(every), -1), axis=1), axis=0)
    flat = np.unpackbits(packed, axis=1, count=n_nodes**2)
    return flat.astype(bool).reshape(-1, n_nodes, n_nodes)


def best_score(score: Score, dags: npt.NDArray[np.bool_]) -> float:
    """Return the highest score of the DAGs, from the local scores of their distinct families."""
    families, shape = Families.from_dags(dags), dags.shape[:2]
    codes = families.nodes * 2 ** shape[1] + families.parents @ (1 << np.arange(shape[1]))
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    distinct = families[first]
    local = score.local(distinct)[place].reshape(shape)
    price = score.family_price(distinct)[place].reshape(shape)
    return float(score.combine(torch.as_tensor(local), torch.as_tensor(price)).max())


def one_set(seed: int, options: argparse.Namespace, worker: Worker, dags: npt.NDArray[np.bool_]) -> list[table.Row]:
    """Return the rows of one data set: ours, then the rivals'."""
    data = simulate(GRAPH, MODELS[options.score], n=options.rows, seed=seed)  # type: ignore[arg-type]
    checked = Table.from_array(data.X)
    score = build_score(options.score, checked, OPTIONS)
    model = DrBO(options.score, random_state=seed, prune="none", score_options=OPTIONS, device="cpu")
    answers = {"drbo": timed(lambda: model.fit(data.X).adjacency_)}
    for rival in RIVALS[options.score]:
        answers[rival] = worker.ask(rival, Task(checked, options.score, OPTIONS, seed), options.limit)
    common = {
        "seed": seed,
        "n": options.rows,
        "graph": GRAPH,
        "n_edges": int(data.dag.sum()),
        "true_score": repr(dag_score(score, data.dag)),
        "best_score": repr(best_score(score, dags)),
    }
    return [
        {
            "score": options.score,
            "method": method,
            **common,
            **judge(answer, score, data.dag),
            "seconds": round(answer.seconds, 3),
            "cpu_seconds": round(answer.cpu_seconds, 3),
            "n_evals": model.result_.n_evals if method == "drbo" else "",
            "library": library(method),
            **table.stamp("cpu"),
        }
        for method, answer in answers.items()
    ]


def gaps(part: list[table.Row], against: str) -> npt.NDArray[np.float64]:
    """Return found minus true or best score of the rows that have one; differences that are rounding are 0."""
    pairs = [(float(row["found_score"]), float(row[against])) for row in part if row["found_score"] != ""]
    found, other = np.array(pairs).reshape(-1, 2).T
    gap: npt.NDArray[np.float64] = np.where(np.abs(found - other) <= ROUNDING * np.abs(other), 0.0, found - other)
    return gap


def print_summary(method: str, part: list[table.Row]) -> None:
    scored = [row for row in part if row["found_score"] != ""]
    distances = [row["shd_c"] for row in part if row["shd_c"] != ""]
    print(f"\n{method}, {len(part)} data sets, {part[0]['library']}")
    if distances:
        print(f"  SHD-C                             {table.spread(distances, 2)}")
    if len(scored) > 1:
        found, true = (np.array([float(row[name]) for row in scored]) for name in ("found_score", "true_score"))
        to_true, to_best = gaps(scored, "true_score"), gaps(scored, "best_score")
        print(f"  correlation with true scores      {np.corrcoef(found, true)[0, 1]:.6f}")
        print(f"  found minus the true score        {table.spread(to_true, 3)}, lowest {to_true.min():.3f}")
        print(f"  found at least the true score     {int((to_true >= 0).sum())} of {len(part)}")
        print(f"  found minus the best of all DAGs  {table.spread(to_best, 3)}, lowest {to_best.min():.3f}")
        print(f"  found equal to the best           {int((to_best == 0).sum())} of {len(part)}")
    print(f"  seconds                           {table.spread((row['seconds'] for row in part), 2)}, ", end="")
    print(f"of CPU {table.spread((row['cpu_seconds'] for row in part), 2)}")
    for note in sorted({row["note"] for row in part} - {""}):
        print(f"  {sum(row['note'] == note for row in part)} times: {note}")


def main(arguments: list[str]) -> None:
    """Run the experiment from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--score", choices=list(MODELS), required=True)
    parser.add_argument("--sets", type=int, default=50, help="data sets 0 to SETS - 1")
    parser.add_argument("--rows", type=int, default=1_000, help="sample size")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a rival may take")
    parser.add_argument("--save", type=Path, help="CSV file that gets the rows")
    options = parser.parse_args(arguments)
    dags, found = all_dags(5), list[table.Row]()
    with Worker() as worker:
        for seed in range(options.sets):
            part = one_set(seed, options, worker, dags)
            found += part
            words = [f"{row['method']} {row['found_score'][:10] or 'none'} (SHD-C {row['shd_c']})" for row in part]
            first = part[0]
            print(f"set {seed}: true {first['true_score'][:10]}, best {first['best_score'][:10]}, {', '.join(words)}")
    print(
        f"\nscore {options.score}, {GRAPH}, n = {options.rows}; best of all {len(dags):,} DAGs; {found[0]['machine']}"
    )
    for method in dict.fromkeys(row["method"] for row in found):
        print_summary(method, [row for row in found if row["method"] == method])
    if options.save:
        table.save(options.save, found, KEY)
