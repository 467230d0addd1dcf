"""Judge a graph without knowing the true one, on rows that it was not learned from.

These figures can only show that the data do not contradict a graph, never that it is true: other graphs of the same
equivalence class, and graphs with hidden common causes, can pass every test.

The module is long because it combines several tests, each with its own sampling.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control

from drbo.arrays import Bools, Floats, Indices
from drbo.choice.auto import choose_score
from drbo.data.checks.check import check_table
from drbo.data.checks.groups import one_left_out
from drbo.data.checks.prepare import Preparation
from drbo.data.files.names import check_names
from drbo.data.reading.frames import as_frame
from drbo.data.statistics.statistics import Statistics
from drbo.deadline import Deadline, OutOfTimeError, current
from drbo.design import Design
from drbo.errors import DataError, SettingsError
from drbo.graph.dag import check_pdag, cpdag_to_dag, dag_to_cpdag, markov_equivalent
from drbo.independence.conditional import ConditionalTests
from drbo.result.independence import KCI_ROWS, independence_test, markov_p_values
from drbo.result.judgement import LEAST, LEVEL, PENALTIES, Judgement
from drbo.scores.base import Score
from drbo.scores.registry import build_score
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

if TYPE_CHECKING:
    import pandas as pd


#: Permuted graphs that are tested, where nothing is said: as many as take seconds.
PERMUTATIONS = {"gaussian": 200, "g-test": 100, "kci": 20}
PATIENCE = 3  # of these searches
_UNLIMITED = Settings(max_evals=2**62)


def judge(
    graph: npt.ArrayLike,  # (d, d)
    X: Any,
    *,
    names: Any = None,
    score: Any = "auto",
    score_options: dict[str, Any] | None = None,
    test: str = "auto",
    n_random: int = 100,
    n_permutations: int | None = None,
    path: bool = True,
    seed: int = 0,
    time_limit: float | None = None,
    groups: str | None = None,
) -> Judgement:
    """Judge a graph on rows that it was not learned from.

    Parameters
    ----------
    graph : a DAG or an equivalence class. One member of a class is judged, because all imply the same independences.
    X : the held-out table.
    names : names of the nodes; None: the columns of the table in their order.
    score, score_options : as in :class:`~drbo.DrBO`; options with one entry per row must refer to the rows of ``X``.
    test : ``"gaussian"``: partial correlation, with categories encoded as indicators; ``"g-test"``: contingency tables,
        for categories; ``"kci"``: a slow kernel test for nonlinear relations; ``"auto"``: chosen by the score and the
        types of the columns.
    n_random : number of random DAGs with as many edges, at least 19.
    n_permutations : number of node permutations, at least 19; None: 200 for ``"gaussian"``, 100 for ``"g-test"``, 20
        for ``"kci"``.
    path : also search with increasing penalties, for linear and discrete scores.
    seed : seed of the random graphs and permutations.
    time_limit : seconds; the notes list what was left out because time ran out.
    groups : the column that says which rows belong together: the graph is judged by changes within groups, with one row
        of each group left out, because the means of the groups take as many degrees of freedom.

    Examples
    --------
    >>> truth = np.triu(np.random.default_rng(0).random((6, 6)) < 0.5, 1)
    >>> x = np.random.default_rng(1).normal(size=(300, 6)) @ np.linalg.inv(np.eye(6) - truth)
    >>> shuffled = np.random.default_rng(2).permutation(6)
    >>> judge(truth[np.ix_(shuffled, shuffled)], x, score="bic-nv").falsified
    True
    """
    check_counts(n_random, n_permutations, time_limit)
    with Deadline(time_limit):
        frame = as_frame(X)
        given = check_pdag(graph, None if names is None else check_names(names, np.shape(graph)[0]))
        columns = [name for name in frame.columns if name != groups]
        table = read_table(frame, columns if names is None else list(names), len(given), groups)
        dag = cpdag_to_dag(given)
        name = choose_score(table).name if isinstance(score, str) and score == "auto" else score
        table = rows_of_equal_weight(table, seed)
        made = build_score(name, table, score_options)
        kind, rng, evaluator = _kind(test, made, table), np.random.default_rng(seed), Evaluator(made, _UNLIMITED)
        own, empty = (float(evaluator.evaluate_one(one).scores[0]) for one in (dag, np.zeros_like(dag)))
        n_edges = int(dag.sum())
        found = random_scores(
            lambda one: float(evaluator.evaluate(one[None]).scores[0]), len(dag), n_edges, n_random, rng
        )
        n_permutations = n_permutations or PERMUTATIONS.get(kind, LEAST)  # an unknown test is refused below
        facts = facts_of(lambda: _tested(independence_test(kind, table), dag, table.names, n_permutations, rng))
        form = made.compiled()
        cheap = path and form is not None and form.tabled  # linear and discrete scores
        penalties, last = _path(name, table, score_options or {}, dag, seed) if cheap else ((), PENALTIES[-1])
        late = left_out(len(found), n_random, facts, n_permutations, last)
        about = {"score_name": made.name, "test": kind, "penalties": penalties, "notes": late}
        return judgement(table, n_edges, scored(own, empty, found) | facts | about)


def check_counts(n_random: int, n_permutations: int | None, time_limit: float | None) -> None:
    """Refuse numbers of graphs that cannot tell anything."""
    for name, value in (
        ("n_random", n_random),
        ("n_permutations", LEAST if n_permutations is None else n_permutations),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < LEAST:
            raise SettingsError(
                f"{name} must be a whole number of at least {LEAST}, got {value!r}",
                hint=f"with fewer, no share can be as small as {LEVEL:g}; try 100",
            )
    Settings(time_limit=time_limit)  # for its checks


def judgement(table: Statistics, n_edges: int, fields: dict[str, Any]) -> Judgement:
    """Return a judgement; its notes say what the tests cannot tell, then what time did not suffice for."""
    notes = (*notes_on_tests(fields["test"], table), *fields["notes"])
    return Judgement(names=table.names, n_rows=table.n_rows, n_edges=n_edges, **fields | {"notes": notes})


def left_out(
    n_random: int, all_random: int, facts: dict[str, Any], all_permutations: int, last: float | None
) -> list[str]:
    """Return what the time did not suffice for, in words."""
    left = []
    if n_random < all_random:
        left.append(f"{n_random} of {all_random} random graphs were scored")
    if not facts["tested"]:
        left.append("the implied independences were not tested")
    elif facts["n_permutations"] < all_permutations:
        left.append(f"{facts['n_permutations']} of {all_permutations} permutations were tested")
    if last != PENALTIES[-1]:
        left.append(
            "no search with other penalties was made"
            if last is None
            else f"no search with penalties above {last:g} was made"
        )
    return [f"time ran out: {'; '.join(left)}"] if left else []


def read_table(frame: "pd.DataFrame", names: list[str], d: int, groups: str | None) -> Statistics:
    """Return the checked columns of these names, of which a graph has d, without differences between groups."""
    unknown = [name for name in names if name not in frame.columns]
    if unknown:
        raise DataError(
            f"the table has no column '{unknown[0]}', which is a node of the graph",
            hint=f"its columns are {', '.join(map(str, frame.columns))}"[:300],
        )
    if len(names) != d:
        raise DataError(
            f"the graph has {d} nodes, but the table has {len(names)} columns",
            hint="give the names of the nodes, or a table with one column per node",
        )
    table = check_table(frame[names], on_collinear="keep")[0]
    return table if groups is None else Preparation(Design(groups=groups)).again(frame, table.names)


def rows_of_equal_weight(table: Statistics, seed: int) -> Statistics:
    """Return the rows without one of each group, where there are groups: the tests take no weights."""
    if table.groups is None:
        return table
    rows = one_left_out(table.groups, np.random.default_rng(seed))
    return replace(table.take(rows, np.arange(table.n_columns)), weights=None)


def _kind(test: str, score: Score, table: Statistics) -> str:
    if test != "auto":
        return test
    return "gaussian" if score.independence == "kci" and "categorical" in table.kinds else score.independence


def random_scores(
    score_of: Callable[[Bools], float], d: int, n_edges: int, n: int, rng: np.random.Generator
) -> list[float]:
    """Return the scores of random DAGs with so many edges, of as many as there is time for."""
    found: list[float] = []
    with suppress(OutOfTimeError):
        for _ in range(n):
            current().check()
            found.append(score_of(random_dag(d, n_edges, rng)))
    return found


def scored(own: float, empty: float, random: list[float]) -> dict[str, Any]:
    """Return the fields of a judgement about scores."""
    as_good = sum(score >= own for score in random)
    return {
        "score": own,
        "empty_score": empty,
        "random_scores": tuple(random),
        "random_share": (1 + as_good) / (1 + len(random)),
    }


def random_dag(d: int, n_edges: int, rng: np.random.Generator) -> Bools:
    """Return a DAG with so many edges, all pairs and orders equally likely."""
    first, second = np.triu_indices(d, 1)
    chosen = rng.choice(len(first), size=n_edges, replace=False)
    order = rng.permutation(d)
    dag = np.zeros((d, d), dtype=bool)
    dag[order[first[chosen]], order[second[chosen]]] = True
    return dag


def facts_of(run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of a judgement that tests give, or those that say that there was no time for them."""
    try:
        current().check()
        return run()
    except OutOfTimeError:
        counts = dict.fromkeys(("n_claims", "n_violations", "n_discoveries", "n_permutations"), 0)
        nothing = {"tested": False, "worst": (), "permuted_violations": (), "markov_share": 1.0, "class_share": 1.0}
        return counts | nothing


