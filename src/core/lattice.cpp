// The subset lattice: best orders, what is best under one change, and the way back to a DAG.
//
// shares[i, U] is what family U of node i adds to the score, best[i, U] the most over the subsets of U.
//   before(S) = max over i in S of before(S - i) + best[i, S - i]        the best DAG on S
//   after(S)  = max over i not in S of after(S + i) + best[i, S]         the most that the others add behind S
#include "lattice.h"

#include <nanobind/stl/pair.h>

#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"
#include "bits.h"
#include "threads.h"
#include "wide.h"

namespace drbo {

namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
constexpr int MOST_NODES = 40;
// Steps between two looks at the watch.
constexpr int CHUNK = 1024;

WIDE void spread_max_block(double* without, double* with, std::size_t step) {
  for (std::size_t k = 0; k < step; ++k) with[k] = without[k] > with[k] ? without[k] : with[k];
}

WIDE void spread_max_low(double* row, std::size_t size) {  // the three lowest members together
  for (std::size_t k = 0; k < size; k += 8) {
    double* const r = row + k;
    for (int step = 1; step < 8; step *= 2)
      for (int s = 0; s < 8; ++s)
        if (s & step) r[s] = r[s - step] > r[s] ? r[s - step] : r[s];
  }
}

}  // namespace

void spread_max(double* row, std::size_t size, Watch& watch) {
  std::size_t step = 1;
  if (size >= 8) {
    spread_max_low(row, size);
    watch.check(static_cast<std::int64_t>(size));
    step = 8;
  }
  for (; step < size; step *= 2)
    for (std::size_t start = 0; start < size; start += 2 * step) {
      spread_max_block(row + start, row + start + step, step);
      watch.check(static_cast<std::int64_t>(step));
    }
}

void lattice_forward(const double* best, int d, double* value, Watch& watch) {
  const std::size_t columns = std::size_t{1} << (d - 1);
  value[0] = 0.0;
  for (Set nodes = 1; nodes < Set{1} << d; ++nodes) {
    double top = NEVER;
    for (Set left = nodes; left; left &= left - 1) {
      const int node = lowest(left);
      const Set rest = nodes ^ singleton(node);
      const double total = value[rest] + best[node * columns + column_of(rest, node)];
      if (total > top) top = total;
    }
    value[nodes] = top;
    watch.check(2 * d);
  }
}

