// Penalised additive regressions of one table, many families at a time: what smooth functions of the parents leave of
// a response.
//
// The basis of a term is orthonormal with a diagonal penalty (Demmler & Reinsch 1975). The smoothness of every term is
// chosen by generalised cross-validation (GCV): it minimises ln(RSS / n) - 2 ln(1 - 1.2 df / n) over the strengths
// that each term offers, beginning with those that the terms would have alone. Given the others, all of a term's
// strengths are compared by the Schur complement of its block; this goes round the terms until nothing changes.
#include <algorithm>
#include <unordered_map>

#include "arrays.h"
#include "symmetric.h"

namespace drbo {
namespace {

// GCV multiplies the degrees of freedom by this factor, because plain GCV occasionally undersmooths.
constexpr double GCV_FACTOR = 1.2;
// Rounds over the parents of a family in which each smoothness is chosen given the others.
constexpr int MAX_ROUNDS = 3;
// Shares of the rows that are left for the noise, and of the variance that is left, count as no less than this.
constexpr double LEAST_LEFT = 1e-7;

struct Term {
  size_t size = 0;           // q
  vector<double> basis;      // (q, n)
  vector<double> penalty;    // (q,)
  vector<double> strengths;  // (L,)
};

WIDE void dots(const double* functions, size_t q, const double* response, size_t n, double scale, double* found) {
  for (size_t a = 0; a < q; ++a) {
    const double* const row = functions + a * n;
    found[a] = sum_terms<double>(n, [&](size_t k) { return row[k] * response[k]; }) * scale;
  }
}

// sum (n,) += sign times the sum of q rows, `stride` apart, each times its coefficient
WIDE void add_rows(const double* __restrict rows, size_t q, const double* coefficients, size_t stride, size_t n,
                   double sign, double* __restrict sum) {
  for (size_t a = 0; a < q; ++a) {
    const double* const row = rows + a * stride;
    const double factor = sign * coefficients[a];
    for (size_t k = 0; k < n; ++k) sum[k] += factor * row[k];
  }
}

WIDE double centre(double* values, size_t n) {
  const double mean = sum_terms<double>(n, [&](size_t k) { return values[k]; }) / static_cast<double>(n);
  for (size_t k = 0; k < n; ++k) values[k] -= mean;
  return sum_terms<double>(n, [&](size_t k) { return values[k] * values[k]; }) / static_cast<double>(n);
}

// sums (q, q) += factor times the outer product of a row with itself; the lower triangle, in whole blocks.
inline void add_outer(double* __restrict sums, const double* __restrict row, size_t q, size_t stride, double factor) {
  for (size_t a = 0; a < q; ++a) {
    const double by = factor * row[a];
    for (size_t block = 0; block <= a / 8; ++block)
      for (size_t b = 8 * block; b < 8 * block + 8; ++b) sums[a * stride + b] += by * row[b];
  }
}

// found (w,) = sum of the rows (q, w) of a matrix, each times its factor
inline void combine_rows(const double* __restrict rows, size_t q, size_t w, const double* __restrict factors,
                         double sign, double* __restrict found) {
  for (size_t block = 0; block < w; block += 8) {
    double sums[8] = {};
    for (size_t a = 0; a < q; ++a) {
      const double by = sign * factors[a];
      for (size_t l = 0; l < 8; ++l) sums[l] += by * rows[a * w + block + l];
    }
    for (size_t l = 0; l < 8; ++l) found[block + l] = sums[l];
  }
}

// Products between two bases, (q, r) with rows `stride` apart.
WIDE void products(const Term& left, const Term& right, size_t n, double* found) {
  const double scale = 1.0 / static_cast<double>(n);
  for (size_t a = 0; a < left.size; ++a)
    for (size_t b = 0; b < right.size; b += 4) {
      const double* const own = left.basis.data() + a * n;
      const double* others[4];
      for (size_t m = 0; m < 4; ++m) others[m] = right.basis.data() + std::min(b + m, right.size - 1) * n;
      double lanes[4][8] = {};
      size_t k = 0;
      for (; k + 8 <= n; k += 8)
        for (size_t m = 0; m < 4; ++m)
          for (size_t l = 0; l < 8; ++l) lanes[m][l] += own[k + l] * others[m][k + l];
      for (size_t m = 0; m < 4; ++m) {
        for (size_t l = 0; k + l < n; ++l) lanes[m][l] += own[k + l] * others[m][k + l];
        if (b + m < right.size) found[a * right.size + b + m] = sum_lanes(lanes[m]) * scale;
      }
    }
}

double log_gcv(double unexplained, double freedom, double n) {
  const double left = std::max(1.0 - GCV_FACTOR * (freedom + 1.0) / n, LEAST_LEFT);
  return std::log(std::max(unexplained, LEAST_LEFT * LEAST_LEFT)) - 2.0 * std::log(left);
}

// A family's fit as a function of the penalty of one term, the penalties of the other terms fixed.
//
// All of it follows from the inverse of Gram matrix plus penalties. With this term's rows and columns b in it,
// inverse[b, b]^-1 is the Schur complement of b plus its penalty, and -inverse[:, b] inverse[b, b]^-1 are the
// coefficients of the other terms' regressions on b.
struct Step {
  vector<double> inner, explained, hidden, schur, open, trial, best, ways;  // rows of a vector of q numbers
  vector<double> target, slope, coefficients, curvature, without, room;
  double variance = 0, freedom = 0;
};

WIDE void prepare(Step& step, const double* inverse, size_t p, size_t stride, size_t first, size_t q,
                  const double* ridge, const double* weights, const double* projections, double variance) {
  const size_t w = stride_of(q);
  for (size_t a = 0; a < q; ++a)
    for (size_t b = 0; b < q; ++b) step.inner[a * w + b] = inverse[(first + a) * stride + first + b];
  sweep(step.inner.data(), q, w, step.room.data());
  mirror(step.inner.data(), q, w, -1.0);
  std::fill_n(step.explained.data(), p * w, 0.0);
  std::fill_n(step.hidden.data(), q * w, 0.0);
  std::fill_n(step.slope.data(), q, 0.0);
  double lost = 0.0, used = 0.0;
  for (size_t i = 0; i < p; ++i) {
    step.without[i] = 0.0;
    if (i >= first && i < first + q) continue;
    const double* const others = inverse + i * stride + first;
    double* const row = step.explained.data() + i * w;
    combine_rows(step.inner.data(), q, w, others, -1.0, row);
    double without = weights[i], explained = 0.0;
    for (size_t a = 0; a < q; ++a) without += row[a] * weights[first + a], explained += row[a] * others[a];
    step.without[i] = without;
    lost += without * projections[i] + without * ridge[i] * without;
    used += ridge[i] * (inverse[i * stride + i] + explained);
    add_outer(step.hidden.data(), row, q, w, ridge[i]);
    for (size_t a = 0; a < q; ++a) step.slope[a] -= row[a] * ridge[i] * without;
  }
  mirror(step.hidden.data(), q, w, 1.0);
  combine_rows(step.inner.data(), q, w, weights + first, 1.0, step.target.data());
  for (size_t a = 0; a < q; ++a) {
    const double sum = step.target[a];
    step.slope[a] += sum;
    for (size_t b = 0; b < w; ++b) step.schur[a * w + b] = step.inner[a * w + b];
    step.schur[a * w + a] -= ridge[first + a];
    for (size_t b = 0; b < w; ++b) step.open[a * w + b] = step.schur[a * w + b] - step.hidden[a * w + b];
  }
  step.variance = variance - lost;
  step.freedom = static_cast<double>(p) - used;
}

// The logarithm of the GCV criterion with other penalties (q,); sets the block of the inverse, in trial.
WIDE void compare(Step& step, size_t q, const double* penalties, double* unexplained, double* freedom) {
  const size_t w = stride_of(q);
  std::copy_n(step.schur.data(), q * w, step.trial.data());
  for (size_t a = 0; a < q; ++a) step.trial[a * w + a] += penalties[a];
  sweep(step.trial.data(), q, w, step.room.data());
  mirror(step.trial.data(), q, w, -1.0);
  double left = step.variance, used = step.freedom;
  combine_rows(step.trial.data(), q, w, step.target.data(), 1.0, step.coefficients.data());
  for (size_t a = 0; a < q; ++a) used -= step.trial[a * w + a] * penalties[a];
  used -= sum_terms<double>(q * w, [&](size_t k) { return step.trial[k] * step.hidden[k]; });
  combine_rows(step.open.data(), q, w, step.coefficients.data(), 1.0, step.curvature.data());
  for (size_t a = 0; a < q; ++a) left += step.coefficients[a] * (step.curvature[a] - 2.0 * step.slope[a]);
  *unexplained = left, *freedom = used;
}

// Brings inverse and coefficients to another penalty of the term, whose block of the inverse is step.best.
WIDE void change(Step& step, double* inverse, size_t p, size_t stride, size_t first, size_t q, double* weights,
                 const double* projections) {
  const size_t w = stride_of(q);
  for (size_t a = 0; a < q; ++a) {
    for (size_t b = 0; b < q; ++b) step.best[a * w + b] -= inverse[(first + a) * stride + first + b];
    step.explained[(first + a) * w + a] = -1.0;
  }
  for (size_t a = 0; a < q; ++a) {
    double* const way = step.ways.data() + a * stride;
    for (size_t i = 0; i < p; ++i) way[i] = step.explained[i * w + a];
    double sum = 0.0;
    for (size_t i = 0; i < p; ++i) sum += way[i] * projections[i];
    step.target[a] = sum;
  }
  for (size_t i = 0; i < p; ++i) {
    const double* const row = step.explained.data() + i * w;
    combine_rows(step.best.data(), q, w, row, 1.0, step.curvature.data());
    for (size_t b = 0; b < q; ++b) weights[i] += step.curvature[b] * step.target[b];
    add_rows(step.ways.data(), q, step.curvature.data(), stride, stride, 1.0, inverse + i * stride);
  }
}

class AdditiveFits {
 public:
  AdditiveFits(int64_t rows, double ridge, double exact) : n_(static_cast<size_t>(rows)), ridge_(ridge), exact_(exact) {
    require(rows >= 1 && ridge > 0 && exact >= 0, "rows, ridge or exact out of range");
  }

