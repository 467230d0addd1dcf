// Orders of nodes with listed families: a climb to the best order, and Markov chains over orders.
//
// The families of each node are listed, the best or heaviest first. A node may have those whose parents come before it.
#include <nanobind/stl/tuple.h>

#include <optional>

#include "arrays.h"

namespace drbo {
namespace {

// Log weights this far below the best one of a node add nothing.
constexpr double NEGLIGIBLE = 30.0;

struct ListedFamilies {
  size_t d, n_words;
  const uint64_t* words;  // (m, n_words) parent sets: bit i % 64 of word i / 64 is node i
  const double* values;   // (m,) shares, or log weights
  const int64_t* starts;  // (d + 1,) where each node's families begin

  ListedFamilies(const In<uint64_t, 2>& words_, const Row& values_, const Ints& starts_, size_t d_)
      : d(d_), n_words(words_.shape(1)), words(words_.data()), values(values_.data()), starts(starts_.data()) {
    const size_t m = words_.shape(0);
    require(d >= 1 && n_words == (d + 63) / 64, "parent sets must have one bit for each node");
    for (size_t row = 0; row < m && d % 64; ++row)
      require(words[(row + 1) * n_words - 1] >> (d % 64) == 0, "parent sets must hold known nodes alone");
    require_shape({m}, "the values of the families", values_);
    require_starts(starts_, d, m);
  }

  // Whether the empty family is the only one of a node.
  bool is_root(int64_t node) const {
    const uint64_t* first = words + starts[node] * n_words;
    return starts[node + 1] - starts[node] == 1 &&
           std::all_of(first, first + n_words, [](uint64_t word) { return !word; });
  }
};

// An order, and a value of each node that depends on the nodes before it.
class ListedOrder {
 public:
  ListedOrder(const ListedFamilies& families, const int64_t* order, Watch& watch)
      : families_(families), order_(order, order + families.d), value_(families.d), before_(families.n_words),
        watch_(watch) {
    while (n_fixed_ < whole(families.d) && families.is_root(order_[n_fixed_])) ++n_fixed_;
  }

  const vector<int64_t>& order() const { return order_; }

 protected:
  int64_t place_of(int64_t node) const { return std::find(order_.begin(), order_.end(), node) - order_.begin(); }
  void move(int64_t here, int64_t there) {
    const auto at = order_.begin();
    here < there ? std::rotate(at + here, at + here + 1, at + there + 1)
                 : std::rotate(at + there, at + here, at + here + 1);
  }
  void add(int64_t node) { before_[node / 64] |= singleton(node % 64); }
  void remove(int64_t node) { before_[node / 64] &= ~singleton(node % 64); }
  void clear() { std::fill(before_.begin(), before_.end(), 0); }

  // Whether the parents of a family are all in before_.
  bool fits(int64_t row) const {
    const uint64_t* parents = families_.words + row * families_.n_words;
    for (size_t k = 0; k < families_.n_words; ++k)
      if (parents[k] & ~before_[k]) return false;
    return true;
  }

  const ListedFamilies& families_;
  vector<int64_t> order_;
  int64_t n_fixed_ = 0;  // nodes without listed parents that come first: no other node gains by a place before them
  vector<double> value_;
  vector<uint64_t> before_;
  Watch& watch_;
};

// A node goes to its best place, each node having its best listed family.
//
// The family of a node changes only where it loses one of its parents, or gains a member of a better listed family.
class ListedClimb : public ListedOrder {
 public:
  ListedClimb(const ListedFamilies& families, const int64_t* order, Watch& watch)
      : ListedOrder(families, order, watch), chosen_(families.d), better_(families.d * families.n_words),
        own_better_(families.n_words) {
    refresh(0, whole(families.d) - 1);
  }

  double total() const { return total_; }
  const vector<int64_t>& chosen() const { return chosen_; }

  void climb(const Ints& visits) {
    const size_t count = visits.shape(0);
    for (size_t visit = 0, idle = 0; idle < count; ++visit, ++idle) {  // until all in a row gain nothing
      const int64_t node = visits[visit % count], here = place_of(node);
      if (here < n_fixed_) continue;
      const auto [place, gain] = best_place(node, here);
      if (watch_.over(2 * work_ + 10)) return;
      work_ = 0;
      if (gain > 0.0) {
        move(here, place);
        refresh(std::min(here, place), std::max(here, place));
        idle = 0;
      }
    }
  }