namespace {

void lattice_backward(const double* best, int d, double* value, Watch& watch) {
  const std::size_t columns = std::size_t{1} << (d - 1);
  const Set full = (Set{1} << d) - 1;
  value[full] = 0.0;
  for (Set nodes = full; nodes-- > 0;) {
    double top = NEVER;
    for (Set left = full ^ nodes; left; left &= left - 1) {
      const int node = lowest(left);
      const double total = value[nodes | singleton(node)] + best[node * columns + column_of(nodes, node)];
      if (total > top) top = total;
    }
    value[nodes] = top;
    watch.check(2 * d);
  }
}

// A table of all families with what follows from it.
struct Lattice {
  int d;
  std::size_t columns;
  const double* shares;
  const double* best;
  const double* share_row(int node) const { return shares + node * columns; }
  const double* best_row(int node) const { return best + node * columns; }
};

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

// The smallest subset of a column with a share, and with certain members; of equally small ones the first.
Set smallest_family(const double* row, Set within, double wanted, Set needed, Watch& watch) {
  Set found = within;
  int size = 65;
  for_subsets(within, watch, [&](Set part) {
    if (row[part] != wanted || !inside(needed, part)) return;
    const int count = size_of(part);
    if (count < size || (count == size && part < found)) found = part, size = count;
  });
  return found;
}

void write_family(std::uint8_t* dag, int d, int node, Set column) {
  const Set parents = set_of(column, node);
  for (int parent = 0; parent < d; ++parent) dag[parent * d + node] = holds(parents, parent);
}

// Fills in the families of a set of nodes, the last node of its best order first.
void trace_down(const Lattice& table, const double* before, Set nodes, std::uint8_t* dag, Watch& watch) {
  while (nodes) {
    int last = lowest(nodes);  // rounding is the same as on the way up: one of them fits exactly
    for (Set left = nodes; left; left &= left - 1) {
      const int node = lowest(left);
      const Set rest = nodes ^ singleton(node);
      if (before[nodes] == before[rest] + table.best_row(node)[column_of(rest, node)]) {
        last = node;
        break;
      }
    }
    nodes ^= singleton(last);
    const Set within = column_of(nodes, last);
    write_family(dag, table.d, last,
                 smallest_family(table.share_row(last), within, table.best_row(last)[within], 0, watch));
  }
}

// Fills in the families of all nodes outside a set that comes first.
void trace_up(const Lattice& table, const double* after, Set nodes, std::uint8_t* dag, Watch& watch) {
  const Set full = (Set{1} << table.d) - 1;
  while (nodes != full) {
    int next = lowest(full ^ nodes);
    for (Set left = full ^ nodes; left; left &= left - 1) {
      const int node = lowest(left);
      if (after[nodes] == after[nodes | singleton(node)] + table.best_row(node)[column_of(nodes, node)]) {
        next = node;
        break;
      }
    }
    const Set within = column_of(nodes, next);
    write_family(dag, table.d, next,
                 smallest_family(table.share_row(next), within, table.best_row(next)[within], 0, watch));
    nodes |= singleton(next);
  }
}

// Keeps the entries whose index has a bit, in front and in their order; returns how many.
std::size_t keep_with(std::vector<double>& row, std::size_t size, int bit) {
  const std::size_t step = std::size_t{1} << bit;
  std::size_t kept = 0;
  for (std::size_t start = step; start < size; start += 2 * step)
    for (std::size_t k = start; k < start + step; ++k) row[kept++] = row[k];
  return kept;
}

// The best score when a node's parents hold `needed` and none of `banned` and `must` comes before it, and the set
// before it; -1: there is none. Needed parents leave the lattice: what remains is half as large for each.
std::pair<double, std::int64_t> best_split(const Lattice& table, int node, Set needed, Set banned, Set must,
                                           const double* before, const double* after, Watch& watch) {
  const Set has = column_of(needed, node), no = column_of(banned, node);
  const double* part = table.best_row(node);
  std::size_t size = table.columns;
  std::vector<double> fewer;
  if (has) {
    fewer.assign(table.share_row(node), table.share_row(node) + size);
    for (int bit = 63; bit >= 0; --bit)
      if (holds(has, bit)) size = keep_with(fewer, size, bit);
    spread_max(fewer.data(), size, watch);
    part = fewer.data();
  }
  double top = NEVER;
  std::int64_t found = -1;
  for (std::size_t first = 0; first < size; first += CHUNK) {
    for (std::size_t k = first; k < std::min(first + CHUNK, size); ++k) {
      Set column = k;
      for (Set left = has; left; left &= left - 1) column = set_of(column, lowest(left)) | (left & -left);
      const Set nodes = set_of(column, node);
      if (!inside(must, nodes)) continue;
      const double value = before[nodes] + part[has ? k : k & ~no] + after[nodes | singleton(node)];
      if (value > top) top = value, found = static_cast<std::int64_t>(nodes);
    }
    watch.check(4 * CHUNK);
  }
  return {top, found};
}

// The DAG behind best_split: the best one on a set, then the node, then the rest.
void trace_split(const Lattice& table, const double* before, const double* after, int node, Set nodes, Set needed,
                 Set banned, std::uint8_t* dag, Watch& watch) {
  trace_down(table, before, nodes, dag, watch);
  const Set within = column_of(nodes & ~banned, node), has = column_of(needed, node);
  const double* row = table.share_row(node);
  double top = NEVER;
  for_subsets(within, watch, [&](Set part) {
    if (row[part] > top && inside(has, part)) top = row[part];
  });
  write_family(dag, table.d, node, smallest_family(row, within, top, has, watch));
  trace_up(table, after, nodes | singleton(node), dag, watch);
}

// ---- the border ----

using Table = In<double, 2>;
using Row = In<double, 1>;

int nodes_of(const Table& table, const char* name) {
  const std::size_t d = table.shape(0);
  require(d >= 1 && d <= MOST_NODES, "a table over all sets needs 1 to 40 nodes");
  require_shape(table, name, {d, std::size_t{1} << (d - 1)});
  return static_cast<int>(d);
}

Lattice lattice_of(const Table& shares, const Table& best) {
  const int d = nodes_of(shares, "shares");
  require_shape(best, "best", {shares.shape(0), shares.shape(1)});
  return {d, shares.shape(1), shares.data(), best.data()};
}

void require_sets(const Row& values, int d, const char* name) { require_shape(values, name, {std::size_t{1} << d}); }

Set checked_set(std::int64_t nodes, int d, const char* message) {
  require(nodes >= 0 && nodes < std::int64_t{1} << d, message);
  return static_cast<Set>(nodes);
}

Result<double, 2> best_inside(const Table& shares, int threads, const StopFlag* stop) {
  const std::size_t d = nodes_of(shares, "shares"), columns = shares.shape(1);
  Owned<double> best(d * columns);
  {
    const nb::gil_scoped_release release;
    in_parts(static_cast<std::int64_t>(d), threads, stop, [&](std::int64_t node, Watch& watch) {
      double* row = best.data() + node * columns;
      std::copy_n(shares.data() + node * columns, columns, row);
      spread_max(row, columns, watch);
    });
  }
  return best.give({d, columns});
}

template <class Pass>
Result<double, 1> over_sets(const Table& best, const StopFlag* stop, const Pass& pass) {
  const int d = nodes_of(best, "best");
  Owned<double> value(std::size_t{1} << d);
  {
    const nb::gil_scoped_release release;
    Watch watch(stop, nullptr, true);
    pass(best.data(), d, value.data(), watch);
  }
  return value.give({std::size_t{1} << d});
}

template <class Fill>
Result<bool, 2> new_dag(int d, const StopFlag* stop, const Fill& fill) {
  const std::size_t nodes = static_cast<std::size_t>(d);
  Owned<bool> dag(nodes * nodes);
  std::fill_n(dag.data(), nodes * nodes, false);
  {
    const nb::gil_scoped_release release;
    Watch watch(stop, nullptr, true);
    fill(reinterpret_cast<std::uint8_t*>(dag.data()), watch);
  }
  return dag.give({nodes, nodes});
}

}  // namespace

