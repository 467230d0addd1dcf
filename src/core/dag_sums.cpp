// Sums over all DAGs: which share of the total weight goes through each family.
//
// The weight of a DAG is the product of the weights of its families. inside[i, U] is the log of the summed weight of
// all families of node i with parents inside U; passed[i, U] is the derivative of the log of the total by inside[i, U].
#include "lattice.h"
#include "threads.h"

namespace drbo {

namespace {

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
  std::vector<int> members;  // the nodes outside R
  std::vector<double> logs;
  std::vector<Set> unions;
  std::vector<double> signs;

  Terms(const Lattice& sums_, const double* scale_)
      : sums(sums_), scale(scale_), members(sums.d), logs(sums.sets()), unions(sums.sets()), signs(sums.sets()) {}

  int fill(Set nodes) {
    int count = 0;
    logs[0] = 0.0, unions[0] = nodes, signs[0] = -1.0;
    for (Set left = sums.full() ^ nodes; left; left &= left - 1, ++count) {
      const int node = members[count] = lowest(left);
      const double value = sums.at(node, nodes);
      const std::size_t half = std::size_t{1} << count;
      for (std::size_t low = 0; low < half; ++low) {
        logs[half | low] = logs[low] + value;
        unions[half | low] = unions[low] | singleton(node);
        signs[half | low] = -signs[low];
      }
    }
    return count;
  }

  // What total(R) is multiplied by in a term.
  double factor(std::size_t k) const {
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
    const std::size_t count = std::size_t{1} << terms.fill(nodes);
    for (std::size_t k = 1; k < count; ++k) {
      value[terms.unions[k]] += value[nodes] * terms.factor(k);
      if (k % 1024 == 0) watch.check(10 * 1024);
    }
    watch.check(10 * whole(count % 1024));
  }
}

// The same recursion backwards: slope is the derivative of the log of the total by each scaled value.
void dags_backward(const Lattice& sums, const double* scale, const double* value, double* passed, Watch& watch) {
  Terms terms(sums, scale);
  std::vector<double> slope(sums.sets());
  slope[sums.full()] = 1.0 / value[sums.full()];
  std::fill_n(passed, sums.d * sums.columns, 0.0);
  for (Set nodes = sums.full(); nodes-- > 0;) {
    if (scale[nodes] == NEVER) continue;
    const int members = terms.fill(nodes);
    double total = 0.0;
    std::vector<double>& through = terms.logs;  // from here on what goes through each term
    for (std::size_t k = 1; k < std::size_t{1} << members; ++k) {
      const double term = slope[terms.unions[k]] * terms.factor(k);
      total += term;
      through[k] = term * value[nodes];
      if (k % 1024 == 0) watch.check(10 * 1024);
    }
    slope[nodes] = total;
    through[0] = 0.0;
    for (int k = members - 1; k >= 0; --k) {  // the upper half holds the terms with member k; then it is forgotten
      const std::size_t half = std::size_t{1} << k;
      double sum = 0.0;
      for (std::size_t low = 0; low < half; ++low) {
        sum += through[half | low];
        through[low] += through[half | low];
      }
      passed[terms.members[k] * sums.columns + column_of(nodes, terms.members[k])] = sum;
    }
    watch.check(std::int64_t{2} << members);
  }
}

// ---- the border ----

Result<double, 2> sum_inside(const Table& logs, int threads) {
  const Lattice sums(logs);
  const auto add = [](double* to, const double* from, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) to[k] = log_add(from[k], to[k]);
  };
  Owned<double, 2> total({logs.shape(0), sums.columns});
  in_parts(logs.shape(0), threads, [&](std::int64_t node, Watch& watch) {
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
  std::vector<double> before(sums.sets()), after(sums.sets());
  Owned<double, 2> passed({inside.shape(0), sums.columns});
  in_parts(2, threads, [&](std::int64_t way, Watch& watch) {
    way == 0 ? join_orders<true>(sums, before.data(), watch, log_add, 20)
             : join_orders<false>(sums, after.data(), watch, log_add, 20);
  });
  in_parts(inside.shape(0), threads, [&](std::int64_t part, Watch& watch) {
    const int node = static_cast<int>(part);
    for (std::size_t k = 0; k < sums.columns; ++k) {
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
  std::vector<double> best(logs.data(), logs.data() + logs.size()), scale(sums.sets()), value(sums.sets());
  Owned<double, 2> passed({inside.shape(0), sums.columns});
  in_parts(inside.shape(0), threads, [&](std::int64_t node, Watch& watch) {
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
  const std::size_t d = sums.d;
  Owned<double, 2> edges({d, d});
  std::fill_n(edges.data(), d * d, 0.0);
  in_parts(d, threads, [&](std::int64_t part, Watch& watch) {
    const int node = static_cast<int>(part);
    for (std::size_t k = 0; k < sums.columns; ++k) {
      const double through = passed.data()[node * sums.columns + k];
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

void bind_dag_sums(nb::module_& m) {
  m.def("sum_inside", &sum_inside, "Return the log of the summed weight of each node's families inside each set.");
  m.def("sum_over_orders", &sum_over_orders, "Return what passes through each family when every order counts once.");
  m.def("sum_over_dags", &sum_over_dags, "Return what passes through each family when every DAG counts once.");
  m.def("edge_sums", &edge_sums, "Return the probability of each edge, up to rounding.");
}

}  // namespace drbo
