"""Positions labels, boxes and smooth edges of a picture in points, for matplotlib and SVG."""

import unicodedata
from collections.abc import Sequence

import numpy as np

from drbo.arrays import Floats
from drbo.graph.layout import Layout
from drbo.result.files.export import printable

# Sizes in points at scale 1.
LAYER = 64.0
FONT = 10.0
BOX_HEIGHT, BOX_PADDING, BOX_ROUND = 22.0, 8.0, 6.0
MAX_LABEL = 26  # characters; longer names lose their middle
PORT_GAP = 11.0  # between the ends of two edges at a node
FLATTEST_END, FLATTEST_PASS = 1.0, 0.35  # sideways per downwards, at a node and between two nodes
STEP = 2.0  # distance of the points along an edge

# Widths of the characters from space to ~ in DejaVu Sans, in thousandths of the font size; a guess for other letters.
WIDTHS = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
    500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
OTHER_WIDTH, WIDE_WIDTH = 800, 1_000


def label(name: str) -> str:
    """Return a name as it is shown in a picture: one line, not too long."""
    text = printable(name)
    if len(text) <= MAX_LABEL:
        return text
    return f"{text[: MAX_LABEL // 2]}…{text[-(MAX_LABEL // 2 - 1) :]}"


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points, in the font of the pictures (wider than that of a browser)."""
    return size / 1_000 * sum(_width(character) for character in unicodedata.normalize("NFKD", text))


def _width(character: str) -> int:
    """Return the width of a character in thousandths of the font size; an accent adds none to its letter."""
    if unicodedata.combining(character):
        return 0
    place = ord(character) - ord(" ")
    if 0 <= place < len(WIDTHS):
        return WIDTHS[place]
    return WIDE_WIDTH if unicodedata.east_asian_width(character) in "WF" else OTHER_WIDTH


def box_widths(labels: Sequence[str]) -> Floats:
    """Return the widths of the boxes around labels, in points."""
    return np.array([text_width(text, FONT) + 2 * BOX_PADDING for text in labels])


def with_ports(layout: Layout, widths: Floats) -> list[Floats]:
    """Return the routes in points, from the lower border of the source to the upper border of the target.

    The ends of the edges of a node are spread along its border in the order in which they come in.
    """
    routes = [route * LAYER for route in layout.routes]
    for end, near, side in ((0, 1, -1), (-1, -2, 1)):
        ends: list[list[int]] = [[] for _ in widths]
        for k, edge in enumerate(layout.edges.tolist()):
            ends[edge[end]].append(k)
        for members, width in zip(ends, widths, strict=True):
            members.sort(key=lambda k: routes[k][near, 0])
            reach = min(width / 2 - BOX_ROUND, PORT_GAP * (len(members) - 1) / 2)
            for k, offset in zip(members, np.linspace(-reach, reach, len(members)), strict=True):
                routes[k][end] += (offset if len(members) > 1 else 0.0, side * BOX_HEIGHT / 2)
    return routes


def knots(route: Floats) -> tuple[Floats, Floats, Floats]:
    """Return (across, down, slopes) of the cubic pieces of a smooth line through a route; y falls all the way.

    The line is steep where it meets a node, and steeper where it passes between two: it must not touch them.
    """
    across, down = route[:, 0], -route[:, 1]
    steps = np.diff(down)
    slopes = np.diff(across) / steps
    tangents = np.clip(slopes[[0, -1]], -FLATTEST_END, FLATTEST_END)
    if len(route) > 2:
        inner = np.clip(_inner_slopes(steps, slopes), -FLATTEST_PASS, FLATTEST_PASS)
        band = np.array([-1, 1]) * BOX_HEIGHT / 2
        across = np.r_[across[0], (across[1:-1, None] + inner[:, None] * band).ravel(), across[-1]]
        down = np.r_[down[0], (down[1:-1, None] + band).ravel(), down[-1]]
        tangents = np.r_[tangents[0], np.repeat(inner, 2), tangents[1]]
    return across, down, tangents


def _inner_slopes(steps: Floats, slopes: Floats) -> Floats:
    """Return slopes between the pieces of a line that let it turn only where its pieces do (Fritsch & Butland 1984)."""
    before, after = 2 * steps[1:] + steps[:-1], steps[1:] + 2 * steps[:-1]
    one_way = slopes[:-1] * slopes[1:] > 0
    first, second = (np.where(one_way, part, 1.0) for part in (slopes[:-1], slopes[1:]))
    return np.where(one_way, (before + after) / (before / first + after / second), 0.0)


def cubic(knots: Floats, values: Floats, slopes: Floats, places: Floats) -> Floats:
    """Return the piecewise cubic with these values and slopes at its knots."""
    piece = np.clip(np.searchsorted(knots, places, side="right") - 1, 0, len(knots) - 2)
    length = np.diff(knots)[piece]
    t = (places - knots[piece]) / length
    ends = (1 + 2 * t) * values[piece] + t * length * slopes[piece]
    starts = (3 - 2 * t) * values[piece + 1] + (t - 1) * length * slopes[piece + 1]
    return np.asarray((1 - t) ** 2 * ends + t**2 * starts)


def curve(route: Floats) -> Floats:
    """Return points along the smooth line of :func:`knots`, close together."""
    across, down, tangents = knots(route)
    length = float(np.linalg.norm(np.diff(route, axis=0), axis=1).sum())
    depths = np.linspace(down[0], down[-1], max(8, int(length / STEP)))
    return np.column_stack([cubic(down, across, tangents, depths), -depths])
