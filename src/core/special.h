// Functions that the C++ library lacks, or that differ between C libraries.
#pragma once

#include <cmath>

namespace drbo {

// ln Gamma(x) for x > 0: Stirling's series, after x was moved up to where the series is exact in double precision by
// Gamma(x) = Gamma(x + k) / (x (x + 1) ... (x + k - 1)). The library's lgamma is not safe with threads.
inline double log_gamma(double x) {
  double product = 1.0;
  while (x < 10.0) {
    product *= x;
    x += 1.0;
  }
  const double r = 1.0 / x, s = r * r;
  const double series =
      r * (1.0 / 12 -
           s * (1.0 / 360 - s * (1.0 / 1260 - s * (1.0 / 1680 - s * (1.0 / 1188 - s * (691.0 / 360360 - s / 156))))));
  constexpr double HALF_LOG_TWO_PI = 0.91893853320467274178;
  const double above = (x - 0.5) * std::log(x) - x + HALF_LOG_TWO_PI + series;
  return product == 1.0 ? above : above - std::log(product);
}

}  // namespace drbo
