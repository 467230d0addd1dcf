// Sums in a fixed order, wide vectors, an exponential, and cheap random bits.
#pragma once

#include <algorithm>
#include <cstring>

#include "sets.h"

// WIDE marks a function that is compiled for wider vectors too; the loader chooses by the CPU. All versions give the
// same bits: sums keep the order of the source, and nothing is contracted (-ffp-contract=off). Such a function must not
// throw, and so not look at a Watch: GCC ends the program there.
#if !defined(DRBO_NARROW) && defined(__x86_64__) && defined(__ELF__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE
#endif

namespace drbo {

// Sums that vectors of any width up to eight can follow: term k goes to lane k % 8.
template <class T>
inline T sum_lanes(const T (&lane)[8]) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// The sum of term(k) for k < n.
template <class T, class Term>
inline T sum_terms(size_t n, const Term& term) {
  T lane[8] = {};
  size_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (size_t l = 0; l < 8; ++l) lane[l] += term(k + l);
  for (size_t l = 0; k + l < n; ++l) lane[l] += term(k + l);
  return sum_lanes(lane);
}

// exp(x) for x <= 0, with a relative error of about 1e-14; 1e-304 instead of less. x = k ln 2 + r, |r| <= ln 2 / 2.
// That of the C library differs between processors.
inline double exponential(double x) {
  constexpr double SHIFT = 0x1.8p52;  // added to a small number it leaves the nearest whole number in the last bits
  constexpr double HIGH = 0x1.62e42feep-1, LOW = 0x1.a39ef35793c76p-33;  // ln 2 in two parts
  x = std::max(x, -700.0);
  const double shifted = x * 0x1.71547652b82fep0 + SHIFT, k = shifted - SHIFT;
  const double r = (x - k * HIGH) - k * LOW;
  double sum = 1.0 / 39916800;
  for (const double term :
       {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    sum = sum * r + term;
  uint64_t bits, power;
  std::memcpy(&bits, &sum, sizeof bits);
  std::memcpy(&power, &shifted, sizeof power);
  bits += power << 52;
  std::memcpy(&sum, &bits, sizeof sum);
  return sum;
}

// 64 random bits for a counter (splitmix64: Steele, Lea & Flood 2014).
inline uint64_t random_word(uint64_t counter) {
  uint64_t x = counter * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A number in [0, 1) from the upper 53 bits of a word.
inline double uniform(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }
}  // namespace drbo
