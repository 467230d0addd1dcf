// Regressions from matrices of products: residual variances of many families, and steps of the scores that use them.
//
// A parent is a block of functions: its own column, or the basis functions of its spline. What all additions to a
// parent set are worth follows from the residuals of all columns on that set (Projection): the parents' functions are
// eliminated one after the other, and what a further block explains follows from its own small part of what is left.
// With r the share of the node's variance that k parents leave, the value of a family is minus its prices and minus
//   rows ln r                                     for unequal variances,
//   weight r                                      for an additive bound of an equal-variance score,
//   factors[k] ln r + ln D / 2 - constants[k]     for an evidence, D the determinant of the parents.
#include "numbers.h"
#include "steps.h"

namespace drbo {
namespace {

// ---- residual variances: the correlation matrix of (parents, node) is factorised row by row as L L' ----

struct Factor {
  explicit Factor(size_t most) : size(most + 1), entries(size * size), row(size), inverse(size) {}
  size_t size;
  vector<double> entries;  // entries[k, i]: entry k of row i of L
  vector<double> row;
  vector<double> inverse;  // of the roots of the pivots
};

// Solves L x = row in place; returns the squared length of x, which is also written to column i of the factor. x_k is
// found, then subtracted from all later entries, so that each is a sum in the order of k whatever the vectors' width.
inline double solve_row(double* __restrict row, size_t i, double* __restrict factor, size_t size,
                        const double* __restrict inverse) {
  double length = 0.0;
  size_t k = 0;
  for (; k + 4 <= i; k += 4) {  // four at a time, so that the later entries are read and written less often
    double* const a = factor + k * size;
    double* const b = a + size;
    double* const c = b + size;
    double* const d = c + size;
    const double w = row[k] * inverse[k];
    const double x = (row[k + 1] - w * a[k + 1]) * inverse[k + 1];
    const double y = (row[k + 2] - w * a[k + 2] - x * b[k + 2]) * inverse[k + 2];
    const double z = (row[k + 3] - w * a[k + 3] - x * b[k + 3] - y * c[k + 3]) * inverse[k + 3];
    for (size_t j = k + 4; j < i; ++j) row[j] = row[j] - w * a[j] - x * b[j] - y * c[j] - z * d[j];
    a[i] = w, b[i] = x, c[i] = y, d[i] = z;
    length = length + w * w + x * x + y * y + z * z;
  }
  for (; k < i; ++k) {
    double* const a = factor + k * size;
    const double w = row[k] * inverse[k];
    for (size_t j = k + 1; j < i; ++j) row[j] -= w * a[j];
    a[i] = w;
    length += w * w;
  }
  return length;
}

// The share of variance that p parents leave; NaN where a pivot is under smallest: they are collinear.
WIDE double residual(const double* correlation, size_t d, int64_t node, const int64_t* parents, size_t p,
                     double smallest, Factor& room) {
  double* const row = room.row.data();
  for (size_t i = 0; i <= p; ++i) {  // the last row is that of the node
    const double* source = correlation + (i < p ? parents[i] : node) * d;
    for (size_t j = 0; j < i; ++j) row[j] = source[parents[j]];
    const double pivot = 1.0 - solve_row(row, i, room.entries.data(), room.size, room.inverse.data());
    if (i == p) return pivot;
    if (!(pivot >= smallest)) break;
    room.inverse[i] = 1.0 / std::sqrt(pivot);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

Result<double, 1> residuals(const Table& correlation, const Ints& nodes, const Ints& starts, const Ints& members,
                            double smallest, int threads) {
  const size_t d = correlation.shape(0), m = nodes.shape(0);
  require_shape({d, d}, "correlation", correlation);
  require_starts(starts, m, members.shape(0));
  require_range(nodes.data(), m, 0, whole(d), "nodes");
  require_range(members.data(), members.shape(0), 0, whole(d), "members");
  require(smallest > 0, "smallest must be above 0");
  int64_t most = 0;
  for (size_t row = 0; row < m; ++row) most = std::max(most, starts[row + 1] - starts[row]);
  Owned<double, 1> found({m});
  in_stretches(m, threads, [&](int64_t first, int64_t last, Watch& watch) {
    Factor room(static_cast<size_t>(most));
    for (int64_t family = first; family < last; ++family) {
      const int64_t start = starts[family], p = starts[family + 1] - start;
      found[family] = residual(correlation.data(), d, nodes[family], members.data() + start, p, smallest, room);
      watch.check(20 + 8 * p + p * p * p / 6);
    }
  });
  return found.give();
}
// ---- steps ----

// Takes from a row of a matrix of products what earlier rows explain, row -= sum_j coordinates[j, own] coordinates[j];
// four at a time, each entry in the order of j.
inline void subtract_parts(double* __restrict row, const double* coordinates, size_t count, size_t own, size_t size) {
  size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const double *a = coordinates + j * size, *b = a + size, *c = b + size, *e = c + size;
    const double w = a[own], x = b[own], y = c[own], z = e[own];
    for (size_t v = 0; v < size; ++v) row[v] = row[v] - w * a[v] - x * b[v] - y * c[v] - z * e[v];
  }
  for (; j < count; ++j) {
    const double* a = coordinates + j * size;
    const double w = a[own];
    for (size_t v = 0; v < size; ++v) row[v] -= w * a[v];
  }
}

WIDE double eliminate(const int32_t* columns, size_t count, size_t node, const double* products, size_t size,
                      double collinear, double* coordinates, double* __restrict left, double* __restrict joint) {
  double log_det = 0.0;
  std::copy_n(products + node * size, size, joint);
  for (size_t k = 0; k < count; ++k) {
    const size_t column = columns[k];
    double* const __restrict row = coordinates + k * size;
    if (left[column] <= collinear) {
      std::fill_n(row, size, 0.0);
      continue;
    }
    log_det += std::log(left[column]);
    const double scale = 1.0 / std::sqrt(left[column]);
    std::copy_n(products + column * size, size, row);
    subtract_parts(row, coordinates, k, column, size);
    const double own = row[node] * scale;
    for (size_t v = 0; v < size; ++v) {
      const double x = row[v] * scale;
      row[v] = x;
      left[v] -= x * x;
      joint[v] -= own * x;
    }
  }
  return log_det;
}

// Marks additions that may pay. For BIC, -ln(1 - x) <= x / (1 - x) says which ones cannot.
WIDE void find_open(size_t d, const uint8_t* allowed, const double* left, const double* joint, const double* prices,
                    double collinear, double rows, double residual, bool bic, double* __restrict less,
                    uint8_t* __restrict pays) {
  for (size_t v = 0; v < d; ++v) less[v] = joint[v] * joint[v] / left[v];
  for (size_t v = 0; v < d; ++v) {
    const bool cannot = rows * less[v] <= prices[v] * (residual - less[v]);
    pays[v] = (allowed[v] != 0) & (left[v] > collinear) & !(bic & cannot);
  }
}

// Takes from the lower part of a block (width, width) what the parents explain; its diagonal is known.
inline void take_parts(const double* coordinates, size_t count, size_t size, size_t width, double* __restrict block) {
  for (size_t k = 0; k < count; ++k) {
    const double* const row = coordinates + k * size;
    for (size_t i = 1; i < width; ++i)
      for (size_t j = 0; j < i; ++j) block[i * width + j] -= row[i] * row[j];
  }
}

// Solves L x = b for the Cholesky factor L of a block in place, where a pivot is not above least without its row;
// returns the squared length of x.
inline double solve_block(double* block, double* b, size_t width, double least) {
  double length = 0.0;
  for (size_t i = 0; i < width; ++i) {
    double* const row = block + i * width;
    for (size_t j = 0; j <= i; ++j) {
      const double* const other = block + j * width;
      double product = row[j];
      for (size_t k = 0; k < j; ++k) product -= row[k] * other[k];
      if (i == j)
        row[i] = product > least ? std::sqrt(product) : 0.0;
      else
        row[j] = other[j] > 0 ? product / other[j] : 0.0;
    }
    double product = b[i];
    for (size_t k = 0; k < i; ++k) product -= row[k] * b[k];
    b[i] = row[i] > 0 ? product / row[i] : 0.0;
    length += b[i] * b[i];
  }
  return length;
}

// The inverse of a lower triangular matrix L (m, m): row i is (e_i - sum_{j<i} L[i, j] row j) / L[i, i], each entry in
// the order of j, and zero where L[i, i] is not above 0. at(i, j): L[i, j].
template <class Entry>
void invert_lower(size_t m, const Entry& at, vector<double>& inverse) {
  inverse.assign(m * m, 0.0);
  for (size_t i = 0; i < m; ++i) {
    const double pivot = at(i, i);
    if (!(pivot > 0.0)) continue;
    double* const __restrict row = inverse.data() + i * m;
    for (size_t j = 0; j < i; ++j) {
      const double factor = at(i, j);
      const double* const above = inverse.data() + j * m;
      for (size_t k = 0; k <= j; ++k) row[k] -= factor * above[k];
    }
    for (size_t k = 0; k < i; ++k) row[k] /= pivot;
    row[i] = 1.0 / pivot;
  }
}

// Room for one expansion in each thread.
struct Room {
  const double* products = nullptr;  // of all columns, or of those that a screened node needs
  size_t size = 0;                   // columns
  size_t node = 0;                   // the node among them
  vector<int32_t> functions;         // of all parents
  vector<int32_t> columns;           // those that a screened node needs: parents, node, candidates
  vector<double> gathered;           // the products of parents and node with them
  Projection at;
  vector<double> less;   // (d,) what each addition takes from the node's variance
  vector<uint8_t> pays;  // (d,) additions that may pay
  vector<double> block, slopes, inverse, lengths;
};

class RegressionSteps final : public PricedSteps {
 public:
  Cube grams;    // (G, D, D) columns 0 to d - 1 are the variables, of unit length
  Ints2 firsts;  // (G, d + 1) where the functions of each variable begin; 0, ..., d: the variables themselves
  Row rows;      // (d,)
  Row weights;   // (d,) zero: unequal variances
  Table constants, factors;  // (d, d + 1) of an evidence; (0, 0): the score is none
  Ints listed, starts;       // the candidates of all nodes, and where each node's begin (d + 1,); (0,): all columns are
  double collinear = 0.0;    // a share of variance at or below this makes a column collinear with the parents
  double floor = 0.0;        // residual shares under this count as a perfect fit

  void check() {
    const size_t d = n_nodes(), groups = grams.shape(0), size = grams.shape(1);
    check_prices(groups);
    require(size >= d, "there must be a column for each node");
    require(collinear > 0 && floor > 0, "collinear and floor must be above 0");
    require_shape({groups, size, size}, "grams", grams);
    require_shape({groups, d + 1}, "firsts", firsts);
    require_range(firsts.data(), groups * (d + 1), 0, whole(size) + 1, "firsts");
    require_shape({d}, "rows and weights", rows, weights);
    if (is_evidence()) require_shape({d, d + 1}, "factors", factors);
    require_shape({factors.shape(0), factors.shape(1)}, "constants", constants);
    for (size_t k = 0; k < groups * (d + 1); ++k) {
      require(k % (d + 1) == 0 || firsts[k - 1] <= firsts[k], "firsts must rise");
      linear_ &= firsts[k] == whole(k % (d + 1));
    }
    require(linear_ || !is_evidence(), "an evidence is that of the variables themselves");
    if (!is_screened()) {
      require(prices.shape(1) == d && allowed.size() && required.size(), "only screened nodes may leave out matrices");
      return;
    }
    require(linear_, "only variables that enter themselves are screened");
    require_starts(starts, d, listed.shape(0));
    require_range(listed.data(), listed.shape(0), 0, whole(d), "listed");
    candidates_.assign(listed.data(), listed.data() + listed.shape(0));
    for (size_t node = 0; node < d; ++node)
      require(std::is_sorted(candidates_.begin() + starts[node], candidates_.begin() + starts[node + 1]),
              "the candidates of a node must rise");
  }

  Candidates candidates(int32_t node) const override {
    if (!is_screened()) return {nullptr, n_nodes()};
    return {candidates_.data() + starts[node], static_cast<size_t>(starts[node + 1] - starts[node])};
  }

  bool at_once() const override { return linear_; }
  int64_t work(const Family& family) const override {
    const int64_t* const first = first_of(family.node);
    int64_t m = 0;
    for (int32_t k = 0; k < family.size; ++k) m += first[family.parents[k] + 1] - first[family.parents[k]];
    const size_t size = is_screened() ? candidates(family.node).count : grams.shape(1);
    return whole(size) * (8 + m * (m + 8) / 6) + (linear_ ? 0 : 50 * whole(n_nodes()));
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const size_t node = family.node;
    watch.check(work(family));
    is_screened() ? gather(family, room) : take_all(family, room);
    const size_t count = room.functions.size();
    room.at.set(room.functions.data(), count, room.node, room.products, collinear);
    const bool credited = is_credited(node, count);
    const double cost = credited ? cost_of(node, family.size, room.at.left[room.node], room.at.log_det) : 0.0;
    std::fill_n(gains, candidates(family.node).count, 0.0);
    if (credited && has_room(family)) {
      if (is_screened()) {
        screened_additions(family, cost, room, gains);
      } else {
        additions(family, cost, room, gains);
        for (int32_t k = 0; k < family.size; ++k) gains[family.parents[k]] = 0.0;
      }
    }
    Worth worth = best_drop(family, cost, room);
    worth.value = -cost - price(family);
    return worth;
  }

 private:
  const double* gram(size_t node) const { return grams.data() + group[node] * grams.shape(1) * grams.shape(1); }
  const int64_t* first_of(size_t node) const { return firsts.data() + group[node] * (n_nodes() + 1); }
  bool is_evidence() const { return factors.shape(0) > 0; }
  bool is_screened() const { return starts.shape(0) > 0; }
  // With more basis functions any data are fitted perfectly: no credit.
  bool is_credited(size_t node, size_t functions) const {
    return linear_ || static_cast<double>(functions) < rows[node] - 1;
  }

  double cost_of(size_t node, int32_t size, double residual, double log_det) const {
    const double r = std::max(residual, floor);
    if (weights[node] > 0) return weights[node] * r;
    if (!is_evidence()) return rows[node] * std::log(r);
    const size_t at = node * factors.shape(1) + size;
    return factors[at] * std::log(r) + log_det / 2 - constants[at];
  }

  void take_all(const Family& family, Room& room) const {
    const size_t d = n_nodes(), node = family.node, size = grams.shape(1);
    const int64_t* const first = first_of(node);
    room.functions.clear();
    for (int32_t k = 0; k < family.size; ++k)
      for (int64_t f = first[family.parents[k]]; f < first[family.parents[k] + 1]; ++f)
        room.functions.push_back(static_cast<int32_t>(f));
    room.products = gram(node), room.size = size, room.node = node;
    room.at.left.assign(size, 1.0);
    for (size_t v = d; v < size; ++v) room.at.left[v] = gram(node)[v * size + v];
  }

  // Parents, node and candidates alone, so that the time does not depend on how many other columns there are.
  void gather(const Family& family, Room& room) const {
    const Candidates others = candidates(family.node);
    const size_t m = family.size, size = m + 1 + others.count;
    room.columns.assign(family.parents, family.parents + m);
    room.columns.push_back(family.node);
    room.columns.insert(room.columns.end(), others.nodes, others.nodes + others.count);
    room.gathered.resize((m + 1) * size);
    for (size_t k = 0; k <= m; ++k) {
      const double* const row = gram(family.node) + room.columns[k] * grams.shape(1);
      for (size_t v = 0; v < size; ++v) room.gathered[k * size + v] = row[room.columns[v]];
    }
    room.functions.resize(m);
    std::iota(room.functions.begin(), room.functions.end(), 0);
    room.products = room.gathered.data(), room.size = size, room.node = m;
    room.at.left.assign(size, 1.0);
  }

  // The same as additions, for the candidates of a screened node.
  void screened_additions(const Family& family, double cost, const Room& room, double* gains) const {
    const Candidates others = candidates(family.node);
    const size_t node = family.node, skipped = family.size + 1;
    const double residual = room.at.left[room.node];
    const bool bic = !(weights[node] > 0) && !is_evidence();
    for (size_t k = 0; k < others.count; ++k) {
      const double left = room.at.left[skipped + k], joint = room.at.joint[skipped + k], less = joint * joint / left;
      if (!may_add(node, others[k]) || !(left > collinear)) continue;
      if (std::binary_search(family.parents, family.parents + family.size, others[k])) continue;
      if (bic && rows[node] * less <= price(node, others[k]) * (residual - less)) continue;
      const double log_det = room.at.log_det + (is_evidence() ? std::log(left) : 0.0);
      gains[k] = cost - cost_of(node, family.size + 1, residual - less, log_det) - price(node, others[k]);
    }
  }

  // Writes what each allowed addition gains, where it gains.
  void additions(const Family& family, double cost, Room& room, double* gains) const {
    const size_t d = n_nodes(), node = family.node, size = grams.shape(1), count = room.functions.size();
    const Projection& at = room.at;
    const auto gain = [&](size_t v, double less, double log_det) {
      return cost - cost_of(node, family.size + 1, at.left[node] - less, at.log_det + log_det) - price(node, v);
    };
    if (linear_) {
      room.less.resize(d), room.pays.resize(d);
      const bool evidence = is_evidence(), bic = !(weights[node] > 0) && !evidence;
      find_open(d, flags(allowed) + node * d, at.left.data(), at.joint.data(), prices.data() + node * d, collinear,
                rows[node], at.left[node], bic, room.less.data(), room.pays.data());
      for (size_t v = 0; v < d; ++v)
        if (room.pays[v]) gains[v] = gain(v, room.less[v], evidence ? std::log(at.left[v]) : 0.0);
      return;
    }
    const int64_t* const first = first_of(node);
    for (size_t v = 0; v < d; ++v) {
      const size_t start = first[v], width = first[v + 1] - first[v];
      if (!may_add(node, v) || width == 0 || !is_credited(node, count + width)) continue;
      room.block.resize(width * width);
      for (size_t i = 0; i < width; ++i) {
        std::copy_n(gram(node) + (start + i) * size + start, i, room.block.data() + i * width);
        room.block[i * width + i] = at.left[start + i];
      }
      take_parts(at.coordinates.data() + start, count, size, width, room.block.data());
      room.slopes.assign(at.joint.data() + start, at.joint.data() + start + width);
      gains[v] = gain(v, solve_block(room.block.data(), room.slopes.data(), width, collinear), 0.0);
    }
  }

  // The parent whose drop gains most, and the gain; -1 where none does. Without the block i the residual grows by
  // b_i' (inverse_ii)^-1 b_i, with b the coefficients and the inverse that of the parents' Gram matrix. Both come from
  // its Cholesky factor: an explicit inverse loses the residual in rounding where parents are strongly correlated.
  Worth best_drop(const Family& family, double cost, Room& room) const {
    const size_t node = family.node, m = room.functions.size(), size = room.size;
    const int64_t* const first = first_of(node);
    const double* const coordinates = room.at.coordinates.data();
    const auto factor = [&](size_t i, size_t j) { return coordinates[j * size + room.functions[i]]; };
    invert_lower(m, factor, room.inverse);
    room.slopes.assign(m, 0.0), room.lengths.assign(m, 0.0);  // the coefficients, and the diagonal of the inverse
    for (size_t k = 0; k < m; ++k) {
      const double* const row = room.inverse.data() + k * m;
      const double coordinate = coordinates[k * size + room.node];
      for (size_t f = 0; f <= k; ++f) room.slopes[f] += row[f] * coordinate, room.lengths[f] += row[f] * row[f];
    }
    Worth best;
    size_t start = m;
    for (int32_t k = family.size; k-- > 0;) {
      const int32_t parent = family.parents[k];
      const size_t width = first[parent + 1] - first[parent];
      start -= width;
      if (!may_drop(node, parent)) continue;
      const double length = linear_ ? room.lengths[start] : 0.0;  // 0: collinear with those before it
      const double part = length > 0 ? room.slopes[start] * room.slopes[start] / length : 0.0;
      const double grown = std::min(room.at.left[room.node] + (linear_ ? part : explained(start, width, room)), 1.0);
      const double log_det = is_evidence() && length > 0 ? room.at.log_det + std::log(length) : room.at.log_det;
      const double after = is_credited(node, m - width) ? cost_of(node, family.size - 1, grown, log_det) : 0.0;
      best.offer_drop(parent, cost - after + price(node, parent));
    }
    return best;
  }

  // The variance of the node that only this block of the parents' functions explains.
  double explained(size_t start, size_t width, Room& room) const {
    const size_t m = room.functions.size();
    room.block.assign(width * width, 0.0);
    for (size_t i = 0; i < width; ++i) room.block[i * width + i] = room.lengths[start + i];
    for (size_t k = start + 1; k < m; ++k) {
      const double* const row = room.inverse.data() + k * m + start;
      for (size_t i = 1; i < width && start + i <= k; ++i)
        for (size_t j = 0; j < i; ++j) room.block[i * width + j] += row[i] * row[j];
    }
    return solve_block(room.block.data(), room.slopes.data() + start, width, 0.0);
  }

  bool linear_ = true;          // each variable is its own function
  vector<int32_t> candidates_;  // listed ones
};
}  // namespace

void Projection::set(const int32_t* columns, size_t count, size_t node, const double* products, double collinear) {
  const size_t size = left.size();
  coordinates.resize(std::max(coordinates.size(), count * size));
  joint.resize(size);
  log_det = eliminate(columns, count, node, products, size, collinear, coordinates.data(), left.data(), joint.data());
}

void bind_regressions(nb::module_& m) {
  using Self = RegressionSteps;
  m.def("residuals", &residuals,
        "Return the share of each node's variance that its parents leave; NaN where parents are collinear.");
  bind_fields<Self, Steps>(m, "RegressionSteps", "Steps of scores that come from a matrix of products.", FIELD(grams),
                           FIELD(firsts), FIELD(group), FIELD(rows), FIELD(weights), FIELD(constants), FIELD(factors),
                           FIELD(prices), FIELD(allowed), FIELD(required), FIELD(max_parents), FIELD(collinear),
                           FIELD(floor), FIELD(listed), FIELD(starts));
}
}  // namespace drbo
