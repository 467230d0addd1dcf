"""Small graphs against the truth, against the best of all DAGs and against other libraries (paper, App. F).

    python -m benchmarks equivalence --score bge --seeds 0-49
    python -m benchmarks equivalence --score logistic --seeds 0-49

Data set s is ``drbo.data.simulate.simulate("5ER1", model, seed=s)``: 5 nodes, 5 edges on average. The score is the
textbook one (penalty 1), the search is the default one with seed s, nothing is pruned. The best score is that of all
29,281 DAGs on 5 nodes, listed one by one. The rivals need ``pip install -r benchmarks/requirements.txt``.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.methods import Task, Worker, library, timed
from benchmarks.methods.metrics import dag_score, judge
from benchmarks.parameters import SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import Study
from drbo import DrBO
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.base import Families, Score, build_score

GRAPH = "5ER1"
MODELS = {"bge": "linear", "logistic": "logistic"}
RIVALS = {
    "bge": ("gcastle PC", "gcastle GES", "causal-learn PC", "causal-learn GES"),
    "logistic": ("dagma 0.02", "dagma 0.03", "dagma 0.05"),
}
OPTIONS = {"penalty": 1.0}


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


def run(
    score: Annotated[Literal["bge", "logistic"], "the score"] = "bge",
    seeds: Seeds = range(50),
    rows: SampleSize = 1_000,
    limit: Annotated[float, "seconds that a rival may take"] = 60.0,
) -> Iterator[Row]:
    """Yield the rows of each data set: ours, then the rivals'."""
    dags = all_dags(5)
    with Worker() as worker:
        for seed in seeds:
            data = simulate(GRAPH, MODELS[score], n=rows, seed=seed)  # type: ignore[arg-type]
            checked = Table.from_array(data.X)
            built = build_score(score, checked, OPTIONS)
            model = DrBO(score, random_state=seed, prune="none", score_options=OPTIONS, device="cpu")
            answers = {"drbo": timed(lambda model=model, data=data: model.fit(data.X).adjacency_)}
            for rival in RIVALS[score]:
                answers[rival] = worker.ask(rival, Task(checked, score, OPTIONS, seed), limit)
            common = {
                "n": rows,
                "graph": GRAPH,
                "n_edges": int(data.dag.sum()),
                "true_score": repr(dag_score(built, data.dag)),
                "best_score": repr(best_score(built, dags)),
            }
            for method, answer in answers.items():
                yield {
                    "score": score,
                    "method": method,
                    "seed": seed,
                    **common,
                    **judge(answer, built, data.dag),
                    "seconds": round(answer.seconds, 3),
                    "cpu_seconds": round(answer.cpu_seconds, 3),
                    "n_evals": model.result_.n_evals if method == "drbo" else "",
                    "library": library(method),
                }


PARTS = {
    "equivalence": Study(
        run, "equivalence", ("score", "method", "seed", "n"), {"seeds": range(1), "rows": 200, "limit": 20.0}
    )
}