  void add(int64_t column, const Table& basis, const Row& penalty, const Row& strengths) {
    Term term;
    term.size = basis.shape(0);
    require(column >= 0 && column < int64_t{1} << 31, "column out of range");
    require(term.size >= 1 && strengths.shape(0) >= 1, "a term needs a function and a strength");
    require_shape({term.size, n_}, "basis", basis);
    require_shape({term.size}, "penalty", penalty);
    term.basis.assign(basis.data(), basis.data() + term.size * n_);
    term.penalty.assign(penalty.data(), penalty.data() + term.size);
    term.strengths.assign(strengths.data(), strengths.data() + strengths.shape(0));
    terms_[column] = std::move(term);
  }

  bool has(int64_t column) const { return terms_.count(column) > 0; }

  // What each family's parents leave of its response.
  Result<double, 2> residuals(const Table& responses, const Ints& starts, const Ints& members, int threads) {
    const size_t m = responses.shape(0);
    require_shape({m, n_}, "responses", responses);
    require_starts(starts, m, members.shape(0));
    vector<int64_t> open;
    for (size_t f = 0; f < m; ++f)
      for (int64_t a = starts[f]; a < starts[f + 1]; ++a) {
        require(has(members[a]), "a parent has no term");
        for (int64_t b = starts[f]; b < a; ++b) {
          require(members[b] < members[a], "parents must rise");
          const int64_t key = members[b] << 31 | members[a];
          if (products_.emplace(key, vector<double>()).second) open.push_back(key);
        }
      }
    Owned<double, 2> found({m, n_});
    try {
      unlocked([&](const Stop& stop) {
        in_parts(whole(open.size()), threads, stop, [&](int64_t part, Watch& watch) {
          const Term &left = terms_.at(open[part] >> 31), &right = terms_.at(open[part] & ((int64_t{1} << 31) - 1));
          vector<double>& sums = products_.at(open[part]);
          sums.resize(left.size * right.size);
          products(left, right, n_, sums.data());
          watch.check(whole(left.size * right.size * n_) / 4);
        });
        in_stretches(whole(m), threads, stop, [&](int64_t first, int64_t last, Watch& watch) {
          Room room;
          for (int64_t f = first; f < last; ++f)
            fit(responses.data() + f * n_, members.data() + starts[f], starts[f + 1] - starts[f], room,
                found.data() + f * n_, watch);
        });
      });
    } catch (...) {
      for (const int64_t key : open) products_.erase(key);
      throw;
    }
    return found.give();
  }

