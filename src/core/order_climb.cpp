// Climbs over node orders: a node goes to the place where the whole order scores best, until none gains.
//
// Parents are chosen step by step (parent_sets.h). Where a node is passed, those that could take it as a parent, or
// lose it, choose again from what they have (as in FLOP, Wienöbst et al. 2025); when nothing gains any more, every node
// also chooses from scratch. What steps are worth comes from a policy (steps.h): linear, splines, counts, or any score
// that Python computes.
#include <nanobind/stl/optional.h>

#include <numeric>
#include <optional>

#include "parent_sets.h"

namespace drbo {
namespace {

// What a move must gain, and one place more than another that was tried before it: equivalent graphs tie, and rounding,
// which depends on the units of the columns, must not decide between them.
constexpr double LEAST_MOVE = 1e-6;
// No node is taken to be elsewhere.
constexpr int32_t NOBODY = -1;
// Gains held at once while sets are expanded.
constexpr size_t CHUNK_CELLS = size_t{1} << 22;

class OrderClimb {
 public:
  // required: (d, d) edges that every set holds; before: (d, d) before[i, j]: i must come before j.
  OrderClimb(const Steps& steps, const Flags& required, const std::optional<Flags>& before, int threads)
      : steps_(steps), d_(static_cast<int32_t>(steps.n_nodes())), sets_(d_), order_(d_), chosen_(d_), open_(d_),
        watched_(static_cast<size_t>(d_) * d_), on_the_way_(d_), watching_(d_ + 1), watched_for_(d_ + 1, -1) {
    const size_t d = d_;
    if (before) require_shape({d, d}, "before", *before);
    if (before) before_.assign(flags(*before), flags(*before) + d * d);
    std::iota(order_.begin(), order_.end(), 0);
    place_ = order_;
    roots_ = chosen_ = sets_of(required, threads);
  }

  const ParentSets& sets() const { return sets_; }
  const vector<int32_t>& order() const { return order_; }
  const vector<int64_t>& chosen() const { return chosen_; }
  int32_t d() const { return d_; }
  bool repaired() const { return repaired_; }
  void open_all() { std::fill(open_.begin(), open_.end(), 1); }

  // The numbers of the sets of the parents in a DAG (d, d).
  vector<int64_t> sets_of(const Flags& dag, int threads) {
    const size_t d = d_;
    require_shape({d, d}, "the edges", dag);
    vector<int64_t> found;
    for (int32_t node = 0; node < d_; ++node) found.push_back(sets_.add(node, flags(dag) + node, d));
    unlocked([&](const Stop& stop) { expand_new(threads, stop); });
    return found;
  }

  // Without chosen sets, parents are to be chosen from scratch.
  void put(const Ints& order, const std::optional<Ints>& chosen) {
    const size_t d = d_;
    require_shape({d}, "order", order);
    require_order(order.data(), d);
    if (chosen) {
      require_shape({d}, "chosen", *chosen);
      require_range(chosen->data(), d, 0, sets_.n_expanded(), "chosen");
      for (size_t node = 0; node < d; ++node)
        require(sets_[(*chosen)[node]].node == whole(node), "chosen must follow the nodes");
    } else {
      open_all();
    }
    for (size_t at = 0; at < d; ++at) place_[order_[at] = static_cast<int32_t>(order[at])] = static_cast<int32_t>(at);
    chosen_.assign(chosen ? chosen->data() : roots_.data(), (chosen ? chosen->data() : roots_.data()) + d);
  }

  // Moves nodes to their best places until no move gains; not thorough: only nodes near a change are tried.
  // The flag comes from the caller: climbs run in threads, which see no deadline by themselves.
  void climb(const Ints& visits, bool thorough, int threads, const Stop::Byte& flag) {
    require_shape({static_cast<size_t>(d_)}, "visits", visits);
    require_order(visits.data(), d_);
    const Stop stop(flag);
    const nb::gil_scoped_release release;
    Watch watch(stop);
    visits_ = visits.data();
    threads_ = threads;
    stop_ = &stop;
    watch_ = &watch;
    noted_.clear();
    next_visit_ = 0;
    repaired_ = false;
    try {
      if (watch.look()) return;
      repair_all();
      repaired_ = true;
      visit_open();
      for (bool better = thorough; better;) {
        do open_all();
        while (visit_open());  // then a whole round went without a move
        do better = choose_all_from_scratch();
        while (!better && learn_noted());
      }
    } catch (const Stopped&) {
    }
  }

