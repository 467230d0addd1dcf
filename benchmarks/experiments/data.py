"""The data sets of the experiments, by name: what is drawn, how many rows, and the score that is maximised on them.

Most are :func:`drbo.data.simulate.simulate`. Those that it does not know are drawn here: the internally standardised
SCM, one hidden confounder, heavy tails, independent columns; and those that are read: Sachs, the GP sets, and discrete
networks with their probabilities.
"""

import gzip
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import gran_dag
from benchmarks.methods.metrics import proved
from drbo.data.checks.audit import explained, sortability
from drbo.data.checks.check import check_table
from drbo.data.files.datasets import load
from drbo.data.files.simulate import Simulated, simulate, standardize
from drbo.data.statistics.statistics import Statistics
from drbo.graph.dag import topological_order
from drbo.scores.base import Score

Floats = npt.NDArray[np.float64]
#: The best DAG of at most so many columns is proved in the cells of an experiment.
PROVED = 5


@dataclass(frozen=True)
class DataSet:
    """How a table and its truth are made from a seed.

    Attributes
    ----------
    graph : name for ``simulate``; a data set of the package; a discrete network; the folder of the GP sets.
    model : of ``simulate``, or ``iscm``, ``confounded``, ``heavy``, ``null``, ``file``, ``network``.
    standardised : columns get mean 0 and variance 1 at the end.
    score : what is maximised, and by which every answer is scored (penalty 1).
    prune : what methods that leave pruning to others are pruned by.
    score_options : of the score, beside its penalty.
    """

    name: str
    graph: str
    model: str = "linear"
    n: int = 1_000
    standardised: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    score: str = "bic-ev"
    prune: str = "threshold"
    score_options: dict[str, Any] = field(default_factory=dict)

    def draw(self, seed: int) -> Simulated:
        """Return data set ``seed``; the columns of real structures in an order drawn with the same seed."""
        maker = MAKERS.get(self.model)
        if maker is not None:
            data = maker(self, seed)
        elif self.graph[0].isdigit():
            data = simulate(self.graph, self.model, self.n, seed, **self.options)  # type: ignore[arg-type]
        else:
            known = load(self.graph, permute=seed)
            data = replace(simulate(known.dag, self.model, self.n, seed, **self.options), names=known.names)  # type: ignore[arg-type]
        return replace(data, X=standardize(data.X)) if self.standardised else data

    @property
    def missing(self) -> str:
        """What the machine lacks to draw it; empty: nothing."""
        if self.model == "network" and find_spec("pgmpy") is None:
            return "the networks come with pgmpy: pip install -r benchmarks/requirements.txt"
        needs = self.model == "file" and self.graph != "sachs" and "DRBO_DATA" not in os.environ
        return "set DRBO_DATA to the folder that holds gran_dag/" if needs else ""

    def describe(self) -> dict[str, Any]:
        """Return everything that a row depends on, but the seed; options of the score where there are any."""
        return {name: value for name, value in asdict(self).items() if name != "score_options" or value}

    def table(self, drawn: Simulated) -> Statistics:
        """Return the table that methods get: numbers, or for a network categories."""
        if self.model != "network":
            return Statistics.from_array(drawn.X)
        import pandas as pd

        text = pd.DataFrame(np.char.add("level ", drawn.X.astype(int).astype(str)), columns=list(drawn.names))
        return check_table(text, on_collinear="keep")[0]

    def best_dag(self, seed: int, score: Score) -> npt.NDArray[np.bool_] | None:
        """Return the DAG with the best score where it is known or quickly proved."""
        if self.graph == "gran_dag" and self.score == "gp-nv" and self.n == 1_000 and not self.standardised:
            return gran_dag.optimum(seed + 1)
        return proved(score)[0].best.dags[0] if score.n_nodes <= PROVED else None


def internally_standardised(spec: DataSet, seed: int) -> Simulated:
    """Standardise each column right after its own mechanism (Ormaniec et al. 2024, iSCM), before it has children."""
    return _grown(spec, seed, np.random.default_rng([seed, 1]).standard_normal, lambda x: (x - x.mean()) / x.std())


