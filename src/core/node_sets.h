// Sets of any number of nodes.
#pragma once

#include <algorithm>

#include "sets.h"

namespace drbo {

using Members = vector<int>;

class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(size_t d) : words_((d + 63) / 64) {}
  bool has(int node) const { return holds(words_[node >> 6], node & 63); }
  void add(int node) { words_[node >> 6] |= singleton(node & 63); }
  void drop(int node) { words_[node >> 6] &= ~singleton(node & 63); }
  void clear() { std::fill(words_.begin(), words_.end(), 0); }
  void unite(const NodeSet& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  bool meets(const NodeSet& other) const {
    for (size_t w = 0; w < words_.size(); ++w)
      if (words_[w] & other.words_[w]) return true;
    return false;
  }
  // Whether a member lies outside another set and is not the node.
  bool leaves(const NodeSet& other, int node) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      Set outside = words_[w] & ~other.words_[w];
      if (w == static_cast<size_t>(node) >> 6) outside &= ~singleton(node & 63);
      if (outside) return true;
    }
    return false;
  }
  bool empty() const {
    return std::all_of(words_.begin(), words_.end(), [](Set word) { return word == 0; });
  }
  size_t size() const {
    size_t count = 0;
    for (const Set word : words_) count += size_of(word);
    return count;
  }
  const vector<Set>& words() const { return words_; }

  // Calls act(node) for every member in rising order. It may change the set; members are those of each word as it was.
  template <class Act>
  void each(const Act& act) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (Set left = words_[w]; left; left &= left - 1) act(static_cast<int>(64 * w) + lowest(left));
  }
  // Whether test(node) holds for a member of both sets.
  template <class Test>
  bool any_shared(const NodeSet& other, const Test& test) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (Set left = words_[w] & other.words_[w]; left; left &= left - 1)
        if (test(static_cast<int>(64 * w) + lowest(left))) return true;
    return false;
  }
  Members members() const {
    Members found;
    each([&](int node) { found.push_back(node); });
    return found;
  }

 private:
  vector<Set> words_;
};
}  // namespace drbo
