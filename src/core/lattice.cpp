// The subset lattice: best orders, and what is best under one change.
//
// shares[i, U] is what family U of node i adds to the score, best[i, U] the most over the subsets of U.
//   before(S) = max over i in S of before(S - i) + best[i, S - i]        the best DAG on S
//   after(S)  = max over i not in S of after(S + i) + best[i, S]         the most that the others add behind S
#include "lattice.h"

#include <nanobind/stl/pair.h>

#include "threads.h"
#include "wide.h"

namespace drbo {

namespace {

WIDE void raise(double* to, const double* from, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) to[k] = from[k] > to[k] ? from[k] : to[k];
}

WIDE void spread_lowest(double* row, std::size_t size) {  // the three lowest members together
  for (std::size_t k = 0; k < size; k += 8) {
    double* const r = row + k;
    for (int step = 1; step < 8; step *= 2)
      for (int s = 0; s < 8; ++s)
        if (s & step) r[s] = r[s - step] > r[s] ? r[s - step] : r[s];
  }
}

}  // namespace

void spread_max(double* row, std::size_t size, bool subsets, Watch& watch) {
  if (!subsets) return spread<false>(row, size, watch, raise, 1);
  if (size < 8) return spread<true>(row, size, watch, raise, 1);
  constexpr std::size_t CHUNK = 1 << 16;
  for (std::size_t first = 0; first < size; first += CHUNK) {
    spread_lowest(row + first, std::min(size - first, CHUNK));
    watch.check(CHUNK);
  }
  spread<true>(row, size, watch, raise, 1, 8);
}

namespace {

// ---- the border ----

template <bool below>
Result<double, 1> best_orders(const Table& best) {
  const Lattice lattice(best);
  Owned<double, 1> value({lattice.sets()});
  watched([&](Watch& watch) { join_orders<below>(lattice, value.data(), watch, higher, 2); });
  return value.give();
}

Result<double, 2> best_inside(const Table& shares, int threads) {
  const Lattice lattice(shares);
  Owned<double, 2> best({shares.shape(0), lattice.columns});
  in_parts(shares.shape(0), threads, [&](std::int64_t node, Watch& watch) {
    double* row = best.data() + node * lattice.columns;
    std::copy_n(lattice.row(static_cast<int>(node)), lattice.columns, row);
    spread_max(row, lattice.columns, true, watch);
  });
  return best.give();
}

void best_supersets(const Out<double, 1>& values) {
  const std::size_t size = values.shape(0);
  require(size >= 1 && (size & (size - 1)) == 0, "values must be over all sets: a power of 2");
  watched([&](Watch& watch) { spread_max(values.data(), size, false, watch); });
}

// The best score where the parents of a node hold `needed` and none of `banned`, and `must` comes before it,
//   max over S of before(S) + part(S) + after(S + node),
// and that S; -1: there is none. Needed parents leave the lattice: what remains is half as large for each.
std::pair<double, std::int64_t> split(const Table& shares, const Table& best, const Row& before, const Row& after,
                                      int node, std::int64_t needed, std::int64_t banned, std::int64_t must) {
  const Lattice own(shares);
  require_shape({shares.shape(0), shares.shape(1)}, "best", best);
  require_shape({own.sets()}, "before and after", before, after);
  require(node >= 0 && node < own.d, "node must be one of the table's");
  const Set named = needed | banned | must;
  require(inside(named, own.full()), "conditions must be sets of the table's nodes");
  require(!holds(named, node), "a condition on a node cannot name the node itself");
  require(needed == 0 || banned == 0, "one of needed and banned must be empty");
  const Set has = column_of(needed, node), no = column_of(banned, node);
  const auto column_at = [&](Set column) {  // with the needed parents put in
    for (Set left = has; left; left &= left - 1) column = set_of(column, lowest(left)) | (left & -left);
    return column;
  };
  return watched([&](Watch& watch) {
    const double* part = best.data() + node * own.columns;
    const Set size = own.columns >> size_of(has);
    std::vector<double> fewer(has ? size : 0);
    if (has) {
      const Set step = has & -has;  // columns lie side by side up to the lowest needed parent
      for (Set k = 0; k < size; k += step) {
        std::copy_n(own.row(node) + column_at(k), step, fewer.data() + k);
        watch.check(static_cast<std::int64_t>(step));
      }
      spread_max(fewer.data(), size, true, watch);
      part = fewer.data();
    }
    double top = NEVER;
    std::int64_t found = -1;
    for (Set k = 0; k < size; ++k) {
      const Set nodes = set_of(column_at(k), node);
      watch.check(4);
      if (!inside(must, nodes)) continue;
      const double value = before.data()[nodes] + part[k & ~no] + after.data()[nodes | singleton(node)];
      if (value > top) top = value, found = static_cast<std::int64_t>(nodes);
    }
    return std::make_pair(top, found);
  });
}

}  // namespace

void bind_lattice(nb::module_& m) {
  m.def("best_inside", &best_inside, "Return the best share of each node with parents inside each set.");
  m.def("lattice_forward", &best_orders<true>, "Return the best score of a DAG on each set of nodes.");
  m.def("lattice_backward", &best_orders<false>, "Return the most that the nodes outside each set can add behind it.");
  m.def("best_supersets", &best_supersets, "Replace each value by the highest over all supersets.");
  m.def("lattice_split", &split,
        "Return the best score under a condition on one node, and the set of nodes before it.");
}

}  // namespace drbo
