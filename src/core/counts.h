// Cells of contingency tables: rows of categorical columns, numbered by what they have in common, and sums over them.
#pragma once

#include "arrays.h"

namespace drbo {

// Rows, levels and repeats are counted in 32 bits.
constexpr int64_t MOST_ROWS = std::numeric_limits<int32_t>::max();

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

// N ln N for N = 0, ..., size - 1.
inline vector<double> x_log_x_table(int64_t size) {
  vector<double> table(size);
  for (int64_t x = 2; x < size; ++x) table[x] = static_cast<double>(x) * std::log(static_cast<double>(x));
  return table;
}

// What a cell N adds: N ln N, or as evidence lnG(N + a) - lnG(a) = lnG(N + a) + offset, with ln a = ln ess - ln of the
// number of cells that there could be, in two parts; a itself may underflow.
struct CellTerm {
  bool evidence;
  double a = 0.0, offset = 0.0;

  CellTerm(double ess, double log_span, double log_levels = 0.0) : evidence(ess > 0) {
    if (!evidence) return;
    const double log_a = std::log(ess) - log_span - log_levels;
    a = std::exp(log_a);
    offset = log_a - log_gamma(1.0 + a);
  }
};

// Room for counting equal counts.
struct Tally {
  vector<int32_t> times, counts;
};

// Distinct rows of categorical columns.
struct CountedRows {
  Codes columns;  // (n_columns, u)
  Ints levels;    // (n_columns,) how many each column has
  vector<int32_t> repeats;
  size_t n_columns, u;
  int64_t total = 0;  // the sum of the repeats
  vector<double> x_log_x;

  CountedRows(const Codes& columns_, const Ints& levels_, const Ints& repeats_)
      : columns(columns_), levels(levels_), n_columns(columns.shape(0)), u(columns.shape(1)) {
    require(u >= 1 && n_columns >= 1, "there must be rows and columns");
    require_shape({n_columns}, "levels", levels);
    require_shape({u}, "repeats", repeats_);
    require_range(levels.data(), n_columns, 1, MOST_ROWS, "levels");
    require_range(repeats_.data(), u, 1, MOST_ROWS, "repeats");
    for (size_t j = 0; j < n_columns; ++j) require_range(column(j), u, 0, levels[j], "a level");
    repeats.assign(repeats_.data(), repeats_.data() + u);
    for (const int32_t count : repeats) total += count;
    require(total < MOST_ROWS, "there are too many rows");
    x_log_x = x_log_x_table(total + 1);
  }
  const int32_t* column(size_t j) const { return columns.data() + j * u; }
  double cards(size_t j) const { return static_cast<double>(levels[j]); }
  int64_t widest() const { return *std::max_element(levels.data(), levels.data() + n_columns); }

  // Splits cells by a column and numbers those that occur, in the order of the rows; sets the new cell of each row, in
  // place if wanted, and the weight of each cell unless that is null. Returns how many there are.
  int32_t refine(size_t j, const int32_t* cells, int64_t n_cells, vector<int32_t>& room, int32_t* finer,
                 int32_t* __restrict weight) const {
    const int32_t* const by = column(j);
    const size_t width = levels[j];
    room.assign(n_cells * width, -1);
    int32_t* const __restrict number = room.data();
    int32_t count = 0;
    for (size_t row = 0; row < u; ++row) {
      int32_t& name = number[cells[row] * width + by[row]];
      if (name < 0) {
        if (weight) weight[count] = 0;
        name = count++;
      }
      finer[row] = name;
      if (weight) weight[name] += repeats[row];
    }
    return count;
  }

  double term(int32_t count, const CellTerm& of) const {
    return of.evidence ? log_gamma(static_cast<double>(count) + of.a) + of.offset : x_log_x[count];
  }

  // Adds the terms of cells to a sum, or with sign -1 subtracts them; a count of 0 adds nothing. In an evidence, equal
  // counts are evaluated once.
  double add(double total, const int32_t* counts, size_t cells, const CellTerm& of, Tally& tally,
             double sign = 1.0) const {
    if (!of.evidence) {
      for (size_t cell = 0; cell < cells; ++cell) total += sign * x_log_x[counts[cell]];
      return total;
    }
    tally.times.resize(std::max<size_t>(tally.times.size(), this->total + 1));
    tally.counts.clear();
    for (size_t cell = 0; cell < cells; ++cell)
      if (counts[cell] && tally.times[counts[cell]]++ == 0) tally.counts.push_back(counts[cell]);
    for (const int32_t count : tally.counts) {
      total += sign * static_cast<double>(tally.times[count]) * term(count, of);
      tally.times[count] = 0;
    }
    return total;
  }
};
}  // namespace drbo