 private:
  // ---- parents ----

  void expand_new(int threads, const Stop& stop) {
    const int64_t most = whole(std::max<size_t>(1, CHUNK_CELLS / d_));
    while (sets_.n_expanded() < sets_.size()) {
      const int64_t first = sets_.n_expanded(), count = std::min(most, sets_.size() - first);
      vector<Family> families(count);
      for (int64_t b = 0; b < count; ++b) families[b] = sets_.family(first + b);
      vector<Worth> found(count);
      vector<double> gains(count * d_);
      steps_.expand_all(families, found.data(), gains.data(), threads, stop);
      for (int64_t b = 0; b < count; ++b) sets_.store(found[b], gains.data() + b * d_);
    }
  }

  // Where a step leads. Unless that is computed at once, notes the step and returns UNKNOWN.
  int64_t learn(int64_t index, int64_t step) {
    const bool at_once = steps_.at_once();
    const int64_t target = sets_.link(index, step, at_once);
    if (target == UNKNOWN || (!at_once && !sets_.is_expanded(target))) {
      if (noted_.size() < static_cast<size_t>(4 * d_ + 16)) noted_.push_back({index, step});
      return UNKNOWN;
    }
    gains_.resize(d_);
    while (!sets_.is_expanded(target)) {
      const Worth worth = steps_.expand(sets_.family(sets_.n_expanded()), gains_.data(), *watch_);
      sets_.store(worth, gains_.data());
    }
    return sets_.connect(index, step, target);
  }

  // Returns whether there were any.
  bool learn_noted() {
    if (noted_.empty()) return false;
    vector<int64_t> targets(noted_.size());
    for (size_t k = 0; k < noted_.size(); ++k) targets[k] = sets_.link(noted_[k].index, noted_[k].step, true);
    expand_new(threads_, *stop_);
    for (size_t k = 0; k < noted_.size(); ++k) sets_.connect(noted_[k].index, noted_[k].step, targets[k]);
    noted_.clear();
    return true;
  }

  // The parent set where the steps from a set end, among nodes placed before limit; moved is taken to be on the other
  // side of the limit. -1: a step must be learned first.
  int64_t choose(int64_t index, int32_t limit, int32_t moved) {
    while (index >= 0) {
      int64_t target = DEAD;
      const int64_t first = sets_[index].first_addition, last = first + sets_[index].n_additions;
      for (int64_t j = first; j < last && target == DEAD; ++j) {
        const Addition addition = sets_.addition(j);
        if ((place_[addition.node] < limit) == (addition.node == moved)) continue;
        target = addition.after == UNKNOWN ? learn(index, j) : addition.after;
      }
      if (target == DEAD) {  // no addition is open
        target = sets_[index].after_drop;
        if (target == UNKNOWN) target = learn(index, DROP);
        if (target == DEAD) return index;
      }
      index = target;
    }
    return index;
  }

  // The choice that follows from a set when another node has come or gone.
  int64_t choose_again(int64_t index, int32_t other, int32_t limit, int32_t moved) {
    const Family family = sets_.family(index);
    if (std::binary_search(family.parents, family.parents + family.size, other)) index = learn(index, FORCED - other);
    return choose(index, limit, moved);
  }

  // ---- the climb ----

  void repair_all() {
    do
      for (int32_t node = 0; node < d_; ++node) {
        watch_->check(100);
        repair(node);
      }
    while (learn_noted());
  }

  // Drops parents that no longer come first, then chooses on.
  void repair(int32_t node) {
    int64_t index = chosen_[node];
    const int32_t limit = place_[node];
    const auto late = [&](int32_t parent) { return place_[parent] >= limit; };
    while (index >= 0) {
      const Family family = sets_.family(index);
      const int32_t* lost = std::find_if(family.parents, family.parents + family.size, late);
      if (lost == family.parents + family.size) break;
      index = learn(index, FORCED - *lost);
    }
    index = choose(index, limit, NOBODY);
    if (index < 0) return;
    if (index != chosen_[node])
      take(node, index);
    else
      watch_set(node, index);
  }

  // Moves open nodes until there are none; returns whether there was a move.
  bool visit_open() {
    bool moved = false;
    for (int32_t idle = 0; idle < d_;) {
      const int32_t node = static_cast<int32_t>(visits_[next_visit_]);
      if (open_[node]) {
        watch_->check(100 + 4 * d_);
        const int32_t best = best_place(node);
        if (learn_noted()) continue;
        open_[node] = 0;
        idle = 0;
        if (best != place_[node]) {
          moved = true;
          move(node, best);
        }
      }
      ++idle;
      if (++next_visit_ == d_) next_visit_ = 0;
    }
    return moved;
  }

