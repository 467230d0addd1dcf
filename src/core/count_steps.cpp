// Steps of scores of categorical data, by counting.
//
// The value of a family is gain F - parameter_price q - the sum of its edge prices, with q the configurations of the
// parents, seen or not. F is the log-likelihood: the sum of N ln N over the cells of (parents, node) minus that over
// the configurations; or with a prior size the BDeu evidence: the same sums of lnG(N + a) - lnG(a). The configurations
// of a parent set are numbered once; each addition then needs one pass over the rows.
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "arrays.h"
#include "counts.h"
#include "special.h"
#include "steps.h"

namespace drbo {

namespace {

using Row = In<double, 1>;
using Flags = In<bool, 2>;
using Ints = In<std::int64_t, 1>;

// Distinct rows of a table that some nodes share.
struct Rows {
  In<std::int32_t, 2> codes;  // (d, u) levels
  std::vector<std::int32_t> repeats;
  const std::int32_t* column(std::size_t node) const { return codes.data() + node * codes.shape(1); }
};

// Counts below this have a place in tables of functions of a count.
constexpr std::int64_t TABLED = 1 << 16;

// ln Gamma(N + a) for counts N, each computed once until a changes.
class LogGammas {
 public:
  void set(double a) {
    a_ = a;
    ++now_;
  }
  double at(std::int64_t count) {
    if (count >= TABLED) return log_gamma(static_cast<double>(count) + a_);
    if (count >= static_cast<std::int64_t>(value_.size())) value_.resize(count + 1), known_.resize(count + 1);
    if (known_[count] != now_) {
      known_[count] = now_;
      value_[count] = log_gamma(static_cast<double>(count) + a_);
    }
    return value_[count];
  }

 private:
  double a_ = 0.0;
  std::vector<double> value_;
  std::vector<std::uint64_t> known_;
  std::uint64_t now_ = 0;
};

// Room for one expansion in each thread.
struct Room {
  std::vector<std::int32_t> config, finer, number;
  std::vector<std::int64_t> cells, totals;
  std::vector<std::uint8_t> member;
  LogGammas log_gammas;
};

class CountSteps final : public Steps {
 public:
  CountSteps(const std::vector<In<std::int32_t, 2>>& codes, const std::vector<Row>& repeats, const Ints& group,
             const Ints& cardinalities, double ess, double gain, const Row& parameter_prices,
             const In<double, 2>& edge_prices, const Flags& allowed, const Flags& required, const Ints& max_parents)
      : group_(group),
        cardinalities_(cardinalities),
        ess_(ess),
        gain_(gain),
        parameter_prices_(parameter_prices),
        edge_prices_(edge_prices),
        allowed_(allowed),
        required_(required),
        max_parents_(max_parents) {
    const std::size_t d = group.shape(0);
    require(d >= 1, "there must be a node");
    require(codes.size() == repeats.size(), "codes and repeats must have the same groups");
    require_range(group.data(), d, 0, static_cast<std::int64_t>(codes.size()), "group");
    require_shape(cardinalities, "cardinalities", {d});
    require_range(cardinalities.data(), d, 1, MOST_ROWS, "cardinalities");
    require_shape(parameter_prices, "parameter_prices", {d});
    require_shape(edge_prices, "edge_prices", {d, d});
    require_shape(allowed, "allowed", {d, d});
    require_shape(required, "required", {d, d});
    require_shape(max_parents, "max_parents", {d});
    std::int64_t most = 0;
    for (std::size_t g = 0; g < codes.size(); ++g) {
      rows_.push_back(checked(codes[g], repeats[g]));
      most = std::max(most, std::accumulate(rows_[g].repeats.begin(), rows_[g].repeats.end(), std::int64_t{0}));
    }
    x_log_x_.resize(std::min(most + 1, TABLED));  // of 0 and 1 it is 0
    for (std::size_t x = 2; x < x_log_x_.size(); ++x)
      x_log_x_[x] = static_cast<double>(x) * std::log(static_cast<double>(x));
  }

