"""Minimises many smooth functions at the same time, each within bounds, by a limited memory of their gradients."""

from collections.abc import Callable

import numpy as np

from drbo.arrays import Floats

#: Steps that are remembered.
MEMORY = 10
#: A step that led up is cut to this share; the first step is as long in its longest coordinate.
CUT, FIRST = 0.25, 1.0
#: A step is remembered if the slope along it grew by more than this, relative to the square of its length.
LEAST_BEND = 1e-10

#: Returns the values (m,) and gradients (m, q) of m functions, each at its own point (m, q).
Cost = Callable[[Floats], tuple[Floats, Floats]]


def descend(
    cost: Cost,
    first: Floats,  # (m, q)
    low: Floats,  # (q,)
    high: Floats,  # (q,)
    evaluations: int,
) -> Floats:
    """Return the lowest points (m, q) that so many evaluations of all functions lead to.

    Each function has its own steps, those of L-BFGS (Nocedal & Wright 2006, section 7.2) cut to the bounds; where one
    leads up, a shorter one is tried next.
    """
    here = np.clip(first, low, high)
    value, slope = cost(here)
    share, memory = np.ones(len(here)), list[tuple[Floats, Floats]]()
    for _ in range(evaluations - 1):
        free = ~(((here <= low) & (slope > 0)) | ((here >= high) & (slope < 0)))
        down = np.where(free, slope, 0.0)
        step = np.where(free, _newton(down, memory), 0.0)
        uphill = (step * down).sum(axis=1) <= 0
        step[uphill] = _scaled(down[uphill])
        trial = np.clip(here - share[:, None] * step, low, high)
        at, bent = cost(trial)
        move, turn = trial - here, bent - slope
        known = (move * turn).sum(axis=1) > LEAST_BEND * (move**2).sum(axis=1)
        memory = [*memory, (move * known[:, None], turn * known[:, None])][-MEMORY:]
        better = at < value
        share = np.where(better, 1.0, CUT * share)
        here, slope = (np.where(better[:, None], new, old) for new, old in ((trial, here), (bent, slope)))
        value = np.where(better, at, value)
    return here


def _newton(slope: Floats, memory: list[tuple[Floats, Floats]]) -> Floats:
    """Return the product of the inverse curvature, as the remembered steps tell it, with a slope."""
    direction, parts = slope.copy(), list[tuple[Floats, Floats]]()
    for move, turn in reversed(memory):
        along = _ratio((move * direction).sum(axis=1), (move * turn).sum(axis=1))
        direction -= along * turn
        parts.append((along, _ratio(np.ones(len(move)), (move * turn).sum(axis=1))))
    scale = np.zeros((len(slope), 1))
    for move, turn in memory:  # the newest step counts
        own = _ratio((move * turn).sum(axis=1), (turn**2).sum(axis=1))
        scale = np.where(own > 0, own, scale)
    direction = np.where(scale > 0, scale * direction, _scaled(slope))
    for (move, turn), (along, inverse) in zip(memory, reversed(parts), strict=True):
        direction += move * (along - inverse * (turn * direction).sum(axis=1)[:, None])
    return direction


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return (m, 1) quotients, 0 where nothing is remembered."""
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), 0.0)[:, None]


def _scaled(slope: Floats) -> Floats:
    """Return a first step along a slope."""
    longest = np.abs(slope).max(axis=1, initial=0.0)[:, None]
    return FIRST * slope / np.where(longest > 0, longest, 1.0)
