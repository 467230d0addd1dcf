// The search over sets of nodes that come first, one node more at a time (Malone, Yuan, Hansen & Bridges 2011).
//
// A layer holds the sets of one size that can still lead to a better DAG, each with the best score of a DAG on it:
//   score(S + i) = max over i of score(S) + best share of i with parents inside S,
// kept where score(S + i) and the bound on what the nodes outside S + i can add are above what is known.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "arrays.h"
#include "bits.h"
#include "stop.h"
#include "wide.h"

namespace drbo {

namespace {

using Masks = In<std::uint64_t, 1>;
using Ints1 = In<std::int64_t, 1>;
using Ints2 = In<std::int64_t, 2>;
using Row = In<double, 1>;

constexpr double NEVER = -std::numeric_limits<double>::infinity();

// What the nodes outside a set can add at most: of several partitions of the nodes the least sum over its groups, each
// group with a table by the members that have come before.
class Bounds {
 public:
  Bounds(const Ints2& group_of, const Ints2& place, const Ints1& starts, const Ints1& partition_of, const Row& values)
      : parts_(group_of.shape(0)),
        d_(group_of.shape(1)),
        group_of_(group_of.data(), group_of.data() + parts_ * d_),
        step_(parts_ * d_),
        starts_(starts.data(), starts.data() + starts.shape(0)),
        partition_of_(partition_of.data(), partition_of.data() + partition_of.shape(0)),
        values_(values.data(), values.data() + values.shape(0)) {
    const std::size_t groups = starts_.size();
    require(parts_ >= 1 && d_ >= 1 && d_ <= 64, "bounds need partitions, and 1 to 64 nodes");
    require_shape(place, "place", {parts_, d_});
    require_shape(partition_of, "partition_of", {groups});
    require_range(group_of_.data(), parts_ * d_, 0, static_cast<std::int64_t>(groups), "group_of");
    require_range(place.data(), parts_ * d_, 0, 40, "place");
    require_range(partition_of_.data(), groups, 0, static_cast<std::int64_t>(parts_), "partition_of");
    std::vector<std::int64_t> last = starts_;
    for (std::size_t at = 0; at < parts_ * d_; ++at) {
      step_[at] = std::int64_t{1} << place.data()[at];
      last[group_of_[at]] += step_[at];
    }
    require_range(starts_.data(), groups, 0, static_cast<std::int64_t>(values_.size()), "starts");
    require_range(last.data(), groups, 0, static_cast<std::int64_t>(values_.size()), "the ends of the tables");
  }

  std::size_t n_nodes() const { return d_; }

  // Where a set stands in the table of each group, and the sum over each partition.
  struct Place {
    std::vector<std::int64_t> index;
    std::vector<double> totals;
  };

  void look_up(Set nodes, Place& place) const {
    place.index = starts_;
    for (std::size_t part = 0; part < parts_; ++part)
      for (Set left = nodes; left; left &= left - 1) {
        const std::size_t at = part * d_ + lowest(left);
        place.index[group_of_[at]] += step_[at];
      }
    place.totals.assign(parts_, 0.0);
    for (std::size_t group = 0; group < starts_.size(); ++group)
      place.totals[partition_of_[group]] += values_[place.index[group]];
  }

  // The bound when one node more comes first.
  double with(int node, const Place& place) const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t part = 0; part < parts_; ++part) {
      const std::size_t entry = part * d_ + node;
      const std::int64_t at = place.index[group_of_[entry]];
      least = std::min(least, place.totals[part] - values_[at] + values_[at + step_[entry]]);
    }
    return least;
  }

  Result<double, 1> at(const Masks& sets) const {
    const std::size_t count = sets.shape(0);
    for (std::size_t row = 0; row < count; ++row)
      require(d_ == 64 || sets.data()[row] >> d_ == 0, "sets must hold nodes of the bounds alone");
    Owned<double> found(count);
    Place place;
    for (std::size_t row = 0; row < count; ++row) {
      look_up(sets.data()[row], place);
      found[row] = *std::min_element(place.totals.begin(), place.totals.end());
    }
    return found.give({count});
  }

 private:
  std::size_t parts_, d_;
  std::vector<std::int64_t> group_of_, step_, starts_, partition_of_;
  std::vector<double> values_;
};

