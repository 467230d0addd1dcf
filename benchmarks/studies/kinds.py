"""Kinds of simulated tables, by ``DrBO().fit`` and nothing else: are supported arrows right, and how far is the graph?

    python -m benchmarks kinds
    python -m benchmarks kinds --part hard_pairs
    python -m benchmarks kinds --part experiments
    python -m benchmarks kinds --part scales

``tables``: eighteen kinds of benchmarks/experiments/field_kinds.py. A supported arrow is right if its source is a cause
of its target in the graph that the table was drawn from, directly or through others, hidden ones included; ``direct``
counts those that are edges. SHD-C compares with the graph of the columns that are shown. ``hard_pairs``: two columns of
benchmarks/experiments/hard_pairs.py; without an edge every supported arrow is wrong. ``experiments``: ten experiments
on tables one of whose columns is hidden, one with at least two children that no experiment changes. ``scales``: which
score finds most where no noise model fits on the scales of the columns.

Seeds from 0 on are for reports and those from 100 on for choices; ``scales`` has its own. Other runs go on where they
stopped: a row of this commit is not measured again.
"""

from collections.abc import Iterator
from functools import partial
from typing import Annotated

import numpy as np

from benchmarks import intervention_tables
from benchmarks.experiments.field_kinds import FIELD_KINDS, Drawn, drawn
from benchmarks.experiments.hard_pairs import HARD_PAIRS, NO_EDGE, hard_pair
from benchmarks.experiments.kinds import SCALES, simulated
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.real_tables import counts
from benchmarks.studies.study import Cell, study
from benchmarks.verdicts import Verdict, fitted, supported
from drbo import Design, DrBO, Result
from drbo.choice.auto import RANKED
from drbo.choice.noise_model import model_checks
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.metrics import compare

Sizes = Annotated[Numbers, "rows of the tables"]
Kinds = Annotated[Names, "kinds of tables"]
SAMPLE = 1_000
#: Kinds of change in the experiments.
CHANGES = ("hard", "shift", "coefficients")


@study("kinds", "kind n seed", kinds=("gamma",), rows=(300,), seeds=range(100, 101))
def tables(kinds: Kinds = tuple(FIELD_KINDS), rows: Sizes = (300, 1_000), seeds: Seeds = range(4)) -> Iterator[Cell]:
    """Yield fits of all kinds of tables."""
    for seed in seeds:
        for kind in kinds:
            for n in rows:
                yield Cell({"kind": kind, "n": n, "seed": seed}, partial(_table, kind, n, seed))


def _table(kind: str, n: int, seed: int) -> Row:
    table = drawn(kind, n, seed)
    row, result = fitted(table.frame, causes_of(table), seed)
    if result is None:
        return row
    names = list(table.frame)
    arrows = [(names.index(one.source), names.index(one.target)) for one in supported(row)]
    row |= {"direct": sum(bool(table.shown[ends]) for ends in arrows), "true_edges": int(table.shown.sum())}
    return row | {"shd_c": shd_c(result, table)}


def causes_of(table: Drawn) -> Verdict:
    """Return what tells whether the source of an arrow is a cause of its target."""
    names, causes = list(table.frame), table.causes
    return lambda source, target: "right" if causes[names.index(source), names.index(target)] else "wrong"


def shd_c(result: Result, table: Drawn) -> int:
    """Return the SHD between the CPDAGs, over the columns that the fit kept."""
    kept = [list(table.frame).index(name) for name in result.names]
    found = result.cpdag if result.score_equivalent else dag_to_cpdag(result.dag)
    return compare(found, table.shown[np.ix_(kept, kept)]).shd_c


@study("hard_pairs", "kind n seed", kinds=("beta regression",), rows=(300,), seeds=range(100, 101))
def hard_pairs(
    kinds: Kinds = tuple(HARD_PAIRS), rows: Sizes = (300, 1_000), seeds: Seeds = range(25)
) -> Iterator[Cell]:
    """Yield fits of hard pairs."""
    for kind in kinds:
        for n in rows:
            for seed in seeds:
                yield Cell({"kind": kind, "n": n, "seed": seed}, partial(_pair, kind, n, seed))


def _pair(kind: str, n: int, seed: int) -> Row:
    right = "" if kind in NO_EDGE else "x"
    return fitted(hard_pair(kind, n, seed), lambda source, _: "right" if source == right else "wrong", seed)[0]


@study("hidden_experiments", "kind seed", kinds=("shift",), seeds=range(100, 101))
def experiments(kinds: Annotated[Names, "kinds of change"] = CHANGES, seeds: Seeds = range(4)) -> Iterator[Cell]:
    """Yield fits of tables from experiments with one hidden cause."""
    for seed in seeds:
        for kind in kinds:
            yield Cell({"kind": kind, "seed": seed}, partial(_experiment, kind, seed))


def _experiment(kind: str, seed: int) -> Row:
    table = hidden_cause(kind, seed)
    return fitted(table.frame, causes_of(table), seed, design=Design(experiment="experiment"))[0]


def hidden_cause(kind: str, seed: int) -> Drawn:
    """Return a table of experiments without one cause of at least two columns that no experiment changes."""
    frame, dag, changed = intervention_tables.simulated(kind, seed)
    children = np.where(changed.any(axis=0), 0, dag.sum(axis=1))
    hidden = int(np.argmax(children))
    if children[hidden] < 2:
        return hidden_cause(kind, seed + 1_000)
    order = np.append(np.delete(np.arange(len(dag)), hidden), hidden)
    names = [frame.columns[j] for j in order[:-1]]
    return Drawn(frame[[*names, "experiment"]], dag[np.ix_(order, order)], 1)


@study("real_scales", "kind n seed score", seeds=range(220, 221), kinds=("lognormal",), scores=("bic-nv",))
def scales(
    seeds: Seeds = range(220, 226),
    kinds: Annotated[Names, "kinds of tables"] = ("heteroscedastic", "multiplicative", "post-nonlinear", *SCALES),
    scores: Annotated[Names, "scores"] = ("bic-nv", "splines", "splines-ranks"),
) -> Iterator[Row]:
    """Yield a row for every score on simulated tables that no noise model fits on the scales of their columns."""
    for kind in kinds:
        for seed in seeds:
            values, truth = simulated(kind, SAMPLE, seed)
            *others, ranks = model_checks(Statistics.from_array(values))
            if any(check.fits for check in others if check.score not in RANKED):
                continue
            for score in scores:
                result = DrBO(score=score, random_state=seed).fit(values).result_
                row = {"kind": kind, "n": SAMPLE, "seed": seed, "score": score, "ranks_fit": ranks.fits}
                yield {**row, **counts(result, truth)}
