"""Other libraries on the same data, in a process of their own and with a time limit.

Install them with ``pip install -r benchmarks/requirements.txt``, best into an environment made for them. A library
that is missing, fails or takes too long gives an answer that says so.

A rival is a function that imports its library and returns another one, which learns: only the second is timed.
"""

import os
import random
import time
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import torch

from drbo.data.table import Table
from drbo.errors import DataError
from drbo.graph import cpdag_to_dag, dag_to_cpdag, is_acyclic
from drbo.metrics import shd
from drbo.scores.base import Families, Score, build_score
from drbo.search.evaluate import Evaluator
from drbo.settings import Settings

Graph = npt.NDArray[np.bool_]
#: Seconds in which a library must be imported.
IMPORT_LIMIT = 300.0
#: Seconds in which an idle process ends by itself when nobody listens any more.
GRACE = 2.0


@dataclass(frozen=True)
class Task:
    """A table and the score that a rival with the same score maximises."""

    table: Table
    score: str
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0


@dataclass(frozen=True)
class Answer:
    """The graph of a rival, a DAG or a PDAG, or in ``note`` why there is none."""

    graph: Graph | None
    seconds: float
    cpu_seconds: float  # says more than seconds where other work shares the machine
    note: str = ""


Learn = Callable[[], Any]


def gcastle_pc(task: Task) -> Learn:
    """PC at its defaults."""
    from castle.algorithms import PC

    return lambda: _gcastle(PC(), task)


def gcastle_ges(task: Task) -> Learn:
    """GES at its defaults: BIC from the covariance."""
    from castle.algorithms import GES

    return lambda: _gcastle(GES(), task)


def _gcastle(model: Any, task: Task) -> Any:
    model.learn(task.table.values)
    return model.causal_matrix


def causal_learn_pc(task: Task) -> Learn:
    """PC at its defaults."""
    from causallearn.search.ConstraintBased.PC import pc

    return lambda: _from_marks(pc(task.table.values, show_progress=False).G.graph)


def causal_learn_ges(task: Task) -> Learn:
    """GES at its defaults: BIC from the covariance."""
    from causallearn.search.ScoreBased.GES import ges

    return lambda: _from_marks(ges(task.table.values)["G"].graph)


def causal_learn_ges_same(task: Task) -> Learn:
    """GES of causal-learn with our score: its own BDeu has a fixed prior over graphs, and no discrete BIC exists."""
    from causallearn.search.ScoreBased import GES

    def learn() -> Graph:
        with mock.patch.object(GES, "LocalScoreClass", return_value=_SameScore(task)):
            return _from_marks(GES.ges(task.table.values, "local_score_BDeu")["G"].graph)

    return learn


def causal_learn_boss_same(task: Task) -> Learn:
    """BOSS of causal-learn with our score, for the same reason."""
    from causallearn.search.PermutationBased import BOSS

    def learn() -> Graph:
        random.seed(task.seed)  # of the order in which BOSS moves the nodes
        with mock.patch.object(BOSS, "LocalScoreClass", return_value=_SameScore(task)):
            return _from_marks(BOSS.boss(task.table.values, "local_score_BDeu", verbose=False).graph)

    return learn


class _SameScore:
    """What causal-learn's searches ask of a score, answered by the score of the task."""

    def __init__(self, task: Task) -> None:
        self.data = task.table.values
        self._score = build_score(task.score, task.table, task.options)
        self._known: dict[tuple[int, ...], float] = {}

    def score(self, node: int, parents: list[int]) -> float:
        key = (node, *sorted(parents))
        if key not in self._known:
            family = Families.from_sets(self.data.shape[1], [(node, parents)])
            local, price = self._score.local(family), self._score.family_price(family)
            self._known[key] = float(self._score.share(torch.as_tensor(local), torch.as_tensor(price))[0])
        return self._known[key]

    score_nocache = score


def _from_marks(marks: npt.NDArray[Any]) -> Graph:
    """Return causal-learn's marks as adjacency: -1 is a tail; two arrowheads contradict each other, left open."""
    edges: Graph = (marks == -1) | ((marks == 1) & (marks.T == 1))
    return edges


