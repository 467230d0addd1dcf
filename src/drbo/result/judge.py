"""Judging a graph without knowing the truth, on rows that it was not learned from.

Every figure here says "the data do not speak against it", never "it is true": graphs of the same equivalence class, and
graphs with hidden common causes, can pass all of it.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control

from drbo.data.check import check_table
from drbo.data.read import as_frame
from drbo.data.table import Table
from drbo.errors import DataError, SettingsError
from drbo.graph import check_pdag, cpdag_to_dag, dag_to_cpdag, markov_equivalent
from drbo.result.export import check_names
from drbo.result.independence import KCI_ROWS, Independence, independence_test, markov_p_values
from drbo.scores.auto import choose_score
from drbo.scores.base import build_score
from drbo.scores.bge import BGe
from drbo.scores.discrete import BDeu, DiscreteBIC
from drbo.scores.linear import BicNV
from drbo.search.evaluate import Evaluator
from drbo.search.order_search import OrderSearch
from drbo.settings import Settings

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

LEVEL = 0.05  # of the tests, and of the shares that falsify a graph
LEAST = 19  # graphs to compare with: the share of the best among them is 1 / 20
#: Permuted graphs that are tested, where nothing is said: as many as take seconds.
PERMUTATIONS = {"gaussian": 200, "g-test": 100, "kci": 20}
#: Penalties at which the graph is searched again.
PENALTIES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
PATIENCE = 3  # of these searches
NONLINEAR = ("gp", "gp-nv", "gp-ev", "splines")
DISCRETE = ("bdeu", "bic-discrete", "logistic")


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What held-out rows say about a graph; see :func:`judge`.

    Examples
    --------
    >>> truth = np.triu(np.random.default_rng(0).random((6, 6)) < 0.5, 1)
    >>> x = np.random.default_rng(1).normal(size=(300, 6)) @ np.linalg.inv(np.eye(6) - truth)
    >>> found = judge(truth, x, score="bic-nv")
    >>> found.beats_random, found.informative, found.falsified
    (True, True, False)
    """

    names: tuple[str, ...]
    n_rows: int
    n_edges: int
    score_name: str
    score: float
    empty_score: float
    random_scores: tuple[float, ...]  # of random DAGs with as many edges
    random_share: float  # (1 + those at least as good) / (1 + all)
    test: str
    n_claims: int  # independences that the local Markov property claims
    n_violations: int  # of these, p below the level
    n_discoveries: int  # of these, left by Benjamini & Hochberg
    worst: tuple[dict[str, Any], ...]  # the claims with the smallest p-values
    n_permutations: int
    permuted_violations: tuple[int, ...]
    markov_share: float  # (1 + permuted graphs with at most as many violations) / (1 + all)
    class_share: float  # permuted graphs in the same equivalence class
    penalties: tuple[dict[str, Any], ...]  # per edge: up to which penalty it is found again
    notes: tuple[str, ...] = ()

    @property
    def beats_random(self) -> bool:
        """Whether at most 5% of random graphs of the same density score as well."""
        return self.random_share <= LEVEL

    @property
    def informative(self) -> bool:
        """Whether permuting the nodes changes what the graph claims, so that the falsification means something."""
        return self.class_share <= LEVEL

    @property
    def falsified(self) -> bool:
        """Whether the graph explains the independences no better than with its nodes permuted (Eulig et al. 2023)."""
        return self.informative and self.markov_share > LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        verdicts = {name: getattr(self, name) for name in ("beats_random", "informative", "falsified")}
        return {**asdict(self), **verdicts}

    def summary(self) -> str:
        """Return the judgement in plain words."""
        lines = [
            f"{len(self.names)} variables, {self.n_edges} edges, judged on {self.n_rows} rows with score "
            f"{self.score_name}",
            "",
            *self._score_lines(),
            "",
            *self._markov_lines(),
            "",
            *self._permutation_lines(),
        ]
        if self.penalties:
            lines += ["", "Penalty path: the edge is found again in these rows up to this penalty", *self._path_lines()]
        return "\n".join([*lines, *(["", *(f"note: {note}" for note in self.notes)] if self.notes else [])])

    def _score_lines(self) -> list[str]:
        n, best = len(self.random_scores), sum(score >= self.score for score in self.random_scores)
        verdict = "better than chance" if self.beats_random else "no better than chance: the edges explain nothing new"
        return [
            "Score on these rows, parameters fitted to them",
            f"  this graph    {self.score:.6g}",
            f"  empty graph   {self.empty_score:.6g}  ({self.score - self.empty_score:+.6g} for this graph)",
            f"  random DAGs   {max(self.random_scores):.6g} at best of {n} with {self.n_edges} edges; "
            f"rank {best + 1} of {n + 1}, share {self.random_share:.3f}: {verdict}",
        ]

    def _markov_lines(self) -> list[str]:
        lines = [f"Local Markov tests ({self.test}): each node against its non-descendants, given its parents"]
        if not self.n_claims:
            return [*lines, "  the graph claims no independence: nothing can speak against it"]
        lines.append(
            f"  {self.n_violations} of {self.n_claims} claims have p < {LEVEL:g}; {LEVEL * self.n_claims:.1f} are "
            f"expected by chance; {self.n_discoveries} are left at a false discovery rate of {LEVEL:g}"
        )
        return lines + [
            f"  {claim['node']} and {claim['other']} given {', '.join(claim['given']) or 'nothing'}: p {claim['p']:.2g}"
            for claim in self.worst
        ]

    def _permutation_lines(self) -> list[str]:
        lines = ["Permuted nodes (Eulig et al. 2023): is the graph better than itself with other labels?"]
        if not self.n_claims:
            return [*lines, "  it claims nothing, with any labels"]
        if not self.informative:
            verdict = "the graph looks too much the same with other labels: no verdict"
        elif self.falsified:
            verdict = "falsified: other labels explain the independences as well"
        else:
            verdict = "not falsified"
        return [
            *lines,
            f"  {self.n_permutations} permutations, share with as few violations {self.markov_share:.3f}, "
            f"in the same equivalence class {self.class_share:.3f}: {verdict}",
        ]

    def _path_lines(self) -> list[str]:
        words = []
        for edge in self.penalties:
            last = edge["linked_up_to"]
            direction = edge["directed_up_to"]
            found = "not found again" if last is None else f"{last:g}" + (" or more" if last == PENALTIES[-1] else "")
            arrow = "" if last is None else (", arrow open" if direction is None else f", as an arrow {direction:g}")
            words.append(f"  {edge['source']} -> {edge['target']}: {found}{arrow}")
        return words


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
) -> Judgement:
    """Judge a graph on rows that it was not learned from.

    Parameters
    ----------
    graph : a DAG, or an equivalence class, of which one member is judged: its independences are those of all.
    X : the held-out table.
    names : of the nodes; None: the columns of the table in their order.
    score, score_options : as in :class:`~drbo.DrBO`, without rows.
    test : ``"gaussian"``: partial correlation, categories as indicators; ``"g-test"`` for categories; ``"kci"``, kernel
        test for nonlinear relations, slow; ``"auto"``: by the score and the kinds of the columns.
    n_random : random DAGs with as many edges, at least 19.
    n_permutations : permutations of the nodes, at least 19; None: 200 for ``"gaussian"``, 100 for ``"g-test"``, 20 for
        ``"kci"``.
    path : also search at rising penalties, for linear and discrete scores.
    seed : of the random graphs and permutations.

    Examples
    --------
    >>> truth = np.triu(np.random.default_rng(0).random((6, 6)) < 0.5, 1)
    >>> x = np.random.default_rng(1).normal(size=(300, 6)) @ np.linalg.inv(np.eye(6) - truth)
    >>> shuffled = np.random.default_rng(2).permutation(6)
    >>> judge(truth[np.ix_(shuffled, shuffled)], x, score="bic-nv").falsified
    True
    """
    frame = as_frame(X)
    given = check_pdag(graph, None if names is None else check_names(names, np.shape(graph)[0]))
    table = _table(frame, list(frame.columns) if names is None else list(names), len(given))
    dag = cpdag_to_dag(given)
    for name, value in (
        ("n_random", n_random),
        ("n_permutations", LEAST if n_permutations is None else n_permutations),
    ):
        if isinstance(value, bool) or not isinstance(value, int) or value < LEAST:
            raise SettingsError(
                f"{name} must be a whole number of at least {LEAST}, got {value!r}",
                hint=f"with fewer no share can fall to {LEVEL:g}; try 100",
            )
    name = choose_score(table)[0] if isinstance(score, str) and score == "auto" else score
    made = build_score(name, table, score_options)
    kind = _kind(test, made.name, table)
    rng = np.random.default_rng(seed)
    evaluator = Evaluator(made, Settings(max_evals=2**62))
    scores = _scores(evaluator, dag, n_random, rng)
    tested = independence_test(kind, table)
    facts = _markov(tested, dag, table.names) | _permuted(tested, dag, n_permutations or PERMUTATIONS[kind], rng)
    cheap = path and isinstance(made, BicNV | BGe | DiscreteBIC | BDeu)
    return Judgement(
        names=table.names,
        n_rows=table.n_rows,
        n_edges=int(dag.sum()),
        score_name=made.name,
        **scores,
        test=kind,
        **facts,
        penalties=_path(name, table, score_options or {}, dag, seed) if cheap else (),
        notes=_notes(kind, table),
    )


