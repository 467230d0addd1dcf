// Climbs over node orders: a node goes to the place where the whole order scores best, until none gains.
//
// Parents are chosen step by step (parent_sets.h). Where a node is passed, those that could take it as a parent, or
// lose it, choose again from what they have (as in FLOP, Wienöbst et al. 2025); when nothing gains any more, every node
// also chooses from scratch. What steps are worth comes from a policy (steps.h): linear, splines, counts, or any score
// that Python computes.
#include <nanobind/stl/optional.h>

#include <deque>
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
// Nodes that are shaken together, at most, and the random numbers that a shaking takes: the node, how many go with it,
// which ones, and where all of them go.
constexpr int32_t SHAKEN = 3;
constexpr size_t DRAWS = 2 * SHAKEN + 1;

class OrderClimb {
 public:
  // required: (d, d) edges that every set holds; before: (d, d) before[i, j]: i must come before j.
  OrderClimb(const Steps& steps, const Flags& required, const std::optional<Flags>& before, int threads)
      : steps_(steps), d_(static_cast<int32_t>(steps.n_nodes())), sets_(d_), order_(d_), chosen_(d_), open_(d_),
        n_words_((d_ + 63) / 64), watched_(d_ * n_words_), on_the_way_(n_words_), stops_(n_words_), watching_(d_ + 1),
        watched_for_(d_ + 1, -1), is_changed_(d_) {
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

  // The parents of a node, and the nodes that it would add, best first.
  vector<int32_t> near_to(int64_t node) const {
    const ParentSet& set = sets_[chosen_[node]];
    vector<int32_t> nodes(sets_.members(set), sets_.members(set) + set.n_members);
    for (int64_t k = set.first_addition; k < set.first_addition + set.n_additions; ++k)
      nodes.push_back(sets_.addition(k).node);
    return nodes;
  }

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
    }
    repaired_ = false;
    forget_changes();
    for (size_t at = 0; at < d; ++at) place_[order_[at] = static_cast<int32_t>(order[at])] = static_cast<int32_t>(at);
    chosen_.assign(chosen ? chosen->data() : roots_.data(), (chosen ? chosen->data() : roots_.data()) + d);
  }

  // Moves nodes to their best places until no move gains. The flag comes from the caller: climbs run in threads, which
  // see no deadline by themselves.
  void climb(const Ints& visits, int threads, const StopFlag& flag) {
    require_shape({static_cast<size_t>(d_)}, "visits", visits);
    require_order(visits.data(), d_);
    repaired_ = false;
    forget_changes();
    run(threads, flag, [&] {
      repair_all();
      do do
          open_in_turn(visits);
        while (visit_open());  // then a whole round went without a move
      while (choose_better());
    });
  }

  // Moves a few nodes that matter to each other to random places, climbs near what changed, and takes it all back where
  // the order scores lower by more than the tolerance; once for each row of draws (m, DRAWS) from [0, 1). An end
  // by the flag leaves the order as it was before the shaking under way.
  void shake(const Table& draws, double tolerance, int threads, const StopFlag& flag) {
    require_shape({draws.shape(0), DRAWS}, "draws", draws);
    for (size_t k = 0; k < draws.shape(0) * DRAWS; ++k)
      require(draws[k] >= 0.0 && draws[k] < 1.0, "draws must be in [0, 1)");
    forget_changes();
    const auto shake_all = [&] {
      if (!repaired_) repair_all();
      forget_changes();
      for (size_t row = 0; row < draws.shape(0); ++row) {
        watch_->check(100);
        displace(draws.data() + row * DRAWS);
        visit_open();
        if (gain_of_changes() < -tolerance)
          take_back();
        else
          forget_changes();
      }
    };
    try {
      run(threads, flag, shake_all);
    } catch (...) {  // Python's score, or an interrupt
      take_back();
      throw;
    }
    take_back();
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
      for (int64_t b = 0; b < count; ++b)
        sets_.store(found[b], gains.data() + b * d_, steps_.candidates(families[b].node));
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
      const Family family = sets_.family(sets_.n_expanded());
      sets_.store(steps_.expand(family, gains_.data(), *watch_), gains_.data(), steps_.candidates(family.node));
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

  // Runs work until it is done or the flag is set.
  template <class Work>
  void run(int threads, const StopFlag& flag, const Work& work) {
    const Stop stop(flag);
    const nb::gil_scoped_release release;
    Watch watch(stop);
    threads_ = threads;
    stop_ = &stop;
    watch_ = &watch;
    noted_.clear();
    for (; !waiting_.empty(); waiting_.pop_front()) open_[waiting_.front()] = 0;  // of one that was stopped
    try {
      if (!watch.look()) work();
    } catch (const Stopped&) {
    }
  }

  void open(int32_t node) {
    if (open_[node]) return;
    open_[node] = 1;
    waiting_.push_back(node);
  }

  void open_in_turn(const Ints& visits) {
    for (int32_t k = 0; k < d_; ++k) open(static_cast<int32_t>(visits[k]));
  }

  void repair_all() {
    repaired_ = false;
    do
      for (int32_t node = 0; node < d_; ++node) {
        watch_->check(100);
        repair(node);
      }
    while (learn_noted());
    repaired_ = true;
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
    while (!waiting_.empty()) {
      const int32_t node = waiting_.front();
      watch_->check(100 + d_ / 16);
      const int32_t best = best_place(node);
      if (learn_noted()) continue;
      waiting_.pop_front();
      open_[node] = 0;
      if (best == place_[node]) continue;
      moved = true;
      move(node, best);
    }
    return moved;
  }

  // Lets every node choose its parents from scratch; returns whether that is better anywhere.
  bool choose_better() {
    bool better = false;
    do
      for (int32_t node = 0; node < d_; ++node) {
        watch_->check(100);
        const int64_t index = choose(roots_[node], place_[node], NOBODY);
        if (index >= 0 && sets_[index].value > sets_[chosen_[node]].value + LEAST_MOVE) {
          take(node, index);
          better = true;
        }
      }
    while (!better && learn_noted());
    return better;
  }

  // ---- shaking ----

  // Puts a node and some that matter to it at random places between them, and lets those choose again that see it.
  void displace(const double* draw) {
    const auto pick = [](double share, size_t count) {
      return static_cast<size_t>(share * static_cast<double>(count));
    };
    moved_.assign(1, static_cast<int32_t>(pick(draw[0], d_)));
    vector<int32_t> near = near_to(moved_[0]);
    const size_t count = std::min(near.size(), 1 + pick(draw[1], SHAKEN - 1));
    for (size_t k = 0; k < count; ++k) {
      std::swap(near[k], near[k + pick(draw[2 + k], near.size() - k)]);
      moved_.push_back(near[k]);
    }
    int32_t low = d_, high = -1;
    for (const int32_t node : moved_) low = std::min(low, place_[node]), high = std::max(high, place_[node]);
    for (size_t k = 0; k < moved_.size(); ++k) {
      const auto [first, last] = limits(moved_[k]);
      const int32_t to = low + static_cast<int32_t>(pick(draw[1 + SHAKEN + k], high - low + 1));
      if (first <= last)
        relocate(moved_[k], std::clamp(to, first, last));  // else what must come first contradicts itself
    }
    near = moved_;
    for (const int32_t node : moved_)
      each(watched_.data() + node * n_words_, 0, d_ - 1, 1, [&](int32_t watcher) { near.push_back(watcher); });
    do
      for (const int32_t node : near) repair(node);
    while (learn_noted());
  }

  double gain_of_changes() const {
    double gain = 0.0;
    for (const auto& [node, before] : changes_) gain += sets_[chosen_[node]].value - sets_[before].value;
    return gain;
  }

  void forget_changes() {
    for (const auto& [node, before] : changes_) is_changed_[node] = 0;
    changes_.clear();
    relocations_.clear();
  }

  // Restores the order and the parent sets as they were when changes were last forgotten.
  void take_back() {
    while (!relocations_.empty()) {
      const auto [node, from] = relocations_.back();
      relocate(node, from);
      relocations_.resize(relocations_.size() - 2);  // this one and its way back
    }
    for (const auto& [node, before] : changes_) {
      chosen_[node] = before;
      watch_set(node, before);
    }
    forget_changes();
  }

  // Puts a node at another place; those between move up.
  void relocate(int32_t node, int32_t to) {
    const int32_t here = place_[node], step = to > here ? 1 : -1;
    relocations_.push_back({node, here});
    for (int32_t place = here; place != to; place += step) place_[order_[place] = order_[place + step]] = place;
    place_[order_[to] = node] = to;
  }

  // ---- places and parents ----

  // Gives a node another parent set; it and all parents, old and new, are worth a visit.
  void take(int32_t node, int64_t index) {
    open(node);
    for (const int64_t set : {chosen_[node], index}) {
      const Family family = sets_.family(set);
      for (int32_t k = 0; k < family.size; ++k) open(family.parents[k]);
    }
    if (!is_changed_[node]) changes_.push_back({node, chosen_[node]});
    is_changed_[node] = 1;
    chosen_[node] = index;
    watch_set(node, index);
  }

  // Records the nodes that can change a choice: the members of the set, and those that it would add. The watcher d is
  // the node that moves.
  void watch_set(int32_t watcher, int64_t index) {
    if (watched_for_[watcher] == index) return;
    watched_for_[watcher] = index;
    vector<int32_t>& nodes = watching_[watcher];
    const auto flip = [&](int32_t node) {
      (watcher == d_ ? on_the_way_[node / 64] : watched_[node * n_words_ + watcher / 64]) ^=
          singleton((watcher == d_ ? node : watcher) % 64);
    };
    for (const int32_t node : nodes) flip(node);
    const ParentSet& set = sets_[index];
    nodes.assign(sets_.members(set), sets_.members(set) + set.n_members);
    for (int64_t k = set.first_addition; k < set.first_addition + set.n_additions; ++k)
      if (sets_.addition(k).after != DEAD) nodes.push_back(sets_.addition(k).node);
    for (const int32_t node : nodes) flip(node);
  }

  // The place where the order scores best with all other nodes as they are.
  int32_t best_place(int32_t node) {
    const int32_t here = place_[node];
    const auto [low, high] = limits(node);
    const uint64_t* const watchers = watched_.data() + node * n_words_;
    int32_t best = here;
    double best_gain = 0.0;
    const double now = sets_[chosen_[node]].value;
    const auto stop_at = [&](int32_t other) { stops_[place_[other] / 64] |= singleton(place_[other] % 64); };
    each(watchers, 0, d_ - 1, 1, stop_at);
    for (const int32_t direction : {-1, 1}) {
      int64_t own = chosen_[node];
      double passed = 0.0;
      bool known = true;
      const auto follow = [&] {
        watch_set(d_, own);
        for (const int32_t other : watching_[d_]) stop_at(other);
      };
      follow();
      each(stops_.data(), direction < 0 ? low : here + 1, direction < 0 ? here - 1 : high, direction, [&](int32_t at) {
        const int32_t other = order_[at];
        const bool watches = is_in(watchers, other), is_met = is_in(on_the_way_.data(), other);
        if (!watches && !is_met) return;
        if (watches) {  // it gains the node, or loses it
          const int64_t index = choose_again(chosen_[other], node, at, node);
          known = known && index >= 0;
          if (index >= 0) passed += sets_[index].value - sets_[chosen_[other]].value;
        }
        if (own >= 0 && is_met) {
          own = choose_again(own, other, direction < 0 ? at : at + 1, NOBODY);
          if (own >= 0) follow();
        }
        known = known && own >= 0;
        if (!known) return;
        const double gain = passed + sets_[own].value - now;
        if (gain > best_gain + LEAST_MOVE) best = at, best_gain = gain;
      });
    }
    std::fill(stops_.begin(), stops_.end(), 0);
    return best;
  }

  static bool is_in(const uint64_t* words, int32_t number) { return holds(words[number / 64], number % 64); }

  // Calls act with the numbers from low to high in a set that may grow meanwhile, in rising order, or falling.
  template <class Act>
  static void each(const uint64_t* words, int32_t low, int32_t high, int32_t direction, const Act& act) {
    int32_t at = direction > 0 ? low : high;
    while (low <= at && at <= high) {
      const int32_t bit = at % 64;
      const Set left = direction > 0 ? words[at / 64] & (~Set{0} << bit) : words[at / 64] & (~Set{0} >> (63 - bit));
      if (left == 0) {
        at = direction > 0 ? at - bit + 64 : at - bit - 1;
        continue;
      }
      at = at - bit + (direction > 0 ? lowest(left) : highest(left));
      if (low <= at && at <= high) act(at);
      at += direction;
    }
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
    for (int32_t place = here + step; place != best + step; place += step) {
      const int32_t other = order_[place];
      if (!is_in(on_the_way_.data(), other)) continue;
      own = choose_again(own, other, place + (step > 0), NOBODY);
      watch_set(d_, own);
    }
    relocate(node, best);
    take(node, own);
    for (int32_t place = here; place != best; place += step) {
      const int32_t other = order_[place];
      if (is_in(watched_.data() + node * n_words_, other))
        take(other, choose_again(chosen_[other], node, place, NOBODY));
    }
  }

  struct Noted {
    int64_t index, step;
  };
  struct Change {
    int32_t node;
    int64_t before;  // its parent set
  };
  struct Relocation {
    int32_t node, from;
  };

  const Steps& steps_;
  int32_t d_;
  vector<uint8_t> before_;
  ParentSets sets_;
  vector<int32_t> order_, place_;
  vector<int64_t> chosen_;            // the parent set of each node
  vector<int64_t> roots_;             // the set that each node starts from: its required parents
  vector<uint8_t> open_;              // nodes worth a visit: something near them changed
  std::deque<int32_t> waiting_;       // the same in the order of their visits
  size_t n_words_;                    // of a set of nodes or places
  vector<uint64_t> watched_;          // (d, words) watched[w, i]: node w can change the choice of i
  vector<uint64_t> on_the_way_;       // (words,) the same for the node that moves
  vector<uint64_t> stops_;            // (words,) places where a move may change something
  vector<vector<int32_t>> watching_;  // the nodes that each one watches
  vector<int64_t> watched_for_;       // the set for which they are watched
  vector<Change> changes_;            // since they were last forgotten
  vector<uint8_t> is_changed_;        // (d,)
  vector<Relocation> relocations_;    // the same
  vector<int32_t> moved_;             // by a shaking
  vector<Noted> noted_;               // steps whose end must be learned
  vector<double> gains_;
  bool repaired_ = false;  // every chosen parent comes before its child
  int threads_ = 1;        // during a climb
  const Stop* stop_ = nullptr;
  Watch* watch_ = nullptr;
};

Result<int32_t, 1> near(const OrderClimb& self, int64_t node) {
  require_range(&node, 1, 0, self.d(), "node");
  return to_numpy(self.near_to(node));
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
      .def("shake", &OrderClimb::shake, "Move a few nodes at random, climb near them, and keep what is no worse.")
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