def dagma_logistic(lambda1: float) -> Callable[[Task], Learn]:
    """DAGMA with the logistic loss; everything else at its defaults, the threshold of 0.3 too."""

    def rival(task: Task) -> Learn:
        from dagma.linear import DagmaLinear

        return lambda: DagmaLinear(loss_type="logistic").fit(task.table.values.copy(), lambda1=lambda1) != 0

    return rival


def dagma_linear(task: Task) -> Learn:
    """DAGMA for equal variances at its defaults: lambda 0.03, threshold 0.3."""
    from dagma.linear import DagmaLinear

    return lambda: DagmaLinear(loss_type="l2").fit(task.table.values - task.table.values.mean(axis=0)) != 0


def gcastle_golem(task: Task) -> Learn:
    """GOLEM-EV at its defaults, threshold 0.3 too; its answer may have cycles."""
    from castle.algorithms import GOLEM

    return lambda: _gcastle(GOLEM(seed=task.seed), task)


def flop(task: Task) -> Learn:
    """FLOP with the penalty of the task, from 1 restart on doubled until it had the seconds of the task.

    Its own ``timeout`` was seen not to end.
    """
    from flopsearch import flop as search

    def learn() -> Any:
        start, restarts = time.perf_counter(), 1
        while True:
            found = search(task.table.values, task.options["penalty"], restarts=restarts)
            if time.perf_counter() - start >= task.options["seconds"]:
                return found != 0
            restarts *= 2

    return learn


def causal_learn_boss(task: Task) -> Learn:
    """BOSS with BIC from the covariance: penalty 1 on our scale, its default."""
    from causallearn.search.PermutationBased.BOSS import boss

    def learn() -> Graph:
        random.seed(task.seed)  # of the order in which BOSS moves the nodes
        return _from_marks(boss(task.table.values, "local_score_BIC_from_cov", verbose=False).graph)

    return learn


def eqvar(task: Task) -> Learn:
    """Top-down order by residual variance (Chen, Drton & Wang 2019), regression on all before, threshold 0.3."""

    def learn() -> Graph:
        values = task.table.values - task.table.values.mean(axis=0)
        covariance = values.T @ values / len(values)
        d, order = len(covariance), list[int]()
        left, rows, graph = np.diag(covariance).copy(), np.empty((d, d)), np.zeros((d, d), dtype=bool)
        for k in range(d):
            left[order] = np.inf
            node = int(np.argmin(left))
            weights = np.linalg.solve(covariance[np.ix_(order, order)], covariance[order, node]) if order else []
            graph[np.array(order, dtype=int)[np.abs(weights) > 0.3], node] = True
            rows[k] = (covariance[node] - rows[:k, node] @ rows[:k]) / np.sqrt(left[node])
            left = left - rows[k] ** 2
            order.append(node)
        return graph

    return learn


def pgmpy_hill_climb(task: Task) -> Learn:
    """Hill climbing with pgmpy's own BDeu or BIC, at its defaults."""
    from pgmpy.causal_discovery import HillClimbSearch

    def learn() -> Any:
        frame = as_text(task.table)
        model = HillClimbSearch(pgmpy_score(task), return_type="dag", show_progress=False).fit(frame)
        return model.adjacency_matrix_.loc[frame.columns, frame.columns].to_numpy()

    return learn


def pgmpy_score(task: Task) -> Any:
    """Return pgmpy's score of the same name; ours is twice its BIC."""
    from pgmpy.structure_score import BIC, BDeu

    frame = as_text(task.table)
    return BDeu(frame, equivalent_sample_size=task.options["ess"]) if task.score == "bdeu" else BIC(frame)


def as_text(table: Table) -> Any:
    """Return a table of categories as a data frame of text."""
    import pandas as pd

    columns = zip(table.names, table.values.T.astype(int), table.levels, strict=True)
    return pd.DataFrame({name: [levels[code] for code in codes] for name, codes, levels in columns if levels})


