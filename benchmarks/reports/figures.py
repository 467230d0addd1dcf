"""Figures of the pages: means with 95% bands, as SVG that is the same byte for byte whenever it is drawn."""

from collections.abc import Iterable
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from benchmarks.rows import Row

Points = dict[str, list[tuple[float, list[float]]]]  # line -> (x, figures of the data sets)
CONFIDENCE = 0.95
#: Panels of knobs show at least this range, so that distances of 0 look alike.
LEAST_TOP = 2.0
#: Of a panel without a bottom, this share of its points may lie below what is shown: first graphs are far off.
HIDDEN = 0.2


class Panel(NamedTuple):
    """One axis of a picture: lines with bands, points of methods without steps, and words."""

    points: Points
    marks: Points
    x: str
    y: str
    bottom: float | None = 0.0
    ticks: tuple[float, ...] = ()  # of the axis below; empty: powers of ten


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


def curves(panels: list[Panel]) -> bytes:
    """Draw panels, two in a row, over a logarithmic axis, each method in one colour, with one legend below."""
    rows = -(-len(panels) // 2)
    figure, axes = _figure(9.0, 3.1 * rows + 0.6, rows, 2)
    names = sorted({name for panel in panels for name in (*panel.points, *panel.marks)})
    colour = {name: f"C{k % 10}" for k, name in enumerate(names)}
    for axis in np.atleast_1d(axes).flat[len(panels) :]:
        axis.set_axis_off()
    for axis, panel in zip(np.atleast_1d(axes).flat, panels, strict=False):
        for name, line in sorted(panel.points.items()):
            place = np.array([at for at, _ in line])
            middle, half = np.array([band(values) for _, values in line]).T
            axis.plot(place, middle, color=colour[name], label=name)
            axis.fill_between(place, middle - half, middle + half, color=colour[name], alpha=0.2, linewidth=0)
        for name, [(place, values)] in sorted(panel.marks.items()):
            middle, half = band(values)
            axis.errorbar([place], [middle], yerr=[half], fmt="s", markersize=5, capsize=3, color=colour[name])
        axis.set_xscale("log")
        if panel.ticks:
            axis.set_xticks(panel.ticks, [f"{tick:g}" for tick in panel.ticks])
        axis.xaxis.set_minor_formatter("")  # over less than two decades they would be written over each other
        axis.set_xlabel(panel.x)
        axis.set_ylabel(panel.y)
        every = [band(values)[0] for line in panel.points.values() for _, values in line]
        axis.set_ylim(bottom=panel.bottom if panel.bottom is not None else float(np.quantile(every, HIDDEN)))
    handles = [_line(colour[name], name) for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(names)), fontsize=8)
    return _svg(figure)


def labelled(points: Points, titles: tuple[str, str, str]) -> bytes:
    """Draw the means over a logarithmic axis that ends at the best, each line with its name at its end.

    ``titles`` are those of the picture and of both axes. The first line is drawn thick.
    """
    figure, axis = _figure(7.2, 4.0)
    figure.set_facecolor("white")  # on a dark page, too
    title, x, y = titles
    for number, (name, line) in enumerate(points.items()):
        place = np.array([at for at, _ in line])
        middle = 1 + np.array([band(values)[0] for _, values in line])
        colour = "#0a5ea8" if number == 0 else f"C{number + 2}"
        axis.plot(place, middle, color=colour, linewidth=2.6 if number == 0 else 1.3)
        words = {"color": colour, "fontweight": "bold" if number == 0 else "normal"}
        axis.annotate(name, (place[-1], middle[-1]), (5, 0), textcoords="offset points", va="center", **words)
    axis.set(title=title, xlabel=x, ylabel=y, xscale="log", yscale="log")
    axis.invert_yaxis()
    places = sorted({at for line in points.values() for at, _ in line})
    axis.set_xticks(places, [f"{at:g}" for at in places])
    axis.xaxis.set_minor_formatter("")
    axis.set_yticks([1, 11, 101], ["best known", "10 below", "100 below"])
    axis.yaxis.set_minor_formatter("")
    axis.spines[["top", "right"]].set_visible(False)
    axis.margins(x=0.03)
    return _svg(figure)


