// An open hash table, at most 6/10 full. Entries have a key; the key 0 marks a free place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace drbo {

template <class Entry>
class HashTable {
 public:
  std::size_t count() const { return count_; }
  const std::vector<Entry>& places() const { return entries_; }

  // The entry of a key, or a free one.
  const Entry& find(std::uint64_t key) const { return entries_[place_of(key, entries_)]; }

  // The entry of a key, which may be new. Where the table grows, tick() is called for every place.
  template <class Tick>
  Entry& take(std::uint64_t key, const Tick& tick) {
    std::size_t place = place_of(key, entries_);
    if (entries_[place].key == 0) {
      if (10 * (count_ + 1) > 6 * entries_.size()) {
        std::vector<Entry> larger(2 * entries_.size());
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
  static std::size_t place_of(std::uint64_t key, const std::vector<Entry>& entries) {
    const std::size_t mask = entries.size() - 1;
    std::size_t place = static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> 20) & mask;
    while (entries[place].key != 0 && entries[place].key != key) place = (place + 1) & mask;
    return place;
  }

  std::vector<Entry> entries_ = std::vector<Entry>(4096);
  std::size_t count_ = 0;
};

}  // namespace drbo
