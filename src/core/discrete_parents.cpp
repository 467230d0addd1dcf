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
#include "counts.h"
#include "kept_sets.h"

namespace drbo {
namespace {

struct Candidates {
  const CountedRows& rows;  // of the m candidates, and last of the node itself
  int m, n_required, most;  // candidates, how many of them are required, parents at most
  const double* weights;    // (m,) what a candidate adds as a parent
  double unit, ess;         // BIC: the price of a configuration; BDeu: the equivalent sample size, else 0
  double log_levels(int j) const { return std::log(rows.cards(j)); }
};

class DiscreteWalk {
 public:
  DiscreteWalk(const Candidates& given, KeptSets& kept)
      : given_(given), rows_(given.rows), kept_(kept), depths_(given.most + 1), trial_(rows_.u), weight_(rows_.u) {
    for (Depth& depth : depths_) depth.cells.resize(rows_.u);
    for (int j = given.n_required; j < given.m; ++j) plus_ += std::max(given.weights[j], 0.0);
  }

  // Returns the sets that were scored, or -1.
  int64_t run(int64_t max_steps, Watch& watch) {
    int64_t steps = 1;
    int k = start();
    while (k >= given_.n_required) {
      Depth& here = depths_[k];
      if (here.next < 0) {  // score the sets with one candidate more, and see which ones may stay candidates
        size_t kept = 0;
        if (k == given_.most) here.options.clear();
        for (const int j : here.options) {
          if (++steps > max_steps || !kept_.has_room(1) || watch.over(10 * whole(rows_.u))) return -1;
          if (try_candidate(k, j)) here.options[kept++] = j;
        }
        here.options.resize(kept);
        here.next = 0;
      }
      if (k + 1 >= given_.most || here.next >= static_cast<int>(here.options.size())) {
        --k;
        continue;
      }
      if (watch.over(10 * whole(rows_.u))) return -1;
      if (descend(k, here.next++)) ++k;
    }
    return steps;
  }

 private:
  struct Depth {
    vector<int32_t> cells;  // of each row
    int64_t n_cells = 1;
    double spread = 0.0;  // the sum of N ln N over the cells
    double log_q = 0.0;   // ln of the configurations that there could be
    double added = 0.0;   // by the members' weights
    double known = 0.0;   // the best share of a subset
    double fit = 0.0;     // the log-likelihood
    Set set = 0;
    vector<int> options;
    int next = -1;  // the option to descend to; -1: they have not been scored
  };

  // Takes in the required candidates and keeps their set.
  int start() {
    const int k = given_.n_required;
    depths_[0].spread = rows_.x_log_x[rows_.total];
    weight_[0] = static_cast<int32_t>(rows_.total);
    for (int j = 0; j < k; ++j) {
      step(depths_[j], j, depths_[j + 1]);
      depths_[j + 1].added = depths_[j].added + given_.weights[j];
      depths_[j + 1].set = depths_[j].set | singleton(j);
    }
    Depth& first = depths_[k];
    first.known = share(first) + first.added;
    kept_.keep(first.set, first.known);
    first.options.resize(given_.m - k);
    std::iota(first.options.begin(), first.options.end(), k);
    return k;
  }

  // Splits the cells of one depth by a candidate into those of another.
  void step(const Depth& from, int j, Depth& to) {
    to.n_cells = refine(from, j, to.cells);
    to.spread = rows_.add(0.0, weight_.data(), to.n_cells, CellTerm(0.0, 0.0), tally_);
    to.log_q = from.log_q + given_.log_levels(j);
  }

  bool try_candidate(int k, int j) {
    const Depth& here = depths_[k];
    Depth& next = depths_[k + 1];
    step(here, j, next);
    if (given_.ess == 0.0) {
      const double gain = 2 * std::min(-here.fit, here.spread - next.spread) + std::max(given_.weights[j], 0.0);
      const double price = given_.unit * std::exp(here.log_q) * (rows_.cards(j) - 1);
      if (gain <= price * (1 - 1e-12)) return false;
    }
    const double value = share(next) + (here.added + given_.weights[j]);
    if (value > here.known && value >= kept_.floor) kept_.keep(here.set | singleton(j), value);
    return true;
  }

  // Goes down to the set with one option more, unless nothing below can be of use.
  bool descend(int k, int place) {
    const Depth& here = depths_[k];
    Depth& next = depths_[k + 1];
    const int j = here.options[place];
    if (place + 1 == static_cast<int>(here.options.size())) return false;
    step(here, j, next);
    const int64_t cells = next.n_cells;
    const double value = share(next) + (here.added + given_.weights[j]);
    next.known = std::max(here.known, value);
    next.added = here.added + given_.weights[j];
    const double price = given_.ess == 0.0 ? 2 * given_.unit * std::exp(next.log_q)
                                           : static_cast<double>(cells) * given_.log_levels(given_.m);
    if (next.added + plus_ - price <= std::max(next.known, kept_.floor)) return false;
    next.options.assign(here.options.begin() + place + 1, here.options.end());
    next.set = here.set | singleton(j);
    next.next = -1;
    return true;
  }

  int64_t refine(const Depth& from, int j, vector<int32_t>& finer) {
    return rows_.refine(j, from.cells.data(), from.n_cells, number_, finer.data(), weight_.data());
  }

  // The share of a depth's set without what its members add; weight_ holds the weights of its cells. Sets fit.
  double share(Depth& depth) {
    const bool evidence = given_.ess > 0;
    const CellTerm term(given_.ess, depth.log_q, evidence ? given_.log_levels(given_.m) : 0.0);
    const CellTerm total(given_.ess, depth.log_q);
    const double spread = evidence ? rows_.add(0.0, weight_.data(), depth.n_cells, total, tally_) : depth.spread;
    const int64_t joint = refine(depth, given_.m, trial_);
    depth.fit = rows_.add(0.0, weight_.data(), joint, term, tally_) - spread;
    return evidence ? depth.fit : 2 * depth.fit - given_.unit * std::exp(depth.log_q);
  }

  const Candidates& given_;
  const CountedRows& rows_;
  KeptSets& kept_;
  double plus_ = 0.0;  // the most that candidates can add by their weights
  vector<Depth> depths_;
  vector<int32_t> trial_, number_, weight_;
  Tally tally_;
};

FoundSets discrete_parent_sets(const Codes& columns, const Ints& levels, const Ints& repeats, int n_required,
                               const Row& weights, int most, double unit, double ess, double floor, bool best_only,
                               int64_t max_steps, int64_t max_sets) {
  const int m = static_cast<int>(weights.shape(0));
  require(m <= 64 && max_sets >= 1, "there must be at most 64 candidates, and room for a set");
  require(0 <= n_required && n_required <= most && most <= m, "most must be in [n_required, m]");
  const CountedRows rows(columns, levels, repeats);
  require_shape({weights.shape(0) + 1, rows.u}, "columns", columns);
  const Candidates given{rows, m, n_required, most, weights.data(), unit, ess};
  KeptSets kept{floor, best_only, max_sets};
  DiscreteWalk walk(given, kept);
  return kept.found([&](Watch& watch) { return walk.run(max_steps, watch); });
}
}  // namespace

void bind_discrete_parents(nb::module_& m) {
  m.def("discrete_parent_sets", &discrete_parent_sets,
        "Return parent sets, their shares and how many sets were scored (-1: too many, or stopped).");
}
}  // namespace drbo
