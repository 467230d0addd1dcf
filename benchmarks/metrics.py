"""How good an answer is, by our score and against the truth."""

from typing import Any

import numpy as np

from benchmarks.methods.base import Answer, Graph
from drbo.errors import DataError
from drbo.graph import cpdag_to_dag, dag_to_cpdag, is_acyclic
from drbo.metrics import shd
from drbo.scores.base import Score
from drbo.search.evaluate import Evaluator
from drbo.settings import Settings


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
