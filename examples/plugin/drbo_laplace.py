"""BIC of linear regressions with Laplace noise: least absolute deviations, which outliers hardly move."""

import numpy as np

from drbo import Score

STEPS, LEAST = 50, 1e-8  # of the reweighted least squares; the smallest residual that a weight is made of


class LaplaceScore(Score):
    """``-2 n ln mean|r| - penalty |parents| ln n``, where r are the residuals of a median regression."""

    name = "laplace"
    evidence_scale = 2.0

    def __init__(self, table, penalty: float = 1.0) -> None:
        super().__init__(table)
        values = table.values - np.median(table.values, axis=0)
        self._values, self._penalty = values / np.abs(values).mean(axis=0), penalty

    def local_one(self, node: int, parents: tuple[int, ...]) -> float:
        y = self._values[:, node]
        x = np.column_stack([np.ones(len(y)), self._values[:, sorted(parents)]])
        weights = np.ones(len(y))
        for _ in range(STEPS):
            slopes = np.linalg.lstsq(x * weights[:, None], y * weights, rcond=None)[0]
            residuals = np.abs(y - x @ slopes)
            weights = 1 / np.sqrt(np.maximum(residuals, LEAST))
        n = len(y)
        return float(-2 * n * np.log(np.maximum(residuals.mean(), LEAST)) - self._penalty * len(parents) * np.log(n))
