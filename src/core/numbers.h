// Sums in a fixed order, wide vectors, and cheap random bits.
#pragma once

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
