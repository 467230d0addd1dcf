// Additive scores seen step by step: what adding a parent to a set, or dropping one, is worth.
//
// A score is a policy of the climb over orders: a class with n_nodes, work and expand. One more score is one more file:
// derive from PricedSteps, list the data as fields, write expand, and add its bind function to module.cpp.
#pragma once

#include "arrays.h"

namespace drbo {

// A node with a parent set.
struct Family {
  int32_t node;
  int32_t size;
  const int32_t* parents;  // sorted
};

// The nodes that may become parents of a node, in rising order.
struct Candidates {
  const int32_t* nodes;  // nullptr: 0, 1, ...
  size_t count;
  int32_t operator[](size_t k) const { return nodes ? nodes[k] : static_cast<int32_t>(k); }
};

struct Worth {
  double value = 0.0;  // of the family itself
  int64_t drop = -1;   // the best parent to drop, or -1
  double drop_gain = 0.0;

  void offer_drop(int32_t parent, double gain) {
    if (gain > drop_gain) drop = parent, drop_gain = gain;
  }
};

class Steps {
 public:
  virtual ~Steps() = default;
  virtual size_t n_nodes() const = 0;

  // Whether a climb computes the end of a step as soon as it meets it: worth it where that takes microseconds.
  // Otherwise steps are noted, and their ends are computed together.
  virtual bool at_once() const { return false; }

  virtual Candidates candidates(int32_t) const { return {nullptr, n_nodes()}; }

  // Writes what the addition of each candidate gains, 0 or less where there is none; returns the rest.
  virtual Worth expand(const Family& family, double* gains, Watch& watch) const = 0;

  // About how many nanoseconds that takes.
  virtual int64_t work(const Family& family) const = 0;

  // The same for many families; the lock of the interpreter has been released.
  virtual void expand_all(const vector<Family>& families, Worth* found, double* gains, int threads,
                          const Stop& stop) const {
    constexpr int64_t SMALL = 200'000;  // a thread is started for no less
    int64_t work_of_all = 0;
    for (const Family& family : families) work_of_all += work(family);
    const int crew = static_cast<int>(std::min<int64_t>(threads, work_of_all / SMALL + 1));
    in_stretches(whole(families.size()), crew, stop, [&](int64_t first, int64_t last, Watch& watch) {
      for (int64_t b = first; b < last; ++b) found[b] = expand(families[b], gains + b * n_nodes(), watch);
    });
  }
};

// Scores of data with a price for each edge. Nodes whose rows are the same ones make a group.
class PricedSteps : public Steps {
 public:
  Ints group;        // (d,) which group's data each node has
  Table prices;      // (d, d) prices[j, i]: what the edge i -> j costs; (d, 1): the same for every i
  Flags allowed;     // (d, d) allowed[j, i]: the edge i -> j may be; (0, 0): every edge may be
  Flags required;    // (d, d) required[j, i]: the edge i -> j must be; (0, 0): none must be
  Ints max_parents;  // (d,)

  size_t n_nodes() const override { return group.shape(0); }

 protected:
  void check_prices(size_t groups) const {
    const size_t d = n_nodes();
    require(d >= 1, "there must be a node");
    require_range(group.data(), d, 0, whole(groups), "group");
    require_shape({d, prices.shape(1) == 1 ? 1 : d}, "prices", prices);
    for (const Flags* edges : {&allowed, &required})
      if (edges->size()) require_shape({d, d}, "allowed and required", *edges);
    require_shape({d}, "max_parents", max_parents);
  }

  double price(size_t node, size_t parent) const {
    return prices[node * prices.shape(1) + (prices.shape(1) == 1 ? 0 : parent)];
  }
  double price(const Family& family) const {
    double total = 0.0;
    for (int32_t k = 0; k < family.size; ++k) total += price(family.node, family.parents[k]);
    return total;
  }
  bool may_add(size_t node, size_t parent) const {
    return allowed.size() ? flags(allowed)[node * n_nodes() + parent] : node != parent;
  }
  bool may_drop(size_t node, size_t parent) const {
    return !required.size() || !flags(required)[node * n_nodes() + parent];
  }
  bool has_room(const Family& family) const { return family.size < max_parents[family.node]; }
};

// What some columns leave of all columns, from a matrix of products (size, size): they are eliminated one after the
// other. The residual of column v is v - sum_k coordinates[k, v] q_k, with q_k the part of the k-th of them that those
// before it leave, in unit length.
struct Projection {
  vector<double> coordinates;  // (count, size)
  vector<double> left;         // (size,) the variance that they leave
  vector<double> joint;        // (size,) the covariance with the node that they leave
  double log_det = 0.0;        // of those columns

  // left: the variances. A column that is left no more than collinear has no part.
  void set(const int32_t* columns, size_t count, size_t node, const double* products, double collinear);
};
}  // namespace drbo
