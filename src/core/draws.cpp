// Climbs over DAGs: take the best single-edge move of a drawn function until none gains.
//
// A drawn function gives every family a value, so all d (d - 1) additions and removals of one DAG cost a few
// matrix-vector products. With x the signs of the parents (+1: in the set), the value of node i is
//   offset + sum over parents of slope + sum_r weight_r decay^|x - x_r| + sum_k amplitude_k (-1)^(x . member_k)
//   + relative c(x),
// c the value of a cheap score. Families that are known have their true value. Where a superset never fits worse, a
// value is cut to what the known subsets and supersets allow. Every DAG on the way obeys the knowledge.
#include <nanobind/stl/pair.h>

#include "arrays.h"
#include "numbers.h"

namespace drbo {
namespace {

constexpr double NAN_ = std::numeric_limits<double>::quiet_NaN();
// A move must gain more than this, on the scale of the score.
constexpr double MIN_GAIN = 1e-7;

// The values of known families. The key of a family is the exclusive or of random words: code[i, d] for the node,
// code[i, j] for each parent.
class FamilyTable {
 public:
  explicit FamilyTable(const In<uint64_t, 2>& code) : code_(code) { require_shape({d(), d() + 1}, "code", code); }
  size_t d() const { return code_.shape(0); }
  const uint64_t* code(size_t node) const { return code_.data() + node * (d() + 1); }
  double at(uint64_t key) const { return table_.find(key).value; }

  Result<double, 1> look_up(const Masks& keys) const {
    Owned<double, 1> values({keys.shape(0)});
    for (size_t row = 0; row < keys.shape(0); ++row) values[row] = at(keys[row]);
    return values.give();
  }

  void insert(const Masks& keys, const Row& values) {
    require_shape({keys.shape(0)}, "values", values);
    require(std::find(keys.data(), keys.data() + keys.shape(0), 0u) == keys.data() + keys.shape(0), "no key may be 0");
    for (size_t row = 0; row < keys.shape(0); ++row) table_.take(keys[row], [] {}).value = values[row];
  }

 private:
  struct Entry {
    uint64_t key = 0;
    double value = NAN_;
  };
  In<uint64_t, 2> code_;  // (d, d + 1)
  HashTable<Entry> table_;
};

struct DrawnFunctions {
  Table signs;     // (d, m) +1 where a candidate is in the parent set of a known family, else -1
  Ints starts;     // (d + 1,) where each node's families begin
  Table decay;     // (d, d + 1) powers of each node's decay
  Cube members;    // (d, d, F) 1 where candidate j is in the parity feature k of node i
  Table offset;    // (S, d)
  Cube slope;      // (S, d, d) by node, candidate
  Table weight;    // (S, m)
  Cube amplitude;  // (S, d, F)
  Table relative;  // (S, d), or (S, 0): there is no cheap score
  Row low, high;   // (d,) values are cut to this range
  Row truth;       // (m,) the values of the known families, or (0,): a superset may fit worse
  size_t d = 0, m = 0, draws = 0, features = 0;

  void check() {
    d = signs.shape(0), m = signs.shape(1), draws = offset.shape(0), features = members.shape(2);
    require(d >= 1, "there must be nodes");
    require_starts(starts, d, m);
    require_shape({d, d + 1}, "decay", decay);
    require_shape({d, d, features}, "members", members);
    require_shape({draws, d}, "offset", offset);
    require_shape({draws, d, d}, "slope", slope);
    require_shape({draws, m}, "weight", weight);
    require_shape({draws, d, features}, "amplitude", amplitude);
    require_shape({draws, relative.shape(1) == 0 ? 0 : d}, "relative", relative);
    require_shape({d}, "low and high", low, high);
    require_shape({truth.shape(0) == 0 ? 0 : m}, "truth", truth);
    bool unit = true;
    for (size_t k = 0; k < d * m; ++k) unit &= std::abs(signs[k]) == 1.0;
    require(unit, "signs must be +1 or -1");  // they choose a power of the decay
  }

