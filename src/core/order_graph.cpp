// The search over sets of nodes that come first, one node more at a time (Malone, Yuan, Hansen & Bridges 2011).
//
// A layer holds the sets of one size that can still lead to a better DAG, each with the best score of a DAG on it:
//   score(S + i) = max over i of score(S) + best share of i with parents inside S,
// kept where score(S + i) and the bound on what the nodes outside S + i can add are above what is known.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"

namespace drbo {
namespace {

// What the nodes outside a set can add at most: of several partitions of the nodes the least sum over its groups, each
// group with a table by the members that have come before.
struct Bounds {
  Ints2 group_of;     // (P, d) the group of each node in each partition
  Ints2 place;        // (P, d) its bit within the group
  Ints starts;        // (groups,) where the table of each group begins
  Ints partition_of;  // (groups,)
  Row values;         // all tables, one after the other
  size_t parts = 0, d = 0, groups = 0;
  vector<int64_t> step;  // (P, d) how far a node moves on in the table of its group

  void check() {
    parts = group_of.shape(0), d = group_of.shape(1), groups = starts.shape(0);
    require(parts >= 1 && d >= 1 && d <= 64, "bounds need partitions, and 1 to 64 nodes");
    require_shape({parts, d}, "place", place);
    require_shape({groups}, "partition_of", partition_of);
    require_range(group_of.data(), parts * d, 0, whole(groups), "group_of");
    require_range(place.data(), parts * d, 0, 40, "place");
    require_range(partition_of.data(), groups, 0, whole(parts), "partition_of");
    require_range(starts.data(), groups, 0, whole(values.shape(0)), "starts");
    vector<int64_t> last(starts.data(), starts.data() + groups);
    for (size_t at = 0; at < parts * d; ++at) {
      step.push_back(int64_t{1} << place[at]);
      int64_t& end = last[group_of[at]];
      end += step[at];
      require_range(&end, 1, 0, whole(values.shape(0)), "the ends of the tables");  // each time: sums may not overflow
    }
  }

  // Where a set stands in the table of each group, and the sum over each partition.
  struct Place {
    vector<int64_t> index;
    vector<double> totals;
  };

  void look_up(Set nodes, Place& at) const {
    at.index.assign(starts.data(), starts.data() + groups);
    for (size_t part = 0; part < parts; ++part)
      for (Set left = nodes; left; left &= left - 1) {
        const size_t entry = part * d + lowest(left);
        at.index[group_of[entry]] += step[entry];
      }
    at.totals.assign(parts, 0.0);
    for (size_t group = 0; group < groups; ++group) at.totals[partition_of[group]] += values[at.index[group]];
  }

  // The bound when one node more comes first.
  double with(int node, const Place& at) const {
    double least = std::numeric_limits<double>::infinity();
    for (size_t part = 0; part < parts; ++part) {
      const size_t entry = part * d + node;
      const double* const value = values.data() + at.index[group_of[entry]];
      least = std::min(least, at.totals[part] - value[0] + value[step[entry]]);
    }
    return least;
  }
};

// The parent sets of all nodes, the best first, found by the nodes that they must not hold: for every 64 sets of a node
// and every other node a word tells which of the sets hold it.
class ParentIndex {
 public:
  ParentIndex(const vector<Masks>& masks, const vector<Row>& shares) : d_(masks.size()) {
    require(d_ >= 1 && d_ <= 64 && shares.size() == d_, "an index needs 1 to 64 nodes, each with sets and shares");
    const Stop stop;
    Watch watch(stop);
    for (size_t node = 0; node < d_; ++node) {
      const size_t count = masks[node].shape(0);
      require_shape({count}, "shares", shares[node]);
      begins_.push_back(shares_.size());
      word_begins_.push_back(words_.size());
      shares_.insert(shares_.end(), shares[node].data(), shares[node].data() + count);
      words_.resize(words_.size() + d_ * ((count + 63) / 64));
      for (size_t k = 0; k < count; ++k) {
        watch.check(30);
        for (Set left = masks[node][k]; left; left &= left - 1) {
          require(static_cast<size_t>(lowest(left)) < d_, "parent sets must hold nodes of the index alone");
          words_[word_begins_[node] + (k / 64) * d_ + lowest(left)] |= Set{1} << (k % 64);
        }
      }
    }
    begins_.push_back(shares_.size());
  }

  size_t n_nodes() const { return d_; }

