// Maximal ancestral graphs: which are legal, and what they are worth under a linear Gaussian model.
//
// Directed and bidirected edges are kept as sets of nodes. The likelihood is the product over districts (nodes joined
// by bidirected edges) given their parents; a district of several nodes is fitted by residual iterative conditional
// fitting (Drton, Eichler & Richardson 2009), and its value is kept under its nodes, their parents and their bidirected
// edges.
#include <nanobind/stl/pair.h>

#include <cstring>
#include <unordered_map>

#include "arrays.h"
#include "node_sets.h"

namespace drbo {

namespace {

struct Mixed {
  explicit Mixed(std::size_t d) : parents(d, NodeSet(d)), children(d, NodeSet(d)), spouses(d, NodeSet(d)) {}

  int size() const { return static_cast<int>(parents.size()); }
  bool adjacent(int i, int j) const { return parents[i].has(j) || children[i].has(j) || spouses[i].has(j); }

  // 0: no edge, 1: i -> j, 2: i <- j, 3: i <-> j.
  int kind(int i, int j) const { return children[i].has(j) ? 1 : parents[i].has(j) ? 2 : spouses[i].has(j) ? 3 : 0; }

  void put(int i, int j, int kind) {
    for (auto* sets : {&parents, &children, &spouses}) (*sets)[i].drop(j), (*sets)[j].drop(i);
    if (kind == 1) children[i].add(j), parents[j].add(i);
    if (kind == 2) children[j].add(i), parents[i].add(j);
    if (kind == 3) spouses[i].add(j), spouses[j].add(i);
  }

  // The nodes that bidirected edges join to one of the given nodes, one list for each district.
  std::vector<Members> districts(const Members& nodes) const {
    std::vector<Members> found;
    NodeSet seen(parents.size());
    for (const int start : nodes) {
      if (seen.has(start)) continue;
      Members district{start};
      seen.add(start);
      for (std::size_t k = 0; k < district.size(); ++k)
        for (const int next : spouses[district[k]].members())
          if (!seen.has(next)) seen.add(next), district.push_back(next);
      std::sort(district.begin(), district.end());
      found.push_back(std::move(district));
    }
    return found;
  }