def _tested(
    test: ConditionalTests, dag: Bools, names: tuple[str, ...], n: int, rng: np.random.Generator
) -> dict[str, Any]:
    """Test what the graph claims, and what it claims with its nodes permuted."""
    p_values = markov_p_values(test, dag)

    def permuted(order: Indices) -> tuple[Floats, bool]:
        moved = dag[np.ix_(order, order)]
        return markov_p_values(test, moved), markov_equivalent(dag, moved)

    return violations(
        p_values, lambda node, _: np.flatnonzero(dag[:, node]).tolist(), names
    ) | permutations(p_values, permuted, len(dag), n, rng)  # fmt: skip


def violations(
    p_values: Floats, given: Callable[[int, int], list[int]], names: tuple[str, ...], shown: int = 5
) -> dict[str, Any]:
    """Return the fields of a judgement about claims (d, d), NaN where there is none; ``given`` returns their sets."""
    claims = np.argwhere(~np.isnan(p_values))
    found = p_values[tuple(claims.T)]
    worst: dict[tuple[frozenset[int], tuple[int, ...]], dict[str, Any]] = {}  # a claim and its mirror image are one
    for k in np.argsort(found, kind="stable").tolist():
        if found[k] >= LEVEL or len(worst) == shown:
            break
        node, other = claims[k].tolist()
        held = given(node, other)
        claim = {"node": names[node], "other": names[other], "given": [names[i] for i in held], "p": float(found[k])}
        worst.setdefault((frozenset((node, other)), tuple(held)), claim)
    adjusted = false_discovery_control(found) if len(found) else found
    return {
        "tested": True,
        "n_claims": len(found),
        "n_violations": int((found < LEVEL).sum()),
        "n_discoveries": int((adjusted < LEVEL).sum()),
        "worst": tuple(worst.values()),
    }


