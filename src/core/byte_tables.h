// Sums of rows by bytes, and cheap random bits.
//
// A parent set is a few bytes, so the sum of the rows of W1 that belong to it needs one table lookup per byte: a table
// holds, for each of the 256 values of a byte, the sum of its rows, most significant bit first.
#pragma once

#include "arrays.h"

namespace drbo {

// 64 random bits for a counter (splitmix64: Steele, Lea & Flood 2014).
inline std::uint64_t random_word(std::uint64_t counter) {
  std::uint64_t x = counter * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// A number in [0, 1) from the upper 53 bits of a word.
inline double uniform(std::uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

struct ByteTable {
  std::size_t bytes, width;
  std::vector<float> sums;  // (bytes, 256, width)

  ByteTable(std::size_t bytes_, std::size_t width_) : bytes(bytes_), width(width_), sums(bytes_ * 256 * width_) {}
  float* at(std::size_t byte, std::size_t value) { return sums.data() + (byte * 256 + value) * width; }
  const float* at(std::size_t byte, std::size_t value) const { return sums.data() + (byte * 256 + value) * width; }

  // sums[g, byte] = the sum of the rows 8 g + i over the bits i of the byte.
  void fill(const float* rows, std::size_t count) {
    for (std::size_t g = 0; g < bytes; ++g) {
      std::fill_n(at(g, 0), width, 0.0f);
      for (std::size_t bit = 0; bit < 8; ++bit) {
        const std::size_t place = 8 * g + 7 - bit, size = (std::size_t{1} << bit) * width;
        const float* __restrict from = at(g, 0);
        float* __restrict to = at(g, 0) + size;
        if (place >= count) {
          std::copy_n(from, size, to);
          continue;
        }
        const float* __restrict row = rows + place * width;
        for (std::size_t s = 0; s < size; s += width)
          for (std::size_t k = 0; k < width; ++k) to[s + k] = from[s + k] + row[k];
      }
    }
  }

  // The transpose of fill, for gradients: rows[8 g + i] = the sum of sums[g, byte] over bytes with bit i. Uses it up.
  void fold(float* rows, std::size_t count) {
    for (std::size_t g = 0; g < bytes; ++g)
      for (std::size_t bit = 8; bit-- > 0;) {
        const std::size_t place = 8 * g + 7 - bit, size = (std::size_t{1} << bit) * width;
        float* __restrict low = at(g, 0);
        const float* __restrict high = at(g, 0) + size;
        if (place >= count) {
          for (std::size_t s = 0; s < size; ++s) low[s] += high[s];
          continue;
        }
        float* __restrict row = rows + place * width;
        std::fill_n(row, width, 0.0f);
        for (std::size_t s = 0; s < size; s += width)
          for (std::size_t k = 0; k < width; ++k) {
            row[k] += high[s + k];
            low[s + k] += high[s + k];
          }
      }
  }

  // Adds the rows of a parent set to a vector.
  void add(const std::uint8_t* code, float* __restrict total) const {
    std::size_t q = 0;
    for (; q + 4 <= bytes; q += 4) {
      const float *a = at(q, code[q]), *b = at(q + 1, code[q + 1]), *c = at(q + 2, code[q + 2]);
      const float* d = at(q + 3, code[q + 3]);
      for (std::size_t k = 0; k < width; ++k) total[k] += (a[k] + b[k]) + (c[k] + d[k]);
    }
    for (; q < bytes; ++q) {
      const float* a = at(q, code[q]);
      for (std::size_t k = 0; k < width; ++k) total[k] += a[k];
    }
  }
};

}  // namespace drbo
