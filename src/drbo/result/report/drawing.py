"""The graph as SVG: what the report shows without a line of JavaScript.

Colours come from the style sheet, by class; nothing here carries a style of its own, so that the page can forbid them.
"""

from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

import numpy as np

from drbo.arrays import Floats, Indices
from drbo.deadline import current
from drbo.graph.layout import layered_routes
from drbo.result.pictures.routes import BOX_HEIGHT, BOX_ROUND, LAYER, box_widths, cubic, knots, label, with_ports
from drbo.result.result import Result
from drbo.result.words.plain_text import plain

MARGIN = 14.0
BAND_PAD = 12.0  # between the border of a tier and its boxes
BAND_NAME = 40.0  # room at the left for the name of a tier
HEAD_LENGTH, HEAD_WIDTH = 7.0, 6.0
THIN, THICK = 1.0, 3.4  # lines of standardised weight 0 and 1
PIECE_POINTS = 5  # of each cubic piece, for the interactive graph


@dataclass(frozen=True, eq=False)
class Line:
    """An edge as it is drawn, from the border of its cause to the border of its effect; y grows downwards.

    Examples
    --------
    >>> Line(0, 1, np.array([0.0, 0.0]), np.array([0.0, 40.0]), np.zeros(2), head="solid", sign="plain",
    ...     width=1.0).path
    'M0 0C0 11 0 22 0 33'
    """

    source: int
    target: int
    across: Floats  # of the ends of its cubic pieces
    down: Floats
    slopes: Floats
    head: str  # solid, hollow or none: the direction is supported, assumed or open; or circle
    sign: str  # plain, positive or negative; beside another run: how the edge differs
    width: float
    weak: bool = False  # it may not be there
    start: str = "none"  # the mark at the cause, likewise

    @property
    def points(self) -> Floats:
        """Points along the line, (k, 2), ends included."""
        shares = np.linspace(0, 1, PIECE_POINTS, endpoint=False)
        depths = (self.down[:-1, None] + np.diff(self.down)[:, None] * shares).ravel()
        depths = np.r_[depths, self.down[-1]]
        return np.column_stack([cubic(self.down, self.across, self.slopes, depths), depths])

    @property
    def path(self) -> str:
        """The line in the language of SVG, a cubic at a time; it stops under its marks."""
        across, down, slopes = self.across.copy(), self.down.copy(), self.slopes
        for end, mark, side in ((-1, self.head, 1.0), (0, self.start, -1.0)):
            if mark != "none":
                down[end] -= side * HEAD_LENGTH
                across[end] -= side * HEAD_LENGTH * slopes[end]
        text = f"M{across[0]:.4g} {down[0]:.4g}"
        third = np.diff(down) / 3
        for k, step in enumerate(third):
            numbers = (
                *(across[k] + step * slopes[k], down[k] + step),
                *(across[k + 1] - step * slopes[k + 1], down[k + 1] - step),
                *(across[k + 1], down[k + 1]),
            )
            text += "C" + " ".join(f"{number:.5g}" for number in numbers)
        return text

    @property
    def marks(self) -> str:
        """The marks at both ends in the language of SVG."""
        return self._mark(-1, self.head, 1.0) + self._mark(0, self.start, -1.0)

    def _mark(self, end: int, look: str, down: float) -> str:
        """Return an arrowhead or a circle at an end; ``down``: 1 or -1, the way from the line to the node."""
        if look == "none":
            return ""
        tip = np.array([self.across[end], self.down[end]])
        along = down * np.array([self.slopes[end], 1.0]) / np.hypot(self.slopes[end], 1.0)
        if look == "circle":
            x, y = tip - HEAD_LENGTH / 2 * along
            return f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{HEAD_LENGTH / 2:.3g}" fill="none" stroke-width="1.2"/>'
        base, side = tip - (HEAD_LENGTH + self.width) * along, np.array([-along[1], along[0]])
        wide = (HEAD_WIDTH + 1.4 * self.width) / 2
        points = " ".join(f"{x:.5g},{y:.5g}" for x, y in (tip, base + wide * side, base - wide * side))
        return f'<polygon points="{points}"/>'


