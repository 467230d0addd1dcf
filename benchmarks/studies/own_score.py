"""A score of one's own that costs: cross-validated boosting or a small network, searched by drbo and by others.

    python -m benchmarks own_score --nodes 8,15,30 --seeds 0-9 --workers 2
    python -m benchmarks own_score --score network --nodes 8,15

The cost is the number of distinct families whose score was asked for; every search may ask for 80 per node. The best
score so far is recorded at several costs (empty where a search has not scored a whole graph yet; for drbo that of the
best graph of the families that it has asked for, which it returns if it is stopped). The rivals are those of
:mod:`benchmarks.methods.score_searches`, and drbo with the preset of the paper, whose first batch has 64 graphs.
Nothing was tuned on these tables. Scores of families are kept in build/own-score, where later searches find them.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from zlib import crc32

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neural_network import MLPRegressor

from benchmarks.methods.score_searches import SEARCHES, Counted, Spent
from benchmarks.parameters import Names, Numbers, SampleSize, Seeds, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import in_parallel, study
from drbo import DrBO
from drbo.data.simulate import simulate
from drbo.data.table import Table
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.recombine import Recombiner
from drbo.settings import Preset, Settings

Floats = npt.NDArray[np.float64]
Kind = Literal["boosting", "network"]

#: Costs per node at which the best score so far is recorded.
COSTS = (5, 10, 15, 20, 30, 40, 60, 80)
MODELS: dict[Kind, RegressorMixin] = {
    "boosting": HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=8, random_state=0),
    "network": MLPRegressor(
        hidden_layer_sizes=(16,), activation="tanh", solver="lbfgs", alpha=0.1, max_iter=50, random_state=0
    ),
}
#: drbo by its presets, in the words of the table.
OURS: dict[str, Preset] = {"drbo": "default", "drbo paper": "paper"}
MEMO = Path("build") / "own-score"


class HeldOut:
    """The score of a table: minus n times the log error on held-out rows, and ln n for each parent."""

    def __init__(self, values: Floats, kind: Kind, name: str) -> None:
        self.values, self.model = (values - values.mean(axis=0)) / values.std(axis=0), MODELS[kind]
        version = crc32(f"{self.model!r} {sklearn.__version__}".encode())
        self.path = MEMO / f"{kind}-{name}-{version:08x}.txt"
        self.known: dict[tuple[int, ...], float] = {}
        if self.path.exists():
            lines = [line.split() for line in self.path.read_text().splitlines(keepends=True) if line.endswith("\n")]
            self.known = {tuple(map(int, family)): float(value) for *family, value in lines}

    def __call__(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family, which is kept for other searches."""
        family = node, *sorted(parents)
        if family not in self.known:
            self.known[family] = self._computed(node, family[1:])
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:  # several processes may add lines
                file.write(f"{' '.join(map(str, family))} {self.known[family]!r}\n")
        return self.known[family]

    def _computed(self, node: int, parents: tuple[int, ...]) -> float:
        target, n = self.values[:, node], len(self.values)
        guess: Floats = np.zeros(n)
        if parents:
            folds = KFold(2, shuffle=True, random_state=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # so few steps need not converge
                guess = cross_val_predict(self.model, self.values[:, list(parents)], target, cv=folds)
        return float(-n * np.log(np.mean((target - guess) ** 2)) - np.log(n) * len(parents))


class Known(Score):
    """Families that a search has asked for, in their order."""

    def __init__(self, values: Floats) -> None:
        super().__init__(Table.from_array(values))
        self.asked: dict[tuple[int, ...], float] = {}

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family that was asked for."""
        return self.asked[node, *sorted(parents)]

    def best(self, cost: int) -> float:
        """Return the best score that can be made of the first families: drbo ends with it if it is stopped there."""
        first, d = list(self.asked)[:cost], self.n_nodes
        if not {(node,) for node in range(d)} <= set(first):
            return -np.inf
        evaluator = Evaluator(self, Settings(max_evals=10**6))
        evaluator.families(Families.from_sets(d, [(node, tuple(parents)) for node, *parents in first]))
        empty = evaluator.evaluate_one(np.zeros((d, d), dtype=bool))
        return float(Recombiner(evaluator).best(empty, np.random.default_rng(0)).scores[0])


def ours(score: Counted, values: Floats, preset: Preset, seed: int) -> None:
    """Search with drbo."""
    known = Known(values)

    def local(node: int, parents: tuple[int, ...]) -> float:
        return known.asked.setdefault((node, *sorted(parents)), score.local(node, parents))

    settings = Settings.preset(preset).with_(max_local=score.budget, max_evals=score.budget)
    trace = DrBO(score=local, settings=settings, prune="none", random_state=seed).fit(values).result_.trace
    score.rises += list(zip(trace["n_local"].tolist(), trace["best"].tolist(), strict=True))
    if settings.parts.recombine:
        score.rises += [(cost * score.d, known.best(cost * score.d)) for cost in COSTS]


def one_search(kind: Kind, d: int, rows: int, seed: int, search: str) -> Row:
    """Search one table; return the best score at every cost."""
    graph = f"{d}ER2"
    values = simulate(graph, "gp", n=rows, seed=seed).X
    score = Counted(HeldOut(values, kind, f"{graph}-{rows}-{seed}"), d, max(COSTS) * d)
    try:
        if search in OURS:
            ours(score, values, OURS[search], seed)
        else:
            SEARCHES[search](score, np.random.default_rng([seed, 1]))  # the plain seed draws the true graph
    except Spent:
        pass
    best = {cost: score.best_at(cost * d) for cost in COSTS}
    found = {f"best_{cost}": round(value, 4) if np.isfinite(value) else "" for cost, value in best.items()}
    return {"score": kind, "graph": graph, "n": rows, "seed": seed, "search": search, **found}


@study("own_score", "score graph n seed search", nodes=(4,), rows=40, seeds=range(1), searches=("drbo", "tabu"))
def run(
    score: Annotated[Kind, "boosting: gradient boosting; network: 16 hidden units"] = "boosting",
    nodes: Annotated[Numbers, "numbers of nodes"] = (8,),
    rows: SampleSize = 200,
    seeds: Seeds = range(10),
    searches: Annotated[Names, "drbo and rivals"] = (*OURS, *SEARCHES),
    workers: Workers = 1,
) -> Iterator[Row]:
    """Yield a row per table and search: its best score after each cost."""
    jobs = [(score, d, rows, seed, search) for d in nodes for seed in seeds for search in searches]
    yield from in_parallel(one_search, jobs, workers)
