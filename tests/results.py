"""Results for tests, from the values that matter to a test: each goes into the record that holds it."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from drbo.claims.record import CheckedEdge, Claims, ConfirmedEdge, Margins, NoiseCheck, Proof, RankedClass
from drbo.claims.refits.confidence import Confidence
from drbo.data.checks.facts import Audit, ColumnFacts, Finding
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import MarkedGraph
from drbo.knowledge import Knowledge
from drbo.result.records import Provenance, Scoring, SearchRecord, TableRecord, Trace
from drbo.result.result import Result
from drbo.result.words.answer import told_by
from drbo.scores.registry import SCORES, score_class

PARTS = ("margins", "classes", "over", "posterior", "prior", "noise", "halves", "made", "experiments")
#: Records of a result, and what their fields are called here.
RECORDS: dict[str, tuple[type, dict[str, str]]] = {
    "scoring": (
        Scoring,
        {"score_name": "name", "score_equivalent": "equivalent", "score_options": "options"}
        | {name: name for name in ("assumption", "nonlinear", "evidence_scale", "words")},
    ),
    "search": (
        SearchRecord,
        {"searched_dag": "dag"}
        | {name: name for name in ("score", "local", "price", "found_by", "stop", "afterwards", "stopped")}
        | {name: name for name in ("n_evals", "n_local", "seconds")},
    ),
    "claims": (Claims, {name: name for name in PARTS}),
    "table": (TableRecord, {name: name for name in ("n_rows", "sha256", "audit")}),
    "provenance": (Provenance, {name: name for name in ("settings", "seed", "versions")}),
}


def shares(graphs: Any, names: Any, **given: Any) -> Confidence:
    """Return the shares of edges in DAGs or classes, given as matrices."""
    return Confidence.of([MarkedGraph.of(graph, names) for graph in graphs], **given)


def make_result(dag: Any, *, trace: dict[str, Any] | None = None, **given: Any) -> Result:
    """Return a result; what is not given has a plain value."""
    values: dict[str, Any] = {
        **{"names": tuple(f"x{k}" for k in range(len(dag))), "searched_dag": dag, "score": 0.0, "pruned_score": 0.0},
        **{"score_name": "bic-nv", "score_equivalent": True},
    } | given
    values.setdefault("words", score_class(values["score_name"]).words if values["score_name"] in SCORES else ())
    for name, (kind, parts) in RECORDS.items():
        inner = {new: values.pop(old) for old, new in parts.items() if old in values}
        if name == "search" and trace is not None:
            inner["trace"] = Trace(**trace)
        values[name] = kind(**inner)
    return Result(dag=dag, **values)


def saved(result: Result) -> Result:
    """Return a result as it comes back from its files."""
    return replace(result, told=told_by(result))


def assert_same(one: Any, two: Any, where: str = "result") -> None:
    """Compare two records field by field, arrays bit by bit."""
    assert type(one) is type(two), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.tobytes()) == (two.dtype, two.tobytes()), where
    elif is_dataclass(one):
        for part in fields(one):
            assert_same(getattr(one, part.name), getattr(two, part.name), f"{where}.{part.name}")
    else:
        assert one == two, where


FULL_NAMES = ("a", "b,c", "naïve\n$x$", '"q"')
# a -> b,c -> naïve <- "q": a v-structure at node 2, and a - b,c free.
FULL_DAG = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
FULL_SEARCHED = FULL_DAG | (np.arange(16).reshape(4, 4) == 2)


def full_result(**changes: Any) -> Result:
    """Return a result with most of what a result can hold, under names that are hard to write."""
    rng = np.random.default_rng(0)
    values = {
        "names": FULL_NAMES,
        "searched_dag": FULL_SEARCHED,
        "score": -1234.1 / 3,
        "pruned_score": -1234.2 / 3,
        "score_name": "bic-nv",
        "score_equivalent": True,
        "score_options": {"penalty": 1.0, "prior": [0.1, None]},
        "local": rng.normal(size=4),
        "price": -rng.random(4),
        "weights": np.where(FULL_DAG, rng.normal(size=(4, 4)), 0.0),
        "standardised_weights": np.where(FULL_DAG, rng.normal(size=(4, 4)), 0.0),
        "trace": {
            "n_evals": [0, 64, 128],
            "n_local": [0, 100, 150],
            "seconds": [0.0, 0.1, 0.3],
            "best": [-np.inf, -500.0, -1234.1 / 3],
        },
        "settings": {"batch": 64, "nested": {"k": 8, "name": "x"}},
        "seed": 2**70,
        "versions": {"drbo": "0.1.0"},
        "sha256": "ab" * 32,
        "n_rows": 853,
        "knowledge": Knowledge(max_parents=3),
        "audit": Audit(
            (ColumnFacts(name="a", kind="numeric", distinct=9, counts=(4, 5), mean=0.1, sd=1.0, min=-2.0, max=3.0),),
            (Finding("rows", "few rows", serious=True),),
        ),
        "margins": Margins(rng.random((4, 4)), np.full((4, 4), np.nan), exact=False),
        "classes": (
            RankedClass(score=-411.4, behind=0.0, edges=(("a", "b,c"), ('"q"', "a"))),
            RankedClass(score=-413.9, behind=2.5, edges=()),
        ),
        "over": "all DAGs",
        "posterior": rng.random((4, 4)),
        "prior": "every DAG alike",
        "noise": (
            CheckedEdge(cause="a", effect="b,c", untested="no rows"),
            CheckedEdge(
                cause="b,c",
                effect=FULL_NAMES[2],
                check=NoiseCheck("forward", "additive", 0.4, 1e-9, 0.6, 0.01, 0.5, 0.96),
            ),
        ),
        "halves": (ConfirmedEdge(cause='"q"', effect=FULL_NAMES[2], confirmed=6, tried=8),),
        "evidence_scale": 2.0,
        "proof": Proof(upper_bound=-400.5, tolerance=1e-9, valid_for="all DAGs on 4 columns"),
        "confidence": shares([dag_to_cpdag(FULL_DAG), FULL_SEARCHED], FULL_NAMES, seed=3, asked=4),
        "line": "DrBO().fit(table)",
        "argv": ("drbo", "fit", "table.csv"),
        "reasons": ("numeric columns: bic-nv", "column 'a' is skewed"),
        "found_by": "trust region",
        "pruner": "f-test",
        "stopped": "budget of 2000 evaluations spent",
        "n_evals": 2000,
        "n_local": 5123,
        "seconds": 12.3,
    }
    dag = changes.pop("dag", FULL_DAG)
    return make_result(dag, **(values | changes))
