// Linear families whose noise may be other than Gaussian: fits of a batch, of all families of a few columns, and steps.
//
// Weights come from the correlation matrix (Projection), as in regressions.cpp; the shape of the noise needs the
// residuals themselves. The negentropy of a residual u of variance 1 is approximated by two of its moments (Hyvarinen
// 1998, "New approximations of differential entropy for independent component analysis and projection pursuit"):
//   J = 36 / (8 sqrt 3 - 9) E[u exp(-u^2 / 2)]^2 + 24 / (16 sqrt 3 - 27) (E[exp(-u^2 / 2)] - sqrt(1 / 2))^2.
#include <nanobind/stl/vector.h>

#include "numbers.h"
#include "steps.h"

namespace drbo {
namespace {

WIDE double variance(const double* residual, const double* shares, size_t n) {
  return sum_terms<double>(n, [&](size_t row) { return shares[row] * residual[row] * residual[row]; });
}

// E[exp(-u^2 / 2)], and E[u exp(-u^2 / 2)] in odd.
WIDE double bells(const double* residual, const double* shares, size_t n, double scale, double* odd) {
  double even_lane[8] = {}, odd_lane[8] = {};
  const auto add = [&](size_t row, size_t lane) {
    const double u = residual[row] * scale, bell = shares[row] * exponential(-0.5 * u * u);
    even_lane[lane] += bell;
    odd_lane[lane] += u * bell;
  };
  size_t row = 0;
  for (; row + 8 <= n; row += 8)
    for (size_t lane = 0; lane < 8; ++lane) add(row + lane, lane);
  for (size_t lane = 0; row + lane < n; ++lane) add(row + lane, lane);
  *odd = sum_lanes(odd_lane);
  return sum_lanes(even_lane);
}

double negentropy(double even, double odd) {
  static const double root = std::sqrt(3.0), expected = std::sqrt(0.5);
  static const double of_odd = 36.0 / (8.0 * root - 9.0), of_even = 24.0 / (16.0 * root - 27.0);
  return of_odd * odd * odd + of_even * (even - expected) * (even - expected);
}

// after = before - factor column; both may be the same array.
WIDE void subtract(const double* before, const double* column, double factor, size_t n, double* after) {
  for (size_t row = 0; row < n; ++row) after[row] = before[row] - factor * column[row];
}

// Solves L' x = y (k,), with L the Cholesky factor of the parents' correlation matrix.
void solve_back(const Projection& at, const Family& family, const double* y, vector<double>& x) {
  const size_t size = family.size, d = at.left.size();
  x.assign(size, 0.0);
  for (size_t i = size; i-- > 0;) {
    const double pivot = at.coordinates[i * d + family.parents[i]];
    if (!(pivot > 0)) continue;  // collinear with those before it
    double sum = y[i];
    for (size_t m = i + 1; m < size; ++m) sum -= at.coordinates[i * d + family.parents[m]] * x[m];
    x[i] = sum / pivot;
  }
}

// The weights (k,) of the parents in the regression of a column on them; 0 for a parent that has no part.
void regress(const Projection& at, const Family& family, size_t column, vector<double>& weights) {
  vector<double> own(family.size);
  for (int32_t k = 0; k < family.size; ++k) own[k] = at.coordinates[k * at.left.size() + column];
  solve_back(at, family, own.data(), weights);
}

// Room for one family in each thread.
struct Room {
  Projection at;
  vector<double> residual, changed;         // (n,)
  vector<double> weights, others, inverse;  // (k,)
};

// Rows of standardised columns, each with its weight.
struct NoiseRows {
  Table columns;                    // (d, n)
  Row shares;                       // (n,) the weights, which add up to 1
  Table correlation;                // (d, d)
  double charge = 0;                // negentropy that Gaussian noise has by chance, and the price of the shape
  double collinear = 0, floor = 0;  // residual variances under the floor count as a perfect fit
  size_t d = 0, n = 0;

  void check() {
    d = columns.shape(0), n = columns.shape(1);
    require(d >= 1, "there must be a node");
    require(collinear > 0 && floor > 0, "collinear and floor must be above 0");
    require_shape({n}, "shares", shares);
    require_shape({d, d}, "correlation", correlation);
  }
  const double* column(size_t v) const { return columns.data() + v * n; }

  // Minus the log variance of a residual (n,), plus twice its negentropy beyond the charge.
  double fit(const vector<double>& residual) const { return fit(residual.data()); }
  double fit(const double* residual) const {
    const double left = variance(residual, shares.data(), n);
    if (left <= floor) return -std::log(floor);
    double odd = 0.0;
    const double even = bells(residual, shares.data(), n, 1.0 / std::sqrt(left), &odd);
    return -std::log(left) + 2.0 * std::max(0.0, negentropy(even, odd) - charge);
  }

