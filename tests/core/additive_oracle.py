"""Penalised additive regressions in NumPy, by which those of the compiled core are checked."""

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from drbo.arrays import Floats
from drbo.independence.residuals import LEAST_VARIANCE, SmoothTerm

#: GCV multiplies the degrees of freedom by this factor, because plain GCV occasionally undersmooths.
GCV_FACTOR = 1.2
#: Rounds over the parents of a family in which each smoothness is chosen given the others.
MAX_ROUNDS = 3


class FitDesign(NamedTuple):
    """What all regressions on the same parents share."""

    terms: Sequence[SmoothTerm]
    blocks: Sequence[slice]  # the columns of each term
    gram: Floats  # (p, p), all terms of the family
    inverses: dict[tuple[int, ...], Floats]  # (p, p) of gram plus penalties, by the strength of each term

    @classmethod
    def of(cls, terms: Sequence[SmoothTerm], products: Mapping[tuple[int, int], Floats]) -> "FitDesign":
        """Join the terms; products between bases by places k < m of terms."""
        ends = np.cumsum([len(term.penalty) for term in terms])
        blocks = [slice(end - len(term.penalty), end) for end, term in zip(ends, terms, strict=True)]
        gram = np.eye(ends[-1])  # the bases of each term are orthonormal
        for (k, m), product in products.items():
            gram[blocks[k], blocks[m]], gram[blocks[m], blocks[k]] = product, product.T
        return cls(terms, blocks, gram, {})

    def ridge(self, strengths: Sequence[int]) -> Floats:
        """Return the penalties (p,) at one of the strengths of each term, by its number."""
        return np.concatenate([_ridges(term)[number] for term, number in zip(self.terms, strengths, strict=True)])

    def inverse(self, strengths: Sequence[int]) -> Floats:
        """Return the inverse (p, p) of the Gram matrix plus the penalties at these strengths; it is remembered."""
        key = tuple(strengths)
        if key not in self.inverses:
            self.inverses[key] = np.asarray(np.linalg.inv(self.gram + np.diag(self.ridge(key))), dtype=np.float64)
        return self.inverses[key]


def _ridges(term: SmoothTerm) -> Floats:
    """Return the penalties (L, q) at each strength."""
    return LEAST_VARIANCE + term.strengths[:, None] * term.penalty


def _alone(term: SmoothTerm, projections: Floats, variance: float, n_rows: int) -> tuple[int, Floats]:
    """Return the strength that GCV chooses if there is no other term, by its number, and the coefficients (q,)."""
    shrunk = 1.0 / (1.0 + _ridges(term))  # (L, q): the Gram matrix is the identity
    unexplained = variance - (shrunk * (2.0 - shrunk)) @ np.square(projections)
    best = int(log_gcv(unexplained, shrunk.sum(axis=1), n_rows).argmin())
    return best, shrunk[best] * projections


def additive_coefficients(
    design: FitDesign,
    projections: Floats,  # (p,)
    variance: float,
    n_rows: int,
) -> Floats:
    """Return the coefficients (p,) of a penalised additive fit, with one smoothness per term chosen by GCV.

    Minimises ``ln(RSS / n) - 2 ln(1 - 1.2 df / n)`` over the strengths that each term offers, beginning with those that
    the terms would have alone: given the others, all of a term's strengths are compared at the cost of one small
    inverse each, by the Schur complement of its block; this goes round the terms until nothing changes.
    """
    terms, blocks = design.terms, design.blocks
    alone = [_alone(term, projections[block], variance, n_rows) for term, block in zip(terms, blocks, strict=True)]
    if len(terms) == 1:
        return alone[0][1]
    chosen = [number for number, _ in alone]
    ridge, inverse = design.ridge(chosen), design.inverse(chosen)
    coefficients: Floats = inverse @ projections
    n_changes, compared_at = 0, dict[int, int]()
    for _ in range(MAX_ROUNDS):
        before = n_changes
        for k, (block, term) in enumerate(zip(blocks, terms, strict=True)):
            if len(term.strengths) == 1 or compared_at.get(k) == n_changes:
                continue
            step, trial = _Step(inverse, coefficients, projections, variance, ridge, block), _ridges(term)
            criterion, inverses = step.gcv(trial, n_rows)
            best = int(criterion.argmin())
            if best != chosen[k]:
                chosen[k], ridge[block] = best, trial[best]
                inverse, coefficients = step.changed(inverses[best])
                n_changes += 1
            compared_at[k] = n_changes
        if n_changes == before:
            break
    if not n_changes:
        return coefficients
    found: Floats = np.asarray(np.linalg.solve(design.gram + np.diag(ridge), projections), dtype=np.float64)
    return found


