// Functions of all sets of columns: log determinants, and sums over the cells of contingency tables.
//
// The local scores of a covariance or of counts are differences of such a function h: h(parents + node) - h(parents),
// so 2^d values serve all d 2^(d-1) families. A set is reached from the one without its lowest member, which is still
// at hand when sets come in the order of their bit masks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"
#include "bits.h"
#include "counts.h"
#include "special.h"
#include "threads.h"

namespace drbo {

namespace {

// ln det M[S, S] = ln det M[R, R] + ln of the pivot that R leaves of the lowest member, R = S without it.
void log_determinants(const double* covariance, std::size_t d, double* values, Watch& watch) {
  const std::size_t square = d * d;
  std::vector<double> left((d + 1) * square);  // left[k]: what k members leave of the covariance of the columns below
  std::copy_n(covariance, square, left.data());
  values[0] = 0.0;
  values[1] = std::log(left[0]);
  for (Set nodes = 2; nodes < Set{1} << d; nodes += 2) {
    const Set rest = nodes & (nodes - 1);
    const std::size_t low = lowest(nodes);
    const double* const before = left.data() + size_of(rest) * square;
    double* const after = left.data() + size_of(rest) * square + square;
    const double* const own = before + low * d;
    const double pivot = own[low];
    values[nodes] = values[rest] + std::log(pivot);
    for (std::size_t i = 0; i < low; ++i) {
      const double factor = own[i] / pivot;
      for (std::size_t j = 0; j <= i; ++j) after[i * d + j] = before[i * d + j] - factor * own[j];
    }
    values[nodes + 1] = values[nodes] + std::log(after[0]);  // the set with column 0 as well
    watch.check(40 + static_cast<std::int64_t>(low * low / 2));
  }
}

// Distinct rows of categorical columns.
struct Rows {
  std::size_t d, u;
  const std::int32_t* columns;  // (d, u)
  const std::int64_t* cardinalities;
  std::vector<std::int32_t> repeats;  // (u,) how often each row occurs
  std::int64_t total;                 // the sum of the repeats
  std::vector<std::int32_t> weights;  // the distinct values of the repeats
  std::vector<std::int32_t> kind;     // (u,) which of them
  std::vector<double> x_log_x;        // of 0, ..., total

  void set_weights() {
    weights = repeats;
    std::sort(weights.begin(), weights.end());
    weights.erase(std::unique(weights.begin(), weights.end()), weights.end());
    kind.resize(u);
    for (std::size_t row = 0; row < u; ++row)
      kind[row] =
          static_cast<std::int32_t>(std::lower_bound(weights.begin(), weights.end(), repeats[row]) - weights.begin());
    x_log_x.assign(total + 1, 0.0);
    for (std::int64_t x = 1; x <= total; ++x) x_log_x[x] = static_cast<double>(x) * std::log(static_cast<double>(x));
  }
};

// The cells of nested sets of columns. Rows that are alone in their cell are only counted: no column can split them.
class Cells {
 public:
  Cells(const Rows& rows, double ess) : rows_(rows), ess_(ess), levels_(rows.d + 1) {
    const std::int64_t widest = *std::max_element(rows.cardinalities, rows.cardinalities + rows.d);
    number_.resize(rows.u * std::max<std::int64_t>(2, widest));
    weight_.resize(number_.size());
    if (ess > 0) tally_.resize(rows.total + 1);
    Level& whole = levels_[0];
    whole.row.resize(rows.u);
    whole.cell.assign(rows.u, 0);
    for (std::size_t row = 0; row < rows.u; ++row) whole.row[row] = static_cast<std::int32_t>(row);
    whole.alone.assign(rows.weights.size(), 0);
    whole.count = 1;
  }

  double log_span(int depth) const { return levels_[depth].log_span; }
  void set_log_span(int depth, double value) { levels_[depth].log_span = value; }

  double whole() {
    weight_[0] = static_cast<std::int32_t>(rows_.total);
    return value(0, 1);
  }

