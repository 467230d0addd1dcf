"""Compiled search for the parent sets of a categorical node that a best DAG can have, from counts.

Sets are walked depth first, each reached from the one without its last candidate. What is skipped, with all supersets:

- BIC: a candidate that cannot pay. Beside any superset of S it adds at most ``n min(H(node | S), H(candidate | S))`` to
  the log-likelihood, and its price grows with the set (Correia, Cussens & de Campos 2020).
- BIC: sets whose price alone is above what a subset of them loses: the log-likelihood is at most 0 (de Campos & Ji
  2011).
- BDeu: sets with so many configurations in the data that a subset is better. Whatever comes first in a configuration
  has probability 1/r, so each costs at least ln r, and supersets have no fewer.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba

Floats = npt.NDArray[np.float64]


def walk(
    columns: npt.NDArray[np.int32],  # (m + 1, u) levels: candidates, required ones first, and the node itself last
    levels: npt.NDArray[np.int64],  # (m + 1,) how many there are
    repeats: npt.NDArray[np.int64],  # (u,) how often each row occurs
    n_required: int,
    weights: Floats,  # (m,) what a candidate adds as a parent
    *,
    most: int,
    unit: float,
    ess: float,
    floor: float,
    best_only: bool,
    max_steps: int,
    max_sets: int,
) -> tuple[npt.NDArray[np.uint64], Floats, int]:
    """Return parent sets with their shares and the sets that were scored; -1: too many of either.

    Parameters
    ----------
    most : parents at most.
    unit : price of a configuration of the parents; of the BIC.
    ess : equivalent sample size of the BDeu; 0: BIC.
    floor : sets with a lower share are of no use.
    best_only : only the best set.
    """
    total = int(repeats.sum())
    x_log_x = np.arange(total + 1, dtype=np.float64)
    x_log_x[1:] *= np.log(x_log_x[1:])
    masks, shares, steps = _walk(
        np.ascontiguousarray(columns), levels, repeats, n_required, weights, most, unit, ess, floor, best_only,
        max_steps, max_sets, x_log_x,
    )  # fmt: skip
    return masks, shares, int(steps)


@numba.njit(cache=True, nogil=True)
def _refine(cells: Any, n_cells: int, column: Any, r: int, repeats: Any, new: Any, number: Any, weight: Any) -> int:
    """Split cells by a column; fill in the new cell of each row and the weight of each cell; return how many."""
    number[: n_cells * r] = -1
    count = 0
    for row in range(len(cells)):
        key = cells[row] * r + column[row]
        if number[key] < 0:
            number[key] = count
            weight[count] = 0
            count += 1
        new[row] = number[key]
        weight[number[key]] += repeats[row]
    return count


@numba.njit(cache=True, nogil=True)
def _sum(weight: Any, count: int, x_log_x: Any, log_a: float, tally: Any, touched: Any) -> float:
    """Return the sum over cells of ``N ln N``, or with ``log_a`` of ``lnG(N + a) - lnG(a)``."""
    total = 0.0
    if log_a == np.inf:
        for cell in range(count):
            total += x_log_x[weight[cell]]
        return total
    a, distinct = np.exp(log_a), 0
    for cell in range(count):
        if tally[weight[cell]] == 0:
            touched[distinct] = weight[cell]
            distinct += 1
        tally[weight[cell]] += 1
    offset = log_a - math.lgamma(1.0 + a)
    for k in range(distinct):
        total += tally[touched[k]] * (math.lgamma(touched[k] + a) + offset)
        tally[touched[k]] = 0
    return total


@numba.njit(cache=True, nogil=True)
def _walk(
    columns: Any, levels: Any, repeats: Any, n_required: int, weights: Any, most: int, unit: float, ess: float,
    floor: float, best_only: bool, max_steps: int, max_sets: int, x_log_x: Any,
) -> Any:  # fmt: skip
    m, u, r, one = len(weights), columns.shape[1], levels[len(weights)], np.uint64(1)
    masks, shares, count, steps = np.empty(max_sets, dtype=np.uint64), np.empty(max_sets), 0, 0
    cells, trial = np.zeros((most + 1, u), dtype=np.int32), np.empty(u, dtype=np.int32)
    number, weight = np.empty(u * levels.max(), dtype=np.int32), np.empty(u, dtype=np.int64)
    work = np.zeros(len(x_log_x), dtype=np.int64), np.empty(len(x_log_x), dtype=np.int64)
    n_cells, spread = np.ones(most + 1, dtype=np.int64), np.empty(most + 1)  # cells; the sum of N ln N over them
    log_q, added, known, fit = np.zeros(most + 1), np.zeros(most + 1), np.empty(most + 1), np.empty(most + 1)
    options, n_options = np.empty((most + 1, m), dtype=np.int64), np.zeros(most + 1, dtype=np.int64)
    at, sets = np.zeros(most + 1, dtype=np.int64), np.zeros(most + 1, dtype=np.uint64)
    plus = 0.0
    for j in range(n_required, m):
        plus += max(weights[j], 0.0)
    spread[0] = x_log_x[-1]
    for k in range(n_required):
        n_cells[k + 1] = _refine(cells[k], n_cells[k], columns[k], levels[k], repeats, cells[k + 1], number, weight)
        spread[k + 1] = _sum(weight, n_cells[k + 1], x_log_x, np.inf, work[0], work[1])
        log_q[k + 1], added[k + 1] = log_q[k] + np.log(levels[k]), added[k] + weights[k]
        sets[k + 1] = sets[k] | (one << np.uint64(k))
    k = n_required
    if n_required == 0:
        weight[0] = len(x_log_x) - 1
    share, fit[k] = _share(cells[k], n_cells[k], columns[m], r, repeats, weight, trial, number, spread[k], log_q[k],
                           unit, ess, x_log_x, work)  # fmt: skip
    known[k] = share + added[k]
    masks[0], shares[0], count, steps = sets[k], known[k], 1, 1
    floor = max(floor, known[k]) if best_only else floor
    n_options[k] = m - n_required
    options[k, : n_options[k]] = np.arange(n_required, m)
    at[k] = -1
    while k >= n_required:
        if at[k] == -1:  # score the sets with one candidate more, and see which ones may stay candidates
            kept = 0
            if k < most:
                for place in range(n_options[k]):
                    j = options[k, place]
                    steps += 1
                    if steps > max_steps or count >= max_sets - 1:
                        return masks[:count], shares[:count], -1
                    new = _refine(cells[k], n_cells[k], columns[j], levels[j], repeats, cells[k + 1], number, weight)
                    wider = _sum(weight, new, x_log_x, np.inf, work[0], work[1])
                    if ess == 0.0:
                        gain = 2 * min(-fit[k], spread[k] - wider) + max(weights[j], 0.0)
                        if gain <= unit * np.exp(log_q[k]) * (levels[j] - 1) * (1 - 1e-12):
                            continue
                    log_next = log_q[k] + np.log(levels[j])
                    share, _ = _share(cells[k + 1], new, columns[m], r, repeats, weight, trial, number, wider, log_next,
                                      unit, ess, x_log_x, work)  # fmt: skip
                    share += added[k] + weights[j]
                    if share > known[k] and share >= floor:
                        masks[count], shares[count], count = sets[k] | (one << np.uint64(j)), share, count + 1
                        if best_only:
                            masks[0], shares[0], count, floor = masks[count - 1], share, 1, share
                    options[k, kept] = j
                    kept += 1
            n_options[k] = kept
            at[k] = 0
        if k == most or k + 1 == most or at[k] >= n_options[k]:
            k -= 1
            continue
        place = at[k]
        at[k] += 1
        j = options[k, place]
        if place + 1 == n_options[k]:
            continue
        new = _refine(cells[k], n_cells[k], columns[j], levels[j], repeats, cells[k + 1], number, weight)
        log_next = log_q[k] + np.log(levels[j])
        wider = _sum(weight, new, x_log_x, np.inf, work[0], work[1])
        share, loss = _share(cells[k + 1], new, columns[m], r, repeats, weight, trial, number, wider, log_next, unit,
                             ess, x_log_x, work)  # fmt: skip
        share += added[k] + weights[j]
        best = max(known[k], share)
        hope = added[k] + weights[j] + plus
        hope -= 2 * unit * np.exp(log_next) if ess == 0.0 else new * np.log(r)
        if hope <= max(best, floor):
            continue
        n_options[k + 1] = n_options[k] - place - 1
        options[k + 1, : n_options[k + 1]] = options[k, place + 1 : n_options[k]]
        n_cells[k + 1], spread[k + 1], log_q[k + 1], fit[k + 1] = new, wider, log_next, loss
        added[k + 1], known[k + 1], sets[k + 1] = added[k] + weights[j], best, sets[k] | (one << np.uint64(j))
        k += 1
        at[k] = -1
    return masks[:count], shares[:count], steps


@numba.njit(cache=True, nogil=True)
def _share(
    cells: Any, n_cells: int, node: Any, r: int, repeats: Any, weight: Any, trial: Any, number: Any, spread: float,
    log_q: float, unit: float, ess: float, x_log_x: Any, work: Any,
) -> Any:  # fmt: skip
    """Return the share of a set without what its members add, and its log-likelihood; ``weight``: of the cells."""
    tally, touched = work
    log_a = np.log(ess) - log_q if ess > 0 else np.inf
    if ess > 0:
        spread = _sum(weight, n_cells, x_log_x, log_a, tally, touched)
        log_a -= np.log(r)
    joint = _refine(cells, n_cells, node, r, repeats, trial, number, weight)
    loglik = _sum(weight, joint, x_log_x, log_a, tally, touched) - spread
    return (loglik, loglik) if ess > 0 else (2 * loglik - unit * np.exp(log_q), loglik)