  std::vector<NodeSet> parents, children, spouses;
};

// The ancestors of every node, itself included; empty where there is a directed cycle.
std::vector<NodeSet> ancestors_of(const Mixed& graph) {
  const int d = graph.size();
  std::vector<NodeSet> found(d, NodeSet(d));
  std::vector<int> waiting(d);
  Members ready;
  for (int node = 0; node < d; ++node) {
    waiting[node] = static_cast<int>(graph.parents[node].size());
    if (waiting[node] == 0) ready.push_back(node);
  }
  for (std::size_t k = 0; k < ready.size(); ++k) {
    const int node = ready[k];
    found[node].add(node);
    graph.children[node].each([&](int child) {
      found[child].unite(found[node]);
      if (--waiting[child] == 0) ready.push_back(child);
    });
  }
  if (static_cast<int>(ready.size()) < d) found.clear();
  return found;
}

// The nodes to which a directed path leads from a node; the queue is room.
void descend(const Mixed& graph, int from, NodeSet& found, Members& queue) {
  found = graph.children[from];
  queue.clear();
  found.each([&](int node) { queue.push_back(node); });
  while (!queue.empty()) {
    const int node = queue.back();
    queue.pop_back();
    graph.children[node].each([&](int child) {
      if (!found.has(child)) found.add(child), queue.push_back(child);
    });
  }
}

// Whether a path of which every inner node is a collider and an ancestor of an end joins two nodes. In an ancestral
// graph such a path has at least two inner nodes, all of one district; below[k] are the descendants of its k-th node.
bool has_inducing_path(const Mixed& graph, const std::vector<NodeSet>& below, const Members& district, int i, int j) {
  std::vector<std::size_t> queue;
  std::vector<bool> seen(district.size());
  const auto visit = [&](std::size_t k) {
    const int node = district[k];
    if (seen[k] || node == i || node == j || !(below[k].has(i) || below[k].has(j))) return;
    seen[k] = true, queue.push_back(k);
  };
  for (std::size_t k = 0; k < district.size(); ++k)
    if (graph.children[i].has(district[k]) || graph.spouses[i].has(district[k])) visit(k);
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const int node = district[queue[at]];
    if (graph.children[j].has(node) || graph.spouses[j].has(node)) return true;
    for (std::size_t k = 0; k < district.size(); ++k)
      if (graph.spouses[node].has(district[k])) visit(k);
  }
  return false;
}

bool is_maximal(const Mixed& graph, const std::vector<NodeSet>& below, const Members& district) {
  NodeSet around(graph.parents.size());
  for (const int node : district) around.add(node), around.unite(graph.parents[node]);
  const Members ends = around.members();
  for (std::size_t a = 0; a < ends.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!graph.adjacent(ends[a], ends[b]) && has_inducing_path(graph, below, district, ends[a], ends[b]))
        return false;
  return true;
}

// Symmetric positive definite systems of a few rows, solved by L D L'.
class Solver {
 public:
  // False where the matrix (k, k) is not positive definite.
  bool factorise(const std::vector<double>& matrix, std::size_t k) {
    k_ = k, low_ = matrix, log_ = 0.0;
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        double sum = low_[i * k + j];
        for (std::size_t l = 0; l < j; ++l) sum -= low_[i * k + l] * low_[j * k + l] * low_[l * k + l];
        low_[i * k + j] = sum / low_[j * k + j];
      }
      double pivot = low_[i * k + i];
      for (std::size_t l = 0; l < i; ++l) pivot -= low_[i * k + l] * low_[i * k + l] * low_[l * k + l];
      if (!(pivot > SMALLEST * matrix[i * k + i])) return false;
      low_[i * k + i] = pivot;
      log_ += std::log(pivot);
    }
    return true;
  }

  void solve(double* x) const {
    for (std::size_t i = 0; i < k_; ++i)
      for (std::size_t l = 0; l < i; ++l) x[i] -= low_[i * k_ + l] * x[l];
    for (std::size_t i = k_; i-- > 0;) {
      x[i] /= low_[i * k_ + i];
      for (std::size_t l = i + 1; l < k_; ++l) x[i] -= low_[l * k_ + i] * x[l];
    }
  }

  double log_determinant() const { return log_; }

 private:
  static constexpr double SMALLEST = 1e-12;  // share of a variance under which a column counts as collinear
  std::size_t k_ = 0;
  std::vector<double> low_;
  double log_ = 0.0;
};

// A district with its parents, fitted node by node: each node is regressed on its parents and on what the residuals of
// its spouses say about its own residual, while the other nodes keep their coefficients.
class District {
 public:
  District(const double* correlation, std::size_t d, const Mixed& graph, const Members& nodes) : k_(nodes.size()) {
    NodeSet all(d);
    for (const int node : nodes) all.unite(graph.parents[node]);
    for (const int node : nodes) all.drop(node);
    Members columns = nodes;  // the nodes first, then the parents outside
    for (const int node : all.members()) columns.push_back(node);
    m_ = columns.size();
    moments_.resize(m_ * m_);
    for (std::size_t a = 0; a < m_; ++a)
      for (std::size_t b = 0; b < m_; ++b) moments_[a * m_ + b] = correlation[columns[a] * d + columns[b]];
    parents_.resize(k_), spouses_.resize(k_);
    for (std::size_t r = 0; r < k_; ++r) {
      for (std::size_t a = 0; a < m_; ++a) {
        if (graph.parents[nodes[r]].has(columns[a])) parents_[r].push_back(a);
        if (a < k_ && graph.spouses[nodes[r]].has(columns[a])) spouses_[r].push_back(a);
      }
    }
    residual_.assign(k_ * m_, 0.0), noise_.assign(k_ * k_, 0.0);
    for (std::size_t r = 0; r < k_; ++r) residual_[r * m_ + r] = 1.0, noise_[r * k_ + r] = moments_[r * m_ + r];
  }

  std::size_t edges() const {
    std::size_t count = 0, twice = 0;
    for (std::size_t r = 0; r < k_; ++r) count += parents_[r].size(), twice += spouses_[r].size();
    return count + twice / 2;
  }

