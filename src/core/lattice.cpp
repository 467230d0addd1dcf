// The subset lattice: best orders, what is best under one change, and the way back to a DAG.
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

// Steps between two looks at the watch.
constexpr int CHUNK = 1024;

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
  std::size_t step = 1;
  if (subsets && size >= 8) {
    for (std::size_t first = 0; first < size; first += std::size_t{1} << 16) {
      spread_lowest(row + first, std::min(size - first, std::size_t{1} << 16));
      watch.check(std::int64_t{1} << 16);
    }
    step = 8;
  }
  for (; step < size; step *= 2)
    for (std::size_t start = 0; start < size; start += 2 * step) {
      double *const without = row + start, *const with = without + step;
      raise(subsets ? with : without, subsets ? without : with, step);
      watch.check(whole(step));
    }
}

namespace {

// Calls visit for every subset, the largest mask first.
template <class Visit>
void for_subsets(Set within, Watch& watch, const Visit& visit) {
  Set part = within;
  while (true) {
    for (int k = 0; k < CHUNK; ++k) {
      visit(part);
      if (part == 0) return;
      part = (part - 1) & within;
    }
    watch.check(2 * CHUNK);
  }
}

// A table of all families, and the way back from the values of sets to a DAG.
struct Tracer {
  Lattice shares, best;
  std::uint8_t* dag;
  Watch& watch;

  // Writes the smallest family of a node inside a column that has a share and certain members; of equally small ones
  // the first.
  void write_family(int node, Set within, double wanted, Set needed) const {
    const double* const row = shares.row(node);
    Set found = within;
    int size = 65;
    for_subsets(within, watch, [&](Set part) {
      if (row[part] != wanted || !inside(needed, part)) return;
      const int count = size_of(part);
      if (count < size || (count == size && part < found)) found = part, size = count;
    });
    const Set parents = set_of(found, node);
    for (int parent = 0; parent < shares.d; ++parent) dag[parent * shares.d + node] = holds(parents, parent);
  }

  // Fills in the families of the nodes in a set, the last one of its best order first; or, from `before` all nodes to
  // `after` a set that comes first, those of the nodes outside it.
  void trace(const double* value, Set nodes, bool below) const {
    const Set full = shares.full();
    while (nodes != (below ? 0 : full)) {
      const Set open = below ? nodes : full ^ nodes;
      int found = lowest(open);  // rounding is the same as in the recurrence: one of them fits exactly
      for (Set left = open; left; left &= left - 1) {
        const int node = lowest(left);
        if (value[nodes] == value[nodes ^ singleton(node)] + best.at(node, nodes & ~singleton(node))) {
          found = node;
          break;
        }
      }
      const Set within = column_of(nodes & ~singleton(found), found);
      write_family(found, within, best.row(found)[within], 0);
      nodes ^= singleton(found);
    }
  }
};

// What is asked of one node: its parents hold `needed` and none of `banned`, and `must` comes before it.
struct Condition {
  int node;
  Set needed, banned, must;

