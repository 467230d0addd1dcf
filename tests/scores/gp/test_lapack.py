import numpy as np
import pytest

from drbo.scores.gp.lapack import dpotrf, dpotri, dpotrs


def test_factor_and_inverse_are_numpys(rng):
    square = rng.normal(size=(7, 7))
    matrix = square @ square.T + np.eye(7)
    work = matrix.copy()
    assert dpotrf(work) == 0
    assert np.tril(work) == pytest.approx(np.linalg.cholesky(matrix))
    right = rng.normal(size=(7, 2))
    assert dpotrs(work, right) == pytest.approx(np.linalg.solve(matrix, right))
    assert dpotri(work) == 0
    assert np.tril(work) == pytest.approx(np.tril(np.linalg.inv(matrix)))


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    assert dpotrf(-np.eye(3)) != 0


@pytest.mark.parametrize("matrix", [np.eye(3, dtype=np.float32), np.zeros((2, 3)), np.eye(4)[:, ::2][::2]])
def test_memory_that_lapack_would_misread_is_refused(matrix):
    with pytest.raises(TypeError):
        dpotrf(matrix)


def test_as_many_rows_as_the_factor_has_are_needed():
    with pytest.raises(TypeError):
        dpotrs(np.eye(3), np.ones((2, 1)))
