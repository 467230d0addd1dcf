"""A score of one's own that costs: cross-validated gradient boosting, searched by drbo and by plain searches.

    python -m benchmarks own_score --nodes 8 --seeds 0-9

The cost is the number of distinct families whose score was asked for; every search may ask for 60 per node. The best
score so far is recorded at several costs, as its distance from the best that any of them found on this table (empty
where a search has not scored a whole graph yet). Hill climbing and tabu search move one edge at a time and start again
from changed graphs when they are stuck; simulated annealing cools from 20 to 0.2 units of the score; random search
draws DAGs with two edges per node. Nothing was tuned on these tables.
"""

from collections.abc import Callable, Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.parameters import Names, Numbers, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.data.simulate import random_dag, simulate
from drbo.graph import is_acyclic
from drbo.settings import Settings

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Local = Callable[[int, tuple[int, ...]], float]

#: Costs per node at which the best score so far is recorded.
COSTS = (10, 20, 40, 60)
#: Edges that are toggled before a stuck search starts again.
SHAKEN = 4
#: Graphs that a search may score per family of its budget: one that only finds known families has converged.
MOST_GRAPHS = 50
#: Graphs that tabu search does not visit again.
TABU = 10
HOT, COLD = 20.0, 0.2


class Spent(Exception):
    """The budget of a search is spent."""


class Counted:
    """A score that counts distinct families, stops at a budget, and remembers its best at every cost."""

    def __init__(self, local: Local, d: int, budget: int) -> None:
        self.local, self.d, self.budget = local, d, budget
        self.known: dict[tuple[int, tuple[int, ...]], float] = {}
        self.rises = [(0, -np.inf)]
        self.n_graphs = 0

    def of(self, dag: Bools) -> float:
        """Return the score of a DAG."""
        total = 0.0
        self.n_graphs += 1
        if self.n_graphs > MOST_GRAPHS * self.budget:
            raise Spent
        for node in range(self.d):
            family = node, tuple(np.flatnonzero(dag[:, node]).tolist())
            if family not in self.known:
                if len(self.known) >= self.budget:
                    raise Spent
                self.known[family] = self.local(*family)
            total += self.known[family]
        if total > self.rises[-1][1]:
            self.rises.append((len(self.known), total))
        return total

    def best_at(self, cost: int) -> float:
        """Return the best score that was known after so many families."""
        return max(best for count, best in self.rises if count <= cost)


def boosted(values: Floats) -> Local:
    """Return the score of a table: minus n times the log error on held-out rows, and ln n for each parent."""
    n = len(values)
    known: dict[tuple[int, tuple[int, ...]], float] = {}

    def local(node: int, parents: tuple[int, ...]) -> float:
        if (node, parents) not in known:
            guess: Floats = np.full(n, values[:, node].mean())
            if parents:
                trees = HistGradientBoostingRegressor(max_iter=30, max_leaf_nodes=8, random_state=0)
                folds = KFold(2, shuffle=True, random_state=0)
                guess = cross_val_predict(trees, values[:, list(parents)], values[:, node], cv=folds)
            error = float(np.mean((values[:, node] - guess) ** 2))
            known[node, parents] = -n * np.log(error) - np.log(n) * len(parents)
        return known[node, parents]

    return local


def neighbours(dag: Bools) -> Iterator[Bools]:
    """Yield the DAGs with one edge added, removed or reversed."""
    for i, j in np.argwhere(~np.eye(len(dag), dtype=bool)).tolist():
        toggled = dag.copy()
        toggled[i, j] = not dag[i, j]
        if dag[i, j] or (not dag[j, i] and is_acyclic(toggled)):
            yield toggled
        if dag[i, j]:
            turned = toggled.copy()
            turned[j, i] = True
            if is_acyclic(turned):
                yield turned


def moved(dag: Bools, rng: np.random.Generator) -> Bools:
    """Return a DAG with one random edge added, removed or reversed."""
    while True:
        i, j = rng.choice(len(dag), 2, replace=False)
        other = dag.copy()
        other[i, j] = not dag[i, j]
        other[j, i] = dag[i, j] and rng.random() < 0.5  # an edge that goes may come back the other way round
        if is_acyclic(other):
            return other