  std::size_t n_nodes() const override { return group_.shape(0); }
  std::int64_t work(const Family& family) const override {
    const std::int64_t rows = static_cast<std::int64_t>(of(family.node).repeats.size());
    return 2 * rows * static_cast<std::int64_t>(n_nodes() + family.size * family.size);
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const std::size_t d = n_nodes(), node = family.node, n = of(node).repeats.size();
    const std::int32_t *first = family.parents, *last = first + family.size;
    room.member.assign(d, 0);
    room.config.assign(n, 0), room.finer.resize(n);
    std::int64_t seen = 1;
    double possible = 1.0, price = 0.0;
    for (const std::int32_t* parent = first; parent != last; ++parent) {
      room.member[*parent] = 1;
      seen = refine(node, room.config, seen, *parent, room);
      possible *= cards(*parent);
      price += edge_price(node, *parent);
    }
    Worth worth;
    worth.value = gain_ * fit(node, room.config, seen, -1, possible, room);
    worth.value -= parameter_prices_.data()[node] * possible + price;
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < d; ++other) {
      const bool member = room.member[other];
      gains[other] = member ? 0.0 : -std::numeric_limits<double>::infinity();
      if (!wanted(family, other, member)) continue;
      watch.check(4 * static_cast<std::int64_t>(n) * (member ? family.size : 1));
      const double change =
          member ? without(family, other, possible, price, room) : with(node, other, seen, possible, price, room);
      if (!member) gains[other] = change - worth.value;
      if (member && change - worth.value > best) {
        best = change - worth.value;
        if (best > 0) worth.drop = static_cast<std::int64_t>(other);
      }
    }
    worth.drop_gain = best;
    return worth;
  }

 private:
  Rows checked(const In<std::int32_t, 2>& codes, const Row& repeats) const {
    const std::size_t d = n_nodes(), n = codes.shape(1);
    require_shape(codes, "codes", {d, n});
    require_shape(repeats, "repeats", {n});
    for (std::size_t node = 0; node < d; ++node)
      require_range(codes.data() + node * n, n, 0, cardinalities_.data()[node], "codes");
    require(static_cast<std::int64_t>(n) < MOST_ROWS, "there are too many rows");
    for (std::size_t row = 0; row < n; ++row) {
      const double count = repeats.data()[row];
      require(count >= 1 && count < static_cast<double>(MOST_ROWS) && count == std::floor(count),
              "repeats must be whole numbers above 0");
    }
    return {codes, std::vector<std::int32_t>(repeats.data(), repeats.data() + n)};
  }

  const Rows& of(std::size_t node) const { return rows_[group_.data()[node]]; }
  double cards(std::size_t node) const { return static_cast<double>(cardinalities_.data()[node]); }
  double edge_price(std::size_t node, std::size_t parent) const {
    return edge_prices_.data()[node * n_nodes() + parent];
  }

  // Whether the set with this parent more or less is one that a step may lead to.
  bool wanted(const Family& family, std::size_t other, bool member) const {
    const std::size_t at = family.node * n_nodes() + other;
    if (other == static_cast<std::size_t>(family.node)) return false;
    if (member) return !flags(required_)[at];
    return flags(allowed_)[at] && family.size < max_parents_.data()[family.node];
  }

  double with(std::size_t node, std::size_t other, std::int64_t seen, double possible, double price, Room& room) const {
    const double finer = possible * cards(other);
    const double found = fit(node, room.config, seen, static_cast<std::int64_t>(other), finer, room);
    return gain_ * found - parameter_prices_.data()[node] * finer - price - edge_price(node, other);
  }

  double without(const Family& family, std::size_t other, double possible, double price, Room& room) const {
    const double coarser = possible / cards(other);
    std::fill(room.finer.begin(), room.finer.end(), 0);
    std::int64_t seen = 1;
    for (std::int32_t k = 0; k < family.size; ++k)
      if (family.parents[k] != static_cast<std::int32_t>(other))
        seen = refine(family.node, room.finer, seen, family.parents[k], room);
    const double found = fit(family.node, room.finer, seen, -1, coarser, room);
    return gain_ * found - parameter_prices_.data()[family.node] * coarser - price + edge_price(family.node, other);
  }

  // Splits configurations by another column and numbers those that occur; returns how many there are.
  std::int64_t refine(std::size_t node, std::vector<std::int32_t>& config, std::int64_t seen, std::size_t by,
                      Room& room) const {
    const std::int64_t levels = cardinalities_.data()[by];
    const std::int32_t* const column = of(node).column(by);
    room.number.assign(seen * levels, -1);
    std::int32_t* const number = room.number.data();
    std::int32_t used = 0;
    for (std::size_t row = 0; row < config.size(); ++row) {
      std::int32_t& name = number[config[row] * levels + column[row]];
      if (name < 0) name = used++;
      config[row] = name;
    }
    return used;
  }

