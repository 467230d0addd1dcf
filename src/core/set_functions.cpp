// Functions of all sets of columns: log determinants, and sums over the cells of contingency tables.
//
// The local scores of a covariance or of counts are differences of such a function h: h(parents + node) - h(parents),
// so 2^d values serve all d 2^(d-1) families. A set is reached from the one without its lowest member, which is still
// at hand when sets come in the order of their bit masks.
#include "counts.h"

namespace drbo {
namespace {

// ln det M[S, S] = ln det M[R, R] + ln of the pivot that R leaves of the lowest member, R = S without it.
Result<double, 1> log_determinants(const Table& matrix) {
  const size_t d = matrix.shape(0), square = d * d;
  require(d >= 1 && d <= 40, "a function of all sets needs 1 to 40 columns");
  require_shape({d, d}, "the matrix", matrix);
  Owned<double, 1> values({size_t{1} << d});
  watched([&](Watch& watch) {
    vector<double> left((d + 1) * square);  // left[k]: what k members leave of the covariance of the columns below
    std::copy_n(matrix.data(), square, left.data());
    values[0] = 0.0;
    values[1] = std::log(left[0]);
    for (Set nodes = 2; nodes < Set{1} << d; nodes += 2) {
      const Set rest = nodes & (nodes - 1);
      const size_t low = lowest(nodes);
      const double* const before = left.data() + size_of(rest) * square;
      double* const after = left.data() + size_of(rest) * square + square;
      const double* const own = before + low * d;
      const double pivot = own[low];
      values[nodes] = values[rest] + std::log(pivot);
      for (size_t i = 0; i < low; ++i) {
        const double factor = own[i] / pivot;
        for (size_t j = 0; j <= i; ++j) after[i * d + j] = before[i * d + j] - factor * own[j];
      }
      values[nodes + 1] = values[nodes] + std::log(after[0]);  // the set with column 0 as well
      watch.check(40 + static_cast<int64_t>(low * low / 2));
    }
  });
  return values.give();
}

// The cells of nested sets of columns. Rows that are alone in their cell are only counted: no column can split them.
class Cells {
 public:
  Cells(const CountedRows& rows, double ess)
      : rows_(rows), ess_(ess), levels_(rows.n_columns + 1), weights_(rows.repeats), kind_(rows.u) {
    std::sort(weights_.begin(), weights_.end());
    weights_.erase(std::unique(weights_.begin(), weights_.end()), weights_.end());
    for (size_t row = 0; row < rows.u; ++row)
      kind_[row] = static_cast<int32_t>(std::lower_bound(weights_.begin(), weights_.end(), rows.repeats[row]) -
                                        weights_.begin());
    number_.resize(rows.u * std::max<int64_t>(2, rows.widest()));
    weight_.resize(number_.size());
    Level& first = levels_[0];
    first.row.resize(rows.u);
    std::iota(first.row.begin(), first.row.end(), 0);
    first.cell.assign(rows.u, 0);
    first.alone.assign(weights_.size(), 0);
    first.count = 1;
  }

  // Fills in the sets with the given high members and any of the lowest n_low.
  void below(Set prefix, int n_low, double log_limit, double* values, Watch& watch) {
    int size = 0;
    weight_[0] = static_cast<int32_t>(rows_.total);
    double value = value_of(0, 1);
    for (int column = static_cast<int>(rows_.n_columns) - 1; column >= n_low; --column)
      if (holds(prefix, column)) value = refine(size++, column, watch);
    if (levels_[size].log_span > log_limit) return;
    values[prefix] = value;
    for (Set low = 1; low < Set{1} << n_low; ++low) {
      const int column = lowest(low), depth = size + size_of(low & (low - 1));
      const double log_span = levels_[depth].log_span + std::log(rows_.cards(column));
      levels_[depth + 1].log_span = log_span;  // what lies below sees that this set is left out
      if (log_span <= log_limit) values[prefix | low] = refine(depth, column, watch);
      watch.check(20);
    }
  }