 private:
  // Room for one family in each thread.
  struct Room {
    vector<const Term*> terms;
    vector<size_t> first;                                                    // where the terms begin
    vector<double> projections, ridge, weights, gram, inverse, room, trial;  // (p,) and (p, p)
    vector<size_t> chosen;
    Step step;
  };

  void penalties(const Term& term, size_t level, double* found) const {
    for (size_t a = 0; a < term.size; ++a) found[a] = ridge_ + term.strengths[level] * term.penalty[a];
  }

  void fit(const double* response, const int64_t* parents, size_t k, Room& room, double* left, Watch& watch) const {
    std::copy_n(response, n_, left);
    const double whole_variance = centre(left, n_);
    if (k == 0) return;
    room.terms.clear(), room.first.clear(), room.chosen.clear();
    size_t p = 0;
    for (size_t t = 0; t < k; ++t) {
      room.terms.push_back(&terms_.at(parents[t]));
      room.first.push_back(p);
      p += room.terms[t]->size;
    }
    room.projections.resize(p), room.ridge.resize(p), room.weights.resize(p);
    for (size_t t = 0; t < k; ++t) {
      const Term& term = *room.terms[t];
      dots(term.basis.data(), term.size, left, n_, 1.0 / static_cast<double>(n_), &room.projections[room.first[t]]);
      room.chosen.push_back(alone(term, &room.projections[room.first[t]], whole_variance));
      penalties(term, room.chosen[t], &room.ridge[room.first[t]]);
    }
    watch.check(whole(p * n_) / 2);
    if (k == 1) {
      for (size_t a = 0; a < p; ++a) room.weights[a] = room.projections[a] / (1.0 + room.ridge[a]);
    } else {
      join(parents, p, room);
      choose(p, whole_variance, room, watch);
    }
    for (size_t t = 0; t < k; ++t)
      add_rows(room.terms[t]->basis.data(), room.terms[t]->size, &room.weights[room.first[t]], n_, n_, -1.0, left);
    vector<double>& copy = room.room;
    copy.assign(left, left + n_);
    if (!(std::sqrt(centre(copy.data(), n_)) > exact_ * std::sqrt(whole_variance))) std::fill_n(left, n_, 0.0);
  }

