"""Pictures of a graph, of a search, and of a graph against the truth, with matplotlib alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from drbo.arrays import Bools, Floats
from drbo.data.files.names import check_names
from drbo.deadline import current
from drbo.errors import ResultError
from drbo.graph.dag import check_dag, check_pdag, topological_order
from drbo.graph.layout import layered_routes
from drbo.graph.metrics import compare
from drbo.result.files.export import printable
from drbo.result.pictures.canvas import (
    BOX_EDGE,
    INK,
    NOTE_FONT,
    NOTE_INK,
    EdgeNotes,
    Head,
    Stroke,
    draw_edge,
    draw_node,
    draw_notes,
    sheet,
    sheet_frame,
    write_picture,
)
from drbo.result.pictures.routes import LAYER, box_widths, curve, label, with_ports
from drbo.result.result import Result
from drbo.result.words.mark_words import mark_notes

# Blue and vermilion of Okabe & Ito (2008) stay apart under the common kinds of colour blindness.
POSITIVE, NEGATIVE, PLAIN = "#0072B2", "#D55E00", "#52606D"
THIN, THICK = 0.9, 3.2  # lines of standardised weight 0 and 1, in points
FAINT = 0.45  # opacity of standardised weight 0
DEFAULT_STRENGTH = 0.25  # of edges without weights
WEAK_DASHES = (0, (4, 2.5))  # of edges that may not be there
WRITING_SECONDS = 0.006  # that a node or an edge takes when the picture is written


#: Four colours of Okabe & Ito (2008), each with dashes of its own: told apart without colour as well.
COMPARED = {
    "correct": (Stroke("#009E73", 2.2), "right"),
    "reversed": (Stroke("#0072B2", 2.0, dashes=(0, (7, 2, 1.5, 2))), "reversed (drawn as learned)"),
    "missing": (Stroke("#3B3B3B", 1.3, dashes=(0, (4, 3))), "missing"),
    "extra": (Stroke("#D55E00", 1.8, dashes=(0, (1.2, 1.6))), "extra"),
    "undirected": (Stroke("#009E73", 2.2, head="none"), "correct, direction undetermined"),
}


def draw(
    graph: Result | npt.ArrayLike,
    names: Sequence[str] | None = None,
    weights: npt.ArrayLike | None = None,
    undirected: npt.ArrayLike | None = None,
    assumed: npt.ArrayLike | None = None,
    weak: npt.ArrayLike | None = None,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a DAG in layers, causes above effects, and return the axes.

    Parameters
    ----------
    graph : a Result, which brings its own names, weights and kinds of edges, or a (d, d) adjacency.
    names : one per node, shown as plain text; x0, x1, ... where not given.
    weights : (d, d) standardised weights: width by size, colour by sign.
    undirected : (d, d) True for edges whose direction is open: drawn without an arrowhead.
    assumed : (d, d) True for edges whose direction is only assumed: drawn with a hollow arrowhead.
    weak : (d, d) True for edges that may not be there: drawn with dashes.
    path : file to write (png, svg, pdf). Without it and without ``ax``, the figure is one of pyplot's.
    ax : axes to draw into; the picture is scaled to fit.
    """
    masks = {"undirected": undirected, "assumed": assumed, "weak": weak}
    dag, labels, values, kinds = _shown(graph, *_parts(graph, names, weights, masks))
    ends = graph.reading.ends() if isinstance(graph, Result) and graph.reading.marked else {}
    widths = box_widths(labels)
    layout = layered_routes(dag, widths / LAYER)
    centres = layout.positions * LAYER
    notes = _mark_strokes(ends) if ends else _notes(dag, values, kinds)
    frame = sheet_frame(centres, widths, layout, notes)
    axes, scale = sheet(frame, path, ax)
    sizes = np.full(len(layout.edges), DEFAULT_STRENGTH) if values is None else np.abs(values[tuple(layout.edges.T)])
    routes = with_ports(layout, widths)
    deadline = current()
    for k in np.argsort(sizes, kind="stable"):  # strong edges on top
        deadline.check()
        source, target = layout.edges[k]
        sign = 0.0 if values is None else float(values[source, target])
        strength = min(1.0, float(sizes[k]))
        colour = PLAIN if sign == 0 else POSITIVE if sign > 0 else NEGATIVE
        width, alpha = THIN + (THICK - THIN) * strength, FAINT + (1 - FAINT) * strength
        dashes = WEAK_DASHES if kinds["weak"][source, target] else ""
        start, head = ends.get((int(source), int(target)), ("none", _head(kinds, source, target)))
        stroke = Stroke(colour, width, head, alpha, dashes, start)
        draw_edge(axes, curve(routes[k]), stroke, scale)
    for centre, width, text in zip(centres, widths, labels, strict=True):
        deadline.check()
        draw_node(axes, centre, width, text, scale)
    draw_notes(axes, notes, frame, scale)
    if path is not None:
        deadline.check(WRITING_SECONDS * (len(labels) + len(routes)))
        write_picture(axes, path)
    return axes


