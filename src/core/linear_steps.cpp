// Steps of scores that come from a covariance matrix.
//
// What all additions to a parent set are worth follows from the residuals of all columns on that set: the parents are
// eliminated from the correlation matrix one after the other. With r the share of the node's variance that k parents
// leave, the value of a family is minus its prices and minus
//   rows ln r                                     for unequal variances,
//   weight r                                      for an additive bound of an equal-variance score,
//   factors[k] ln r + ln D / 2 - constants[k]     for an evidence, D the determinant of the parents.
#include <algorithm>
#include <cmath>
#include <vector>

#include "arrays.h"
#include "steps.h"
#include "wide.h"

namespace drbo {

namespace {

using Row = In<double, 1>;
using Table = In<double, 2>;
using Flags = In<bool, 2>;

// Room for one expansion in each thread.
struct Room {
  std::vector<double> coordinates;  // (k, d) on the part of parent k that the parents before it leave
  std::vector<double> left;         // (d,) the variance that all parents leave
  std::vector<double> joint;        // (d,) the covariance with the node that they leave
  std::vector<double> less;         // (d,) what each addition takes from the node's variance
  std::vector<std::uint8_t> pays;   // (d,) additions that may pay
  std::vector<double> factor, inverse, product, slopes, lengths;
};

// Takes the parts of the earlier parents from a row: row -= sum_j coordinates[j, parent] coordinates[j]. Four at a
// time, each entry in the order of j.
inline void subtract_parts(double* __restrict row, const double* coordinates, std::size_t count, std::size_t parent,
                           std::size_t d) {
  std::size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const double *a = coordinates + j * d, *b = a + d, *c = b + d, *e = c + d;
    const double w = a[parent], x = b[parent], y = c[parent], z = e[parent];
    for (std::size_t v = 0; v < d; ++v) row[v] = row[v] - w * a[v] - x * b[v] - y * c[v] - z * e[v];
  }
  for (; j < count; ++j) {
    const double* a = coordinates + j * d;
    const double w = a[parent];
    for (std::size_t v = 0; v < d; ++v) row[v] -= w * a[v];
  }
}

// Projects every column on the parents; returns the log determinant of the parents. A collinear parent has no part.
WIDE double eliminate(const Family& family, const double* correlation, std::size_t d, double collinear,
                      double* coordinates, double* __restrict left, double* __restrict joint) {
  double log_det = 0.0;
  std::fill_n(left, d, 1.0);
  std::copy_n(correlation + family.node * d, d, joint);
  for (std::int32_t k = 0; k < family.size; ++k) {
    const std::size_t parent = family.parents[k];
    double* const __restrict row = coordinates + k * d;
    if (left[parent] <= collinear) {
      std::fill_n(row, d, 0.0);
      continue;
    }
    log_det += std::log(left[parent]);
    const double scale = 1.0 / std::sqrt(left[parent]);
    std::copy_n(correlation + parent * d, d, row);
    subtract_parts(row, coordinates, k, parent, d);
    const double own = row[family.node] * scale;
    for (std::size_t v = 0; v < d; ++v) {
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

class LinearSteps final : public Steps {
 public:
  LinearSteps(const In<double, 3>& correlations, const In<std::int64_t, 1>& group, const Row& rows, const Row& weights,
              const Table& constants, const Table& factors, const Table& prices, const Flags& allowed,
              const Flags& required, const In<std::int64_t, 1>& max_parents, double collinear, double floor)
      : correlations_(correlations),
        group_(group),
        rows_(rows),
        weights_(weights),
        constants_(constants),
        factors_(factors),
        prices_(prices),
        allowed_(allowed),
        required_(required),
        max_parents_(max_parents),
        collinear_(collinear),
        floor_(floor),
        evidence_(factors.shape(0) > 0) {
    const std::size_t d = group.shape(0);
    require(d >= 1, "there must be a node");
    require(collinear > 0 && floor > 0, "collinear and floor must be above 0");
    require_shape(correlations, "correlations", {correlations.shape(0), d, d});
    require_range(group.data(), d, 0, static_cast<std::int64_t>(correlations.shape(0)), "group");
    require_shape(rows, "rows", {d});
    require_shape(weights, "weights", {d});
    require_shape(prices, "prices", {d, d});
    require_shape(allowed, "allowed", {d, d});
    require_shape(required, "required", {d, d});
    require_shape(max_parents, "max_parents", {d});
    if (evidence_) require_shape(factors, "factors", {d, d + 1});
    require_shape(constants, "constants", {factors.shape(0), factors.shape(1)});
  }

  std::size_t n_nodes() const override { return group_.shape(0); }
  bool at_once() const override { return true; }
  std::int64_t work(const Family& family) const override {
    return static_cast<std::int64_t>(n_nodes()) * (8 + family.size * (family.size + 4) / 8);
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const std::size_t d = n_nodes(), node = family.node;
    watch.check(work(family));
    room.coordinates.resize(std::max(room.coordinates.size(), family.size * d));
    room.left.resize(d), room.joint.resize(d), room.less.resize(d), room.pays.resize(d);
    const double log_det = eliminate(family, correlations_.data() + group_.data()[node] * d * d, d, collinear_,
                                     room.coordinates.data(), room.left.data(), room.joint.data());
    const double cost = cost_of(node, family.size, room.left[node], log_det);
    double price = 0.0;
    for (std::int32_t k = 0; k < family.size; ++k) price += prices(node)[family.parents[k]];
    std::fill_n(gains, d, 0.0);
    if (family.size < max_parents_.data()[node]) {
      additions(node, family.size, cost, log_det, room, gains);
      for (std::int32_t k = 0; k < family.size; ++k) gains[family.parents[k]] = 0.0;
    }
    Worth worth = best_drop(family, cost, log_det, room);
    worth.value = -cost - price;
    return worth;
  }

 private:
  const double* prices(std::size_t node) const { return prices_.data() + node * n_nodes(); }

  double cost_of(std::size_t node, std::int32_t size, double residual, double log_det) const {
    const double r = std::max(residual, floor_);
    if (weights_.data()[node] > 0) return weights_.data()[node] * r;
    if (evidence_) {
      const std::size_t at = node * factors_.shape(1) + size;
      return factors_.data()[at] * std::log(r) + log_det / 2 - constants_.data()[at];
    }
    return rows_.data()[node] * std::log(r);
  }

  // Writes what each allowed addition gains, where it gains.
  void additions(std::size_t node, std::int32_t size, double cost, double log_det, Room& room, double* gains) const {
    const std::size_t d = n_nodes();
    const double residual = room.left[node];
    const bool bic = !(weights_.data()[node] > 0) && !evidence_;
    find_open(d, flags(allowed_) + node * d, room.left.data(), room.joint.data(), prices(node), collinear_,
              rows_.data()[node], residual, bic, room.less.data(), room.pays.data());
    for (std::size_t v = 0; v < d; ++v) {
      if (!room.pays[v]) continue;
      const double more = evidence_ ? std::log(room.left[v]) : 0.0;
      gains[v] = cost - cost_of(node, size + 1, residual - room.less[v], log_det + more) - prices(node)[v];
    }
  }

  // The parent whose drop gains most, and the gain; -1 where none does. Without parent i the residual grows by
  // slope_i^2 / inverse_ii. Both come from the Cholesky factor: an explicit inverse loses the residual in rounding
  // where parents are strongly correlated.
  Worth best_drop(const Family& family, double cost, double log_det, Room& room) const {
    const std::size_t d = n_nodes(), size = family.size, node = family.node;
    invert_factor(family, room);
    Worth best;
    room.slopes.resize(size);
    for (std::size_t i = size; i-- > 0;) {
      const double pivot = room.factor[i * size + i];
      double grown = room.left[node], inverse = 1.0;
      room.slopes[i] = 0.0;
      if (pivot > 0) {  // else collinear with those before it
        double slope = room.coordinates[i * d + node];
        for (std::size_t m = i + 1; m < size; ++m) slope -= room.factor[i * size + m] * room.slopes[m];
        room.slopes[i] = slope / pivot;
        inverse = room.lengths[i];
        grown += room.slopes[i] * room.slopes[i] / inverse;
      }
      const std::int32_t parent = family.parents[i];
      if (flags(required_)[node * d + parent]) continue;
      const double without = cost_of(node, family.size - 1, grown, evidence_ ? log_det + std::log(inverse) : 0.0);
      const double gain = cost - without + prices(node)[parent];
      if (gain > best.drop_gain) best.drop = parent, best.drop_gain = gain;
    }
    return best;
  }

  // Sets the factor (k, m) of the parents and the squared length of each column i of its inverse: entry (m, i) is
  // (1[m = i] - sum_j factor[j, m] inverse[j, i]) / factor[m, m], for all i at once, each in the order of j.
  void invert_factor(const Family& family, Room& room) const {
    const std::size_t d = n_nodes(), size = family.size;
    room.factor.resize(size * size), room.inverse.resize(size * size);
    room.product.resize(size), room.lengths.assign(size, 0.0);
    for (std::size_t k = 0; k < size; ++k)
      for (std::size_t m = k; m < size; ++m) room.factor[k * size + m] = room.coordinates[k * d + family.parents[m]];
    double* const __restrict product = room.product.data();
    for (std::size_t m = 0; m < size; ++m) {
      std::fill_n(product, size, 0.0);
      product[m] = 1.0;
      for (std::size_t j = 0; j < m; ++j) {
        const double factor = room.factor[j * size + m];
        const double* const inverse = room.inverse.data() + j * size;
        for (std::size_t i = 0; i <= j; ++i) product[i] -= factor * inverse[i];
      }
      const double below = room.factor[m * size + m];
      double* const inverse = room.inverse.data() + m * size;
      for (std::size_t i = 0; i <= m; ++i) {
        inverse[i] = below > 0 ? product[i] / below : 0.0;
        room.lengths[i] += inverse[i] * inverse[i];
      }
    }
  }

  In<double, 3> correlations_;
  In<std::int64_t, 1> group_;
  Row rows_, weights_;
  Table constants_, factors_, prices_;
  Flags allowed_, required_;
  In<std::int64_t, 1> max_parents_;
  double collinear_, floor_;
  bool evidence_;
};

}  // namespace

void bind_linear_steps(nb::module_& m) {
  using Ints = In<std::int64_t, 1>;
  nb::class_<LinearSteps, Steps>(m, "LinearSteps", "Steps of scores that come from a covariance matrix.")
      .def(nb::init<const In<double, 3>&, const Ints&, const Row&, const Row&, const Table&, const Table&, const Table&,
                    const Flags&, const Flags&, const Ints&, double, double>(),
           "correlations"_a.noconvert(), "group"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(),
           "constants"_a.noconvert(), "factors"_a.noconvert(), "prices"_a.noconvert(), "allowed"_a.noconvert(),
           "required"_a.noconvert(), "max_parents"_a.noconvert(), "collinear"_a, "floor"_a);
}

}  // namespace drbo