def _table(frame: Any, names: list[str], d: int) -> Table:
    unknown = [name for name in names if name not in frame.columns]
    if unknown:
        raise DataError(
            f"the table has no column '{unknown[0]}', which is a node of the graph",
            hint=f"its columns: {', '.join(map(str, frame.columns))}"[:300],
        )
    if len(names) != d:
        raise DataError(
            f"the graph has {d} nodes, the table {len(names)} columns", hint="give names, or the same columns"
        )
    return check_table(frame[names], on_collinear="keep")[0]


def _kind(test: str, score_name: str, table: Table) -> str:
    if test != "auto":
        return test
    if score_name in DISCRETE:
        return "g-test"
    return "kci" if score_name in NONLINEAR and "categorical" not in table.kinds else "gaussian"


def _scores(evaluator: Evaluator, dag: Bools, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Score the graph, the empty one and random ones of the same density."""
    others = [_random_dag(len(dag), int(dag.sum()), rng) for _ in range(n)]
    found = evaluator.evaluate(np.stack([dag, np.zeros_like(dag), *others])).scores.tolist()
    as_good = sum(score >= found[0] for score in found[2:])
    return {
        "score": found[0],
        "empty_score": found[1],
        "random_scores": tuple(found[2:]),
        "random_share": (1 + as_good) / (1 + n),
    }


def _random_dag(d: int, n_edges: int, rng: np.random.Generator) -> Bools:
    """Return a DAG with so many edges, all pairs and orders equally likely."""
    first, second = np.triu_indices(d, 1)
    chosen = rng.choice(len(first), size=n_edges, replace=False)
    order = rng.permutation(d)
    dag = np.zeros((d, d), dtype=bool)
    dag[order[first[chosen]], order[second[chosen]]] = True
    return dag


def _markov(test: Independence, dag: Bools, names: tuple[str, ...], shown: int = 5) -> dict[str, Any]:
    """Test what the graph claims."""
    p_values = markov_p_values(test, dag)
    claims = np.argwhere(~np.isnan(p_values))
    found = p_values[tuple(claims.T)]
    worst: dict[tuple[frozenset[int], bytes], dict[str, Any]] = {}  # a claim and its mirror image are one
    for k in np.argsort(found, kind="stable").tolist():
        if found[k] >= LEVEL or len(worst) == shown:
            break
        node, other = claims[k].tolist()
        parents = [names[i] for i in np.flatnonzero(dag[:, node])]
        claim = {"node": names[node], "other": names[other], "given": parents, "p": float(found[k])}
        worst.setdefault((frozenset((node, other)), dag[:, node].tobytes()), claim)
    adjusted = false_discovery_control(found) if len(found) else found
    return {
        "n_claims": len(found),
        "n_violations": int((found < LEVEL).sum()),
        "n_discoveries": int((adjusted < LEVEL).sum()),
        "worst": tuple(worst.values()),
    }


def _permuted(test: Independence, dag: Bools, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Compare the violations of the graph with those of the graph with its nodes permuted."""
    own = int((markov_p_values(test, dag) < LEVEL).sum())
    counts, same = [], 0
    for _ in range(n):
        order = rng.permutation(len(dag))
        moved = dag[np.ix_(order, order)]
        counts.append(int((markov_p_values(test, moved) < LEVEL).sum()))
        same += markov_equivalent(dag, moved)
    return {
        "n_permutations": n,
        "permuted_violations": tuple(counts),
        "markov_share": (1 + sum(count <= own for count in counts)) / (1 + n),
        "class_share": same / n,
    }


def _path(name: Any, table: Table, options: dict[str, Any], dag: Bools, seed: int) -> tuple[dict[str, Any], ...]:
    """Search at rising penalties, each from the graph before, and note how long each edge lives."""
    linked, directed = np.full(dag.shape, np.nan), np.full(dag.shape, np.nan)
    start, shown = dag, dag_to_cpdag(dag)
    for penalty in PENALTIES:
        score = build_score(name, table, {**options, "penalty": penalty})
        search = OrderSearch(score, Settings(order_patience=PATIENCE), seed=seed, start=start)
        search.max_searches = 1
        start = search.run().best.dags[0]
        graph = dag_to_cpdag(start) if score.score_equivalent else start
        linked[graph | graph.T] = penalty
        directed[graph & ~graph.T] = penalty
    names = table.names
    return tuple(
        {
            "source": names[i],
            "target": names[j],
            "settled": not bool(shown[j, i]),
            "linked_up_to": None if np.isnan(linked[i, j]) else float(linked[i, j]),
            "directed_up_to": None if np.isnan(directed[i, j]) else float(directed[i, j]),
        }
        for i, j in np.argwhere(dag).tolist()
    )


def _notes(kind: str, table: Table) -> tuple[str, ...]:
    notes = ["graphs of one equivalence class pass these tests alike, and hidden common causes can fool all of them"]
    if kind == "kci" and table.n_rows > KCI_ROWS:
        notes.append(f"the kernel test saw {KCI_ROWS} of {table.n_rows} rows")
    if kind == "gaussian":
        notes.append("partial correlations see straight lines only; the test kci sees curves")
    return tuple(notes)