  // About how many nanoseconds the values around one family take.
  int64_t work() const { return static_cast<int64_t>(d * (m / d + features + 20)); }
};

// What the climb maximises, and which DAGs it may visit.
struct ClimbRules {
  Flags allowed, required;  // (d, d)
  Ints max_parents;         // (d,)
  Table price;              // (d, d) what edge i -> j adds to the score, mostly negative
  Row gain;                 // (d,) the share of a family is gain * value, or with a level
  double level = 0.0;       // above 0 gain / level * exp(value)
  size_t d = 0;

  void check() {
    d = allowed.shape(0);
    require_shape({d, d}, "allowed, required and price", allowed, required, price);
    require_shape({d}, "max_parents", max_parents);
    require_shape({d}, "gain", gain);
  }

  double share(double value, size_t node) const {
    return level > 0 ? gain[node] / level * std::exp(value) : gain[node] * value;
  }
};

// Everything that a climb looks at.
struct View {
  const DrawnFunctions& drawn;
  const ClimbRules& rules;
  const FamilyTable& known;
  const FamilyTable& cheap;

  View(const DrawnFunctions& drawn_, const ClimbRules& rules_, const FamilyTable& known_, const FamilyTable& cheap_)
      : drawn(drawn_), rules(rules_), known(known_), cheap(cheap_) {
    require(rules.d == drawn.d && known.d() == drawn.d && cheap.d() == drawn.d,
            "functions, rules and tables must have the same nodes");
  }
};

// Room for the values around one family.
struct Room {
  explicit Room(const DrawnFunctions& drawn) : x(drawn.d), wave(drawn.features), out(drawn.d) {
    for (vector<double>* part : {&low, &high}) part->resize(drawn.d + 1);
    for (vector<double>* part : {&pull, &fewer, &more, &one_fewer, &one_more}) part->resize(drawn.m);
  }
  vector<double> x, pull, wave, out, low, high, fewer, more, one_fewer, one_more;
};

// Writes the drawn value of a node with each candidate j toggled in its parent signs x; returns that of x.
WIDE double toggled_values(const DrawnFunctions& f, size_t node, size_t draw, Room& room) {
  const size_t d = f.d, first = f.starts[node], count = f.starts[node + 1] - first;
  const double* __restrict x = room.x.data();
  double* __restrict pull = room.pull.data();
  double* __restrict wave = room.wave.data();
  const double* slope = f.slope.data() + (draw * d + node) * d;
  const double* decay = f.decay.data() + node * (d + 1);
  const double* weight = f.weight.data() + draw * f.m + first;
  const double* members = f.members.data() + node * d * f.features;
  double base = f.offset[draw * d + node];
  std::copy_n(f.amplitude.data() + (draw * d + node) * f.features, f.features, wave);
  std::fill_n(pull, count, 0.0);
  for (size_t j = 0; j < d; ++j) {
    if (j == node) continue;
    if (x[j] > 0) {
      base += slope[j];
      for (size_t k = 0; k < f.features; ++k) wave[k] *= 1.0 - 2.0 * members[j * f.features + k];
    }
    const double* sign = f.signs.data() + j * f.m + first;
    for (size_t r = 0; r < count; ++r) pull[r] += sign[r] * x[j];
  }
  for (size_t r = 0; r < count; ++r)
    pull[r] = weight[r] * decay[static_cast<size_t>((static_cast<double>(d - 1) - pull[r]) * 0.5 + 0.25)];
  const double total = sum_terms<double>(count, [&](size_t r) { return pull[r]; });
  const double waves = sum_terms<double>(f.features, [&](size_t k) { return wave[k]; });
  const double near = decay[1], far = 1.0 / decay[1];
  for (size_t j = 0; j < d; ++j) {
    if (j == node) continue;
    const double* sign = f.signs.data() + j * f.m + first;
    const double* member = members + j * f.features;
    // The sum over families that agree about j, minus those that do not.
    const double agree = x[j] * sum_terms<double>(count, [&](size_t r) { return sign[r] * pull[r]; });
    const double flipped = sum_terms<double>(f.features, [&](size_t k) { return member[k] * wave[k]; });
    room.out[j] =
        base - x[j] * slope[j] + waves - 2.0 * flipped + 0.5 * (near * (total + agree) + far * (total - agree));
  }
  return base + total + waves;
}

// Writes the range of a node's value with each candidate j toggled in its parent signs x; last, that of x.
WIDE void set_bounds(const DrawnFunctions& f, size_t node, Room& room) {
  const size_t d = f.d, first = f.starts[node];
  double* __restrict low = room.low.data();
  double* __restrict high = room.high.data();
  std::fill_n(low, d + 1, f.low[node]);
  std::fill_n(high, d + 1, f.high[node]);
  if (f.truth.shape(0) == 0) return;
  const size_t count = f.starts[node + 1] - first;
  // Candidates that x has alone, and that the known set has alone; and the sum of their numbers: where there is one,
  // its own.
  double* __restrict fewer = room.fewer.data();
  double* __restrict more = room.more.data();
  double* __restrict one_fewer = room.one_fewer.data();
  double* __restrict one_more = room.one_more.data();
  for (double* sums : {fewer, more, one_fewer, one_more}) std::fill_n(sums, count, 0.0);
  for (size_t j = 0; j < d; ++j) {
    const double* sign = f.signs.data() + j * f.m + first;
    const double x = room.x[j], number = static_cast<double>(j);
    for (size_t r = 0; r < count; ++r) {
      const double gone = std::max(0.0, (x - sign[r]) * 0.5), come = std::max(0.0, (sign[r] - x) * 0.5);
      fewer[r] += gone;
      one_fewer[r] += gone * number;
      more[r] += come;
      one_more[r] += come * number;
    }
  }
  for (size_t r = 0; r < count; ++r) {
    const double value = f.truth[first + r];
    if (fewer[r] == 0) {  // the known set holds x
      low[d] = std::max(low[d], value);
      for (size_t j = 0; j < d; ++j)
        if (f.signs[j * f.m + first + r] > 0) low[j] = std::max(low[j], value);
    } else if (fewer[r] == 1) {
      double& one = low[static_cast<size_t>(one_fewer[r])];
      one = std::max(one, value);
    }
    if (more[r] == 0) {  // x holds the known set
      high[d] = std::min(high[d], value);
      for (size_t j = 0; j < d; ++j)
        if (f.signs[j * f.m + first + r] < 0) high[j] = std::min(high[j], value);
    } else if (more[r] == 1) {
      double& one = high[static_cast<size_t>(one_more[r])];
      one = std::min(one, value);
    }
  }
}

// Writes what toggling each candidate parent of a node adds to the drawn score; returns what the node adds without the
// price of its edges, NaN where a cheap score lacks. Parents are flags, `stride` apart.
double set_changes(const View& view, size_t node, size_t draw, const uint8_t* parents, size_t stride, Room& room,
                   double* change) {
  const DrawnFunctions& f = view.drawn;
  const size_t d = f.d;
  const uint64_t* code = view.known.code(node);
  uint64_t key = code[d];
  for (size_t j = 0; j < d; ++j) {
    const bool parent = parents[j * stride];
    room.x[j] = parent ? 1.0 : -1.0;
    if (parent) key ^= code[j];
  }
  const double drawn = toggled_values(f, node, draw, room);
  set_bounds(f, node, room);
  // The true value of a family, else the drawn one with the part of the cheap score, cut to its range.
  const auto value_of = [&](uint64_t family, double value, size_t place) {
    const double known = view.known.at(family);
    if (!std::isnan(known)) return known;
    if (f.relative.shape(1) > 0) value += f.relative[draw * d + node] * view.cheap.at(family);
    return std::isnan(value) ? NAN_ : std::max(std::min(value, room.high[place]), room.low[place]);
  };
  const double now = view.rules.share(value_of(key, drawn, d), node);
  bool whole = !std::isnan(now);
  for (size_t j = 0; j < d; ++j) {
    if (j == node) continue;
    const double value = value_of(key ^ code[j], room.out[j], j);
    change[j] = view.rules.share(value, node) - now - room.x[j] * view.rules.price[j * d + node];
    whole &= !std::isnan(value);
  }
  return whole ? now : NAN_;
}

// Sets reach[i, j]: there is a path from i to j. Nodes are finished in reverse topological order.
WIDE void set_reach(const uint8_t* dag, size_t d, uint8_t* reach) {
  vector<size_t> left(d), ready;
  for (size_t i = 0; i < d; ++i) {
    for (size_t j = 0; j < d; ++j) {
      reach[i * d + j] = dag[i * d + j] != 0;
      left[i] += dag[i * d + j] != 0;
    }
    if (left[i] == 0) ready.push_back(i);
  }
  for (size_t done = 0; done < ready.size(); ++done) {
    const size_t node = ready[done];
    for (size_t i = 0; i < d; ++i) {
      if (!dag[i * d + node]) continue;
      for (size_t j = 0; j < d; ++j) reach[i * d + j] |= reach[node * d + j];
      if (--left[i] == 0) ready.push_back(i);
    }
  }
}

// One climb, as it goes on from call to call.
struct Climb {
  uint8_t* dag;    // (d, d)
  double* change;  // (d, d) by node, candidate
  uint8_t* stale;  // (d,) nodes whose changes are not known
  int64_t* moves;
};

enum class Kind { NONE, REMOVE, ADD, TURN };

struct Move {
  Kind kind;
  size_t source, target;
};

class DrawClimb {
 public:
  DrawClimb(const View& view, size_t draw, const Climb& climb)
      : view_(view), draw_(draw), at_(climb), d_(view.drawn.d), room_(view.drawn), reach_(d_ * d_), n_parents_(d_) {
    for (size_t node = 0; node < d_; ++node)
      for (size_t i = 0; i < d_; ++i) n_parents_[node] += at_.dag[i * d_ + node] != 0;
  }