 private:
  // Splits the cells of one depth by a column into those of the next; returns the sum over the new ones.
  double refine(int depth, int column, Watch& watch) {
    const Level& from = levels_[depth];
    Level& to = levels_[depth + 1];
    const int32_t* levels = rows_.column(column);
    const int64_t r = rows_.levels[column];
    const size_t keys = from.count * r, n = from.row.size();
    to.log_span = from.log_span + std::log(static_cast<double>(r));
    to.alone = from.alone;
    std::fill_n(weight_.begin(), keys, 0);
    watch.check(4 * static_cast<int64_t>(n + keys));
    if (column == 0) {  // nothing comes below: only the counts are wanted
      for (size_t t = 0; t < n; ++t) weight_[from.cell[t] * r + levels[from.row[t]]] += rows_.repeats[from.row[t]];
      return value_of(depth + 1, keys);
    }
    std::fill_n(number_.begin(), keys, 0);
    for (size_t t = 0; t < n; ++t) {
      const size_t key = from.cell[t] * r + levels[from.row[t]];
      ++number_[key];
      weight_[key] += rows_.repeats[from.row[t]];
    }
    int32_t count = 0;
    for (size_t key = 0; key < keys; ++key) {  // number: from here on the new name of the cell, or -1
      const bool shared = number_[key] > 1;
      number_[key] = shared ? count : -1;
      if (shared) weight_[count++] = weight_[key];
    }
    to.row.clear();
    to.cell.clear();
    for (size_t t = 0; t < n; ++t) {
      const int32_t row = from.row[t], name = number_[from.cell[t] * r + levels[row]];
      if (name >= 0) {
        to.row.push_back(row);
        to.cell.push_back(name);
      } else {
        ++to.alone[kind_[row]];
      }
    }
    to.count = count;
    return value_of(depth + 1, count);
  }

  struct Level {
    vector<int32_t> row, cell;  // rows that share their cell with another, and the cells
    vector<int64_t> alone;      // the other rows, by their weight
    int64_t count = 0;          // of cells
    double log_span = 0.0;      // ln of the number of cells that there could be
  };

  // The sum over the cells of a depth: weight_ holds the counts of those with several rows, 0 adds nothing.
  double value_of(int depth, size_t cells) {
    const Level& level = levels_[depth];
    const CellTerm term(ess_, level.log_span);
    double total = 0.0;
    for (size_t k = 0; k < weights_.size(); ++k)
      if (level.alone[k]) total += static_cast<double>(level.alone[k]) * rows_.term(weights_[k], term);
    return rows_.add(total, weight_.data(), cells, term, tally_);
  }

  const CountedRows& rows_;
  double ess_;
  vector<Level> levels_;
  Tally tally_;
  vector<int32_t> number_, weight_;
  vector<int32_t> weights_, kind_;  // the distinct repeats of rows, and which of them each row has
};

Result<double, 1> cell_sums(const Codes& columns, const Ints& levels, const Ints& repeats, double ess, double limit,
                            int threads) {
  require(columns.shape(0) <= 40, "a function of all sets needs 1 to 40 columns");
  const CountedRows rows(columns, levels, repeats);
  const int d = static_cast<int>(rows.n_columns), split = std::min(5, d - 1), n_low = d - split;
  Owned<double, 1> values({size_t{1} << d});
  std::fill_n(values.data(), size_t{1} << d, std::numeric_limits<double>::quiet_NaN());
  // The highest members make pieces of work of their own.
  in_parts(size_t{1} << split, threads, [&](int64_t piece, Watch& watch) {
    Cells(rows, ess).below(static_cast<Set>(piece) << n_low, n_low, std::log(limit) + 1e-9, values.data(), watch);
  });
  return values.give();
}
}  // namespace

void bind_set_functions(nb::module_& m) {
  m.def("log_determinants", &log_determinants, "Return ln det matrix[S, S] for all sets S.");
  m.def("cell_sums", &cell_sums,
        "Return for all sets of columns the sum over the cells N of their table of N ln N, or with an equivalent "
        "sample size above 0 of lnG(N + a) - lnG(a).");
}
}  // namespace drbo
