"""Figures of the pages: means with 95% bands, as SVG that is the same byte for byte whenever it is drawn."""

from collections.abc import Iterable
from io import BytesIO
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks import rows as table

Points = dict[str, list[tuple[float, list[float]]]]  # line -> (x, figures of the data sets)
CONFIDENCE = 0.95


def band(figures: Iterable[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95% interval, by Student's t; 0 for a single figure."""
    values = np.asarray(list(figures), dtype=float)
    if len(values) < 2:
        return float(values.mean()), 0.0
    half = student.ppf((1 + CONFIDENCE) / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(half)


def lines(points: Points, x: str, y: str, log_x: bool = False) -> bytes:
    """Draw one line per key with its band."""
    figure, axis = _figure(6.4, 4.0)
    for name, line in sorted(points.items()):
        place = np.array([at for at, _ in line])
        middle, half = np.array([band(figures) for _, figures in line]).T
        axis.plot(place, middle, marker="o", markersize=3, label=name)
        axis.fill_between(place, middle - half, middle + half, alpha=0.2, linewidth=0)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.set_ylim(bottom=0)
    if log_x:
        axis.set_xscale("log")
    axis.legend(fontsize=8)
    return _svg(figure)


def panels(groups: dict[str, dict[str, list[float]]], y: str) -> bytes:
    """Draw one panel per knob, one point with its 95% interval per value."""
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    figure, axes = _figure(3.0 * columns, 2.4 * rows, rows, columns)
    for axis, (knob, values) in zip(axes.flat, groups.items(), strict=False):
        middle, half = np.array([band(figures) for figures in values.values()]).T
        axis.errorbar(range(len(values)), middle, yerr=half, fmt="o", markersize=4, capsize=3)
        axis.set_xticks(range(len(values)), list(values), fontsize=7)
        axis.set_title(knob, fontsize=9)
        axis.set_ylim(bottom=0)
    for axis in axes.flat[len(groups) :]:
        axis.set_axis_off()
    axes.flat[0].set_ylabel(y)
    return _svg(figure)


def curve(rows: list[table.Row], x: str, places: np.ndarray) -> list[tuple[float, list[float]]]:
    """Return the SHD at each place: that of the last step of a data set before it, where all data sets have begun."""
    runs: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        runs.setdefault(row["seed"], []).append((float(row[x]), float(row["shd"])))
    found = []
    for place in places:
        at = [max((point for point in run if point[0] <= place), default=None) for run in runs.values()]
        if at and all(point is not None for point in at):
            found.append((float(place), [point[1] for point in at if point is not None]))
    return found


def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes if rows * columns > 1 else axes[0, 0]


def _svg(figure: Any) -> bytes:
    """Return the figure without a date, with names of its parts that do not change; text stays text."""
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "drbo", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
