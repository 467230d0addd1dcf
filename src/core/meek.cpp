// Partially directed graphs: closure under Meek's rules, equivalence classes of DAGs, and DAGs of a class.
#include <nanobind/stl/pair.h>

#include "arrays.h"
#include "node_sets.h"

namespace drbo {
namespace {

// Directed and undirected edges by node, changed in place.
class Marks {
 public:
  explicit Marks(const Flags& graph) : Marks(graph.shape(0)) {
    require_shape({d_, d_}, "graph", graph);
    const uint8_t* const edges = flags(graph);
    for (size_t i = 0; i < d_; ++i) {
      require(!edges[i * d_ + i], "a graph must have no loops");
      for (size_t j = 0; j < d_; ++j)
        if (edges[i * d_ + j]) add(static_cast<int>(i), static_cast<int>(j), edges[j * d_ + i]);
    }
  }

  // Make every edge undirected that is in no v-structure.
  void keep_v_structures(Watch& watch) {
    vector<NodeSet> kept(d_, NodeSet(d_));
    for (int child = 0; child < nodes(); ++child) {
      parents_[child].each([&](int parent) {
        if (parents_[child].leaves(adjacent_[parent], parent)) kept[child].add(parent);
      });
      watch.check(step());
    }
    for (int child = 0; child < nodes(); ++child)
      for (const int parent : parents_[child].members())
        if (!kept[child].has(parent)) {
          parents_[child].drop(parent), children_[parent].drop(child);
          undirected_[child].add(parent), undirected_[parent].add(child);
        }
  }

  // Direct what follows from the directed edges.
  void close(Watch& watch) {
    Pairs queue;
    for (int a = 0; a < nodes(); ++a)
      undirected_[a].each([&](int b) {
        if (a < b) queue.emplace_back(a, b);
      });
    follow(queue, watch);
  }

  // Direct a - b as a -> b, and what follows from it; the graph must be closed.
  void direct(int a, int b, Watch& watch) {
    Pairs queue;
    point(a, b);
    affected(a, b, queue);
    follow(queue, watch);
  }

  bool is_undirected(int a, int b) const { return undirected_[a].has(b); }
  size_t size() const { return d_; }

  Result<bool, 2> matrix() const {
    Owned<bool, 2> found({d_, d_});
    std::fill_n(found.data(), d_ * d_, false);
    for (size_t a = 0; a < d_; ++a)
      for (const auto* sets : {&children_, &undirected_}) (*sets)[a].each([&](int b) { found[a * d_ + b] = true; });
    return found.give();
  }

  // Take one node after the other out that can come last in a DAG with the directed edges and v-structures, and point
  // its edges to it (Dor & Tarsi 1992). Returns the nodes that cannot be taken out.
  Members extend(Watch& watch) {
    vector<bool> left(d_, true);
    Members queue(d_);
    std::iota(queue.begin(), queue.end(), 0);
    vector<NodeSet> into = parents_;
    while (!queue.empty()) {
      const int node = queue.back();
      queue.pop_back();
      watch.check(step());
      if (!left[node] || !children_[node].empty() || !may_be_sink(node)) continue;
      left[node] = false;
      undirected_[node].each([&](int other) { into[node].add(other); });
      adjacent_[node].each([&](int other) {
        for (auto* sets : {&parents_, &children_, &undirected_, &adjacent_}) (*sets)[other].drop(node);
        queue.push_back(other);  // only the neighbours of a removed node can have become free
      });
    }
    parents_ = std::move(into);
    children_.assign(d_, NodeSet(d_)), undirected_.assign(d_, NodeSet(d_));
    for (int node = 0; node < nodes(); ++node) parents_[node].each([&](int parent) { children_[parent].add(node); });
    Members stuck;
    for (int node = 0; node < nodes(); ++node)
      if (left[node]) stuck.push_back(node);
    return stuck;
  }

 private:
  using Pairs = vector<std::pair<int, int>>;

  explicit Marks(size_t d)
      : d_(d), parents_(d, NodeSet(d)), children_(parents_), undirected_(parents_), adjacent_(parents_) {}

  int nodes() const { return static_cast<int>(d_); }
  int64_t step() const { return 50 + whole(d_); }

  void add(int a, int b, bool both) {
    adjacent_[a].add(b), adjacent_[b].add(a);
    if (both) return undirected_[a].add(b);
    children_[a].add(b), parents_[b].add(a);
  }

  void point(int a, int b) {
    undirected_[a].drop(b), undirected_[b].drop(a);
    children_[a].add(b), parents_[b].add(a);
  }

