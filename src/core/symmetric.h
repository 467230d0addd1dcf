// Inverses and solutions of small symmetric matrices, of which the lower triangle is read and written.
//
// Rows are `stride` apart, whole blocks of eight numbers; what follows the diagonal in its block is overwritten.
// Matrices are positive definite but for rounding; a pivot that is not counts as tiny. `room` holds stride numbers.
#pragma once

#include <cmath>

#include "numbers.h"

namespace drbo {

// Numbers of a row, rounded up to whole vectors.
inline size_t stride_of(size_t columns) { return (columns + 7) & ~size_t{7}; }

inline double usable(double pivot) { return pivot > 1e-300 ? pivot : 1e-300; }

namespace detail {
// row[j] -= factor * pivots[j] for the blocks [first, last)
inline void take(double* __restrict row, const double* __restrict pivots, double factor, size_t first, size_t last) {
  for (size_t block = first; block < last; ++block)
    for (size_t l = 8 * block; l < 8 * block + 8; ++l) row[l] -= factor * pivots[l];
}
}  // namespace detail

// Replaces a matrix (p, p) by minus its inverse (Goodnight 1979, "A tutorial on the SWEEP operator").
WIDE inline void sweep(double* a, size_t p, size_t stride, double* room) {
  for (size_t j = p; j < stride; ++j) room[j] = 0.0;
  for (size_t k = 0; k < p; ++k) {
    const double inverse = 1.0 / usable(a[k * stride + k]);
    for (size_t j = 0; j < k; ++j) room[j] = a[k * stride + j];
    for (size_t i = k + 1; i < p; ++i) room[i] = a[i * stride + k];
    room[k] = 0.0;
    for (size_t i = 0; i < p; ++i) detail::take(a + i * stride, room, room[i] * inverse, 0, i / 8 + 1);
    for (size_t j = 0; j < k; ++j) a[k * stride + j] = room[j] * inverse;
    for (size_t i = k + 1; i < p; ++i) a[i * stride + k] = room[i] * inverse;
    a[k * stride + k] = -inverse;
  }
}

// Copies the lower triangle to the upper one, with another sign where `sign` is -1.
inline void mirror(double* a, size_t p, size_t stride, double sign) {
  for (size_t i = 0; i < p; ++i) {
    a[i * stride + i] *= sign;
    for (size_t j = 0; j < i; ++j) a[j * stride + i] = a[i * stride + j] *= sign;
  }
}

// Solves A x = y. Row p of the matrix (p + 1, p) holds y, and x in the end.
WIDE inline void solve(double* a, size_t p, size_t stride, double* room) {
  for (size_t j = 0; j < stride; ++j) room[j] = 0.0;
  for (size_t k = 0; k < p; ++k) {
    const double inverse = 1.0 / usable(a[k * stride + k]);
    for (size_t i = k + 1; i < p; ++i) room[i] = a[i * stride + k];
    room[k] = 0.0;
    for (size_t i = k + 1; i <= p; ++i) {
      const double factor = a[i * stride + k] * inverse;
      detail::take(a + i * stride, room, factor, (k + 1) / 8, (i < p ? i : p - 1) / 8 + 1);
      a[i * stride + k] = factor;
    }
  }
  double* const x = a + p * stride;
  for (size_t k = p; k-- > 0;)  // x already holds D^-1 L^-1 y
    for (size_t j = 0; j < k; ++j) x[j] -= a[k * stride + j] * x[k];
}
}  // namespace drbo
