// Residual variances of many linear regressions from one correlation matrix.
//
// The correlation matrix of (parents, node) is factorised row by row as L L'; the last pivot is the residual variance.
// Row i of L solves L[:i, :i] x = the row of the matrix: x_k is found, then subtracted from all later entries at once,
// so that each entry is a sum in the order of k whatever the width of the vectors.
#include "arrays.h"
#include "threads.h"
#include "wide.h"

namespace drbo {

namespace {

struct Room {
  explicit Room(std::size_t most) : size(most + 1), factor(size * size), row(size), inverse(size) {}
  std::size_t size;
  std::vector<double> factor;  // factor[k, i]: entry k of row i of L
  std::vector<double> row;
  std::vector<double> inverse;  // of the roots of the pivots
};

// Solves L x = row in place; returns the squared length of x. x is also written to column i of the factor.
inline double solve_row(double* __restrict row, std::size_t i, double* __restrict factor, std::size_t size,
                        const double* __restrict inverse) {
  double length = 0.0;
  std::size_t k = 0;
  for (; k + 4 <= i; k += 4) {  // four at a time, so that the later entries are read and written less often
    double* const a = factor + k * size;
    double* const b = a + size;
    double* const c = b + size;
    double* const d = c + size;
    const double w = row[k] * inverse[k];
    const double x = (row[k + 1] - w * a[k + 1]) * inverse[k + 1];
    const double y = (row[k + 2] - w * a[k + 2] - x * b[k + 2]) * inverse[k + 2];
    const double z = (row[k + 3] - w * a[k + 3] - x * b[k + 3] - y * c[k + 3]) * inverse[k + 3];
    for (std::size_t j = k + 4; j < i; ++j) row[j] = row[j] - w * a[j] - x * b[j] - y * c[j] - z * d[j];
    a[i] = w, b[i] = x, c[i] = y, d[i] = z;
    length = length + w * w + x * x + y * y + z * z;
  }
  for (; k < i; ++k) {
    double* const a = factor + k * size;
    const double w = row[k] * inverse[k];
    for (std::size_t j = k + 1; j < i; ++j) row[j] -= w * a[j];
    a[i] = w;
    length += w * w;
  }
  return length;
}

// The share of variance that p parents leave; NaN where a pivot is under smallest: they are collinear.
WIDE double residual(const double* correlation, std::size_t d, std::int64_t node, const std::int64_t* parents,
                     std::size_t p, double smallest, Room& room) {
  double* const row = room.row.data();
  for (std::size_t i = 0; i <= p; ++i) {  // the last row is that of the node
    const double* source = correlation + (i < p ? parents[i] : node) * d;
    for (std::size_t j = 0; j < i; ++j) row[j] = source[parents[j]];
    const double pivot = 1.0 - solve_row(row, i, room.factor.data(), room.size, room.inverse.data());
    if (i == p) return pivot;
    if (!(pivot >= smallest)) break;
    room.inverse[i] = 1.0 / std::sqrt(pivot);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

// ---- the border ----

Result<double, 1> residuals(const Table& correlation, const Ints& nodes, const Ints& starts, const Ints& members,
                            double smallest, int threads) {
  const std::size_t d = correlation.shape(0), m = nodes.shape(0);
  require_shape({d, d}, "correlation", correlation);
  require_starts(starts, m, members.shape(0));
  require_range(nodes.data(), m, 0, whole(d), "nodes");
  require_range(members.data(), members.shape(0), 0, whole(d), "members");
  require(smallest > 0, "smallest must be above 0");
  std::int64_t most = 0;
  for (std::size_t row = 0; row < m; ++row) most = std::max(most, starts.data()[row + 1] - starts.data()[row]);
  Owned<double, 1> found({m});
  in_stretches(m, threads, [&](std::int64_t first, std::int64_t last, Watch& watch) {
    Room room(static_cast<std::size_t>(most));
    for (std::int64_t family = first; family < last; ++family) {
      const std::int64_t start = starts.data()[family], p = starts.data()[family + 1] - start;
      found[family] = residual(correlation.data(), d, nodes.data()[family], members.data() + start, p, smallest, room);
      watch.check(20 + 8 * p + p * p * p / 6);
    }
  });
  return found.give();
}

}  // namespace

void bind_regressions(nb::module_& m) {
  m.def("residuals", &residuals,
        "Return the share of each node's variance that its parents leave; NaN where parents are collinear.");
}

}  // namespace drbo
