// Steps of scores of categorical data, by counting.
//
// The value of a family is gain F - parameter_price q - the sum of its edge prices, with q the configurations of the
// parents, seen or not. F is the log-likelihood: the sum of N ln N over the cells of (parents, node) minus that over
// the configurations; or with a prior size the BDeu evidence: the same sums of lnG(N + a) - lnG(a). The configurations
// of a parent set are numbered once; each addition then needs one pass over the rows.
#include <nanobind/stl/vector.h>

#include "counts.h"
#include "steps.h"

namespace drbo {
namespace {

// Room for one expansion in each thread.
struct Room {
  vector<int32_t> config, finer, number, cells, totals;
  Tally tally;
};

class CountSteps final : public PricedSteps {
 public:
  vector<Codes> codes;   // (d, u) levels of the distinct rows, for each group
  vector<Ints> repeats;  // (u,) how often each row occurs
  Ints cardinalities;    // (d,)
  double ess = 0.0;      // equivalent sample size of BDeu; 0: the log-likelihood
  double gain = 0.0;
  Row parameter_prices;  // (d,) of a configuration of the parents

  void check() {
    const size_t d = n_nodes();
    check_prices(codes.size());
    require(codes.size() == repeats.size(), "codes and repeats must have the same groups");
    require_shape({d}, "parameter_prices", parameter_prices);
    for (size_t g = 0; g < codes.size(); ++g) {
      require_shape({d, codes[g].shape(1)}, "codes", codes[g]);
      rows_.emplace_back(codes[g], cardinalities, repeats[g]);
    }
  }

  int64_t work(const Family& family) const override {
    return 2 * whole(of(family.node).u * (n_nodes() + family.size * family.size));
  }

  Worth expand(const Family& family, double* gains, Watch& watch) const override {
    thread_local Room room;
    const size_t d = n_nodes(), node = family.node, n = of(node).u;
    const int32_t *first = family.parents, *last = first + family.size;
    const double price = this->price(family), parameters = parameter_prices[node];
    const int64_t seen = configure(family, -1, room.config, room);
    double possible = 1.0;
    for (const int32_t* parent = first; parent != last; ++parent) possible *= cards(*parent);
    Worth worth;
    worth.value = gain * fit(node, room.config, seen, -1, possible, room) - (parameters * possible + price);
    std::fill_n(gains, d, 0.0);
    for (int32_t other = 0; other < whole(d); ++other) {
      const bool member = std::binary_search(first, last, other);
      const double edge = this->price(node, other);
      if (other == family.node || !(member ? may_drop(node, other) : may_add(node, other) && has_room(family)))
        continue;
      watch.check(4 * whole(n) * (member ? family.size : 1));
      if (member) {
        const int64_t fewer = configure(family, other, room.finer, room);
        const double coarser = possible / cards(other), found = fit(node, room.finer, fewer, -1, coarser, room);
        worth.offer_drop(other, gain * found - parameters * coarser - price + edge - worth.value);
      } else {
        const double finer = possible * cards(other), found = fit(node, room.config, seen, other, finer, room);
        gains[other] = gain * found - parameters * finer - price - edge - worth.value;
      }
    }
    return worth;
  }

 private:
  const CountedRows& of(size_t node) const { return rows_[group[node]]; }
  double cards(size_t node) const { return static_cast<double>(cardinalities[node]); }

  // Numbers the configurations of the parents, one of them left out, in the order of the rows; returns how many.
  int64_t configure(const Family& family, int32_t without, vector<int32_t>& config, Room& room) const {
    const CountedRows& rows = of(family.node);
    config.assign(rows.u, 0);
    int64_t seen = 1;
    for (int32_t k = 0; k < family.size; ++k)
      if (family.parents[k] != without)
        seen = rows.refine(family.parents[k], config.data(), seen, room.number, config.data(), nullptr);
    return seen;
  }

  // Counts the levels of a column in configurations, split by another column (-1: by none), numbered in the order of
  // the rows; sets cells and totals.
  void count(size_t node, const vector<int32_t>& config, int64_t seen, int64_t by, Room& room) const {
    const CountedRows& rows = of(node);
    const size_t n = config.size();
    const int64_t levels = cardinalities[node], split = by < 0 ? 1 : cardinalities[by];
    room.number.assign(seen * split, -1);
    room.cells.resize(std::min(seen * split, static_cast<int64_t>(n)) * levels);
    const int32_t* const __restrict column = rows.column(node);
    const int32_t* const __restrict other = by < 0 ? nullptr : rows.column(by);
    const int32_t* const __restrict coarse = config.data();
    const int32_t* const __restrict repeats = rows.repeats.data();
    int32_t* const __restrict number = room.number.data();
    int32_t* const __restrict cells = room.cells.data();
    int64_t used = 0;
    for (size_t row = 0; row < n; ++row) {
      const int64_t key = other ? coarse[row] * split + other[row] : coarse[row];
      int64_t name = number[key];
      if (name < 0) {
        number[key] = static_cast<int32_t>(used);
        name = used++;
        std::fill_n(cells + name * levels, levels, 0);
      }
      cells[name * levels + column[row]] += repeats[row];
    }
    room.cells.resize(used * levels);
    room.totals.assign(used, 0);
    for (int64_t name = 0; name < used; ++name)
      for (int64_t level = 0; level < levels; ++level) room.totals[name] += cells[name * levels + level];
  }

  // The log-likelihood of a column given such configurations, or its BDeu evidence.
  double fit(size_t node, const vector<int32_t>& config, int64_t seen, int64_t by, double possible, Room& room) const {
    count(node, config, seen, by, room);
    const double log_q = ess > 0 ? std::log(possible) : 0.0, log_levels = ess > 0 ? std::log(cards(node)) : 0.0;
    const CellTerm cell(ess, log_q, log_levels), total(ess, log_q);
    const double joint = of(node).add(0.0, room.cells.data(), room.cells.size(), cell, room.tally);
    return of(node).add(joint, room.totals.data(), room.totals.size(), total, room.tally, -1.0);
  }

  vector<CountedRows> rows_;
};
}  // namespace

void bind_count_steps(nb::module_& m) {
  using Self = CountSteps;
  bind_fields<Self, Steps>(m, "CountSteps", "Steps of scores of categorical data.", FIELD(codes), FIELD(repeats),
                           FIELD(group), FIELD(cardinalities), FIELD(ess), FIELD(gain), FIELD(parameter_prices),
                           FIELD(prices), FIELD(allowed), FIELD(required), FIELD(max_parents));
}
}  // namespace drbo
