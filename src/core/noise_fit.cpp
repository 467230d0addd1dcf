// Fits of families whose noise may be other than Gaussian: of a batch, and of all families of a few columns.
//
// The negentropy of a residual u of variance 1 is approximated by two of its moments (Hyvarinen 1998, "New
// approximations of differential entropy for independent component analysis and projection pursuit"):
//   J = 36 / (8 sqrt 3 - 9) E[u exp(-u^2 / 2)]^2 + 24 / (16 sqrt 3 - 27) (E[exp(-u^2 / 2)] - sqrt(1 / 2))^2.
// The exponential is computed here: that of the C library differs between processors.
#include "noise_fit.h"

#include <cstring>

#include "bits.h"
#include "steps.h"
#include "sums.h"
#include "wide.h"

namespace drbo {

namespace {

// exp(x) for x <= 0, with a relative error of about 1e-14; 1e-304 instead of less. x = k ln 2 + r, |r| <= ln 2 / 2.
inline double exponential(double x) {
  constexpr double SHIFT = 0x1.8p52;  // added to a small number it leaves the nearest whole number in the last bits
  constexpr double HIGH = 0x1.62e42feep-1, LOW = 0x1.a39ef35793c76p-33;  // ln 2 in two parts
  x = std::max(x, -700.0);
  const double shifted = x * 0x1.71547652b82fep0 + SHIFT, k = shifted - SHIFT;
  const double r = (x - k * HIGH) - k * LOW;
  double sum = 1.0 / 39916800;
  for (const double term :
       {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0})
    sum = sum * r + term;
  std::uint64_t bits, power;
  std::memcpy(&bits, &sum, sizeof bits);
  std::memcpy(&power, &shifted, sizeof power);
  bits += power << 52;
  std::memcpy(&sum, &bits, sizeof sum);
  return sum;
}

WIDE double variance(const double* residual, const double* shares, std::size_t n) {
  return sum_terms<double>(n, [&](std::size_t row) { return shares[row] * residual[row] * residual[row]; });
}

// E[exp(-u^2 / 2)], and E[u exp(-u^2 / 2)] in odd.
WIDE double bells(const double* residual, const double* shares, std::size_t n, double scale, double* odd) {
  double even_lane[8] = {}, odd_lane[8] = {};
  const auto add = [&](std::size_t row, std::size_t lane) {
    const double u = residual[row] * scale, bell = shares[row] * exponential(-0.5 * u * u);
    even_lane[lane] += bell;
    odd_lane[lane] += u * bell;
  };
  std::size_t row = 0;
  for (; row + 8 <= n; row += 8)
    for (std::size_t lane = 0; lane < 8; ++lane) add(row + lane, lane);
  for (std::size_t lane = 0; row + lane < n; ++lane) add(row + lane, lane);
  *odd = sum_lanes(odd_lane);
  return sum_lanes(even_lane);
}

double negentropy(double even, double odd) {
  static const double root = std::sqrt(3.0), expected = std::sqrt(0.5);
  static const double of_odd = 36.0 / (8.0 * root - 9.0), of_even = 24.0 / (16.0 * root - 27.0);
  return of_odd * odd * odd + of_even * (even - expected) * (even - expected);
}

// All columns after the members of a set have been eliminated from them.
struct Left {
  std::vector<double> columns;      // (d, n)
  std::vector<double> covariances;  // (d, d)
};

// Fits of all families, set after set. A set is reached from the one without its lowest member, which is still at hand
// when sets come in the order of their bit masks.
class Fits {
 public:
  Fits(const NoiseRows& rows, std::size_t d, const double* correlation, double collinear, const Set* possible,
       const std::int64_t* most, double* found)
      : rows_(rows), d_(d), collinear_(collinear), possible_(possible), most_(most), found_(found), left_(d + 1) {
    left_[0].columns.assign(rows.columns, rows.columns + d * rows.n);
    left_[0].covariances.assign(correlation, correlation + d * d);
    for (std::size_t depth = 1; depth <= d; ++depth)
      left_[depth].columns.resize(d * rows.n), left_[depth].covariances.resize(d * d);
  }

