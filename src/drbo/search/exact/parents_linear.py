"""Compiled search for the parent sets of a node that a best DAG can have, from a covariance alone.

The share of a set S of parents is ``offset[k] + fit - half ln |R_S| + sum of weights``, k its size, with the residual
variance r of the node given S in ``fit = -slope[k] ln r``, or ``-slope[k] r``. Sets are walked depth first: each
candidate is left out first, then taken in. Sets below hold S and lie in S and all undecided candidates U, so none
leaves less than the residual given S and U. Where that, at the price of one more parent, does not beat a subset of S,
they are skipped: the subset may stand in for each of them in any DAG.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from drbo.jit import numba

Floats = npt.NDArray[np.float64]


def walk(
    matrix: Floats,  # (m + 1, m + 1) positive definite: candidates, required ones first, and the node itself last
    n_required: int,
    offset: Floats,  # (most + 1,)
    slope: Floats,  # (most + 1,)
    weights: Floats,  # (m,) what a candidate adds as a parent
    *,
    logarithmic: bool,
    half: float,
    floor: float,
    best_only: bool,
    max_steps: int,
    max_sets: int,
) -> tuple[npt.NDArray[np.uint64], Floats, int]:
    """Return the parent sets that no subset beats and their shares, and the steps taken; -1: too many of either.

    Parameters
    ----------
    floor : sets with a lower share are of no use.
    best_only : only the best set.
    """
    m = len(weights)
    values = weights.copy()
    if half:  # the determinant grows at least by what a candidate keeps given all others
        values -= half * np.log(1.0 / np.diag(np.linalg.inv(matrix[:m, :m]))) if m else 0.0
    ranked = np.sort(values[n_required:])[::-1]
    top = np.concatenate([[0.0], ranked.cumsum()])  # top[k]: the most that k candidates can add
    form = (offset, slope, np.ascontiguousarray(weights), top, logarithmic, half)
    masks, shares, steps = _walk(
        np.ascontiguousarray(matrix), np.linalg.inv(matrix), n_required, form, floor, best_only, max_steps, max_sets
    )
    return masks, shares, int(steps)


@numba.njit(cache=True, nogil=True)
def _fit(slope: float, residual: float, logarithmic: bool) -> float:
    return -slope * np.log(residual) if logarithmic else -slope * residual


@numba.njit(cache=True, nogil=True)
def _sweep(before: Any, after: Any, k: int, skip: Any) -> None:
    """Sweep a symmetric matrix on k; rows and columns of ``skip`` are left alone."""
    size, pivot = len(before), before[k, k]
    for i in range(size):
        if skip[i] or i == k:
            continue
        factor = before[k, i] / pivot
        for j in range(i + 1):
            value = before[i, j] - factor * before[k, j]
            after[i, j] = value
            after[j, i] = value
        after[i, k] = factor
        after[k, i] = factor
    after[k, k] = -1.0 / pivot


@numba.njit(cache=True, nogil=True)
def _hope(form: Any, k: int, undecided: int, residual: float, least: int) -> float:
    """Return the most that ``least`` or more parents beside k can make of a residual, before what the k add."""
    offset, slope, _, top, logarithmic, _ = form
    best = -np.inf
    for more in range(least, min(len(offset) - k, undecided + 1)):
        value = offset[k + more] + _fit(slope[k + more], residual, logarithmic) + top[more]
        if value > best:
            best = value
    return best


@numba.njit(cache=True, nogil=True)
def _walk(
    matrix: Any, inverse: Any, n_required: int, form: Any, floor: float, best_only: bool, max_steps: int, max_sets: int
) -> Any:
    offset, slope, weights, _, logarithmic, half = form
    m, most = len(weights), len(offset) - 1
    masks, shares, count, steps = np.empty(max_sets, dtype=np.uint64), np.empty(max_sets), 1, 0
    given = np.empty((most + 1, m + 1, m + 1))  # given[k]: the matrix swept on the k parents
    full = np.empty((m + 1, m + 1, m + 1))  # full[e]: inverse of the matrix of all but the e left out
    given[0], full[0] = matrix, inverse
    skip, order = np.zeros(m + 1, dtype=np.bool_), np.arange(m)
    added, k, out, p = 0.0, 0, 0, n_required
    for j in range(n_required):
        added += weights[j] - half * np.log(given[k][j, j])
        _sweep(given[k], given[k + 1], j, skip)
        k += 1
    known = np.empty(m + 2)  # the best share of a subset of the parents at each position
    sums, stage = np.empty(m + 2), np.zeros(m + 2, dtype=np.int8)
    known[p] = offset[k] + _fit(slope[k], given[k][m, m], logarithmic) + added
    sums[p] = added
    masks[0], shares[0] = _mask(skip, order, p), known[p]
    if best_only:
        floor = max(floor, known[p])
    while p >= n_required:
        if stage[p] == 0:  # leave a candidate out
            steps += 1
            if steps > max_steps or count + (m - p) * (m - p) >= max_sets:
                return masks[:count], shares[:count], -1
            here, least = full[out], max(known[p], floor)
            stage[p] = 2
            if k < most and sums[p] + _hope(form, k, m - p, 1.0 / here[m, m], 1) > least:
                if sums[p] + _hope(form, k, m - p, 1.0 / here[m, m], 3) > least:
                    stage[p] = 1
                else:
                    steps += (m - p) * (m - p + 1) // 2
                    count = _close(given[k], order, p, k, n_required, skip, form, sums[p], least, masks, shares, count)
                    if best_only:
                        count, floor = _only_best(masks, shares, count)
            if stage[p] == 2:
                p -= 1
                k -= p >= n_required and stage[p] == 2
                continue
            _choose(here, order, p)
            _leave_out(here, full[out + 1], order, p)
            out += 1
            skip[order[p]] = True
            known[p + 1], sums[p + 1], stage[p + 1] = known[p], sums[p], 0
            p += 1
        elif stage[p] == 1:  # take it in
            new, now = order[p], given[k]
            skip[new] = False
            out -= 1
            stage[p] = 2
            residual = now[m, m] - now[m, new] * now[m, new] / now[new, new]
            added = sums[p] + weights[new] - half * np.log(now[new, new])
            share = offset[k + 1] + _fit(slope[k + 1], residual, logarithmic) + added
            hope = added + _hope(form, k + 1, m - p - 1, 1.0 / full[out][m, m], 1)
            if max(share, hope) <= max(known[p], floor):
                continue
            _sweep(now, given[k + 1], new, skip)
            best = max(known[p], _one_less(given[k + 1], order[n_required:p], k, skip, form, added))
            if share > best:
                best = share
                if share >= floor:
                    masks[count], shares[count], count = _mask(skip, order, p + 1), share, count + 1
                    if best_only:
                        count, floor = _only_best(masks, shares, count)
            known[p + 1], sums[p + 1], stage[p + 1] = best, added, 0
            p, k = p + 1, k + 1
        else:
            p -= 1
            k -= p >= n_required and stage[p] == 2
    return masks[:count], shares[:count], steps


@numba.njit(cache=True, nogil=True)
def _only_best(masks: Any, shares: Any, count: int) -> Any:
    """Keep the best set alone; return the new count, 1, and its share."""
    row = np.argmax(shares[:count])
    masks[0], shares[0] = masks[row], shares[row]
    return 1, shares[0]


@numba.njit(cache=True, nogil=True)
def _mask(skip: Any, order: Any, end: int) -> Any:
    """Return the candidates before a position that are not left out."""
    mask = np.uint64(0)
    for place in range(end):
        if not skip[order[place]]:
            mask |= np.uint64(1) << np.uint64(order[place])
    return mask


@numba.njit(cache=True, nogil=True)
def _choose(full: Any, order: Any, p: int) -> None:
    """Bring the candidate to position p without which the fit would lose most."""
    m = len(order)
    best, place = -1.0, p
    for q in range(p, m):
        loss = full[m, order[q]] * full[m, order[q]] / full[order[q], order[q]]
        if loss > best:
            best, place = loss, q
    order[p], order[place] = order[place], order[p]


@numba.njit(cache=True, nogil=True)
def _leave_out(before: Any, after: Any, order: Any, p: int) -> None:
    """Take a candidate out of the matrix behind an inverse; only what comes after it is wanted."""
    m, gone = len(order), order[p]
    after[m, m] = before[m, m] - before[gone, m] * before[gone, m] / before[gone, gone]
    for a in range(p + 1, m):
        i = order[a]
        factor = before[gone, i] / before[gone, gone]
        value = before[i, m] - factor * before[gone, m]
        after[i, m] = value
        after[m, i] = value
        for b in range(p + 1, a + 1):
            j = order[b]
            value = before[i, j] - factor * before[gone, j]
            after[i, j] = value
            after[j, i] = value


@numba.njit(cache=True, nogil=True)
def _one_less(given: Any, members: Any, k: int, skip: Any, form: Any, added: float) -> float:
    """Return the best share of the sets with one parent less, of those members that are not left out."""
    offset, slope, weights, _, logarithmic, half = form
    m, best = len(weights), -np.inf
    for j in members:
        if not skip[j]:
            less = given[m, m] - given[m, j] * given[m, j] / given[j, j]
            value = added - weights[j] - half * np.log(-given[j, j]) + offset[k] + _fit(slope[k], less, logarithmic)
            if value > best:
                best = value
    return best


@numba.njit(cache=True, nogil=True)
def _close(
    given: Any, order: Any, p: int, k: int, n_required: int, skip: Any, form: Any, added: float, least: float,
    masks: Any, shares: Any, count: int,
) -> int:  # fmt: skip
    """Append the sets with one or two undecided candidates that beat what is known; return how many there are."""
    offset, slope, weights, top, logarithmic, half = form
    m, one, first, members = len(weights), np.uint64(1), _mask(skip, order, p), order[n_required:p]
    single = np.full(m, -np.inf)
    for a in range(p, m):
        u = order[a]
        rest = given[m, m] - given[m, u] * given[m, u] / given[u, u]
        plus = added + weights[u] - half * np.log(given[u, u])
        single[u] = plus + offset[k + 1] + _fit(slope[k + 1], rest, logarithmic)
        if single[u] > least and _beats(given, u, u, members, skip, k, form, plus, single[u]):
            masks[count], shares[count], count = first | (one << np.uint64(u)), single[u], count + 1
    if k + 2 >= len(offset):
        return count
    need = (least - added - offset[k + 2] - top[min(2, m - p)]) / -slope[k + 2]
    enough = np.exp(need) if logarithmic else need  # no pair that leaves more can win
    for a in range(p, m):
        u = order[a]
        rest, pivot = given[m, m] - given[m, u] * given[m, u] / given[u, u], given[u, u]
        for b in range(a + 1, m):
            v = order[b]
            factor = given[u, v] / pivot
            own = given[v, v] - factor * given[u, v]
            link = given[m, v] - factor * given[m, u]
            left = rest - link * link / own
            if left >= enough:
                continue
            plus = added + weights[u] + weights[v] - half * (np.log(pivot) + np.log(own))
            share = plus + offset[k + 2] + _fit(slope[k + 2], left, logarithmic)
            if share > max(least, single[u], single[v]) and (
                _beats(given, u, v, members, skip, k + 1, form, plus, share)
            ):
                masks[count], shares[count] = first | (one << np.uint64(u)) | (one << np.uint64(v)), share
                count += 1
    return count


@numba.njit(cache=True, nogil=True)
def _beats(given: Any, u: int, v: int, members: Any, skip: Any, k: int, form: Any, added: float, share: float) -> bool:
    """Tell whether the set with u and v (one candidate if they are the same) beats it without one of the members."""
    offset, slope, weights, _, logarithmic, half = form
    m = len(weights)
    own, link = given[v, v], given[v, m]
    target = given[m, m] - given[u, m] * given[u, m] / given[u, u]
    if v != u:
        own -= given[u, v] * given[u, v] / given[u, u]
        link -= given[u, v] * given[u, m] / given[u, u]
        target -= link * link / own
    for j in members:
        if skip[j]:
            continue
        diagonal = given[j, j] - given[j, u] * given[j, u] / given[u, u]
        cross = given[j, m] - given[j, u] * given[u, m] / given[u, u]
        if v != u:
            other = given[j, v] - given[j, u] * given[u, v] / given[u, u]
            diagonal -= other * other / own
            cross -= other * link / own
        less = target - cross * cross / diagonal
        value = added - weights[j] - half * np.log(-diagonal) + offset[k] + _fit(slope[k], less, logarithmic)
        if value >= share:
            return False
    return True
