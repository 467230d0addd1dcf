// The parent sets of a node that a best DAG can have, from a covariance alone.
//
// The share of a set S of k parents is offset[k] + fit - half ln |R_S| + sum of weights, with the residual variance r
// of the node given S in fit = -slope[k] ln r, or -slope[k] r. Sets are walked depth first: each candidate is left out
// first, then taken in. Sets below hold S and lie in S and all undecided candidates U, so none leaves less than the
// residual given S and U. Where that, at the price of one more parent, does not beat a subset of S, they are skipped.
#include "kept_sets.h"
#include "numbers.h"

namespace drbo {
namespace {

// The form of the share.
struct Form {
  int m;     // candidates
  int most;  // parents at most
  const double *offset, *slope, *weights;
  const double* top;  // top[k]: the most that k candidates can add by weights and determinant
  bool logarithmic;
  double half;

  double fit(int k, double residual) const { return -slope[k] * (logarithmic ? std::log(residual) : residual); }
  double determinant(double pivot) const { return half == 0.0 ? 0.0 : half * std::log(pivot); }

  // The most that `least` or more parents beside k can make of a residual, before what the k add.
  double hope(int k, int undecided, double residual, int least) const {
    const double left = logarithmic ? std::log(residual) : residual;
    double best = NEVER;
    for (int more = least; more < std::min(most + 1 - k, undecided + 1); ++more)
      best = std::max(best, offset[k + more] + -slope[k + more] * left + top[more]);
    return best;
  }
};

struct Square {
  double* data;
  int size;
  double* operator[](int row) const { return data + static_cast<size_t>(row) * size; }
};

// Sweeps a symmetric matrix on k; rows and columns of `skip` are left alone.
WIDE void sweep(Square before, Square after, int k, const uint8_t* skip) {
  const double* own = before[k];
  const double pivot = own[k];
  for (int i = 0; i < before.size; ++i) {
    if (skip[i] || i == k) continue;
    const double factor = own[i] / pivot;
    const double* from = before[i];
    double* to = after[i];
    for (int j = 0; j <= i; ++j) to[j] = from[j] - factor * own[j];
    for (int j = 0; j <= i; ++j) after[j][i] = to[j];
    after[i][k] = after[k][i] = factor;
  }
  after[k][k] = -1.0 / pivot;
}

class LinearWalk {
 public:
  LinearWalk(const Form& form, int n_required, KeptSets& kept)
      : form_(form), required_(n_required), kept_(kept), size_(form.m + 1), given_(matrices(form.most + 1)),
        full_(matrices(form.m + 1)), skip_(size_), order_(form.m), single_(form.m) {
    std::iota(order_.begin(), order_.end(), 0);
  }