  // The strength that GCV chooses if there is no other term.
  size_t alone(const Term& term, const double* projections, double variance) const {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (size_t level = 0; level < term.strengths.size() && term.strengths.size() > 1; ++level) {
      double explained = 0.0, freedom = 0.0;
      for (size_t a = 0; a < term.size; ++a) {
        const double shrunk = 1.0 / (1.0 + ridge_ + term.strengths[level] * term.penalty[a]);
        explained += shrunk * (2.0 - shrunk) * projections[a] * projections[a];
        freedom += shrunk;
      }
      const double criterion = log_gcv(variance - explained, freedom, static_cast<double>(n_));
      if (criterion < least) least = criterion, best = level;
    }
    return best;
  }

  // The Gram matrix of all terms; the lower triangle.
  void join(const int64_t* parents, size_t p, Room& room) const {
    const size_t stride = stride_of(p);
    room.gram.assign((p + 1) * stride, 0.0);
    for (size_t i = 0; i < p; ++i) room.gram[i * stride + i] = 1.0;
    for (size_t t = 0; t < room.terms.size(); ++t)
      for (size_t s = 0; s < t; ++s) {
        const vector<double>& sums = products_.at(parents[s] << 31 | parents[t]);
        for (size_t a = 0; a < room.terms[s]->size; ++a)
          for (size_t b = 0; b < room.terms[t]->size; ++b)
            room.gram[(room.first[t] + b) * stride + room.first[s] + a] = sums[a * room.terms[t]->size + b];
      }
  }

