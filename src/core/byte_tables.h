// Sums of rows by bytes.
//
// A parent set is a few bytes, so the sum of the rows of W1 that belong to it needs one table lookup per byte: a table
// holds, for each of the 256 values of a byte, the sum of its rows, most significant bit first.
#pragma once

#include "arrays.h"
#include "numbers.h"

namespace drbo {

struct ByteTable {
  size_t bytes, width;
  vector<float> sums;  // (bytes, 256, width)

  ByteTable(size_t bytes_, size_t width_) : bytes(bytes_), width(width_), sums(bytes_ * 256 * width_) {}
  float* at(size_t byte, size_t value) { return sums.data() + (byte * 256 + value) * width; }
  const float* at(size_t byte, size_t value) const { return sums.data() + (byte * 256 + value) * width; }

  // sums[g, byte] = the sum of the rows 8 g + i over the bits i of the byte.
  void fill(const float* rows, size_t count) {
    for (size_t g = 0; g < bytes; ++g) {
      std::fill_n(at(g, 0), width, 0.0f);
      for (size_t bit = 0; bit < 8; ++bit) {
        const size_t place = 8 * g + 7 - bit, size = (size_t{1} << bit) * width;
        const float* __restrict from = at(g, 0);
        float* __restrict to = at(g, 0) + size;
        if (place >= count) {
          std::copy_n(from, size, to);
          continue;
        }
        const float* __restrict row = rows + place * width;
        for (size_t s = 0; s < size; s += width)
          for (size_t k = 0; k < width; ++k) to[s + k] = from[s + k] + row[k];
      }
    }
  }

  // The transpose of fill, for gradients: rows[8 g + i] = the sum of sums[g, byte] over bytes with bit i. Uses it up.
  void fold(float* rows, size_t count) {
    for (size_t g = 0; g < bytes; ++g)
      for (size_t bit = 8; bit-- > 0;) {
        const size_t place = 8 * g + 7 - bit, size = (size_t{1} << bit) * width;
        float* __restrict low = at(g, 0);
        const float* __restrict high = at(g, 0) + size;
        if (place >= count) {
          for (size_t s = 0; s < size; ++s) low[s] += high[s];
          continue;
        }
        float* __restrict row = rows + place * width;
        std::fill_n(row, width, 0.0f);
        for (size_t s = 0; s < size; s += width)
          for (size_t k = 0; k < width; ++k) {
            row[k] += high[s + k];
            low[s + k] += high[s + k];
          }
      }
  }

  // Adds the rows of a parent set to a vector.
  void add(const uint8_t* code, float* __restrict total) const {
    size_t q = 0;
    for (; q + 4 <= bytes; q += 4) {
      const float *a = at(q, code[q]), *b = at(q + 1, code[q + 1]), *c = at(q + 2, code[q + 2]);
      const float* d = at(q + 3, code[q + 3]);
      for (size_t k = 0; k < width; ++k) total[k] += (a[k] + b[k]) + (c[k] + d[k]);
    }
    for (; q < bytes; ++q) {
      const float* a = at(q, code[q]);
      for (size_t k = 0; k < width; ++k) total[k] += a[k];
    }
  }
};
}  // namespace drbo