  void follow(Pairs& queue, Watch& watch) {
    while (!queue.empty()) {
      const auto [first, second] = queue.back();
      queue.pop_back();
      for (const auto& [a, b] : {std::pair(first, second), std::pair(second, first)}) {
        watch.check(step());
        if (!undirected_[a].has(b) || !is_compelled(a, b)) continue;
        point(a, b);
        affected(a, b, queue);
      }
    }
  }

  // Whether one of Meek's rules turns a - b into a -> b.
  bool is_compelled(int a, int b) const {
    if (parents_[a].leaves(adjacent_[b], b)) return true;  // rule 1: c -> a - b, c and b apart
    if (children_[a].meets(parents_[b])) return true;      // rule 2: a -> c -> b
    const auto apart_from = [&](int c) {                   // rule 3: a - c -> b, a - e -> b, c and e apart
      return undirected_[a].any_shared(parents_[b], [&](int e) { return e != c && !adjacent_[c].has(e); });
    };
    if (undirected_[a].any_shared(parents_[b], apart_from)) return true;
    const auto begins = [&](int e) {  // rule 4: a - c -> e -> b, c and b apart, a and e adjacent
      return undirected_[a].any_shared(parents_[e], [&](int c) { return !adjacent_[b].has(c); });
    };
    return parents_[b].any_shared(adjacent_[a], begins);
  }

  // The undirected edges that a new edge a -> b may direct.
  void affected(int a, int b, Pairs& queue) const {
    for (const int end : {a, b}) undirected_[end].each([&](int other) { queue.emplace_back(end, other); });
    undirected_[a].any_shared(adjacent_[b], [&](int beside) {  // a -> b as the first arrow of rule 4
      undirected_[beside].any_shared(children_[b], [&](int below) {
        queue.emplace_back(beside, below);
        return false;
      });
      return false;
    });
  }

  // Whether all undirected edges of a node can point to it without a new v-structure.
  bool may_be_sink(int node) const {
    const NodeSet& around = adjacent_[node];
    return !undirected_[node].any_shared(around, [&](int other) { return around.leaves(adjacent_[other], other); });
  }

  size_t d_;
  vector<NodeSet> parents_, children_, undirected_, adjacent_;
};

Marks closed(const Flags& graph, bool keep_all) {
  Marks marks(graph);
  watched([&](Watch& watch) {
    if (!keep_all) marks.keep_v_structures(watch);
    marks.close(watch);
    return 0;
  });
  return marks;
}
}  // namespace

void bind_meek(nb::module_& m) {
  nb::class_<Marks>(m, "ClosedGraph", "A partially directed graph that is closed under Meek's rules.")
      .def(
          "__init__", [](Marks* self, const Flags& graph) { new (self) Marks(closed(graph, true)); }, "graph"_a)
      .def(
          "direct",
          [](Marks& self, int64_t a, int64_t b) {
            for (const int64_t node : {a, b}) require_range(&node, 1, 0, whole(self.size()), "the nodes of an edge");
            const auto from = static_cast<int>(a), to = static_cast<int>(b);
            require(self.is_undirected(from, to), "only an undirected edge can be directed");
            watched([&](Watch& watch) { return self.direct(from, to, watch), 0; });
          },
          "Direct an undirected edge, and what follows from it.")
      .def(
          "is_undirected",
          [](const Marks& self, int64_t a, int64_t b) {
            for (const int64_t node : {a, b}) require_range(&node, 1, 0, whole(self.size()), "the nodes of an edge");
            return self.is_undirected(static_cast<int>(a), static_cast<int>(b));
          },
          "Return whether the graph has the undirected edge a - b.")
      .def("matrix", &Marks::matrix, "Return the matrix of the graph.");
  m.def(
      "meek_closure", [](const Flags& graph) { return closed(graph, true).matrix(); },
      "Return the graph with every undirected edge directed that follows from the directed ones.");
  m.def("dag_to_cpdag", [](const Flags& dag) { return closed(dag, false).matrix(); }, "Return the CPDAG of a DAG.");
  m.def(
      "extension",
      [](const Flags& graph) {
        Marks marks(graph);
        const Members stuck = watched([&](Watch& watch) { return marks.extend(watch); });
        return std::pair(marks.matrix(), to_numpy(vector<int64_t>(stuck.begin(), stuck.end())));
      },
      "Return a DAG with the directed edges and v-structures of a graph, and the nodes that could not be ordered.");
}
}  // namespace drbo
