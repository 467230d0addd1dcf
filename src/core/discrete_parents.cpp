// The parent sets of a categorical node that a best DAG can have, from counts.
//
// Sets are walked depth first, each reached from the one without its last candidate. What is skipped, with all
// supersets:
// - BIC: a candidate that cannot pay. Beside any superset of S it adds at most n min(H(node | S), H(candidate | S)) to
//   the log-likelihood, and its price grows with the set (Correia, Cussens & de Campos 2020).
// - BIC: sets whose price alone is above what a subset of them loses: the log-likelihood is at most 0 (de Campos & Ji
//   2011).
// - BDeu: sets with so many configurations in the data that a subset is better. Whatever comes first in a configuration
//   has probability 1/r, so each costs at least ln r, and supersets have no fewer.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "arrays.h"
#include "bits.h"
#include "counts.h"
#include "special.h"
#include "stop.h"

namespace drbo {

namespace {

struct Candidates {
  int m, n_required, most;  // candidates, how many of them are required, parents at most
  std::size_t rows;
  const std::int32_t* columns;        // (m + 1, rows) levels; the node itself comes last
  const std::int64_t* levels;         // (m + 1,) how many there are
  std::vector<std::int32_t> repeats;  // (rows,) how often each row occurs
  std::int64_t total;
  const double* weights;  // (m,) what a candidate adds as a parent
  double unit, ess;       // BIC: the price of a configuration; BDeu: the equivalent sample size, else 0
  const std::int32_t* column(int j) const { return columns + j * rows; }
  double log_levels(int j) const { return std::log(static_cast<double>(levels[j])); }
};

class DiscreteWalk {
 public:
  std::vector<Set> masks;
  std::vector<double> shares;

  DiscreteWalk(const Candidates& given, double floor, bool best_only)
      : given_(given), floor_(floor), best_only_(best_only), depths_(given.most + 1), trial_(given.rows) {
    const std::int64_t widest = *std::max_element(given.levels, given.levels + given.m + 1);
    number_.resize(given.rows * widest);
    weight_.resize(given.rows);
    x_log_x_.resize(given.total + 1);
    for (std::int64_t x = 1; x <= given.total; ++x)
      x_log_x_[x] = static_cast<double>(x) * std::log(static_cast<double>(x));
    if (given.ess > 0) tally_.resize(given.total + 1);
    for (Depth& depth : depths_) depth.cells.resize(given.rows);
    for (int j = given.n_required; j < given.m; ++j) plus_ += std::max(given.weights[j], 0.0);
  }

  // Returns the sets that were scored, or -1 where there are more than max_steps, max_sets are kept, or it is stopped.
  std::int64_t run(std::int64_t max_steps, std::int64_t max_sets, Watch& watch) {
    std::int64_t steps = 1;
    int k = start();
    while (k >= given_.n_required) {
      Depth& here = depths_[k];
      if (here.next < 0) {  // score the sets with one candidate more, and see which ones may stay candidates
        std::size_t kept = 0;
        if (k == given_.most) here.options.clear();
        for (const int j : here.options) {
          if (++steps > max_steps || static_cast<std::int64_t>(masks.size()) >= max_sets - 1) return -1;
          if (watch.over(10 * static_cast<std::int64_t>(given_.rows))) return -1;
          if (try_candidate(k, j)) here.options[kept++] = j;
        }
        here.options.resize(kept);
        here.next = 0;
      }
      if (k + 1 >= given_.most || here.next >= static_cast<int>(here.options.size())) {
        --k;
        continue;
      }
      if (watch.over(10 * static_cast<std::int64_t>(given_.rows))) return -1;
      if (descend(k, here.next++)) ++k;
    }
    return steps;
  }

 private:
  struct Depth {
    std::vector<std::int32_t> cells;  // of each row
    std::int64_t n_cells = 1;
    double spread = 0.0;  // the sum of N ln N over the cells
    double log_q = 0.0;   // ln of the configurations that there could be
    double added = 0.0;   // by the members' weights
    double known = 0.0;   // the best share of a subset
    double fit = 0.0;     // the log-likelihood
    Set set = 0;
    std::vector<int> options;
    int next = -1;  // the option to descend to; -1: they have not been scored
  };

