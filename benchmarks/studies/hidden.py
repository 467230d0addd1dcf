"""Hidden causes: the PAG of a fit with hidden=True beside the PAG of the best DAG, GFCI-like tests on it, and FCI.

    python -m benchmarks hidden --seeds 300-309
    python -m benchmarks hidden --columns 50 --seeds 300-302 --methods drbo,DAG,GFCI
    python -m benchmarks hidden --hidden 0 --methods drbo,DAG,GFCI
    python -m benchmarks hidden --part cases
    python -m benchmarks hidden --part networks --file pgmpy-1.0.0-py3-none-any.whl

``graphs``: random linear Gaussian tables, a share of whose nodes with two or more children is left out. ``cases``:
small graphs about which a DAG is wrong with certainty. ``networks``: Gaussian networks of pgmpy with real coefficients,
a tenth of whose columns with two or more children is left out. Marks are compared with the PAG of the truth; ``causes``
counts the arrows with a tail, and the supported ones among them, against the ancestors in the true graph. Fits leave
out the proof that the DAG is the best one, which takes most of the time on 20 columns and changes no graph. FCI is that
of causal-learn with Fisher's z; GFCI are the tests that decide what is supported.
"""

import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.gaussian_networks import TUNED, File, Networks, read_network
from benchmarks.studies.study import study
from drbo import DrBO
from drbo.graph import descendants
from drbo.result.hidden import HiddenResult
from drbo.result.pag_compare import compare_pags
from drbo.search.ancestral.gfci import second_opinion
from drbo.search.ancestral.mag import ARROW, TAIL, Mag, Marks, hide
from drbo.search.ancestral.pag import is_legal, pag_of

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Methods = Annotated[Names, "drbo, DAG, GFCI, FCI 0.01, FCI 0.05"]
METHODS = ("drbo", "DAG", "GFCI", "FCI 0.01", "FCI 0.05")
SIZES = (500, 2_000)
#: Neighbours of a node, on average; weights of an edge; variances of the noise.
NEIGHBOURS, WEIGHTS, VARIANCES = 2.5, (0.4, 1.2), (1.0, 2.0)
#: Edges between columns, where H, K, ... are hidden.
CASES = {
    "two colliders": "a>b H>b H>c d>c",
    "one factor": "H>a H>b H>c H>d",
    "confounded effect": "z>a a>b H>a H>b b>c",
    "two hidden": "a>b H>b H>c K>c K>d e>d",
}


class Truth(NamedTuple):
    """What a table was drawn from."""

    pag: Marks
    causes: Bools  # (d, d) i is an ancestor of j


def truth_of(dag: Bools, hidden: Bools) -> Truth:
    """Return the PAG and the ancestors among the columns that are not hidden."""
    return Truth(pag_of(hide(dag, hidden)), descendants(dag)[np.ix_(~hidden, ~hidden)])


def drawn(seed: int, n: int, columns: int, n_hidden: int) -> tuple[Floats, Truth]:
    """Return a random table without its hidden columns, and the truth about the others."""
    rng, d = np.random.default_rng([seed, columns, n_hidden]), columns + n_hidden
    while True:
        dag = np.triu(rng.random((d, d)) < NEIGHBOURS / (d - 1), 1)
        causes = np.flatnonzero(dag.sum(axis=1) >= 2)
        if len(causes) >= n_hidden:
            break
    hidden = np.isin(np.arange(d), rng.choice(causes, n_hidden, replace=False))
    weights = dag * rng.uniform(*WEIGHTS, (d, d)) * rng.choice([-1, 1], (d, d))
    values = table_of(weights, rng.uniform(*VARIANCES, d), n, seed)
    order = rng.permutation(columns)
    pag, above = truth_of(dag, hidden)
    return values[:, ~hidden][:, order], Truth(pag[np.ix_(order, order)], above[np.ix_(order, order)])


def table_of(weights: Floats, variances: Floats, n: int, seed: int) -> Floats:
    """Return n rows of a linear Gaussian network."""
    noise = np.random.default_rng([seed, n]).normal(size=(n, len(weights))) * np.sqrt(variances)
    return np.asarray(noise @ np.linalg.inv(np.eye(len(weights)) - weights))


def fci(values: Floats, alpha: float) -> Marks:
    """Return the answer of FCI in causal-learn."""
    from causallearn.search.ConstraintBased.FCI import fci as run_fci

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = run_fci(values, "fisherz", alpha, show_progress=False, verbose=False)[0].graph
    coded = np.zeros(graph.shape, dtype=np.int8)  # graph[j, i] is the mark at j: -1 tail, 1 arrow, 2 circle
    for theirs, ours in ((-1, TAIL), (1, ARROW), (2, 1)):
        coded[theirs == graph.T] = ours
    return coded