  // ln |noise covariance| + trace - k, which is -2/n of the log likelihood without constants; NaN: collinear columns.
  double fit(double tolerance, int most, Watch& watch) {
    double value = std::numeric_limits<double>::quiet_NaN(), last = std::numeric_limits<double>::infinity();
    for (int round = 0; round < most; ++round) {
      for (std::size_t r = 0; r < k_; ++r) {
        if (!update(r)) return std::numeric_limits<double>::quiet_NaN();
        watch.check(40 * static_cast<std::int64_t>(m_ * m_ + k_ * k_));
      }
      value = deviance();
      if (k_ == 1 || !(std::abs(last - value) >= tolerance)) break;
      last = value;
    }
    return value;
  }

 private:
  bool update(std::size_t r) {
    const std::size_t p = parents_[r].size(), s = spouses_[r].size(), q = p + s, others = k_ - 1;
    regressors_.assign(q * m_, 0.0);
    for (std::size_t a = 0; a < p; ++a) regressors_[a * m_ + parents_[r][a]] = 1.0;
    if (s && !pseudo_variables(r, p)) return false;
    gram_.resize(q * q), right_.resize(q);
    for (std::size_t a = 0; a < q; ++a) {
      times_moments(&regressors_[a * m_]);
      for (std::size_t b = 0; b < q; ++b) gram_[a * q + b] = dot(product_, &regressors_[b * m_]);
      right_[a] = product_[r];
    }
    weights_ = right_;
    double variance = moments_[r * m_ + r];
    if (q) {
      if (!regression_.factorise(gram_, q)) return false;
      regression_.solve(weights_.data());
      for (std::size_t a = 0; a < q; ++a) variance -= weights_[a] * right_[a];
    }
    if (!(variance > FLOOR)) {
      if (k_ > 1) return false;
      variance = FLOOR;
    }
    for (std::size_t a = 0; a < p; ++a) residual_[r * m_ + parents_[r][a]] = -weights_[a];
    if (s) {
      shared_.assign(others, 0.0);
      for (std::size_t a = 0; a < s; ++a) {
        const std::size_t other = spouses_[r][a];
        noise_[r * k_ + other] = noise_[other * k_ + r] = weights_[p + a];
        shared_[other - (other > r)] = weights_[p + a];
      }
      explained_ = shared_;
      rest_.solve(explained_.data());
      for (std::size_t a = 0; a < others; ++a) variance += shared_[a] * explained_[a];
    }
    noise_[r * k_ + r] = variance;
    return true;
  }

  // Rows p, p + 1, ... of the regressors: the residuals of the other nodes times the inverse of their covariance, at
  // the spouses of r.
  bool pseudo_variables(std::size_t r, std::size_t p) {
    const std::size_t others = k_ - 1;
    block_.resize(others * others);
    for (std::size_t a = 0; a < others; ++a)
      for (std::size_t b = 0; b < others; ++b) block_[a * others + b] = noise_[(a + (a >= r)) * k_ + b + (b >= r)];
    if (!rest_.factorise(block_, others)) return false;
    for (std::size_t a = 0; a < spouses_[r].size(); ++a) {
      unit_.assign(others, 0.0);
      unit_[spouses_[r][a] - (spouses_[r][a] > r)] = 1.0;
      rest_.solve(unit_.data());
      for (std::size_t b = 0; b < others; ++b)
        for (std::size_t c = 0; c < m_; ++c)
          regressors_[(p + a) * m_ + c] += unit_[b] * residual_[(b + (b >= r)) * m_ + c];
    }
    return true;
  }

  double deviance() {
    if (!rest_.factorise(noise_, k_)) return std::numeric_limits<double>::quiet_NaN();
    double trace = 0.0;
    for (std::size_t r = 0; r < k_; ++r) {
      times_moments(&residual_[r * m_]);
      unit_.resize(k_);
      for (std::size_t a = 0; a < k_; ++a) unit_[a] = dot(product_, &residual_[a * m_]);
      rest_.solve(unit_.data());
      trace += unit_[r];
    }
    return rest_.log_determinant() + trace - static_cast<double>(k_);
  }

  void times_moments(const double* row) {
    product_.assign(m_, 0.0);
    for (std::size_t a = 0; a < m_; ++a)
      for (std::size_t b = 0; b < m_; ++b) product_[b] += row[a] * moments_[a * m_ + b];
  }

