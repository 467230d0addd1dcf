// Sets of at most 64 nodes as bit masks.
#pragma once

#include <cstdint>
#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace drbo {

using Set = std::uint64_t;

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

}  // namespace drbo
