// Steps of scores that come from a covariance matrix.
//
// What all additions to a parent set are worth follows from the residuals of all columns on that set (Projection): the
// parents are eliminated from the correlation matrix one after the other. With r the share of the node's variance that
// k parents leave, the value of a family is minus its prices and minus
//   rows ln r                                     for unequal variances,
//   weight r                                      for an additive bound of an equal-variance score,
//   factors[k] ln r + ln D / 2 - constants[k]     for an evidence, D the determinant of the parents.
#include "steps.h"
#include "wide.h"

namespace drbo {

namespace {

// Room for one expansion in each thread.
struct Room {
  Projection at;
  std::vector<double> less;        // (d,) what each addition takes from the node's variance
  std::vector<std::uint8_t> pays;  // (d,) additions that may pay
  std::vector<double> inverse, slopes, lengths;
};

// Takes from a row of a matrix of products what earlier rows explain, row -= sum_j coordinates[j, own] coordinates[j];
// four at a time, each entry in the order of j.
inline void subtract_parts(double* __restrict row, const double* coordinates, std::size_t count, std::size_t own,
                           std::size_t size) {
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const double *a = coordinates + j * size, *b = a + size, *c = b + size, *e = c + size;
    const double w = a[own], x = b[own], y = c[own], z = e[own];
    for (std::size_t v = 0; v < size; ++v) row[v] = row[v] - w * a[v] - x * b[v] - y * c[v] - z * e[v];
  }
  for (; j < count; ++j) {
    const double* a = coordinates + j * size;
    const double w = a[own];
    for (std::size_t v = 0; v < size; ++v) row[v] -= w * a[v];
  }
}

WIDE double eliminate(const std::int32_t* columns, std::size_t count, std::size_t node, const double* products,
                      std::size_t size, double collinear, double* coordinates, double* __restrict left,
                      double* __restrict joint) {
  double log_det = 0.0;
  std::copy_n(products + node * size, size, joint);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t column = columns[k];
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
    for (std::size_t v = 0; v < size; ++v) {
      const double x = row[v] * scale;
      row[v] = x;
      left[v] -= x * x;
      joint[v] -= own * x;
    }
  }
  return log_det;
}

// Marks additions that may pay. For BIC, -ln(1 - x) <= x / (1 - x) says which ones cannot.
WIDE void find_open(std::size_t d, const std::uint8_t* allowed, const double* left, const double* joint,
                    const double* prices, double collinear, double rows, double residual, bool bic,
                    double* __restrict less, std::uint8_t* __restrict pays) {
  for (std::size_t v = 0; v < d; ++v) less[v] = joint[v] * joint[v] / left[v];
  for (std::size_t v = 0; v < d; ++v) {
    const bool cannot = rows * less[v] <= prices[v] * (residual - less[v]);
    pays[v] = (allowed[v] != 0) & (left[v] > collinear) & !(bic & cannot);
  }
}

class LinearSteps final : public PricedSteps {
 public:
  In<double, 3> correlations;  // (G, d, d)
  Row rows;                    // (d,)
  Row weights;                 // (d,) zero: unequal variances
  Table constants, factors;    // (d, d + 1) of an evidence; (0, 0): the score is none
  double collinear = 0.0;      // a share of variance at or below this makes a column collinear with the parents
  double floor = 0.0;          // residual shares under this count as a perfect fit

  void check() const {
    const std::size_t d = n_nodes();
    check_prices(correlations.shape(0));
    require(collinear > 0 && floor > 0, "collinear and floor must be above 0");
    require_shape({correlations.shape(0), d, d}, "correlations", correlations);
    require_shape({d}, "rows and weights", rows, weights);
    if (is_evidence()) require_shape({d, d + 1}, "factors", factors);
    require_shape({factors.shape(0), factors.shape(1)}, "constants", constants);
  }

  bool at_once() const override { return true; }
  std::int64_t work(const Family& family) const override {
    return whole(n_nodes()) * (8 + family.size * (family.size + 4) / 8);
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const std::size_t d = n_nodes(), node = family.node;
    watch.check(work(family));
    room.at.left.assign(d, 1.0);
    room.at.set(family.parents, family.size, node, correlations.data() + group.data()[node] * d * d, collinear);
    const double cost = cost_of(node, family.size, room.at.left[node], room.at.log_det);
    std::fill_n(gains, d, 0.0);
    if (has_room(family)) {
      additions(node, family.size, cost, room, gains);
      for (std::int32_t k = 0; k < family.size; ++k) gains[family.parents[k]] = 0.0;
    }
    Worth worth = best_drop(family, cost, room);
    worth.value = -cost - price(family);
    return worth;
  }

 private:
  bool is_evidence() const { return factors.shape(0) > 0; }

