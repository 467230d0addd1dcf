"""How good an answer is, by our score and against the truth."""

import base64
import zlib
from typing import Any

import numpy as np

from benchmarks.methods.base import Answer, Graph
from drbo.constraints import Constraints
from drbo.errors import DataError
from drbo.graph.dag import cpdag_to_dag, dag_to_cpdag, is_acyclic
from drbo.graph.metrics import compare, shd
from drbo.scores.base import Score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.exact.family_tables import all_tables
from drbo.search.exact.proof import Certificate, certify
from drbo.settings import Settings

#: Figures of a comparison that a row holds under the same names.
COMPARED = (
    "shd",
    "shd_c",
    "tpr",
    "fdr",
    "f1",
    "adjacency_precision",
    "adjacency_recall",
    "arrowhead_precision",
    "arrowhead_recall",
)


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
        note = f"{note}; no DAG has these edges" if note else "no DAG has these edges"
    learned = dag_to_cpdag(graph) if is_acyclic(graph) else graph
    n_found = int(np.triu(graph | graph.T).sum())
    return {"found_score": value, "shd_c": shd(learned, dag_to_cpdag(truth)), "n_found": n_found, "note": note}


def measure(answer: Answer, score: Score, truth: Graph) -> dict[str, Any]:
    """Return all figures of a row: those of :func:`judge`, distances, shares of adjacencies and arrowheads, AID.

    ``shd_gcastle`` counts an undirected edge on a true one as right, as gCastle does.
    """
    judged = judge(answer, score, truth)
    if answer.graph is None:
        return judged
    graph = answer.graph
    if (graph & graph.T).any() or is_acyclic(graph):
        compared = compare(graph, truth)
        figures = {name: round(getattr(compared, name), 4) for name in COMPARED}
        figures["shd_gcastle"] = compare(graph, truth, "gcastle").shd
    else:  # cycles: only distances have a meaning
        figures = {"shd": shd(graph, truth), "shd_gcastle": shd(graph, truth)}
    return {**figures, **judged, "aid": identification_distance(graph, truth), "graph": pack(graph)}


def measure_search(answer: Answer, score: Score, truth: Graph) -> dict[str, Any]:
    """Return the figures of the search behind a graph of ours: score and distance before pruning, and what it cost."""
    if answer.found is None:
        return {}
    return {
        "searched_score": repr(dag_score(score, answer.found.searched)),
        "searched_shd": shd(answer.found.searched, truth),
        "searched_shd_c": shd(dag_to_cpdag(answer.found.searched), dag_to_cpdag(truth)),
        "n_searched": int(answer.found.searched.sum()),
        "n_evals": answer.found.n_evals,
        "n_local": answer.found.n_local,
    }


def identification_distance(learned: Graph, truth: Graph) -> float | str:
    """Return the ancestor adjustment identification distance (Henckel et al. 2024) as a share of all pairs.

    Empty where ``gadjid`` is not installed or the graph is neither a DAG nor a CPDAG.
    """
    try:
        import gadjid
    except ImportError:
        return ""
    if not is_acyclic(learned):
        try:
            if not np.array_equal(dag_to_cpdag(cpdag_to_dag(learned)), learned):
                return ""
        except DataError:
            return ""
    both = learned & learned.T
    marks = np.where(both & np.triu(both), 2, (learned & ~both).astype(int)).astype(np.int8)
    share, _ = gadjid.ancestor_aid(truth.astype(np.int8), marks, edge_direction="from row to column")
    return round(float(share), 4)


def dag_score(score: Score, dag: Graph) -> float:
    """Return our score of a DAG."""
    return float(Evaluator(score, Settings()).evaluate(dag[None]).scores[0])


def proved(score: Score) -> tuple[Certificate, int]:
    """Return the proof of the best DAG of at most 20 columns, and the local scores that it took."""
    evaluator, free = Evaluator(score, Settings(max_evals=2**40)), Constraints.none(score.n_nodes)
    empty = evaluator.evaluate(np.zeros((1, score.n_nodes, score.n_nodes), dtype=bool))
    return certify(all_tables(evaluator, free), evaluator, free, empty), evaluator.n_local


def pack(graph: Graph) -> str:
    """Return a graph as text, so that a row can be measured again."""
    return base64.b64encode(zlib.compress(np.packbits(graph).tobytes(), 9)).decode()


def unpack(text: str, n_nodes: int) -> Graph:
    """Return the graph of :func:`pack`."""
    bits = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    return np.unpackbits(bits, count=n_nodes**2).astype(bool).reshape(n_nodes, n_nodes)
