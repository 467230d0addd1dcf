// Which experiments change the mechanism of a node: the best set S found by single changes.
#pragma once

#include "arrays.h"

namespace drbo {

enum State : int64_t { SHARED, FREE, SOFT, HARD };  // of an experiment and a node: may, or must, it change?

inline void require_states(const Ints2& states, size_t experiments, size_t columns) {
  require_shape({experiments, columns}, "states", states);
  require_range(states.data(), experiments * columns, SHARED, HARD + 1, "states");
  require_range(states.data(), columns, SHARED, SHARED + 1, "states of the control");
}

// The search for S, for a family that knows what experiments are worth together and alone:
//   own                    what each experiment is worth with a mechanism of its own;
//   pool(changed)          sums up the experiments outside S in a fixed order, and returns what they are worth;
//   toggled(e, joins)      what they are worth if e joins or leaves them;
//   guess(changed)         changes S as it seems best, all at once; pool says whether it is.
template <class Family>
class ChangedSets {
 public:
  explicit ChangedSets(Family& family, size_t experiments)
      : changed(experiments), state(experiments), family_(family) {}
  vector<uint8_t> changed;  // (E,) which experiments are in S
  vector<int64_t> state;    // (E,) of the node

  // The worth of the family, climbing from "none changed" and from "all changed"; S is left in changed.
  double best() {
    double best = NEVER;
    vector<uint8_t> found(changed.size());
    for (const bool all : {false, true}) {
      bool free = false;
      for (size_t e = 0; e < changed.size(); ++e) {
        free |= state[e] == FREE;
        changed[e] = state[e] >= SOFT || (all && state[e] == FREE);
      }
      const double value = ascend();
      if (value > best + tolerance(best)) best = value, found = changed;
      if (!free) break;
    }
    changed = found;
    return best;
  }

 private:
  static double tolerance(double value) { return value == NEVER ? 0.0 : 1e-10 * (1.0 + std::abs(value)); }

  double own(size_t without) const {
    double sum = 0.0;
    for (size_t e = 0; e < changed.size(); ++e) sum += changed[e] && e != without ? family_.own[e] : 0.0;
    return sum;
  }
  double worth() { return own(changed.size()) + family_.pool(changed); }

  // Improves S until no change of one experiment pays.
  double ascend() {
    double value = worth();
    for (int round = 0; round < 20; ++round) {
      const vector<uint8_t> before = changed;
      vector<uint8_t> guess = changed;
      family_.guess(guess);
      for (size_t e = 0; e < changed.size(); ++e)
        if (state[e] == FREE) changed[e] = guess[e];
      if (changed == before) break;
      const double next = worth();
      if (!(next > value + tolerance(value))) {
        changed = before;
        break;
      }
      value = next;
    }
    value = worth();
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t e = 0; e < changed.size(); ++e) {
        if (state[e] != FREE) continue;
        const double trial = own(e) + (changed[e] ? 0.0 : family_.own[e]) + family_.toggled(e, changed[e]);
        if (!(trial > value + tolerance(value))) continue;
        changed[e] ^= 1;
        value = worth();
        moved = true;
      }
    }
    return value;
  }

  Family& family_;
};
}  // namespace drbo
