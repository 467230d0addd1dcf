"""The score interface, batches of families, and the registry of score names."""

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from drbo.data.table import Table
from drbo.deadline import current
from drbo.errors import DataError, DrboError, ScoreError, SettingsError
from drbo.scores.sums import sum_nodes
from drbo.torch_device import need_torch

Floats = npt.NDArray[np.float64]

#: Weight of ln d per edge (Foygel & Drton 2010). With 0.5 every score whose edges are not tested after the search finds
#: at most half an edge, on average, among 20 independent columns (benchmarks/studies/false_edges.py).
EBIC_GAMMA = 0.5
#: The largest penalty, and log-odds of an edge: with larger ones scores are no longer finite.
LARGEST = 1e100
#: Bytes of one batch of families that are fitted together.
BATCH_BYTES = 2**27


@dataclass(frozen=True, eq=False)
class Families:
    """A batch of families: each is a node and a set of parents.

    Examples
    --------
    >>> families = Families.from_sets(3, [(2, (0, 1)), (0, ())])
    >>> families.nodes.tolist(), families.parents.astype(int).tolist()
    ([2, 0], [[1, 1, 0], [0, 0, 0]])
    >>> len(set(families.keys()))
    2
    """

    nodes: npt.NDArray[np.intp]  # (m,)
    parents: npt.NDArray[np.bool_]  # (m, d); parents[r, i]: i is a parent of nodes[r]

    @classmethod
    def from_dags(cls, dags: npt.NDArray[np.bool_]) -> "Families":
        """Return the d families of each DAG, DAG after DAG; ``dags`` is (B, d, d)."""
        count, d, _ = dags.shape
        parents = np.array(dags.transpose(0, 2, 1), order="C").reshape(count * d, d)  # never a view of the graphs
        return cls(np.tile(np.arange(d), count), parents)

    @classmethod
    def from_sets(cls, n_nodes: int, sets: Iterable[tuple[int, Sequence[int]]]) -> "Families":
        """Return the families listed as (node, indices of its parents)."""
        pairs = list(sets)
        parents = np.zeros((len(pairs), n_nodes), dtype=bool)
        for row, (_, members) in enumerate(pairs):
            parents[row, list(members)] = True
        return cls(np.array([node for node, _ in pairs], dtype=np.intp), parents)

    @property
    def n_nodes(self) -> int:
        return int(self.parents.shape[1])

    @property
    def sizes(self) -> npt.NDArray[np.intp]:
        """The number of parents (m,) of each family."""
        counts: npt.NDArray[np.intp] = self.parents.sum(axis=1)
        return counts

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, rows: Any) -> "Families":
        return Families(self.nodes[rows], self.parents[rows])

    def keys(self) -> list[bytes]:
        """Return one byte string per family; equal families have equal strings, and strings sort by node first."""
        head = self.nodes.astype(">u4").view(np.uint8).reshape(-1, 4)
        packed = np.concatenate([head, np.packbits(self.parents, axis=1)], axis=1)
        raw, width = packed.tobytes(), packed.shape[1]
        return [raw[start : start + width] for start in range(0, len(raw), width)]

    @classmethod
    def from_keys(cls, keys: Sequence[bytes], n_nodes: int) -> "Families":
        """Invert :meth:`keys`."""
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), 4 + -(-n_nodes // 8))
        nodes = packed[:, :4].copy().view(">u4")[:, 0].astype(np.intp)
        return cls(nodes, np.unpackbits(packed[:, 4:], axis=1, count=n_nodes).astype(bool))

    def padded(self, rows: npt.NDArray[np.intp], width: int) -> npt.NDArray[np.intp]:
        """Return (len(rows), width) parent indices; free places hold the dummies d, d + 1, ... by position."""
        index = np.broadcast_to(self.n_nodes + np.arange(width), (len(rows), width)).copy()
        row, parent = np.nonzero(self.parents[rows])
        starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(rows)))])
        index[row, np.arange(len(row)) - starts[row]] = parent
        return index