  // Returns whether that is better anywhere.
  bool choose_all_from_scratch() {
    bool better = false;
    for (int32_t node = 0; node < d_; ++node) {
      watch_->check(100);
      const int64_t index = choose(roots_[node], place_[node], NOBODY);
      if (index >= 0 && sets_[index].value > sets_[chosen_[node]].value + LEAST_MOVE) {
        take(node, index);
        better = true;
      }
    }
    return better;
  }

  // Gives a node another parent set; it and all parents, old and new, are worth a visit.
  void take(int32_t node, int64_t index) {
    open_[node] = 1;
    for (const int64_t set : {chosen_[node], index}) {
      const Family family = sets_.family(set);
      for (int32_t k = 0; k < family.size; ++k) open_[family.parents[k]] = 1;
    }
    chosen_[node] = index;
    watch_set(node, index);
  }

  // Records the nodes that can change a choice: the members of the set, and those that it would add. The watcher d is
  // the node that moves.
  void watch_set(int32_t watcher, int64_t index) {
    if (watched_for_[watcher] == index) return;
    watched_for_[watcher] = index;
    vector<int32_t>& nodes = watching_[watcher];
    uint8_t* const flag = watcher == d_ ? on_the_way_.data() : watched_.data() + watcher;
    const size_t stride = watcher == d_ ? 1 : d_;
    for (const int32_t node : nodes) flag[node * stride] = 0;
    const ParentSet& set = sets_[index];
    nodes.assign(sets_.members(set), sets_.members(set) + set.n_members);
    for (int64_t k = set.first_addition; k < set.first_addition + set.n_additions; ++k)
      if (sets_.addition(k).after != DEAD) nodes.push_back(sets_.addition(k).node);
    for (const int32_t node : nodes) flag[node * stride] = 1;
  }

  // The place where the order scores best with all other nodes as they are.
  int32_t best_place(int32_t node) {
    const int32_t here = place_[node];
    const auto [low, high] = limits(node);
    const uint8_t* const watchers = watched_.data() + static_cast<size_t>(node) * d_;
    int32_t best = here;
    double best_gain = 0.0;
    const double now = sets_[chosen_[node]].value;
    for (const int32_t direction : {-1, 1}) {
      int64_t own = chosen_[node];
      double passed = 0.0;
      bool known = true;
      watch_set(d_, own);
      for (int32_t at = here + direction; low <= at && at <= high; at += direction) {
        const int32_t other = order_[at];
        if (!(watchers[other] | on_the_way_[other])) continue;
        if (watchers[other]) {  // it gains the node, or loses it
          const int64_t index = choose_again(chosen_[other], node, at, node);
          known = known && index >= 0;
          if (index >= 0) passed += sets_[index].value - sets_[chosen_[other]].value;
        }
        if (own >= 0 && on_the_way_[other]) {
          own = choose_again(own, other, direction < 0 ? at : at + 1, NOBODY);
          if (own >= 0) watch_set(d_, own);
        }
        known = known && own >= 0;
        if (!known) continue;
        const double gain = passed + sets_[own].value - now;
        if (gain > best_gain + LEAST_MOVE) best = at, best_gain = gain;
      }
    }
    return best;
  }

  // The first and last place that a node may take.
  std::pair<int32_t, int32_t> limits(int32_t node) const {
    int32_t low = 0, high = d_ - 1;
    if (!before_.empty())
      for (int32_t place = 0; place < d_; ++place) {
        const size_t other = order_[place];
        if (before_[other * d_ + node]) low = std::max(low, place + 1);
        if (before_[static_cast<size_t>(node) * d_ + other]) high = std::min(high, place - 1);
      }
    return {low, high};
  }

  // Puts a node at its new place and repeats the choices of the trial; all their steps are known.
  void move(int32_t node, int32_t best) {
    const int32_t here = place_[node], step = best > here ? 1 : -1;
    int64_t own = chosen_[node];
    watch_set(d_, own);
    for (int32_t place = here; place != best; place += step) {
      const int32_t other = order_[place + step];
      order_[place] = other;
      place_[other] = place;
      if (!on_the_way_[other]) continue;
      own = choose_again(own, other, place + step, NOBODY);
      watch_set(d_, own);
    }
    order_[best] = node;
    place_[node] = best;
    take(node, own);
    for (int32_t place = here; place != best; place += step) {
      const int32_t other = order_[place];
      if (watched_[static_cast<size_t>(node) * d_ + other])
        take(other, choose_again(chosen_[other], node, place, NOBODY));
    }
  }

