// Families of categorical columns that were measured in several experiments, of which some change the node's mechanism.
//
// Experiments outside the changed set S share one table of probabilities; each experiment in S has its own. With L the
// maximised log-likelihood of counts and k the parameters of a table, a family is worth
//   2 L(outside S) - c k ln N + sum over e in S of (2 L_e - c k_e ln n_e - price),
// N the rows outside S. An experiment that joins or leaves the shared counts changes only the cells of its own rows.
#include <nanobind/stl/pair.h>

#include "changed_sets.h"
#include "counts.h"

namespace drbo {
namespace {

struct Data {
  CountedRows rows;
  Ints starts;           // (E + 1,) where the rows of each experiment begin
  Ints2 states;          // (E, d)
  vector<double> sizes;  // (E,) how many rows each has, counted as often as they occur
  double charge, price;
};

// One family: the cell and the configuration of the parents of every row, and the search for S.
class Fit {
 public:
  explicit Fit(const Data& data) : sets(*this, data.sizes.size()), own(data.sizes.size()), data_(data) {}
  ChangedSets<Fit> sets;
  vector<double> own;  // (E,)

  // The worth of a family whose tables have so many parameters.
  double run(int64_t node, const int64_t* parents, size_t count, double parameters, Watch& watch) {
    const CountedRows& rows = data_.rows;
    watch.check(whole(rows.u) * whole(count + 12));
    parameters_ = parameters;
    config_.assign(rows.u, 0), cell_.resize(rows.u);
    int64_t seen = 1;
    for (size_t k = 0; k < count; ++k)
      seen = rows.refine(parents[k], config_.data(), seen, room_, config_.data(), nullptr);
    const int64_t cells = rows.refine(node, config_.data(), seen, room_, cell_.data(), nullptr);
    cells_.assign(cells, 0), configs_.assign(seen, 0), levels_.assign(rows.levels[node], 0);
    for (size_t e = 0; e < own.size(); ++e) {
      sets.state[e] = data_.states[e * rows.n_columns + node];
      own[e] = sets.state[e] == SHARED ? NEVER : own_worth(e, node);
    }
    return sets.best();
  }

  double pool(const vector<uint8_t>& changed) {
    std::fill(cells_.begin(), cells_.end(), 0);
    std::fill(configs_.begin(), configs_.end(), 0);
    shared_ = 0.0, n_ = 0.0;
    for (size_t e = 0; e < changed.size(); ++e)
      if (!changed[e]) shared_ += add(e, 1), n_ += data_.sizes[e];
    return worth(shared_, n_, parameters_);
  }

  double toggled(size_t e, bool joins) {
    const int sign = joins ? 1 : -1;
    const double change = add(e, sign);
    add(e, -sign);
    return worth(shared_ + change, n_ + sign * data_.sizes[e], parameters_);
  }

  void guess(vector<uint8_t>&) const {}  // single changes are cheap

 private:
  double worth(double likelihood, double n, double parameters) const {
    return 2 * likelihood - data_.charge * parameters * std::log(n);
  }

  // Adds the rows of an experiment to the shared counts, or takes them away; returns what that does to the likelihood.
  double add(size_t e, int sign) { return add(e, sign, cell_.data(), cells_) - add(e, sign, config_.data(), configs_); }

  double add(size_t e, int sign, const int32_t* places, vector<int32_t>& counts) const {
    const vector<double>& term = data_.rows.x_log_x;
    double change = 0.0;
    for (int64_t row = data_.starts[e]; row < data_.starts[e + 1]; ++row) {
      int32_t& count = counts[places[row]];
      const double before = term[count];
      count += sign * data_.rows.repeats[row];
      change += term[count] - before;
    }
    return change;
  }

  // What an experiment with a table of its own is worth. A hard change cuts the parents, and so do few rows.
  double own_worth(size_t e, int64_t node) {
    const double n = data_.sizes[e];
    const bool cut = sets.state[e] == HARD || n < 2 * parameters_;
    double likelihood = 0.0;
    if (cut) {
      likelihood = add(e, 1, data_.rows.column(node), levels_) - data_.rows.x_log_x[static_cast<size_t>(n)];
      add(e, -1, data_.rows.column(node), levels_);
    } else {
      likelihood = add(e, 1);
      add(e, -1);
    }
    const double free = sets.state[e] == FREE ? data_.price : 0.0;
    return worth(likelihood, n, cut ? static_cast<double>(levels_.size() - 1) : parameters_) - free;
  }

  const Data& data_;
  double parameters_ = 0.0, shared_ = 0.0, n_ = 0.0;
  vector<int32_t> config_, cell_, room_, cells_, configs_, levels_;
};

// ---- the border ----

using Found = std::pair<Result<double, 1>, Result<bool, 2>>;

Found experiment_counts(const Codes& codes, const Ints& levels, const Ints& repeats, const Ints& first,
                        const Ints2& states, double charge, double price, const Ints& nodes, const Ints& starts,
                        const Ints& members, const Row& parameters, int threads) {
  Data data{CountedRows(codes, levels, repeats), first, states, {}, charge, price};
  const size_t d = data.rows.n_columns, m = nodes.shape(0);
  require(first.shape(0) >= 2 && charge >= 0 && price >= 0, "there must be an experiment, and prices of at least 0");
  const size_t experiments = first.shape(0) - 1;
  require_starts(first, experiments, data.rows.u);
  require_states(states, experiments, d);
  for (size_t e = 0; e < experiments; ++e) {
    data.sizes.push_back(0.0);
    for (int64_t row = first[e]; row < first[e + 1]; ++row) data.sizes[e] += data.rows.repeats[row];
    require(data.sizes[e] > 0, "every experiment must have rows");
  }
  require_starts(starts, m, members.shape(0));
  require_range(nodes.data(), m, 0, whole(d), "nodes");
  require_range(members.data(), members.shape(0), 0, whole(d), "members");
  require_shape({m}, "parameters", parameters);
  Owned<double, 1> values({m});
  Owned<bool, 2> changed({m, experiments});
  in_stretches(whole(m), threads, [&](int64_t from, int64_t to, Watch& watch) {
    Fit fit(data);
    for (int64_t k = from; k < to; ++k) {
      const int64_t start = starts[k];
      values[k] = fit.run(nodes[k], members.data() + start, starts[k + 1] - start, parameters[k], watch);
      std::copy(fit.sets.changed.begin(), fit.sets.changed.end(), changed.data() + k * experiments);
    }
  });
  return {values.give(), changed.give()};
}
}  // namespace

void bind_experiment_counts(nb::module_& m) {
  m.def("experiment_counts", &experiment_counts,
        "Return what families of categories are worth over several experiments, and which of these change each node.");
}
}  // namespace drbo
