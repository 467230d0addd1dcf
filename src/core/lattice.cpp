// The subset lattice: best orders, what is best under one change, and sums over all DAGs.
//
// shares[i, U] is what family U of node i adds to the score, best[i, U] the most over the subsets of U.
//   before(S) = max over i in S of before(S - i) + best[i, S - i]        the best DAG on S
//   after(S)  = max over i not in S of after(S + i) + best[i, S]         the most that the others add behind S
// In sums the weight of a DAG is the product of the weights of its families. inside[i, U] is the log of the summed
// weight of all families of node i with parents inside U; passed[i, U] is the derivative of the log of the total by it.
#include <nanobind/stl/pair.h>

#include "arrays.h"
#include "numbers.h"

namespace drbo {
namespace {

constexpr size_t MOST_NODES = 40;

// A table with one row per node and one column per set of the other nodes (sets.h).
struct Lattice {
  int d = 0;
  size_t columns = 0;
  const double* table = nullptr;

  explicit Lattice(const Table& given, size_t most = MOST_NODES)
      : d(static_cast<int>(given.shape(0))), columns(given.shape(1)), table(given.data()) {
    if (d < 1 || given.shape(0) > most) refuse("a table over all sets needs 1 to " + std::to_string(most) + " nodes");
    require_shape({given.shape(0), size_t{1} << (d - 1)}, "a table over all sets", given);
  }
  Lattice(int d_, const double* table_) : d(d_), columns(size_t{1} << (d_ - 1)), table(table_) {}
  Set full() const { return (Set{1} << d) - 1; }
  size_t sets() const { return size_t{1} << d; }
  const double* row(int node) const { return table + node * columns; }
  double at(int node, Set nodes) const { return row(node)[column_of(nodes, node)]; }
};

// Joins row[S - k] into row[S] for one member k after the other: then row[S] is joined over all subsets of S; or the
// other way round, over all supersets. join(to, from, count) works on stretches.
template <bool subsets, class Join>
void spread(double* row, size_t size, Watch& watch, const Join& join, int cost, size_t step = 1) {
  constexpr size_t CHUNK = 1 << 14;  // between two looks at the watch
  for (; step < size; step *= 2)
    for (size_t start = 0; start < size; start += 2 * step)
      for (size_t first = start; first < start + step; first += CHUNK) {
        const size_t count = std::min(CHUNK, start + step - first);
        double *const without = row + first, *const with = without + step;
        join(subsets ? with : without, subsets ? without : with, count);
        watch.check(whole(count) * cost);
      }
}

WIDE void raise(double* to, const double* from, size_t count) {
  for (size_t k = 0; k < count; ++k) to[k] = from[k] > to[k] ? from[k] : to[k];
}

WIDE void spread_lowest(double* row, size_t size) {  // the three lowest members together
  for (size_t k = 0; k < size; k += 8) {
    double* const r = row + k;
    for (int step = 1; step < 8; step *= 2)
      for (int s = 0; s < 8; ++s)
        if (s & step) r[s] = r[s - step] > r[s] ? r[s - step] : r[s];
  }
}

// The highest over all subsets, or over all supersets.
void spread_max(double* row, size_t size, bool subsets, Watch& watch) {
  if (!subsets) return spread<false>(row, size, watch, raise, 1);
  if (size < 8) return spread<true>(row, size, watch, raise, 1);
  constexpr size_t CHUNK = 1 << 16;
  for (size_t first = 0; first < size; first += CHUNK) {
    spread_lowest(row + first, std::min(size - first, CHUNK));
    watch.check(CHUNK);
  }
  spread<true>(row, size, watch, raise, 1, 8);
}

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

// ---- the best ----

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
  in_parts(shares.shape(0), threads, [&](int64_t node, Watch& watch) {
    double* row = best.data() + node * lattice.columns;
    std::copy_n(lattice.row(static_cast<int>(node)), lattice.columns, row);
    spread_max(row, lattice.columns, true, watch);
  });
  return best.give();
}

void best_supersets(const Out<double, 1>& values) {
  const size_t size = values.shape(0);
  require(size >= 1 && (size & (size - 1)) == 0, "values must be over all sets: a power of 2");
  watched([&](Watch& watch) { spread_max(values.data(), size, false, watch); });
}

// The best score where the parents of a node hold `needed` and none of `banned`, and `must` comes before it,
//   max over S of before(S) + part(S) + after(S + node),
// and that S; -1: there is none. Needed parents leave the lattice: what remains is half as large for each.
std::pair<double, int64_t> split(const Table& shares, const Table& best, const Row& before, const Row& after, int node,
                                 int64_t needed, int64_t banned, int64_t must) {
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
    vector<double> fewer(has ? size : 0);
    if (has) {
      const Set step = has & -has;  // columns lie side by side up to the lowest needed parent
      for (Set k = 0; k < size; k += step) {
        std::copy_n(own.row(node) + column_at(k), step, fewer.data() + k);
        watch.check(static_cast<int64_t>(step));
      }
      spread_max(fewer.data(), size, true, watch);
      part = fewer.data();
    }
    double top = NEVER;
    int64_t found = -1;
    for (Set k = 0; k < size; ++k) {
      const Set nodes = set_of(column_at(k), node);
      watch.check(4);
      if (!inside(must, nodes)) continue;
      const double value = before[nodes] + part[k & ~no] + after[nodes | singleton(node)];
      if (value > top) top = value, found = static_cast<int64_t>(nodes);
    }
    return std::make_pair(top, found);
  });
}