// The parent sets of all nodes, the best first, found by the nodes that they must not hold: for every 64 sets of a node
// and every other node a word tells which of the sets hold it.
class ParentIndex {
 public:
  ParentIndex(const std::vector<Masks>& masks, const std::vector<Row>& shares) : d_(masks.size()) {
    require(d_ >= 1 && d_ <= 64 && shares.size() == d_, "an index needs 1 to 64 nodes, each with sets and shares");
    for (std::size_t node = 0; node < d_; ++node) {
      const std::size_t count = masks[node].shape(0);
      require_shape(shares[node], "shares", {count});
      begins_.push_back(shares_.size());
      word_begins_.push_back(words_.size());
      shares_.insert(shares_.end(), shares[node].data(), shares[node].data() + count);
      words_.resize(words_.size() + d_ * ((count + 63) / 64));
      for (std::size_t k = 0; k < count; ++k)
        for (Set left = masks[node].data()[k]; left; left &= left - 1) {
          require(static_cast<std::size_t>(lowest(left)) < d_, "parent sets must hold nodes of the index alone");
          words_[word_begins_[node] + (k / 64) * d_ + lowest(left)] |= Set{1} << (k % 64);
        }
    }
    begins_.push_back(shares_.size());
  }

  std::size_t n_nodes() const { return d_; }

  // The share of the best parent set that holds no outside node; minus infinity where none is above `need`.
  double best_inside(int node, const int* outside, int n_outside, double need) const {
    const Set* words = words_.data() + word_begins_[node];
    const std::size_t end = begins_[node + 1];
    for (std::size_t first = begins_[node]; first < end; first += 64, words += d_) {
      if (shares_[first] <= need) return NEVER;
      Set taken = 0;
      for (int k = 0; k < n_outside; ++k) taken |= words[outside[k]];
      if (~taken) {
        const std::size_t found = first + lowest(~taken);
        return found < end && shares_[found] > need ? shares_[found] : NEVER;
      }
    }
    return NEVER;
  }

 private:
  std::size_t d_;
  std::vector<double> shares_;
  std::vector<std::size_t> begins_, word_begins_;
  std::vector<Set> words_;
};

// A hash table of the sets of the next layer; the empty set marks a free place.
class SetTable {
 public:
  explicit SetTable(std::size_t size) : entries_(size) {
    require(size >= 2 && (size & (size - 1)) == 0 && size <= std::size_t{1} << 40, "size must be a power of 2");
  }

  std::size_t count() const { return count_; }

  void offer(Set nodes, double score, int last) {
    Entry* entry = find(nodes);
    if (entry->nodes == 0) {
      if (10 * (count_ + 1) > 6 * entries_.size()) {
        grow();
        entry = find(nodes);
      }
      *entry = {nodes, score, last};
      ++count_;
    } else if (score > entry->score) {
      entry->score = score;
      entry->last = last;
    }
  }

  // Sets in rising order, scores, and the node that comes last.
  std::tuple<Result<std::uint64_t, 1>, Result<double, 1>, Result<std::int8_t, 1>> layer() const {
    std::vector<const Entry*> used;
    used.reserve(count_);
    for (const Entry& entry : entries_)
      if (entry.nodes) used.push_back(&entry);
    std::sort(used.begin(), used.end(), [](const Entry* a, const Entry* b) { return a->nodes < b->nodes; });
    Owned<std::uint64_t> sets(count_);
    Owned<double> scores(count_);
    Owned<std::int8_t> last(count_);
    for (std::size_t row = 0; row < count_; ++row) {
      sets[row] = used[row]->nodes;
      scores[row] = used[row]->score;
      last[row] = static_cast<std::int8_t>(used[row]->last);
    }
    return {sets.give({count_}), scores.give({count_}), last.give({count_})};
  }

 private:
  struct Entry {
    Set nodes = 0;
    double score = 0.0;
    int last = 0;
  };

  Entry* find(Set nodes) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = static_cast<std::size_t>((nodes * 0x9E3779B97F4A7C15) >> 20) & mask;
    while (entries_[place].nodes != 0 && entries_[place].nodes != nodes) place = (place + 1) & mask;
    return &entries_[place];
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.nodes) *find(entry.nodes) = entry;
  }

  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