  // Climbs until no move gains, or until a cheap score lacks: the nodes that need it stay stale.
  void run(Watch& watch) {
    while (true) {
      bool waiting = false;
      for (size_t node = 0; node < d_; ++node) {
        if (!at_.stale[node]) continue;
        if (watch.over(view_.drawn.work())) return;
        const double added = set_changes(view_, node, draw_, at_.dag + node, d_, room_, at_.change + node * d_);
        at_.stale[node] = std::isnan(added);
        waiting |= std::isnan(added);
      }
      if (waiting) return;
      set_reach(at_.dag, d_, reach_.data());
      const Move move = best_move();
      if (move.kind == Kind::NONE || *at_.moves >= static_cast<int64_t>(d_ * d_)) return;  // rounding could circle
      ++*at_.moves;
      apply(move);
    }
  }

 private:
  bool edge(size_t i, size_t j) const { return at_.dag[i * d_ + j]; }
  bool has_room(size_t node) const { return n_parents_[node] < view_.rules.max_parents[node]; }

  void apply(const Move& move) {
    const auto [kind, i, j] = move;
    at_.dag[i * d_ + j] = kind == Kind::ADD;
    n_parents_[j] += kind == Kind::ADD ? 1 : -1;
    at_.stale[j] = true;
    if (kind == Kind::TURN) {
      at_.dag[j * d_ + i] = true;
      ++n_parents_[i];
      at_.stale[i] = true;
    }
  }

