"""Two graphs over the same variables as pictures of one layout: every variable is at the same place in both."""

from heapq import heapify, heappop, heappush

import numpy as np

from drbo.arrays import Bools
from drbo.graph.dag import topological_order
from drbo.graph.layout import layered_routes
from drbo.result.pictures.routes import LAYER, box_widths, knots, label, with_ports
from drbo.result.report.drawing import Drawing, Line, line_width
from drbo.result.result import Result

RunPair = tuple[int, int]


def side_by_side(
    results: tuple[Result, Result],
    places: tuple[list[int], list[int]],
    classes: dict[frozenset[int], str],
) -> tuple[Drawing, Drawing]:
    """Return the pictures of two results.

    Parameters
    ----------
    results : both over the same names, maybe in another order.
    places : for every variable of the pictures, its place in each result.
    classes : for every link of either result, what the style sheet calls it.
    """
    names = tuple(results[0].names[k] for k in places[0])
    labels = [label(name) for name in names]
    widths = box_widths(labels)
    drawn = [_placed(result, place) for result, place in zip(results, places, strict=True)]
    layout = layered_routes(_union(*drawn), widths / LAYER)
    centres = layout.positions * LAYER * (1, -1)
    routes = [
        (i, j, knots(route)) for (i, j), route in zip(layout.edges.tolist(), with_ports(layout, widths), strict=True)
    ]
    pictures = []
    for result, place in zip(results, places, strict=True):
        looks, weak, lines = result.reading.ends(), result.weak, []
        for i, j, route in routes:
            for a, b in ((i, j), (j, i)):
                edge = (place[a], place[b])
                if edge in looks:
                    start, head = looks[edge] if a == i else looks[edge][::-1]
                    kind, width = classes[frozenset((i, j))], line_width(result, *edge)
                    lines.append(Line(i, j, *route, head, kind, width, bool(weak[edge]), start))
        pictures.append(Drawing(labels, names, centres, widths, lines))
    return pictures[0], pictures[1]


def _placed(result: Result, place: list[int]) -> Bools:
    """Return the edges of a result as they are drawn, over the variables of the pictures."""
    return result.drawn[np.ix_(place, place)]


def _union(first: Bools, second: Bools) -> Bools:
    """Return the links of both graphs without cycles: as in the first, and as in the second where that is possible."""
    later = np.argsort(topological_order(second))  # the place of each node in the second
    left = first.sum(axis=0)
    ready = [(int(later[k]), k) for k in np.flatnonzero(left == 0).tolist()]
    heapify(ready)
    order = []
    while ready:
        node = heappop(ready)[1]
        order.append(node)
        for child in np.flatnonzero(first[node]).tolist():
            left[child] -= 1
            if left[child] == 0:
                heappush(ready, (int(later[child]), child))
    place = np.argsort(order)
    links = first | first.T | second | second.T
    return np.asarray(links & (place[:, None] < place))
