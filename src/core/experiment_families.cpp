// Linear families of a table that was measured in several experiments, of which some change the node's mechanism.
//
// Experiments outside the changed set S share one regression of the node on its parents; each experiment in S has its
// own intercept, weights and variance. All comes from means, covariances and counts per experiment. With
//   g(v) = ln max(v, f) + v / max(v, f) - 1,                f the least variance that can be told from 0,
// which is ln v above f, a family with p parents is worth
//   - N g(shared residual) - c (p + 2) ln N - sum over e in S of (n_e g(own residual) + c (p_e + 2) ln n_e + price),
// N the rows outside S, and S is the best found by exact single changes from "none changed" and "all changed".
//
// With drift r, the intercept of the shared regression has a normal deviation in every experiment, with r times the
// residual variance. The mean of an experiment then counts as n_e / (1 + r n_e) rows, and each experiment outside S
// costs ln(1 + r n_e): the likelihood of that model with the deviations integrated out.
#include <nanobind/stl/pair.h>

#include "changed_sets.h"

namespace drbo {

namespace {

struct Moments {
  In<double, 2> means;         // (E, d)
  In<double, 3> covariances;   // (E, d, d) divided by the rows
  Row rows;                    // (E,)
  Row floors;                  // (d,)
  In<std::int64_t, 2> states;  // (E, d)
  double charge, price, collinear, drift;

  std::size_t experiments() const { return means.shape(0); }
  std::size_t columns() const { return means.shape(1); }
};

// ln of a variance that is at least the floor; what the fit lacks below the floor counts against it.
inline double log_variance(double variance, double floor) {
  const double v = std::max(variance, 0.0), most = std::max(v, floor);
  return std::log(most) + v / most - 1.0;
}

// One family: its moments in every experiment, over (parents..., node), and the search for S.
class Fit {
 public:
  explicit Fit(const Moments& data) : sets(*this, data.experiments()), own(data.experiments()), data_(data) {}
  ChangedSets<Fit> sets;
  std::vector<double> own;  // (E,)

  // The worth of the family.
  double run(std::int64_t node, const std::int64_t* parents, std::size_t count, Watch& watch) {
    gather(node, parents, count);
    watch.check(2 * whole(own.size()) * whole(40 + size_ * size_ * (size_ + 6)));
    return sets.best();
  }

  double pool(const std::vector<std::uint8_t>& changed) {
    shared_.clear(size_);
    for (std::size_t e = 0; e < changed.size(); ++e)
      if (!changed[e]) add(e, 1.0, shared_);
    return shared_worth(shared_);
  }

  double toggled(std::size_t e, bool joins) {
    trial_ = shared_;
    add(e, joins ? 1.0 : -1.0, trial_);
    return shared_worth(trial_);
  }

  // Gives an experiment a mechanism of its own where that is worth more than the shared regression is there.
  void guess(std::vector<std::uint8_t>& changed) {
    const double most = std::max(variance_, floor_);
    const std::size_t last = size_ - 1;
    double intercept = shared_.means[last] / shared_.weight;
    for (std::size_t k = 0; k < last; ++k) intercept -= weights_[k] * (shared_.means[k] / shared_.weight);
    const std::vector<double> weights = weights_;
    for (std::size_t e = 0; e < changed.size(); ++e) {
      const double *matrix = covariance(e), *at = mean(e);
      double shift = at[last] - intercept, spread = matrix[last * size_ + last];
      for (std::size_t i = 0; i < last; ++i) {
        shift -= weights[i] * at[i];
        spread -= 2 * weights[i] * matrix[i * size_ + last];
        for (std::size_t j = 0; j < last; ++j) spread += weights[i] * weights[j] * matrix[i * size_ + j];
      }
      const double steady = steadiness(e);
      const double shared =
          -rows(e) * (std::log(most) + (spread + steady * shift * shift) / most - 1.0) + std::log(steady);
      changed[e] = own[e] > shared;
    }
  }

 private:
  void gather(std::int64_t node, const std::int64_t* parents, std::size_t count) {
    const std::size_t d = data_.columns(), experiments = data_.experiments();
    size_ = count + 1;
    floor_ = data_.floors.data()[node];
    covariance_.resize(experiments * size_ * size_), mean_.resize(experiments * size_);
    work_.resize(size_ * size_), weights_.resize(size_);
    for (std::size_t e = 0; e < experiments; ++e) {
      for (std::size_t i = 0; i < size_; ++i) {
        const std::size_t row = i < count ? parents[i] : node;
        mean_[e * size_ + i] = data_.means.data()[e * d + row];
        for (std::size_t j = 0; j < size_; ++j)
          covariance_[(e * size_ + i) * size_ + j] =
              data_.covariances.data()[(e * d + row) * d + (j < count ? parents[j] : node)];
      }
      sets.state[e] = data_.states.data()[e * d + node];
      own[e] = sets.state[e] == SHARED ? NEVER : own_worth(e);
    }
  }

  double rows(std::size_t e) const { return data_.rows.data()[e]; }
  const double* covariance(std::size_t e) const { return covariance_.data() + e * size_ * size_; }
  const double* mean(std::size_t e) const { return mean_.data() + e * size_; }

  // What an experiment with a mechanism of its own is worth. A hard change cuts the parents, and so do few rows.
  double own_worth(std::size_t e) {
    const double n = rows(e), parameters = size_ + 1.0;
    const bool cut = sets.state[e] == HARD || n < 2 * parameters;
    const double* matrix = covariance(e);
    const double variance = cut ? matrix[size_ * size_ - 1] : residual(matrix);
    return -n * log_variance(variance, floor_) - data_.charge * (cut ? 2.0 : parameters) * std::log(n) -
           (sets.state[e] == FREE ? data_.price : 0.0);
  }