  double cost_of(std::size_t node, std::int32_t size, double residual, double log_det) const {
    const double r = std::max(residual, floor);
    if (weights.data()[node] > 0) return weights.data()[node] * r;
    if (is_evidence()) {
      const std::size_t at = node * factors.shape(1) + size;
      return factors.data()[at] * std::log(r) + log_det / 2 - constants.data()[at];
    }
    return rows.data()[node] * std::log(r);
  }

  // Writes what each allowed addition gains, where it gains.
  void additions(std::size_t node, std::int32_t size, double cost, Room& room, double* gains) const {
    const std::size_t d = n_nodes();
    const double residual = room.at.left[node];
    const bool evidence = is_evidence(), bic = !(weights.data()[node] > 0) && !evidence;
    room.less.resize(d), room.pays.resize(d);
    find_open(d, flags(allowed) + node * d, room.at.left.data(), room.at.joint.data(), prices.data() + node * d,
              collinear, rows.data()[node], residual, bic, room.less.data(), room.pays.data());
    for (std::size_t v = 0; v < d; ++v) {
      if (!room.pays[v]) continue;
      const double more = evidence ? std::log(room.at.left[v]) : 0.0;
      gains[v] = cost - cost_of(node, size + 1, residual - room.less[v], room.at.log_det + more) - price(node, v);
    }
  }

  // The parent whose drop gains most, and the gain; -1 where none does. Without parent i the residual grows by
  // slope_i^2 / inverse_ii. Both come from the Cholesky factor: an explicit inverse loses the residual in rounding
  // where parents are strongly correlated.
  Worth best_drop(const Family& family, double cost, Room& room) const {
    const std::size_t d = n_nodes(), size = family.size, node = family.node;
    const double* const coordinates = room.at.coordinates.data();
    const auto factor = [&](std::size_t m, std::size_t k) { return coordinates[k * d + family.parents[m]]; };
    invert_lower(size, factor, room.inverse);
    room.lengths.assign(size, 0.0);
    for (std::size_t m = 0; m < size; ++m)
      for (std::size_t i = 0; i <= m; ++i) room.lengths[i] += room.inverse[m * size + i] * room.inverse[m * size + i];
    Worth best;
    room.slopes.resize(size);
    for (std::size_t i = size; i-- > 0;) {
      const double pivot = factor(i, i);
      double grown = room.at.left[node], inverse = 1.0;
      room.slopes[i] = 0.0;
      if (pivot > 0) {  // else collinear with those before it
        double slope = coordinates[i * d + node];
        for (std::size_t m = i + 1; m < size; ++m) slope -= factor(m, i) * room.slopes[m];
        room.slopes[i] = slope / pivot;
        inverse = room.lengths[i];
        grown += room.slopes[i] * room.slopes[i] / inverse;
      }
      const std::int32_t parent = family.parents[i];
      if (!may_drop(node, parent)) continue;
      const double log_det = is_evidence() ? room.at.log_det + std::log(inverse) : 0.0;
      best.offer_drop(parent, cost - cost_of(node, family.size - 1, grown, log_det) + price(node, parent));
    }
    return best;
  }
};

}  // namespace

void Projection::set(const std::int32_t* columns, std::size_t count, std::size_t node, const double* products,
                     double collinear) {
  const std::size_t size = left.size();
  coordinates.resize(std::max(coordinates.size(), count * size));
  joint.resize(size);
  log_det = eliminate(columns, count, node, products, size, collinear, coordinates.data(), left.data(), joint.data());
}

void Projection::regress(const Family& family, std::size_t d, std::size_t column, std::vector<double>& weights) const {
  std::vector<double> own(family.size);
  for (std::int32_t k = 0; k < family.size; ++k) own[k] = coordinates[k * d + column];
  solve_back(family, d, own.data(), weights);
}

void Projection::solve_back(const Family& family, std::size_t d, const double* y, std::vector<double>& x) const {
  const std::size_t size = family.size;
  x.assign(size, 0.0);
  for (std::size_t i = size; i-- > 0;) {
    const double pivot = coordinates[i * d + family.parents[i]];
    if (!(pivot > 0)) continue;  // collinear with those before it
    double sum = y[i];
    for (std::size_t m = i + 1; m < size; ++m) sum -= coordinates[i * d + family.parents[m]] * x[m];
    x[i] = sum / pivot;
  }
}

void bind_linear_steps(nb::module_& m) {
  using Self = LinearSteps;
  bind_fields<Self, Steps>(m, "LinearSteps", "Steps of scores that come from a covariance matrix.", FIELD(correlations),
                           FIELD(group), FIELD(rows), FIELD(weights), FIELD(constants), FIELD(factors), FIELD(prices),
                           FIELD(allowed), FIELD(required), FIELD(max_parents), FIELD(collinear), FIELD(floor));
}

}  // namespace drbo