  // residual -= factor times the weighted sum of the parents.
  void take_parents(const Family& family, double factor, const vector<double>& weights,
                    vector<double>& residual) const {
    for (int32_t k = 0; k < family.size; ++k)
      subtract(residual.data(), column(family.parents[k]), factor * weights[k], n, residual.data());
  }

  // Sets what the parents leave; returns the fit.
  double regress_family(const Family& family, Room& room) const {
    room.at.left.assign(d, 1.0);
    room.at.set(family.parents, family.size, family.node, correlation.data(), collinear);
    regress(room.at, family, family.node, room.weights);
    room.residual.assign(column(family.node), column(family.node) + n);
    take_parents(family, 1.0, room.weights, room.residual);
    return fit(room.residual);
  }
};

// All columns after the members of a set have been eliminated from them.
struct Left {
  vector<double> columns;      // (d, n)
  vector<double> covariances;  // (d, d)
};

// Fits of all families, set after set. A set is reached from the one without its lowest member, which is still at hand
// when sets come in the order of their bit masks.
class Fits {
 public:
  Fits(const NoiseRows& rows, const Set* possible, const int64_t* most, double* found)
      : rows_(rows), d_(rows.d), possible_(possible), most_(most), found_(found), left_(d_ + 1) {
    for (Left& left : left_) left.columns.resize(d_ * rows.n), left.covariances.resize(d_ * d_);
    std::copy_n(rows.columns.data(), d_ * rows.n, left_[0].columns.data());
    std::copy_n(rows.correlation.data(), d_ * d_, left_[0].covariances.data());
  }

  // Fits of the families whose parents are the given columns and any of the first n_low.
  void below(Set high, size_t n_low, Watch& watch) {
    Set taken = 0;
    for (size_t c = d_; c-- > n_low;) {
      if (!holds(high, static_cast<int>(c))) continue;
      eliminate(taken, c);
      taken |= singleton(static_cast<int>(c));
    }
    for (Set low = 0; low < Set{1} << n_low; ++low) {
      const Set set = high | low;
      if (low) eliminate(set & (set - 1), lowest(set));
      evaluate(set, watch);
    }
  }

 private:
  void eliminate(Set before, size_t c) {
    const Left& from = left_[size_of(before)];
    Left& to = left_[size_of(before) + 1];
    const double* const own = from.covariances.data() + c * d_;
    for (size_t i = 0; i < d_; ++i) {
      if (i == c || holds(before, static_cast<int>(i))) continue;
      const double factor = own[c] > rows_.collinear ? own[i] / own[c] : 0.0;
      for (size_t j = 0; j < d_; ++j) to.covariances[i * d_ + j] = from.covariances[i * d_ + j] - factor * own[j];
      subtract(from.columns.data() + i * rows_.n, from.columns.data() + c * rows_.n, factor, rows_.n,
               to.columns.data() + i * rows_.n);
    }
  }

  void evaluate(Set set, Watch& watch) {
    const int size = size_of(set);
    for (int node = 0; node < static_cast<int>(d_); ++node) {
      if (holds(set, node)) continue;
      double& place = found_[(static_cast<size_t>(node) << (d_ - 1)) + column_of(set, node)];
      place = std::numeric_limits<double>::quiet_NaN();
      watch.check(whole(rows_.n) / 2);
      if (size > most_[node] || !inside(set, possible_[node])) continue;
      place = rows_.fit(left_[size].columns.data() + node * rows_.n);
      watch.check(whole(rows_.n));
    }
  }

  const NoiseRows& rows_;
  size_t d_;
  const Set* possible_;
  const int64_t* most_;
  double* found_;
  vector<Left> left_;
};

Result<double, 1> fits(const NoiseRows& rows, const Ints& nodes, const Ints& starts, const Ints& members, int threads) {
  const size_t d = rows.d, m = nodes.shape(0);
  require_starts(starts, m, members.shape(0));
  require_range(nodes.data(), m, 0, whole(d), "nodes");
  require_range(members.data(), members.shape(0), 0, whole(d), "members");
  const vector<int32_t> parents(members.data(), members.data() + members.shape(0));
  Owned<double, 1> found({m});
  in_stretches(m, threads, [&](int64_t first, int64_t last, Watch& watch) {
    Room room;
    for (int64_t b = first; b < last; ++b) {
      const int64_t size = starts[b + 1] - starts[b];
      watch.check(whole(rows.n) * (2 + size / 2) + whole(d) * size * (size + 4) / 8);
      found[b] = rows.regress_family(
          {static_cast<int32_t>(nodes[b]), static_cast<int32_t>(size), parents.data() + starts[b]}, room);
    }
  });
  return found.give();
}

Result<double, 2> all_fits(const NoiseRows& rows, const Masks& possible, const Ints& most, int threads) {
  const size_t d = rows.d, split = std::min<size_t>(5, d - 1), n_low = d - split;
  require(d <= 30, "tables of all families need 1 to 30 columns");
  require_shape({d}, "possible and most", possible, most);
  Owned<double, 2> found({d, size_t{1} << (d - 1)});
  in_parts(size_t{1} << split, threads, [&](int64_t piece, Watch& watch) {  // the highest members make pieces of work
    Fits(rows, possible.data(), most.data(), found.data()).below(static_cast<Set>(piece) << n_low, n_low, watch);
  });
  return found.give();
}

// Each addition or drop changes the residual of a family by a few multiples of columns. The value of a family is rows
// times its fit, minus its prices.
class NonGaussianSteps final : public PricedSteps {
 public:
  vector<NoiseRows> data;  // of each group
  Row rows;                // (d,)

