import numpy as np
import pytest
from scipy.stats import multivariate_normal

from drbo.scores.gp.kernels import KernelData
from drbo.scores.gp.rough import MOST_FEW, RoughEvidence


def _exact(x, y, scale, noise):
    kernel = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(axis=2) / scale**2) + noise * np.eye(len(x))
    amplitude = y @ np.linalg.solve(kernel, y) / len(y)
    return multivariate_normal.logpdf(y, cov=amplitude * kernel)


@pytest.mark.parametrize(("scale", "within"), [(1.0, 2.0), (5.0, 1e-2), (0.01, 10.0)], ids=["smooth", "long", "rough"])
def test_it_is_the_evidence_of_smooth_functions_and_near_it_for_others(rng, scale, within):
    columns = rng.normal(size=(3 * MOST_FEW, 3))
    columns[:, 2] += np.sin(columns[:, 0])
    parents, noises = np.array([[True, True, False]]), np.array([0.05, 1.0])
    rough = RoughEvidence(KernelData(columns, columns, "cpu"))
    found = rough.at(parents, np.array([[2]]), np.array([[scale]]), noises[None, None])[0, 0, 0]
    expected = [_exact(columns[:, :2], columns[:, 2], scale, noise) for noise in noises]
    assert found == pytest.approx(expected, abs=within)


def test_all_of_few_rows_are_used(rng):
    columns = rng.normal(size=(40, 2))
    rough = RoughEvidence(KernelData(columns, columns, "cpu"))
    found = rough.at(np.array([[True, False]]), np.array([[1]]), np.array([[0.5]]), np.array([[[0.1]]]))
    assert found.item() == pytest.approx(_exact(columns[:, :1], columns[:, 1], 0.5, 0.1), abs=1e-2)