void bind_lattice(nb::module_& m) {
  m.def("best_inside", &best_inside, "shares"_a.noconvert(), "threads"_a = 1, "stop"_a = nb::none(),
        "Return the best share of each node with parents inside each set.");
  m.def(
      "lattice_forward", [](const Table& best, const StopFlag* stop) { return over_sets(best, stop, lattice_forward); },
      "best"_a.noconvert(), "stop"_a = nb::none(), "Return the best score of a DAG on each set of nodes.");
  m.def(
      "lattice_backward",
      [](const Table& best, const StopFlag* stop) { return over_sets(best, stop, lattice_backward); },
      "best"_a.noconvert(), "stop"_a = nb::none(),
      "Return the most that the other nodes can add when a set comes first, for each set.");
  m.def(
      "lattice_trace",
      [](const Table& shares, const Table& best, const Row& before, const StopFlag* stop) {
        const Lattice table = lattice_of(shares, best);
        require_sets(before, table.d, "before");
        return new_dag(table.d, stop, [&](std::uint8_t* dag, Watch& watch) {
          trace_down(table, before.data(), (Set{1} << table.d) - 1, dag, watch);
        });
      },
      "shares"_a.noconvert(), "best"_a.noconvert(), "before"_a.noconvert(), "stop"_a = nb::none(),
      "Return the DAG behind lattice_forward of all nodes; of equally good families the smallest.");
  m.def(
      "lattice_split",
      [](const Table& shares, const Table& best, int node, const Row& before, const Row& after, std::int64_t needed,
         std::int64_t banned, std::int64_t must, const StopFlag* stop) {
        const Lattice table = lattice_of(shares, best);
        require_sets(before, table.d, "before");
        require_sets(after, table.d, "after");
        require(node >= 0 && node < table.d, "node must be one of the table's");
        const Set has = checked_set(needed, table.d, "needed must be a set of the table's nodes");
        const Set no = checked_set(banned, table.d, "banned must be a set of the table's nodes");
        const Set first = checked_set(must, table.d, "must must be a set of the table's nodes");
        require(!holds(has | no | first, node), "a condition on a node cannot name the node itself");
        require(has == 0 || no == 0, "one of needed and banned must be empty");
        const nb::gil_scoped_release release;
        Watch watch(stop, nullptr, true);
        return best_split(table, node, has, no, first, before.data(), after.data(), watch);
      },
      "shares"_a.noconvert(), "best"_a.noconvert(), "node"_a, "before"_a.noconvert(), "after"_a.noconvert(),
      "needed"_a = 0, "banned"_a = 0, "must"_a = 0, "stop"_a = nb::none(),
      "Return the best score under a condition on one node, and the set of nodes before it (-1: there is none).");
  m.def(
      "lattice_trace_split",
      [](const Table& shares, const Table& best, const Row& before, const Row& after, int node, std::int64_t nodes,
         std::int64_t needed, std::int64_t banned, const StopFlag* stop) {
        const Lattice table = lattice_of(shares, best);
        require_sets(before, table.d, "before");
        require_sets(after, table.d, "after");
        require(node >= 0 && node < table.d, "node must be one of the table's");
        const Set first = checked_set(nodes, table.d, "nodes must be a set of the table's nodes");
        const Set has = checked_set(needed, table.d, "needed must be a set of the table's nodes");
        const Set no = checked_set(banned, table.d, "banned must be a set of the table's nodes");
        require(!holds(has | no | first, node), "a condition on a node cannot name the node itself");
        return new_dag(table.d, stop, [&](std::uint8_t* dag, Watch& watch) {
          trace_split(table, before.data(), after.data(), node, first, has, no, dag, watch);
        });
      },
      "shares"_a.noconvert(), "best"_a.noconvert(), "before"_a.noconvert(), "after"_a.noconvert(), "node"_a, "nodes"_a,
      "needed"_a = 0, "banned"_a = 0, "stop"_a = nb::none(),
      "Return the DAG behind lattice_split: the best one on a set, then the node, then the rest.");
}

}  // namespace drbo
