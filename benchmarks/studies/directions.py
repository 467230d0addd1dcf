"""Directions of edges: how many are supported, on which ground, and how many of them are right.

    python -m benchmarks directions --seeds 200-209
    python -m benchmarks directions --part pairs --seeds 200-207

``graphs``: ten kinds of simulated tables (benchmarks/experiments/kinds.py) with 10 to 12 columns, 300 and 1,000 rows;
the directions of the true graph and of learned graphs are claimed. ``pairs``: tables of two columns, of five kinds,
with 300, 1,000 and 3,000 rows. Levels were chosen on the seeds 100 to 159 and the odd Tuebingen pairs, whose fits
``real_tables`` counts.
"""

import time
from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from benchmarks.experiments.kinds import KINDS, simulated
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.claims.checks.noise_check import noise_checks
from drbo.claims.directions import EdgeDirection, edge_directions
from drbo.constraints import Constraints
from drbo.data.statistics.statistics import Statistics
from drbo.independence.residual_tests import TableTests
from drbo.knowledge import Knowledge

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Sizes = Annotated[Numbers, "rows of the tables"]

ROWS = (300, 1_000)
CAPS = (300, 1_000, 3_000)
PAIR_KINDS = ("heteroscedastic", "multiplicative", "post-nonlinear", "additive", "linear")
#: Lower ends of the bins of shown probabilities.
BINS = (0.7, 0.8, 0.9)


@study("directions", "kind n seed graph", seeds=range(1), rows=(300,), kinds=("additive",), scores=("bic-nv",))
def graphs(
    seeds: Seeds = range(200, 210),
    rows: Sizes = ROWS,
    kinds: Annotated[Names, "kinds of tables"] = KINDS,
    scores: Annotated[Names, "scores of the learned graphs"] = ("splines", "bic-nv"),
) -> Iterator[Row]:
    """Claim the directions of true and learned graphs of simulated tables."""
    for seed in seeds:
        for n in rows:
            for kind in kinds:
                values, truth = simulated(kind, n, seed)
                yield {"kind": kind, "n": n, "seed": seed, "graph": "true", **_true(values, truth, seed)}
                for score in scores:
                    row = _learned(values, truth, score, seed)
                    yield {"kind": kind, "n": n, "seed": seed, "graph": score, **row}


def _true(values: Floats, truth: Bools, seed: int) -> Row:
    start = time.process_time()
    found = checked(Statistics.from_array(values), truth, seed)
    return {**counts(found, truth, truth), "check_seconds": round(time.process_time() - start, 2)}


def _learned(values: Floats, truth: Bools, score: str, seed: int) -> Row:
    """Learn a graph with its directions, and time the noise checks once more."""
    start = time.process_time()
    result = DrBO(score=score, random_state=seed).fit(values).result_
    middle = time.process_time()
    noise_checks(TableTests(Statistics.from_array(values), seed), result.dag, result.scoring.regression)
    end = time.process_time()
    times = {"fit_seconds": round(2 * middle - start - end, 2), "check_seconds": round(end - middle, 2)}
    return {**counts(result.directions, result.dag, truth), **times}


def checked(table: Statistics, dag: Bools, seed: int) -> tuple[EdgeDirection, ...]:
    """Return the directions of a graph as the noise check alone gives them."""
    checks = noise_checks(TableTests(table, seed), dag)
    nothing = Constraints.of(Knowledge(), table.names)
    return edge_directions(dag, nothing, score_equivalent=False, checks=checks)


def counts(found: tuple[EdgeDirection, ...], dag: Bools, truth: Bools) -> Row:
    """Return how the claims about a graph's edges compare with the true graph."""
    right, reverse = truth[dag], truth.T[dag]
    row: Row = {"edges": len(found), "right": int(right.sum()), "true_edges": int(truth.sum())}
    for ground in ("noise-check", "class"):
        here = np.array([one.ground == ground for one in found], dtype=bool)
        row |= {f"{ground} right": int((here & right).sum()), f"{ground} wrong": int((here & ~right).sum())}
    for name in ("assumed", "open"):
        here = np.array([one.direction == name for one in found], dtype=bool)
        row |= {name: int(here.sum()), f"{name} right": int((here & right).sum())}
    against = np.array([one.contradicted for one in found], dtype=bool)
    row |= {"contradicted reverse": int((against & reverse).sum()), "contradicted right": int((against & right).sum())}
    row["contradicted none"] = int((against & ~right & ~reverse).sum())
    row["neither"] = sum(one.check is not None and one.check.verdict == "neither" for one in found)
    shown = np.array([np.nan if one.check is None else one.check.probability for one in found], dtype=float)
    likely, true = np.where(shown < 0.5, 1 - shown, shown), np.where(shown < 0.5, reverse, right)
    for low, high in zip(BINS, (*BINS[1:], 1.01), strict=True):
        here = (right | reverse) & (likely >= low) & (likely < high)
        row |= {f"shown {low}": int(here.sum()), f"sum {low}": round(float(likely[here].sum()), 3)}
        row[f"true {low}"] = int(true[here].sum())
    return row


@study("directions_pairs", "kind n seed", seeds=range(1), rows=(300,))
def pairs(seeds: Seeds = range(200, 208), rows: Sizes = CAPS) -> Iterator[Row]:
    """Check pairs of columns, most of them with noise that is not additive."""
    for kind in PAIR_KINDS:
        for seed in seeds:
            for n in rows:
                values, dag = simulated(kind, n, seed, n_nodes=2, n_edges=1)
                yield pair_row(kind, n, values if dag[0, 1] else values[:, ::-1], seed)


def pair_row(kind: str, n: int, values: Floats, seed: int) -> Row:
    """Check the arrow from the first column of a pair, its cause, to the second."""
    table = Statistics.from_array(values, ["cause", "effect"])
    start = time.process_time()
    found = checked(table, np.array([[False, True], [False, False]]), seed)[0]
    seconds = round(time.process_time() - start, 3)
    row: Row = {"kind": kind, "n": n, "seed": seed, "verdict": "untested", "check_seconds": seconds}
    if found.check is None:
        return row
    row |= {"verdict": found.check.verdict, "noise": found.check.noise}
    for name in ("p_value_forward", "p_value_reverse", "dependence_forward", "dependence_reverse", "probability"):
        value = getattr(found.check, name)
        row[name] = "" if value is None else f"{value:.3g}"
    return row