// ---- sums ----

// exp of less is 0 in double precision.
constexpr double LEAST_EXPONENT = -700.0;

// ln(exp(a) + exp(b)); beyond 40 the smaller one changes no digit.
inline double log_add(double a, double b) {
  const double high = a < b ? b : a, low = a < b ? a : b;
  if (low == NEVER || high - low > 40.0) return high;
  return high + std::log1p(std::exp(low - high));
}

// Over DAGs (Tian & He 2009), by inclusion and exclusion over the sets T of sinks:
//   total(S) = sum over T of (-1)^(|T|+1) total(S - T) prod over j in T of A_j(S - T).
// Every term is scaled by the heaviest DAG on its set, so nothing overflows. These are the terms of one set R = S - T,
// one for each set T of sinks outside R: the log of the product of A_j(R) over T, the union of R and T, and the sign.
struct Terms {
  const Lattice& sums;
  const double* scale;
  vector<int> members;  // the nodes outside R
  vector<double> logs;
  vector<Set> unions;
  vector<double> signs;

  Terms(const Lattice& sums_, const double* scale_)
      : sums(sums_), scale(scale_), members(sums.d), logs(sums.sets()), unions(sums.sets()), signs(sums.sets()) {}

  int fill(Set nodes) {
    int count = 0;
    logs[0] = 0.0, unions[0] = nodes, signs[0] = -1.0;
    for (Set left = sums.full() ^ nodes; left; left &= left - 1, ++count) {
      const int node = members[count] = lowest(left);
      const double value = sums.at(node, nodes);
      const size_t half = size_t{1} << count;
      for (size_t low = 0; low < half; ++low) {
        logs[half | low] = logs[low] + value;
        unions[half | low] = unions[low] | singleton(node);
        signs[half | low] = -signs[low];
      }
    }
    return count;
  }

  // What total(R) is multiplied by in a term.
  double factor(size_t k) const {
    const double exponent = scale[unions[0]] + logs[k] - scale[unions[k]];
    return exponent > LEAST_EXPONENT ? signs[k] * std::exp(exponent) : 0.0;
  }
};

void dags_forward(const Lattice& sums, const double* scale, double* value, Watch& watch) {
  Terms terms(sums, scale);
  std::fill_n(value, sums.sets(), 0.0);
  value[0] = 1.0;
  for (Set nodes = 0; nodes < sums.full(); ++nodes) {
    if (scale[nodes] == NEVER) continue;
    const size_t count = size_t{1} << terms.fill(nodes);
    for (size_t k = 1; k < count; ++k) {
      value[terms.unions[k]] += value[nodes] * terms.factor(k);
      if (k % 1024 == 0) watch.check(10 * 1024);
    }
    watch.check(10 * whole(count % 1024));
  }
}

// The same recursion backwards: slope is the derivative of the log of the total by each scaled value.
void dags_backward(const Lattice& sums, const double* scale, const double* value, double* passed, Watch& watch) {
  Terms terms(sums, scale);
  vector<double> slope(sums.sets());
  slope[sums.full()] = 1.0 / value[sums.full()];
  std::fill_n(passed, sums.d * sums.columns, 0.0);
  for (Set nodes = sums.full(); nodes-- > 0;) {
    if (scale[nodes] == NEVER) continue;
    const int members = terms.fill(nodes);
    double total = 0.0;
    vector<double>& through = terms.logs;  // from here on what goes through each term
    for (size_t k = 1; k < size_t{1} << members; ++k) {
      const double term = slope[terms.unions[k]] * terms.factor(k);
      total += term;
      through[k] = term * value[nodes];
      if (k % 1024 == 0) watch.check(10 * 1024);
    }
    slope[nodes] = total;
    through[0] = 0.0;
    for (int k = members - 1; k >= 0; --k) {  // the upper half holds the terms with member k; then it is forgotten
      const size_t half = size_t{1} << k;
      double sum = 0.0;
      for (size_t low = 0; low < half; ++low) {
        sum += through[half | low];
        through[low] += through[half | low];
      }
      passed[terms.members[k] * sums.columns + column_of(nodes, terms.members[k])] = sum;
    }
    watch.check(int64_t{2} << members);
  }
}