  // Splits the cells of one depth by a column into those of the next; returns the sum over the new ones.
  double refine(int depth, int column, Watch& watch) {
    const Level& from = levels_[depth];
    Level& to = levels_[depth + 1];
    const std::int32_t* levels = rows_.columns + column * rows_.u;
    const std::int64_t r = rows_.cardinalities[column];
    const std::size_t keys = from.count * r, n = from.row.size();
    to.log_span = from.log_span + std::log(static_cast<double>(r));
    to.alone = from.alone;
    std::fill_n(weight_.begin(), keys, 0);
    watch.check(4 * static_cast<std::int64_t>(n + keys));
    if (column == 0) {  // nothing comes below: only the counts are wanted
      for (std::size_t t = 0; t < n; ++t) weight_[from.cell[t] * r + levels[from.row[t]]] += rows_.repeats[from.row[t]];
      return value(depth + 1, keys);
    }
    std::fill_n(number_.begin(), keys, 0);
    for (std::size_t t = 0; t < n; ++t) {
      const std::size_t key = from.cell[t] * r + levels[from.row[t]];
      ++number_[key];
      weight_[key] += rows_.repeats[from.row[t]];
    }
    std::int32_t count = 0;
    for (std::size_t key = 0; key < keys; ++key) {  // number: from here on the new name of the cell, or -1
      const bool shared = number_[key] > 1;
      number_[key] = shared ? count : -1;
      if (shared) weight_[count++] = weight_[key];
    }
    to.row.clear();
    to.cell.clear();
    for (std::size_t t = 0; t < n; ++t) {
      const std::int32_t row = from.row[t], name = number_[from.cell[t] * r + levels[row]];
      if (name >= 0) {
        to.row.push_back(row);
        to.cell.push_back(name);
      } else {
        ++to.alone[rows_.kind[row]];
      }
    }
    to.count = count;
    return value(depth + 1, count);
  }

 private:
  struct Level {
    std::vector<std::int32_t> row, cell;  // rows that share their cell with another, and the cells
    std::vector<std::int64_t> alone;      // the other rows, by their weight
    std::int64_t count = 0;               // of cells
    double log_span = 0.0;                // ln of the number of cells that there could be
  };

  // The sum over the cells of a depth: weight_ holds the counts of those with several rows, 0 adds nothing.
  double value(int depth, std::size_t cells) {
    const Level& level = levels_[depth];
    double total = 0.0;
    if (ess_ <= 0) {
      for (std::size_t k = 0; k < rows_.weights.size(); ++k)
        total += static_cast<double>(level.alone[k]) * rows_.x_log_x[rows_.weights[k]];
      for (std::size_t cell = 0; cell < cells; ++cell) total += rows_.x_log_x[weight_[cell]];
      return total;
    }
    const double log_a = std::log(ess_) - level.log_span, a = std::exp(log_a);
    const double offset = log_a - log_gamma(1.0 + a);  // lnG(N + a) - lnG(a) = lnG(N + a) + offset
    for (std::size_t k = 0; k < rows_.weights.size(); ++k)
      if (level.alone[k])
        total += static_cast<double>(level.alone[k]) * (log_gamma(static_cast<double>(rows_.weights[k]) + a) + offset);
    touched_.clear();
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const std::int32_t count = weight_[cell];
      if (count == 0) continue;
      if (tally_[count] == 0) touched_.push_back(count);
      ++tally_[count];
    }
    for (const std::int32_t count : touched_) {
      total += static_cast<double>(tally_[count]) * (log_gamma(static_cast<double>(count) + a) + offset);
      tally_[count] = 0;
    }
    return total;
  }

