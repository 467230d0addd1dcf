// Parent sets met in a search, with the steps between them.
//
// A node takes the best step, adding or dropping one parent, until none pays. What a step is worth does not depend on
// the order of the nodes, only which additions are open does: so each parent set keeps the additions that pay, best
// first, and the drop that pays more than the additions left out. A second look at the same set costs no arithmetic
// (Andrews et al. 2023 do this with grow-shrink trees); sets that are reached in several ways are one.
#pragma once

#include "numbers.h"
#include "steps.h"

namespace drbo {

// What is known of the set that a step leads to, where it is not the number of a set.
constexpr int32_t UNKNOWN = -1, DEAD = -2;
// Steps that are not the place of an addition: the drop that pays; FORCED - w drops w whatever it costs.
constexpr int64_t DROP = -1, FORCED = -2;
// A step must gain more than this.
constexpr double LEAST_GAIN = 1e-7;

struct ParentSet {
  double value;
  uint64_t hash;
  int64_t first_member, first_addition;
  int32_t node, n_members, n_additions;
  int32_t drop;  // the parent whose drop pays, or -1
  int32_t after_drop;
};

struct Addition {
  int32_t node, after;
};

class ParentSets {
 public:
  explicit ParentSets(size_t d) : d_(d), parents_(d + 1) {}

  int64_t size() const { return whole(sets_.size()); }
  const ParentSet& operator[](int64_t index) const { return sets_[index]; }
  const Addition& addition(int64_t place) const { return additions_[place]; }
  const int32_t* members(const ParentSet& set) const { return members_.data() + set.first_member; }
  Family family(int64_t index) const { return {sets_[index].node, sets_[index].n_members, members(sets_[index])}; }

  size_t bytes() const {
    return sets_.capacity() * sizeof(ParentSet) + members_.capacity() * sizeof(int32_t) +
           additions_.capacity() * sizeof(Addition) + table_.places().capacity() * sizeof(Known);
  }

  // Sets are expanded in the order of their numbers; those from here on are not.
  int64_t n_expanded() const { return n_expanded_; }
  bool is_expanded(int64_t index) const { return index < n_expanded_; }

  // The number of the parent set of a node, given as flags (d,); a new one is added.
  int64_t add(int32_t node, const uint8_t* flags, size_t stride) {
    int32_t size = 0;
    uint64_t key = code(static_cast<int32_t>(d_) + node);
    for (size_t parent = 0; parent < d_; ++parent)
      if (flags[parent * stride]) {
        parents_[size++] = static_cast<int32_t>(parent);
        key ^= code(static_cast<int32_t>(parent));
      }
    return find(node, key, size, true);
  }

  // The set that a step leads to; a new one is added, or UNKNOWN.
  int64_t link(int64_t index, int64_t step, bool add) {
    const ParentSet& source = sets_[index];
    const int32_t changed = step >= 0      ? additions_[step].node
                            : step == DROP ? source.drop
                                           : static_cast<int32_t>(FORCED - step);
    const int32_t* const from = members(source);
    int32_t size = 0;
    bool waiting = step >= 0;
    for (int32_t k = 0; k < source.n_members; ++k) {  // sorted, so that a set has one form
      if (waiting && from[k] > changed) {
        parents_[size++] = changed;
        waiting = false;
      }
      if (from[k] != changed) parents_[size++] = from[k];
    }
    if (waiting) parents_[size++] = changed;
    return find(source.node, source.hash ^ code(changed), size, add);
  }

  // Keeps where a step leads; one that does not gain after all, by rounding, is closed: every way upwards ends.
  int64_t connect(int64_t index, int64_t step, int64_t target) {
    if (step <= FORCED) return target;
    if (!(sets_[target].value > sets_[index].value)) target = DEAD;
    (step == DROP ? sets_[index].after_drop : additions_[step].after) = static_cast<int32_t>(target);
    return target;
  }

  // Expands the next set: keeps the additions that pay more than the drop, best first; ties by number.
  void store(const Worth& worth, const double* gains, const Candidates& candidates) {
    ParentSet& set = sets_[n_expanded_++];
    double least = LEAST_GAIN;
    set.value = worth.value;
    set.drop = -1;
    set.after_drop = DEAD;
    if (worth.drop >= 0 && worth.drop_gain > LEAST_GAIN) {
      set.drop = static_cast<int32_t>(worth.drop);
      set.after_drop = UNKNOWN;
      least = worth.drop_gain;
    }
    set.first_addition = whole(additions_.size());
    ranked_.clear();
    for (size_t k = 0; k < candidates.count; ++k)
      if (gains[k] > least) ranked_.push_back({-gains[k], candidates[k]});
    std::sort(ranked_.begin(), ranked_.end());
    for (const auto& [loss, node] : ranked_) additions_.push_back({node, UNKNOWN});
    set.n_additions = static_cast<int32_t>(ranked_.size());
  }

 private:
  static uint64_t code(int32_t number) { return random_word(static_cast<uint64_t>(number) + 1); }

  // The number of the set of the first parents in parents_. Sets whose hashes are the same have keys that follow.
  int64_t find(int32_t node, uint64_t hash, int32_t size, bool add) {
    for (uint64_t key = hash;; ++key) {
      if (key == 0) continue;
      const Known& known = table_.find(key);
      if (known.key == 0) {
        if (!add) return UNKNOWN;
        table_.take(key, [] {}).index = static_cast<int32_t>(sets_.size());
        sets_.push_back({0.0, hash, whole(members_.size()), 0, node, size, 0, -1, DEAD});
        members_.insert(members_.end(), parents_.begin(), parents_.begin() + size);
        return this->size() - 1;
      }
      const ParentSet& set = sets_[known.index];
      if (set.hash == hash && set.node == node && set.n_members == size &&
          std::equal(parents_.begin(), parents_.begin() + size, members(set)))
        return known.index;
    }
  }

  struct Known {
    uint64_t key = 0;
    int32_t index = 0;
  };
  size_t d_;
  vector<ParentSet> sets_;
  vector<int32_t> members_;     // of all sets
  vector<Addition> additions_;  // of all sets
  vector<int32_t> parents_;     // room for one set
  vector<std::pair<double, int32_t>> ranked_;
  HashTable<Known> table_;
  int64_t n_expanded_ = 0;
};
}  // namespace drbo
