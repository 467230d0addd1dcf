// Steps of the spline score.
//
// All families come from one Gram matrix of the columns and of all basis functions. A parent is a block of functions:
// the parents' blocks are eliminated from the matrix one function after the other, and what a further block explains
// follows from its own small part of what is left. With r the share of variance that the parents leave, the value of a
// family is -rows ln r minus its prices.
#include "steps.h"

namespace drbo {

namespace {

// Room for one expansion in each thread.
struct Room {
  std::vector<std::int32_t> functions;  // of all parents
  Projection at;
  std::vector<double> block, slopes, inverse;
};

// Takes from the lower part of a block (width, width) what the parents explain; its diagonal is known.
inline void take_parts(const double* coordinates, std::size_t count, std::size_t size, std::size_t width,
                       double* __restrict block) {
  for (std::size_t k = 0; k < count; ++k) {
    const double* const row = coordinates + k * size;
    for (std::size_t i = 1; i < width; ++i)
      for (std::size_t j = 0; j < i; ++j) block[i * width + j] -= row[i] * row[j];
  }
}

// Solves L x = b for the Cholesky factor L of a block in place, where a pivot is not above least without its row;
// returns the squared length of x.
inline double solve_block(double* block, double* b, std::size_t width, double least) {
  double length = 0.0;
  for (std::size_t i = 0; i < width; ++i) {
    double* const row = block + i * width;
    for (std::size_t j = 0; j <= i; ++j) {
      const double* const other = block + j * width;
      double product = row[j];
      for (std::size_t k = 0; k < j; ++k) product -= row[k] * other[k];
      if (i == j)
        row[i] = product > least ? std::sqrt(product) : 0.0;
      else
        row[j] = other[j] > 0 ? product / other[j] : 0.0;
    }
    double product = b[i];
    for (std::size_t k = 0; k < i; ++k) product -= row[k] * b[k];
    b[i] = row[i] > 0 ? product / row[i] : 0.0;
    length += b[i] * b[i];
  }
  return length;
}

class SplineSteps final : public PricedSteps {
 public:
  In<double, 3> grams;         // (G, D, D) columns 0 to d - 1 are the variables, the others their basis functions
  In<std::int64_t, 2> firsts;  // (G, d + 1) where the functions of each variable begin
  Row rows;                    // (d,)
  double collinear = 0.0, floor = 0.0;

  void check() const {
    const std::size_t d = n_nodes(), groups = grams.shape(0), size = grams.shape(1);
    check_prices(groups);
    require(size >= d, "there must be a function for each node");
    require(collinear > 0 && floor > 0, "collinear and floor must be above 0");
    require_shape({groups, size, size}, "grams", grams);
    require_shape({groups, d + 1}, "firsts", firsts);
    require_range(firsts.data(), groups * (d + 1), whole(d), whole(size) + 1, "firsts");
    for (std::size_t g = 0; g < groups; ++g)
      require(std::is_sorted(firsts.data() + g * (d + 1), firsts.data() + (g + 1) * (d + 1)), "firsts must rise");
    require_shape({d}, "rows", rows);
  }

  std::int64_t work(const Family& family) const override {
    const std::int64_t* const first = first_of(family.node);
    std::int64_t m = 1;
    for (std::int32_t k = 0; k < family.size; ++k) m += first[family.parents[k] + 1] - first[family.parents[k]];
    return whole(grams.shape(1)) * m * (m / 4 + 4) + 50 * whole(n_nodes());
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const std::size_t node = family.node, size = grams.shape(1);
    const std::int64_t* const first = first_of(node);
    watch.check(work(family));
    room.functions.clear();
    for (std::int32_t k = 0; k < family.size; ++k)
      for (std::int64_t f = first[family.parents[k]]; f < first[family.parents[k] + 1]; ++f)
        room.functions.push_back(static_cast<std::int32_t>(f));
    const std::size_t count = room.functions.size();
    room.at.left.resize(size);
    for (std::size_t v = 0; v < size; ++v) room.at.left[v] = gram(node)[v * size + v];
    room.at.left[node] = 1.0;
    room.at.set(room.functions.data(), count, node, gram(node), collinear);
    const double residual = room.at.left[node];
    const bool credited = is_credited(node, count);
    const double cost = credited ? cost_of(node, residual) : 0.0;
    std::fill_n(gains, n_nodes(), 0.0);
    if (credited && has_room(family)) {
      additions(node, residual, room, gains);
      for (std::int32_t k = 0; k < family.size; ++k) gains[family.parents[k]] = 0.0;
    }
    Worth worth = best_drop(family, residual, room);
    worth.value = -cost - price(family);
    return worth;
  }

