"""Searches that are given a score of one family at a time and a budget of distinct families.

Hill climbing and tabu search move one edge at a time and start again from changed graphs when they are stuck; simulated
annealing cools from 20 to 0.2 units of the score; random search draws DAGs with two edges per node. Optuna's TPE with
its default settings has one parameter of three values for each pair of columns (an edge that would close a cycle is
left out; its first trials are the empty graph and random DAGs with two edges per node), or one position for each
column, where each column then takes parents from those before it one by one while that gains (K2).
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.gran_dag import Unavailable
from drbo.data.files.simulate import random_dag
from drbo.graph.dag import is_acyclic

Bools = npt.NDArray[np.bool_]
Local = Callable[[int, tuple[int, ...]], float]

#: Edges that are toggled before a stuck search starts again.
SHAKEN = 4
#: Graphs that a search may score per family of its budget: one that only finds known families has converged.
MOST_GRAPHS = 50
#: Graphs that tabu search does not visit again.
TABU = 10
HOT, COLD = 20.0, 0.2
#: Edges per node of random DAGs.
DEGREE = 2.0
#: Trials before Optuna's TPE learns from them: its default.
STARTUP = 10
#: Its trials take longer the more there are.
TRIALS = 300


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
        self.n_graphs += 1
        if self.n_graphs > MOST_GRAPHS * self.budget:
            raise Spent
        total = sum(self.family(node, tuple(np.flatnonzero(dag[:, node]).tolist())) for node in range(self.d))
        if total > self.rises[-1][1]:
            self.rises.append((len(self.known), total))
        return total

    def family(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family."""
        if (node, parents) not in self.known:
            if len(self.known) >= self.budget:
                raise Spent
            self.known[node, parents] = self.local(node, parents)
        return self.known[node, parents]

    def best_at(self, cost: int) -> float:
        """Return the best score that was known after so many families."""
        return max(best for count, best in self.rises if count <= cost)


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
        score.of(random_dag(score.d, DEGREE, rng))


def edges_by_optuna(score: Counted, rng: np.random.Generator) -> None:
    """Let Optuna choose no edge or one of two directions for each pair of columns."""
    pairs = [(i, j) for j in range(score.d) for i in range(j)]
    trials = _optuna(rng)
    for number in range(STARTUP):
        dag = random_dag(score.d, DEGREE if number else 0.0, rng)
        trials.enqueue_trial({f"{i} {j}": int(dag[i, j]) - int(dag[j, i]) for i, j in pairs})
    for _ in range(TRIALS):
        trial = trials.ask()
        dag = np.zeros((score.d, score.d), dtype=bool)
        for i, j in pairs:
            way = trial.suggest_categorical(f"{i} {j}", (0, 1, -1))
            if way:
                edge = (i, j) if way > 0 else (j, i)
                dag[edge] = True
                dag[edge] = is_acyclic(dag)
        trials.tell(trial, score.of(dag))


def orders_by_optuna(score: Counted, rng: np.random.Generator) -> None:
    """Let Optuna choose positions of the columns, and each column take parents from those before it."""
    trials = _optuna(rng)
    for _ in range(TRIALS):
        trial = trials.ask()
        order = np.argsort([trial.suggest_float(str(node), 0.0, 1.0) for node in range(score.d)])
        trials.tell(trial, score.of(best_parents(score, order.tolist())))


def best_parents(score: Counted, order: list[int]) -> Bools:
    """Return the DAG in which each column takes the best column before it as a parent, while that gains (K2)."""
    dag = np.zeros((score.d, score.d), dtype=bool)
    for place, node in enumerate(order):
        parents, now = tuple[int, ...](), score.family(node, ())
        while more := [tuple(sorted((*parents, i))) for i in order[:place] if i not in parents]:
            best = max(more, key=lambda each: score.family(node, each))
            if score.family(node, best) <= now:
                break
            parents, now = best, score.family(node, best)
        dag[list(parents), node] = True
        score.of(dag)  # the columns behind it have no parents yet
    return dag


def _optuna(rng: np.random.Generator) -> Any:
    """Return a study of Optuna that maximises."""
    try:
        import optuna
    except ImportError as error:
        raise Unavailable("optuna is not installed: see benchmarks/requirements.txt") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(n_startup_trials=STARTUP, seed=int(rng.integers(2**31))),
    )


SEARCHES = {
    "hill climbing": hill_climbing,
    "tabu": tabu,
    "annealing": annealing,
    "random": random_search,
    "TPE edges": edges_by_optuna,
    "TPE orders": orders_by_optuna,
}