  // The share of the best parent set that holds no outside node; minus infinity where none is above `need`.
  double best_inside(int node, const int* outside, int n_outside, double need) const {
    const Set* words = words_.data() + word_begins_[node];
    const size_t end = begins_[node + 1];
    for (size_t first = begins_[node]; first < end; first += 64, words += d_) {
      if (shares_[first] <= need) return NEVER;
      Set taken = 0;
      for (int k = 0; k < n_outside; ++k) taken |= words[outside[k]];
      if (~taken) {
        const size_t found = first + lowest(~taken);
        return found < end && shares_[found] > need ? shares_[found] : NEVER;
      }
    }
    return NEVER;
  }

 private:
  size_t d_;
  vector<double> shares_;
  vector<size_t> begins_, word_begins_;
  vector<Set> words_;
};

// The sets of the next layer.
class SetTable {
 public:
  size_t count() const { return table_.count(); }

  void offer(Set nodes, double score, int last, Watch& watch) {
    Entry& entry = table_.take(nodes, [&] { watch.check(10); });
    if (score > entry.score) entry.score = score, entry.last = last;
  }

  // Sets in rising order, scores, and the node that comes last.
  std::tuple<Result<uint64_t, 1>, Result<double, 1>, Result<int8_t, 1>> layer() const {
    Owned<uint64_t, 1> sets({count()});
    Owned<double, 1> scores({count()});
    Owned<int8_t, 1> last({count()});
    watched([&](Watch& watch) {
      vector<const Entry*> used;
      used.reserve(count());
      for (const Entry& entry : table_.places())
        if (entry.key) used.push_back(&entry);
      std::sort(used.begin(), used.end(), [&](const Entry* a, const Entry* b) {
        watch.check(10);
        return a->key < b->key;
      });
      for (size_t row = 0; row < used.size(); ++row) {
        sets[row] = used[row]->key;
        scores[row] = used[row]->score;
        last[row] = static_cast<int8_t>(used[row]->last);
      }
    });
    return {sets.give(), scores.give(), last.give()};
  }

 private:
  struct Entry {
    Set key = 0;
    double score = NEVER;
    int last = 0;
  };
  HashTable<Entry> table_;
};

// Puts what follows from the sets first to end of a layer into the table; returns the first set that is left to do.
size_t expand_sets(const Masks& sets, const Row& scores, size_t first, size_t end, const ParentIndex& parents,
                   const Bounds& bounds, double known, SetTable& table) {
  const int d = static_cast<int>(parents.n_nodes());
  require_shape({sets.shape(0)}, "scores", scores);
  require(bounds.d == parents.n_nodes(), "bounds and parents must have the same nodes");
  require(first <= end && end <= sets.shape(0), "first and end must lie within the layer");
  const Set full = d == 64 ? ~Set{0} : (Set{1} << d) - 1;
  for (size_t row = first; row < end; ++row) require(inside(sets[row], full), "sets hold unknown nodes");
  return watched([&](Watch& watch) {
    Bounds::Place place;
    vector<int> outside(d);
    for (size_t row = first; row < end; ++row) {
      const Set nodes = sets[row];
      const double score = scores[row];
      bounds.look_up(nodes, place);
      int count = 0;
      for (Set left = full & ~nodes; left; left &= left - 1) outside[count++] = lowest(left);
      for (int k = 0; k < count; ++k) {
        const int node = outside[k];
        const double share = parents.best_inside(node, outside.data(), count, known - score - bounds.with(node, place));
        if (share > NEVER) table.offer(nodes | singleton(node), score + share, node, watch);
      }
      if (watch.over(20 * d * d)) return row + 1;
    }
    return end;
  });
}
}  // namespace

void bind_order_graph(nb::module_& m) {
  using Self = Bounds;
  bind_fields<Self>(m, "Bounds", "What the nodes outside a set can add at most.", FIELD(group_of), FIELD(place),
                    FIELD(starts), FIELD(partition_of), FIELD(values));
  nb::class_<ParentIndex>(m, "ParentIndex", "The parent sets of all nodes, the best first.")
      .def(nb::init<const vector<Masks>&, const vector<Row>&>())
      .def_prop_ro("n_nodes", &ParentIndex::n_nodes);
  nb::class_<SetTable>(m, "SetTable", "A hash table of the sets of the next layer.")
      .def(nb::init<>())
      .def_prop_ro("count", &SetTable::count)
      .def("layer", &SetTable::layer, "Return the sets in rising order, their scores and last nodes.");
  m.def("expand_sets", &expand_sets,
        "Put what follows from some sets of a layer into the table; return the first set that is left to do.");
}
}  // namespace drbo
