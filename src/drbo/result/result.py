"""The result of a fit: the graph, what is known about it, how it was found, and how to show and export it.

The module is long because all public members of a result are here; most of their work is done in other modules.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from drbo.arrays import Bools, Floats, Ints
from drbo.claims.directions import EdgeDirection
from drbo.claims.record import AncestralRecord, Claims, EdgeValues, Graph, Margins, Proof, RankedClass
from drbo.claims.refits.confidence import Confidence
from drbo.constraints import Constraints
from drbo.data.files.names import check_names
from drbo.graph.dag import dag_to_cpdag
from drbo.graph.marks import MarkedGraph
from drbo.knowledge import Knowledge
from drbo.result import on_data, records
from drbo.result.files import export, handover
from drbo.result.records import Provenance, Scoring, SearchRecord, SeriesRecord, TableRecord, Told, settled
from drbo.result.words import answer, edge_list
from drbo.result.words.plain_text import shell_line
from drbo.result.words.reading import Reading, reading_of
from drbo.result.words.summary import summary

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from matplotlib.axes import Axes

    from drbo.result.effects import Effects
    from drbo.result.forecasts import Forecasts
    from drbo.result.identified_effects import IdentifiedEffects
    from drbo.result.interventions import Probabilities
    from drbo.result.judgement import Judgement
    from drbo.result.responses import Responses
    from drbo.result.words.ranked_experiments import NextExperiments


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result:
    """The result of a fit: read-only, with everything needed to repeat the fit.

    The answer is ``graph``: the class of ``dag`` where the score ties it (``score_equivalent``), or a PAG (``hidden``).

    Examples
    --------
    >>> dag = [[0, 1], [0, 0]]
    >>> result = Result(names=("rain", "wet"), dag=dag, pruned_score=-7.5, search=SearchRecord(dag=dag, score=-7.5),
    ...     scoring=Scoring(name="bic-nv", equivalent=True))
    >>> result
    <Result: 2 nodes, 1 edge, bic-nv -7.5>
    >>> result.edges()[["source", "target", "direction", "reason"]].to_dict("records")
    [{'source': 'rain', 'target': 'wet', 'direction': 'open', 'reason': 'tie'}]
    """

    names: tuple[str, ...]  # of the columns, in the order of every array
    dag: Graph  # (d, d) the answer, after pruning
    pruned_score: float  # of dag
    scoring: Scoring  # the score that was maximised
    search: SearchRecord  # the best DAG before pruning, and how it was found
    pruner: str = "none"  # what removed weak edges
    weights: EdgeValues | None = None  # (d, d) linear weights of dag in the units of the data
    standardised_weights: EdgeValues | None = None  # (d, d) the same for columns of variance 1
    proof: Proof | None = None  # an upper bound on the score, where there is one
    claims: Claims = field(default_factory=Claims)  # margins, other classes and posterior, before pruning
    hidden: AncestralRecord | None = None  # the graph with hidden causes, where they are allowed
    confidence: Confidence | None = None  # shares of resamples that have each edge and path; None without a bootstrap
    knowledge: Knowledge = field(default_factory=Knowledge)  # what the user knew
    table: TableRecord = field(default_factory=TableRecord)  # what the graph was learned from
    outcome: records.OutcomeRecord | None = None  # the sizes of effects on the column that matters
    series: SeriesRecord | None = None  # the lags of the columns, where rows have a past
    provenance: Provenance = field(default_factory=Provenance)  # settings, seed and versions
    line: str = ""  # of Python that repeats the run
    argv: tuple[str, ...] = ()  # the words of the command that made it, where one did
    reasons: tuple[str, ...] = ()  # why this score; what the data check had to say
    told: Told | None = None  # of a saved result: what it said about its graph; None: derived from the records

    def __post_init__(self) -> None:
        answer.check_dags(dag=self.dag, **{"search.dag": self.search.dag})
        kept = settled(self, {"d": len(self.dag), "t": len(self.search.trace.n_evals)})
        for name, value in (kept | {"names": check_names(self.names, len(self.dag))}).items():
            object.__setattr__(self, name, value)  # the way to fill a frozen dataclass
        answer.check_records(self)

    def __repr__(self) -> str:
        n, score = self.reading.member().n_edges, self.reading.allowed or f" {self.pruned_score:.10g}"
        return f"<Result: {len(self.names)} nodes, {n} edge{'s' * (n != 1)}, {self.score_name}{score}>"

    @property
    def call(self) -> str:
        """How to repeat the run: a line of the shell, quoted word by word, or of Python."""
        return shell_line(self.argv) or self.line

    @property
    def score(self) -> float:
        """Score of ``searched_dag``, before pruning; ``pruned_score`` is that of ``dag``."""
        return self.search.score

    @property
    def score_name(self) -> str:
        """The score that was maximised."""
        return self.scoring.name

    @property
    def score_equivalent(self) -> bool:
        """The score ties all DAGs of a Markov equivalence class."""
        return self.scoring.equivalent

    @property
    def searched_dag(self) -> Bools:
        """(d, d) the best DAG of the search, before pruning."""
        return self.search.dag

    @property
    def stopped(self) -> str:
        """Why the search ended, in words."""
        return self.search.stopped

    @property
    def cut_short(self) -> bool:
        """Whether a time limit or an interruption ended the run, so that another run may find a different graph."""
        return self.search.cut_short or not self.reading.whole

    @property
    def n_evals(self) -> int:
        """Evaluated DAGs."""
        return self.search.n_evals

    @property
    def n_local(self) -> int:
        """Computed local scores; the search over orders counts one that it computes again."""
        return self.search.n_local

    @property
    def seconds(self) -> float:
        """Seconds that the search took."""
        return self.search.seconds

    @property
    def trace(self) -> "pd.DataFrame":
        """The progress of the search: n_evals (DAGs), n_local (computed local scores), seconds, best score."""
        import pandas as pd  # only where a frame is asked for

        return pd.DataFrame({name: column.copy() for name, column in vars(self.search.trace).items()})

    @property
    def settings(self) -> dict[str, Any]:
        """The settings, as Settings.to_dict(), with the route that was taken."""
        return self.provenance.settings

    @property
    def seed(self) -> int:
        """With the settings and the versions it gives the same graph."""
        return self.provenance.seed

    @property
    def margins(self) -> Margins | None:
        """What the score before pruning loses when an edge is removed or reversed."""
        return self.claims.margins

    @property
    def posterior(self) -> Floats | None:
        """(d, d) probability of each edge under the score, if it is a log evidence.

        Directions in it rest on the assumptions of the score: see ``p_link``, and :meth:`edges` for directions.
        """
        return self.claims.posterior

    @property
    def p_link(self) -> Floats | None:
        """(d, d) probability that two columns are linked in either direction, for scores that are a log evidence."""
        return None if self.posterior is None else np.clip(self.posterior + self.posterior.T, 0.0, 1.0)

    @cached_property
    def directions(self) -> tuple[EdgeDirection, ...]:
        """What may be said about each edge, in the order of :meth:`edges`."""
        told = self.told
        return self.reading.directions(self.constraints) if told is None else answer.told_directions(self, told)

    @property
    def top(self) -> tuple[RankedClass, ...]:
        """The best equivalence classes, best first: score, distance to the best score, edges of the best DAG."""
        return self.claims.classes

    @property
    def gap(self) -> float | None:
        """The most that ``score`` can lie below the optimum; 0: it is optimal; None: no bound was proved."""
        return None if self.proof is None else self.proof.gap(self.score)

    @cached_property
    def constraints(self) -> Constraints:
        """The knowledge about the columns of every array."""
        return Constraints.of(self.knowledge, self.names, () if self.series is None else self.series.lags)

    @cached_property
    def _cpdag(self) -> Bools:
        return dag_to_cpdag(self.dag)

    @cached_property
    def _mpdag(self) -> Bools:
        return answer.class_under_knowledge(self, self.constraints)

    @cached_property
    def reading(self) -> Reading:
        """What the kind of graph decides about lists, pictures and words."""
        return reading_of(self)

    @cached_property
    def graph(self) -> MarkedGraph:
        """The answer: a PAG where causes may be hidden, the class where the score finds a class, else ``dag``."""
        if self.told is not None:
            return MarkedGraph(self.names, self.told.marks, self.told.kind)
        return self.reading.graph(self.constraints)

    @cached_property
    def drawn(self) -> Bools:
        """(d, d) the edges as they are listed and drawn: ``dag``, or those of a PAG without cycles."""
        return self.reading.drawn()

    @property
    def window(self) -> Bools:
        """(L + 1, d, d) of series: ``window[l, i, j]``: column i at t - l acts on column j at t, by ``dag``."""
        return answer.window_of(self).edges_at

    @property
    def cpdag(self) -> Bools:
        """The Markov equivalence class of ``dag``; an undirected edge is present in both directions."""
        return self._cpdag.copy()

    @property
    def mpdag(self) -> Bools:
        """The equivalence class under the knowledge and the experiments: ``cpdag`` with further edges directed."""
        return self._mpdag.copy()

    @property
    def undirected(self) -> Bools:
        """(d, d) True in both directions for edges whose direction is open, with two circles in a PAG."""
        return (found := self._with_direction("open")) | found.T

    @property
    def assumed(self) -> Bools:
        """(d, d) True for the edges of ``drawn`` whose direction, or a mark, is assumed: see ``directions``."""
        return self._with_direction("assumed")

    def _with_direction(self, direction: str) -> Bools:
        mask = self.drawn.copy()
        mask[self.drawn] = [one.direction == direction for one in self.directions]
        return mask

    @property
    def weak(self) -> Bools:
        """(d, d) True for edges of ``drawn`` with a ``p_link`` below 0.8 or, after a bootstrap, too low a frequency."""
        return edge_list.weak(self)

    def why(self) -> dict[tuple[str, str], str]:
        """Return what determines the direction of each edge, see :func:`drbo.claims.why.reasons`, or what marks say."""
        words = self.reading.reasons(self.constraints) if self.told is None else self.told.reasons
        return {(one.cause, one.effect): why for one, why in zip(self.directions, words, strict=True)}

    def edges(self) -> "pd.DataFrame":
        """Return the edges of ``dag``.

        ``direction`` is supported, assumed or open, and ``ground`` names what supports it; the noise check prefers the
        reverse of a ``contradicted`` edge. ``stable`` is the share of halves of the rows with the arrow. The margins
        are the loss in score, before pruning, if the edge is removed or reversed and the rest re-optimised; NaN: no
        such graph was scored. ``p_forward`` and ``p_backward`` divide ``p_link``, where that is valid. After a
        bootstrap, ``frequency`` is the share of resamples with this edge, ``link_frequency`` in either direction. Of a
        PAG: docs/guide/hidden.md.
        """
        return edge_list.table(self)

    def cpdag_edges(self) -> "pd.DataFrame":
        """Return the edges of ``cpdag``; an undirected edge has one row."""
        both = self._cpdag & self._cpdag.T
        return export.edge_table(self._cpdag & ~np.tril(both), self.names, directed=~both)

    @property
    def targets(self) -> "pd.DataFrame":
        """What each experiment changes: experiment, column, margin, kind; after a bootstrap also the frequency."""
        return edge_list.target_table(self)

    @property
    def arms(self) -> "pd.DataFrame":
        """What randomised columns change: means or shares of two arms, and their difference with a 95% interval."""
        return edge_list.arm_table(self)

    def adjacency(self) -> "pd.DataFrame":
        """Return ``dag`` as a data frame of 0 and 1 with named rows and columns: row -> column."""
        return export.adjacency_frame(self.dag, self.names)

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return the edges as a networkx DiGraph, with ``direction``, ``ground``, weights or marks as attributes."""
        weights = (self.weights, self.standardised_weights)
        return export.to_networkx(self.drawn, self.names, *weights, self.reading.notes())

    @property
    def causal_matrix(self) -> Ints:
        """``dag`` in gCastle's format: an array of 0 and 1, row -> column."""
        return self.dag.astype(np.int64)

    def to_causallearn(self) -> Any:
        """Return ``graph`` as a causal-learn GeneralGraph."""
        return handover.to_causallearn(self.graph)

    def to_pgmpy(self) -> Any:
        """Return ``dag`` as a pgmpy DAG; edges have ``direction`` and ``ground`` as attributes."""
        self.reading.refuse("to_pgmpy()")
        return handover.to_pgmpy(self.reading.member(), self.reading.notes())

    def export(self, path: str | Path, *, as_class: bool = False) -> Path:
        """Write the graph in the format given by the file extension; see :mod:`drbo.result.files.handover`.

        Most say what the direction of each edge rests on. ``as_class`` writes the class instead of ``dag``.
        """
        return self.reading.export(path, as_class=as_class)

    def plot(self, path: str | Path | None = None, ax: "Axes | None" = None) -> "Axes | None":
        """Draw the graph: an SVG file, or with :func:`matplotlib <drbo.result.pictures.plot.draw>`; return the axes."""
        from drbo.result.pictures.svg import picture

        return picture(self, path, ax)

    def plot_trace(self, path: str | Path | None = None) -> "Axes":
        """Draw the best score against the evaluations; see :func:`drbo.result.pictures.plot.plot_trace`."""
        from drbo.result.pictures.svg import plots

        return cast("Axes", plots().plot_trace(self, path=path))

    def plot_compare(self, truth: npt.ArrayLike, path: str | Path | None = None, ax: "Axes | None" = None) -> "Axes":
        """Draw correct, missing, extra and reversed edges; see :func:`drbo.result.pictures.plot.plot_compare`."""
        from drbo.result.pictures.svg import plots

        return cast("Axes", plots().plot_compare(self, truth, path=path, ax=ax))

    def has_seen(self, X: Any) -> bool:
        """Tell whether a table is the one that the graph was learned from; a subset of its rows is not recognised."""
        return on_data.has_seen(self, X)

    def score_of(self, graph: npt.ArrayLike, X: Any, *, score: Any = None) -> float:
        """Return the score of any DAG (d, d) over ``names`` on a table; a score that is not built in must be given."""
        return on_data.score_of(self, graph, X, score)

    def judge(self, X: Any, **options: Any) -> "Judgement | Forecasts":
        """Judge the graph on rows that it was not learned from, with its own score; see :mod:`drbo.result.judge`."""
        return on_data.judgement_of(self, X, options)

    def effects(
        self, X: Any, source: str | None = None, target: str | None = None, *, missing: str = "error"
    ) -> "Effects | IdentifiedEffects | Responses":
        """Return linear effects of one pair or all: :mod:`drbo.result.effects`; of a PAG: ``identified_effects``."""
        return on_data.effects_of(self, X, source, target, missing)

    def probabilities(self, X: Any, source: str, level: str, target: str, *, missing: str = "error") -> "Probabilities":
        """Return how a category would be distributed if another were set; see :mod:`drbo.result.interventions`."""
        self.reading.refuse("probabilities()")
        return on_data.probabilities_of(self, X, (source, level), target, missing)

    def next_experiments(self, X: Any = None, **options: Any) -> "NextExperiments":
        """Rank experiments by what they would tell; see :func:`drbo.result.next_experiments.next_experiments`."""
        from drbo.result.next_experiments import next_experiments

        self.reading.refuse("next_experiments()")
        return next_experiments(self, X, **options)

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
        return summary(self)

    __str__ = summary

    def save(self, folder: str | Path) -> Path:
        """Write result.json, result.npz and edges.csv to a folder, and return the folder; :meth:`load` reads them."""
        from drbo.result.files.storage import save

        return save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> "Result":
        """Read a result written by :meth:`save`; other content raises a ResultError, and nothing is unpickled."""
        from drbo.result.files.storage import load

        return load(Path(folder))
