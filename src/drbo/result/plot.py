"""Pictures of a graph and of a search, with matplotlib alone."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path as Curve
from matplotlib.textpath import TextToPath
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from drbo.errors import ResultError
from drbo.graph import check_dag
from drbo.result.export import check_names, printable
from drbo.result.layout import Layout, layered_routes
from drbo.result.result import Result

# Blue and vermilion of Okabe & Ito (2008) stay apart under the common kinds of colour blindness.
POSITIVE, NEGATIVE, PLAIN = "#0072B2", "#D55E00", "#52606D"
BOX_FILL, BOX_EDGE, INK, NOTE_INK = "#F3F6F9", "#8592A0", "#1F2933", "#52606D"

# Sizes in points at scale 1.
LAYER = 64.0
FONT, NOTE_FONT = 10.0, 8.5
BOX_HEIGHT, BOX_PADDING, BOX_ROUND = 22.0, 8.0, 6.0
HEAD_LENGTH, HEAD_WIDTH = 6.5, 5.5
THIN, THICK = 0.9, 3.2  # lines of standardised weight 0 and 1
FAINT = 0.45  # opacity of standardised weight 0
DEFAULT_STRENGTH = 0.25  # of edges without weights
MARGIN = 10.0
NOTE_ROW, NOTE_LINE, NOTE_GAP, NOTE_TOP = 16.0, 22.0, 14.0, 4.0
MIN_WIDTH = 220.0
MAX_INCHES = 24.0
MAX_LABEL = 26  # characters; longer names lose their middle
PORT_GAP = 11.0  # between the ends of two edges at a node
FLATTEST_END, FLATTEST_PASS = 1.0, 0.35  # sideways per downwards, at a node and between two nodes
STEP = 2.0  # distance of the points along an edge

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def draw(
    graph: Result | npt.ArrayLike,
    names: Sequence[str] | None = None,
    weights: npt.ArrayLike | None = None,
    undirected: npt.ArrayLike | None = None,
    path: str | Path | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a DAG in layers, causes above effects, and return the axes.

    Parameters
    ----------
    graph : a Result, which brings its own names, weights and undirected edges, or a (d, d) adjacency.
    names : one per node, shown as plain text; x0, x1, ... where not given.
    weights : (d, d) standardised weights: width by size, colour by sign.
    undirected : (d, d) True for edges whose direction the data cannot tell: drawn without an arrowhead.
    path : file to write (png, svg, pdf). Without it and without ``ax``, the figure is one of pyplot's.
    ax : axes to draw into; the picture is scaled to fit.

    Examples
    --------
    >>> axes = draw([[0, 1], [0, 0]], names=["rain", "wet $treet"], weights=[[0, 0.8], [0, 0]], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['rain', 'wet $treet', 'positive', 'width: size of the standardised weight']
    """
    dag, labels, values, mask = _parts(graph, names, weights, undirected)
    widths = np.array([_text_width(label, FONT) + 2 * BOX_PADDING for label in labels])
    layout = layered_routes(dag, widths / LAYER)
    centres = layout.positions * LAYER
    notes = _notes(dag, values, mask)
    frame = _frame(centres, widths, layout, notes)
    axes, scale = _canvas(frame, path, ax)
    sizes = np.full(len(layout.edges), DEFAULT_STRENGTH) if values is None else np.abs(values[tuple(layout.edges.T)])
    routes = _with_ports(layout, widths)
    for k in np.argsort(sizes, kind="stable"):  # strong edges on top
        source, target = layout.edges[k]
        sign = 0.0 if values is None else float(values[source, target])
        _draw_edge(axes, _curve(routes[k]), sign, min(1.0, float(sizes[k])), not mask[source, target], scale)
    for centre, width, label in zip(centres, widths, labels, strict=True):
        _draw_node(axes, centre, width, label, scale)
    _draw_notes(axes, notes, frame, scale)
    if path is not None:
        _write(axes, path)
    return axes


def draw_trace(result: Result, path: str | Path | None = None) -> Axes:
    """Draw the best score against the number of evaluations.

    Examples
    --------
    >>> trace = {"n_evals": [1, 2], "n_local": [2, 4], "seconds": [0.1, 0.2], "best": [-9.0, -7.0]}
    >>> result = Result(names=("a",), dag=[[0]], searched_dag=[[0]], score=-7.0, pruned_score=-7.0, score_name="bic-nv",
    ...     score_equivalent=True, local=[-7.0], price=[0.0], trace_columns=trace)
    >>> draw_trace(result).get_ylabel()
    'best score (bic-nv)'
    """
    evaluations, best = result.trace_columns["n_evals"], result.trace_columns["best"]
    known = np.isfinite(best)
    if not known.any():
        raise ResultError("the trace of this result is empty", hint="it has no finite score to draw")
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
        _write(axes, path)
    return axes