def residual(response: Floats, terms: Sequence[SmoothTerm]) -> Floats:
    """Return what an additive regression on terms leaves of a response."""
    centred, n = response - response.mean(), len(response)
    basis = np.hstack([term.basis for term in terms])
    pairs = itertools.combinations(range(len(terms)), 2)
    design = FitDesign.of(terms, {(k, m): terms[k].basis.T @ terms[m].basis / n for k, m in pairs})
    return centred - basis @ additive_coefficients(design, centred @ basis / n, float(centred @ centred) / n, n)


def log_gcv(unexplained: Floats, freedom: Floats, n_rows: int) -> Floats:
    """Return the logarithm of the GCV criterion from the mean squares left and the degrees of freedom."""
    left = np.maximum(1.0 - GCV_FACTOR * (freedom + 1.0) / n_rows, LEAST_VARIANCE)
    criterion: Floats = np.log(np.maximum(unexplained, LEAST_VARIANCE**2)) - 2.0 * np.log(left)
    return criterion


class _Step:
    """A family's fit as a function of the penalty of one term, the penalties of the other terms fixed.

    All of it follows from the inverse of Gram matrix plus penalties. With this term's rows and columns b in it,
    ``inverse[b, b]^-1`` is the Schur complement of b plus its penalty, and ``-inverse[:, b] inverse[b, b]^-1`` are the
    coefficients of the other terms' regressions on b.
    """

    def __init__(
        self,
        inverse: Floats,
        coefficients: Floats,
        projections: Floats,
        variance: float,
        ridge: Floats,
        block: slice,
    ) -> None:
        self._whole = inverse, coefficients, projections, block
        own, rest, others = inverse[block, block], ridge.copy(), inverse[:, block].copy()
        rest[block], others[block] = 0.0, 0.0
        inner = np.linalg.inv(own)
        self._explained = explained = -others @ inner  # (p, q), 0 in the block
        without = coefficients + explained @ coefficients[block]  # coefficients where this term is left out
        without[block] = 0.0
        shrunk = explained.T * rest
        self._hidden = shrunk @ explained
        self._schur = inner - np.diag(ridge[block])
        self._target = inner @ coefficients[block]
        self._slope = self._target - shrunk @ without
        self._variance = variance - without @ projections - without @ (rest * without)
        self._freedom = len(ridge) - rest @ (inverse.diagonal() + np.einsum("pq,pq->p", explained, others))

    def gcv(self, penalties: Floats, n_rows: int) -> tuple[Floats, Floats]:
        """Return the logarithm of the GCV criterion (L,) for penalties (L, q), and the inverses (L, q, q) behind it."""
        blocks = self._schur + penalties[:, :, None] * np.eye(penalties.shape[1])
        inverses: Floats = np.asarray(np.linalg.inv(blocks), dtype=np.float64)
        coefficients = inverses @ self._target  # (L, q)
        curvature = ((coefficients @ (self._schur - self._hidden)) * coefficients).sum(axis=1)
        unexplained = self._variance - 2 * coefficients @ self._slope + curvature
        freedom = self._freedom - np.einsum("lqq,lq->l", inverses, penalties)
        freedom -= (inverses * self._hidden.T).sum(axis=(1, 2))
        return log_gcv(unexplained, freedom, n_rows), inverses

    def changed(self, own: Floats) -> tuple[Floats, Floats]:
        """Return inverse and coefficients under another penalty of the term, whose block of the inverse is ``own``."""
        inverse, coefficients, projections, block = self._whole
        ways = self._explained.copy()
        ways[block] = -np.eye(len(own))
        change = ways @ (own - inverse[block, block])
        return inverse + change @ ways.T, coefficients + change @ (ways.T @ projections)