Result<double, 2> sum_inside(const Table& logs, int threads) {
  const Lattice sums(logs);
  const auto add = [](double* to, const double* from, size_t count) {
    for (size_t k = 0; k < count; ++k) to[k] = log_add(from[k], to[k]);
  };
  Owned<double, 2> total({logs.shape(0), sums.columns});
  in_parts(logs.shape(0), threads, [&](int64_t node, Watch& watch) {
    double* row = total.data() + node * sums.columns;
    std::copy_n(sums.row(static_cast<int>(node)), sums.columns, row);
    spread<true>(row, sums.columns, watch, add, 20);
  });
  return total.give();
}

// Over orders (Koivisto & Sood 2004): before(S) = sum over i in S of before(S - i) A_i(S - i), and after(S) likewise
// from the other end; an order puts S before i with weight before(S) A_i(S) after(S + i).
Result<double, 2> sum_over_orders(const Table& inside, int threads) {
  const Lattice sums(inside);
  vector<double> before(sums.sets()), after(sums.sets());
  Owned<double, 2> passed({inside.shape(0), sums.columns});
  in_parts(2, threads, [&](int64_t way, Watch& watch) {
    way == 0 ? join_orders<true>(sums, before.data(), watch, log_add, 20)
             : join_orders<false>(sums, after.data(), watch, log_add, 20);
  });
  in_parts(inside.shape(0), threads, [&](int64_t part, Watch& watch) {
    const int node = static_cast<int>(part);
    for (size_t k = 0; k < sums.columns; ++k) {
      const Set nodes = set_of(k, node);
      passed[node * sums.columns + k] =
          std::exp(before[nodes] + sums.row(node)[k] + after[nodes | singleton(node)] - after[0]);
      watch.check(10);
    }
  });
  return passed.give();
}

Result<double, 2> sum_over_dags(const Table& inside, const Table& logs, int threads) {
  const Lattice sums(inside, 25);
  require_shape({inside.shape(0), inside.shape(1)}, "logs", logs);
  vector<double> best(logs.data(), logs.data() + logs.size()), scale(sums.sets()), value(sums.sets());
  Owned<double, 2> passed({inside.shape(0), sums.columns});
  in_parts(inside.shape(0), threads, [&](int64_t node, Watch& watch) {
    spread_max(best.data() + node * sums.columns, sums.columns, true, watch);
  });
  watched([&](Watch& watch) {
    join_orders<true>(Lattice(sums.d, best.data()), scale.data(), watch, higher, 2);
    dags_forward(sums, scale.data(), value.data(), watch);
    dags_backward(sums, scale.data(), value.data(), passed.data(), watch);
  });
  return passed.give();
}

// An edge has the share of inside[U] that falls away when its parent leaves U.
Result<double, 2> edge_sums(const Table& inside, const Table& passed, int threads) {
  const Lattice sums(inside);
  require_shape({inside.shape(0), inside.shape(1)}, "passed", passed);
  const size_t d = sums.d;
  Owned<double, 2> edges({d, d});
  std::fill_n(edges.data(), d * d, 0.0);
  in_parts(d, threads, [&](int64_t part, Watch& watch) {
    const int node = static_cast<int>(part);
    for (size_t k = 0; k < sums.columns; ++k) {
      const double through = passed[node * sums.columns + k];
      if (through == 0.0) continue;
      const Set nodes = set_of(k, node);
      for (Set left = nodes; left; left &= left - 1) {
        const int parent = lowest(left);
        const double lost = sums.at(node, nodes ^ singleton(parent)) - sums.row(node)[k];
        edges[parent * d + node] -= through * std::expm1(lost);
      }
      watch.check(20 * sums.d);
    }
  });
  return edges.give();
}
}  // namespace

void bind_lattice(nb::module_& m) {
  m.def("best_inside", &best_inside, "Return the best share of each node with parents inside each set.");
  m.def("lattice_forward", &best_orders<true>, "Return the best score of a DAG on each set of nodes.");
  m.def("lattice_backward", &best_orders<false>, "Return the most that the nodes outside each set can add behind it.");
  m.def("best_supersets", &best_supersets, "Replace each value by the highest over all supersets.");
  m.def("lattice_split", &split,
        "Return the best score under a condition on one node, and the set of nodes before it.");
  m.def("sum_inside", &sum_inside, "Return the log of the summed weight of each node's families inside each set.");
  m.def("sum_over_orders", &sum_over_orders, "Return what passes through each family when every order counts once.");
  m.def("sum_over_dags", &sum_over_dags, "Return what passes through each family when every DAG counts once.");
  m.def("edge_sums", &edge_sums, "Return the probability of each edge, up to rounding.");
}
}  // namespace drbo
