// Passes over all subsets of a set of nodes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "stop.h"

namespace drbo {

// Replaces row[S] by join(row[S - k], row[S]) for one member k after the other: then it is joined over all subsets.
template <class Join>
void spread_up(double* row, std::size_t size, Watch& watch, const Join& join, int cost) {
  for (std::size_t step = 1; step < size; step *= 2)
    for (std::size_t start = 0; start < size; start += 2 * step) {
      double* const without = row + start;
      double* const with = without + step;
      for (std::size_t k = 0; k < step; ++k) with[k] = join(without[k], with[k]);
      watch.check(static_cast<std::int64_t>(step) * cost);
    }
}

// The best share of a node with parents inside each set, from those of all families.
void spread_max(double* row, std::size_t size, Watch& watch);

// The best score of a DAG on each set of d nodes; best has d rows of 2^(d-1) columns (bits.h).
void lattice_forward(const double* best, int d, double* value, Watch& watch);

}  // namespace drbo