  double dot(const std::vector<double>& a, const double* b) const {
    double sum = 0.0;
    for (std::size_t c = 0; c < m_; ++c) sum += a[c] * b[c];
    return sum;
  }

  static constexpr double FLOOR = 1e-12;  // residual variance that counts as a perfect fit
  std::size_t k_, m_ = 0;                 // nodes; nodes and parents
  std::vector<std::vector<std::size_t>> parents_, spouses_;
  std::vector<double> moments_, residual_, noise_, regressors_, gram_, right_, weights_, shared_, explained_, block_,
      unit_, product_;
  Solver regression_, rest_;
};

// ---- the border ----

using Listed = std::pair<Result<std::uint8_t, 2>, Result<double, 1>>;

class AncestralScore {
 public:
  AncestralScore(const Table& correlation, double rows, double price, int largest, const Flags& never, double tolerance)
      : d_(correlation.shape(0)), rows_(rows), price_(price), largest_(largest), tolerance_(tolerance) {
    require_shape({d_, d_}, "correlation", correlation);
    require_shape({d_, d_}, "never", never);
    require(rows > 0 && price >= 0 && largest >= 1 && tolerance > 0, "rows, price, largest or tolerance out of range");
    correlation_.assign(correlation.data(), correlation.data() + d_ * d_);
    never_.assign(d_, NodeSet(d_));
    for (std::size_t i = 0; i < d_; ++i)
      for (std::size_t j = 0; j < d_; ++j)
        if (flags(never)[i * d_ + j]) never_[j].add(static_cast<int>(i));
  }

  double total(const Flags& directed, const Flags& bidirected) {
    const Mixed graph = read(directed, bidirected);
    return watched([&](Watch& watch) {
      double sum = 0.0;
      for (const Members& district : graph.districts(everything())) sum += value(graph, district, watch);
      return sum;
    });
  }

  bool legal(const Flags& directed, const Flags& bidirected) const { return legal(read(directed, bidirected)); }

  Result<double, 1> gains(const Flags& directed, const Flags& bidirected, const In<std::int64_t, 2>& moves) {
    Mixed graph = read(directed, bidirected);
    const std::size_t m = moves.shape(0);
    require_shape({m, 3}, "moves", moves);
    const std::int64_t* move = moves.data();
    for (std::size_t k = 0; k < m; ++k, move += 3) {
      require_range(move, 2, 0, whole(d_), "the nodes of a move");
      require_range(move + 2, 1, 0, 4, "the kind of a move");
      require(move[0] != move[1], "a move must have two nodes");
    }
    Owned<double, 1> found({m});
    const Form form = form_of(graph);
    watched([&](Watch& watch) {
      for (std::size_t k = 0; k < m; ++k) {
        const std::int64_t* at = moves.data() + 3 * k;
        found[k] = gain(graph, static_cast<int>(at[0]), static_cast<int>(at[1]), static_cast<int>(at[2]), form, watch);
        watch.check(2000 + 40 * whole(d_));
      }
      return 0;
    });
    return found.give();
  }

  // Every legal graph with the required arrows that is worth at least so much: the edge of each pair i < j, row by row
  // (0 none, 1 ->, 2 <-, 3 <->), and the scores. The likelihood of no graph exceeds that of all edges.
  Listed listed(const Flags& required, double least) {
    require(d_ <= MOST_LISTED, "too many columns to list all graphs");
    require_shape({d_, d_}, "required", required);
    std::vector<std::uint8_t> kinds;
    std::vector<double> found;
    watched([&](Watch& watch) {
      Listing listing{flags(required), log_determinants(), {}, least, Mixed(d_), {}, kinds, found, watch};
      if (listing.logs.empty()) return 0;
      for (unsigned i = 0; i < d_; ++i)
        for (unsigned j = 0; j < d_; ++j) listing.losses.push_back(i == j ? 0.0 : least_loss(listing.logs, i, j));
      list(listing, 0, 1, -rows_ * listing.logs.back(), 0.0);
      return 0;
    });
    const std::size_t pairs = d_ * (d_ - 1) / 2;
    Owned<std::uint8_t, 2> edges({found.size(), pairs});
    for (std::size_t k = 0; k < kinds.size(); ++k) edges[k] = kinds[k];
    return {edges.give(), to_numpy(found)};
  }