def reliability(lines: dict[str, list[tuple[float, float, int]]]) -> bytes:
    """Draw shares found over probabilities given, with 95% intervals, beside the diagonal."""
    figure, axis = _figure(6.4, 4.6)
    axis.plot([0, 1], [0, 1], color="0.7", linestyle="--", linewidth=1)
    for name, points in lines.items():
        given, found, count = np.array(points, dtype=float).T
        half = 1.96 * np.sqrt(np.maximum(found * (1 - found), 0.25 / count) / count)
        axis.errorbar(given, found, yerr=half, marker="o", markersize=3, linewidth=1, capsize=2, label=name)
    axis.set_xlabel("probability or frequency given")
    axis.set_ylabel("share in the true graph")
    axis.legend(fontsize=8)
    return _svg(figure)


def _line(colour: str, name: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, label=name)


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
        top = max(LEAST_TOP, float((middle + half).max()))
        axis.set_ylim(-0.05 * top, 1.05 * top)
    for axis in axes.flat[len(groups) :]:
        axis.set_axis_off()
    axes.flat[0].set_ylabel(y)
    return _svg(figure)


def curve(rows: list[Row], x: str, places: np.ndarray, y: str = "shd") -> list[tuple[float, list[float]]]:
    """Return a figure at each place: that of the last step of a data set before it, where all data sets have begun."""
    runs: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        runs.setdefault(row["seed"], []).append((float(row[x]), float(row[y])))
    found = []
    for place in places:
        at = [max((point for point in run if point[0] <= place), default=None) for run in runs.values()]
        if at and all(point is not None for point in at):
            found.append((float(place), [point[1] for point in at if point is not None]))
    return found


def learning_curves(rows: list[Row]) -> bytes:
    """Draw the gap to the true graph's score over evaluations: thin lines are seeds, thick ones their mean."""
    graphs = sorted({row["graph"] for row in rows})
    figure, axes = _figure(4.6 * len(graphs), 3.4, 1, len(graphs))
    for axis, graph in zip(np.atleast_1d(axes).flat, graphs, strict=True):
        for rules, colour in {"fast": "#0072b2", "paper": "#d55e00"}.items():
            part = [row for row in rows if (row["graph"], row["rules"]) == (graph, rules)]
            part.sort(key=lambda row: (row["seed"], int(row["n_evals"])))
            steps = sorted({int(row["n_evals"]) for row in part})
            gaps = np.array([float(row["true_score"]) - float(row["score"]) for row in part]).reshape(-1, len(steps))
            axis.plot(steps, gaps.T, color=colour, alpha=0.25, linewidth=0.7)
            axis.plot(steps, gaps.mean(axis=0), color=colour, linewidth=2, label=f"{rules} rules")
        words = {"xlabel": "evaluations", "ylabel": "true graph's score - best found"}
        axis.set(title=graph, **words, xscale="log", yscale="log")
        axis.legend(frameon=False)
    return _saved(figure, "svg", {"svg.fonttype": "path"}, metadata={"Date": None})


def _figure(width: float, height: float, rows: int = 1, columns: int = 1, **shared: Any) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, axes if rows * columns > 1 else axes[0, 0]


def _svg(figure: Any) -> bytes:
    """Return the figure without a date, with names of its parts that do not change; text stays text."""
    return _saved(figure, "svg", {"svg.fonttype": "none"}, metadata={"Date": None})


def _saved(figure: Any, kind: str, settings: dict[str, str] | None = None, **options: Any) -> bytes:
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "drbo", **(settings or {})}):
        figure.savefig(buffer, format=kind, **options)
    return buffer.getvalue()
