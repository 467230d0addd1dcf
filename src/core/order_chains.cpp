// Markov chains over node orders: edge posteriors of larger graphs, over listed families (Friedman & Koller 2003).
//
// The weight of an order is the product over nodes of the summed weights of the listed families whose parents come
// before the node. A step moves one node to another place and is taken by the rule of Metropolis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"
#include "bits.h"
#include "listed.h"
#include "threads.h"

namespace drbo {

namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();
// Log weights this far below the best one of a node add nothing.
constexpr double NEGLIGIBLE = 30.0;

// The random numbers of one chain.
struct Draws {
  std::size_t steps;
  const std::int64_t* moved;   // the node to move
  const std::int64_t* length;  // how far
  const double* uniform;
};

class Chain {
 public:
  Chain(const ListedFamilies& families, const std::int64_t* start, Watch& watch)
      : families_(families),
        watch_(watch),
        order_(start, start + families.d),
        other_(families.d),
        value_(families.d),
        new_(families.d),
        before_(families.n_words) {
    set_values(order_, 0, families.d - 1, value_);
  }

  // Writes the mean over the second half of the steps of the probability of each edge.
  void run(const Draws& draws, double* edges) {
    const std::size_t d = families_.d;
    std::size_t samples = 0;
    std::fill_n(edges, d * d, 0.0);
    for (std::size_t step = 0; step < draws.steps; ++step) {
      take_step(draws.moved[step], draws.length[step], draws.uniform[step]);
      if (2 * step >= draws.steps && step % d == 0) {
        collect(edges);
        ++samples;
      }
    }
    for (std::size_t k = 0; k < d * d; ++k) edges[k] /= static_cast<double>(std::max<std::size_t>(1, samples));
  }

 private:
  void take_step(std::int64_t node, std::int64_t length, double uniform) {
    const std::int64_t here = std::find(order_.begin(), order_.end(), node) - order_.begin(), there = here + length;
    if (there < 0 || there >= static_cast<std::int64_t>(families_.d)) return;
    const std::int64_t low = std::min(here, there), high = std::max(here, there), shift = there > here ? 1 : -1;
    other_ = order_;
    for (std::int64_t place = here; place != there; place += shift) other_[place] = order_[place + shift];
    other_[there] = node;
    set_values(other_, low, high, new_);
    double gain = 0.0;
    for (std::int64_t place = low; place <= high; ++place) gain += new_[other_[place]] - value_[other_[place]];
    if (std::log(uniform) < gain) {
      order_.swap(other_);
      for (std::int64_t place = low; place <= high; ++place) value_[order_[place]] = new_[order_[place]];
    }
  }

  // Fills in the totals of the nodes at places low to high.
  void set_values(const std::vector<std::int64_t>& order, std::int64_t low, std::int64_t high,
                  std::vector<double>& value) {
    before_.clear();
    for (std::int64_t place = 0; place <= high; ++place) {
      if (place >= low) value[order[place]] = total(order[place]);
      before_.add(order[place]);
    }
    watch_.check(2 * high);
  }

  // The log of the summed weight of a node's families with parents inside before_.
  double total(std::int64_t node) {
    double top = NEVER, sum = 0.0;
    std::int64_t row = families_.starts[node];
    for (; row < families_.starts[node + 1]; ++row) {
      const double weight = families_.values[row];
      if (weight < top - NEGLIGIBLE) break;
      if (!families_.fits(row, before_)) continue;
      if (top == NEVER) top = weight;
      sum += std::exp(weight - top);
    }
    watch_.check(4 * (row - families_.starts[node]));
    return sum > 0 ? top + std::log(sum) : NEVER;
  }

  // Adds the shares of each node's families to its edges.
  void collect(double* edges) {
    before_.clear();
    for (const std::int64_t node : order_) {
      for (std::int64_t row = families_.starts[node]; row < families_.starts[node + 1]; ++row) {
        if (families_.values[row] < value_[node] - NEGLIGIBLE) break;
        watch_.check(4);
        if (!families_.fits(row, before_)) continue;
        const double share = std::exp(families_.values[row] - value_[node]);
        const std::uint64_t* parents = families_.words + row * families_.n_words;
        for (std::size_t word = 0; word < families_.n_words; ++word)
          for (Set left = parents[word]; left; left &= left - 1)
            edges[(64 * word + lowest(left)) * families_.d + node] += share;
      }
      before_.add(node);
    }
  }

  const ListedFamilies& families_;
  Watch& watch_;
  std::vector<std::int64_t> order_, other_;
  std::vector<double> value_, new_;
  WordSet before_;
};

// ---- the border ----

using Ints2 = In<std::int64_t, 2>;

Result<double, 3> edge_chains(const Ints2& starts, const In<std::uint64_t, 2>& words, const In<double, 1>& logs,
                              const In<std::int64_t, 1>& bounds, const Ints2& moved, const Ints2& length,
                              const In<double, 2>& uniform, int threads, const StopFlag* stop) {
  const std::size_t chains = starts.shape(0), d = starts.shape(1), steps = moved.shape(1);
  const ListedFamilies families = listed_families(words, logs, bounds, d);
  require_shape(moved, "moved", {chains, steps});
  require_shape(length, "length", {chains, steps});
  require_shape(uniform, "uniform", {chains, steps});
  require_range(moved.data(), chains * steps, 0, static_cast<std::int64_t>(d), "moved");
  require_range(length.data(), chains * steps, -static_cast<std::int64_t>(d), static_cast<std::int64_t>(d) + 1,
                "length");
  for (std::size_t row = 0; row < words.shape(0); ++row)
    require(d % 64 == 0 || families.words[(row + 1) * families.n_words - 1] >> (d % 64) == 0,
            "parent sets must hold known nodes alone");
  for (std::size_t chain = 0; chain < chains; ++chain) require_order(starts.data() + chain * d, d);
  Owned<double> edges(chains * d * d);
  {
    const nb::gil_scoped_release release;
    in_parts(static_cast<std::int64_t>(chains), threads, stop, [&](std::int64_t chain, Watch& watch) {
      const std::size_t at = chain * steps;
      Chain walk(families, starts.data() + chain * d, watch);
      walk.run({steps, moved.data() + at, length.data() + at, uniform.data() + at}, edges.data() + chain * d * d);
    });
  }
  return edges.give({chains, d, d});
}

}  // namespace

void bind_order_chains(nb::module_& m) {
  m.def("edge_chains", &edge_chains, "starts"_a.noconvert(), "words"_a.noconvert(), "logs"_a.noconvert(),
        "bounds"_a.noconvert(), "moved"_a.noconvert(), "length"_a.noconvert(), "uniform"_a.noconvert(), "threads"_a = 1,
        "stop"_a = nb::none(),
        "Return the probability of each edge that each chain saw in the second half of its steps.");
}

}  // namespace drbo
