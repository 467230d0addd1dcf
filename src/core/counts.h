// Cells of contingency tables: rows of categorical columns, numbered by what they have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace drbo {

// Rows, levels and repeats are counted in 32 bits.
constexpr std::int64_t MOST_ROWS = std::numeric_limits<std::int32_t>::max();

// Splits cells by another column and numbers those that occur, in the order of the rows; sets the new cell of each row
// and the weight of each cell, and returns how many there are. number needs room for n_cells times the levels.
inline std::int32_t refine_cells(const std::int32_t* cells, std::int64_t n_cells, const std::int32_t* column,
                                 std::int32_t levels, std::size_t rows, std::int32_t* __restrict number,
                                 std::int32_t* __restrict finer, const std::int32_t* repeats,
                                 std::int32_t* __restrict weight) {
  std::fill_n(number, n_cells * levels, -1);
  std::int32_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t key = static_cast<std::size_t>(cells[row]) * levels + column[row];
    std::int32_t name = number[key];
    if (name < 0) {
      name = number[key] = count;
      weight[count++] = 0;
    }
    finer[row] = name;
    weight[name] += repeats[row];
  }
  return count;
}

}  // namespace drbo