#: Names in the rows: library, then method.
RIVALS: dict[str, Callable[[Task], Learn]] = {
    "gcastle PC": gcastle_pc,
    "gcastle GES": gcastle_ges,
    "causal-learn PC": causal_learn_pc,
    "causal-learn GES": causal_learn_ges,
    "causal-learn GES (our score)": causal_learn_ges_same,
    "causal-learn BOSS (our score)": causal_learn_boss_same,
    "dagma 0.02": dagma_logistic(0.02),
    "dagma 0.03": dagma_logistic(0.03),
    "dagma 0.05": dagma_logistic(0.05),
    "dagma linear": dagma_linear,
    "gcastle GOLEM": gcastle_golem,
    "flopsearch FLOP": flop,
    "causal-learn BOSS": causal_learn_boss,
    "EqVar": eqvar,
    "pgmpy hill climbing": pgmpy_hill_climb,
}


def library(rival: str) -> str:
    """Return the library of a rival with its installed version."""
    name = rival.split()[0]
    try:
        return f"{name} {installed_version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


class Worker:
    """A process that runs one rival at a time; it is ended when a rival takes too long, and replaced."""

    def __init__(self) -> None:
        self._process: Any = None
        self._connection: Any = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ask(self, rival: str, task: Task, limit: float) -> Answer:
        """Return what a rival answers within ``limit`` seconds."""
        if self._process is None:
            self._start()
        try:
            self._connection.send((rival, task))
            ready = self._connection.poll(IMPORT_LIMIT) and self._connection.recv()
            if isinstance(ready, Answer):  # it could not be imported
                return ready
            if ready and self._connection.poll(limit):
                answer: Answer = self._connection.recv()
                return answer
            note = f"no answer in {limit:g} s" if ready else f"no import in {IMPORT_LIMIT:g} s"
        except (EOFError, OSError):
            note = "its process died"
        self._end()
        return Answer(None, limit, 0.0, note)

    def _start(self) -> None:
        os.environ.setdefault("PYTHONHASHSEED", "0")  # pgmpy breaks ties by the order of a set of names
        context = get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def _end(self) -> None:
        if self._process is not None:
            self._connection.close()
            self._process.join(GRACE)
            self._process.kill()
            self._process.join()
        self._process = None


def _serve(connection: Connection) -> None:
    """Answer requests until the other side is gone."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        warnings.simplefilter("ignore")
        with suppress(EOFError):
            while True:
                rival, task = connection.recv()
                learn = attempt(partial(RIVALS[rival], task))
                connection.send(learn if isinstance(learn, Answer) else "ready")
                if not isinstance(learn, Answer):
                    connection.send(attempt(partial(timed, learn)))


def attempt(step: Callable[[], Any]) -> Any:
    """Return what a step of a rival returns, or an answer that says how it failed."""
    try:
        return step()
    except Exception as error:  # a rival may fail in any way
        return Answer(None, 0.0, 0.0, f"{type(error).__name__}: {error}".splitlines()[0][:200])


def timed(learn: Learn) -> Answer:
    """Return the answer of a method that is ready to learn."""
    start, cpu_start = time.perf_counter(), time.process_time()
    graph = np.asarray(learn(), dtype=bool)
    return Answer(graph, time.perf_counter() - start, time.process_time() - cpu_start)


def judge(answer: Answer, score: Score, truth: Graph) -> dict[str, Any]:
    """Return a graph's score, its distance to the true equivalence class, and a note where one is missing.

    The score is that of a DAG that the graph stands for. A graph that is no DAG is compared with the true CPDAG as it
    stands.
    """
    if answer.graph is None:
        return {"found_score": "", "shd_c": "", "n_found": "", "note": answer.note}
    graph, value, note = answer.graph, "", answer.note
    try:
        value = repr(dag_score(score, cpdag_to_dag(graph)))
    except DataError:
        note = "no DAG has these edges"
    learned = dag_to_cpdag(graph) if is_acyclic(graph) else graph
    n_found = int(np.triu(graph | graph.T).sum())
    return {"found_score": value, "shd_c": shd(learned, dag_to_cpdag(truth)), "n_found": n_found, "note": note}


def dag_score(score: Score, dag: Graph) -> float:
    """Return our score of a DAG."""
    return float(Evaluator(score, Settings()).evaluate(dag[None]).scores[0])
