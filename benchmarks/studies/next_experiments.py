"""How many experiments does it take to direct a graph, if each is chosen for what it is expected to tell?

    python -m benchmarks next_experiments --part classes
    DRBO_DATA=... python -m benchmarks next_experiments --part replay

``classes``: equivalence classes of random DAGs with 10 to 15 nodes. The outcome of an experiment is perfect: it shows
the direction of every edge at its node. Counted are experiments until every edge is settled, on average over ten graphs
of the class, chosen at random among nodes with open edges; by most open edges; by the sum of the entropies of single
edges; and by expected information. ``optimum`` is the least expected number of all adaptive strategies, for classes of
at most 60 graphs. Trees and chordal graphs are classes without colliders: all of their edges are open.

``replay``: the light tunnel. The first fit has the control alone; then one experiment is added at a time, the first of
the ranking that was made, or the next one of a random order. ``oracle``: the experiment that gives the best F1, which
only the truth can tell, is added to the control, one at a time, by quick searches.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.real_tables import chamber, f1
from benchmarks.studies.study import study
from drbo import Design, DrBO, Result
from drbo.claims.orientations import Ways, entropy, ways_left
from drbo.data.checks.experiments import Experiments
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.scores.experiments import ExperimentBIC
from drbo.search.orders.search import OrderSearch
from drbo.settings import Settings

Bools = npt.NDArray[np.bool_]
#: Returns the worth of an experiment on a node, where so many edges are open at it.
Policy = Callable[[Ways, int, int, np.random.Generator], float]
CONTROL = "observational"
DRAWS, MOST_FOR_OPTIMUM = 10, 60
#: Experiments that are replayed, and rounds of shaken orders without a better score that end a quick search.
MOST_REPLAYED, QUICK = 8, 3


def random_dag(kind: str, d: int, rng: np.random.Generator) -> Bools:
    """Return a random DAG: ER1 or ER2 (edges per node), a tree, or a chordal graph with cliques of up to three."""
    dag = np.zeros((d, d), dtype=bool)
    if kind.startswith("ER"):
        dag = np.triu(rng.random((d, d)) < 2 * int(kind[2:]) / (d - 1), 1)
    else:
        for node in range(1, d):
            parent = int(rng.integers(node))
            above = np.flatnonzero(dag[:, parent])
            dag[parent, node] = True
            if kind == "chordal" and len(above) and rng.integers(2):
                dag[rng.choice(above), node] = True
    order = rng.permutation(d)
    return dag[np.ix_(order, order)]


def _edge_entropies(ways: Ways, node: int, _open: int, _rng: np.random.Generator) -> float:
    ahead = ways.probability @ ways.forward[:, ways.at(node)]
    return sum(entropy(np.array([share, 1 - share])) for share in ahead)


POLICIES: dict[str, Policy] = {
    "random": lambda _ways, _node, _open, rng: float(rng.random()),
    "degree": lambda _ways, _node, open_, rng: open_ + float(rng.random()) / 2,
    "edge_entropy": _edge_entropies,
    "information": lambda ways, node, _open, _rng: ways.entropy(ways.at(node)),
}


def count(ways: Ways, truth: Bools, policy: Policy, rng: np.random.Generator) -> int:
    """Return the experiments on one part of a class until all of its edges are settled."""
    made = 0
    while len(ways.forward) > 1:
        open_ = ways.edges[ways.forward.any(axis=0) & ~ways.forward.all(axis=0)]
        nodes, degrees = np.unique(open_, return_counts=True)
        worth = [policy(ways, node, int(n), rng) for node, n in zip(nodes.tolist(), degrees, strict=True)]
        seen = ways.at(int(nodes[int(np.argmax(np.round(worth, 9)))]))
        ways = ways.told(seen, truth[seen])
        made += 1
    return made


def optimum(ways: Ways) -> float:
    """Return the least expected number of experiments, by looking ahead to the end."""

    @cache
    def least(left: tuple[int, ...]) -> float:
        if len(left) == 1:
            return 0.0
        forward, best = ways.forward[list(left)], np.inf
        for node in np.unique(ways.edges[forward.any(axis=0) & ~forward.all(axis=0)]).tolist():
            groups: dict[bytes, list[int]] = {}
            for row, shown in zip(left, forward[:, ways.at(node)], strict=True):
                groups.setdefault(shown.tobytes(), []).append(row)
            best = min(best, 1 + sum(len(group) / len(left) * least(tuple(group)) for group in groups.values()))
        return float(best)

    return least(tuple(range(len(ways.forward))))


@study("next_classes", "kind seed", seeds=range(2))
def classes(
    seeds: Seeds = range(50), kinds: Annotated[Names, "kinds of graphs"] = ("tree", "chordal", "ER1", "ER2")
) -> Iterator[Row]:
    """Yield the experiments that each choice needs for one class."""
    for kind in kinds:
        for seed in seeds:
            rng = np.random.default_rng([seed, *kind.encode()])
            parts: tuple[Ways, ...] = ()
            while not parts or not all(part.listed for part in parts):  # a class with something to settle
                d = int(rng.integers(10, 16))
                dag = random_dag(kind, d, rng)
                parts = ways_left(dag_to_cpdag(dag), dag)
            truths = [[part.forward[rng.integers(len(part.forward))] for part in parts] for _ in range(DRAWS)]
            row: Row = {"kind": kind, "seed": seed, "d": d, "open": sum(len(part.edges) for part in parts)}
            row["graphs"] = int(np.prod([len(part.forward) for part in parts]))
            for name, policy in POLICIES.items():
                made = [
                    count(part, truth, policy, rng) for draw in truths for part, truth in zip(parts, draw, strict=True)
                ]
                row[name] = sum(made) / DRAWS
            small = max(len(part.forward) for part in parts) <= MOST_FOR_OPTIMUM
            row["optimum"] = round(sum(optimum(part) for part in parts), 4) if small else ""
            yield row


@study("next_replay", "order step", slow=True)
def replay(
    orders: Annotated[Names, "orders: information, or random followed by a seed"] = ("information",),
    steps: Annotated[int, "experiments"] = MOST_REPLAYED,
) -> Iterator[Row]:
    """Yield the fit of the light tunnel after each of its experiments, in the order chosen."""
    frame, dag, listed = chamber()
    label_of = dict(zip(listed["target"], listed["experiment"], strict=True))
    everything = _fitted(frame, list(label_of.values()))
    for order in orders:
        shuffled = np.random.default_rng(int(order.split()[-1])) if order.startswith("random") else None
        made: list[str] = []
        for step in range(steps + 1):
            start = time.process_time()
            result = _fitted(frame, made)
            took = round(time.process_time() - start, 1)
            counts = [sum(one.direction == kind for one in result.directions) for kind in ("supported", "assumed")]
            row: Row = {"order": order, "step": step, "experiment": made[-1] if made else "", "seconds": took}
            row |= {"f1": f1(result.dag, dag), "f1_all": f1(everything.dag, dag), "edges": int(result.dag.sum())}
            yield row | {"supported": counts[0], "assumed": counts[1]}
            left = sorted(label for label in label_of.values() if label not in made)
            if shuffled is not None:
                made.append(str(shuffled.choice(left)))
                continue
            ranked = [label_of.get(one.column) for one in result.next_experiments(rows=1000).experiments]
            useful = [label for label in ranked if label in left]
            if not useful:
                break
            made.append(str(useful[0]))


@study("next_oracle", "experiments", slow=True)
def oracle(steps: Annotated[int, "experiments"] = MOST_REPLAYED) -> Iterator[Row]:
    """Yield the light tunnel with the experiments that give the best F1, which only the truth can tell, one by one."""
    frame, dag, listed = chamber()
    names = [name for name in frame if name != "experiment"]
    every, codes = sorted(listed["experiment"]), frame["experiment"]

    def worth(made: list[str]) -> float:
        labels = (CONTROL, *made)
        rows = codes.isin(labels).to_numpy()
        found = Experiments(codes[rows].map({label: code for code, label in enumerate(labels)}).to_numpy(), labels)
        table = replace(Statistics.from_array(frame.loc[rows, names].to_numpy(np.float64), names), experiments=found)
        search = OrderSearch(ExperimentBIC(table, penalty="ebic"), Settings(order_patience=QUICK), max_searches=1)
        return f1(search.run().best.dags[0], dag)

    made: list[str] = []
    while len(made) < steps:
        found = {one: worth(sorted([*made, one])) for one in every if one not in made}
        made.append(max(found, key=lambda one: (found[one], one)))
        yield {"experiments": len(made), "experiment": made[-1], "f1": found[made[-1]]}


def _fitted(frame: pd.DataFrame, made: list[str]) -> Result:
    """Fit the control and some of the experiments."""
    rows = frame[frame["experiment"].isin([CONTROL, *made])].reset_index(drop=True)
    if not made:
        return DrBO(score="bic-nv", random_state=0).fit(rows.drop(columns="experiment")).result_
    return DrBO(design=Design(experiment="experiment"), random_state=0).fit(rows).result_