def compared(found: Marks, truth: Truth, supported: Bools | None = None) -> Row:
    """Return how marks compare with the truth, as counts: right, claimed, true."""
    row: Row = {"whole": int((found == truth.pag).all()), "legal": int(is_legal(found))}
    counts = compare_pags(found, truth.pag)
    for name, one in (
        ("adjacent", counts.adjacencies),
        ("arrows", counts.arrowheads),
        ("tails", counts.tails),
        ("two-headed", counts.two_headed),
    ):
        row |= {f"{name} right": one.right, f"{name} claimed": one.claimed, f"{name} true": one.true}
    causes = (found == ARROW) & (found.T == TAIL)
    row |= {"causes claimed": int(causes.sum()), "causes right": int((causes & truth.causes).sum())}
    if supported is not None:
        sure = causes & supported
        row |= {"supported claimed": int(sure.sum()), "supported right": int((sure & truth.causes).sum())}
    return row


def answers(values: Floats, truth: Truth, methods: Names, seed: int) -> Iterator[Row]:
    """Yield the row of every method on one table; seconds of CPU include the fit that a method builds on."""
    start = time.process_time()
    plain = DrBO(score="bic-nv", exact=False, random_state=seed).fit(values).result_
    fit = time.process_time() - start
    correlation = np.corrcoef(values.T)
    others: dict[str, Callable[[], Marks]] = {
        "DAG": lambda: pag_of(Mag.of(plain.dag)),
        "GFCI": lambda: second_opinion(plain.dag, correlation, len(values)),
        "FCI 0.01": partial(fci, values, 0.01),
        "FCI 0.05": partial(fci, values, 0.05),
    }
    for method in methods:
        start, supported = time.process_time(), None
        if method == "drbo":
            result = DrBO(hidden=True, exact=False, random_state=seed).fit(values).result_
            assert isinstance(result, HiddenResult)
            found, supported = result.pag, np.zeros(plain.dag.shape, dtype=bool)
            supported[result.drawn] = [one.direction == "supported" for one in result.directions]
            supported |= supported.T
        else:
            found = others[method]()
        seconds = time.process_time() - start + (fit if method in ("DAG", "GFCI") else 0.0)
        row = compared(found, truth, supported)
        yield {"method": method, **row, "cpu_seconds": round(seconds, 2), "plain_seconds": round(fit, 2)}


@study("hidden", "table columns hidden n seed method", columns=(8,), hidden=(25,), rows=(300,), seeds=range(1))
def graphs(
    columns: Annotated[Numbers, "columns of the tables"] = (20,),
    hidden: Annotated[Numbers, "hidden columns, in percent of the others"] = (15,),
    rows: Annotated[Numbers, "rows"] = SIZES,
    seeds: Seeds = range(300, 310),
    methods: Methods = METHODS,
) -> Iterator[Row]:
    """Compare the methods on random tables."""
    for d in columns:
        for percent in hidden:
            for n in rows:
                for seed in seeds:
                    values, truth = drawn(seed, n, d, round(d * percent / 100))
                    key = {"table": "random", "columns": d, "hidden": percent, "n": n, "seed": seed}
                    yield from (key | row for row in answers(values, truth, methods, seed))


@study("hidden", "table columns hidden n seed method", rows=(300,), seeds=range(1), methods=("drbo", "DAG"))
def cases(
    rows: Annotated[Numbers, "rows"] = SIZES, seeds: Seeds = range(300, 320), methods: Methods = METHODS
) -> Iterator[Row]:
    """Compare the methods on small graphs whose hidden cause misleads a DAG."""
    for name, text in CASES.items():
        edges = [edge.split(">") for edge in text.split()]
        nodes = sorted({node for edge in edges for node in edge}, key=lambda node: (node.isupper(), node))
        dag = np.zeros((len(nodes), len(nodes)), dtype=bool)
        for cause, effect in edges:
            dag[nodes.index(cause), nodes.index(effect)] = True
        hidden = np.array([node.isupper() for node in nodes])
        for n in rows:
            for seed in seeds:
                values = table_of(dag.astype(float), np.ones(len(dag)), n, seed)[:, ~hidden]
                key = {"table": name, "columns": values.shape[1], "hidden": int(hidden.sum()), "n": n, "seed": seed}
                yield from (key | row for row in answers(values, truth_of(dag, hidden), methods, seed))


@study("hidden", "table columns hidden n seed method", slow=True)
def networks(
    file: File = Path(),
    networks: Networks = TUNED,
    rows: Annotated[Numbers, "rows"] = SIZES,
    seeds: Seeds = range(300, 303),
    methods: Methods = ("drbo", "DAG", "GFCI"),
) -> Iterator[Row]:
    """Compare the methods on networks with real coefficients, with a tenth of their common causes left out."""
    for name in networks:
        weights, variances, dag = read_network(file, name)
        causes = np.flatnonzero(dag.sum(axis=1) >= 2)
        for n in rows:
            for seed in seeds:
                chosen = np.random.default_rng(seed).choice(causes, max(1, round(len(dag) / 10)), replace=False)
                hidden = np.isin(np.arange(len(dag)), chosen)
                values = table_of(weights, variances, n, seed)[:, ~hidden]
                key = {"table": name, "columns": values.shape[1], "hidden": int(hidden.sum()), "n": n, "seed": seed}
                yield from (key | row for row in answers(values, truth_of(dag, hidden), methods, seed))
