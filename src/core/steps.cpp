// Steps seen from Python, and steps of any score that Python computes.
#include "steps.h"

#include <nanobind/stl/tuple.h>

#include "arrays.h"

namespace drbo {

namespace {

using Ints = In<std::int64_t, 1>;
using Found = std::tuple<In<double, 1>, In<double, 2>, Ints, In<double, 1>>;

// Asks a Python function expand(nodes, parents, sizes) for values, gains of additions, drops and gains of drops.
class ScoreSteps final : public Steps {
 public:
  ScoreSteps(std::size_t n_nodes, nb::callable expand) : n_nodes_(n_nodes), expand_(std::move(expand)) {
    require(n_nodes >= 1, "there must be a node");
  }
  std::size_t n_nodes() const override { return n_nodes_; }
  std::int64_t work(const Family&) const override { return 0; }

  Worth expand(const Family& family, double* gains, Watch&) const override {
    Worth found;
    expand_all({family}, &found, gains, 1, nullptr);
    return found;
  }

  void expand_all(const std::vector<Family>& families, Worth* found, double* gains, int,
                  const StopFlag*) const override {
    const nb::gil_scoped_acquire lock;
    const std::size_t count = families.size();
    std::size_t width = 1;
    for (const Family& family : families) width = std::max<std::size_t>(width, family.size);
    Owned<std::int64_t> nodes(count), parents(count * width), sizes(count);
    std::fill_n(parents.data(), count * width, -1);
    for (std::size_t b = 0; b < count; ++b) {
      nodes[b] = families[b].node;
      sizes[b] = families[b].size;
      std::copy_n(families[b].parents, families[b].size, parents.data() + b * width);
    }
    const nb::object answer = expand_(nodes.give({count}), parents.give({count, width}), sizes.give({count}));
    const auto [values, additions, drops, drop_gains] = nb::cast<Found>(answer);
    require_shape(values, "values", {count});
    require_shape(additions, "additions", {count, n_nodes_});
    require_shape(drops, "drops", {count});
    require_shape(drop_gains, "drop_gains", {count});
    require_range(drops.data(), count, -1, static_cast<std::int64_t>(n_nodes_), "drops");
    std::copy_n(additions.data(), count * n_nodes_, gains);
    for (std::size_t b = 0; b < count; ++b) found[b] = {values.data()[b], drops.data()[b], drop_gains.data()[b]};
  }

 private:
  std::size_t n_nodes_;
  nb::callable expand_;
};

using Answer = std::tuple<Result<double, 1>, Result<double, 2>, Result<std::int64_t, 1>, Result<double, 1>>;

Answer expand(const Steps& self, const Ints& nodes, const In<std::int64_t, 2>& parents, const Ints& sizes, int threads,
              const StopFlag* stop) {
  const std::size_t count = nodes.shape(0), width = parents.shape(1), d = self.n_nodes();
  const std::int64_t most = static_cast<std::int64_t>(std::min(width, d - 1));
  require_shape(parents, "parents", {count, width});
  require_shape(sizes, "sizes", {count});
  require_range(nodes.data(), count, 0, static_cast<std::int64_t>(d), "nodes");
  require_range(sizes.data(), count, 0, most + 1, "sizes");
  std::vector<std::int32_t> members(parents.data(), parents.data() + count * width);
  std::vector<Family> families(count);
  for (std::size_t b = 0; b < count; ++b) {
    const std::int32_t* row = members.data() + b * width;
    const std::int32_t node = static_cast<std::int32_t>(nodes.data()[b]),
                       size = static_cast<std::int32_t>(sizes.data()[b]);
    require_range(parents.data() + b * width, size, 0, static_cast<std::int64_t>(d), "parents");
    require(std::adjacent_find(row, row + size, std::greater_equal<>()) == row + size, "parents must rise");
    require(!std::binary_search(row, row + size, node), "no node is its own parent");
    families[b] = {node, size, row};
  }
  std::vector<Worth> found(count);
  Owned<double> values(count), gains(count * d), drop_gains(count);
  Owned<std::int64_t> drops(count);
  {
    const nb::gil_scoped_release release;
    self.expand_all(families, found.data(), gains.data(), threads, stop);
  }
  for (std::size_t b = 0; b < count; ++b) {
    values[b] = found[b].value;
    drops[b] = found[b].drop;
    drop_gains[b] = found[b].drop_gain;
  }
  return {values.give({count}), gains.give({count, d}), drops.give({count}), drop_gains.give({count})};
}

}  // namespace

void bind_steps(nb::module_& m) {
  nb::class_<Steps>(m, "Steps", "An additive score seen step by step.")
      .def_prop_ro("n_nodes", &Steps::n_nodes)
      .def("expand", &expand, "nodes"_a.noconvert(), "parents"_a.noconvert(), "sizes"_a.noconvert(), "threads"_a = 1,
           "stop"_a = nb::none(),
           "Return the values of parent sets, the gains of additions, the best drops, and their gains.");
  nb::class_<ScoreSteps, Steps>(m, "ScoreSteps", "Steps of any score, by a function of Python.")
      .def(nb::init<std::size_t, nb::callable>(), "n_nodes"_a, "expand"_a);
}

}  // namespace drbo
