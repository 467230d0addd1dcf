"""Draws a graph on a matplotlib figure of the right size: arrows, boxes with names, and a legend."""

import io
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch, Patch, PathPatch, Polygon
from matplotlib.path import Path as Curve

from drbo.arrays import Floats
from drbo.data.files.files import write_file
from drbo.errors import ResultError
from drbo.graph.layout import Layout
from drbo.result.pictures.routes import BOX_HEIGHT, BOX_ROUND, FONT, LAYER, text_width

BOX_FILL, BOX_EDGE, INK, NOTE_INK = "#F3F6F9", "#8592A0", "#1F2933", "#52606D"

# Sizes in points at scale 1.
NOTE_FONT = 8.5
HEAD_LENGTH, HEAD_WIDTH = 6.5, 5.5
LEGEND = "legend"  # label of the patches that belong to the legend
HOLLOW_LINE = 1.0  # of the border of a hollow head
MARGIN = 10.0
NOTE_ROW, NOTE_LINE, NOTE_GAP, NOTE_TOP = 16.0, 30.0, 14.0, 4.0
MIN_WIDTH = 220.0
MAX_INCHES = 24.0

#: The mark at the end of an edge: its direction is supported, assumed or open; or a circle, where causes may be hidden.
Head = Literal["solid", "hollow", "none", "circle"]
EdgeNotes = list[tuple["Stroke | None", str]]  # the legend: a line, if any, and its meaning


class Stroke(NamedTuple):
    """How an edge is drawn."""

    colour: str
    width: float = 1.8
    head: Head = "solid"
    alpha: float = 1.0
    dashes: str | tuple[float, tuple[float, ...]] = ""
    start: Head = "none"


def sheet_frame(centres: Floats, widths: Floats, layout: Layout, notes: EdgeNotes) -> Floats:
    """Return left, bottom, right, top of the picture with its legend, in points."""
    half = np.column_stack([widths / 2, np.full(len(widths), BOX_HEIGHT / 2)])
    bends = np.vstack([*layout.routes, layout.positions]) * LAYER
    left, bottom = np.minimum((centres - half).min(axis=0), bends.min(axis=0)) - MARGIN
    right, top = np.maximum((centres + half).max(axis=0), bends.max(axis=0)) + MARGIN
    wanted = max([MIN_WIDTH, *(_note_size(*note) + 2 * MARGIN for note in notes)])
    spare = max(0.0, wanted - (right - left)) / 2
    rows = len(_note_rows(notes, right - left + 2 * spare))
    return np.array([left - spare, bottom - rows * NOTE_ROW - (NOTE_TOP if rows else 0), right + spare, top])


def sheet(frame: Floats, path: str | Path | None, ax: Axes | None) -> tuple[Axes, float]:
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


def draw_edge(axes: Axes, line: Floats, stroke: Stroke, scale: float) -> None:
    """Draw a line, the marks at its ends where the stroke has some, and in the dashes of the stroke."""
    if stroke.head != "none":
        line = _draw_mark(axes, line, stroke, stroke.head, scale)
    if stroke.start != "none":
        line = _draw_mark(axes, line[::-1], stroke, stroke.start, scale)[::-1]
    path = PathPatch(Curve(line), fill=False, edgecolor=stroke.colour, alpha=stroke.alpha)
    path.set(linewidth=stroke.width * scale, linestyle=stroke.dashes or "solid")
    path.set_capstyle("butt")
    axes.add_patch(path).set_zorder(1)


def _draw_mark(axes: Axes, line: Floats, stroke: Stroke, look: Head, scale: float) -> Floats:
    """Draw an arrowhead or a circle at the end of a line; return the line up to it."""
    tip = line[-1]
    length = HEAD_LENGTH + (0.0 if look == "circle" else 1.2 * stroke.width)
    far = np.linalg.norm(line - tip, axis=1) > length
    far[0] = True
    line = line[: int(np.flatnonzero(far)[-1]) + 1]
    along = (tip - line[-1]) / np.linalg.norm(tip - line[-1])
    base, side = tip - length * along, np.array([-along[1], along[0]]) * (HEAD_WIDTH + 1.6 * stroke.width) / 2
    hollow = look != "solid"
    style = {"facecolor": "white" if hollow else stroke.colour, "alpha": stroke.alpha}
    if look == "circle":
        mark: Patch = Circle(tuple(tip - length / 2 * along), length / 2, **style)
    else:
        mark = Polygon([tip, base + side, base - side], closed=True, **style)
    mark.set(edgecolor=stroke.colour if hollow else "none", linewidth=HOLLOW_LINE * scale)
    axes.add_patch(mark).set_zorder(2)
    return np.vstack([line, base + (0.5 if look != "circle" else 0.0) * along])


def draw_node(axes: Axes, centre: Floats, width: float, label: str, scale: float) -> None:
    """Draw a box with a name in it."""
    corner = (float(centre[0]) - width / 2, float(centre[1]) - BOX_HEIGHT / 2)
    style = f"round,pad=0,rounding_size={BOX_ROUND}"
    box = FancyBboxPatch(corner, width, BOX_HEIGHT, boxstyle=style, facecolor=BOX_FILL, edgecolor=BOX_EDGE)
    box.set(linewidth=0.8 * scale, zorder=3)
    axes.add_patch(box)
    text = axes.text(centre[0], centre[1], label, fontsize=FONT * scale, color=INK, zorder=4, parse_math=False)
    text.set(ha="center", va="center_baseline")


def _note_size(stroke: Stroke | None, text: str) -> float:
    return (NOTE_LINE if stroke else 0.0) + text_width(text, NOTE_FONT)


def _note_rows(notes: EdgeNotes, width: float) -> list[list[tuple[float, Stroke | None, str]]]:
    """Break the legend into rows of (x, stroke, text) that fit the width."""
    rows: list[list[tuple[float, Stroke | None, str]]] = []
    x = width
    for stroke, text in notes:
        size = _note_size(stroke, text)
        if x + size > width - 2 * MARGIN:
            rows.append([])
            x = 0.0
        rows[-1].append((x, stroke, text))
        x += size + NOTE_GAP
    return rows


def draw_notes(axes: Axes, notes: EdgeNotes, frame: Floats, scale: float) -> None:
    """Write the legend under the graph."""
    rows = _note_rows(notes, frame[2] - frame[0])
    for k, row in enumerate(rows):
        y = frame[1] + MARGIN + (len(rows) - 1 - k) * NOTE_ROW
        for x, stroke, text in row:
            start = frame[0] + MARGIN + x
            if stroke:
                n_drawn = len(axes.patches)
                draw_edge(axes, np.array([[start, y], [start + NOTE_LINE - 6, y]]), stroke, scale)
                for patch in axes.patches[n_drawn:]:
                    patch.set_label(LEGEND)
                start += NOTE_LINE
            axes.text(start, y, text, fontsize=NOTE_FONT * scale, color=NOTE_INK, va="center_baseline")


def write_picture(axes: Axes, path: str | Path) -> None:
    """Save the figure of the axes; the ending of the name says how."""
    figure = axes.figure
    while not isinstance(figure, Figure):  # axes inside a subfigure
        figure = figure.figure
    path, buffer = Path(path), io.BytesIO()
    path = path if path.suffix else path.with_name(f"{path.name}.png")
    try:
        figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=200)
    except ValueError as error:
        raise ResultError(
            f"the picture cannot be written to {path}: {error}", hint="use a file name that ends in .png, .svg or .pdf"
        ) from error
    write_file(path, buffer.getvalue())