  const Rows& rows_;
  double ess_;
  std::vector<Level> levels_;
  std::vector<std::int32_t> number_, weight_, tally_, touched_;
};

// Fills in the sets with the given high members and any of the lowest n_low.
void cell_sums_below(const Rows& rows, double ess, double log_limit, Set prefix, int n_low, double* values,
                     Watch& watch) {
  Cells cells(rows, ess);
  int size = 0;
  double value = cells.whole();
  for (int column = static_cast<int>(rows.d) - 1; column >= n_low; --column)
    if (holds(prefix, column)) value = cells.refine(size++, column, watch);
  if (cells.log_span(size) > log_limit) return;
  values[prefix] = value;
  for (Set low = 1; low < Set{1} << n_low; ++low) {
    const int column = lowest(low), depth = size + size_of(low & (low - 1));
    const double log_span = cells.log_span(depth) + std::log(static_cast<double>(rows.cardinalities[column]));
    cells.set_log_span(depth + 1, log_span);  // what lies below sees that this set is left out
    if (log_span <= log_limit) values[prefix | low] = cells.refine(depth, column, watch);
    watch.check(20);
  }
}

// ---- the border ----

Result<double, 1> log_determinants_of(const In<double, 2>& covariance, const StopFlag* stop) {
  const std::size_t d = covariance.shape(0);
  require(d >= 1 && d <= 40, "a function of all sets needs 1 to 40 columns");
  require_shape(covariance, "matrix", {d, d});
  Owned<double> values(std::size_t{1} << d);
  {
    const nb::gil_scoped_release release;
    Watch watch(stop, nullptr, true);
    log_determinants(covariance.data(), d, values.data(), watch);
  }
  return values.give({std::size_t{1} << d});
}

Result<double, 1> cell_sums(const In<std::int32_t, 2>& columns, const In<std::int64_t, 1>& cardinalities,
                            const In<std::int64_t, 1>& repeats, double ess, double limit, int threads,
                            const StopFlag* stop) {
  Rows rows{columns.shape(0), columns.shape(1), columns.data(), cardinalities.data(), {}, 0, {}, {}, {}};
  require(rows.d >= 1 && rows.d <= 40 && rows.u >= 1, "a function of all sets needs rows, and 1 to 40 columns");
  require_shape(cardinalities, "cardinalities", {rows.d});
  require_shape(repeats, "repeats", {rows.u});
  require_range(rows.cardinalities, rows.d, 1, MOST_ROWS, "cardinalities");
  require_range(repeats.data(), rows.u, 1, MOST_ROWS, "repeats");
  for (std::size_t column = 0; column < rows.d; ++column)
    require_range(rows.columns + column * rows.u, rows.u, 0, rows.cardinalities[column], "levels");
  rows.repeats.assign(repeats.data(), repeats.data() + rows.u);
  for (std::size_t row = 0; row < rows.u; ++row) rows.total += rows.repeats[row];
  require(rows.total < MOST_ROWS, "there are too many rows");
  Owned<double> values(std::size_t{1} << rows.d);
  std::fill_n(values.data(), std::size_t{1} << rows.d, std::numeric_limits<double>::quiet_NaN());
  {
    const nb::gil_scoped_release release;
    rows.set_weights();
    const int split = std::min<int>(5, static_cast<int>(rows.d) - 1);  // members that make a piece of work of their own
    const int n_low = static_cast<int>(rows.d) - split;
    in_parts(std::int64_t{1} << split, threads, stop, [&](std::int64_t piece, Watch& watch) {
      cell_sums_below(rows, ess, std::log(limit) + 1e-9, static_cast<Set>(piece) << n_low, n_low, values.data(), watch);
    });
  }
  return values.give({std::size_t{1} << rows.d});
}

}  // namespace

void bind_set_functions(nb::module_& m) {
  m.def("log_determinants", &log_determinants_of, "matrix"_a.noconvert(), "stop"_a = nb::none(),
        "Return ln det matrix[S, S] for all sets S.");
  m.def("cell_sums", &cell_sums, "columns"_a.noconvert(), "cardinalities"_a.noconvert(), "repeats"_a.noconvert(),
        "ess"_a, "limit"_a, "threads"_a = 1, "stop"_a = nb::none(),
        "Return for all sets of columns the sum over the cells N of their table of N ln N, or with an equivalent "
        "sample size above 0 of lnG(N + a) - lnG(a).");
}

}  // namespace drbo