  std::size_t known() const { return known_.size(); }

 private:
  struct Listing {
    const std::uint8_t* required;
    std::vector<double> logs;    // ln |correlation| of every set of nodes, by its bits
    std::vector<double> losses;  // (d, d) what the likelihood loses at least where a pair has no edge
    double least;
    Mixed graph;
    std::vector<std::uint8_t> chosen;  // the edges of the pairs so far
    std::vector<std::uint8_t>& kinds;
    std::vector<double>& scores;
    Watch& watch;
  };

  std::vector<double> log_determinants() const {
    std::vector<double> found{0.0};
    Solver solver;
    for (unsigned set = 1; set < 1u << d_; ++set) {
      Members nodes;
      for (const int node : everything())
        if (set >> node & 1) nodes.push_back(node);
      std::vector<double> part;
      for (const int i : nodes)
        for (const int j : nodes) part.push_back(correlation_[i * d_ + j]);
      if (!solver.factorise(part, nodes.size())) return {};
      found.push_back(solver.log_determinant());
    }
    return found;
  }

  // What twice the log likelihood loses at least where some set separates two nodes.
  double least_loss(const std::vector<double>& logs, unsigned i, unsigned j) const {
    const unsigned a = 1u << i, b = 1u << j;
    double least = std::numeric_limits<double>::infinity();
    for (unsigned set = 0; set < logs.size(); ++set)
      if (!(set & (a | b))) least = std::min(least, logs[set | a] + logs[set | b] - logs[set | a | b] - logs[set]);
    return rows_ * least;
  }

  // What -2/n of the log likelihood of a graph is at least. A node without children in a set that holds the ancestors
  // of its members depends on the set through its Markov blanket there alone (Richardson 2003). So the nodes leave one
  // by one, and each costs what its blanket leaves open; the order with the highest cost counts. Exact for DAGs.
  static double least_deviance(const Mixed& graph, const std::vector<double>& logs) {
    const auto bits = [](const NodeSet& nodes) { return static_cast<unsigned>(nodes.words()[0]); };
    std::vector<double> cost(logs.size(), NEVER);
    cost[0] = 0.0;
    for (unsigned set = 1; set < logs.size(); ++set) {
      for (int node = 0; node < graph.size(); ++node) {
        const unsigned left = set & ~(1u << node);
        if (left == set || cost[left] == NEVER) continue;
        if ((bits(graph.children[node]) & set) || (bits(graph.parents[node]) & ~set)) continue;
        unsigned district = 0, blanket = 0;
        for (unsigned next = 1u << node; next != district;) {
          district = next;
          for (int one = 0; one < graph.size(); ++one)
            if (district >> one & 1) next |= bits(graph.spouses[one]) & set, blanket |= bits(graph.parents[one]);
        }
        blanket = (blanket | district) & left;
        cost[set] = std::max(cost[set], cost[left] + logs[blanket | 1u << node] - logs[blanket]);
      }
    }
    return cost.back();
  }

  // Choose the edge of the pair i < j and of all pairs after it. `bound` is above the score of every graph with the
  // edges so far if no edge follows, but for `lost`, which is lost to pairs without an edge.
  void list(Listing& all, std::size_t i, std::size_t j, double bound, double lost) {
    if (j == d_) ++i, j = i + 1;
    if (j >= d_) {
      all.watch.check(2000);
      const double edges = static_cast<double>(all.chosen.size() - std::count(all.chosen.begin(), all.chosen.end(), 0));
      if (-rows_ * least_deviance(all.graph, all.logs) - price_ * edges < all.least - ROUNDING) return;
      if (!legal(all.graph)) return;
      double sum = 0.0;
      for (const Members& district : all.graph.districts(everything())) sum += value(all.graph, district, all.watch);
      if (!(sum >= all.least)) return;
      all.kinds.insert(all.kinds.end(), all.chosen.begin(), all.chosen.end());
      all.scores.push_back(sum);
      return;
    }
    const bool forward = all.required[i * d_ + j], backward = all.required[j * d_ + i];
    for (int kind = forward ? 1 : backward ? 2 : 0; kind <= (forward ? 1 : backward ? 2 : 3); ++kind) {
      const double left = bound - (kind ? price_ : 0.0), gone = kind ? lost : std::max(lost, all.losses[i * d_ + j]);
      if (left - gone < all.least) continue;
      all.graph.put(static_cast<int>(i), static_cast<int>(j), kind);
      all.chosen.push_back(static_cast<std::uint8_t>(kind));
      if (!kind || ancestral(all.graph, ancestors_of(all.graph))) list(all, i, j + 1, left, gone);
      all.chosen.pop_back();
    }
    all.graph.put(static_cast<int>(i), static_cast<int>(j), 0);
  }