 private:
  static bool holds(const uint64_t* words, int64_t node) { return words[node / 64] >> (node % 64) & 1; }
  const uint64_t* parents(int64_t row) const { return families_.words + row * families_.n_words; }
  bool has_parent(int64_t row, int64_t node) const { return row >= 0 && holds(parents(row), node); }
  double share(int64_t row) const { return row >= 0 ? families_.values[row] : NEVER; }

  // The first of a node's families from a row on with parents inside before_; -1: none.
  int64_t first_inside(int64_t node, int64_t first) {
    const int64_t end = families_.starts[node + 1];
    int64_t row = first;
    if (families_.n_words == 1) {
      const uint64_t outside = ~before_[0];
      while (row < end && (families_.words[row] & outside)) ++row;
    } else {
      while (row < end && !fits(row)) ++row;
    }
    work_ += row - first;
    return row < end ? row : -1;
  }
  int64_t first_inside(int64_t node) { return first_inside(node, families_.starts[node]); }

  // Collects the members of the families of a node that are better than one of them; -1: of all.
  void collect_better(int64_t node, int64_t row, uint64_t* members) {
    std::fill_n(members, families_.n_words, 0);
    const int64_t first = families_.starts[node], end = row < 0 ? families_.starts[node + 1] : row;
    for (int64_t k = first; k < end; ++k)
      for (size_t word = 0; word < families_.n_words; ++word) members[word] |= parents(k)[word];
    work_ += end - first;
  }

  // Chooses again for the nodes at places low to high, the only ones with other nodes before them than they had.
  void refresh(int64_t low, int64_t high) {
    clear();
    for (int64_t place = 0; place <= high; ++place) {
      const int64_t node = order_[place];
      if (place >= low) {
        const int64_t row = first_inside(node);
        chosen_[node] = row;
        value_[node] = share(row);
        collect_better(node, row, better_.data() + node * families_.n_words);
      }
      add(node);
    }
    total_ = 0.0;
    for (const double value : value_) total_ += value;
  }

  // Tries every place for a node by swapping it past one neighbour at a time; returns the best one and its gain.
  std::pair<int64_t, double> best_place(int64_t node, int64_t here) {
    int64_t best = here;
    double best_gain = 0.0;
    const double rounding = 1e-9 * (1.0 + std::abs(total_));  // must not decide between places that tie
    for (const int direction : {-1, 1}) {
      clear();  // predecessors of the node at its trial place
      for (int64_t k = 0; k < here; ++k) add(order_[k]);
      double shift = 0.0;
      int64_t own = chosen_[node];
      std::copy_n(better_.data() + node * families_.n_words, families_.n_words, own_better_.data());
      for (int64_t place = here + direction; place >= n_fixed_ && place < whole(families_.d); place += direction) {
        const int64_t other = order_[place];
        if (direction < 0) {
          remove(other);
          if (holds(better_.data() + other * families_.n_words, node)) {
            add(node);
            shift += share(first_inside(other)) - value_[other];
            remove(node);
          }
          if (has_parent(own, other)) own = first_inside(node, own + 1);
        } else {
          if (has_parent(chosen_[other], node)) shift += share(first_inside(other, chosen_[other] + 1)) - value_[other];
          add(other);
          if (holds(own_better_.data(), other)) {
            own = first_inside(node);
            collect_better(node, own, own_better_.data());
          }
        }
        const double gain = shift + share(own) - value_[node];
        if (gain > best_gain + rounding) best = place, best_gain = gain;
      }
    }
    return {best, best_gain};
  }

  vector<int64_t> chosen_;       // the family of each node; -1: there is none inside its predecessors
  vector<uint64_t> better_;      // (d, n_words) the members of the families of each node that are better than its own
  vector<uint64_t> own_better_;  // (n_words,) the same of the node that moves, at its trial place
  double total_ = 0.0;
  int64_t work_ = 0;  // families looked at since the watch was
};

// Edge posteriors (Friedman & Koller 2003): the weight of an order is the product over nodes of the summed weights of
// the families whose parents come before the node. A step moves one node and is taken by the rule of Metropolis.
//
// Chains soon come back to where they were, so that sums of each node are kept, by the nodes before it that matter.
class Chain : public ListedOrder {
 public:
  Chain(const ListedFamilies& families, const int64_t* start, Watch& watch)
      : ListedOrder(families, start, watch), new_(families.d), first_block_(families.d), possible_(families.d),
        sums_(families.d * KEPT) {
    for (size_t node = 0; node < families.d; ++node) list_blocks(node);
    set_values(0, whole(families.d) - 1, value_);
  }

