// Additive scores seen step by step: what adding a parent to a set, or dropping one, is worth.
//
// A score is a policy of the climb over orders: a class with n_nodes, work and expand. One more score is one more file:
// derive from PricedSteps, list the data as fields, write expand, and add its bind function to module.cpp.
#pragma once

#include "arrays.h"
#include "threads.h"

namespace drbo {

// A node with a parent set.
struct Family {
  std::int32_t node;
  std::int32_t size;
  const std::int32_t* parents;  // sorted
};

struct Worth {
  double value = 0.0;      // of the family itself
  std::int64_t drop = -1;  // the best parent to drop, or -1
  double drop_gain = 0.0;

  void offer_drop(std::int32_t parent, double gain) {
    if (gain > drop_gain) drop = parent, drop_gain = gain;
  }
};

class Steps {
 public:
  virtual ~Steps() = default;
  virtual std::size_t n_nodes() const = 0;

  // Whether a climb computes the end of a step as soon as it meets it: worth it where that takes microseconds.
  // Otherwise steps are noted, and their ends are computed together.
  virtual bool at_once() const { return false; }

  // Writes what each addition gains (d,), 0 or less where there is none; returns the rest.
  virtual Worth expand(const Family& family, double* gains, Watch& watch) const = 0;

  // About how many nanoseconds that takes.
  virtual std::int64_t work(const Family& family) const = 0;

  // The same for many families; the lock of the interpreter has been released.
  virtual void expand_all(const std::vector<Family>& families, Worth* found, double* gains, int threads,
                          const Stop& stop) const {
    constexpr std::int64_t SMALL = 200'000;  // a thread is started for no less
    std::int64_t work_of_all = 0;
    for (const Family& family : families) work_of_all += work(family);
    const int crew = static_cast<int>(std::min<std::int64_t>(threads, work_of_all / SMALL + 1));
    in_stretches(whole(families.size()), crew, stop, [&](std::int64_t first, std::int64_t last, Watch& watch) {
      for (std::int64_t b = first; b < last; ++b) found[b] = expand(families[b], gains + b * n_nodes(), watch);
    });
  }
};

// Scores of data with a price for each edge. Nodes whose rows are the same ones make a group.
class PricedSteps : public Steps {
 public:
  Ints group;        // (d,) which group's data each node has
  Table prices;      // (d, d) prices[j, i]: what the edge i -> j costs
  Flags allowed;     // (d, d) allowed[j, i]: the edge i -> j may be
  Flags required;    // (d, d) required[j, i]: the edge i -> j must be
  Ints max_parents;  // (d,)

  std::size_t n_nodes() const override { return group.shape(0); }

 protected:
  void check_prices(std::size_t groups) const {
    const std::size_t d = n_nodes();
    require(d >= 1, "there must be a node");
    require_range(group.data(), d, 0, whole(groups), "group");
    require_shape({d, d}, "prices, allowed and required", prices, allowed, required);
    require_shape({d}, "max_parents", max_parents);
  }

  double price(std::size_t node, std::size_t parent) const { return prices.data()[node * n_nodes() + parent]; }
  double price(const Family& family) const {
    double total = 0.0;
    for (std::int32_t k = 0; k < family.size; ++k) total += price(family.node, family.parents[k]);
    return total;
  }
  bool may_add(std::size_t node, std::size_t parent) const { return flags(allowed)[node * n_nodes() + parent]; }
  bool may_drop(std::size_t node, std::size_t parent) const { return !flags(required)[node * n_nodes() + parent]; }
  bool has_room(const Family& family) const { return family.size < max_parents.data()[family.node]; }
};

// What some columns leave of all columns, from a matrix of products (size, size): they are eliminated one after the
// other. The residual of column v is v - sum_k coordinates[k, v] q_k, with q_k the part of the k-th of them that those
// before it leave, in unit length.
struct Projection {
  std::vector<double> coordinates;  // (count, size)
  std::vector<double> left;         // (size,) the variance that they leave
  std::vector<double> joint;        // (size,) the covariance with the node that they leave
  double log_det = 0.0;             // of those columns

  // left: the variances. A column that is left no more than collinear has no part.
  void set(const std::int32_t* columns, std::size_t count, std::size_t node, const double* products, double collinear);

  // The weights (k,) of the parents in the regression of a column on them; 0 for a parent that has no part.
  void regress(const Family& family, std::size_t d, std::size_t column, std::vector<double>& weights) const;

  // Solves L' x = y (k,), with L the Cholesky factor of the parents' correlation matrix.
  void solve_back(const Family& family, std::size_t d, const double* y, std::vector<double>& x) const;
};

// The inverse of a lower triangular matrix L (m, m): row i is (e_i - sum_{j<i} L[i, j] row j) / L[i, i], each entry in
// the order of j, and zero where L[i, i] is not above 0. at(i, j): L[i, j].
template <class Entry>
void invert_lower(std::size_t m, const Entry& at, std::vector<double>& inverse) {
  inverse.assign(m * m, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    const double pivot = at(i, i);
    if (!(pivot > 0.0)) continue;
    double* const __restrict row = inverse.data() + i * m;
    for (std::size_t j = 0; j < i; ++j) {
      const double factor = at(i, j);
      const double* const above = inverse.data() + j * m;
      for (std::size_t k = 0; k <= j; ++k) row[k] -= factor * above[k];
    }
    for (std::size_t k = 0; k < i; ++k) row[k] /= pivot;
    row[i] = 1.0 / pivot;
  }
}

}  // namespace drbo