  // Whether a path leads from i to j beside the edge.
  bool second_path(size_t i, size_t j) const {
    for (size_t child = 0; child < d_; ++child)
      if (edge(i, child) && child != j && reach_[child * d_ + j]) return true;
    return false;
  }

  Move best_move() const {
    const uint8_t *allowed = flags(view_.rules.allowed), *required = flags(view_.rules.required);
    vector<uint8_t> closed;  // reversals that turned out to close a cycle
    while (true) {
      double best = MIN_GAIN;
      Move move{Kind::NONE, 0, 0};
      for (size_t j = 0; j < d_; ++j)
        for (size_t i = 0; i < d_; ++i) {
          if (i == j) continue;
          const double change = at_.change[j * d_ + i];
          if (edge(i, j)) {
            if (required[i * d_ + j]) continue;
            if (change > best) best = change, move = {Kind::REMOVE, i, j};
            const double turned = change + at_.change[i * d_ + j];
            if (turned > best && allowed[j * d_ + i] && !(closed.size() && closed[i * d_ + j]) && has_room(i))
              best = turned, move = {Kind::TURN, i, j};
          } else if (change > best && allowed[i * d_ + j] && !reach_[j * d_ + i] && has_room(j)) {
            best = change, move = {Kind::ADD, i, j};
          }
        }
      if (move.kind != Kind::TURN || !second_path(move.source, move.target)) return move;
      closed.resize(d_ * d_);
      closed[move.source * d_ + move.target] = true;
    }
  }