  // Takes in the required candidates and keeps their set.
  int start() {
    const int k = given_.n_required;
    depths_[0].spread = x_log_x_[given_.total];
    weight_[0] = static_cast<std::int32_t>(given_.total);
    for (int j = 0; j < k; ++j) {
      step(depths_[j], j, depths_[j + 1]);
      depths_[j + 1].added = depths_[j].added + given_.weights[j];
      depths_[j + 1].set = depths_[j].set | singleton(j);
    }
    Depth& first = depths_[k];
    first.known = share(first) + first.added;
    keep(first.set, first.known);
    if (best_only_) floor_ = std::max(floor_, first.known);
    first.options.resize(given_.m - k);
    std::iota(first.options.begin(), first.options.end(), k);
    return k;
  }

  void keep(Set set, double share) {
    if (best_only_) masks.clear(), shares.clear();
    masks.push_back(set);
    shares.push_back(share);
  }

  // Splits the cells of one depth by a candidate into those of another.
  void step(const Depth& from, int j, Depth& to) {
    to.n_cells = refine(from.cells, from.n_cells, j, to.cells);
    to.spread = sum(to.n_cells, std::numeric_limits<double>::infinity());
    to.log_q = from.log_q + given_.log_levels(j);
  }

  bool try_candidate(int k, int j) {
    const Depth& here = depths_[k];
    Depth& next = depths_[k + 1];
    step(here, j, next);
    if (given_.ess == 0.0) {
      const double gain = 2 * std::min(-here.fit, here.spread - next.spread) + std::max(given_.weights[j], 0.0);
      const double price = given_.unit * std::exp(here.log_q) * static_cast<double>(given_.levels[j] - 1);
      if (gain <= price * (1 - 1e-12)) return false;
    }
    const double value = share(next) + (here.added + given_.weights[j]);
    if (value > here.known && value >= floor_) {
      keep(here.set | singleton(j), value);
      if (best_only_) floor_ = value;
    }
    return true;
  }

  // Goes down to the set with one option more, unless nothing below can be of use.
  bool descend(int k, int place) {
    const Depth& here = depths_[k];
    Depth& next = depths_[k + 1];
    const int j = here.options[place];
    if (place + 1 == static_cast<int>(here.options.size())) return false;
    step(here, j, next);
    const std::int64_t cells = next.n_cells;
    const double value = share(next) + (here.added + given_.weights[j]);
    next.known = std::max(here.known, value);
    next.added = here.added + given_.weights[j];
    const double price = given_.ess == 0.0 ? 2 * given_.unit * std::exp(next.log_q)
                                           : static_cast<double>(cells) * given_.log_levels(given_.m);
    if (next.added + plus_ - price <= std::max(next.known, floor_)) return false;
    next.options.assign(here.options.begin() + place + 1, here.options.end());
    next.set = here.set | singleton(j);
    next.next = -1;
    return true;
  }

  std::int64_t refine(const std::vector<std::int32_t>& cells, std::int64_t n_cells, int j,
                      std::vector<std::int32_t>& finer) {
    return refine_cells(cells.data(), n_cells, given_.column(j), static_cast<std::int32_t>(given_.levels[j]),
                        given_.rows, number_.data(), finer.data(), given_.repeats.data(), weight_.data());
  }

  // The sum over cells of N ln N, or with a finite log_a of lnG(N + a) - lnG(a).
  double sum(std::int64_t count, double log_a) {
    double total = 0.0;
    if (std::isinf(log_a)) {
      for (std::int64_t cell = 0; cell < count; ++cell) total += x_log_x_[weight_[cell]];
      return total;
    }
    const double a = std::exp(log_a), offset = log_a - log_gamma(1.0 + a);
    touched_.clear();
    for (std::int64_t cell = 0; cell < count; ++cell)
      if (tally_[weight_[cell]]++ == 0) touched_.push_back(weight_[cell]);
    for (const std::int32_t weight : touched_) {
      total += static_cast<double>(tally_[weight]) * (log_gamma(static_cast<double>(weight) + a) + offset);
      tally_[weight] = 0;
    }
    return total;
  }