class Score:
    """A decomposable score of a DAG; higher is better.

    The score of a DAG is ``combine(local, price)``. ``local`` is the expensive part, such as one regression or one
    contingency table per family, and is what a surrogate learns. ``price`` is exact and cheap: the edge penalty and
    the edge prior. The same ``combine`` is used for true and predicted local values; by default it is
    ``sum(gain * local + price)``.

    A subclass sets ``gain`` and implements :meth:`local`; the simplest subclass implements only
    ``local_one(node, parents) -> float``.

    Parameters
    ----------
    table : the checked data.
    penalty : multiplier of ``ln n`` per free parameter; 1 is the paper's BIC. With 1, a few of the d (d - 1) possible
        edges are accepted by chance if n is small compared with d. Use 2 if false edges are worse than missed ones;
        ``"ebic"`` adds ``ln d`` per edge on the scale of the log evidence (Foygel & Drton 2010, gamma = 1/2), which
        limits the number of false edges for any d.
    edge_prior : (d, d) log-odds of each edge i -> j, added on the scale of the log evidence.
    targets : (n, d) True where a node was set by intervention in a row; the score of that node ignores the row.

    Examples
    --------
    >>> class FewEdges(Score):
    ...     def local_one(self, node, parents):
    ...         return 1.0 - len(parents)
    >>> table = Table.from_array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> FewEdges(table).local(Families.from_sets(2, [(0, ()), (1, (0,))])).tolist()
    [1.0, 0.0]
    """

    name: str = "custom"
    #: Markov-equivalent DAGs have equal scores.
    score_equivalent: bool = False
    #: What directs an edge that equivalent DAGs disagree on; read only where the score is not equal for them.
    assumption: str = "the score distinguishes equivalent graphs"
    #: Effects may have any shape, with additive noise: its class arrows need families whose residuals pass a check.
    nonlinear: bool = False
    #: The score is this many times a log evidence (2 for a BIC on the paper's scale); None: it is none.
    evidence_scale: float | None = None
    #: The score rises with every parent that is added to ``local``: a superset never fits worse.
    nested: bool = False
    #: What weights of rows it can use: none, whole numbers, or any.
    row_weights: Literal["none", "counts", "any"] = "none"
    #: It needs no more than means and covariances, so cells may be missing: see :func:`drbo.data.moments.moments`.
    takes_missing: bool = False
    #: A local score costs at most about 0.2 ms on this table, so that a search may ask for tens of thousands: route
    #: "auto" then climbs over orders (docs/orders.md). Nothing is timed. A subclass that computes local values of its
    #: own says so itself. A score whose cost depends on the table sets it in ``__init__``.
    cheap: bool = False
    #: It factorises kernel matrices with torch, and takes the options ``device`` and ``max_memory``.
    kernels: bool = False
    #: Families in one call of :meth:`local`, for a score whose last bits depend on what is computed together: all
    #: executors then cut a batch at the same places and get the same numbers. None: a batch may be cut anywhere.
    cell: int | None = None

    def __init__(
        self,
        table: Table,
        *,
        penalty: float | Literal["ebic"] = 1.0,
        edge_prior: npt.ArrayLike | None = None,
        targets: npt.ArrayLike | None = None,
    ) -> None:
        self.names = table.names
        self.n_nodes = table.n_columns
        self.gain: float | Floats = 1.0  # d(score) / d(local), above 0: a number or (d,)
        self._prior = _check_prior(edge_prior, self.n_nodes)
        self.targets = _check_targets(targets, table.n_rows, self.n_nodes)
        if table.weights is None and self.targets is None:
            self._set_rows(np.full(self.n_nodes, table.n_rows), penalty)
            return
        times = np.ones(table.n_rows) if table.weights is None else table.weights
        counted = np.ones((table.n_rows, self.n_nodes), dtype=bool) if self.targets is None else ~self.targets
        self._set_rows(times @ counted, penalty)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "cheap" not in vars(cls) and not {"local", "local_one"}.isdisjoint(vars(cls)):
            cls.cheap = False

    def _set_rows(self, n_rows: npt.NDArray[Any], penalty: float | Literal["ebic"]) -> None:
        """Set the rows that count for each node and, from them, the price of one parameter."""
        if (n_rows < 3).any():
            node = int(np.argmin(n_rows))
            raise ScoreError(
                f"node '{self.names[node]}' has only {n_rows[node]:.3g} rows without intervention, but 3 are needed",
                hint="drop the node, or mark fewer of its rows as targets",
            )
        self.n_rows = n_rows.astype(np.float64)  # (d,)
        self.penalty = _check_penalty(penalty)
        factor = 1.0 if isinstance(self.penalty, str) else self.penalty
        self.parameter_price: Floats = factor * np.log(self.n_rows)  # (d,)
        self.edge_price = 0.0
        if self.penalty == "ebic":  # 4 gamma ln d per edge on the scale of a BIC, which is 2 log evidences
            self.edge_price = 2 * EBIC_GAMMA * np.log(self.n_nodes) * (self.evidence_scale or 1.0)

    def _need_numbers(self, table: Table) -> None:
        """Refuse a table that has a column of categories; for scores of numbers alone."""
        for name, kind in zip(table.names, table.kinds, strict=True):
            if kind != "numeric":
                raise ScoreError(
                    f"column '{name}' is {kind}, but {self.name} requires numbers",
                    hint="use score='auto' or 'mixed', or encode the column as numbers yourself",
                )

    def local(self, families: Families) -> npt.NDArray[np.float64]:
        """Return the local values of a batch of families."""
        values, deadline = np.empty(len(families)), current()
        for row, (node, parents) in enumerate(zip(families.nodes.tolist(), families.parents, strict=True)):
            deadline.check()
            values[row] = float(self.local_one(node, tuple(np.flatnonzero(parents).tolist())))
        return values

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        """Return the local value of one family; the simplest way to write a score."""
        raise NotImplementedError("a score must implement local() or local_one()")

    def credited(self, families: Families) -> npt.NDArray[np.bool_]:
        """Return which families (m,) may be credited for their parents: those with fewer parameters than rows.

        With more parameters than rows, every fit is perfect. ``score_equivalent`` refers to DAGs of credited families.
        """
        return np.ones(len(families), dtype=bool)

    def parameters(self, families: Families) -> npt.NDArray[Any] | None:
        """Return the number of free parameters (m,) that the penalty counts; None: the score has no penalty."""
        return None

    def family_price(self, families: Families) -> Floats:
        """Return the exact, cheap part (m,) of each family: minus its penalty, plus its edge prior."""
        total = np.zeros(len(families))
        count = self.parameters(families)
        if count is not None:
            total -= count * self.parameter_price[families.nodes]
        if self.edge_price:
            total -= self.edge_price * families.sizes
        if self._prior is not None:
            weight = (self.evidence_scale or 1.0) * self._prior.T[families.nodes]  # (m, d)
            total += sum_nodes(families.parents * weight)
        return total

    def combine(self, local: Floats, price: Floats) -> Floats:
        """Return the scores (...) of DAGs from the local values and prices (..., d) of their families."""
        return sum_nodes(self.share(local, price))

    def share(
        self, local: Floats, price: Floats, level: float | None = None, nodes: npt.NDArray[np.intp] | None = None
    ) -> Floats:
        """Return the contribution of each family to an additive form of the score.

        The last axis is all nodes, or the given ``nodes``. A score that is not additive is maximised through
        additive lower bounds, each exact at its ``level`` (:meth:`level_of`).
        """
        gain = self.gain if nodes is None or isinstance(self.gain, float) else self.gain[nodes]
        return gain * local + price

    def level_of(self, local: Floats) -> float | None:
        """Return the level at which :meth:`share` is exact for the DAG with these local values; None: at any."""
        return None

    def relative(self) -> "Score | None":
        """Return a proxy score, about a thousand times cheaper and correlated with this one; None if there is none.

        A surrogate evaluates ``local`` of the proxy on many families and learns from the true score how far the proxy
        can be trusted.
        """
        return None


