"""A score of one's own that costs: cross-validated boosting or a small network, searched by drbo and by others.

    python -m benchmarks own_score --nodes 8,15,30 --seeds 0-9 --workers 2
    python -m benchmarks own_score --nodes 8,15,30 --score network --device cuda --workers 16

The cost is the number of distinct families whose score was asked for; every search may ask for 80 per node. The best
score so far is recorded at several costs (empty where a search has not scored a whole graph yet; for drbo that of the
best graph of the families that it has asked for, which it returns if it is stopped). The rivals are those of
:mod:`benchmarks.methods.score_searches`, and drbo with the preset of the paper, whose first batch has 64 graphs.
Nothing was tuned on these tables.
"""

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.methods.held_out import HeldOut, Kind
from benchmarks.methods.score_searches import SEARCHES, Counted, Spent
from benchmarks.parameters import Device, Names, Numbers, SampleSize, Seeds, Workers
from benchmarks.rows import Row
from benchmarks.studies.study import in_parallel, study
from drbo import DrBO
from drbo.data.files.simulate import simulate
from drbo.data.statistics.statistics import Statistics
from drbo.scores.base import Score
from drbo.scores.families import Families
from drbo.search.evaluation.evaluator import Evaluator
from drbo.search.recombine import Recombiner
from drbo.settings import Preset, Settings

Floats = npt.NDArray[np.float64]

#: Costs per node at which the best score so far is recorded.
COSTS = (5, 10, 15, 20, 30, 40, 60, 80)
#: drbo by its presets, in the words of the table.
OURS: dict[str, Preset] = {"drbo": "default", "drbo paper": "paper"}
#: On a GPU, families with so many parents are trained together before a table is searched: all, or of many columns few.
ALL_NODES, MOST_PARENTS = 15, 4


class Known(Score):
    """Families that a search has asked for, in their order."""

    def __init__(self, values: Floats) -> None:
        super().__init__(Statistics.from_array(values))
        self.asked: dict[tuple[int, ...], float] = {}

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family that was asked for."""
        return self.asked[node, *sorted(parents)]

    def best(self, cost: int) -> float:
        """Return the best score that can be made of the first families: drbo ends with it if it is stopped there."""
        first, d = list(self.asked)[:cost], self.n_nodes
        if not {(node,) for node in range(d)} <= set(first):
            return -np.inf
        evaluator = Evaluator(self, Settings(max_evals=10**6))
        evaluator.families(Families.from_sets(d, [(node, tuple(parents)) for node, *parents in first]))
        empty = evaluator.evaluate_one(np.zeros((d, d), dtype=bool))
        return float(Recombiner(evaluator).best(empty, np.random.default_rng(0)).scores[0])


def ours(score: Counted, values: Floats, preset: Preset, seed: int) -> None:
    """Search with drbo."""
    known = Known(values)

    def local(node: int, parents: tuple[int, ...]) -> float:
        return known.asked.setdefault((node, *sorted(parents)), score.local(node, parents))

    settings = Settings.preset(preset).with_(max_local=score.budget, max_evals=score.budget)
    trace = DrBO(score=local, settings=settings, prune="none", random_state=seed).fit(values).result_.trace
    score.rises += list(zip(trace["n_local"].tolist(), trace["best"].tolist(), strict=True))
    if settings.parts.recombine:
        score.rises += [(cost * score.d, known.best(cost * score.d)) for cost in COSTS]


def table(d: int, rows: int, seed: int) -> Floats:
    """Return the values of a table."""
    return simulate(f"{d}ER2", "gp", n=rows, seed=seed).X


def score_of(kind: Kind, d: int, rows: int, seed: int, device: Device) -> HeldOut:
    """Return the score of a table."""
    return HeldOut(table(d, rows, seed), kind, f"{d}ER2-{rows}-{seed}", device)


def one_search(kind: Kind, d: int, rows: int, seed: int, search: str, device: Device) -> Row:
    """Search one table; return the best score at every cost."""
    score = Counted(score_of(kind, d, rows, seed, device), d, max(COSTS) * d)
    try:
        if search in OURS:
            ours(score, table(d, rows, seed), OURS[search], seed)
        else:
            SEARCHES[search](score, np.random.default_rng([seed, 1]))  # the plain seed draws the true graph
    except Spent:
        pass
    best = {cost: score.best_at(cost * d) for cost in COSTS}
    found = {f"best_{cost}": round(value, 4) if np.isfinite(value) else "" for cost, value in best.items()}
    return {"score": kind, "graph": f"{d}ER2", "n": rows, "seed": seed, "search": search, **found}


@study("own_score", "score graph n seed search", nodes=(4,), rows=40, seeds=range(1), searches=("drbo", "tabu"))
def run(
    score: Annotated[Kind, "boosting: gradient boosting; network: 16 hidden units"] = "boosting",
    nodes: Annotated[Numbers, "numbers of nodes"] = (8,),
    rows: SampleSize = 200,
    seeds: Seeds = range(10),
    searches: Annotated[Names, "drbo and rivals"] = (*OURS, *SEARCHES),
    workers: Workers = 1,
    device: Device = "cpu",
) -> Iterator[Row]:
    """Yield a row per table and search: its best score after each cost."""
    tables = [(d, rows, seed) for d in nodes for seed in seeds]
    if score == "network" and device == "cuda":
        for d, _, seed in tables:
            score_of(score, d, rows, seed, device).fill(d if d <= ALL_NODES else MOST_PARENTS)
    jobs = [(score, *each, search, device) for each in tables for search in searches]
    yield from in_parallel(one_search, jobs, workers)
