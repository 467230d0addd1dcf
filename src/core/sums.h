// Sums in a fixed order that vectors of any width up to eight can follow: term k goes to lane k % 8.
#pragma once

#include <cstddef>

namespace drbo {

template <class T>
inline T sum_lanes(const T (&lane)[8]) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// The sum of term(k) for k < n.
template <class T, class Term>
inline T sum_terms(std::size_t n, const Term& term) {
  T lane[8] = {};
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (std::size_t l = 0; l < 8; ++l) lane[l] += term(k + l);
  for (std::size_t l = 0; k + l < n; ++l) lane[l] += term(k + l);
  return sum_lanes(lane);
}

}  // namespace drbo