  // How many orders a chain looks at: one every d steps of the second half.
  static size_t samples(size_t steps, size_t d) {
    return steps ? (steps - 1) / d + 1 - ((steps + 1) / 2 + d - 1) / d : 0;
  }

  // Writes these orders, and the mean over them of the probability of each edge. A step has random numbers: the node to
  // move, how far, and one in [0, 1).
  void run(size_t steps, const int64_t* moved, const int64_t* length, const double* uniform, double* edges,
           int64_t* orders) {
    const size_t d = families_.d;
    size_t samples = 0;
    edges_ = edges;
    std::fill_n(edges, d * d, 0.0);
    for (size_t step = 0; step < steps; ++step) {
      take_step(moved[step], length[step], uniform[step]);
      if (2 * step >= steps && step % d == 0) {
        collect();
        orders = std::copy(order_.begin(), order_.end(), orders);
        ++samples;
      }
    }
    for (size_t k = 0; k < sums_.size(); ++k) add_shares(k / KEPT, sums_[k]);
    for (size_t k = 0; k < d * d; ++k) edges[k] /= static_cast<double>(std::max<size_t>(1, samples));
  }

 private:
  // What the families of a node weigh together whose parents are in a set, which the key holds with the node itself.
  struct Sum {
    uint64_t key = 0;
    double value = 0.0;
    int64_t seen = 0;  // how many of the orders that are looked at have it, and are not yet in the edges
  };
  static constexpr int KEPT_BITS = 12;  // of the number of sums of a node
  static constexpr size_t KEPT = size_t{1} << KEPT_BITS;

  void take_step(int64_t node, int64_t length, double uniform) {
    const int64_t here = place_of(node), there = here + length;
    if (std::min(here, there) < n_fixed_ || there >= whole(families_.d)) return;
    const int64_t low = std::min(here, there), high = std::max(here, there);
    move(here, there);
    set_values(low, high, new_);
    double gain = 0.0;
    for (int64_t place = low; place <= high; ++place) gain += new_[order_[place]] - value_[order_[place]];
    if (std::log(uniform) < gain)
      for (int64_t place = low; place <= high; ++place) value_[order_[place]] = new_[order_[place]];
    else
      move(there, here);
  }

  // Notes which families of a node have each other node as a parent, as one bit each, 64 families to a block.
  void list_blocks(size_t node) {
    const size_t d = families_.d, start = families_.starts[node], end = families_.starts[node + 1];
    first_block_[node] = with_.size() / d;
    with_.resize(with_.size() + (end - start + 63) / 64 * d);
    const uint64_t* const empty = std::find(families_.words + start, families_.words + end, 0u);
    const double least = empty < families_.words + end ? families_.values[empty - families_.words] : NEVER;
    for (size_t row = start; row < end && families_.values[row] >= least - NEGLIGIBLE; ++row) {
      uint64_t* with = with_.data() + (first_block_[node] + (row - start) / 64) * d;
      possible_[node] |= families_.words[row];
      for (Set left = families_.words[row]; left; left &= left - 1) with[lowest(left)] |= singleton((row - start) % 64);
    }
  }

  // Fills in the totals of the nodes at places low to high.
  void set_values(int64_t low, int64_t high, vector<double>& value) {
    Set before = 0;
    for (int64_t place = 0; place < low; ++place) before |= singleton(static_cast<int>(order_[place]));
    for (int64_t place = low; place <= high; ++place) {
      const int64_t node = order_[place];
      value[node] = sum_of(node, before).value;
      before |= singleton(static_cast<int>(node));
    }
    watch_.check(high + 10 * (high - low));
  }

  // A sum that takes the place of another one leaves what was seen of that one in the edges.
  Sum& sum_of(int64_t node, Set before) {
    const uint64_t key = (before & possible_[node]) | singleton(static_cast<int>(node));
    Sum& sum = sums_[node * KEPT + (key * 0x9E3779B97F4A7C15 >> (64 - KEPT_BITS))];
    if (sum.key != key) {
      add_shares(static_cast<size_t>(node), sum);
      sum = {key, total(node, key), 0};
    }
    return sum;
  }