  // The share of a depth's set without what its members add; weight_ holds the weights of its cells. Sets fit.
  double share(Depth& depth) {
    double log_a = std::numeric_limits<double>::infinity(), spread = depth.spread;
    if (given_.ess > 0) {
      log_a = std::log(given_.ess) - depth.log_q;
      spread = sum(depth.n_cells, log_a);
      log_a -= given_.log_levels(given_.m);
    }
    const std::int64_t joint = refine(depth.cells, depth.n_cells, given_.m, trial_);
    depth.fit = sum(joint, log_a) - spread;
    return given_.ess > 0 ? depth.fit : 2 * depth.fit - given_.unit * std::exp(depth.log_q);
  }

  const Candidates& given_;
  double floor_;
  bool best_only_;
  double plus_ = 0.0;  // the most that candidates can add by their weights
  std::vector<Depth> depths_;
  std::vector<std::int32_t> trial_, number_, weight_, tally_, touched_;
  std::vector<double> x_log_x_;
};

// ---- the border ----

std::tuple<Result<std::uint64_t, 1>, Result<double, 1>, std::int64_t> discrete_parent_sets(
    const In<std::int32_t, 2>& columns, const In<std::int64_t, 1>& levels, const In<std::int64_t, 1>& repeats,
    int n_required, const In<double, 1>& weights, int most, double unit, double ess, double floor, bool best_only,
    std::int64_t max_steps, std::int64_t max_sets, const StopFlag* stop) {
  const std::size_t m = weights.shape(0), rows = columns.shape(1);
  require(m <= 64 && rows >= 1, "there must be rows, and at most 64 candidates");
  require(0 <= n_required && n_required <= most && most <= static_cast<int>(m), "most must be in [n_required, m]");
  require(max_sets >= 1, "max_sets must be at least 1");
  require_shape(columns, "columns", {m + 1, rows});
  require_shape(levels, "levels", {m + 1});
  require_shape(repeats, "repeats", {rows});
  require_range(levels.data(), m + 1, 1, MOST_ROWS, "levels");
  require_range(repeats.data(), rows, 1, MOST_ROWS, "repeats");
  for (std::size_t j = 0; j <= m; ++j) require_range(columns.data() + j * rows, rows, 0, levels.data()[j], "a level");
  Candidates given{static_cast<int>(m), n_required, most, rows, columns.data(), levels.data(), {}, 0,
                   weights.data(),      unit,       ess};
  given.repeats.assign(repeats.data(), repeats.data() + rows);
  for (std::size_t row = 0; row < rows; ++row) given.total += given.repeats[row];
  require(given.total < MOST_ROWS, "there are too many rows");
  DiscreteWalk walk(given, floor, best_only);
  std::int64_t steps;
  {
    const nb::gil_scoped_release release;
    Watch watch(stop, nullptr, true);
    steps = walk.run(max_steps, max_sets, watch);
  }
  return {to_numpy(walk.masks), to_numpy(walk.shares), steps};
}

}  // namespace

void bind_discrete_parents(nb::module_& m) {
  m.def("discrete_parent_sets", &discrete_parent_sets, "columns"_a.noconvert(), "levels"_a.noconvert(),
        "repeats"_a.noconvert(), "n_required"_a, "weights"_a.noconvert(), "most"_a, "unit"_a, "ess"_a, "floor"_a,
        "best_only"_a, "max_steps"_a, "max_sets"_a, "stop"_a = nb::none(),
        "Return parent sets, their shares and how many sets were scored (-1: too many, or stopped).");
}

}  // namespace drbo