def permutations(
    p_values: Floats,
    permuted: Callable[[Indices], tuple[Floats, bool]],
    d: int,
    n: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Compare the violations of a graph with those with its nodes permuted, which may be of the same class."""
    own = int((p_values < LEVEL).sum())
    counts, same = [], 0
    with suppress(OutOfTimeError):
        for _ in range(n):
            current().check()
            moved, is_same = permuted(rng.permutation(d))
            same += is_same
            counts.append(int((moved < LEVEL).sum()))
    return {
        "n_permutations": len(counts),
        "permuted_violations": tuple(counts),
        "markov_share": (1 + sum(count <= own for count in counts)) / (1 + len(counts)),
        "class_share": same / max(1, len(counts)),
    }


def _path(
    name: Any, table: Statistics, options: dict[str, Any], dag: Bools, seed: int
) -> tuple[tuple[dict[str, Any], ...], float | None]:
    """Search at rising penalties, each from the graph before, and note how long each edge lives.

    Also return the last penalty that there was time for; without any, nothing is known about an edge.
    """
    last: float | None = None
    linked, directed = np.full(dag.shape, np.nan), np.full(dag.shape, np.nan)
    start, shown = dag, dag_to_cpdag(dag)
    for penalty in PENALTIES:
        if current().over():
            break
        score = build_score(name, table, {**options, "penalty": penalty})
        search = OrderSearch(score, Settings(order_patience=PATIENCE), seed=seed, start=start, max_searches=1)
        start = search.run().best.dags[0]
        if current().over():  # it was cut short
            break
        last = penalty
        graph = dag_to_cpdag(start) if score.score_equivalent else start
        linked[graph | graph.T] = penalty
        directed[graph & ~graph.T] = penalty
    names = table.names
    edges = np.argwhere(dag).tolist() if last is not None else []
    lives = tuple(
        {
            "source": names[i],
            "target": names[j],
            "compelled": not bool(shown[j, i]),
            "linked_up_to": None if np.isnan(linked[i, j]) else float(linked[i, j]),
            "directed_up_to": None if np.isnan(directed[i, j]) else float(directed[i, j]),
        }
        for i, j in edges
    )
    return lives, last


def notes_on_tests(kind: str, table: Statistics) -> tuple[str, ...]:
    """Return what the tests cannot tell, in words."""
    notes = [
        "these tests cannot distinguish graphs of the same equivalence class, and hidden common causes can mislead "
        "all of them"
    ]
    if kind == "kci" and table.n_rows > KCI_ROWS:
        notes.append(f"the kernel test used {KCI_ROWS} of {table.n_rows} rows")
    if kind == "gaussian":
        notes.append(
            "partial correlations detect only linear dependence; the test kci detects nonlinear dependence too"
        )
    return tuple(notes)