  void check() const {
    check_prices(data.size());
    for (const NoiseRows& part : data) require(part.d == n_nodes(), "data must have the same nodes");
    require_shape({n_nodes()}, "rows", rows);
  }

  int64_t work(const Family& family) const override {
    return whole(n_nodes() * data[group[family.node]].n) * (2 + family.size / 2);
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const size_t d = n_nodes(), node = family.node;
    const NoiseRows& own = data[group[node]];
    const int64_t step = work(family) / whole(d);
    watch.check(step);
    const double now = own.regress_family(family, room);
    std::fill_n(gains, d, 0.0);
    for (size_t v = 0; v < d && has_room(family); ++v) {
      const bool member = std::binary_search(family.parents, family.parents + family.size, static_cast<int>(v));
      if (member || !may_add(node, v) || room.at.left[v] <= own.collinear) continue;
      watch.check(step);
      gains[v] = rows[node] * (with(family, own, v, room) - now) - price(node, v);
    }
    Worth worth;
    worth.value = rows[node] * now - price(family);
    for (int32_t k = 0; k < family.size; ++k) {
      if (!may_drop(node, family.parents[k])) continue;
      watch.check(step);
      const double gain = rows[node] * (without(family, own, k, now, room) - now);
      worth.offer_drop(family.parents[k], gain + price(node, family.parents[k]));
    }
    return worth;
  }

 private:
  // The fit with one more parent: the residual loses its part along what the parents leave of the new one.
  static double with(const Family& family, const NoiseRows& own, size_t v, Room& room) {
    const double slope = room.at.joint[v] / room.at.left[v];
    regress(room.at, family, v, room.others);
    room.changed.resize(own.n);
    subtract(room.residual.data(), own.column(v), slope, own.n, room.changed.data());
    own.take_parents(family, -slope, room.others, room.changed);
    return own.fit(room.changed);
  }

  // The fit without parent k. With c column k of the inverse of the parents' correlation matrix, the residual gains
  // weight_k / c_k times the sum of the parents weighted by c.
  static double without(const Family& family, const NoiseRows& own, int32_t k, double now, Room& room) {
    const size_t d = own.d, size = family.size;
    const double* const coordinates = room.at.coordinates.data();
    if (!(coordinates[k * d + family.parents[k]] > 0)) return now;  // collinear with those before it
    room.inverse.assign(size, 0.0);
    for (size_t m = k; m < size; ++m) {  // column k of the inverse of the Cholesky factor
      double sum = m == static_cast<size_t>(k) ? 1.0 : 0.0;
      for (size_t j = k; j < m; ++j) sum -= coordinates[j * d + family.parents[m]] * room.inverse[j];
      const double pivot = coordinates[m * d + family.parents[m]];
      room.inverse[m] = pivot > 0 ? sum / pivot : 0.0;
    }
    solve_back(room.at, family, room.inverse.data(), room.others);
    room.changed = room.residual;
    own.take_parents(family, -room.weights[k] / room.others[k], room.others, room.changed);
    return own.fit(room.changed);
  }
};
}  // namespace

void bind_nongaussian(nb::module_& m) {
  {
    using Self = NoiseRows;
    bind_fields<Self>(m, "NoiseRows", "Rows of standardised columns.", FIELD(columns), FIELD(shares),
                      FIELD(correlation), FIELD(charge), FIELD(collinear), FIELD(floor))
        .def("fits", &fits,
             "Return, for each family, minus the log of the share of variance that the parents leave, plus twice the "
             "negentropy of the residual beyond the charge.")
        .def("all_fits", &all_fits, "Return the same for all families (d, 2^(d-1)); NaN: not asked for.");
  }
  using Self = NonGaussianSteps;
  bind_fields<Self, Steps>(
      m, "NonGaussianSteps", "Steps of the linear score with noise that may be other than Gaussian.", FIELD(data),
      FIELD(group), FIELD(rows), FIELD(prices), FIELD(allowed), FIELD(required), FIELD(max_parents));
}
}  // namespace drbo