 private:
  const double* gram(std::size_t node) const {
    return grams.data() + group.data()[node] * grams.shape(1) * grams.shape(1);
  }
  const std::int64_t* first_of(std::size_t node) const { return firsts.data() + group.data()[node] * (n_nodes() + 1); }
  double cost_of(std::size_t node, double residual) const {
    return rows.data()[node] * std::log(std::max(residual, floor));
  }
  // With more functions any data are fitted perfectly: no credit.
  bool is_credited(std::size_t node, std::size_t functions) const {
    return static_cast<double>(functions) < rows.data()[node] - 1;
  }

  // Writes what each allowed addition gains, where it gains.
  void additions(std::size_t node, double residual, Room& room, double* gains) const {
    const std::size_t size = grams.shape(1), count = room.functions.size();
    const std::int64_t* const first = first_of(node);
    for (std::size_t v = 0; v < n_nodes(); ++v) {
      const std::size_t start = first[v], width = first[v + 1] - first[v];
      if (!may_add(node, v) || width == 0 || !is_credited(node, count + width)) continue;
      room.block.resize(width * width);
      for (std::size_t i = 0; i < width; ++i) {
        std::copy_n(gram(node) + (start + i) * size + start, i, room.block.data() + i * width);
        room.block[i * width + i] = room.at.left[start + i];
      }
      take_parts(room.at.coordinates.data() + start, count, size, width, room.block.data());
      room.slopes.assign(room.at.joint.data() + start, room.at.joint.data() + start + width);
      const double less = solve_block(room.block.data(), room.slopes.data(), width, collinear);
      const double after = std::max(residual - less, floor);
      gains[v] = rows.data()[node] * (std::log(std::max(residual, floor)) - std::log(after)) - price(node, v);
    }
  }

  // The parent whose drop gains most, and the gain; -1 where none does. Without the block i the residual grows by
  // b_i' (inverse_ii)^-1 b_i, with b the coefficients and the inverse that of the parents' Gram matrix, both from its
  // Cholesky factor.
  Worth best_drop(const Family& family, double residual, Room& room) const {
    const std::size_t node = family.node, m = room.functions.size();
    const std::int64_t* const first = first_of(node);
    const double* const coordinates = room.at.coordinates.data();
    invert_lower(
        m, [&](std::size_t i, std::size_t j) { return coordinates[j * grams.shape(1) + room.functions[i]]; },
        room.inverse);
    const bool credited = is_credited(node, m);
    const double now = credited ? cost_of(node, residual) : 0.0;
    Worth best;
    std::size_t start = 0;
    for (std::int32_t k = 0; k < family.size; ++k) {
      const std::int32_t parent = family.parents[k];
      const std::size_t width = first[parent + 1] - first[parent];
      if (may_drop(node, parent)) {
        const double grown = residual + explained(start, width, node, room);
        const bool counts = credited || is_credited(node, m - width);
        const double after = counts ? rows.data()[node] * std::log(std::min(std::max(grown, floor), 1.0)) : 0.0;
        best.offer_drop(parent, now - after + price(node, parent));
      }
      start += width;
    }
    return best;
  }

  // The variance of the node that only this block of the parents' functions explains.
  double explained(std::size_t start, std::size_t width, std::size_t node, Room& room) const {
    const std::size_t m = room.functions.size(), size = grams.shape(1);
    room.block.assign(width * width, 0.0), room.slopes.assign(width, 0.0);
    for (std::size_t k = start; k < m; ++k) {
      const double* const row = room.inverse.data() + k * m + start;
      const double coordinate = room.at.coordinates[k * size + node];
      for (std::size_t i = 0; i < width && start + i <= k; ++i) {
        room.slopes[i] += row[i] * coordinate;
        for (std::size_t j = 0; j <= i; ++j) room.block[i * width + j] += row[i] * row[j];
      }
    }
    return solve_block(room.block.data(), room.slopes.data(), width, 0.0);
  }
};

}  // namespace

void bind_spline_steps(nb::module_& m) {
  using Self = SplineSteps;
  bind_fields<Self, Steps>(m, "SplineSteps", "Steps of the spline score.", FIELD(grams), FIELD(firsts), FIELD(group),
                           FIELD(rows), FIELD(prices), FIELD(allowed), FIELD(required), FIELD(max_parents),
                           FIELD(collinear), FIELD(floor));
}

}  // namespace drbo
