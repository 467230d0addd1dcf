// Climbs over node orders with listed families: a node is moved to its best place, each node having the best listed
// family whose parents come before it.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"
#include "listed.h"
#include "stop.h"

namespace drbo {

namespace {

constexpr double NEVER = -std::numeric_limits<double>::infinity();

class KnownClimb {
 public:
  KnownClimb(const ListedFamilies& families, std::int64_t* order, Watch& watch)
      : families_(families), order_(order), watch_(watch), value_(families.d), before_(families.n_words) {
    refresh();
  }

  double total() const { return total_; }

  void climb(const std::int64_t* visits, std::size_t n_visits) {
    for (bool improved = true; improved;) {
      improved = false;
      for (std::size_t visit = 0; visit < n_visits; ++visit) {
        const auto [place, gain] = best_place(visits[visit]);
        if (watch_.over(2 * work_ + 10)) return;
        work_ = 0;
        if (gain > 1e-9 * (1.0 + std::abs(total_))) {
          move(visits[visit], place);
          refresh();
          improved = true;
        }
      }
    }
  }

  // The family of each node; -1: there is none inside its predecessors.
  void families(std::int64_t* chosen) {
    before_.clear();
    for (std::size_t place = 0; place < families_.d; ++place) {
      chosen[order_[place]] = first_inside(order_[place]);
      before_.add(order_[place]);
    }
  }

 private:
  std::int64_t first_inside(std::int64_t node) {
    const std::int64_t row = families_.first_fit(node, before_);
    work_ += row - families_.starts[node];
    return row < families_.starts[node + 1] ? row : -1;
  }

  double share(std::int64_t node) {
    const std::int64_t row = first_inside(node);
    return row >= 0 ? families_.values[row] : NEVER;
  }

  void refresh() {
    before_.clear();
    for (std::size_t place = 0; place < families_.d; ++place) {
      value_[order_[place]] = share(order_[place]);
      before_.add(order_[place]);
    }
    total_ = 0.0;
    for (const double value : value_) total_ += value;
  }

  // Tries every place for a node by swapping it past one neighbour at a time; returns the best one and its gain.
  std::pair<std::int64_t, double> best_place(std::int64_t node) {
    const std::int64_t d = static_cast<std::int64_t>(families_.d);
    std::int64_t here = 0;
    while (order_[here] != node) ++here;
    std::int64_t best = here;
    double best_gain = 0.0;
    for (const int direction : {-1, 1}) {
      before_.clear();  // predecessors of the node at its trial place
      for (std::int64_t k = 0; k < here; ++k) before_.add(order_[k]);
      double shift = 0.0;
      for (std::int64_t place = here + direction; place >= 0 && place < d; place += direction) {
        const std::int64_t other = order_[place];
        if (direction < 0) {
          before_.remove(other);
          before_.add(node);
          shift += share(other) - value_[other];
          before_.remove(node);
        } else {
          shift += share(other) - value_[other];
          before_.add(other);
        }
        const double gain = shift + share(node) - value_[node];
        if (gain > best_gain) best = place, best_gain = gain;
      }
    }
    return {best, best_gain};
  }

  void move(std::int64_t node, std::int64_t place) {
    std::int64_t here = 0;
    while (order_[here] != node) ++here;
    for (const int step = place > here ? 1 : -1; here != place; here += step) order_[here] = order_[here + step];
    order_[place] = node;
  }

  const ListedFamilies& families_;
  std::int64_t* order_;
  Watch& watch_;
  std::vector<double> value_;
  WordSet before_;
  double total_ = 0.0;
  std::int64_t work_ = 0;  // families looked at since the watch was
};

// ---- the border ----

using Ints = In<std::int64_t, 1>;

std::tuple<Result<std::int64_t, 1>, Result<std::int64_t, 1>, double> climb_known(const Ints& order,
                                                                                 const In<std::uint64_t, 2>& words,
                                                                                 const In<double, 1>& shares,
                                                                                 const Ints& starts, const Ints& visits,
                                                                                 const StopFlag* stop) {
  const std::size_t d = order.shape(0);
  const ListedFamilies families = listed_families(words, shares, starts, d);
  require_order(order.data(), d);
  require_range(visits.data(), visits.shape(0), 0, static_cast<std::int64_t>(d), "visits");
  Owned<std::int64_t> found(d), chosen(d);
  std::copy_n(order.data(), d, found.data());
  double total;
  {
    const nb::gil_scoped_release release;
    Watch watch(stop, nullptr, true);
    KnownClimb climb(families, found.data(), watch);
    climb.climb(visits.data(), visits.shape(0));
    climb.families(chosen.data());
    total = climb.total();
  }
  return {found.give({d}), chosen.give({d}), total};
}

}  // namespace

void bind_known_orders(nb::module_& m) {
  m.def(
      "climb_known", &climb_known, "order"_a.noconvert(), "words"_a.noconvert(), "shares"_a.noconvert(),
      "starts"_a.noconvert(), "visits"_a.noconvert(), "stop"_a = nb::none(),
      "Move nodes to their best places until none gains; return the order, each node's family and the sum of shares.");
}

}  // namespace drbo