  struct Noted {
    int64_t index, step;
  };

  const Steps& steps_;
  int32_t d_;
  vector<uint8_t> before_;
  ParentSets sets_;
  vector<int32_t> order_, place_;
  vector<int64_t> chosen_;            // the parent set of each node
  vector<int64_t> roots_;             // the set that each node starts from: its required parents
  vector<uint8_t> open_;              // nodes worth a visit: something near them changed
  vector<uint8_t> watched_;           // (d, d) watched[w, i]: node w can change the choice of i
  vector<uint8_t> on_the_way_;        // (d,) the same for the node that moves
  vector<vector<int32_t>> watching_;  // the nodes that each one watches
  vector<int64_t> watched_for_;       // the set for which they are watched
  vector<Noted> noted_;               // steps whose end must be learned
  vector<double> gains_;
  bool repaired_ = false;  // every chosen parent comes before its child
  int32_t next_visit_ = 0;
  const int64_t* visits_ = nullptr;  // during a climb
  int threads_ = 1;
  const Stop* stop_ = nullptr;
  Watch* watch_ = nullptr;
};

// The parents of a node, and the nodes that it would add, best first.
Result<int32_t, 1> near(const OrderClimb& self, int64_t node) {
  require_range(&node, 1, 0, self.d(), "node");
  const ParentSet& set = self.sets()[self.chosen()[node]];
  vector<int32_t> nodes(self.sets().members(set), self.sets().members(set) + set.n_members);
  for (int64_t k = set.first_addition; k < set.first_addition + set.n_additions; ++k)
    nodes.push_back(self.sets().addition(k).node);
  return to_numpy(nodes);
}

Result<bool, 2> dag(const OrderClimb& self) {
  const size_t d = self.d();
  Owned<bool, 2> edges({d, d});
  std::fill_n(edges.data(), d * d, false);
  for (size_t node = 0; node < d; ++node) {
    const Family family = self.sets().family(self.chosen()[node]);
    for (int32_t k = 0; k < family.size; ++k) edges[family.parents[k] * d + node] = true;
  }
  return edges.give();
}

Result<double, 1> values(const OrderClimb& self) {
  vector<double> found;
  for (const int64_t index : self.chosen()) found.push_back(self.sets()[index].value);
  return to_numpy(found);
}
}  // namespace

void bind_order_climb(nb::module_& m) {
  constexpr auto move = nb::rv_policy::move;
  nb::class_<OrderClimb>(m, "OrderClimb", "An order, the parents chosen along it, and moves that improve it.")
      .def(nb::init<const Steps&, const Flags&, const std::optional<Flags>&, int>(), "steps"_a, "required"_a,
           "before"_a.none(), "threads"_a, nb::keep_alive<1, 2>())
      .def(
          "adopt", [](OrderClimb& self, const Flags& dag, int threads) { return to_numpy(self.sets_of(dag, threads)); },
          "Return the numbers of the parent sets in a DAG.")
      .def("put", &OrderClimb::put, "order"_a, "chosen"_a.none(),
           "Set an order and its parent sets; without them, parents are to be chosen from scratch.")
      .def("climb", &OrderClimb::climb, "Move nodes to their best places until no move gains, or the flag is set.")
      .def("open_all", &OrderClimb::open_all, "Let the next climb visit every node.")
      .def("near", &near, "Return the parents of a node, and the nodes that it would add, best first.")
      .def_prop_ro("dag", &dag, move, "The chosen parents.")
      .def_prop_ro(
          "order",
          [](const OrderClimb& self) { return to_numpy(vector<int64_t>(self.order().begin(), self.order().end())); },
          move)
      .def_prop_ro(
          "chosen", [](const OrderClimb& self) { return to_numpy(self.chosen()); }, move)
      .def_prop_ro("values", &values, move)
      .def_prop_ro("repaired", &OrderClimb::repaired, "Every chosen parent comes before its child.")
      .def_prop_ro("n_sets", [](const OrderClimb& self) { return self.sets().size(); })
      .def_prop_ro("bytes", [](const OrderClimb& self) { return self.sets().bytes(); });
}
}  // namespace drbo