  // Returns the steps taken, or -1.
  int64_t run(const double* matrix, const double* inverse, int64_t max_steps, Watch& watch) {
    const int m = form_.m;
    std::copy_n(matrix, size_ * size_, given(0).data);
    std::copy_n(inverse, size_ * size_, full(0).data);
    vector<double> known(m + 2), sums(m + 2);  // the best share of a subset of the parents at each position
    vector<int> stage(m + 2);
    double added = 0.0;
    int k = 0, out = 0, p = required_;
    for (int j = 0; j < required_; ++j, ++k) {
      added += form_.weights[j] - form_.determinant(given(k)[j][j]);
      sweep(given(k), given(k + 1), j, skip_.data());
    }
    known[p] = form_.offset[k] + form_.fit(k, given(k)[m][m]) + added;
    sums[p] = added;
    kept_.keep(mask(p), known[p]);
    int64_t steps = 0;
    const auto back = [&] {
      --p;
      if (p >= required_ && stage[p] == 2) --k;
    };
    while (p >= required_) {
      const int undecided = m - p;
      if (stage[p] == 0) {  // leave a candidate out
        const int64_t square = static_cast<int64_t>(undecided) * undecided;
        if (++steps > max_steps || !kept_.has_room(square) || watch.over(50 + 4 * square)) return -1;
        const double least = std::max(known[p], kept_.floor), reached = 1.0 / full(out)[m][m];
        stage[p] = 2;
        if (k < form_.most && sums[p] + form_.hope(k, undecided, reached, 1) > least) {
          if (sums[p] + form_.hope(k, undecided, reached, 3) > least) {
            stage[p] = 1;
          } else {
            steps += undecided * (undecided + 1) / 2;
            close(k, p, sums[p], least);
          }
        }
        if (stage[p] == 2) {
          back();
          continue;
        }
        choose(full(out), p);
        leave_out(full(out), full(out + 1), p);
        ++out;
        skip_[order_[p]] = true;
        known[p + 1] = known[p], sums[p + 1] = sums[p], stage[p + 1] = 0;
        ++p;
      } else if (stage[p] == 1) {  // take it in
        const int fresh = order_[p];
        const Square now = given(k);
        skip_[fresh] = false;
        --out;
        stage[p] = 2;
        const double residual = now[m][m] - now[m][fresh] * now[m][fresh] / now[fresh][fresh];
        added = sums[p] + form_.weights[fresh] - form_.determinant(now[fresh][fresh]);
        const double share = form_.offset[k + 1] + form_.fit(k + 1, residual) + added;
        const double hope = added + form_.hope(k + 1, undecided - 1, 1.0 / full(out)[m][m], 1);
        if (std::max(share, hope) <= std::max(known[p], kept_.floor)) continue;
        if (watch.over(2 * size_ * size_)) return -1;
        sweep(now, given(k + 1), fresh, skip_.data());
        double best = std::max(known[p], one_less(given(k + 1), p, k, added));
        if (share > best) {
          best = share;
          if (share >= kept_.floor) kept_.keep(mask(p + 1), share);
        }
        known[p + 1] = best, sums[p + 1] = added, stage[p + 1] = 0;
        ++p;
        ++k;
      } else {
        back();
      }
    }
    return steps;
  }

 private:
  vector<double> matrices(int count) const { return vector<double>(static_cast<size_t>(count) * size_ * size_); }
  Square given(int k) { return {given_.data() + static_cast<size_t>(k) * size_ * size_, size_}; }
  Square full(int out) { return {full_.data() + static_cast<size_t>(out) * size_ * size_, size_}; }

  // The candidates before a position that are not left out.
  Set mask(int end) const {
    Set found = 0;
    for (int place = 0; place < end; ++place)
      if (!skip_[order_[place]]) found |= singleton(order_[place]);
    return found;
  }

  // Brings the candidate to position p without which the fit would lose most.
  void choose(Square full, int p) {
    const int m = form_.m;
    double best = -1.0;
    int place = p;
    for (int q = p; q < m; ++q) {
      const int u = order_[q];
      const double loss = full[m][u] * full[m][u] / full[u][u];
      if (loss > best) best = loss, place = q;
    }
    std::swap(order_[p], order_[place]);
  }

  // Takes a candidate out of the matrix behind an inverse; only what comes after it is wanted.
  void leave_out(Square before, Square after, int p) {
    const int m = form_.m, gone = order_[p];
    const double* own = before[gone];
    after[m][m] = before[m][m] - own[m] * own[m] / own[gone];
    for (int a = p + 1; a < m; ++a) {
      const int i = order_[a];
      const double factor = own[i] / own[gone];
      after[i][m] = after[m][i] = before[i][m] - factor * own[m];
      for (int b = p + 1; b <= a; ++b) {
        const int j = order_[b];
        after[i][j] = after[j][i] = before[i][j] - factor * own[j];
      }
    }
  }

  // The best share of the sets with one parent less, of those that are not required.
  double one_less(Square given, int p, int k, double added) const {
    const int m = form_.m;
    double best = NEVER;
    for (int place = required_; place < p; ++place) {
      const int j = order_[place];
      if (skip_[j]) continue;
      const double less = given[m][m] - given[m][j] * given[m][j] / given[j][j];
      const double value =
          added - form_.weights[j] - form_.determinant(-given[j][j]) + form_.offset[k] + form_.fit(k, less);
      best = std::max(best, value);
    }
    return best;
  }