def row_groups(
    targets: npt.NDArray[np.bool_] | None,  # (n, d)
    n_rows: int,
    n_nodes: int,
) -> list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]]:
    """Return the nodes that share their rows, with those rows, group by group."""
    if targets is None:
        return [(np.arange(n_nodes), np.arange(n_rows))]
    patterns, member = np.unique(targets, axis=1, return_inverse=True)
    return [
        (np.flatnonzero(member.ravel() == group), np.flatnonzero(~patterns[:, group]))
        for group in range(patterns.shape[1])
    ]


def _check_penalty(penalty: Any) -> float | Literal["ebic"]:
    if penalty == "ebic":
        return "ebic"
    if not isinstance(penalty, (int, float, np.number)) or not np.isfinite(penalty) or penalty < 0:
        raise SettingsError(
            f"penalty must be a number >= 0 or 'ebic', got {penalty!r}", hint="1 is the usual BIC; 2 gives fewer edges"
        )
    if penalty > LARGEST:
        raise SettingsError(
            f"penalty must be at most {LARGEST:g}, got {penalty:g}", hint="1 is the usual BIC; 2 gives fewer edges"
        )
    return float(penalty)


def _check_prior(prior: npt.ArrayLike | None, d: int) -> Floats | None:
    if prior is None:
        return None
    matrix = np.asarray(prior, dtype=np.float64)
    if matrix.shape != (d, d) or not (np.abs(matrix) <= LARGEST).all():
        raise SettingsError(
            f"edge_prior must be a finite ({d}, {d}) matrix of log-odds of size at most {LARGEST:g}, got shape "
            f"{matrix.shape}",
            hint="to forbid or require an edge, use knowledge instead of an infinite prior",
        )
    return matrix


