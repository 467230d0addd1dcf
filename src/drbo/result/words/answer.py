"""What a result said about its graph when it was saved, and whether its records are about one graph."""

from typing import TYPE_CHECKING, Any

from drbo.arrays import Bools
from drbo.claims.directions import EdgeDirection
from drbo.constraints import Constraints
from drbo.errors import DataError, KnowledgeError, ResultError
from drbo.graph.dag import check_dag
from drbo.graph.marks import MarkedGraph
from drbo.graph.window import WindowGraph
from drbo.result.records import Told

if TYPE_CHECKING:
    from drbo.result.result import Result


def class_under_knowledge(result: "Result", constraints: Constraints) -> Bools:
    """Return (d, d) the class of the DAG of a result under its knowledge and experiments."""
    if result.graph.kind in ("cpdag", "mpdag"):
        return result.graph.adjacency
    from drbo.claims.experiments import class_of  # a saved result does without the scores behind it

    return class_of(result.dag, constraints, result.claims.experiments, result.cpdag)


def window_of(result: "Result") -> WindowGraph:
    """Return the edges of the DAG of a result at every lag; without time there is one lag, 0."""
    lags = (0,) * len(result.names) if result.series is None else result.series.lags
    return WindowGraph.of(result.dag, result.names, lags)


def told_by(result: "Result") -> Told:
    """Return what a result says about its graph, to be saved with it."""
    told = result.directions
    return Told(
        kind=result.graph.kind,
        marks=result.graph.marks,
        directions=tuple(one.direction for one in told),
        grounds=tuple(one.ground for one in told),
        contradicted=tuple(one.contradicted for one in told),
        sentences=tuple(one.sentence for one in told),
        p_forward=tuple(one.p_forward for one in told),
        reasons=tuple(result.why().values()),
    )


def told_directions(result: "Result", told: Told) -> tuple[EdgeDirection, ...]:
    """Return what a file says about each edge; the noise checks are those of the claims."""
    checks, found = {(one.cause, one.effect): one.check for one in result.claims.noise}, []
    said = zip(told.directions, told.grounds, told.contradicted, told.sentences, told.p_forward, strict=True)
    for (i, j), (direction, ground, against, words, share) in zip(result.reading.edges, said, strict=True):
        edge = result.names[i], result.names[j]
        found.append(EdgeDirection(*edge, direction, ground, against, words, share, checks.get(edge)))
    return tuple(found)


def check_dags(**dags: Any) -> None:
    """Refuse graphs that are no DAGs, by the names of their fields."""
    for name, dag in dags.items():
        try:
            check_dag(dag)
        except DataError as error:
            raise ResultError(f"{name}: {error.message}", hint=error.hint) from error


def check_records(result: "Result") -> None:
    """Refuse records that are about other columns, or about another graph."""
    if result.series is not None and len(result.series.lags) != len(result.names):
        raise ResultError(f"series.lags must have an entry for each of {len(result.names)} columns")
    if result.series is not None and not min(result.series.lags) == 0 < max(result.series.lags):
        raise ResultError("series.lags must be whole numbers of which some are 0 and some are not")
    try:
        past = result.constraints.past
    except KnowledgeError as error:
        raise ResultError(f"knowledge: {error.message}", hint=error.hint) from error
    if result.dag[:, past].any() or result.search.dag[:, past].any():
        raise ResultError("the graph has causes of columns of the past, which have none in a window")
    if result.confidence is not None and tuple(result.confidence.names) != result.names:
        raise ResultError("the confidence is about other variables than this result")
    result.claims.check_names(result.names)
    result.reading.check()


def check_told(result: "Result", told: Told) -> None:
    """Refuse what a file says about a graph that is not the one of its records."""
    names, kinds = result.names, result.reading.kinds
    if told.kind not in kinds:
        raise ResultError(f"told.kind must be {' or '.join(kinds)} here, got {told.kind!r}")
    try:
        graph = MarkedGraph(names, told.marks, told.kind)
    except DataError as error:
        raise ResultError(f"told.marks: {error.message}") from error
    if not graph.has_member(result.reading.member()):
        raise ResultError("told.marks are not those of the graph that was found")
    if told.lengths != {graph.n_edges}:
        raise ResultError(f"the lists of told must have an entry for each of {graph.n_edges} edges, got {told.lengths}")
