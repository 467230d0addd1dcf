"""Tables from several experiments: the light tunnel, and simulated tables with targets that nobody names.

    DRBO_DATA=... python -m benchmarks interventions --part tunnel
    python -m benchmarks interventions --part simulated_tables

``context`` has a 0/1 column for each experiment that nothing causes, as in joint causal inference (Mooij, Magliacane &
Claassen 2020). Others run where their packages are installed: ``gies`` (Hauser & Buehlmann 2012; it knows the targets
and takes them as hard), ``gnies`` (Gamella, Taeb, Heinze-Deml & Buehlmann 2022; targets unknown, and one set of them
for all experiments together, so that they are not counted) and ``ut-igsp`` (Squires, Wang & Uhler 2020; package
causaldag, targets unknown, Gaussian tests at 0.001). ``f1`` is that of the drawn arrows. ``class_right``: the
interventional class is that of the true graph with its true targets. Nothing was chosen on the light tunnel, nor on
seeds 0 to 9.
"""

import random
import time
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.real_tables import chamber, f1
from benchmarks.studies.study import study
from drbo import DrBO, Knowledge
from drbo.claims.experiments import interventional_class
from drbo.constraints import Constraints

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
#: What each experiment changes.
Changed = list[list[int]]
CONTROL = "observational"
METHODS = ("unknown", "known", "context", "gies", "gnies", "ut-igsp")
PACKAGES = {"gies": "gies", "gnies": "gnies", "ut-igsp": "causaldag"}
LEVEL = 1e-3
KINDS = ("hard", "shift", "coefficients", "nothing")
D, EXPERIMENTS, CONTROL_ROWS, ROWS, FIRST = 20, 10, 500, 100, 30


def simulated(kind: str, seed: int) -> tuple[pd.DataFrame, Bools, Bools]:
    """Return a table of ten experiments, its DAG (ER2), and which columns each experiment changes (E, d)."""
    rng = np.random.default_rng(seed)
    order, dag = rng.permutation(D), np.zeros((D, D), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((D, D)) < 4 / (D - 1), 1)
    weights = dag * rng.uniform(0.5, 1.5, (D, D)) * rng.choice([-1, 1], (D, D))
    deviations, changed, parts = rng.uniform(0.7, 1.3, D), np.zeros((EXPERIMENTS, D), dtype=bool), []
    for number in range(EXPERIMENTS + 1):
        own, shift, spread = weights.copy(), np.zeros(D), deviations.copy()
        if number and kind != "nothing":
            changed[number - 1, rng.choice(D, rng.integers(1, 3), replace=False)] = True
            for node in np.flatnonzero(changed[number - 1]):
                if kind == "shift":
                    shift[node] = rng.choice([-1, 1]) * rng.uniform(1, 2)
                elif kind == "coefficients":
                    own[:, node] = dag[:, node] * rng.uniform(0.5, 1.5, D) * rng.choice([-1, 1], D)
                    spread[node] *= rng.choice([0.5, 2.0])
                else:
                    own[:, node], shift[node], spread[node] = 0.0, rng.choice([-1, 1]) * rng.uniform(0, 2), 1.0
        noise = rng.normal(size=(ROWS if number else CONTROL_ROWS, D)) * spread + shift
        frame = pd.DataFrame(noise @ np.linalg.inv(np.eye(D) - own), columns=[f"x{j}" for j in range(D)])
        parts.append(frame.assign(experiment=f"e{number:02d}" if number else CONTROL))
    return pd.concat(parts, ignore_index=True), dag, changed


def fitted(method: str, frame: pd.DataFrame, known: dict[str, Any], seed: int) -> tuple[Bools, list[tuple[str, str]]]:
    """Return the DAG that a method finds, and the targets, the surest first."""
    names = [name for name in frame if name != "experiment"]
    if method in PACKAGES:
        labels = [CONTROL, *(label for label in frame["experiment"].unique() if label != CONTROL)]
        groups = [frame.loc[frame["experiment"] == label, names].to_numpy() for label in labels]
        found, changed = RIVALS[method](groups, [[names.index(one) for one in known[label]] for label in labels[1:]])
        return found, [(labels[e + 1], names[j]) for e, hit in enumerate(changed) for j in hit]
    if method != "context":
        targets = known if method == "known" else None
        result = DrBO(experiment="experiment", targets=targets, random_state=seed).fit(frame).result_
        return result.dag, list(zip(result.targets["experiment"], result.targets["column"], strict=True))
    labels = [label for label in frame["experiment"].unique() if label != CONTROL]
    wide = frame[names].assign(**{f"in {label}": (frame["experiment"] == label) * 1.0 for label in labels})
    context = Knowledge(context=[f"in {label}" for label in labels])
    result = DrBO(score="bic-nv", knowledge=context, random_state=seed, groups=False).fit(wide).result_
    found = np.argwhere(result.dag[len(names) :, : len(names)]).tolist()
    return result.dag[: len(names), : len(names)], [(labels[e], names[j]) for e, j in found]