  // No directed cycle, no spouse or forbidden node among the ancestors: no further edge mends a graph that is not.
  bool ancestral(const Mixed& graph, const std::vector<NodeSet>& ancestors) const {
    if (ancestors.empty()) return d_ == 0;
    for (std::size_t node = 0; node < d_; ++node)
      if (ancestors[node].meets(graph.spouses[node]) || ancestors[node].meets(never_[node])) return false;
    return true;
  }

  Members everything() const {
    Members all(d_);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  Mixed read(const Flags& directed, const Flags& bidirected) const {
    require_shape({d_, d_}, "directed and bidirected", directed, bidirected);
    const std::uint8_t *arrows = flags(directed), *both = flags(bidirected);
    Mixed graph(d_);
    const auto put = [&](std::size_t i, std::size_t j) {
      const bool to = arrows[i * d_ + j], spouse = both[i * d_ + j];
      if (!to && !spouse) return;
      require(i != j, "a graph must have no loops");
      require(spouse == static_cast<bool>(both[j * d_ + i]), "bidirected edges must be symmetric");
      require(to + arrows[j * d_ + i] + spouse <= 1, "two nodes must have at most one edge");
      graph.put(static_cast<int>(i), static_cast<int>(j), to ? 1 : 3);
    };
    for (std::size_t cell = 0; cell < d_ * d_; cell += 8) {  // few cells have an edge: eight are looked at together
      std::uint64_t parts[2] = {};
      const std::size_t width = std::min<std::size_t>(8, d_ * d_ - cell);
      std::memcpy(&parts[0], arrows + cell, width), std::memcpy(&parts[1], both + cell, width);
      for (std::size_t k = 0; (parts[0] | parts[1]) && k < width; ++k) put((cell + k) / d_, (cell + k) % d_);
    }
    return graph;
  }

  bool legal(const Mixed& graph) const { return ancestral(graph, ancestors_of(graph)) && has_legal_districts(graph); }

  // Whether the districts of a graph without directed cycles are small, have no path from one node to a spouse, and
  // leave no pair without an edge that no set separates.
  bool has_legal_districts(const Mixed& graph) const {
    Members joined;
    for (int node = 0; node < graph.size(); ++node)
      if (!graph.spouses[node].empty()) joined.push_back(node);
    Members queue;
    for (const Members& district : graph.districts(joined)) {
      if (static_cast<int>(district.size()) > largest_) return false;
      std::vector<NodeSet> below(district.size());
      for (std::size_t k = 0; k < district.size(); ++k) {
        descend(graph, district[k], below[k], queue);
        if (below[k].meets(graph.spouses[district[k]])) return false;
      }
      if (!is_maximal(graph, below, district)) return false;
    }
    return true;
  }

  // What is known of a graph before an edge changes: nothing; that no directed path leads from a node to itself, and
  // any column may be an ancestor of any other; or moreover that it is a DAG.
  enum class Form { ANY, ACYCLIC, PLAIN };

  Form form_of(const Mixed& graph) const {
    const auto is_empty = [](const NodeSet& set) { return set.empty(); };
    if (!std::all_of(never_.begin(), never_.end(), is_empty)) return Form::ANY;
    if (d_ != 0 && ancestors_of(graph).empty()) return Form::ANY;
    return std::all_of(graph.spouses.begin(), graph.spouses.end(), is_empty) ? Form::PLAIN : Form::ACYCLIC;
  }

  // Whether a graph is legal after the edge of i and j became another one.
  bool stays_legal(const Mixed& graph, int i, int j, int kind, Form before) {
    if ((kind == 2 || kind == 3) && leads(graph, i, j)) return false;
    if ((kind == 1 || kind == 3) && leads(graph, j, i)) return false;
    if (before == Form::ANY) return legal(graph);
    return (before == Form::PLAIN && kind != 3) || has_legal_districts(graph);
  }

  // Whether a directed path leads from one node to another.
  bool leads(const Mixed& graph, int from, int to) {
    descend(graph, from, seen_, queue_);
    return seen_.has(to);
  }

  // What changing one edge adds to the score; minus infinity where the graph would not be legal.
  double gain(Mixed& graph, int i, int j, int kind, Form form, Watch& watch) {
    const int before = graph.kind(i, j);
    if (before == kind) return 0.0;
    const Members ends{i, j};
    std::vector<Members> districts = graph.districts(ends);
    Members touched;
    double change = 0.0;
    for (const Members& district : districts) {
      change -= value(graph, district, watch);
      touched.insert(touched.end(), district.begin(), district.end());
    }
    graph.put(i, j, kind);
    if (stays_legal(graph, i, j, kind, form)) {
      for (const Members& district : graph.districts(touched)) change += value(graph, district, watch);
      if (std::isnan(change)) change = NEVER;
    } else {
      change = NEVER;
    }
    graph.put(i, j, before);
    return change;
  }

  double value(const Mixed& graph, const Members& nodes, Watch& watch) {
    std::vector<std::uint64_t>& key = key_;
    key.clear();
    for (const int node : nodes) {
      key.push_back(static_cast<std::uint64_t>(node));
      for (const auto* sets : {&graph.parents, &graph.spouses})
        key.insert(key.end(), (*sets)[node].words().begin(), (*sets)[node].words().end());
    }
    const auto place = known_.find(key);
    if (place != known_.end()) return place->second;
    District district(correlation_.data(), d_, graph, nodes);
    const double fitted = district.fit(tolerance_, MOST_ROUNDS, watch);
    const double found = -rows_ * fitted - price_ * static_cast<double>(district.edges());
    known_.emplace(key, found);
    return found;
  }

  struct Mixing {
    std::size_t operator()(const std::vector<std::uint64_t>& key) const {
      std::uint64_t mixed = key.size();
      for (const std::uint64_t word : key) mixed = (mixed ^ word) * 0x9e3779b97f4a7c15, mixed ^= mixed >> 32;
      return mixed;
    }
  };

  static constexpr int MOST_ROUNDS = 500;
  static constexpr std::size_t MOST_LISTED = 5;  // columns: 4^10 graphs before the bound
  static constexpr double ROUNDING = 1e-6;       // by which a bound may be too low
  std::size_t d_;
  double rows_, price_;
  int largest_;
  double tolerance_;
  std::vector<double> correlation_;
  std::vector<NodeSet> never_;  // the nodes that must not be ancestors of a node
  std::unordered_map<std::vector<std::uint64_t>, double, Mixing> known_;
  std::vector<std::uint64_t> key_;  // room for a key
  NodeSet seen_;                    // room for searches of a path
  Members queue_;
};

}  // namespace

void bind_ancestral(nb::module_& m) {
  nb::class_<AncestralScore>(m, "AncestralScore", "Scores of maximal ancestral graphs, kept by district.")
      .def(nb::init<const Table&, double, double, int, const Flags&, double>(), "correlation"_a, "rows"_a, "price"_a,
           "largest"_a, "never"_a, "tolerance"_a)
      .def("total", &AncestralScore::total, "Return the score of a graph; NaN where columns are collinear.")
      .def(
          "legal",
          [](const AncestralScore& self, const Flags& directed, const Flags& bidirected) {
            return self.legal(directed, bidirected);
          },
          "Return whether a graph is ancestral, maximal, with small districts and no forbidden ancestor.")
      .def("gains", &AncestralScore::gains, "Return what changing one edge adds to the score.")
      .def("listed", &AncestralScore::listed,
           "Return every legal graph that is worth at least so much, with its score.")
      .def_prop_ro("known", &AncestralScore::known, "Number of districts with a known value.");
}

}  // namespace drbo
