// Additive scores seen step by step: what adding a parent to a set, or dropping one, is worth.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "threads.h"

namespace drbo {

// A node with a parent set.
struct Family {
  std::int32_t node;
  std::int32_t size;
  const std::int32_t* parents;  // sorted
};

struct Worth {
  double value = 0.0;      // of the family itself
  std::int64_t drop = -1;  // the best parent to drop, or -1
  double drop_gain = 0.0;
};

class Steps {
 public:
  virtual ~Steps() = default;
  virtual std::size_t n_nodes() const = 0;

  // Whether a climb computes the end of a step as soon as it meets it: worth it where that takes microseconds.
  // Otherwise steps are noted, and their ends are computed together.
  virtual bool at_once() const { return false; }

  // Writes what each addition gains (d,), 0 or less where there is none; returns the rest.
  virtual Worth expand(const Family& family, double* gains, Watch& watch) const = 0;

  // About how many nanoseconds that takes.
  virtual std::int64_t work(const Family& family) const = 0;

  // The same for many families; the lock of the interpreter has been released.
  virtual void expand_all(const std::vector<Family>& families, Worth* found, double* gains, int threads,
                          const StopFlag* stop) const {
    constexpr std::int64_t SMALL = 200'000;  // a thread is started for no less
    std::int64_t work_of_all = 0;
    for (const Family& family : families) work_of_all += work(family);
    const int crew = static_cast<int>(std::min<std::int64_t>(threads, work_of_all / SMALL + 1));
    in_stretches(static_cast<std::int64_t>(families.size()), crew, stop,
                 [&](std::int64_t first, std::int64_t last, Watch& watch) {
                   for (std::int64_t b = first; b < last; ++b)
                     found[b] = expand(families[b], gains + b * n_nodes(), watch);
                 });
  }
};

}  // namespace drbo