  // Counts the levels of a column in configurations, split by another column (-1: by none), numbered in the order of
  // the rows; sets cells and totals.
  void count(std::size_t node, const std::vector<std::int32_t>& config, std::int64_t seen, std::int64_t by,
             Room& room) const {
    const Rows& rows = of(node);
    const std::size_t n = config.size();
    const std::int64_t levels = cardinalities_.data()[node], split = by < 0 ? 1 : cardinalities_.data()[by];
    room.number.assign(seen * split, -1);
    room.cells.resize(std::min(seen * split, static_cast<std::int64_t>(n)) * levels);
    const std::int32_t* const __restrict column = rows.column(node);
    const std::int32_t* const __restrict other = by < 0 ? nullptr : rows.column(by);
    const std::int32_t* const __restrict coarse = config.data();
    const std::int32_t* const __restrict repeats = rows.repeats.data();
    std::int32_t* const __restrict number = room.number.data();
    std::int64_t* const __restrict cells = room.cells.data();
    std::int64_t used = 0;
    for (std::size_t row = 0; row < n; ++row) {
      const std::int64_t key = other ? coarse[row] * split + other[row] : coarse[row];
      std::int64_t name = number[key];
      if (name < 0) {
        number[key] = static_cast<std::int32_t>(used);
        name = used++;
        std::fill_n(cells + name * levels, levels, 0);
      }
      cells[name * levels + column[row]] += repeats[row];
    }
    room.cells.resize(used * levels);
    room.totals.assign(used, 0);
    for (std::int64_t name = 0; name < used; ++name)
      for (std::int64_t level = 0; level < levels; ++level) room.totals[name] += cells[name * levels + level];
  }

  // The log-likelihood of a column given such configurations, or its BDeu evidence.
  double fit(std::size_t node, const std::vector<std::int32_t>& config, std::int64_t seen, std::int64_t by,
             double possible, Room& room) const {
    count(node, config, seen, by, room);
    double value = 0.0;
    if (ess_ == 0) {
      for (const std::int64_t cell : room.cells) value += x_log_x(cell);
      for (const std::int64_t total : room.totals) value -= x_log_x(total);
      return value;
    }
    const double log_a = std::log(ess_) - std::log(possible);  // a itself may underflow
    value = sum(value, room.cells, log_a - std::log(cards(node)), 1.0, room.log_gammas);
    return sum(value, room.totals, log_a, -1.0, room.log_gammas);
  }

  double x_log_x(std::int64_t x) const {
    return x < static_cast<std::int64_t>(x_log_x_.size()) ? x_log_x_[x]
                                                          : static_cast<double>(x) * std::log(static_cast<double>(x));
  }

  // Adds the sum of lnG(N + a) - lnG(a) over the counts N above 0.
  double sum(double value, const std::vector<std::int64_t>& counts, double log_a, double sign,
             LogGammas& gammas) const {
    const double a = std::exp(log_a), offset = log_a - log_gamma(1.0 + a);
    gammas.set(a);
    for (const std::int64_t count : counts)
      if (count > 0) value += sign * (gammas.at(count) + offset);
    return value;
  }

  std::vector<Rows> rows_;
  std::vector<double> x_log_x_;
  Ints group_, cardinalities_;
  double ess_;  // equivalent sample size of BDeu; 0: the log-likelihood
  double gain_;
  Row parameter_prices_;
  In<double, 2> edge_prices_;
  Flags allowed_, required_;
  Ints max_parents_;
};

}  // namespace

void bind_count_steps(nb::module_& m) {
  nb::class_<CountSteps, Steps>(m, "CountSteps", "Steps of scores of categorical data.")
      .def(nb::init<const std::vector<In<std::int32_t, 2>>&, const std::vector<Row>&, const Ints&, const Ints&, double,
                    double, const Row&, const In<double, 2>&, const Flags&, const Flags&, const Ints&>(),
           "codes"_a, "repeats"_a, "group"_a.noconvert(), "cardinalities"_a.noconvert(), "ess"_a, "gain"_a,
           "parameter_prices"_a.noconvert(), "edge_prices"_a.noconvert(), "allowed"_a.noconvert(),
           "required"_a.noconvert(), "max_parents"_a.noconvert());
}

}  // namespace drbo
