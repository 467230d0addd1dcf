// Steps of the linear score with noise that may be other than Gaussian.
//
// Weights come from the correlation matrix (Projection), as in linear_steps.cpp. The shape of the noise needs the
// residuals themselves: each addition or drop changes the residual of the family by a few multiples of columns. The
// value of a family is rows times its fit (noise_fit.h), minus its prices.
#include <nanobind/stl/vector.h>

#include "noise_fit.h"
#include "steps.h"

namespace drbo {

namespace {

// Room for one expansion in each thread.
struct Room {
  Projection at;
  std::vector<double> residual, changed;         // (n,)
  std::vector<double> weights, others, inverse;  // (k,)
};

class NonGaussianSteps final : public PricedSteps {
 public:
  std::vector<Table> columns;  // (d, n) standardised, for each group
  std::vector<Row> shares;     // (n,) the weight of each row, together 1
  In<double, 3> correlations;  // (G, d, d)
  Row rows;                    // (d,)
  Row charges;                 // (d,) negentropy that is not credited
  double collinear = 0.0, floor = 0.0;

  void check() const {
    const std::size_t d = n_nodes(), groups = columns.size();
    check_prices(groups);
    require(collinear > 0 && floor > 0, "collinear and floor must be above 0");
    require(groups == shares.size(), "columns and shares must have the same groups");
    for (std::size_t g = 0; g < groups; ++g) {
      require_shape({d, columns[g].shape(1)}, "columns", columns[g]);
      require_shape({columns[g].shape(1)}, "shares", shares[g]);
    }
    require_shape({groups, d, d}, "correlations", correlations);
    require_shape({d}, "rows and charges", rows, charges);
  }

  std::int64_t work(const Family& family) const override {
    return whole(n_nodes() * columns[group.data()[family.node]].shape(1)) * (2 + family.size / 2);
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const std::size_t d = n_nodes(), node = family.node;
    const NoiseRows data = rows_of(node);
    const std::int64_t step = work(family) / whole(d);
    watch.check(step);
    room.at.left.assign(d, 1.0);
    room.at.set(family.parents, family.size, node, correlations.data() + group.data()[node] * d * d, collinear);
    room.at.regress(family, d, node, room.weights);
    room.residual.assign(data.column(node), data.column(node) + data.n);
    room.changed.resize(data.n);
    take_parents(family, data, 1.0, room.weights, room.residual.data());
    const double now = data.fit(room.residual.data());
    std::fill_n(gains, d, 0.0);
    for (std::size_t v = 0; v < d && has_room(family); ++v) {
      const bool member = std::binary_search(family.parents, family.parents + family.size, static_cast<int>(v));
      if (member || !may_add(node, v) || room.at.left[v] <= collinear) continue;
      watch.check(step);
      gains[v] = rows.data()[node] * (with(family, data, v, room) - now) - price(node, v);
    }
    Worth worth;
    worth.value = rows.data()[node] * now - price(family);
    for (std::int32_t k = 0; k < family.size; ++k) {
      if (!may_drop(node, family.parents[k])) continue;
      watch.check(step);
      const double gain = rows.data()[node] * (without(family, data, k, now, room) - now);
      worth.offer_drop(family.parents[k], gain + price(node, family.parents[k]));
    }
    return worth;
  }

 private:
  NoiseRows rows_of(std::size_t node) const {
    const std::size_t g = group.data()[node];
    return {columns[g].data(), shares[g].data(), columns[g].shape(1), charges.data()[node], floor};
  }

  // residual -= factor times the weighted sum of the parents.
  static void take_parents(const Family& family, const NoiseRows& data, double factor,
                           const std::vector<double>& weights, double* residual) {
    for (std::int32_t k = 0; k < family.size; ++k)
      subtract(residual, data.column(family.parents[k]), factor * weights[k], data.n, residual);
  }

  // The fit with one more parent: the residual loses its part along what the parents leave of the new one.
  double with(const Family& family, const NoiseRows& data, std::size_t v, Room& room) const {
    const double slope = room.at.joint[v] / room.at.left[v];
    room.at.regress(family, n_nodes(), v, room.others);
    subtract(room.residual.data(), data.column(v), slope, data.n, room.changed.data());
    take_parents(family, data, -slope, room.others, room.changed.data());
    return data.fit(room.changed.data());
  }

  // The fit without parent k. With c column k of the inverse of the parents' correlation matrix, the residual gains
  // weight_k / c_k times the sum of the parents weighted by c.
  double without(const Family& family, const NoiseRows& data, std::int32_t k, double now, Room& room) const {
    const std::size_t d = n_nodes(), size = family.size;
    const double* const coordinates = room.at.coordinates.data();
    if (!(coordinates[k * d + family.parents[k]] > 0)) return now;  // collinear with those before it
    room.inverse.assign(size, 0.0);
    for (std::size_t m = k; m < size; ++m) {  // column k of the inverse of the Cholesky factor
      double sum = m == static_cast<std::size_t>(k) ? 1.0 : 0.0;
      for (std::size_t j = k; j < m; ++j) sum -= coordinates[j * d + family.parents[m]] * room.inverse[j];
      const double pivot = coordinates[m * d + family.parents[m]];
      room.inverse[m] = pivot > 0 ? sum / pivot : 0.0;
    }
    room.at.solve_back(family, d, room.inverse.data(), room.others);
    std::copy_n(room.residual.data(), data.n, room.changed.data());
    take_parents(family, data, -room.weights[k] / room.others[k], room.others, room.changed.data());
    return data.fit(room.changed.data());
  }
};

}  // namespace

void bind_nongaussian_steps(nb::module_& m) {
  using Self = NonGaussianSteps;
  bind_fields<Self, Steps>(m, "NonGaussianSteps",
                           "Steps of the linear score with noise that may be other than Gaussian.", FIELD(columns),
                           FIELD(shares), FIELD(correlations), FIELD(group), FIELD(rows), FIELD(charges), FIELD(prices),
                           FIELD(allowed), FIELD(required), FIELD(max_parents), FIELD(collinear), FIELD(floor));
}

}  // namespace drbo
