// Families that are listed node by node, the best or heaviest of each node first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "arrays.h"

namespace drbo {

// A set of any number of nodes as 64-bit words: bit i % 64 of word i / 64 is node i.
class WordSet {
 public:
  explicit WordSet(std::size_t words) : words_(words) {}
  void add(std::int64_t node) { words_[node / 64] |= bit(node); }
  void remove(std::int64_t node) { words_[node / 64] &= ~bit(node); }
  void clear() { words_.assign(words_.size(), 0); }
  const std::uint64_t* data() const { return words_.data(); }

 private:
  static std::uint64_t bit(std::int64_t node) { return std::uint64_t{1} << (node % 64); }
  std::vector<std::uint64_t> words_;
};

struct ListedFamilies {
  std::size_t d, n_words;
  const std::uint64_t* words;  // (m, n_words) parent sets
  const double* values;        // (m,) shares, or log weights
  const std::int64_t* starts;  // (d + 1,) where each node's families begin

  // Whether the parents of a family are all in a set.
  bool fits(std::int64_t row, const WordSet& before) const {
    const std::uint64_t* parents = words + row * n_words;
    for (std::size_t k = 0; k < n_words; ++k)
      if (parents[k] & ~before.data()[k]) return false;
    return true;
  }

  // The first family of a node that fits, or the end of its families.
  std::int64_t first_fit(std::int64_t node, const WordSet& before) const {
    const std::int64_t end = starts[node + 1];
    std::int64_t row = starts[node];
    if (n_words == 1) {
      const std::uint64_t outside = ~before.data()[0];
      while (row < end && (words[row] & outside)) ++row;
    } else {
      while (row < end && !fits(row, before)) ++row;
    }
    return row;
  }
};

inline ListedFamilies listed_families(const In<std::uint64_t, 2>& words, const In<double, 1>& values,
                                      const In<std::int64_t, 1>& starts, std::size_t d) {
  const std::size_t m = words.shape(0);
  require(d >= 1 && words.shape(1) == (d + 63) / 64, "parent sets must have one bit for each node");
  require_shape(values, "the values of the families", {m});
  require_shape(starts, "starts", {d + 1});
  require_starts(starts.data(), d, m, "starts");
  return {d, words.shape(1), words.data(), values.data(), starts.data()};
}

inline void require_order(const std::int64_t* order, std::size_t d) {
  std::vector<bool> seen(d);
  for (std::size_t place = 0; place < d; ++place) {
    const std::int64_t node = order[place];
    require(node >= 0 && node < static_cast<std::int64_t>(d) && !seen[node], "an order must hold every node once");
    seen[node] = true;
  }
}

}  // namespace drbo
