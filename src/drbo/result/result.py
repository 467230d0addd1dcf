"""The result of a fit: the graph, how it was found, and how to show, save and load it."""

import hashlib
import io
import json
import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from drbo.claims import why
from drbo.claims.resampling import Confidence
from drbo.data.files import (
    MAX_TEXT_BYTES,
    npz_bytes,
    read_bytes,
    read_json,
    read_member,
    refusing,
    stored_archive,
    write_file,
)
from drbo.data.names import check_names
from drbo.errors import DataError, KnowledgeError, ResultError
from drbo.graph import check_dag, dag_to_cpdag
from drbo.knowledge import Constraints
from drbo.result import export
from drbo.settings import under_present_names

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from drbo.result.effects import Effects
    from drbo.result.judgement import Judgement

FORMAT, FORMAT_VERSION = "drbo-result", 1
MAX_TRACE = 10**7
#: Shares of resamples, as in Confidence.
FREQUENCIES = ("directed_frequency", "undirected_frequency", "path_frequency")
SHOWN_EDGES = 60  # in each list of the summary
#: Why the same call may give another graph, where ``Result.cut_short``.
CUT_SHORT = "The run was stopped early, so another run may find a different graph."
OPTIONAL_ARRAYS = ("weights", "standardised_weights", "margin_removed", "margin_reversed", "posterior", *FREQUENCIES)
TRACE_TYPES = {"n_evals": "<i8", "n_local": "<i8", "seconds": "<f8", "best": "<f8"}
#: What result.json holds of a Result, and as what.
JSON_TYPES: dict[str, type] = {
    "names": list,
    "score": float,
    "pruned_score": float,
    "score_name": str,
    "score_options": dict,
    "score_equivalent": bool,
    "settings": dict,
    "seed": int,
    "versions": dict,
    "data_hash": str,
    "n_rows": int,
    "knowledge": dict,
    "preflight": dict,
    "call": str,
    "insight": dict,
    "resampling": dict,
    "reasons": list,
    "found_by": str,
    "pruner": str,
    "stopped": str,
    "n_evals": int,
    "n_local": int,
    "seconds": float,
}
#: What it holds besides: about the file and about result.npz.
FILE_TYPES: dict[str, type] = {"optional_arrays": list, "trace_length": int, "sha256": str}

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def _no_trace() -> dict[str, npt.NDArray[Any]]:
    return {name: np.empty(0, dtype=kind) for name, kind in TRACE_TYPES.items()}


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result:
    """The result of a fit: read-only, with everything needed to repeat the fit.

    If the score cannot distinguish the members of a Markov equivalence class (``score_equivalent``), the result is the
    class, ``cpdag``, and ``dag`` is one member of it.

    Examples
    --------
    >>> dag = [[0, 1], [0, 0]]
    >>> result = Result(
    ...     names=("rain", "wet"), dag=dag, searched_dag=dag, score=-7.5, pruned_score=-7.5, score_name="bic-nv",
    ...     score_equivalent=True, local=[-3.0, -2.0], price=[0.0, -2.5])
    >>> result
    <Result: 2 nodes, 1 edge, bic-nv -7.5>
    >>> result.edges().to_dict("records")
    [{'source': 'rain', 'target': 'wet', 'directed': False, 'reason': 'tie'}]
    """

    names: tuple[str, ...]  # of the columns, in the order of every array
    dag: Bools  # (d, d) the answer, after pruning
    searched_dag: Bools  # (d, d) the best DAG of the search, before pruning
    score: float  # of searched_dag
    pruned_score: float  # of dag
    score_name: str  # what was maximised
    score_equivalent: bool  # the score ties all DAGs of an equivalence class
    local: Floats  # (d,) local values of searched_dag
    price: Floats  # (d,) their exact part: penalty and edge prior
    score_options: dict[str, Any] = field(default_factory=dict)  # penalty and whatever else the score was built with
    weights: Floats | None = None  # (d, d) linear weights of dag in the units of the data
    standardised_weights: Floats | None = None  # (d, d) the same for columns of variance 1
    margin_removed: Floats | None = None  # (d, d) what the score of searched_dag loses without an edge
    margin_reversed: Floats | None = None  # (d, d) and with it turned round
    posterior: Floats | None = None  # (d, d) probability of each edge, for scores that are a log evidence
    trace_columns: dict[str, npt.NDArray[Any]] = field(default_factory=_no_trace)  # the columns of trace
    settings: dict[str, Any] = field(default_factory=dict)  # as Settings.to_dict(), with the route that was taken
    seed: int = 0  # with the settings and the versions it gives the same graph
    versions: dict[str, str] = field(default_factory=dict)  # of drbo, Python and the libraries that decide the numbers
    data_hash: str = ""  # SHA-256 of the checked table, whatever the order of its rows and columns
    n_rows: int = 0  # of the table
    knowledge: dict[str, Any] = field(default_factory=dict)  # as Knowledge.to_mapping()
    preflight: dict[str, Any] = field(default_factory=dict)  # what the data looked like: as Audit.to_dict()
    directed_frequency: Floats | None = None  # (d, d) shares of resamples: see Confidence
    undirected_frequency: Floats | None = None  # (d, d)
    path_frequency: Floats | None = None  # (d, d)
    resampling: dict[str, Any] = field(default_factory=dict)  # number, kind and seed of the resamples
    call: str = ""  # how to repeat the run: a line of Python or of the shell
    insight: dict[str, Any] = field(default_factory=dict)  # certificate, other classes, what margins speak of
    reasons: tuple[str, ...] = ()  # why this score; what the data check had to say
    found_by: str = ""  # the stage of the search that found searched_dag
    pruner: str = "none"  # what removed weak edges
    stopped: str = ""  # why the search ended, in words
    n_evals: int = 0  # evaluated DAGs
    n_local: int = 0  # computed local scores
    seconds: float = 0.0  # of the search

    def __post_init__(self) -> None:
        dag, searched = _checked_dag(self.dag, "dag"), _checked_dag(self.searched_dag, "searched_dag")
        d = len(dag)
        set_ = object.__setattr__  # the way to fill a frozen dataclass
        set_(self, "names", check_names(self.names, d))
        set_(self, "dag", _frozen(dag, "dag", (d, d), "|b1"))
        set_(self, "searched_dag", _frozen(searched, "searched_dag", (d, d), "|b1"))
        for name in ("local", "price"):
            set_(self, name, _frozen(getattr(self, name), name, (d,), "<f8"))
        for name in OPTIONAL_ARRAYS:
            if getattr(self, name) is not None:
                set_(self, name, _frozen(getattr(self, name), name, (d, d), "<f8"))
        if set(self.trace_columns) != set(TRACE_TYPES):
            raise ResultError(f"the trace must have {', '.join(TRACE_TYPES)}, got {', '.join(self.trace_columns)}")
        length = len(self.trace_columns["n_evals"])
        columns = {k: _frozen(self.trace_columns[k], k, (length,), kind) for k, kind in TRACE_TYPES.items()}
        set_(self, "trace_columns", columns)
        set_(self, "reasons", tuple(self.reasons))
        try:
            _ = self._constraints
        except KnowledgeError as error:
            raise ResultError(f"knowledge: {error.message}", hint=error.hint) from error
        for name, kind in JSON_TYPES.items():
            if kind is dict:
                set_(self, name, _plain(getattr(self, name)))
            elif kind is not list:
                set_(self, name, kind(getattr(self, name)))

    def __repr__(self) -> str:
        edges = int(self.dag.sum())
        return (
            f"<Result: {len(self.names)} nodes, {edges} edge{'s' * (edges != 1)}, "
            f"{self.score_name} {self.pruned_score:.10g}>"
        )

    def __str__(self) -> str:
        return self.summary()

    @cached_property
    def _constraints(self) -> Constraints:
        return why.constraints_of(self.knowledge, self.names)

    @cached_property
    def _cpdag(self) -> Bools:
        return dag_to_cpdag(self.dag)

    @cached_property
    def _mpdag(self) -> Bools:
        return why.mpdag(self.dag, self._constraints, self._cpdag)

    @property
    def cpdag(self) -> Bools:
        """The Markov equivalence class of ``dag``; an undirected edge is present in both directions."""
        return self._cpdag.copy()

    @property
    def undirected(self) -> Bools:
        """(d, d) True in both directions for edges whose direction neither the score nor the knowledge determines."""
        if not self.score_equivalent:
            return np.zeros_like(self.dag)
        return self._mpdag & self._mpdag.T

    @property
    def mpdag(self) -> Bools:
        """The equivalence class under the knowledge: ``cpdag``, with further edges directed by the knowledge."""
        return self._mpdag.copy()

    @property
    def upper_bound(self) -> float | None:
        """A proved upper bound on the score of every DAG, before pruning; None if nothing was proved."""
        bound = self.insight.get("certificate", {}).get("upper_bound")
        return None if bound is None else float(bound)

    @property
    def gap(self) -> float | None:
        """The most that ``score`` can lie below the optimum; 0: it is optimal, within the tolerance of the proof."""
        if self.upper_bound is None:
            return None
        gap = self.upper_bound - self.score
        return gap if gap > self.insight["certificate"]["tolerance"] else 0.0

    @property
    def bound_valid_for(self) -> str | None:
        """The DAGs that the upper bound holds for, in words."""
        words = self.insight.get("certificate", {}).get("valid_for")
        return None if words is None else str(words)

    @property
    def top(self) -> list[dict[str, Any]]:
        """The best equivalence classes, best first: score, distance to the best score, edges of the best DAG."""
        return [dict(entry) for entry in self.insight.get("top", [])]

    @property
    def cut_short(self) -> bool:
        """Whether a time limit or an interruption ended the run, so that another run may find a different graph."""
        return was_cut_short(self.stopped)

    def why(self) -> dict[tuple[str, str], str]:
        """Return what determines the direction of each edge of ``dag``; see :func:`drbo.claims.why.reasons`."""
        found = why.reasons(
            self.dag,
            self._constraints,
            score_equivalent=self.score_equivalent,
            assumption=str(self.insight.get("assumption", "the score distinguishes equivalent graphs")),
            reversed_margin=self.margin_reversed,
            classes=(self._cpdag, self._mpdag),
        )
        return {(self.names[i], self.names[j]): words for (i, j), words in found.items()}

    @property
    def confidence(self) -> Confidence | None:
        """Edge and path frequencies over resamples; None without a bootstrap."""
        if self.directed_frequency is None or self.undirected_frequency is None or self.path_frequency is None:
            return None
        return Confidence(
            names=self.names,
            directed=self.directed_frequency,
            undirected=self.undirected_frequency,
            path=self.path_frequency,
            **self.resampling,
        )

    def with_confidence(self, found: Confidence) -> "Result":
        """Return this result with the frequencies of a bootstrap of the same table."""
        if found.names != self.names:
            raise ResultError("the confidence is about other variables than this result")
        return replace(
            self,
            directed_frequency=found.directed,
            undirected_frequency=found.undirected,
            path_frequency=found.path,
            resampling={"n": found.n, "kind": found.kind, "seed": found.seed}
            | ({"asked": found.asked} if found.asked else {}),
        )

    @property
    def trace(self) -> "pd.DataFrame":
        """The progress of the search: n_evals (DAGs), n_local (distinct local scores), seconds, best score."""
        import pandas as pd

        return pd.DataFrame({name: column.copy() for name, column in self.trace_columns.items()})

    def edges(self) -> "pd.DataFrame":
        """Return the edges of ``dag``.

        ``directed`` is False if nothing determines the direction; ``reason`` names what does. The margins are the loss
        in score, before pruning, if the edge is removed or reversed and the rest re-optimised; NaN: no such graph was
        scored. ``posterior`` is the probability of the edge, for scores that are a log evidence.
        """
        table = export.edge_table(self.dag, self.names, self.weights, self.standardised_weights, ~self.undirected)
        source, target = np.nonzero(self.dag)
        for name in ("margin_removed", "margin_reversed", "posterior"):
            if (values := getattr(self, name)) is not None:
                table[name] = values[source, target]
        table["reason"] = list(self.why().values())
        return self._with_frequencies(table)

    def _with_frequencies(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """Add shares of resamples: of the edge as it is, and of the link in whatever direction."""
        if (found := self.confidence) is not None:
            source, target = np.nonzero(self.dag)
            undirected = self.undirected[source, target]
            table["frequency"] = np.where(undirected, found.undirected[source, target], found.directed[source, target])
            table["link_frequency"] = found.adjacent[source, target]
        return table

    def cpdag_edges(self) -> "pd.DataFrame":
        """Return the edges of ``cpdag``; an undirected edge has one row."""
        cpdag = self.cpdag
        both = cpdag & cpdag.T
        return export.edge_table(cpdag & ~np.tril(both), self.names, directed=~both)

    def adjacency(self) -> "pd.DataFrame":
        """Return ``dag`` as a data frame of 0 and 1 with named rows and columns: row -> column."""
        return export.adjacency_frame(self.dag, self.names)

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return ``dag`` as a networkx DiGraph with the weights as edge attributes."""
        return export.to_networkx(self.dag, self.names, self.weights, self.standardised_weights)

    @property
    def causal_matrix(self) -> npt.NDArray[np.int64]:
        """``dag`` in the format of gCastle: an array of 0 and 1, row -> column."""
        return self.dag.astype(np.int64)

    def to_causallearn(self) -> Any:
        """Return a causal-learn GeneralGraph: the equivalence class if that is the result, else the DAG."""
        from drbo.result.handover import to_causallearn

        return to_causallearn(self._answer, self.names)

    def to_pgmpy(self) -> Any:
        """Return ``dag`` as a pgmpy DAG."""
        from drbo.result.handover import to_pgmpy

        return to_pgmpy(self.dag, self.names)

    def export(self, path: str | Path, *, as_class: bool = False) -> Path:
        """Write the graph in the format given by the file extension; see :mod:`drbo.result.handover`.

        ``as_class`` writes the equivalence class, with undirected edges, instead of ``dag``.
        """
        from drbo.result.handover import hand_over

        return hand_over(path, self._answer if as_class else self.dag, self.names, None if as_class else self.weights)

    @property
    def _answer(self) -> Bools:
        """What the data and the knowledge support: the class where the score finds a class, else ``dag``."""
        return self.mpdag if self.score_equivalent else self.dag

    def plot(self, path: str | Path | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw the graph, to a file if a path is given; see :func:`drbo.result.plot.draw`."""
        from drbo.result.plot import draw

        return draw(self, path=path, ax=ax)

    def plot_trace(self, path: str | Path | None = None) -> "Axes":
        """Draw the best score against the evaluations; see :func:`drbo.result.plot.plot_trace`."""
        from drbo.result.plot import plot_trace

        return plot_trace(self, path=path)

    def plot_compare(self, truth: npt.ArrayLike, path: str | Path | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw correct, missing, extra and reversed edges; see :func:`drbo.result.plot.plot_compare`."""
        from drbo.result.plot import plot_compare

        return plot_compare(self, truth, path=path, ax=ax)

    @property
    def plain_score_options(self) -> dict[str, Any]:
        """The options of the score without arrays, of which a result stores only the shape."""
        return {name: value for name, value in self.score_options.items() if not str(value).startswith("array (")}

    def has_seen(self, X: Any) -> bool:
        """Tell whether a table is the one that the graph was learned from; a subset of its rows is not recognised.

        Examples
        --------
        >>> one = Result(names=("a",), dag=[[0]], searched_dag=[[0]], score=0.0, pruned_score=0.0, score_name="bge",
        ...     score_equivalent=True, local=[0.5], price=[0.0])
        >>> one.has_seen(np.eye(3))
        False
        """
        from drbo.data.check import check_table
        from drbo.data.read import as_frame

        frame = as_frame(X)
        if not self.data_hash or any(name not in frame for name in self.names):
            return False
        frame = frame[list(self.names)]
        table = check_table(frame, on_collinear="keep", missing="keep")[0]
        if table.digest() == self.data_hash:
            return True
        if not table.incomplete:
            return False
        return check_table(frame, on_collinear="keep", missing="drop")[0].digest() == self.data_hash  # what a fit used

    def judge(self, X: Any, **options: Any) -> "Judgement":
        """Judge the graph on rows that it was not learned from, with its own score; see :func:`drbo.judge`.

        Warns if the graph was learned from these rows. A score that is not built in must be given as ``score``.
        """
        from drbo.result.judge import judge
        from drbo.scores.named import score_of_file

        if self.has_seen(X):
            warnings.warn("the graph was learned from these rows, so the judgement is too favourable", stacklevel=2)
        given = {"score_options": self.plain_score_options, "seed": self.seed, **options}
        if "score" not in given:
            given["score"] = score_of_file(self.score_name, None, "the result")
        return judge(self.dag, X, names=self.names, **given)

    def effects(
        self, X: Any, source: str | None = None, target: str | None = None, *, missing: str = "error"
    ) -> "Effects":
        """Return total and direct linear effects in the graphs of the class, estimated from a table.

        The result states whether these are held-out rows or the rows of the fit. For effects over bootstrap graphs, see
        :meth:`drbo.DrBO.effects`.

        Parameters
        ----------
        X : rows that the graph was not learned from.
        source, target : names of columns; None: all columns, and only pairs with an effect are returned.
        missing : ``"error"`` or ``"drop"``, for rows with missing values.
        """
        from drbo.data.check import check_table
        from drbo.data.read import as_frame
        from drbo.result import effects

        frame = as_frame(X)
        for name in self.names:
            if name not in frame:
                raise DataError(f"the table has no column '{name}'", hint="give a table with all columns of the graph")
        policy: Any = missing
        table, _ = check_table(frame[list(self.names)], on_collinear="keep", missing=policy)
        basis = effects.SEEN if self.has_seen(frame) else effects.HELD_OUT
        pairs = None
        if source is not None or target is not None:
            sources = self.names if source is None else (source,)
            targets = self.names if target is None else (target,)
            pairs = [(a, b) for a in sources for b in targets if a != b or source == target]
        found = effects.effects(self._answer, table, basis=basis, pairs=pairs)
        if source is not None and target is not None:
            return found
        return replace(found, effects=tuple(one for one in found.effects if any(one.total)))

    def report(self, path: str | Path) -> Path:
        """Write a single HTML file that explains this result; see :func:`drbo.result.report.page.write_report`."""
        from drbo.result.report.page import write_report

        return write_report(self, path)

    def _repr_html_(self) -> str:
        """Show the graph in a notebook."""
        from drbo.result.report.page import notebook_html

        return notebook_html(self)

    def summary(self) -> str:
        """Return the result in plain words; the equivalence class comes first if it is the result."""
        n_edges, n_searched = int(self.dag.sum()), int(self.searched_dag.sum())
        text = export.printable
        lines = [f"{len(self.names)} variables, {self.n_rows} rows, score {text(self.score_name)}", ""]
        if self.score_equivalent:
            undirected = int(self.undirected.sum()) // 2
            kind = "CPDAG" if (self.mpdag == self.cpdag).all() else "MPDAG, the CPDAG refined by background knowledge"
            lines += [
                f"Equivalence class ({kind}): {n_edges - undirected} directed and {undirected} undirected edges",
                *_edge_lines(self.mpdag, self.names, None, None),
                "",
                f"DAG (one member of the class): {n_edges} edges",
            ]
        else:
            lines.append(f"DAG: {n_edges} edges")
        lines += _edge_lines(self.dag, self.names, self.weights, self.standardised_weights)
        lines += [
            "",
            f"score        {self.score:.6f} before pruning, {self.pruned_score:.6f} after",
            f"pruning      {text(self.pruner)}: {n_searched - n_edges} of {n_searched} edges removed",
            f"search       {self.n_evals} evaluations, {self.n_local} local scores, {self.seconds:.1f} s",
            *self._insight_lines(),
            *self._frequency_lines(),
            "assumed      no hidden common causes; FCI in causal-learn does not assume this (to_causallearn(), "
            "docs/hidden.md)",
            f"found by     {text(self.found_by) or 'not recorded'}",
            f"stopped      {text(self.stopped) or 'not recorded'}",
            *([f"{'':<12} {CUT_SHORT}"] if self.cut_short else []),
        ]
        lines += [f"{'' if k else 'why':<12} {text(reason)}" for k, reason in enumerate(self.reasons)]
        return "\n".join(lines)

    def _insight_lines(self) -> list[str]:
        """Return what is proved, and how far behind the next class is."""
        lines = []
        if self.upper_bound is not None:
            gap, before = self.gap or 0.0, " before pruning" if (self.dag != self.searched_dag).any() else ""
            proved = "the optimum" if gap == 0 else f"at most {gap:.6g} below the optimum"
            lines.append(f"proof        the graph{before} is {proved} of {self.bound_valid_for}")
        if len(self.top) > 1:
            over = export.printable(str(self.insight.get("over", "")))
            lines.append(
                f"runner-up    the next-best equivalence class scores {self.top[1]['behind']:.6g} lower ({over})"
            )
        return lines

    def _frequency_lines(self) -> list[str]:
        """Return what the frequencies of edges come from, and the least of them."""
        if (found := self.confidence) is None:
            return []
        what = {"imputation": "imputed tables", "seeds": "seeds"}.get(found.kind, "resamples")
        links = found.adjacent[self.dag]
        least = f", the weakest edge in {100 * links.min():.0f}% of them" if len(links) else ""
        others = int((np.triu(found.adjacent, 1) >= found.cut).sum()) if found.cut > 0 else 0
        links_above = f"{others} links at or above the threshold of {found.cut:.2f}"
        return [f"frequencies  {found.count} {what}{least}; {links_above}: see edges()"]

    def save(self, folder: str | Path) -> Path:
        """Write result.json, result.npz and edges.csv to a folder, and return the folder.

        Examples
        --------
        >>> import tempfile
        >>> one = Result(names=("a",), dag=[[0]], searched_dag=[[0]], score=1 / 3, pruned_score=0.1, score_name="bge",
        ...     score_equivalent=True, local=[0.5], price=[0.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Result.load(one.save(folder)).score == 1 / 3
        True
        """
        folder = Path(folder)
        content: dict[str, Any] = {name: _plain(getattr(self, name)) for name in JSON_TYPES}
        _check_plain(content, "result")
        arrays = self._arrays()
        packed = npz_bytes(arrays)
        about = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "optional_arrays": [name for name in OPTIONAL_ARRAYS if name in arrays],
            "trace_length": len(self.trace_columns["n_evals"]),
            "sha256": hashlib.sha256(packed).hexdigest(),
        }
        text = json.dumps(about | content, indent=1, allow_nan=False)
        table = self.edges()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ResultError(f"{folder} cannot be created: {error.strerror}", hint="choose another folder") from error
        write_file(folder / "result.npz", packed)
        write_file(folder / "edges.csv", export.csv_bytes([list(table), *table.itertuples(index=False)]))
        write_file(folder / "result.json", text.encode())
        return folder

    def _arrays(self) -> dict[str, Any]:
        named = ("dag", "searched_dag", "local", "price", *OPTIONAL_ARRAYS)
        arrays = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return arrays | {f"trace_{name}": column for name, column in self.trace_columns.items()}

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a result written by :meth:`save`; other content raises a ResultError, and nothing is unpickled.

        Sizes, types and the checksum are verified before the arrays are read.
        """
        path = Path(folder) / "result.json"
        with refusing(path):
            content = read_json(read_bytes(path, MAX_TEXT_BYTES))
            _check_content(content, path)
            _check_plain(content, path.name)
            values = {name: content[name] for name in JSON_TYPES}
            values |= {name: float(values[name]) for name, kind in JSON_TYPES.items() if kind is float}
            values["settings"] = under_present_names(values["settings"], values["reasons"])
        path = path.with_name("result.npz")
        with refusing(path):
            arrays = _read_arrays(path, content)
            trace = {name: arrays.pop(f"trace_{name}") for name in TRACE_TYPES}
            return cls(**values, **arrays, trace_columns=trace)


def was_cut_short(stopped: str) -> bool:
    """Tell whether these words, why a run ended, speak of a time limit or of an interruption.

    Examples
    --------
    >>> was_cut_short("budget of 100 evaluations spent"), was_cut_short("time limit of 5 s reached")
    (False, True)
    """
    return "time limit" in stopped or "interrupted" in stopped


def _checked_dag(matrix: npt.ArrayLike, name: str) -> Bools:
    try:
        return check_dag(matrix)
    except DataError as error:
        raise ResultError(f"{name}: {error.message}", hint=error.hint) from error


def _frozen(values: npt.ArrayLike, name: str, shape: tuple[int, ...], kind: str) -> npt.NDArray[Any]:
    """Return a read-only copy."""
    array = np.array(values, dtype=kind)
    if array.shape != shape:
        raise ResultError(f"{name} must have shape {shape}, got {array.shape}")
    array.setflags(write=False)
    return array


def _plain(value: Any) -> Any:
    """Return a copy made of what JSON knows, so that a saved result reads back equal; strangers stay as they are."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return value


def _check_plain(value: Any, where: str) -> None:
    """Refuse what JSON cannot hold, and name the place."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_plain(item, f"{where}.{key}")
    elif isinstance(value, list):
        for k, item in enumerate(value):
            _check_plain(item, f"{where}[{k}]")
    elif not isinstance(value, str | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        raise ResultError(
            f"{where} must be a string, a finite number, a list or a table, got {value!r:.80}",
            hint="use None for a value that is not set",
        )


def _check_content(content: Any, path: Path) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ResultError(f"{path} is not a saved result", hint="give a folder that 'drbo fit -o' wrote")
    if content.get("version") != FORMAT_VERSION:
        raise ResultError(
            f"{path} has format version {content.get('version')!r}, but this version of drbo reads only "
            f"{FORMAT_VERSION}",
            hint="use the version of drbo that wrote this file",
        )
    for name, kind in (JSON_TYPES | FILE_TYPES).items():
        if name not in content:
            raise ResultError(f"{path} has no entry '{name}'", hint="the file was changed or is incomplete")
        value = content[name]
        fits = type(value) in (int, float) if kind is float else type(value) is kind
        if not fits:
            raise ResultError(f"{path}: '{name}' must be {kind.__name__}, got {value!r:.80}")
    texts = [*content["names"], *content["reasons"], *content["versions"].values()]
    wrong = next((text for text in texts if not isinstance(text, str)), None)
    if wrong is not None:
        raise ResultError(f"{path}: names, reasons and versions must be strings, got {wrong!r:.80}")
    if not 1 <= len(content["names"]) <= export.MAX_NODES:
        raise ResultError(f"{path}: a graph must have 1 to {export.MAX_NODES} nodes, got {len(content['names'])}")
    if not 0 <= content["trace_length"] <= MAX_TRACE:
        raise ResultError(f"{path}: trace_length must be in 0..{MAX_TRACE}, got {content['trace_length']}")


def _read_arrays(path: Path, content: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of result.npz; their shapes must be those that result.json implies."""
    d = len(content["names"])
    optional = [name for name in OPTIONAL_ARRAYS if name in content["optional_arrays"]]
    expected: dict[str, tuple[tuple[int, ...], str]] = dict.fromkeys(("dag", "searched_dag"), ((d, d), "|b1"))
    expected |= dict.fromkeys(("local", "price"), ((d,), "<f8")) | dict.fromkeys(optional, ((d, d), "<f8"))
    expected |= {f"trace_{name}": ((content["trace_length"],), kind) for name, kind in TRACE_TYPES.items()}
    room = sum(math.prod(shape) * np.dtype(kind).itemsize + 1024 for shape, kind in expected.values())
    raw = read_bytes(path, limit=room)
    if hashlib.sha256(raw).hexdigest() != content["sha256"]:
        raise ResultError(f"{path} does not match the checksum in result.json", hint="one of these files was changed")
    arrays = {}
    with stored_archive(io.BytesIO(raw), f"{path}") as archive:
        if sorted(archive.namelist()) != sorted(f"{name}.npy" for name in expected):
            raise ResultError(f"{path} must contain {', '.join(expected)}, got {', '.join(archive.namelist())[:200]}")
        for name, (shape, kind) in expected.items():
            arrays[name] = read_member(archive, name, f"{path} {name}", shape=shape, dtype=kind)
    return arrays


def _edge_lines(graph: Bools, names: tuple[str, ...], weights: Floats | None, standardised: Floats | None) -> list[str]:
    """Return one line per edge, with its weights where there are some; a long list is cut."""
    edges = [(i, j) for i, j in np.argwhere(graph).tolist() if i < j or not graph[j, i]]
    shown = [export.printable(name) for name in names]
    heads = [f"{shown[i]} {'--' if graph[j, i] else '->'} {shown[j]}" for i, j in edges[:SHOWN_EDGES]]
    width = max(map(len, heads), default=0)
    lines = []
    for head, (i, j) in zip(heads, edges, strict=False):
        weight = "" if weights is None else f"  {weights[i, j]:+.4g}"
        scaled = "" if standardised is None else f"  (standardised {standardised[i, j]:+.2f})"
        lines.append(f"  {head:<{width}}{weight:<12}{scaled}".rstrip())
    if len(edges) > SHOWN_EDGES:
        lines.append(f"  ... and {len(edges) - SHOWN_EDGES} more: see edges()")
    return lines