def plot_trace(result: Result, path: str | Path | None = None) -> Axes:
    """Draw the best score against the number of evaluations.

    Examples
    --------
    >>> from drbo.result.records import Scoring, SearchRecord, Trace
    >>> trace = Trace(n_evals=[1, 2], n_local=[2, 4], seconds=[0.1, 0.2], best=[-9.0, -7.0])
    >>> result = Result(names=("a",), dag=[[0]], pruned_score=-7.0, scoring=Scoring(name="bic-nv", equivalent=True),
    ...     search=SearchRecord(dag=[[0]], score=-7.0, trace=trace))
    >>> plot_trace(result).get_ylabel()
    'best score (bic-nv)'
    """
    evaluations, best = result.search.trace.n_evals, result.search.trace.best
    known = np.isfinite(best)
    if not known.any():
        raise ResultError("the trace of this result is empty", hint="the search recorded no finite score to draw")
    figure = Figure(figsize=(5.0, 3.0), layout="constrained")
    axes = figure.subplots()
    axes.plot(evaluations[known], best[known], drawstyle="steps-post", color=POSITIVE, linewidth=1.6)
    axes.plot(evaluations[known][-1:], best[known][-1:], "o", color=POSITIVE, markersize=4)
    axes.set_xlabel("evaluated graphs", color=INK)
    axes.set_ylabel(f"best score ({printable(result.score_name)})", color=INK, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(BOX_EDGE)
    axes.tick_params(colors=NOTE_INK, labelsize=NOTE_FONT)
    axes.grid(axis="y", color="#E4E7EB", linewidth=0.8)
    axes.set_axisbelow(True)
    if path is not None:
        write_picture(axes, path)
    return axes


def plot_compare(
    learned: Result | npt.ArrayLike,
    truth: npt.ArrayLike,
    names: Sequence[str] | None = None,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a learned graph over the true one: right, reversed, missing and extra edges in four styles.

    Parameters
    ----------
    learned : a Result (its equivalence class where that is the answer), or a (d, d) DAG or CPDAG.
    truth : (d, d) the true DAG; its causes stand above its effects.
    names : one per node; those of the Result where it is one.
    path, ax : as in :func:`draw`.
    """
    if isinstance(learned, Result):
        names = learned.names if names is None else names
        learned = learned.cpdag if learned.score_equivalent else learned.dag
    graph, dag = check_pdag(learned, names), check_dag(truth, names)
    found = compare(graph, dag)
    labels = [label(name) for name in check_names(names, len(dag))]
    place = np.argsort(topological_order(dag))
    down = (graph | graph.T | dag | dag.T) & (place[:, None] < place[None, :])
    widths = box_widths(labels)
    layout = layered_routes(down, widths / LAYER)
    kinds = {kind: getattr(found, kind) for kind in COMPARED}
    notes: EdgeNotes = [
        (stroke, f"{text}: {len(kinds[kind])}") for kind, (stroke, text) in COMPARED.items() if kinds[kind]
    ]
    frame = sheet_frame(layout.positions * LAYER, widths, layout, notes)
    axes, scale = sheet(frame, path, ax)
    lines = {
        (i, j): curve(route) for (i, j), route in zip(layout.edges.tolist(), with_ports(layout, widths), strict=True)
    }
    for kind, pairs in kinds.items():
        for i, j in pairs:
            # Correct, missing and undirected edges are listed as in the truth, reversed and extra ones as learned.
            line = lines[i, j] if (i, j) in lines else lines[j, i][::-1]
            draw_edge(axes, line, COMPARED[kind][0], scale)
    for centre, width, text in zip(layout.positions * LAYER, widths, labels, strict=True):
        draw_node(axes, centre, width, text, scale)
    draw_notes(axes, notes, frame, scale)
    if path is not None:
        write_picture(axes, path)
    return axes


def _parts(
    graph: Result | npt.ArrayLike,
    names: Sequence[str] | None,
    weights: npt.ArrayLike | None,
    masks: dict[str, npt.ArrayLike | None],
) -> tuple[Bools, list[str], Floats | None, dict[str, Bools]]:
    """Return the adjacency, labels, weights and masks of kinds of edges of a Result or of what was given."""
    if isinstance(graph, Result):
        names = graph.names if names is None else names
        weights = graph.standardised_weights if weights is None else weights
        masks = {kind: getattr(graph, kind) if mask is None else mask for kind, mask in masks.items()}
        graph = graph.drawn
    dag = check_dag(graph, names)
    d = len(dag)
    if d == 0:
        raise ResultError("a plot needs at least one node, but the graph has none")
    values = None if weights is None else np.asarray(weights, dtype=np.float64)
    if values is not None and (values.shape != (d, d) or not np.isfinite(values[dag]).all()):
        raise ResultError(f"weights must be a ({d}, {d}) matrix, finite on the edges, got shape {values.shape}")
    kinds = {}
    for kind, mask in masks.items():
        found = np.zeros((d, d), dtype=bool) if mask is None else np.asarray(mask) != 0
        if found.shape != (d, d):
            raise ResultError(f"{kind} must be a ({d}, {d}) matrix, got shape {found.shape}")
        kinds[kind] = dag & (found | found.T)
    return dag, [label(name) for name in check_names(names, d)], values, kinds


def _shown(
    graph: Result | npt.ArrayLike, dag: Bools, labels: list[str], values: Floats | None, kinds: dict[str, Bools]
) -> tuple[Bools, list[str], Floats | None, dict[str, Bools]]:
    """Return the parts of a graph over the columns that pictures show."""
    if not isinstance(graph, Result) or (shown := graph.reading.shown()).all():
        return dag, labels, values, kinds
    both = np.ix_(shown, shown)
    labels = [text for text, kept in zip(labels, shown, strict=True) if kept]
    return dag[both], labels, None if values is None else values[both], {k: one[both] for k, one in kinds.items()}


def _head(kinds: dict[str, Bools], source: int, target: int) -> Head:
    if kinds["undirected"][source, target]:
        return "none"
    return "hollow" if kinds["assumed"][source, target] else "solid"


def _mark_strokes(ends: Mapping[tuple[int, int], tuple[Head, Head]]) -> EdgeNotes:
    """Return the legend of a graph with hidden causes."""
    strokes = {
        "bidirected": Stroke(PLAIN, start="solid"),
        "circle": Stroke(PLAIN, head="circle"),
        "hollow": Stroke(PLAIN, head="hollow"),
    }
    return [(strokes[text.split(" ")[0].rstrip(":")], text) for text in mark_notes(ends)]


def _notes(dag: Bools, weights: Floats | None, kinds: dict[str, Bools]) -> EdgeNotes:
    """Return the legend; an entry without a stroke has no line."""
    notes: EdgeNotes = []
    if weights is not None and dag.any():
        notes += [(Stroke(POSITIVE, 2.2, "none"), "positive")] if (weights[dag] > 0).any() else []
        notes += [(Stroke(NEGATIVE, 2.2, "none"), "negative")] if (weights[dag] < 0).any() else []
        notes += [(None, "line width: absolute standardised weight")]
    supported = dag & ~kinds["undirected"] & ~kinds["assumed"]
    if supported.any() and not supported[dag].all():
        notes += [(Stroke(PLAIN), "direction supported")]
    notes += [(Stroke(PLAIN, head="hollow"), "direction assumed")] if kinds["assumed"].any() else []
    notes += [(Stroke(PLAIN, head="none"), "direction open")] if kinds["undirected"].any() else []
    notes += [(Stroke(PLAIN, head="none", dashes=WEAK_DASHES), "weak edge")] if kinds["weak"].any() else []
    return notes