def heavy_tailed(spec: DataSet, seed: int) -> Simulated:
    """Noise from Student's t with 3 degrees of freedom, scaled to variance 1: no fourth moment."""
    rng = np.random.default_rng([seed, 1])
    return _grown(spec, seed, lambda shape: rng.standard_t(3.0, shape) / np.sqrt(3.0), lambda x: x)


def _grown(
    spec: DataSet, seed: int, noise: Callable[[tuple[int, int]], Floats], finish: Callable[[Floats], Floats]
) -> Simulated:
    """Draw linear data on the graph and with the weights of the raw data set of the same seed."""
    base = simulate(spec.graph, n=1, seed=seed)
    weights, errors = np.asarray(base.weights, dtype=np.float64), noise((spec.n, len(base.dag)))
    values = np.zeros_like(errors)
    for node in topological_order(base.dag):
        values[:, node] = finish(values @ weights[:, node] + errors[:, node])
    return replace(base, X=values)


def confounded(spec: DataSet, seed: int) -> Simulated:
    """Hide the node with the most children; the truth is the graph of the others."""
    full = simulate(spec.graph, n=spec.n, seed=seed, **spec.options)
    kept = np.delete(np.arange(len(full.dag)), int(np.argmax(full.dag.sum(axis=1))))
    return Simulated(full.X[:, kept], full.dag[np.ix_(kept, kept)], None, tuple(full.names[j] for j in kept))


def null(spec: DataSet, seed: int) -> Simulated:
    """Independent columns: every edge is false. Scales differ, so that an order could be read into them."""
    d = int(spec.graph.split("ER")[0])
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((spec.n, d)) * rng.uniform(0.5, 3.0, d)
    return Simulated(values, np.zeros((d, d), dtype=bool), None, tuple(f"x{j}" for j in range(d)))


def from_file(spec: DataSet, seed: int) -> Simulated:
    """Read Sachs (columns in an order drawn with the seed), or set ``seed`` + 1 of GraN-DAG's GP data (DRBO_DATA)."""
    if spec.graph == "sachs":
        known = load("sachs", permute=seed)
        if known.X is None:
            raise FileNotFoundError("the rows of sachs are missing")
        return Simulated(known.X[: spec.n], known.dag, None, known.names)
    values, dag = gran_dag.data_set(seed + 1)
    return Simulated(values[: spec.n], dag, None, tuple(f"x{j}" for j in range(len(dag))))


def network(spec: DataSet, seed: int) -> Simulated:
    """Draw from a network of the bnlearn repository with its probabilities, as shipped with pgmpy: codes of levels.

    Columns are in an order drawn with the seed. Drawn again where a column never changes: no method takes such a one.
    """
    from pgmpy.readwrite import BIFReader

    packed = files("pgmpy.utils").joinpath("example_models", f"{spec.graph}.bif.gz").read_bytes()
    model, rng = BIFReader(string=gzip.decompress(packed).decode()).get_model(), np.random.default_rng(seed)
    names, frame = tuple(str(name) for name in rng.permutation(sorted(model.nodes()))), None
    while frame is None or frame.nunique().min() < 2:
        drawn = model.simulate(n_samples=spec.n, seed=int(rng.integers(2**31)), show_progress=False)
        frame = drawn[list(names)].astype(str)
    dag = np.array([[model.has_edge(cause, effect) for effect in names] for cause in names])
    return Simulated(check_table(frame, on_collinear="keep")[0].values, dag, None, names)


MAKERS = {
    "iscm": internally_standardised,
    "confounded": confounded,
    "heavy": heavy_tailed,
    "null": null,
    "file": from_file,
    "network": network,
}


def sortabilities(data: Simulated) -> dict[str, float | str]:
    """Return by how much variances and shares of explained variance give the order away: 0.5 is not at all."""
    by_variance = sortability(data.dag, data.X.var(axis=0))
    by_share = sortability(data.dag, explained(data.X)) if len(data.X) > data.X.shape[1] else None
    return {
        "varsortability": "" if by_variance is None else round(by_variance, 3),
        "r2_sortability": "" if by_share is None else round(by_share, 3),
    }