  // The log of the summed weight of a node's families with parents inside a set.
  double total(int64_t node, Set before) {
    const int64_t start = families_.starts[node], end = families_.starts[node + 1];
    const Set outside = possible_[node] & ~before;
    double top = NEVER, sum = 0.0;
    int64_t row = start;
    for (; row < end && families_.values[row] >= top - NEGLIGIBLE; row += 64) {
      uint64_t left = end - row < 64 ? singleton(static_cast<int>(end - row)) - 1 : ~uint64_t{0};
      const uint64_t* with = with_.data() + (first_block_[node] + (row - start) / 64) * families_.d;
      for (Set others = outside; others && left; others &= others - 1) left &= ~with[lowest(others)];
      for (; left; left &= left - 1) {
        const double weight = families_.values[row + lowest(left)];
        if (weight < top - NEGLIGIBLE) break;
        if (top == NEVER) top = weight;
        sum += std::exp(weight - top);
      }
    }
    watch_.check((row - start) / 16);
    return sum > 0 ? top + std::log(sum) : NEVER;
  }

  // Takes note of the sums of the order.
  void collect() {
    Set before = 0;
    for (const int64_t node : order_) {
      ++sum_of(node, before).seen;
      before |= singleton(static_cast<int>(node));
    }
  }

  // Adds the shares of a node's families in a sum to its edges, as often as it was seen.
  void add_shares(size_t node, const Sum& sum) {
    if (!sum.seen) return;
    for (int64_t row = families_.starts[node]; row < families_.starts[node + 1]; ++row) {
      if (families_.values[row] < sum.value - NEGLIGIBLE) break;
      watch_.check(4);
      if (!inside(families_.words[row], sum.key)) continue;
      const double share = static_cast<double>(sum.seen) * std::exp(families_.values[row] - sum.value);
      for (Set left = families_.words[row]; left; left &= left - 1) edges_[lowest(left) * families_.d + node] += share;
    }
  }

  double* edges_ = nullptr;  // (d, d)
  vector<double> new_;
  vector<uint64_t> with_;       // (blocks, d) the families of a block that have a node as a parent
  vector<size_t> first_block_;  // (d,) of each node
  vector<Set> possible_;        // (d,) the members of the families that can weigh anything
  vector<Sum> sums_;            // (d, KEPT)
};

std::tuple<Result<int64_t, 1>, Result<int64_t, 1>, double> climb_known(const Ints& order, const In<uint64_t, 2>& words,
                                                                       const Row& shares, const Ints& starts,
                                                                       const Ints& visits) {
  const size_t d = order.shape(0);
  const ListedFamilies families(words, shares, starts, d);
  require_order(order.data(), d);
  require_range(visits.data(), visits.shape(0), 0, whole(d), "visits");
  std::optional<ListedClimb> climb;
  watched([&](Watch& watch) { climb.emplace(families, order.data(), watch).climb(visits); });
  return {to_numpy(climb->order()), to_numpy(climb->chosen()), climb->total()};
}

std::tuple<Result<double, 3>, Result<int64_t, 3>> order_chains(const Ints2& starts, const In<uint64_t, 2>& words,
                                                               const Row& logs, const Ints& bounds, const Ints2& moved,
                                                               const Ints2& length, const Table& uniform, int threads) {
  const size_t chains = starts.shape(0), d = starts.shape(1), steps = moved.shape(1);
  require(d <= 64, "chains are for 64 nodes at most");
  const ListedFamilies families(words, logs, bounds, d);
  require_shape({chains, steps}, "moved, length and uniform", moved, length, uniform);
  require_range(moved.data(), chains * steps, 0, whole(d), "moved");
  require_range(length.data(), chains * steps, -whole(d), whole(d) + 1, "length");
  for (size_t chain = 0; chain < chains; ++chain) require_order(starts.data() + chain * d, d);
  const size_t kept = Chain::samples(steps, d);
  Owned<double, 3> edges({chains, d, d});
  Owned<int64_t, 3> orders({chains, kept, d});
  in_parts(chains, threads, [&](int64_t chain, Watch& watch) {
    const size_t at = chain * steps;
    Chain walk(families, starts.data() + chain * d, watch);
    walk.run(steps, moved.data() + at, length.data() + at, uniform.data() + at, edges.data() + chain * d * d,
             orders.data() + chain * kept * d);
  });
  return {edges.give(), orders.give()};
}
}  // namespace

void bind_listed(nb::module_& m) {
  m.def("climb_known", &climb_known,
        "Move nodes to their best places until none gains; return the order, each node's family and the total.");
  m.def("order_chains", &order_chains,
        "Return the probability of each edge over the orders that each chain saw in its second half, and the orders.");
}
}  // namespace drbo
