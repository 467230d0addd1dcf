// Steps seen from Python, and steps of any score that Python computes.
#include "steps.h"

#include <nanobind/stl/tuple.h>

namespace drbo {
namespace {

using Found = std::tuple<Row, Table, Ints, Row>;

// A number of nodes is checked before memory is taken for each of them.
constexpr size_t MOST_NODES = size_t{1} << 20;

// Asks a Python function expand(nodes, parents, sizes) for values, gains of additions, drops and gains of drops.
class ScoreSteps final : public Steps {
 public:
  ScoreSteps(size_t n_nodes, nb::callable expand) : n_nodes_(n_nodes), expand_(std::move(expand)) {
    require(n_nodes >= 1 && n_nodes <= MOST_NODES, "there must be 1 to 1,048,576 nodes");
  }
  size_t n_nodes() const override { return n_nodes_; }
  int64_t work(const Family&) const override { return 0; }

  Worth expand(const Family&, double*, Watch&) const override { return {}; }  // never called: not at once

  void expand_all(const vector<Family>& families, Worth* found, double* gains, int, const Stop&) const override {
    const nb::gil_scoped_acquire lock;
    const size_t count = families.size();
    size_t width = 1;
    for (const Family& family : families) width = std::max<size_t>(width, family.size);
    Owned<int64_t, 1> nodes({count}), sizes({count});
    Owned<int64_t, 2> parents({count, width});
    std::fill_n(parents.data(), count * width, -1);
    for (size_t b = 0; b < count; ++b) {
      nodes[b] = families[b].node;
      sizes[b] = families[b].size;
      std::copy_n(families[b].parents, families[b].size, parents.data() + b * width);
    }
    const nb::object answer = expand_(nodes.give(), parents.give(), sizes.give());
    const auto [values, additions, drops, drop_gains] = nb::cast<Found>(answer);
    require_shape({count}, "values, drops and drop_gains", values, drops, drop_gains);
    require_shape({count, n_nodes_}, "additions", additions);
    require_range(drops.data(), count, -1, whole(n_nodes_), "drops");
    std::copy_n(additions.data(), count * n_nodes_, gains);
    for (size_t b = 0; b < count; ++b) found[b] = {values[b], drops[b], drop_gains[b]};
  }

 private:
  size_t n_nodes_;
  nb::callable expand_;
};

using Answer = std::tuple<Result<double, 1>, Result<double, 2>, Result<int64_t, 1>, Result<double, 1>>;

Answer expand(const Steps& self, const Ints& nodes, const Ints2& parents, const Ints& sizes) {
  const size_t count = nodes.shape(0), width = parents.shape(1), d = self.n_nodes();
  require_shape({count, width}, "parents", parents);
  require_shape({count}, "sizes", sizes);
  require_range(nodes.data(), count, 0, whole(d), "nodes");
  require_range(sizes.data(), count, 0, whole(std::min(width, d - 1)) + 1, "sizes");
  vector<int32_t> members(parents.data(), parents.data() + count * width);
  vector<Family> families(count);
  for (size_t b = 0; b < count; ++b) {
    const int32_t* row = members.data() + b * width;
    const int32_t node = static_cast<int32_t>(nodes[b]), size = static_cast<int32_t>(sizes[b]);
    require_range(parents.data() + b * width, size, 0, whole(d), "parents");
    require(std::adjacent_find(row, row + size, std::greater_equal<>()) == row + size, "parents must rise");
    require(!std::binary_search(row, row + size, node), "no node is its own parent");
    families[b] = {node, size, row};
  }
  vector<Worth> found(count);
  Owned<double, 1> values({count}), drop_gains({count});
  Owned<double, 2> gains({count, d});
  Owned<int64_t, 1> drops({count});
  unlocked([&](const Stop& stop) { self.expand_all(families, found.data(), gains.data(), 1, stop); });
  for (size_t b = 0; b < count; ++b) {  // from the candidates to all nodes
    const Candidates candidates = self.candidates(families[b].node);
    const vector<double> listed(gains.data() + b * d, gains.data() + b * d + candidates.count);
    std::fill_n(gains.data() + b * d, d, 0.0);
    for (size_t k = 0; k < candidates.count; ++k) gains[b * d + candidates[k]] = listed[k];
  }
  for (size_t b = 0; b < count; ++b)
    values[b] = found[b].value, drops[b] = found[b].drop, drop_gains[b] = found[b].drop_gain;
  return {values.give(), gains.give(), drops.give(), drop_gains.give()};
}
}  // namespace

void bind_steps(nb::module_& m) {
  nb::class_<Steps>(m, "Steps", "An additive score seen step by step.")
      .def_prop_ro("n_nodes", &Steps::n_nodes)
      .def("expand", &expand, "Return values of parent sets, the gains of additions, the best drops and their gains.");
  nb::class_<ScoreSteps, Steps>(m, "ScoreSteps", "Steps of any score, by a function of Python.")
      .def(nb::init<size_t, nb::callable>());
}
}  // namespace drbo
