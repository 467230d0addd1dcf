// Passes over all subsets of a set of nodes.
#pragma once

#include "arrays.h"
#include "bits.h"

namespace drbo {

constexpr std::size_t MOST_NODES = 40;

// A table with one row per node and one column per set of the other nodes (bits.h).
struct Lattice {
  int d = 0;
  std::size_t columns = 0;
  const double* table = nullptr;

  explicit Lattice(const Table& given, std::size_t most = MOST_NODES)
      : d(static_cast<int>(given.shape(0))), columns(given.shape(1)), table(given.data()) {
    if (d < 1 || given.shape(0) > most) refuse("a table over all sets needs 1 to " + std::to_string(most) + " nodes");
    require_shape({given.shape(0), std::size_t{1} << (d - 1)}, "a table over all sets", given);
  }
  Lattice(int d_, const double* table_) : d(d_), columns(std::size_t{1} << (d_ - 1)), table(table_) {}
  Set full() const { return (Set{1} << d) - 1; }
  std::size_t sets() const { return std::size_t{1} << d; }
  const double* row(int node) const { return table + node * columns; }
  double at(int node, Set nodes) const { return row(node)[column_of(nodes, node)]; }
};

// Joins row[S - k] into row[S] for one member k after the other: then row[S] is joined over all subsets of S; or the
// other way round, over all supersets. join(to, from, count) works on stretches.
template <bool subsets, class Join>
void spread(double* row, std::size_t size, Watch& watch, const Join& join, int cost, std::size_t step = 1) {
  constexpr std::size_t CHUNK = 1 << 14;  // between two looks at the watch
  for (; step < size; step *= 2)
    for (std::size_t start = 0; start < size; start += 2 * step)
      for (std::size_t first = start; first < start + step; first += CHUNK) {
        const std::size_t count = std::min(CHUNK, start + step - first);
        double *const without = row + first, *const with = without + step;
        join(subsets ? with : without, subsets ? without : with, count);
        watch.check(whole(count) * cost);
      }
}

// The highest over all subsets, or over all supersets.
void spread_max(double* row, std::size_t size, bool subsets, Watch& watch);

// Walks over all sets, from the empty one or from that of all nodes, which have the value 0:
//   below: value(S) = join over i in S of value(S - i) + table[i, S - i]
//   above: value(S) = join over i not in S of value(S + i) + table[i, S]
template <bool below, class Join>
void join_orders(const Lattice& lattice, double* value, Watch& watch, const Join& join, int cost) {
  const Set full = lattice.full();
  value[below ? 0 : full] = 0.0;
  for (Set step = 1; step <= full; ++step) {
    const Set nodes = below ? step : full - step;
    double total = NEVER;
    for (Set left = below ? nodes : full ^ nodes; left; left &= left - 1) {
      const int node = lowest(left);
      total = join(total, value[nodes ^ singleton(node)] + lattice.at(node, nodes & ~singleton(node)));
    }
    value[nodes] = total;
    watch.check(cost * lattice.d);
  }
}

inline double higher(double a, double b) { return b > a ? b : a; }

}  // namespace drbo