  // Residual variance of the node, and its weights; a parent that others determine gets no weight.
  double residual(const double* matrix) {
    std::copy_n(matrix, size_ * size_, work_.data());
    double* const a = work_.data();
    const std::size_t last = size_ - 1;
    for (std::size_t k = 0; k < last; ++k) {
      const double pivot = a[k * size_ + k], least = data_.collinear * std::max(1.0, matrix[k * size_ + k]);
      if (!(pivot > least)) {
        for (std::size_t j = k; j < size_; ++j) a[k * size_ + j] = 0.0;
        continue;
      }
      for (std::size_t i = k + 1; i < size_; ++i) {
        const double factor = a[k * size_ + i] / pivot;
        for (std::size_t j = i; j < size_; ++j) a[i * size_ + j] -= factor * a[k * size_ + j];
      }
    }
    for (std::size_t k = last; k-- > 0;) {
      double sum = a[k * size_ + last];
      for (std::size_t j = k + 1; j < last; ++j) sum -= a[k * size_ + j] * weights_[j];
      weights_[k] = a[k * size_ + k] > 0 ? sum / a[k * size_ + k] : 0.0;
    }
    return a[size_ * size_ - 1];
  }

  // The variance of the node without parents, as a fit without weights.
  double unexplained() {
    std::fill(weights_.begin(), weights_.end(), 0.0);
    return pooled_.back();
  }

  // Sums over the experiments that share one mechanism.
  struct Sums {
    std::vector<double> products, means;
    double rows = 0.0, weight = 0.0, cost = 0.0;  // weight: of the means, as a number of rows; cost: of their drift

    void clear(std::size_t size) {
      products.assign(size * size, 0.0), means.assign(size, 0.0), rows = weight = cost = 0.0;
    }
  };

  // What a row counts where means are compared: all of it without drift.
  double steadiness(std::size_t e) const { return 1.0 / (1.0 + data_.drift * rows(e)); }

  // Adds an experiment to the shared sums, or with sign -1 takes it away.
  void add(std::size_t e, double sign, Sums& to) const {
    const double n = sign * rows(e), steady = steadiness(e);
    const double *own = covariance(e), *at = mean(e);
    for (std::size_t i = 0; i < size_; ++i) {
      to.means[i] += n * steady * at[i];
      for (std::size_t j = 0; j < size_; ++j)
        to.products[i * size_ + j] += n * (own[i * size_ + j] + steady * at[i] * at[j]);
    }
    to.rows += n, to.weight += n * steady, to.cost -= sign * std::log(steady);
  }

  // What the experiments that share one mechanism are worth, given their sums.
  double shared_worth(const Sums& of) {
    pooled_.resize(size_ * size_);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_; ++j)
        pooled_[i * size_ + j] =
            of.products[i * size_ + j] / of.rows - of.means[i] / of.weight * (of.means[j] / of.rows);
    const bool credited = static_cast<double>(size_) < of.rows;  // with more parents any rows are fitted perfectly
    variance_ = credited ? residual(pooled_.data()) : unexplained();
    return -of.rows * log_variance(variance_, floor_) - data_.charge * (size_ + 1.0) * std::log(of.rows) - of.cost;
  }

  const Moments& data_;
  std::size_t size_ = 0;
  double floor_ = 0.0, variance_ = 0.0;
  std::vector<double> covariance_, mean_, pooled_, work_, weights_;
  Sums shared_, trial_;
};

// ---- the border ----

using Found = std::pair<Result<double, 1>, Result<bool, 2>>;

Found experiment_families(const In<double, 2>& means, const In<double, 3>& covariances, const Row& rows,
                          const Row& floors, const In<std::int64_t, 2>& states, double charge, double price,
                          double collinear, double drift, const Ints& nodes, const Ints& starts, const Ints& members,
                          int threads) {
  const Moments data{means, covariances, rows, floors, states, charge, price, collinear, drift};
  const std::size_t experiments = data.experiments(), d = data.columns(), m = nodes.shape(0);
  require(experiments >= 1 && d >= 1, "there must be an experiment and a column");
  require_shape({experiments, d, d}, "covariances", covariances);
  require_shape({experiments}, "rows", rows);
  require_shape({d}, "floors", floors);
  require_states(states, experiments, d);
  require(collinear > 0 && charge >= 0 && price >= 0 && drift >= 0, "collinear must be above 0, the others at least 0");
  for (std::size_t e = 0; e < experiments; ++e) require(rows.data()[e] > 1, "rows must be above 1");
  for (std::size_t j = 0; j < d; ++j) require(floors.data()[j] > 0, "floors must be above 0");
  require_starts(starts, m, members.shape(0));
  require_range(nodes.data(), m, 0, whole(d), "nodes");
  require_range(members.data(), members.shape(0), 0, whole(d), "members");
  Owned<double, 1> values({m});
  Owned<bool, 2> changed({m, experiments});
  in_stretches(m, threads, [&](std::int64_t first, std::int64_t last, Watch& watch) {
    Fit fit(data);
    for (std::int64_t k = first; k < last; ++k) {
      const std::int64_t start = starts.data()[k];
      values[k] = fit.run(nodes.data()[k], members.data() + start, starts.data()[k + 1] - start, watch);
      std::copy(fit.sets.changed.begin(), fit.sets.changed.end(), changed.data() + k * experiments);
    }
  });
  return {values.give(), changed.give()};
}

}  // namespace

void bind_experiment_families(nb::module_& m) {
  m.def("experiment_families", &experiment_families,
        "Return what linear families are worth over several experiments, and which of these change each node.");
}

}  // namespace drbo