def _parts(
    graph: Result | npt.ArrayLike,
    names: Sequence[str] | None,
    weights: npt.ArrayLike | None,
    undirected: npt.ArrayLike | None,
) -> tuple[Bools, list[str], Floats | None, Bools]:
    """Return the adjacency, labels, weights and mask of undirected edges of a Result or of what was given."""
    if isinstance(graph, Result):
        names = graph.names if names is None else names
        weights = graph.standardised_weights if weights is None else weights
        undirected = graph.undirected if undirected is None else undirected
        graph = graph.dag
    dag = check_dag(graph, names)
    d = len(dag)
    if d == 0:
        raise ResultError("a picture needs at least one node, got an empty graph")
    values = None if weights is None else np.asarray(weights, dtype=np.float64)
    if values is not None and (values.shape != (d, d) or not np.isfinite(values[dag]).all()):
        raise ResultError(f"weights must be a ({d}, {d}) matrix, finite on the edges, got shape {values.shape}")
    mask = np.zeros((d, d), dtype=bool) if undirected is None else np.asarray(undirected) != 0
    if mask.shape != (d, d):
        raise ResultError(f"undirected must be a ({d}, {d}) matrix, got shape {mask.shape}")
    return dag, [_label(name) for name in check_names(names, d)], values, mask | mask.T


def _label(name: str) -> str:
    text = printable(name)
    if len(text) <= MAX_LABEL:
        return text
    return f"{text[: MAX_LABEL // 2]}…{text[-(MAX_LABEL // 2 - 1) :]}"


def _text_width(text: str, size: float) -> float:
    width, _, _ = TextToPath().get_text_width_height_descent(text, FontProperties(size=size), ismath=False)
    return float(width)


def _notes(dag: Bools, weights: Floats | None, undirected: Bools) -> list[tuple[str, str]]:
    """Return the legend: (colour, text) per entry; an entry without a colour has no line."""
    notes = []
    if weights is not None and dag.any():
        notes += [(POSITIVE, "positive")] if (weights[dag] > 0).any() else []
        notes += [(NEGATIVE, "negative")] if (weights[dag] < 0).any() else []
        notes += [("", "width: size of the standardised weight")]
    if (dag & undirected).any():
        notes += [("", "no arrowhead: the data do not tell the direction")]
    return notes


def _frame(centres: Floats, widths: Floats, layout: Layout, notes: list[tuple[str, str]]) -> Floats:
    """Return left, bottom, right, top of the picture with its legend, in points."""
    half = np.column_stack([widths / 2, np.full(len(widths), BOX_HEIGHT / 2)])
    bends = np.vstack([*layout.routes, layout.positions]) * LAYER
    left, bottom = np.minimum((centres - half).min(axis=0), bends.min(axis=0)) - MARGIN
    right, top = np.maximum((centres + half).max(axis=0), bends.max(axis=0)) + MARGIN
    spare = max(0.0, MIN_WIDTH - (right - left)) / 2
    rows = len(_note_rows(notes, right - left + 2 * spare))
    return np.array([left - spare, bottom - rows * NOTE_ROW - (NOTE_TOP if rows else 0), right + spare, top])


def _canvas(frame: Floats, path: str | Path | None, ax: Axes | None) -> tuple[Axes, float]:
    """Return the axes and the scale at which the picture fills them, text and lines included."""
    width, height = frame[2] - frame[0], frame[3] - frame[1]
    if ax is None:
        scale = min(1.0, MAX_INCHES * 72 / max(width, height))
        size = (width * scale / 72, height * scale / 72)
        if path is None:
            from matplotlib import pyplot  # a figure that notebooks and show() can see

            figure = pyplot.figure(figsize=size)
        else:
            figure = Figure(figsize=size)
        ax = figure.add_axes((0, 0, 1, 1))
    else:
        room = ax.get_window_extent()
        dots = ax.figure.dpi / 72
        scale = min(room.width / dots / width, room.height / dots / height)
    ax.set(xlim=(frame[0], frame[2]), ylim=(frame[1], frame[3]), aspect="equal")
    ax.set_axis_off()
    return ax, float(scale)


def _with_ports(layout: Layout, widths: Floats) -> list[Floats]:
    """Return the routes in points, from the lower border of the source to the upper border of the target.

    The ends of the edges of a node are spread along its border in the order in which they come in.
    """
    routes = [route * LAYER for route in layout.routes]
    for end, near, side in ((0, 1, -1), (-1, -2, 1)):
        for node, width in enumerate(widths):
            members = [k for k, edge in enumerate(layout.edges) if edge[end] == node]
            members.sort(key=lambda k: routes[k][near, 0])
            reach = min(width / 2 - BOX_ROUND, PORT_GAP * (len(members) - 1) / 2)
            for k, offset in zip(members, np.linspace(-reach, reach, len(members)), strict=True):
                routes[k][end] += (offset if len(members) > 1 else 0.0, side * BOX_HEIGHT / 2)
    return routes


