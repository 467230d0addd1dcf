// Sums of tests of independence: cross-covariances of kernel features, partial correlations, and mixtures of two
// classes of rows.
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "arrays.h"
#include "numbers.h"

namespace drbo {
namespace {

constexpr double PI = 3.14159265358979323846;
// A column is a combination of others if they leave no larger share of its variance.
constexpr double COLLINEAR = 1e-14;
// Columns that others are tested given, at most.
constexpr int64_t MOST_GIVEN = 16;

// The squares of left' right, added up; rows (n, q) and (n, r), room for (q, r).
WIDE double square_products(const double* left, size_t q, const double* right, size_t r, size_t n, double* sums) {
  for (size_t k = 0; k < q * r; ++k) sums[k] = 0.0;
  size_t row = 0;
  for (; row + 4 <= n; row += 4) {
    const double *a = left + row * q, *b = right + row * r;
    for (size_t i = 0; i < q; ++i) {
      const double a0 = a[i], a1 = a[q + i], a2 = a[2 * q + i], a3 = a[3 * q + i];
      double* const to = sums + i * r;
      for (size_t j = 0; j < r; ++j) to[j] += (a0 * b[j] + a1 * b[r + j]) + (a2 * b[2 * r + j] + a3 * b[3 * r + j]);
    }
  }
  for (; row < n; ++row)
    for (size_t i = 0; i < q; ++i)
      for (size_t j = 0; j < r; ++j) sums[i * r + j] += left[row * q + i] * right[row * r + j];
  return sum_terms<double>(q * r, [&](size_t k) { return sums[k] * sums[k]; });
}

double cross_squares(const Table& left, const Table& right) {
  const size_t n = left.shape(0), q = left.shape(1), r = right.shape(1);
  require_shape({n, r}, "right", right);
  return watched([&](Watch& watch) {
    vector<double> sums(q * r);
    watch.check(whole(n * q * r) / 4);
    return square_products(left.data(), q, right.data(), r, n, sums.data());
  });
}

// The order of numbers that are not NaN, smallest first: sorted by digits, the lowest first. Equal numbers keep theirs.
vector<int32_t> order_of(const double* values, size_t n) {
  constexpr size_t DIGITS = 8, WAYS = 256;
  vector<uint64_t> keys(n), sorted(n);
  vector<int32_t> order(n), moved(n);
  vector<size_t> counts(DIGITS * WAYS);
  std::iota(order.begin(), order.end(), 0);
  for (size_t k = 0; k < n; ++k) {
    const double value = values[k] + 0.0;  // -0 and 0 are equal
    std::memcpy(&keys[k], &value, sizeof value);
    keys[k] ^= keys[k] >> 63 ? ~uint64_t{0} : uint64_t{1} << 63;
    for (size_t digit = 0; digit < DIGITS; ++digit) ++counts[digit * WAYS + ((keys[k] >> 8 * digit) & (WAYS - 1))];
  }
  for (size_t digit = 0; digit < DIGITS; ++digit) {
    size_t* const count = counts.data() + digit * WAYS;
    const auto place = [&](uint64_t key) -> size_t& { return count[(key >> 8 * digit) & (WAYS - 1)]; };
    if (place(keys[0]) == n) continue;  // all have this digit
    for (size_t way = 0, before = 0; way < WAYS; ++way) before += std::exchange(count[way], before);
    for (size_t k = 0; k < n; ++k) {
      const size_t to = place(keys[k])++;
      sorted[to] = keys[k], moved[to] = order[k];
    }
    keys.swap(sorted), order.swap(moved);
  }
  return order;
}

// The row of `table` (n, r) that belongs to the rank of each of n numbers; nothing where two are equal.
nb::object by_rank(const Row& column, const Table& table) {
  const size_t n = column.shape(0), r = table.shape(1);
  require(n >= 1 && table.shape(0) == n, "a table must have a row for each number");
  const vector<int32_t> order = order_of(column.data(), n);
  for (size_t k = 1; k < n; ++k)
    if (!(column[order[k - 1]] < column[order[k]])) return nb::none();
  Owned<double, 2> found({n, r});
  for (size_t k = 0; k < n; ++k) std::copy_n(table.data() + k * r, r, found.data() + order[k] * r);
  return nb::cast(found.give());
}

// The size of the partial correlation of the last two of some columns given the others, from the lower triangle of
// their correlations (p, p), which is used up; 0 where columns are collinear.
double partial_size(double* rows, size_t p) {
  for (size_t k = 0; k + 2 < p; ++k) {
    const double pivot = rows[k * p + k];
    if (!(pivot > COLLINEAR)) return 0.0;
    for (size_t i = k + 1; i < p; ++i) {
      const double factor = rows[i * p + k] / pivot;
      for (size_t j = k + 1; j <= i; ++j) rows[i * p + j] -= factor * rows[j * p + k];
    }
  }
  const double *before = rows + (p - 2) * p + p - 2, *last = rows + (p - 1) * p + p - 2;
  return *before > COLLINEAR && last[1] > COLLINEAR ? std::abs(last[0]) / std::sqrt(*before * last[1]) : 0.0;
}

// The set of so many candidates given which two columns have the smallest partial correlation, and its size.
std::pair<double, Result<int64_t, 1>> separating_set(const Table& correlation, int64_t i, int64_t j,
                                                     const Ints& candidates, int64_t size) {
  const size_t d = correlation.shape(0), m = candidates.shape(0), k = static_cast<size_t>(size), p = k + 2;
  require_shape({d, d}, "correlation", correlation);
  require_range(candidates.data(), m, 0, whole(d), "candidates");
  require(i >= 0 && j >= 0 && i < whole(d) && j < whole(d), "a column is out of range");
  require(size >= 0 && size <= whole(m) && size <= MOST_GIVEN, "size out of range");
  vector<size_t> places(k), best(k);
  vector<double> rows(p * p);
  vector<int64_t> columns(p);
  columns[k] = i, columns[k + 1] = j;
  std::iota(places.begin(), places.end(), size_t{0});
  const double least = watched([&](Watch& watch) {
    double least = std::numeric_limits<double>::infinity();
    while (true) {  // all sets in lexical order
      for (size_t a = 0; a < k; ++a) columns[a] = candidates[places[a]];
      for (size_t a = 0; a < p; ++a)
        for (size_t b = 0; b <= a; ++b) rows[a * p + b] = correlation[columns[a] * whole(d) + columns[b]];
      const double found = partial_size(rows.data(), p);
      if (found < least) least = found, best = places;
      watch.check(whole(p * p * p));
      size_t at = k;
      while (at > 0 && places[at - 1] == m - k + at - 1) --at;
      if (at == 0) return least;
      ++places[at - 1];
      for (size_t a = at; a < k; ++a) places[a] = places[a - 1] + 1;
    }
  });
  Owned<int64_t, 1> given({k});
  for (size_t a = 0; a < k; ++a) given[a] = candidates[best[a]];
  return {least, given.give()};
}

// Two classes of rows, in each of which the columns are independent and normal.
struct Classes {
  size_t d = 0, n = 0;
  vector<double> shares;                   // (n,) of the first class
  vector<double> weights, means, spreads;  // (2,) and (2, d)
  vector<double> joint;                    // (2, n) log densities
};

// The maximum-likelihood classes given shares of the rows; variances are at least `least`.
WIDE void estimate(Classes& at, const double* values, double least) {
  const double* const shares = at.shares.data();
  at.weights[0] = sum_terms<double>(at.n, [&](size_t k) { return shares[k]; });
  at.weights[1] = sum_terms<double>(at.n, [&](size_t k) { return 1.0 - shares[k]; });
  for (size_t j = 0; j < at.d; ++j) {
    const double* const x = values + j * at.n;
    const double sums[2] = {sum_terms<double>(at.n, [&](size_t k) { return shares[k] * x[k]; }),
                            sum_terms<double>(at.n, [&](size_t k) { return (1.0 - shares[k]) * x[k]; })};
    const double squares[2] = {sum_terms<double>(at.n, [&](size_t k) { return shares[k] * x[k] * x[k]; }),
                               sum_terms<double>(at.n, [&](size_t k) { return (1.0 - shares[k]) * x[k] * x[k]; })};
    for (size_t c = 0; c < 2; ++c) {
      const double mean = sums[c] / at.weights[c];
      at.means[c * at.d + j] = mean;
      at.spreads[c * at.d + j] = std::max(squares[c] / at.weights[c] - mean * mean, least);
    }
  }
}

// Sets the log densities (n,) of a class.
WIDE void densities(Classes& at, const double* values, size_t c, double base) {
  double* const joint = at.joint.data() + c * at.n;
  for (size_t k = 0; k < at.n; ++k) joint[k] = base;
  for (size_t j = 0; j < at.d; ++j) {
    const double* const x = values + j * at.n;
    const double mean = at.means[c * at.d + j], half = 0.5 / at.spreads[c * at.d + j];
    for (size_t k = 0; k < at.n; ++k) joint[k] -= (x[k] - mean) * (x[k] - mean) * half;
  }
}

// Sets the shares of rows [from, to); returns the sum of the larger log densities, and 1 + exp(smaller - larger) of
// each row in `beside`.
WIDE double share(Classes& at, size_t from, size_t to, double* beside) {
  const double *first = at.joint.data(), *second = first + at.n;
  double* const shares = at.shares.data();
  for (size_t k = from; k < to; ++k) {
    const double gap = first[k] - second[k], odds = exponential(-std::abs(gap)), certain = 1.0 / (1.0 + odds);
    shares[k] = gap >= 0.0 ? certain : odds * certain;
    beside[k - from] = 1.0 + odds;
  }
  return sum_terms<double>(to - from, [&](size_t k) { return std::max(first[from + k], second[from + k]); });
}

// The log likelihood to which the EM algorithm climbs from shares of two classes.
double climb_classes(const Table& values, const Row& start, int64_t most, double gain, double least) {
  Classes at;
  at.d = values.shape(0), at.n = values.shape(1);
  require_shape({at.n}, "start", start);
  require(most >= 1 && least > 0, "most or least out of range");
  at.shares.assign(start.data(), start.data() + at.n);
  at.weights.resize(2), at.means.resize(2 * at.d), at.spreads.resize(2 * at.d), at.joint.resize(2 * at.n);
  constexpr size_t BLOCK = 512;  // products of so many numbers of at most 2 are finite
  vector<double> beside(BLOCK);
  return watched([&](Watch& watch) {
    double found = NEVER;
    for (int64_t step = 0; step < most; ++step) {
      estimate(at, values.data(), least);
      for (size_t c = 0; c < 2; ++c) {
        double base = std::log(at.weights[c] / static_cast<double>(at.n));
        for (size_t j = 0; j < at.d; ++j) base -= 0.5 * std::log(2.0 * PI * at.spreads[c * at.d + j]);
        densities(at, values.data(), c, base);
      }
      const double before = found;
      found = 0.0;
      for (size_t from = 0; from < at.n; from += BLOCK) {
        const size_t to = std::min(at.n, from + BLOCK);
        found += share(at, from, to, beside.data());
        double product = 1.0;
        for (size_t k = 0; k < to - from; ++k) product *= beside[k];
        found += std::log(product);
      }
      watch.check(whole(at.n) * (4 + 4 * whole(at.d)));
      if (found - before < gain * static_cast<double>(at.n)) break;
    }
    return found;
  });
}
}  // namespace

void bind_dependence(nb::module_& m) {
  m.def("cross_squares", &cross_squares, "left"_a, "right"_a,
        "Return the sum of the squares of left' right, of two tables with the same rows.");
  m.def("by_rank", &by_rank, "column"_a, "table"_a,
        "Return the rows of a table that belong to the ranks of a column; None where two numbers are equal.");
  m.def("separating_set", &separating_set, "correlation"_a, "i"_a, "j"_a, "candidates"_a, "size"_a,
        "Return the smallest partial correlation of two columns given a set of so many candidates, and the set.");
  m.def("climb_classes", &climb_classes, "values"_a, "start"_a, "most"_a, "gain"_a, "least"_a,
        "Return the log likelihood to which the EM algorithm climbs from shares of two normal classes of rows.");
}
}  // namespace drbo