def shaken(dag: Bools, rng: np.random.Generator) -> Bools:
    """Return a DAG a few random moves away."""
    for _ in range(SHAKEN):
        dag = moved(dag, rng)
    return dag


def hill_climbing(score: Counted, rng: np.random.Generator) -> None:
    """Climb to the best neighbour; when stuck, start again near the best graph."""
    dag = best = np.zeros((score.d, score.d), dtype=bool)
    while True:
        now = score.of(dag)
        near = [(score.of(other), other) for other in neighbours(dag)]
        top = max(near, key=lambda pair: pair[0])
        if top[0] > now:
            dag = top[1]
            best = dag if score.of(dag) >= score.of(best) else best
        else:
            dag = shaken(best, rng)


def tabu(score: Counted, rng: np.random.Generator) -> None:
    """Go to the best neighbour that was not visited lately, also downhill; shake after ten moves without a new best."""
    dag, worse, visited = np.zeros((score.d, score.d), dtype=bool), 0, list[bytes]()
    best, top = dag, score.of(dag)
    while True:
        visited = [*visited, dag.tobytes()][-TABU:]
        near = [(score.of(other), other) for other in neighbours(dag) if other.tobytes() not in visited]
        now, dag = max(near, key=lambda pair: pair[0], default=(-np.inf, dag))
        worse += 1
        if now > top:
            best, top, worse = dag, now, 0
        elif worse >= TABU:
            dag, worse = shaken(best, rng), 0


def annealing(score: Counted, rng: np.random.Generator) -> None:
    """Take random moves, downhill ones with a probability that falls as the budget is spent."""
    dag = np.zeros((score.d, score.d), dtype=bool)
    now = score.of(dag)
    while True:
        heat = HOT * (COLD / HOT) ** (len(score.known) / score.budget)
        other = moved(dag, rng)
        value = score.of(other)
        if value > now or rng.random() < np.exp((value - now) / heat):
            dag, now = other, value


def random_search(score: Counted, rng: np.random.Generator) -> None:
    """Score random DAGs."""
    while True:
        score.of(random_dag(score.d, 2.0, rng))


def surrogate(score: Counted, values: Floats, seed: int) -> None:
    """Search with drbo."""
    settings = Settings(max_local=score.budget, max_evals=10**6)
    result = DrBO(score=score.local, settings=settings, prune="none", random_state=seed).fit(values).result_
    trace = result.trace
    score.rises += list(zip(trace["n_local"].tolist(), trace["best"].tolist(), strict=True))


RIVALS = {"hill climbing": hill_climbing, "tabu": tabu, "annealing": annealing, "random": random_search}


@study("own_score", "graph n seed search", nodes=(4,), rows=40, seeds=range(1))
def run(
    nodes: Annotated[Numbers, "numbers of nodes"] = (8,),
    rows: SampleSize = 200,
    seeds: Seeds = range(10),
    searches: Annotated[Names, "drbo and rivals"] = ("drbo", *RIVALS),
) -> Iterator[Row]:
    """Yield a row per table and search: how far it is from the best known after each cost."""
    for d in nodes:
        for seed in seeds:
            values = simulate(f"{d}ER2", "gp", n=rows, seed=seed).X
            local, done = boosted(values), dict[str, Counted]()
            for name in searches:
                score = done[name] = Counted(local, d, max(COSTS) * d)
                try:
                    if name == "drbo":
                        surrogate(score, values, seed)
                    else:
                        RIVALS[name](score, np.random.default_rng([seed, 1]))  # the plain seed draws the true graph
                except Spent:
                    pass
            best = max(score.best_at(score.budget) for score in done.values())
            for name, score in done.items():
                behind = {cost: best - score.best_at(cost * d) for cost in COSTS}
                known = {f"behind_{cost}": round(less, 4) if np.isfinite(less) else "" for cost, less in behind.items()}
                yield {"graph": f"{d}ER2", "n": rows, "seed": seed, "search": name, **known}