  // Fits of the families whose parents are the given columns and any of the first n_low.
  void below(Set high, std::size_t n_low, Watch& watch) {
    Set taken = 0;
    for (std::size_t c = d_; c-- > n_low;) {
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
  void eliminate(Set before, std::size_t c) {
    const Left& from = left_[size_of(before)];
    Left& to = left_[size_of(before) + 1];
    const double* const own = from.covariances.data() + c * d_;
    for (std::size_t i = 0; i < d_; ++i) {
      if (i == c || holds(before, static_cast<int>(i))) continue;
      const double factor = own[c] > collinear_ ? own[i] / own[c] : 0.0;
      for (std::size_t j = 0; j < d_; ++j) to.covariances[i * d_ + j] = from.covariances[i * d_ + j] - factor * own[j];
      subtract(from.columns.data() + i * rows_.n, from.columns.data() + c * rows_.n, factor, rows_.n,
               to.columns.data() + i * rows_.n);
    }
  }

  void evaluate(Set set, Watch& watch) {
    const int size = size_of(set);
    for (int node = 0; node < static_cast<int>(d_); ++node) {
      if (holds(set, node)) continue;
      double& place = found_[(static_cast<std::size_t>(node) << (d_ - 1)) + column_of(set, node)];
      place = std::numeric_limits<double>::quiet_NaN();
      watch.check(whole(rows_.n) / 2);
      if (size > most_[node] || !inside(set, possible_[node])) continue;
      place = rows_.fit(left_[size].columns.data() + node * rows_.n);
      watch.check(whole(rows_.n));
    }
  }

  const NoiseRows& rows_;
  std::size_t d_;
  double collinear_;
  const Set* possible_;
  const std::int64_t* most_;
  double* found_;
  std::vector<Left> left_;
};

// ---- the border ----

NoiseRows checked_rows(const Table& columns, const Row& shares, const Table& correlation, double charge, double floor) {
  const std::size_t d = columns.shape(0);
  require(d >= 1, "there must be a node");
  require(floor > 0, "floor must be above 0");
  require_shape({columns.shape(1)}, "shares", shares);
  require_shape({d, d}, "correlation", correlation);
  return {columns.data(), shares.data(), columns.shape(1), charge, floor};
}

Result<double, 1> noise_fits(const Table& columns, const Row& shares, const Table& correlation, double charge,
                             double collinear, double floor, const Ints& nodes, const Ints& starts, const Ints& members,
                             int threads) {
  const NoiseRows rows = checked_rows(columns, shares, correlation, charge, floor);
  const std::size_t d = columns.shape(0), m = nodes.shape(0);
  require_starts(starts, m, members.shape(0));
  require_range(nodes.data(), m, 0, whole(d), "nodes");
  require_range(members.data(), members.shape(0), 0, whole(d), "members");
  const std::vector<std::int32_t> parents(members.data(), members.data() + members.shape(0));
  Owned<double, 1> found({m});
  unlocked([&](const Stop& stop) {
    in_stretches(whole(m), threads, stop, [&](std::int64_t first, std::int64_t last, Watch& watch) {
      Projection at;
      std::vector<double> weights, residual(rows.n);
      for (std::int64_t b = first; b < last; ++b) {
        const std::int64_t start = starts.data()[b], size = starts.data()[b + 1] - start;
        const Family family{static_cast<std::int32_t>(nodes.data()[b]), static_cast<std::int32_t>(size),
                            parents.data() + start};
        watch.check(whole(rows.n) * (2 + size / 2) + whole(d) * size * (size + 4) / 8);
        at.left.assign(d, 1.0);
        at.set(family.parents, size, family.node, correlation.data(), collinear);
        at.regress(family, d, family.node, weights);
        std::copy_n(rows.column(family.node), rows.n, residual.data());
        for (std::int32_t k = 0; k < family.size; ++k)
          subtract(residual.data(), rows.column(family.parents[k]), weights[k], rows.n, residual.data());
        found[b] = rows.fit(residual.data());
      }
    });
  });
  return found.give();
}

Result<double, 2> all_noise_fits(const Table& columns, const Row& shares, const Table& correlation, double charge,
                                 double collinear, double floor, const Masks& possible, const Ints& most, int threads) {
  const NoiseRows rows = checked_rows(columns, shares, correlation, charge, floor);
  const std::size_t d = columns.shape(0);
  require(d <= 30, "tables of all families need 1 to 30 columns");
  require_shape({d}, "possible and most", possible, most);
  const std::size_t split = std::min<std::size_t>(5, d - 1), n_low = d - split;
  Owned<double, 2> found({d, std::size_t{1} << (d - 1)});
  unlocked([&](const Stop& stop) {
    // The highest members make pieces of work of their own.
    in_parts(std::int64_t{1} << split, threads, stop, [&](std::int64_t piece, Watch& watch) {
      Fits fits(rows, d, correlation.data(), collinear, possible.data(), most.data(), found.data());
      fits.below(static_cast<Set>(piece) << n_low, n_low, watch);
    });
  });
  return found.give();
}

}  // namespace

double NoiseRows::fit(const double* residual) const {
  const double left = variance(residual, shares, n);
  if (left <= floor) return -std::log(floor);
  double odd = 0.0;
  const double even = bells(residual, shares, n, 1.0 / std::sqrt(left), &odd);
  return -std::log(left) + 2.0 * std::max(0.0, negentropy(even, odd) - charge);
}

WIDE void subtract(const double* before, const double* column, double factor, std::size_t n, double* after) {
  for (std::size_t row = 0; row < n; ++row) after[row] = before[row] - factor * column[row];
}

void bind_noise_fit(nb::module_& m) {
  m.def("noise_fits", &noise_fits,
        "Return, for each family, minus the log of the share of variance that the parents leave, plus twice the "
        "negentropy of the residual beyond the charge.");
  m.def("all_noise_fits", &all_noise_fits, "Return the same for all families (d, 2^(d-1)); NaN: not asked for.");
}

}  // namespace drbo