def _check_targets(targets: npt.ArrayLike | None, n: int, d: int) -> npt.NDArray[np.bool_] | None:
    if targets is None:
        return None
    mask = np.asarray(targets)
    if mask.shape != (n, d) or not np.isin(mask, (0, 1)).all():
        raise SettingsError(f"targets must be a boolean ({n}, {d}) array, got shape {mask.shape}")
    return mask.astype(bool) if mask.any() else None


#: Score names and where they live; imported when asked for.
SCORES: dict[str, str] = {
    "bdeu": "drbo.scores.discrete:BDeu",
    "bge": "drbo.scores.bge:BGe",
    "bic-discrete": "drbo.scores.discrete:DiscreteBIC",
    "bic-ev": "drbo.scores.linear:BicEV",
    "bic-nv": "drbo.scores.linear:BicNV",
    "gp": "drbo.scores.gp:GpScore",
    "gp-ev": "drbo.scores.gp_paper:GpEV",
    "gp-nv": "drbo.scores.gp_paper:GpNV",
    "logistic": "drbo.scores.logistic:LogisticBIC",
    "mixed": "drbo.scores.mixed:DegenerateGaussian",
    "mixed-cg": "drbo.scores.mixed:ConditionalGaussian",
    "splines": "drbo.scores.splines:SplineScore",
}


class _Wrapped(Score):
    """A function, or an object that only knows ``local_one`` or ``local``, seen as a Score."""

    def __init__(self, inner: Any, table: Table) -> None:
        super().__init__(table)
        self.inner = inner
        self.name = getattr(inner, "__name__", type(inner).__name__)
        self.score_equivalent = bool(getattr(inner, "score_equivalent", False))
        self.evidence_scale = getattr(inner, "evidence_scale", None)
        self.cheap = getattr(inner, "cheap", False)

    def local(self, families: Families) -> npt.NDArray[np.float64]:
        if hasattr(self.inner, "local"):
            return np.asarray(self.inner.local(families), dtype=np.float64)
        return super().local(families)

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        return float(getattr(self.inner, "local_one", self.inner)(node, parents))