@dataclass(frozen=True, eq=False)
class Drawing:
    """Where everything of a graph is, in points; y grows downwards."""

    labels: list[str]
    names: tuple[str, ...]
    centres: Floats  # (d, 2)
    widths: Floats  # (d,)
    lines: list[Line]
    bands: list[tuple[str, float, float]] = field(default_factory=list)  # tier, top, bottom

    @classmethod
    def of(cls, result: Result) -> "Drawing":
        """Lay out the graph of a result; tiers that hold every variable become bands."""
        nodes = np.flatnonzero(result.reading.shown())
        names = tuple(result.names[node] for node in nodes)
        labels = [label(name) for name in names]
        widths = box_widths(labels)
        bands = result.reading.bands()
        tiers = None if bands is None else bands[0][nodes]
        layout = layered_routes(result.drawn[np.ix_(nodes, nodes)], widths / LAYER, tiers)
        centres = layout.positions * LAYER * (1, -1)
        looks, weak, weights = result.reading.ends(), result.weak, result.standardised_weights
        lines, deadline = [], current()
        spans = [] if tiers is None or bands is None else _bands(tiers, bands[1], centres)
        for (a, b), route in zip(layout.edges.tolist(), with_ports(layout, widths), strict=True):
            deadline.check()
            i, j = int(nodes[a]), int(nodes[b])
            weight = 0.0 if weights is None else float(weights[i, j])
            sign = "plain" if weight == 0 else "positive" if weight > 0 else "negative"
            start, head = looks[i, j]
            lines.append(Line(a, b, *knots(route), head, sign, line_width(result, i, j), bool(weak[i, j]), start))
        return cls(labels, names, centres, widths, lines, spans)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, top, width and height of the picture."""
        half = np.column_stack([self.widths / 2, np.full(len(self.widths), BOX_HEIGHT / 2)])
        bends = [np.column_stack([line.across, line.down]) for line in self.lines]
        low = np.vstack([self.centres - half, *bends]).min(axis=0) - MARGIN
        high = np.vstack([self.centres + half, *bends]).max(axis=0) + MARGIN
        if self.bands:
            low, high = low - np.array([BAND_NAME, BAND_PAD]), high + np.array([0.0, BAND_PAD])
        return float(low[0]), float(low[1]), float(high[0] - low[0]), float(high[1] - low[1])

    def svg(self, title: str = "The learned graph") -> str:
        """Return the picture; every text in it is escaped."""
        left, top, width, height = self.box
        parts = [
            f'<svg class="graph" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{_text(title)}" '
            f'viewBox="{left:.5g} {top:.5g} {width:.5g} {height:.5g}" width="{width:.5g}" height="{height:.5g}">'
        ]
        for k, (tier, upper, lower) in enumerate(self.bands):
            parts.append(
                f'<rect class="band band-{k % 2}" x="{left:.5g}" y="{upper:.5g}" width="{width:.5g}" '
                f'height="{lower - upper:.5g}"/>'
                f'<text class="band-name" x="{left + 6:.5g}" y="{upper + 14:.5g}" font-size="9">{_text(tier)}</text>'
            )
        for line in sorted(self.lines, key=lambda line: line.width):
            parts.append(self._edge(line))
        for name, text, (x, y), wide in zip(self.names, self.labels, self.centres, self.widths, strict=True):
            parts.append(
                f'<g class="node"><title>{_text(name)}</title><rect x="{x - wide / 2:.5g}" '
                f'y="{y - BOX_HEIGHT / 2:.5g}" width="{wide:.5g}" height="{BOX_HEIGHT:g}" rx="{BOX_ROUND:g}"/>'
                f'<text x="{x:.5g}" y="{y + 3.6:.5g}" text-anchor="middle" font-size="10.5">{_text(text)}</text></g>'
            )
        return "".join([*parts, "</svg>"])

    def _edge(self, line: Line) -> str:
        notes = {"hollow": ("→", " (direction assumed)"), "none": ("—", " (direction open)")}
        ends, head = (line.source, line.target), line.head
        if head == "none" and line.start in ("solid", "hollow"):  # an arrow that points upwards
            ends, head = ends[::-1], line.start
        mark, note = notes.get(head, ("→", ""))
        if (head == line.head and line.start != "none") or head == "circle":
            mark, note = _sign(line), ""
        words = f"{self.names[ends[0]]} {mark} {self.names[ends[1]]}{note}"
        kinds = f"{line.sign} {'hollow' if 'hollow' in (line.start, line.head) else line.head}{' weak' * line.weak}"
        return (
            f'<g class="edge {kinds}"><title>{_text(words)}</title>'
            f'<path d="{line.path}" fill="none" stroke-width="{line.width:.3g}"/>{line.marks}</g>'
        )


def line_width(result: Result, i: int, j: int) -> float:
    """Return the width of an edge: its standardised weight, where that is known."""
    weights = result.standardised_weights
    return THIN + (THICK - THIN) * (0.25 if weights is None else min(1.0, abs(float(weights[i, j]))))


def _sign(line: Line) -> str:
    """Return the marks of a line between two names."""
    signs = {"circle": "o", "none": "—"}
    return f"{signs.get(line.start, '<')}—{signs.get(line.head, '>')}"


def _bands(tiers: Indices, names: list[str], centres: Floats) -> list[tuple[str, float, float]]:
    """Return the bands with their upper and lower borders; neighbours meet in the middle of the gap."""
    found = np.unique(tiers)
    spans = [(centres[tiers == tier, 1].min(), centres[tiers == tier, 1].max()) for tier in found]
    reach = BOX_HEIGHT / 2 + MARGIN + BAND_PAD
    tops = [spans[0][0] - reach, *((above[1] + below[0]) / 2 for above, below in pairwise(spans))]
    bottoms = [*tops[1:], spans[-1][1] + reach]
    words = [names[tier] for tier in found]
    return [(word, float(a), float(b)) for word, a, b in zip(words, tops, bottoms, strict=True)]


def _text(words: str) -> str:
    """Return text for a picture: no markup, and nothing that hides or turns what follows it."""
    return escape(plain(words))
