"""The course of the search as SVG: the best score against the number of evaluated graphs."""

from typing import Any

import numpy as np

from drbo.arrays import Floats
from drbo.result.records import Trace

CURVE_WIDTH, CURVE_HEIGHT = 640.0, 240.0
CURVE_LEFT, CURVE_RIGHT, CURVE_TOP, CURVE_BOTTOM = 78.0, 16.0, 14.0, 42.0
MAX_STEPS = 400  # points of the curve that are drawn


def convergence_svg(trace: Trace) -> str:
    """Return the best score against the evaluations as SVG, or an empty text where nothing was recorded."""
    evaluations, best = trace.n_evals, trace.best
    known = np.isfinite(best)
    if known.sum() < 2:
        return ""
    x, y = evaluations[known].astype(np.float64), best[known]
    changed = np.r_[True, np.diff(y) != 0]
    changed[-1] = True
    x, y = x[changed], y[changed]
    if len(x) > MAX_STEPS:
        some = np.unique(np.linspace(0, len(x) - 1, MAX_STEPS).astype(np.intp))
        x, y = x[some], y[some]
    low, high = float(np.quantile(y, 0.02)), float(y.max())  # the first random graphs would flatten the rest
    if low == high:
        low, high = low - 1.0, high + 1.0
    across = _scale(float(x.min()), float(x.max()), CURVE_LEFT, CURVE_WIDTH - CURVE_RIGHT)
    upward = _scale(low, high, CURVE_HEIGHT - CURVE_BOTTOM, CURVE_TOP)
    points = [(across(float(x[0])), upward(max(low, float(y[0]))))]
    for a, b in zip(x[1:], y[1:], strict=True):
        points += [(across(float(a)), points[-1][1]), (across(float(a)), upward(max(low, float(b))))]
    line = " ".join(f"{a:.5g},{b:.5g}" for a, b in points)
    return _axes(x, (low, high), across, upward) + (
        f'<polyline class="course" points="{line}"/>'
        f'<circle class="course-end" cx="{points[-1][0]:.5g}" cy="{points[-1][1]:.5g}" r="3.5"/></svg>'
    )


def _scale(low: float, high: float, start: float, end: float) -> Any:
    span = high - low or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def _axes(x: Floats, limits: tuple[float, float], across: Any, upward: Any) -> str:
    right, bottom = CURVE_WIDTH - CURVE_RIGHT, CURVE_HEIGHT - CURVE_BOTTOM
    parts = [
        f'<svg class="curve" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {CURVE_WIDTH:g} '
        f'{CURVE_HEIGHT:g}" aria-label="Best score against the number of evaluated graphs">'
    ]
    for tick in _ticks(*limits):
        y = upward(tick)
        parts.append(
            f'<line class="grid" x1="{CURVE_LEFT:g}" x2="{right:g}" y1="{y:.5g}" y2="{y:.5g}"/>'
            f'<text class="tick" x="{CURVE_LEFT - 8:g}" y="{y + 4:.5g}" text-anchor="end" font-size="11">'
            f"{_short(tick)}</text>"
        )
    for tick in _ticks(float(x.min()), float(x.max())):
        parts.append(
            f'<text class="tick" x="{across(tick):.5g}" y="{bottom + 18:g}" text-anchor="middle" font-size="11">'
            f"{_short(tick)}</text>"
        )
    parts.append(f'<line class="axis" x1="{CURVE_LEFT:g}" x2="{right:g}" y1="{bottom:g}" y2="{bottom:g}"/>')
    parts.append(
        f'<text class="tick" x="{(CURVE_LEFT + right) / 2:g}" y="{CURVE_HEIGHT - 6:g}" text-anchor="middle" '
        'font-size="11">evaluated graphs</text>'
    )
    return "".join(parts)


def _ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two limits."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    unit = 10.0 ** np.floor(np.log10(raw))
    step = unit * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw)
    first = np.ceil(low / step) * step
    return [float(tick) for tick in np.arange(first, high + 1e-9 * step, step)]


def _short(value: float) -> str:
    """Return a number for a tick: thousands and millions by letter."""
    size = abs(value)
    for limit, letter in ((1e6, "M"), (1e4, "k")):
        if size >= limit:
            return f"{value / (1e6 if letter == 'M' else 1e3):.6g}{letter}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")