  void choose(size_t p, double variance, Room& room, Watch& watch) const {
    const size_t k = room.terms.size(), stride = stride_of(p);
    const int64_t cubed = whole(p * p * p);
    room.room.resize(std::max(stride, n_));
    room.inverse = room.gram;
    for (size_t i = 0; i < p; ++i) room.inverse[i * stride + i] += room.ridge[i];
    sweep(room.inverse.data(), p, stride, room.room.data());
    mirror(room.inverse.data(), p, stride, -1.0);
    std::fill_n(room.weights.data(), p, 0.0);
    add_rows(room.inverse.data(), p, room.projections.data(), stride, p, 1.0, room.weights.data());
    watch.check(cubed / 2);
    size_t n_changes = 0;
    vector<size_t> compared_at(k, std::numeric_limits<size_t>::max());
    for (int round = 0; round < MAX_ROUNDS; ++round) {
      const size_t before = n_changes;
      for (size_t t = 0; t < k; ++t) {
        if (room.terms[t]->strengths.size() == 1 || compared_at[t] == n_changes) continue;
        n_changes += improve(t, p, variance, room, watch);
        compared_at[t] = n_changes;
      }
      if (n_changes == before) break;
    }
    if (n_changes == 0) return;
    for (size_t i = 0; i < p; ++i) room.gram[i * stride + i] += room.ridge[i];
    std::copy_n(room.projections.data(), p, &room.gram[p * stride]);
    solve(room.gram.data(), p, stride, room.room.data());
    std::copy_n(&room.gram[p * stride], p, room.weights.data());
    watch.check(cubed / 6);
  }

  // Give one term the strength that GCV chooses; returns whether it is another one.
  bool improve(size_t t, size_t p, double variance, Room& room, Watch& watch) const {
    const Term& term = *room.terms[t];
    const size_t q = term.size, w = stride_of(q), first = room.first[t], stride = stride_of(p);
    Step& step = room.step;
    for (auto* square : {&step.inner, &step.hidden, &step.schur, &step.open, &step.trial, &step.best})
      square->assign(q * w, 0.0);
    step.explained.resize(p * w), step.ways.assign(q * stride, 0.0), step.without.resize(p), step.room.resize(w);
    for (auto* row : {&step.target, &step.slope, &step.coefficients, &step.curvature}) row->assign(w, 0.0);
    prepare(step, room.inverse.data(), p, stride, first, q, room.ridge.data(), room.weights.data(),
            room.projections.data(), variance);
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    room.trial.resize(q);
    for (size_t level = 0; level < term.strengths.size(); ++level) {
      penalties(term, level, room.trial.data());
      double unexplained, freedom;
      compare(step, q, room.trial.data(), &unexplained, &freedom);
      const double criterion = log_gcv(unexplained, freedom, static_cast<double>(n_));
      if (criterion < least) least = criterion, best = level, step.best.swap(step.trial);
    }
    watch.check(whole(q * q * (2 * p + q * term.strengths.size())));
    if (best == room.chosen[t]) return false;
    room.chosen[t] = best;
    penalties(term, best, &room.ridge[first]);
    change(step, room.inverse.data(), p, stride, first, q, room.weights.data(), room.projections.data());
    watch.check(whole(p * p * q));
    return true;
  }

  size_t n_;
  double ridge_, exact_;
  std::unordered_map<int64_t, Term> terms_;
  std::unordered_map<int64_t, vector<double>> products_;  // (q, r) between the bases of two columns, the lower first
};
}  // namespace

void bind_additive(nb::module_& m) {
  nb::class_<AdditiveFits>(m, "AdditiveFits", "Penalised additive regressions on smooth terms of the columns.")
      .def(nb::init<int64_t, double, double>(), "rows"_a, "ridge"_a, "exact"_a)
      .def("add", &AdditiveFits::add, "Set the term of a column: an orthonormal basis, its penalty, and strengths.")
      .def("has", &AdditiveFits::has, "Return whether a column has a term.")
      .def("residuals", &AdditiveFits::residuals, "Return what each family's parents leave of its response.");
}
}  // namespace drbo
