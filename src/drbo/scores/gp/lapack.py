"""LAPACK in place and without the interpreter's lock, so that several families can be factorised at the same time.

SciPy exports its LAPACK for compiled callers (``scipy.linalg.cython_lapack``); the functions of ``scipy.linalg.lapack``
hold the lock.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from drbo.arrays import Floats

_Integer = ctypes.POINTER(ctypes.c_int)
#: Which triangle, order, matrix, its leading dimension, result: the arguments of dpotrf and dpotri.
_MATRIX = [ctypes.c_char_p, _Integer, ctypes.c_void_p, _Integer, _Integer]
#: The same with the number of right-hand sides, these, and their leading dimension: those of dpotrs.
_SOLVE = [ctypes.c_char_p, _Integer, _Integer, ctypes.c_void_p, _Integer, ctypes.c_void_p, _Integer, _Integer]


def _exported(name: str, arguments: list[Any]) -> Callable[..., None]:
    exported: Any = cython_lapack
    capsule = exported.__pyx_capi__[name]
    text, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    text.restype, text.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    function: Callable[..., None] = ctypes.CFUNCTYPE(None, *arguments)(address(capsule, text(capsule)))
    return function


_POTRF, _POTRI, _POTRS = _exported("dpotrf", _MATRIX), _exported("dpotri", _MATRIX), _exported("dpotrs", _SOLVE)


def _check(matrix: Floats) -> ctypes.c_int:
    """Return the order of a matrix that LAPACK can work on in place."""
    if matrix.dtype != np.float64 or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise TypeError("a square matrix of float64 is needed")
    if not (matrix.flags.c_contiguous and matrix.flags.writeable):
        raise TypeError("a contiguous, writeable matrix is needed")
    return ctypes.c_int(len(matrix))


def _in_place(function: Callable[..., None], matrix: Floats) -> int:
    order, result = _check(matrix), ctypes.c_int()
    # The lower triangle of rows is the upper one of columns, which LAPACK reads.
    function(b"U", order, matrix.ctypes.data_as(ctypes.c_void_p), order, result)
    return result.value


def dpotrf(matrix: Floats) -> int:
    """Replace the lower triangle of a symmetric matrix by its Cholesky factor; return 0 if there is one."""
    return _in_place(_POTRF, matrix)


def dpotri(matrix: Floats) -> int:
    """Replace the Cholesky factor in the lower triangle by that of the inverse matrix; return 0 if there is one."""
    return _in_place(_POTRI, matrix)


def dpotrs(
    factor: Floats,  # (n, n)
    right: Floats,  # (n, C)
) -> Floats:
    """Return the inverse of the matrix whose Cholesky factor is in the lower triangle, times ``right``."""
    order, result = _check(factor), ctypes.c_int()
    found = np.array(right.T, dtype=np.float64, order="C")  # columns of LAPACK
    if found.ndim != 2 or found.shape[1] != len(factor):
        raise TypeError("as many rows as in the factor are needed")
    address, inside = factor.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p)
    _POTRS(b"U", order, ctypes.c_int(len(found)), address, order, inside, order, result)
    return found.T