def score_class(name: str) -> Any:
    """Return the class behind a score name or a ``module:Class``."""
    path = SCORES.get(name, name)
    module, _, attribute = path.partition(":")
    if not attribute:
        raise SettingsError(
            f"score must be one of {', '.join(sorted(SCORES))}, auto, or module:Class, got {name!r}",
            hint="name your own score as package.module:ClassName",
        )
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # the module is the user's: it may fail in any way
        if name in SCORES and isinstance(error, ModuleNotFoundError):
            need_torch(f"score '{name}'")
        raise SettingsError(
            f"score {name!r} cannot be imported: {type(error).__name__}: {error}",
            hint="check the name, and that Python can import the module from the current folder",
        ) from error


def build_score(spec: Any, table: Table, options: Mapping[str, Any] | None = None) -> Score:
    """Return the score of a table, given its name, ``module:Class``, a class, an object or a function.

    A function ``f(node, parents)`` takes the column of a node and the columns of its parents, by their place in the
    table, and returns the local score as a number.

    Examples
    --------
    >>> few_edges = build_score(lambda node, parents: -len(parents), Table.from_array(np.eye(3)))
    >>> few_edges.local(Families.from_sets(3, [(0, ()), (2, (0, 1))])).tolist()
    [0.0, -2.0]
    >>> table = Table.from_array([[0.0, 1.0], [1.0, 0.5], [2.0, 2.5], [3.0, 1.0]])
    >>> build_score("bic-nv", table, {"penalty": 2}).penalty
    2.0
    """
    options = dict(options or {})
    made: Any = score_class(spec) if isinstance(spec, str) else spec
    _check_rows(made, table)
    if isinstance(made, type):
        unknown = set(options) - set(_option_names(made))
        if unknown:
            raise SettingsError(
                f"score {spec!r} has no option {', '.join(sorted(unknown))}",
                hint=f"its options are {', '.join(_option_names(made)) or 'none'}",
            )
        try:
            made = made(table, **options)
        except DrboError:
            raise
        except Exception as error:
            raise ScoreError(f"score {spec!r} could not be built: {type(error).__name__}: {error}") from error
    elif options:
        raise SettingsError(
            "score_options require a score given by name or as a class",
            hint="set the options on the score object itself",
        )
    if isinstance(made, Score):
        if made.n_nodes != table.n_columns:
            raise ScoreError(f"the score was built for {made.n_nodes} columns, but the table has {table.n_columns}")
        return made
    if not (callable(made) or hasattr(made, "local_one") or hasattr(made, "local")):
        raise SettingsError(
            f"score must be a name, a function or a class with local() or local_one(), got {type(made).__name__}",
            hint="a function takes a node and its parents, and returns a number: higher is better",
        )
    return _Wrapped(made, table)


def _check_rows(made: Any, table: Table) -> None:
    """Refuse weights of rows and missing cells that a score has no use for."""
    name = getattr(made, "name", getattr(made, "__name__", type(made).__name__))
    if table.incomplete and not (isinstance(made, type) and getattr(made, "takes_missing", False)):
        raise DataError(
            f"score '{name}' requires complete rows; missing=\"em\" works only with bic-nv, bic-ev and bge",
            hint='use score="bic-nv", or missing="impute", which works with any score',
        )
    if table.weights is None:
        return
    takes = getattr(made, "row_weights", "none") if isinstance(made, type) else "none"
    if takes == "none":
        raise DataError(
            f"score '{name}' does not support sample weights",
            hint="use bic-nv, bic-ev or bge for numeric columns, or bdeu or bic-discrete for categories with integer "
            "weights",
        )
    if takes == "counts" and (table.weights != np.round(table.weights)).any():
        row = int(np.argmax(table.weights != np.round(table.weights)))
        raise DataError(
            f"score '{name}' counts rows, so sample weights must be whole numbers, got {table.weights[row]:g}",
            hint="give the number of times that each row occurred",
        )


def _option_names(cls: type) -> list[str]:
    names: list[str] = []
    for base in cls.__mro__:
        if "__init__" in vars(base) and base is not object:
            parameters = list(inspect.signature(base.__init__).parameters.values())[2:]  # type: ignore[misc]
            names += [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name not in names]
            if not any(p.kind is p.VAR_KEYWORD for p in parameters):
                break
    return names