def _gies(groups: list[Floats], known: Changed) -> tuple[Bools, Changed]:
    import gies

    return _drawn(gies.fit_bic(groups, [[], *known])[0]), []


def _gnies(groups: list[Floats], _known: Changed) -> tuple[Bools, Changed]:
    import gnies

    return _drawn(gnies.fit(groups, approach="rank", center=False)[1]), []


def _ut_igsp(groups: list[Floats], _known: Changed) -> tuple[Bools, Changed]:
    import conditional_independence as tests
    from causaldag import unknown_target_igsp

    control, *others = groups
    ci = tests.MemoizedCI_Tester(
        tests.partial_correlation_test, tests.partial_correlation_suffstat(control), alpha=LEVEL
    )
    same = tests.MemoizedInvarianceTester(
        tests.gauss_invariance_test, tests.gauss_invariance_suffstat(control, others), alpha=LEVEL
    )
    nodes, settings = set(range(control.shape[1])), [{"known_interventions": []} for _ in others]
    random.seed(0)  # the package draws its starts from the global generators
    np.random.seed(0)  # noqa: NPY002
    dag, changed = unknown_target_igsp(settings, nodes, ci, same)
    return np.asarray(dag.to_amat()[0]) != 0, [sorted(int(node) for node in hit) for hit in changed]


RIVALS = {"gies": _gies, "gnies": _gnies, "ut-igsp": _ut_igsp}


def _drawn(graph: npt.NDArray[Any]) -> Bools:
    """Return a class as one graph: an undirected edge points up."""
    edges = np.asarray(graph) != 0
    return np.asarray(edges & (np.triu(edges) | ~edges.T), dtype=np.bool_)


def available(methods: Names) -> list[str]:
    """Return the methods that can run here."""
    return [name for name in methods if name not in PACKAGES or find_spec(PACKAGES[name]) is not None]


def target_counts(found: list[tuple[str, str]], true: set[tuple[str, str]]) -> Row:
    """Return how many targets were found, how many of these are true, and how many of the first thirty."""
    return {
        "targets": len(found),
        "targets_right": len(true & set(found)),
        "targets_true": len(true),
        "right_of_first_30": len(true & set(found[:FIRST])),
    }


@study("interventions_tunnel", "table method seed", slow=True)
def tunnel(seeds: Seeds = range(5), methods: Annotated[Names, "methods"] = METHODS) -> Iterator[Row]:
    """Yield the light tunnel, all rows and halves of them."""
    frame, dag, listed = chamber()
    known = {label: list(part["target"]) for label, part in listed.groupby("experiment")}
    true = {(label, column) for label, columns in known.items() for column in columns}
    halves = [(f"half {seed}", frame.groupby("experiment").sample(frac=0.5, random_state=seed)) for seed in seeds]
    for method in available(methods):
        for table, rows in [("all", frame), *(halves if method == "unknown" else [])]:
            start = time.process_time()
            found, targets = fitted(method, rows.reset_index(drop=True), known, 0)
            took = round(time.process_time() - start, 1)
            row: Row = {"table": table, "method": method, "seed": 0, "n": len(rows), "seconds": took}
            yield row | {"edges": int(found.sum()), "f1": f1(found, dag), **target_counts(targets, true)}


@study("interventions_simulated", "kind method seed", slow=True)
def simulated_tables(
    seeds: Seeds = range(5),
    methods: Annotated[Names, "methods"] = METHODS,
    kinds: Annotated[Names, "kinds of change"] = KINDS,
) -> Iterator[Row]:
    """Yield simulated tables with hard, shifted and new mechanisms, and with experiments that change nothing."""
    for kind in kinds:
        for seed in seeds:
            frame, dag, changed = simulated(kind, seed)
            names = [name for name in frame if name != "experiment"]
            known = {f"e{e + 1:02d}": [names[j] for j in np.flatnonzero(hit)] for e, hit in enumerate(changed)}
            true = {(label, column) for label, columns in known.items() for column in columns}
            told = interventional_class(dag, Constraints.none(D), changed)
            for method in available(methods):
                start = time.process_time()
                found, targets = fitted(method, frame, known, seed)
                took = round(time.process_time() - start, 1)
                hit = np.array([[(label, name) in targets for name in names] for label in known], dtype=bool)
                hit = changed if method in ("gies", "gnies") else hit
                own = interventional_class(found, Constraints.none(D), hit)
                apart = (found != dag) | (found != dag).T
                row: Row = {"kind": kind, "method": method, "seed": seed, "seconds": took}
                row |= {"shd": int(np.triu(apart).sum()), "class_right": int((own == told).all())}
                yield row | {"f1": f1(found, dag), **target_counts(targets, true)}