  const View& view_;
  size_t draw_;
  Climb at_;
  size_t d_;
  Room room_;
  vector<uint8_t> reach_;
  vector<int64_t> n_parents_;
};

void climb_draws(const Out<bool, 3>& dags, const Out<double, 3>& change, const Out<bool, 2>& stale,
                 const Out<int64_t, 1>& moves, const DrawnFunctions& drawn, const ClimbRules& rules,
                 const FamilyTable& known, const FamilyTable& cheap, int threads) {
  const View view(drawn, rules, known, cheap);
  const size_t d = drawn.d, count = dags.shape(0);
  require(count <= drawn.draws, "there must be a drawn function for each DAG");
  require_shape({count, d, d}, "dags and change", dags, change);
  require_shape({count, d}, "stale", stale);
  require_shape({count}, "moves", moves);
  require_range(moves.data(), count, 0, whole(d * d) + 1, "moves");
  in_parts(count, threads, [&](int64_t draw, Watch& watch) {
    const Climb at{flags(dags) + draw * d * d, change.data() + draw * d * d, flags(stale) + draw * d,
                   moves.data() + draw};
    DrawClimb(view, draw, at).run(watch);
  });
}

std::pair<Result<double, 1>, Result<double, 2>> drawn_shares(size_t draw, const Ints& nodes, const Flags& parents,
                                                             const DrawnFunctions& drawn, const ClimbRules& rules,
                                                             const FamilyTable& known, const FamilyTable& cheap) {
  const View view(drawn, rules, known, cheap);
  const size_t d = drawn.d, count = nodes.shape(0);
  require(draw < drawn.draws, "draw must be one of the functions");
  require_shape({count, d}, "parents", parents);
  require_range(nodes.data(), count, 0, whole(d), "nodes");
  Owned<double, 1> found({count});
  Owned<double, 2> changes({count, d});
  std::fill_n(changes.data(), count * d, 0.0);
  watched([&](Watch& watch) {
    Room room(drawn);
    for (size_t row = 0; row < count; ++row) {
      const size_t node = nodes[row];
      const uint8_t* mask = flags(parents) + row * d;
      watch.check(drawn.work());
      found[row] = set_changes(view, node, draw, mask, 1, room, changes.data() + row * d);
      for (size_t j = 0; j < d; ++j)
        if (mask[j]) found[row] += rules.price[j * d + node];
    }
  });
  return {found.give(), changes.give()};
}
}  // namespace

void bind_draws(nb::module_& m) {
  nb::class_<FamilyTable>(m, "FamilyTable", "The values of known families.")
      .def(nb::init<const In<uint64_t, 2>&>())
      .def("insert", &FamilyTable::insert, "Add families, or change their values.")
      .def("look_up", &FamilyTable::look_up, "Return the values of families; NaN: it is not there.");
  {
    using Self = DrawnFunctions;
    bind_fields<Self>(m, "DrawnFunctions", "Functions drawn from a surrogate.", FIELD(signs), FIELD(starts),
                      FIELD(decay), FIELD(members), FIELD(offset), FIELD(slope), FIELD(weight), FIELD(amplitude),
                      FIELD(relative), FIELD(low), FIELD(high), FIELD(truth));
  }
  {
    using Self = ClimbRules;
    bind_fields<Self>(m, "ClimbRules", "What a climb maximises, and which DAGs it may visit.", FIELD(allowed),
                      FIELD(required), FIELD(max_parents), FIELD(price), FIELD(gain), FIELD(level));
  }
  m.def("climb_draws", &climb_draws, "Let climbs go on to their end, or to where a cheap score lacks.");
  m.def("drawn_shares", &drawn_shares, "Return what families add to the drawn score, and what each toggle adds.");
}
}  // namespace drbo