  Condition(const Lattice& lattice, int node_, std::int64_t needed_, std::int64_t banned_, std::int64_t must_)
      : node(node_), needed(needed_), banned(banned_), must(must_) {
    require(node >= 0 && node < lattice.d, "node must be one of the table's");
    require(inside(needed | banned | must, lattice.full()), "conditions must be sets of the table's nodes");
    require(!holds(needed | banned | must, node), "a condition on a node cannot name the node itself");
  }
};

// Keeps the entries whose index has a bit, in front and in their order; returns how many.
std::size_t keep_with(std::vector<double>& row, std::size_t size, int bit) {
  const std::size_t step = std::size_t{1} << bit;
  std::size_t kept = 0;
  for (std::size_t start = step; start < size; start += 2 * step)
    for (std::size_t k = start; k < start + step; ++k) row[kept++] = row[k];
  return kept;
}

// The best score under a condition, max over S of before(S) + part(S) + after(S + node), and that S; -1: there is none.
// Needed parents leave the lattice: what remains is half as large for each.
std::pair<double, std::int64_t> best_split(const Lattice& shares, const Lattice& best, const Condition& condition,
                                           const double* before, const double* after, Watch& watch) {
  const int node = condition.node;
  const Set has = column_of(condition.needed, node), no = column_of(condition.banned, node);
  const double* part = best.row(node);
  std::size_t size = best.columns;
  std::vector<double> fewer;
  if (has) {
    fewer.assign(shares.row(node), shares.row(node) + size);
    for (int bit = 63; bit >= 0; --bit)
      if (holds(has, bit)) size = keep_with(fewer, size, bit);
    spread_max(fewer.data(), size, true, watch);
    part = fewer.data();
  }
  double top = NEVER;
  std::int64_t found = -1;
  for (std::size_t first = 0; first < size; first += CHUNK) {
    for (std::size_t k = first; k < std::min(first + CHUNK, size); ++k) {
      Set column = k;
      for (Set left = has; left; left &= left - 1) column = set_of(column, lowest(left)) | (left & -left);
      const Set nodes = set_of(column, node);
      if (!inside(condition.must, nodes)) continue;
      const double value = before[nodes] + part[has ? k : k & ~no] + after[nodes | singleton(node)];
      if (value > top) top = value, found = static_cast<std::int64_t>(nodes);
    }
    watch.check(4 * CHUNK);
  }
  return {top, found};
}

// ---- the border ----

template <bool below>
Result<double, 1> best_orders(const Table& best) {
  const Lattice lattice(best);
  return filled<double>({lattice.sets()}, [&](double* value, const Stop& stop) {
    Watch watch(stop);
    join_orders<below>(lattice, value, watch, higher, 2);
  });
}

Result<double, 2> best_inside(const Table& shares, int threads) {
  const Lattice lattice(shares);
  return filled<double>({shares.shape(0), lattice.columns}, [&](double* best, const Stop& stop) {
    in_parts(lattice.d, threads, stop, [&](std::int64_t node, Watch& watch) {
      double* row = best + node * lattice.columns;
      std::copy_n(lattice.row(static_cast<int>(node)), lattice.columns, row);
      spread_max(row, lattice.columns, true, watch);
    });
  });
}

void best_supersets(const Out<double, 1>& values) {
  const std::size_t size = values.shape(0);
  require(size >= 1 && (size & (size - 1)) == 0, "values must be over all sets: a power of 2");
  unlocked([&](const Stop& stop) {
    Watch watch(stop);
    spread_max(values.data(), size, false, watch);
  });
}

void require_same(const Table& shares, const Table& best) {
  require_shape({shares.shape(0), shares.shape(1)}, "best", best);
}

template <class Fill>
Result<bool, 2> traced(const Table& shares, const Table& best, const Fill& fill) {
  const Lattice own(shares);
  require_same(shares, best);
  const std::size_t d = own.d;
  return filled<bool>({d, d}, [&](bool* dag, const Stop& stop) {
    Watch watch(stop);
    std::fill_n(dag, d * d, false);
    fill(Tracer{own, Lattice(own.d, best.data()), reinterpret_cast<std::uint8_t*>(dag), watch});
  });
}

Result<bool, 2> trace(const Table& shares, const Table& best, const Row& before) {
  require_shape({Lattice(shares).sets()}, "before", before);
  return traced(shares, best, [&](const Tracer& t) { t.trace(before.data(), t.shares.full(), true); });
}

std::pair<double, std::int64_t> split(const Table& shares, const Table& best, const Row& before, const Row& after,
                                      int node, std::int64_t needed, std::int64_t banned, std::int64_t must) {
  const Lattice own(shares);
  require_same(shares, best);
  require_shape({own.sets()}, "before and after", before, after);
  const Condition condition(own, node, needed, banned, must);
  require(needed == 0 || banned == 0, "one of needed and banned must be empty");
  return unlocked([&](const Stop& stop) {
    Watch watch(stop);
    return best_split(own, Lattice(own.d, best.data()), condition, before.data(), after.data(), watch);
  });
}

// The DAG behind split: the best one on a set, then the node, then the rest.
Result<bool, 2> trace_split(const Table& shares, const Table& best, const Row& before, const Row& after, int node,
                            std::int64_t needed, std::int64_t banned, std::int64_t nodes) {
  const Lattice own(shares);
  require_shape({own.sets()}, "before and after", before, after);
  const Condition condition(own, node, needed, banned, nodes);
  return traced(shares, best, [&](const Tracer& t) {
    t.trace(before.data(), condition.must, true);
    const Set within = column_of(condition.must & ~condition.banned, node), has = column_of(condition.needed, node);
    double top = NEVER;
    for_subsets(within, t.watch, [&](Set part) {
      if (own.row(node)[part] > top && inside(has, part)) top = own.row(node)[part];
    });
    t.write_family(node, within, top, has);
    t.trace(after.data(), condition.must | singleton(node), false);
  });
}

}  // namespace

void bind_lattice(nb::module_& m) {
  m.def("best_inside", &best_inside, "Return the best share of each node with parents inside each set.");
  m.def("lattice_forward", &best_orders<true>, "Return the best score of a DAG on each set of nodes.");
  m.def("lattice_backward", &best_orders<false>, "Return the most that the nodes outside each set can add behind it.");
  m.def("best_supersets", &best_supersets, "Replace each value by the highest over all supersets.");
  m.def("lattice_trace", &trace, "Return the DAG behind lattice_forward; of equally good families the smallest.");
  m.def("lattice_split", &split,
        "Return the best score under a condition on one node, and the set of nodes before it.");
  m.def("lattice_trace_split", &trace_split, "Return the DAG behind lattice_split.");
}

}  // namespace drbo