  // Keeps the sets with one or two undecided candidates that beat what is known.
  void close(int k, int p, double added, double least) {
    const Square now = given(k);
    const int m = form_.m;
    const Set first = mask(p);
    for (int a = p; a < m; ++a) {
      const int u = order_[a];
      const double rest = now[m][m] - now[m][u] * now[m][u] / now[u][u];
      const double plus = added + form_.weights[u] - form_.determinant(now[u][u]);
      single_[u] = plus + form_.offset[k + 1] + form_.fit(k + 1, rest);
      if (single_[u] > least && beats(u, u, p, k, plus, single_[u])) kept_.keep(first | singleton(u), single_[u]);
    }
    if (k + 2 > form_.most) return;
    const double need = (least - added - form_.offset[k + 2] - form_.top[std::min(2, m - p)]) / -form_.slope[k + 2];
    const double enough = form_.logarithmic ? std::exp(need) : need;  // no pair that leaves more can win
    for (int a = p; a < m; ++a) {
      const int u = order_[a];
      const double pivot = now[u][u], rest = now[m][m] - now[m][u] * now[m][u] / pivot;
      for (int b = a + 1; b < m; ++b) {
        const int v = order_[b];
        const double factor = now[u][v] / pivot, own = now[v][v] - factor * now[u][v];
        const double link = now[m][v] - factor * now[m][u], left = rest - link * link / own;
        if (left >= enough) continue;
        const double plus = added + form_.weights[u] + form_.weights[v] -
                            (form_.half == 0.0 ? 0.0 : form_.half * (std::log(pivot) + std::log(own)));
        const double share = plus + form_.offset[k + 2] + form_.fit(k + 2, left);
        if (share > std::max({least, single_[u], single_[v]}) && beats(u, v, p, k + 1, plus, share))
          kept_.keep(first | singleton(u) | singleton(v), share);
      }
    }
  }

  // Whether the set with u and v (one candidate if they are the same) beats it without one of the parents.
  bool beats(int u, int v, int p, int k, double added, double share) {
    const int before = v == u ? k : k - 1;  // parents that have been taken in
    sweep(given(before), given(before + 1), u, skip_.data());
    if (v != u) sweep(given(k), given(k + 1), v, skip_.data());
    return one_less(given(k + 1), p, k, added) < share;
  }

  const Form& form_;
  int required_;
  KeptSets& kept_;
  int size_;
  vector<double> given_;  // given(k): the matrix swept on the k parents
  vector<double> full_;   // full(e): the inverse of the matrix of all but the e left out
  vector<uint8_t> skip_;
  vector<int> order_;
  vector<double> single_;
};

FoundSets linear_parent_sets(const Table& matrix, const Table& inverse, int n_required, const Row& offset,
                             const Row& slope, const Row& weights, const Row& top, bool logarithmic, double half,
                             double floor, bool best_only, int64_t max_steps, int64_t max_sets) {
  const size_t m = weights.shape(0), sizes = offset.shape(0);
  require(m <= 64 && sizes >= 1 && sizes <= m + 1, "there must be at most 64 candidates, and no more parents");
  require(n_required >= 0 && static_cast<size_t>(n_required) < sizes, "n_required must be in [0, most]");
  require(max_sets >= 1, "max_sets must be at least 1");
  require_shape({m + 1, m + 1}, "matrix and inverse", matrix, inverse);
  require_shape({sizes}, "slope", slope);
  require_shape({m + 1 - n_required}, "top", top);
  const Form form{static_cast<int>(m), static_cast<int>(sizes) - 1,
                  offset.data(),       slope.data(),
                  weights.data(),      top.data(),
                  logarithmic,         half};
  KeptSets kept{floor, best_only, max_sets};
  LinearWalk walk(form, n_required, kept);
  return kept.found([&](Watch& watch) { return walk.run(matrix.data(), inverse.data(), max_steps, watch); });
}
}  // namespace

void bind_linear_parents(nb::module_& m) {
  m.def("linear_parent_sets", &linear_parent_sets,
        "Return the parent sets that no subset beats, their shares and the steps taken (-1: too many, or stopped).");
}
}  // namespace drbo
