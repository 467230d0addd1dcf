// The parent sets that a walk keeps.
#pragma once

#include <nanobind/stl/tuple.h>

#include "arrays.h"

namespace drbo {

using FoundSets = std::tuple<Result<uint64_t, 1>, Result<double, 1>, int64_t>;

struct KeptSets {
  double floor;  // sets below it are not wanted
  bool best_only;
  int64_t most;  // as many sets make a walk end
  vector<Set> masks{};
  vector<double> shares{};

  bool has_room(int64_t more) const { return whole(masks.size()) + more < most; }

  void keep(Set set, double share) {
    if (best_only && !masks.empty()) {  // of equally good ones the first
      if (share > shares[0]) masks[0] = set, shares[0] = share;
    } else {
      masks.push_back(set);
      shares.push_back(share);
    }
    if (best_only) floor = std::max(floor, shares[0]);
  }

  // Runs walk(watch), which returns the steps taken, or -1 where there are too many, no room, or it is stopped.
  template <class Walk>
  FoundSets found(const Walk& walk) {
    const int64_t steps = watched(walk);
    return {to_numpy(masks), to_numpy(shares), steps};
  }
};
}  // namespace drbo
