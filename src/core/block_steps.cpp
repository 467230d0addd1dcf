// Steps of scores whose variables are blocks of columns, such as the indicators of a category, taken to be Gaussian.
//
// With S the covariance of a node's columns given those of its parents, a family is worth -rows ln |S|, less its
// prices. The parents' columns are eliminated once (Projection). Given one more parent, ln |S| follows from a Cholesky
// factor of what is left of that parent's and the node's columns, the node's last; without a parent, from a factor of
// its own.
#include "steps.h"

namespace drbo {
namespace {

// Room for one family in each thread.
struct Room {
  vector<int32_t> functions;
  Projection at;
  vector<double> block;
};

class BlockSteps final : public PricedSteps {
 public:
  Cube grams;              // (G, D, D)
  Ints firsts;             // (d + 1,) where the columns of each variable begin
  Row rows;                // (d,)
  double collinear = 0.0;  // a share of variance at or below this makes a column collinear with the parents

  void check() {
    const size_t d = n_nodes(), groups = grams.shape(0), size = grams.shape(1);
    check_prices(groups);
    require(prices.shape(1) == d && allowed.size() && required.size(), "prices and edges must be matrices");
    require(collinear > 0, "collinear must be above 0");
    require_shape({groups, size, size}, "grams", grams);
    require_shape({d}, "rows", rows);
    require_shape({d + 1}, "firsts", firsts);
    require(firsts[0] == 0 && firsts[d] == whole(size), "firsts must reach from the first column to the last");
    for (size_t node = 0; node < d; ++node) require(firsts[node] < firsts[node + 1], "a variable needs a column");
  }

  bool at_once() const override { return true; }

  int64_t work(const Family& family) const override {
    int64_t m = whole(width(static_cast<size_t>(family.node)));
    for (int32_t k = 0; k < family.size; ++k) m += whole(width(static_cast<size_t>(family.parents[k])));
    return whole(grams.shape(1)) * (8 + m * (m + 8) / 6) + (family.size + 1) * m * m * m / 6;
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const size_t d = n_nodes(), node = family.node, size = grams.shape(1);
    watch.check(work(family));
    gather(family, -1, room);
    room.at.left.resize(size);
    for (size_t v = 0; v < size; ++v) room.at.left[v] = gram(node)[v * size + v];
    room.at.set(room.functions.data(), room.functions.size(), first(node), gram(node), collinear);
    const double cost = rows[node] * given(node, node, room);
    std::fill_n(gains, d, 0.0);
    if (has_room(family)) {
      for (size_t v = 0; v < d; ++v)
        if (may_add(node, v) && v != node) gains[v] = cost - rows[node] * given(node, v, room) - price(node, v);
      for (int32_t k = 0; k < family.size; ++k) gains[family.parents[k]] = 0.0;
    }
    Worth worth;
    worth.value = -cost - price(family);
    for (int32_t k = family.size; k-- > 0;) {
      const int32_t parent = family.parents[k];
      if (!may_drop(node, parent)) continue;
      const double after = rows[node] * without(family, k, room);
      worth.offer_drop(parent, cost - after + price(node, parent));
    }
    return worth;
  }

 private:
  const double* gram(size_t node) const { return grams.data() + group[node] * grams.shape(1) * grams.shape(1); }
  size_t first(size_t node) const { return static_cast<size_t>(firsts[node]); }
  size_t width(size_t node) const { return first(node + 1) - first(node); }

  // The columns of the parents but the k-th.
  void gather(const Family& family, int32_t skipped, Room& room) const {
    room.functions.clear();
    for (int32_t k = 0; k < family.size; ++k)
      for (int64_t f = firsts[family.parents[k]]; k != skipped && f < firsts[family.parents[k] + 1]; ++f)
        room.functions.push_back(static_cast<int32_t>(f));
  }

  // ln |S| of a node given the parents that were eliminated and one more; the node itself: no more.
  double given(size_t node, size_t more, Room& room) const {
    const size_t size = grams.shape(1), count = room.functions.size(), m = (more == node ? 0 : width(more));
    const size_t total = m + width(node);
    const auto column = [&](size_t i) { return i < m ? first(more) + i : first(node) + i - m; };
    room.block.resize(total * total);
    for (size_t i = 0; i < total; ++i)
      for (size_t j = 0; j <= i; ++j) {
        const double* const own = room.at.coordinates.data() + column(i);
        const double* const other = room.at.coordinates.data() + column(j);
        double left = gram(node)[column(i) * size + column(j)];
        for (size_t k = 0; k < count; ++k) left -= own[k * size] * other[k * size];
        room.block[i * total + j] = left;
      }
    return log_det(total, m, room);
  }

  // ln |S| of a node without its k-th parent.
  double without(const Family& family, int32_t skipped, Room& room) const {
    const size_t node = family.node, size = grams.shape(1);
    gather(family, skipped, room);
    const size_t m = room.functions.size(), total = m + width(node);
    for (int64_t f = firsts[node]; f < firsts[node + 1]; ++f) room.functions.push_back(static_cast<int32_t>(f));
    room.block.resize(total * total);
    for (size_t i = 0; i < total; ++i)
      for (size_t j = 0; j <= i; ++j)
        room.block[i * total + j] = gram(node)[room.functions[i] * size + room.functions[j]];
    return log_det(total, m, room);
  }

  // The log determinant of the columns from the m-th on given those before them, from the block's Cholesky factor.
  double log_det(size_t total, size_t m, Room& room) const {
    double* const a = room.block.data();
    double found = 0.0;
    for (size_t i = 0; i < total; ++i) {
      double* const row = a + i * total;
      for (size_t j = 0; j < i; ++j) {
        const double* const other = a + j * total;
        double left = row[j];
        for (size_t k = 0; k < j; ++k) left -= row[k] * other[k];
        row[j] = left * other[j];  // the diagonal holds inverse roots of pivots
      }
      double pivot = row[i];
      for (size_t k = 0; k < i; ++k) pivot -= row[k] * row[k];
      pivot = std::max(pivot, collinear);
      if (i >= m) found += std::log(pivot);
      row[i] = 1.0 / std::sqrt(pivot);
    }
    return found;
  }
};
}  // namespace

void bind_block_steps(nb::module_& m) {
  using Self = BlockSteps;
  bind_fields<Self, Steps>(m, "BlockSteps", "Steps of scores whose variables are blocks of columns.", FIELD(grams),
                           FIELD(firsts), FIELD(group), FIELD(rows), FIELD(prices), FIELD(allowed), FIELD(required),
                           FIELD(max_parents), FIELD(collinear));
}
}  // namespace drbo
