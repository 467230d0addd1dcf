"""Knowledge: every graph that is ever scored obeys it, contradictions are refused first, and it saves evaluations.

    python -m benchmarks knowledge --part hold --seeds 0-999
    python -m benchmarks knowledge --part clash --seeds 0-99
    python -m benchmarks knowledge --part tiers --seeds 0-9

``hold``: statements drawn around a random DAG of 4 to 8 nodes, so that they are consistent; a fit on route surrogate
with a few evaluations and one on route orders, in turn. Every graph and every single family that the score is asked
about is checked against the statements by their names, by code of its own. ``clash``: the same with a contradiction of
a random kind added; the fit must raise a KnowledgeError that holds the statements, and the score must not have been
asked for anything. ``tiers``: 10ER2 data, score bic-ev on route surrogate, with nothing known and with the true order
cut into three tiers; evaluations and local scores until the optimum, which is proved by dynamic programming.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Annotated, Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.parameters import Numbers, SampleSize, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO, Knowledge, Settings
from drbo.data.files.simulate import simulate
from drbo.errors import KnowledgeError
from drbo.graph.dag import topological_order
from drbo.search.evaluation.evaluator import Evaluator

QUICK = Settings(order_patience=3, climbs=4)
KEY = "part case seed"
KINDS = ("forbidden", "cycle", "tiers", "root", "leaf", "crowd", "twice", "path", "unknown")
#: Scores closer than this share of themselves are equal.
ROUNDING = 1e-9
#: Tiers that the true order is cut into.
N_TIERS = 3
Cases = Annotated[Numbers, "sets of statements"]
Bools = npt.NDArray[np.bool_]


def random_statements(rng: np.random.Generator, names: list[str]) -> dict[str, Any]:
    """Return statements that some DAG obeys: they are drawn around one."""
    d = len(names)
    order = rng.permutation(d)
    dag = np.triu(rng.random((d, d)) < 0.4, 1)[np.ix_(order, order)]
    line = [names[i] for i in topological_order(dag)]
    cut = sorted(rng.choice(np.arange(1, d), size=int(rng.integers(1, 3)), replace=False).tolist())
    tiers = [line[a:b] for a, b in zip([0, *cut], [*cut, d], strict=True)]
    pairs = [(i, j) for i in range(d) for j in range(d) if i != j]
    parts: dict[str, Any] = {
        "required": [[names[i], names[j]] for i, j in pairs if dag[i, j] and rng.random() < 0.4],
        "forbidden": [[names[i], names[j]] for i, j in pairs if not dag[i, j] and rng.random() < 0.2],
        "tiers": [[name for name in tier if rng.random() < 0.8] for tier in tiers] if rng.random() < 0.6 else [],
        "roots": [names[i] for i in range(d) if not dag[:, i].any() and rng.random() < 0.5],
        "leaves": [names[i] for i in range(d) if not dag[i].any() and rng.random() < 0.5],
    }
    parts["tiers"] = [tier for tier in parts["tiers"] if tier]
    most = dag.sum(axis=0)
    limits: list[Any] = [None, int(most.max()), {names[i]: int(most[i] + rng.integers(2)) for i in range(0, d, 2)}]
    if (limit := limits[rng.integers(3)]) is not None:
        parts["max_parents"] = limit
    return parts


def broken(parents: dict[str, set[str]], parts: dict[str, Any], *, whole: bool) -> bool:
    """Tell whether families break a statement on their own; ``whole``: all nodes are there, so required edges too."""
    tier = {name: k for k, group in enumerate(parts["tiers"]) for name in group}
    forbidden = {tuple(edge) for edge in parts["forbidden"]}
    limit = parts.get("max_parents")
    for node, causes in parents.items():
        most = limit.get(node) if isinstance(limit, dict) else limit
        if (node in parts["roots"] and causes) or (most is not None and len(causes) > most):
            return True
        for cause in causes:
            backwards = cause in tier and node in tier and tier[cause] > tier[node]
            if (cause, node) in forbidden or cause in parts["leaves"] or backwards:
                return True
    return whole and any(a not in parents[b] for a, b in parts["required"])


def contradiction(rng: np.random.Generator, parts: dict[str, Any], names: list[str]) -> tuple[dict[str, Any], str]:
    """Return the statements with a contradiction among them, and words that its message must hold."""
    a, b, c = rng.permutation(names)[:3].tolist()
    kind, more = rng.choice(KINDS), {key: list(value) for key, value in parts.items() if isinstance(value, list)}
    more = {"required": [], "forbidden": [], "roots": [], "leaves": [], "tiers": [], **more}
    edge = f"'{a} -> {b}' is required but "
    if kind in ("tiers", "twice", "path"):
        more["tiers"] = []
    if kind == "cycle":
        return {**more, "required": [[a, b], [b, c], [c, a]]}, "the required edges form a cycle"
    if kind == "path":
        ways = {"required": [[a, c], [c, b]], "tiers": [[b], [a]], "forbidden": [], "roots": [], "leaves": []}
        return ways, f"'{a} -> {c} -> {b}' is required but"
    if kind == "unknown":
        return {**more, "roots": [*more["roots"], "nobody"]}, "'nobody' (in roots) is not a column"
    if kind == "twice":
        return {**more, "tiers": [[a, b], [c, a]]}, f"'{a}' is in tiers 1 and 2"
    more["required"] = [*more["required"], [a, b]]
    if kind == "forbidden":
        return {**more, "forbidden": [*more["forbidden"], [a, b]]}, edge + "forbidden"
    if kind == "tiers":
        return {**more, "tiers": [[b], [a, c]]}, edge + f"'{a}' is in tier 2 and '{b}' in tier 1"
    if kind == "root":
        return {**more, "roots": [*more["roots"], b]}, edge + f"'{b}' is a root"
    if kind == "leaf":
        return {**more, "leaves": [*more["leaves"], a]}, edge + f"'{a}' is a leaf"
    return {**more, "max_parents": {b: 0}}, f"required but max_parents of '{b}' is 0"


class Watch:
    """Looks at everything that an evaluator is asked for."""

    def __init__(self) -> None:
        self.dags: list[Bools] = []
        self.families: list[tuple[int, Bools]] = []
        self.names: tuple[str, ...] = ()

    def __enter__(self) -> "Watch":
        evaluate, families = Evaluator.evaluate, Evaluator.families

        def watched(this: Evaluator, dags: Bools) -> Any:
            self.names = this.score.names
            self.dags += list(dags)
            return evaluate(this, dags)

        def watched_families(this: Evaluator, asked: Any) -> Any:
            self.names = this.score.names
            self.families += list(zip(asked.nodes.tolist(), asked.parents, strict=True))
            return families(this, asked)

        self._patches = ExitStack()
        self._patches.enter_context(mock.patch.object(Evaluator, "evaluate", watched))
        self._patches.enter_context(mock.patch.object(Evaluator, "families", watched_families))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def count_broken(self, parts: dict[str, Any]) -> tuple[int, int]:
        """Return how many graphs and how many single families broke a statement."""

        def named(row: Bools) -> set[str]:
            return {self.names[i] for i in np.flatnonzero(row)}

        dags = sum(
            broken({name: named(dag[:, k]) for k, name in enumerate(self.names)}, parts, whole=True)
            for dag in self.dags
        )
        single = sum(broken({self.names[node]: named(row)}, parts, whole=False) for node, row in self.families)
        return dags, single


def data_of(rng: np.random.Generator) -> tuple[Any, list[str]]:
    """Return a small table and its names."""
    d = int(rng.integers(4, 9))
    names = [f"v{k}" for k in range(d)]
    return pd.DataFrame(simulate(f"{d}ER1", "linear", n=60, seed=int(rng.integers(2**31))).X, columns=names), names


@study("knowledge", KEY, seeds=range(2))
def hold(seeds: Cases = range(1000)) -> Iterator[Row]:
    """Fit under consistent statements, and check everything that was scored."""
    for case in seeds:
        rng = np.random.default_rng([1, case])
        frame, names = data_of(rng)
        parts = random_statements(rng, names)
        by_surrogate = case % 2 == 0
        score = str(rng.choice(["bic-ev", "bic-nv"]))
        budget = {"max_evals": 24} if by_surrogate else {}
        with Watch() as watch:
            given = {"knowledge": Knowledge.from_mapping(parts), "settings": QUICK, "random_state": case}
            DrBO(score=score, **given, **budget).fit(frame)
        dags, families = watch.count_broken(parts)
        yield {
            **{"part": "hold", "case": case, "seed": 0, "route": "surrogate" if by_surrogate else "orders"},
            **{"graphs": len(watch.dags), "families": len(watch.families)},
            **{"broken_graphs": dags, "broken_families": families},
        }


@study("knowledge", KEY, seeds=range(3))
def clash(seeds: Cases = range(100)) -> Iterator[Row]:
    """Fit under contradictory statements: each must be refused by name before anything is scored."""
    for case in seeds:
        rng = np.random.default_rng([2, case])
        frame, names = data_of(rng)
        parts, words = contradiction(rng, random_statements(rng, names), names)
        message = ""
        with Watch() as watch:
            try:
                knowledge = Knowledge.from_mapping(parts)
                DrBO(score="bic-ev", knowledge=knowledge, settings=QUICK, random_state=case).fit(frame)
            except KnowledgeError as error:
                message = error.message
        row = {"refused": bool(message), "named": words in message}
        yield {"part": "clash", "case": case, "seed": 0, **row, "scored_before": len(watch.dags) + len(watch.families)}


@study("knowledge", KEY, seeds=range(1), evals=64, rows=100)
def tiers(
    seeds: Seeds = range(10),
    evals: Annotated[int, "evaluations of a search at most"] = 2_000,
    rows: SampleSize = 1_000,
) -> Iterator[Row]:
    """Count what it takes to reach the optimum with and without the true tiers."""
    for seed in seeds:
        data = simulate("10ER2", "linear", n=rows, seed=seed)
        names = [f"x{k}" for k in range(10)]
        line = [names[i] for i in topological_order(data.dag)]
        known = [line[part[0] : part[-1] + 1] for part in np.array_split(np.arange(10), N_TIERS)]
        for case, knowledge in (("nothing", Knowledge()), ("tiers", Knowledge(tiers=known))):
            common = {"score": "bic-ev", "knowledge": knowledge, "random_state": seed, "prune": "none"}
            top = DrBO(**common, exact=True).fit(data.X).result_.proof.upper_bound
            assert top is not None
            enough, start = top - ROUNDING * abs(top), time.perf_counter()
            settings = Settings(route="surrogate", target_score=enough, exact="off")
            result = DrBO(**common, max_evals=evals, settings=settings).fit(data.X).result_
            yield {
                **{"part": "tiers", "case": case, "seed": seed},
                **{"optimum": top, "score": result.score, "reached": result.score >= enough},
                **{"n_evals": result.n_evals, "n_local": result.n_local},
                "seconds": round(time.perf_counter() - start, 2),
            }
