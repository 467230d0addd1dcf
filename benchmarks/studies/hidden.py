"""Hidden causes: the PAG of a fit with hidden=True beside the PAG of the best DAG, tests on it, FCI and Tetrad.

    python -m benchmarks hidden --methods drbo,DAG,GFCI --columns 20,50,100
    python -m benchmarks hidden --methods "FCI 0.01,FCI 0.05,Tetrad FCIT,Tetrad GFCI,Tetrad BOSS-FCI"
    python -m benchmarks hidden --hidden 0 --methods drbo,DAG,GFCI
    python -m benchmarks hidden --part cases
    python -m benchmarks hidden --part confounder
    python -m benchmarks hidden --part networks --file pgmpy-1.0.0-py3-none-any.whl

``graphs``: random linear Gaussian tables, a share of whose nodes with two or more children is left out. ``cases``:
small graphs about which a DAG is wrong with certainty. ``confounder``: the benchmark of that name. ``networks``:
Gaussian networks of pgmpy with real coefficients, a tenth of whose columns with two or more children is left out. Marks
are compared with the PAG of the truth; ``causes`` counts the arrows with a tail, and the supported ones among them,
against the ancestors in the true graph; of the DAG, the arrows that a fit without hidden=True calls supported. Fits of
more than 10 columns leave out the proof that the DAG is the best one, which changes no graph. GFCI are the tests that
decide what is supported. Rivals (benchmarks/methods/pags.py) get 10 minutes of CPU time for a table.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.methods.pags import TETRAD, fci, limited, tetrad
from benchmarks.parameters import Names, Numbers, Seeds
from benchmarks.rows import Row
from benchmarks.studies.gaussian_networks import TUNED, File, Networks, read_network
from benchmarks.studies.study import study
from drbo import DrBO, Result
from drbo.data.files.simulate import simulate
from drbo.graph.dag import descendants
from drbo.graph.mag import Mag, hide
from drbo.graph.marks import ARROW, CIRCLE, TAIL, Marks
from drbo.graph.pag import is_legal, pag_of
from drbo.result.compare_marks import compare_marks
from drbo.search.ancestral.gfci import PartialCorrelations, second_opinion

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Limit = Annotated[int, "seconds of CPU that a rival gets for a table"]
Methods = Annotated[Names, f"drbo, DAG, GFCI, FCI 0.01, FCI 0.05, {', '.join(TETRAD)}"]
OURS = ("drbo", "DAG", "GFCI")
METHODS = (*OURS, "FCI 0.01", "FCI 0.05", *TETRAD)
DEFAULTS = METHODS[:5]
SIZES = (500, 2_000)
LIMIT = 600
#: The best DAG of so few columns is proved, so that margins are exact.
FEW_COLUMNS = 10
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


def compared(found: Marks, truth: Truth, supported: Bools | None = None) -> Row:
    """Return how marks compare with the truth, as counts: right, claimed, true."""
    row: Row = {"whole": int((found == truth.pag).all()), "legal": int(is_legal(found))}
    counts = compare_marks(found, truth.pag)
    for name, one in (
        ("adjacent", counts.adjacencies),
        ("arrows", counts.arrowheads),
        ("tails", counts.tails),
        ("two-headed", counts.bidirected),
    ):
        row |= {f"{name} right": one.right, f"{name} claimed": one.claimed, f"{name} true": one.true}
    causes = (found == ARROW) & (found.T == TAIL)
    row |= {"causes claimed": int(causes.sum()), "causes right": int((causes & truth.causes).sum())}
    return row if supported is None else row | counted(causes & supported, truth)


def counted(supported: Bools, truth: Truth) -> Row:
    """Return how many supported causes there are, how many are ancestors in the true graph, and of both the open ones.

    An open one has a circle at the cause in the PAG of the truth: no number of rows tells a cause from a hidden one.
    """
    row: Row = {}
    for name, here in (("supported", supported), ("open", supported & (truth.pag.T == CIRCLE))):
        row |= {f"{name} claimed": int(here.sum()), f"{name} right": int((here & truth.causes).sum())}
    return row


def answers(values: Floats, truth: Truth, methods: Names, seed: int, limit: int) -> Iterator[Row]:
    """Yield the row of every method on one table; seconds of CPU include the fit that a method builds on."""
    if own := [method for method in methods if method in OURS]:
        yield from our_answers(values, truth, own, seed)
    rivals: dict[str, Callable[[], Marks]] = {
        "FCI 0.01": partial(fci, values, 0.01),
        "FCI 0.05": partial(fci, values, 0.05),
    }
    rivals |= {name: partial(tetrad, values, search, seed) for name, search in TETRAD.items()}
    if rivals.keys() & set(methods) - TETRAD.keys():
        import_module("causallearn.search.ConstraintBased.FCI")
    for method in (method for method in methods if method not in OURS):
        found, seconds = limited(rivals[method], limit)
        row = {} if found is None else compared(found, truth)
        yield {"method": method, **row, "cpu_seconds": round(seconds, 2)}


def our_answers(values: Floats, truth: Truth, methods: Names, seed: int) -> Iterator[Row]:
    """Yield the rows of the methods that begin with our best DAG."""
    start = time.process_time()
    options = {} if values.shape[1] <= FEW_COLUMNS else {"exact": False}
    plain = DrBO(score="bic-nv", random_state=seed, **options).fit(values).result_
    fit = time.process_time() - start
    for method in methods:
        start = time.process_time()
        if method == "drbo":
            result = DrBO(hidden=True, random_state=seed, **options).fit(values).result_
            row = compared(result.graph.marks, truth, supported_of(result))
        elif method == "DAG":
            row = compared(pag_of(Mag.of(plain.dag)), truth) | counted(supported_of(plain), truth)
        else:
            row = compared(second_opinion(plain.dag, PartialCorrelations(np.corrcoef(values.T), len(values))), truth)
        seconds = time.process_time() - start + (0.0 if method == "drbo" else fit)
        yield {"method": method, **row, "cpu_seconds": round(seconds, 2), "plain_seconds": round(fit, 2)}


def supported_of(result: Result) -> Bools:
    """Return (d, d) the edges that a result calls supported, as they are drawn."""
    found, place = np.zeros(result.dag.shape, dtype=bool), {name: k for k, name in enumerate(result.names)}
    for one in result.directions:
        found[place[one.cause], place[one.effect]] = one.direction == "supported"
    return found


@study("hidden", "table columns hidden n seed method", columns=(8,), hidden=(25,), rows=(300,), seeds=range(1))
def graphs(
    columns: Annotated[Numbers, "columns of the tables"] = (20,),
    hidden: Annotated[Numbers, "hidden columns, in percent of the others"] = (15,),
    rows: Annotated[Numbers, "rows"] = SIZES,
    seeds: Seeds = range(400, 420),
    methods: Methods = DEFAULTS,
    limit: Limit = LIMIT,
) -> Iterator[Row]:
    """Compare the methods on random tables."""
    for d in columns:
        for percent in hidden:
            for n in rows:
                for seed in seeds:
                    values, truth = drawn(seed, n, d, round(d * percent / 100))
                    key = {"table": "random", "columns": d, "hidden": percent, "n": n, "seed": seed}
                    yield from (key | row for row in answers(values, truth, methods, seed, limit))


@study("hidden", "table columns hidden n seed method", rows=(300,), seeds=range(1), methods=("drbo", "DAG"))
def cases(
    rows: Annotated[Numbers, "rows"] = SIZES,
    seeds: Seeds = range(400, 420),
    methods: Methods = DEFAULTS,
    limit: Limit = LIMIT,
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
                yield from (key | row for row in answers(values, truth_of(dag, hidden), methods, seed, limit))


@study("hidden", "table columns hidden n seed method", seeds=range(1), methods=("DAG",))
def confounder(seeds: Seeds = range(20), methods: Methods = DEFAULTS, limit: Limit = LIMIT) -> Iterator[Row]:
    """Compare the methods on the benchmark ``confounder``, which hides the node with the most children."""
    for seed in seeds:
        full = simulate("10ER2", n=1_000, seed=seed)
        hidden = np.arange(len(full.dag)) == full.dag.sum(axis=1).argmax()
        values = full.X[:, ~hidden]
        key = {"table": "confounder", "columns": values.shape[1], "hidden": 1, "n": len(values), "seed": seed}
        yield from (key | row for row in answers(values, truth_of(full.dag, hidden), methods, seed, limit))


@study("hidden", "table columns hidden n seed method", slow=True)
def networks(
    file: File = Path(),
    networks: Networks = TUNED,
    rows: Annotated[Numbers, "rows"] = SIZES,
    seeds: Seeds = range(400, 403),
    methods: Methods = OURS,
    limit: Limit = LIMIT,
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
                yield from (key | row for row in answers(values, truth_of(dag, hidden), methods, seed, limit))
