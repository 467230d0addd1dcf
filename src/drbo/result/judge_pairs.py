"""Judge a graph with hidden causes on rows that it was not learned from, in the manner of :mod:`drbo.result.judge`.

Every two columns without an edge must be independent given some set of columns, which the graph names; the score is
compared with those of random DAGs; and the tests are repeated with permuted columns.
"""

from typing import Any

import numpy as np

from drbo.arrays import Bools, Floats, Indices
from drbo.data.reading.frames import as_frame
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, current
from drbo.errors import SettingsError
from drbo.graph.dag import descendants
from drbo.graph.mag import Mag
from drbo.graph.pag import pag_of
from drbo.independence.conditional import ConditionalTests
from drbo.result.independence import independence_test
from drbo.result.judge import (
    PERMUTATIONS,
    check_counts,
    facts_of,
    judgement,
    left_out,
    permutations,
    random_scores,
    read_table,
    rows_of_equal_weight,
    scored,
    violations,
)
from drbo.result.judgement import PENALTIES, Judgement
from drbo.scores.families import Families
from drbo.scores.registry import build_score
from drbo.search.ancestral.ricf import DistrictScores

#: What graphs with hidden causes are scored by.
SCORE = "bic-nv"


def judge_mag(
    graph: Mag,
    X: Any,
    *,
    names: tuple[str, ...],
    score_options: dict[str, Any] | None = None,
    test: str = "auto",
    n_random: int = 100,
    n_permutations: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    groups: str | None = None,
) -> Judgement:
    """Judge a maximal ancestral graph; the parameters are those of :func:`drbo.result.judge.judge`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a, d, hidden, *noise = rng.normal(size=(5, 1000))
    >>> x = np.column_stack([a, a + hidden + noise[0], d + hidden + noise[1], d])
    >>> truth = Mag.of(np.eye(4, k=1) * [[1], [0], [0], [0]] + np.eye(4, k=-1) * [[0], [0], [0], [1]],
    ...     [[0, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    >>> found = judge_mag(truth, x, names=("x0", "x1", "x2", "x3"))
    >>> found.n_claims, found.n_violations
    (3, 0)
    """
    check_counts(n_random, n_permutations, time_limit)
    kind = "gaussian" if test == "auto" else test
    if kind == "g-test":
        raise SettingsError("graphs with hidden causes are judged on numeric columns only", hint="use test='gaussian'")
    with Deadline(time_limit):
        rng = np.random.default_rng(seed)
        table = rows_of_equal_weight(read_table(as_frame(X), list(names), len(names), groups), seed)
        scores = _scores(table, score_options, graph, n_random, rng)
        n_permutations = n_permutations or PERMUTATIONS.get(kind, PERMUTATIONS["gaussian"])
        facts = facts_of(lambda: _tested(independence_test(kind, table), graph, table.names, n_permutations, rng))
        late = left_out(len(scores["random_scores"]), n_random, facts, n_permutations, PENALTIES[-1])
        about = {"score_name": SCORE, "test": kind, "penalties": (), "by_pairs": True, "notes": late}
        return judgement(table, graph.n_edges, scores | facts | about)


def separator(graph: Mag, i: int, j: int) -> list[int]:
    """Return a set that separates two nodes without an edge: the smaller of D-SEP(i, j) and D-SEP(j, i).

    D-SEP(i, j) are the nodes on paths from i on which every inner node is a collider and every node is an ancestor of i
    or j (Spirtes, Glymour & Scheines 2000).
    """
    below = descendants(graph.directed) | np.eye(len(graph.directed), dtype=bool)
    above = below[:, i] | below[:, j]
    found = [_collider_connected(graph, start, end, above) for start, end in ((i, j), (j, i))]
    return min(found, key=len)


def _collider_connected(graph: Mag, start: int, end: int, above: Bools) -> list[int]:
    into = graph.directed | graph.bidirected  # into[a, b]: the edge has an arrow at b
    found = graph.adjacent[start] & above
    queue = np.flatnonzero(found & into[start]).tolist()  # reached with an arrow, so that a further arrow collides
    seen = set(queue)
    while queue:
        node = queue.pop()
        onward = into[:, node] & above
        found = found | onward
        more = [int(v) for v in np.flatnonzero(onward & into[node]) if v not in seen]
        seen.update(more)
        queue += more
    found[[start, end]] = False
    return np.flatnonzero(found).tolist()


def pair_p_values(test: ConditionalTests, graph: Mag) -> Floats:
    """Return (d, d) the p-value of each pair i < j without an edge, given what separates it; NaN elsewhere."""
    found, deadline = np.full(graph.directed.shape, np.nan), current()
    for i, j in np.argwhere(np.triu(~graph.adjacent, 1)).tolist():
        deadline.check()
        given = np.array(separator(graph, i, j), dtype=np.intp)
        found[i, j] = test(i, np.array([j], dtype=np.intp), given)[0]
    return found


def _scores(
    table: Statistics, options: dict[str, Any] | None, graph: Mag, n: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Score the graph, the empty one and random DAGs of the same density, as many as there is time for."""
    made = build_score(SCORE, table, options)
    scores, none = DistrictScores.of(made), np.zeros_like(graph.directed)
    families = Families.from_dags(none[None])
    empty = float(made.combine(made.local(families), made.family_price(families)))
    constant = empty - scores.total(Mag.of(none))  # the scores of districts leave out a constant of the table
    found = random_scores(lambda dag: scores.total(Mag.of(dag)) + constant, len(none), graph.n_edges, n, rng)
    return scored(scores.total(graph) + constant, empty, found)


def _tested(
    test: ConditionalTests, graph: Mag, names: tuple[str, ...], n: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Test what the graph claims, and what it claims with its nodes permuted."""
    p_values, pag = pair_p_values(test, graph), pag_of(graph)

    def claimed(i: int, j: int) -> list[int]:
        return separator(graph, i, j)

    def permuted(order: Indices) -> tuple[Floats, bool]:
        place = np.ix_(order, order)
        moved = Mag(graph.directed[place], graph.bidirected[place])
        return pair_p_values(test, moved), bool((pag_of(moved) == pag).all())

    return violations(p_values, claimed, names) | permutations(p_values, permuted, len(names), n, rng)
