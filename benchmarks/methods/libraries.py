"""Other libraries on the same data.

A function here imports its library and returns another one, which learns: only the second is timed.
"""

import random
import time
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from benchmarks.methods.base import Graph, Learn, Task
from drbo.data.statistics.statistics import Statistics
from drbo.scores.families import Families
from drbo.scores.registry import build_score


def gcastle_pc(task: Task, variant: str = "original") -> Learn:
    """PC at its defaults, or in its variant whose skeleton does not depend on the order of the columns."""
    from castle.algorithms import PC

    return lambda: _gcastle(PC(variant=variant), task)


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
    """GES at its defaults: BIC from the covariance, ``lambda_value`` 0.5, which is penalty 1 on our scale."""
    from causallearn.search.ScoreBased.GES import ges

    return lambda: _from_marks(ges(task.table.values)["G"].graph)


def causal_learn_kernel_ges(task: Task) -> Learn:
    """GES with the generalised score by marginal likelihood in a kernel space (Huang et al. 2018), at its defaults."""
    from causallearn.search.ScoreBased.GES import ges

    return lambda: _from_marks(ges(task.table.values, "local_score_marginal_general")["G"].graph)


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
        self._score = build_score(task.score, task.table, task.scoring)
        self._known: dict[tuple[int, ...], float] = {}

    def score(self, node: int, parents: list[int]) -> float:
        key = (node, *sorted(parents))
        if key not in self._known:
            family = Families.from_sets(self.data.shape[1], [(node, parents)])
            local, price = self._score.local(family), self._score.family_price(family)
            self._known[key] = float(self._score.share(local, price)[0])
        return self._known[key]

    score_nocache = score


def _from_marks(marks: npt.NDArray[Any]) -> Graph:
    """Return causal-learn's marks as adjacency: -1 is a tail; two arrowheads contradict each other, left open."""
    edges: Graph = (marks == -1) | ((marks == 1) & (marks.T == 1))
    return edges


def dagma_logistic(task: Task, lambda1: float) -> Learn:
    """DAGMA with the logistic loss; everything else at its defaults, the threshold of 0.3 too."""
    from dagma.linear import DagmaLinear

    return lambda: DagmaLinear(loss_type="logistic").fit(task.table.values.copy(), lambda1=lambda1) != 0


def dagma_linear(task: Task) -> Learn:
    """DAGMA for equal variances at its defaults: lambda 0.03, threshold 0.3."""
    from dagma.linear import DagmaLinear

    return lambda: DagmaLinear(loss_type="l2").fit(task.table.values - task.table.values.mean(axis=0)) != 0


def dagma_nonlinear(task: Task, hidden: int, lambda1: float, lambda2: float) -> Learn:
    """DAGMA with one hidden layer; the rest at its defaults, the threshold of 0.3 too."""
    import torch
    from dagma.nonlinear import DagmaMLP, DagmaNonlinear

    def learn() -> Any:
        torch.manual_seed(task.seed)
        model = DagmaMLP(dims=[task.table.values.shape[1], hidden, 1], bias=True, dtype=torch.double)
        return DagmaNonlinear(model, dtype=torch.double).fit(task.table.values, lambda1=lambda1, lambda2=lambda2) != 0

    return learn


def gcastle_golem(task: Task) -> Learn:
    """GOLEM at its defaults, threshold 0.3 too; equal variances if the score has them; its answer may have cycles."""
    from castle.algorithms import GOLEM

    return lambda: _gcastle(GOLEM(seed=task.seed, equal_variances=task.score.endswith("-ev")), task)


def gcastle_corl(task: Task, evals: int) -> Learn:
    """CORL with the batch of the paper's comparison: 64, or one per node where there are more. Linear regression.

    gCastle looks at the graph in the first and then in every 500th iteration alone; here in the last one.
    """
    from castle.algorithms import CORL

    batch = max(64, task.table.values.shape[1])
    score, rounds = "BIC" if task.score.endswith("-ev") else "BIC_different_var", -(-evals // batch)
    model = CORL(
        batch_size=batch,
        iteration=rounds,
        lambda_iter_num=rounds,
        reward_score_type=score,
        random_seed=task.seed,
        device_type="gpu" if task.device == "cuda" else "cpu",
    )
    return lambda: _gcastle(model, task)


def flop(task: Task, penalty: float | None, restarts: int | None) -> Learn:
    """FLOP with the task's penalty or another; None restarts: from 1 on doubled until it had the task's seconds.

    Its own ``timeout`` was seen not to end.
    """
    from flopsearch import flop as search

    def learn() -> Any:
        start, tries = time.perf_counter(), restarts or 1
        while True:
            found = search(task.table.values, penalty or task.options["penalty"], restarts=tries)
            if task.record:  # the answer if the time ends during the next
                task.record(tries, found != 0)
            if restarts or time.perf_counter() - start >= task.options["seconds"]:
                return found != 0
            tries *= 2

    return learn


def causal_learn_orders(task: Task, search: str, lambda_value: float | None) -> Learn:
    """BOSS or GRaSP with BIC from the covariance; ``lambda_value`` 0.5 is penalty 1 on our scale, None its default."""
    from causallearn.search.PermutationBased import BOSS, GRaSP

    start = {"BOSS": BOSS.boss, "GRaSP": GRaSP.grasp}[search]
    penalty = None if lambda_value is None else {"lambda_value": lambda_value}

    def learn() -> Graph:
        random.seed(task.seed)  # of the order in which the nodes are moved
        return _from_marks(
            start(task.table.values, "local_score_BIC_from_cov", parameters=penalty, verbose=False).graph
        )

    return learn


def direct_lingam(task: Task, threshold: float) -> Learn:
    """DirectLiNGAM as causal-learn ships it; its adaptive lasso prunes, then the threshold."""
    from causallearn.search.FCMBased.lingam import DirectLiNGAM

    def learn() -> Graph:
        model = DirectLiNGAM(random_state=task.seed)
        model.fit(task.table.values)
        kept: Graph = np.abs(model.adjacency_matrix_.T) > threshold
        return kept

    return learn


def xges(task: Task, alpha: float) -> Learn:
    """XGES; the first call compiles and is not timed. Its ``alpha`` is a penalty on our scale."""
    from xges import XGES

    XGES(alpha=alpha).fit(np.random.default_rng(0).normal(size=(50, 3)), verbose=0)
    return lambda: XGES(alpha=alpha).fit(task.table.values, verbose=0).to_adjacency_matrix()


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
    return BDeu(frame, equivalent_sample_size=task.scoring["ess"]) if task.score == "bdeu" else BIC(frame)


def as_text(table: Statistics) -> Any:
    """Return a table of categories as a data frame of text."""
    import pandas as pd

    columns = zip(table.names, table.values.T.astype(int), table.levels, strict=True)
    return pd.DataFrame({name: [levels[code] for code in codes] for name, codes, levels in columns if levels})