def _curve(route: Floats) -> Floats:
    """Return points along a smooth line through the route; y falls all the way.

    The line is steep where it meets a node, and steeper where it passes between two: it must not touch them.
    """
    across, down = route[:, 0], -route[:, 1]
    slopes = np.diff(across) / np.diff(down)
    tangents = np.clip(slopes[[0, -1]], -FLATTEST_END, FLATTEST_END)
    if len(route) > 2:
        inner = np.clip(PchipInterpolator(down, across).derivative()(down[1:-1]), -FLATTEST_PASS, FLATTEST_PASS)
        band = np.array([-1, 1]) * BOX_HEIGHT / 2
        across = np.r_[across[0], (across[1:-1, None] + inner[:, None] * band).ravel(), across[-1]]
        down = np.r_[down[0], (down[1:-1, None] + band).ravel(), down[-1]]
        tangents = np.r_[tangents[0], np.repeat(inner, 2), tangents[1]]
    spline = CubicHermiteSpline(down, across, tangents)
    length = float(np.linalg.norm(np.diff(route, axis=0), axis=1).sum())
    depths = np.linspace(down[0], down[-1], max(8, int(length / STEP)))
    return np.column_stack([spline(depths), -depths])


def _draw_edge(axes: Axes, line: Floats, sign: float, strength: float, arrow: bool, scale: float) -> None:
    colour = PLAIN if sign == 0 else POSITIVE if sign > 0 else NEGATIVE
    alpha = FAINT + (1 - FAINT) * strength
    thickness = THIN + (THICK - THIN) * strength
    if arrow:
        tip = line[-1]
        length = HEAD_LENGTH + 1.2 * thickness
        far = np.linalg.norm(line - tip, axis=1) > length
        far[0] = True
        line = line[: int(np.flatnonzero(far)[-1]) + 1]
        along = (tip - line[-1]) / np.linalg.norm(tip - line[-1])
        base, side = tip - length * along, np.array([-along[1], along[0]]) * (HEAD_WIDTH + 1.6 * thickness) / 2
        line = np.vstack([line, base + 0.5 * along])
        head = Polygon([tip, base + side, base - side], closed=True, facecolor=colour, edgecolor="none", alpha=alpha)
        axes.add_patch(head).set_zorder(2)
    path = PathPatch(Curve(line), fill=False, edgecolor=colour, alpha=alpha, linewidth=thickness * scale)
    path.set_capstyle("butt")
    axes.add_patch(path).set_zorder(1)


def _draw_node(axes: Axes, centre: Floats, width: float, label: str, scale: float) -> None:
    corner = (float(centre[0]) - width / 2, float(centre[1]) - BOX_HEIGHT / 2)
    style = f"round,pad=0,rounding_size={BOX_ROUND}"
    box = FancyBboxPatch(corner, width, BOX_HEIGHT, boxstyle=style, facecolor=BOX_FILL, edgecolor=BOX_EDGE)
    box.set(linewidth=0.8 * scale, zorder=3)
    axes.add_patch(box)
    text = axes.text(centre[0], centre[1], label, fontsize=FONT * scale, color=INK, zorder=4, parse_math=False)
    text.set(ha="center", va="center_baseline")


def _note_rows(notes: list[tuple[str, str]], width: float) -> list[list[tuple[float, str, str]]]:
    """Break the legend into rows of (x, colour, text) that fit the width."""
    rows: list[list[tuple[float, str, str]]] = []
    x = width
    for colour, text in notes:
        size = (NOTE_LINE if colour else 0.0) + _text_width(text, NOTE_FONT)
        if x + size > width - 2 * MARGIN:
            rows.append([])
            x = 0.0
        rows[-1].append((x, colour, text))
        x += size + NOTE_GAP
    return rows


def _draw_notes(axes: Axes, notes: list[tuple[str, str]], frame: Floats, scale: float) -> None:
    rows = _note_rows(notes, frame[2] - frame[0])
    for k, row in enumerate(rows):
        y = frame[1] + MARGIN + (len(rows) - 1 - k) * NOTE_ROW
        for x, colour, text in row:
            start = frame[0] + MARGIN + x
            if colour:
                axes.plot([start, start + NOTE_LINE - 6], [y, y], color=colour, linewidth=2.2 * scale)
                start += NOTE_LINE
            axes.text(start, y, text, fontsize=NOTE_FONT * scale, color=NOTE_INK, va="center_baseline")


def _write(axes: Axes, path: str | Path) -> None:
    figure = axes.figure
    while not isinstance(figure, Figure):  # axes inside a subfigure
        figure = figure.figure
    try:
        figure.savefig(path, dpi=200)
    except (OSError, ValueError) as error:
        raise ResultError(
            f"the picture cannot be written to {path}: {error}", hint="end the name in .png, .svg or .pdf"
        ) from error
