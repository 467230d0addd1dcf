// How well a family fits if its noise may be other than Gaussian.
#pragma once

#include <cstddef>

namespace drbo {

// Rows of standardised columns, each with its weight.
struct NoiseRows {
  const double* columns;  // (d, n)
  const double* shares;   // (n,) the weights, which add up to 1
  std::size_t n;
  double charge;  // negentropy that Gaussian noise has by chance, and the price of the shape
  double floor;   // residual variances under this count as a perfect fit

  const double* column(std::size_t v) const { return columns + v * n; }

  // Minus the log variance of a residual (n,), plus twice its negentropy beyond the charge.
  double fit(const double* residual) const;
};

// after = before - factor column; both may be the same array.
void subtract(const double* before, const double* column, double factor, std::size_t n, double* after);

}  // namespace drbo