// Puts what follows from the sets first to end of a layer into the table; returns the first set that is left to do.
std::size_t expand_sets(const Masks& sets, const Row& scores, std::size_t first, std::size_t end,
                        const ParentIndex& parents, const Bounds& bounds, double known, SetTable& table,
                        const StopFlag* stop) {
  const int d = static_cast<int>(parents.n_nodes());
  require_shape(scores, "scores", {sets.shape(0)});
  require(bounds.n_nodes() == parents.n_nodes(), "bounds and parents must have the same nodes");
  require(first <= end && end <= sets.shape(0), "first and end must lie within the layer");
  const Set full = d == 64 ? ~Set{0} : (Set{1} << d) - 1;
  for (std::size_t row = first; row < end; ++row) require(inside(sets.data()[row], full), "sets hold unknown nodes");
  const nb::gil_scoped_release release;
  Watch watch(stop, nullptr, true);
  Bounds::Place place;
  std::vector<int> outside(d);
  for (std::size_t row = first; row < end; ++row) {
    const Set nodes = sets.data()[row];
    const double score = scores.data()[row];
    bounds.look_up(nodes, place);
    int count = 0;
    for (Set left = full & ~nodes; left; left &= left - 1) outside[count++] = lowest(left);
    for (int k = 0; k < count; ++k) {
      const int node = outside[k];
      const double share = parents.best_inside(node, outside.data(), count, known - score - bounds.with(node, place));
      if (share > NEVER) table.offer(nodes | singleton(node), score + share, node);
    }
    if (watch.over(20 * d * d)) return row + 1;
  }
  return end;
}

WIDE void keep_higher(double* without, const double* with, std::size_t step) {
  for (std::size_t k = 0; k < step; ++k) without[k] = without[k] > with[k] ? without[k] : with[k];
}

// Replaces each value by the highest over all supersets.
void best_supersets(const Out<double, 1>& values, const StopFlag* stop) {
  const std::size_t size = values.shape(0);
  require(size >= 1 && (size & (size - 1)) == 0, "values must be over all sets: a power of 2");
  double* row = values.data();
  const nb::gil_scoped_release release;
  Watch watch(stop, nullptr, true);
  for (std::size_t step = 1; step < size; step *= 2)
    for (std::size_t start = 0; start < size; start += 2 * step) {
      keep_higher(row + start, row + start + step, step);
      watch.check(static_cast<std::int64_t>(step));
    }
}

// The bits of some members, in their order, as small sets.
Result<std::uint64_t, 1> pack_members(const Masks& masks, const Ints1& members) {
  const std::size_t count = masks.shape(0), size = members.shape(0);
  require(size <= 64, "there must be at most 64 members");
  require_range(members.data(), size, 0, 64, "members");
  Owned<std::uint64_t> found(count);
  for (std::size_t row = 0; row < count; ++row) {
    Set packed = 0;
    for (std::size_t k = 0; k < size; ++k) packed |= ((masks.data()[row] >> members.data()[k]) & 1) << k;
    found[row] = packed;
  }
  return found.give({count});
}

}  // namespace

void bind_order_graph(nb::module_& m) {
  nb::class_<Bounds>(m, "Bounds", "What the nodes outside a set can add at most.")
      .def(nb::init<const Ints2&, const Ints2&, const Ints1&, const Ints1&, const Row&>(), "group_of"_a.noconvert(),
           "place"_a.noconvert(), "starts"_a.noconvert(), "partition_of"_a.noconvert(), "values"_a.noconvert())
      .def("at", &Bounds::at, "sets"_a.noconvert(), "Return the bound of each set.");
  nb::class_<ParentIndex>(m, "ParentIndex", "The parent sets of all nodes, the best first.")
      .def(nb::init<const std::vector<Masks>&, const std::vector<Row>&>(), "masks"_a.noconvert(),
           "shares"_a.noconvert())
      .def_prop_ro("n_nodes", &ParentIndex::n_nodes);
  nb::class_<SetTable>(m, "SetTable", "A hash table of the sets of the next layer.")
      .def(nb::init<std::size_t>(), "size"_a)
      .def_prop_ro("count", &SetTable::count)
      .def("layer", &SetTable::layer, "Return the sets in rising order, their scores and last nodes.");
  m.def("expand_sets", &expand_sets, "sets"_a.noconvert(), "scores"_a.noconvert(), "first"_a, "end"_a, "parents"_a,
        "bounds"_a, "known"_a, "table"_a, "stop"_a = nb::none(),
        "Put what follows from some sets of a layer into the table; return the first set that is left to do.");
  m.def("best_supersets", &best_supersets, "values"_a.noconvert(), "stop"_a = nb::none(),
        "Replace each value by the highest over all supersets.");
  m.def("pack_members", &pack_members, "masks"_a.noconvert(), "members"_a.noconvert(),
        "Return the bits of some members, in their order, as small sets.");
}

}  // namespace drbo
