// Sets of at most 64 nodes as bit masks, and hash tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace drbo {

using std::int32_t, std::int64_t, std::size_t, std::uint16_t, std::uint32_t, std::uint64_t, std::uint8_t, std::vector;
using Set = uint64_t;

inline Set singleton(int node) { return Set{1} << node; }

inline bool holds(Set nodes, int node) { return (nodes >> node) & 1; }

inline bool inside(Set part, Set whole) { return (part & ~whole) == 0; }

// The lowest member of a set that is not empty.
inline int lowest(Set nodes) {
#if defined(_MSC_VER)
  unsigned long place;
  _BitScanForward64(&place, nodes);
  return static_cast<int>(place);
#else
  return __builtin_ctzll(nodes);
#endif
}

// The highest one.
inline int highest(Set nodes) {
#if defined(_MSC_VER)
  unsigned long place;
  _BitScanReverse64(&place, nodes);
  return static_cast<int>(place);
#else
  return 63 - __builtin_clzll(nodes);
#endif
}

// Counted in parallel: the baseline of x86-64 has no instruction for it.
inline int size_of(Set nodes) {
  nodes -= (nodes >> 1) & 0x5555555555555555;
  nodes = (nodes & 0x3333333333333333) + ((nodes >> 2) & 0x3333333333333333);
  nodes = (nodes + (nodes >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<int>((nodes * 0x0101010101010101) >> 56);
}

// A table has one row per node and one column per set of the other nodes: the column drops the node's own bit, and the
// bits above it move down by one.
inline Set column_of(Set nodes, int node) {
  const Set low = singleton(node) - 1;
  return (nodes & low) | ((nodes >> 1) & ~low);
}

inline Set set_of(Set column, int node) {
  const Set low = singleton(node) - 1;
  return (column & low) | ((column & ~low) << 1);
}

// An open hash table, at most 6/10 full. Entries have a key; the key 0 marks a free place.
template <class Entry>
class HashTable {
 public:
  size_t count() const { return count_; }
  const vector<Entry>& places() const { return entries_; }

  // The entry of a key, or a free one.
  const Entry& find(uint64_t key) const { return entries_[place_of(key, entries_)]; }

  // The entry of a key, which may be new. Where the table grows, tick() is called for every place.
  template <class Tick>
  Entry& take(uint64_t key, const Tick& tick) {
    size_t place = place_of(key, entries_);
    if (entries_[place].key == 0) {
      if (10 * (count_ + 1) > 6 * entries_.size()) {
        vector<Entry> larger(2 * entries_.size());
        for (const Entry& entry : entries_) {
          tick();
          if (entry.key) larger[place_of(entry.key, larger)] = entry;
        }
        entries_.swap(larger);
        place = place_of(key, entries_);
      }
      entries_[place].key = key;
      ++count_;
    }
    return entries_[place];
  }

 private:
  static size_t place_of(uint64_t key, const vector<Entry>& entries) {
    const size_t mask = entries.size() - 1;
    size_t place = static_cast<size_t>((key * 0x9E3779B97F4A7C15) >> 20) & mask;
    while (entries[place].key != 0 && entries[place].key != key) place = (place + 1) & mask;
    return place;
  }

  vector<Entry> entries_ = vector<Entry>(4096);
  size_t count_ = 0;
};
}  // namespace drbo
