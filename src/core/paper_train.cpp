// One training step of the dropout networks: everything about a node while it is in the cache. The formulas are those
// of DropoutSurrogate._gradients, which is the version for a GPU.
#include <cstring>

#include "arrays.h"
#include "byte_tables.h"
#include "sums.h"
#include "threads.h"
#include "wide.h"

namespace drbo {

namespace {

using Bytes3 = In<std::uint8_t, 3>;
using Floats2 = In<float, 2>;

// A unit is kept whose coin, 16 random bits, is at least this.
std::uint32_t coin_threshold(double dropout) { return static_cast<std::uint32_t>(std::nearbyint(dropout * 65536)); }

// Parameters of all networks, or their gradients.
struct Networks {
  Out<float, 3> w1;                   // (d, m, h)
  Out<float, 2> b1, gamma, beta, w2;  // (d, h)
  Out<float, 2> b2;                   // (d, 1)
  std::size_t d = 0, m = 0, h = 0;

  void check() {
    d = w1.shape(0), m = w1.shape(1), h = w1.shape(2);
    require_shape({d, h}, "b1, gamma, beta and w2", b1, gamma, beta, w2);
    require_shape({d, 1}, "b2", b2);
  }
};

struct Training {
  std::size_t n, bytes;
  const std::uint8_t* codes;  // (d, n, bytes) parent sets of the batch
  const float* local;         // (d, n) their local scores
  const float* scale;         // (2, d) mean and spread of the targets
  std::uint64_t seed;
  float keep, eps;
  std::uint32_t threshold;  // a unit is kept whose coin is at least this
};

// Room for one node.
struct Room {
  Room(std::size_t n, std::size_t h, std::size_t bytes)
      : act(n * h), residual(n), coins(n * h + 3), table(bytes, h), back(bytes, h) {
    for (std::vector<float>* part : {&mean, &inverse, &v, &against, &slope, &base}) part->resize(h);
  }
  std::vector<float> act, residual, mean, inverse, v, against, slope, base;
  std::vector<std::uint16_t> coins;
  ByteTable table, back;
};

WIDE void toss(std::uint64_t seed, std::size_t words, std::uint16_t* coins) {
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = random_word(seed + i);
    std::memcpy(coins + 4 * i, &word, sizeof(word));
  }
}

// Sets the activations, dropped units 0, their means and one over their standard deviations.
WIDE void forward(const Training& batch, std::size_t node, std::size_t h, const float* b1, Room& room) {
  float* __restrict mean = room.mean.data();
  float* __restrict second = room.inverse.data();
  std::fill_n(mean, h, 0.0f);
  std::fill_n(second, h, 0.0f);
  const float n = static_cast<float>(batch.n), keep = batch.keep;
  const std::uint32_t threshold = batch.threshold;
  for (std::size_t r = 0; r < batch.n; ++r) {
    float* __restrict z = room.act.data() + r * h;
    const std::uint16_t* coin = room.coins.data() + r * h;
    std::copy_n(b1, h, z);
    room.table.add(batch.codes + (node * batch.n + r) * batch.bytes, z);
    for (std::size_t k = 0; k < h; ++k) {
      const float on = coin[k] >= threshold ? keep : 0.0f;
      const float x = (z[k] > 0 ? z[k] : 0.0f) * on;
      z[k] = x;
      mean[k] += x;
      second[k] += x * x;
    }
  }
  for (std::size_t k = 0; k < h; ++k) {
    mean[k] /= n;
    const float variance = second[k] / n - mean[k] * mean[k];
    second[k] = 1.0f / std::sqrt((variance > 0 ? variance : 0.0f) + batch.eps);
  }
}

// Sets the residuals and their sums with the activations; returns the sum of the residuals.
WIDE float errors(const Training& batch, std::size_t node, std::size_t d, std::size_t h, float offset, Room& room) {
  const float* v = room.v.data();
  float* __restrict against = room.against.data();
  const float mean = batch.scale[node], spread = batch.scale[d + node];
  const float factor = static_cast<float>(2.0 / static_cast<double>(batch.n * d)) / spread;  // the mean over all
  float total = 0.0f;
  std::fill_n(against, h, 0.0f);
  for (std::size_t r = 0; r < batch.n; ++r) {
    const float* z = room.act.data() + r * h;
    const float output = offset + sum_terms<float>(h, [&](std::size_t k) { return z[k] * v[k]; });
    const float e = (output * spread + mean - batch.local[node * batch.n + r]) * factor;
    room.residual[r] = e;
    total += e;
    for (std::size_t k = 0; k < h; ++k) against[k] += e * z[k];
  }
  return total;
}

// Collects the gradient of the hidden layer by byte of the parent sets; the activations are used up.
WIDE void backward(const Training& batch, std::size_t node, std::size_t h, float* __restrict gb1, Room& room) {
  const float *v = room.v.data(), *slope = room.slope.data(), *base = room.base.data(), keep = batch.keep;
  std::fill(room.back.sums.begin(), room.back.sums.end(), 0.0f);
  std::fill_n(gb1, h, 0.0f);
  for (std::size_t r = 0; r < batch.n; ++r) {
    float* __restrict z = room.act.data() + r * h;
    const float e = room.residual[r];
    const std::uint8_t* code = batch.codes + (node * batch.n + r) * batch.bytes;
    for (std::size_t k = 0; k < h; ++k) {
      const float x = (e * v[k] + base[k] - z[k] * slope[k]) * keep;
      z[k] = z[k] > 0 ? x : 0.0f;
      gb1[k] += z[k];
    }
    for (std::size_t q = 0; q < batch.bytes; ++q) {
      float* __restrict row = room.back.at(q, code[q]);
      for (std::size_t k = 0; k < h; ++k) row[k] += z[k];
    }
  }
}

WIDE void fill_table(ByteTable& table, const float* rows, std::size_t count) { table.fill(rows, count); }
WIDE void fold_table(ByteTable& table, float* rows, std::size_t count) { table.fold(rows, count); }
WIDE float squared(const float* values, std::size_t count) {
  return sum_terms<float>(count, [&](std::size_t k) { return values[k] * values[k]; });
}

// The gradient of the square loss of one network; returns its squared norm.
float node_gradient(const Training& batch, std::size_t node, const Networks& p, const Networks& g, Room& room) {
  const std::size_t h = p.h, at = node * h;
  const float *gamma = p.gamma.data() + at, *beta = p.beta.data() + at, *w2 = p.w2.data() + at;
  float *ggamma = g.gamma.data() + at, *gbeta = g.beta.data() + at, *gw2 = g.w2.data() + at, *gb1 = g.b1.data() + at;
  float* g1 = g.w1.data() + node * p.m * h;
  const std::size_t words = (batch.n * h + 3) / 4;
  fill_table(room.table, p.w1.data() + node * p.m * h, p.m);
  toss(batch.seed + node * words, words, room.coins.data());
  forward(batch, node, h, p.b1.data() + at, room);
  const float *mu = room.mean.data(), *inverse = room.inverse.data();
  for (std::size_t k = 0; k < h; ++k) room.v[k] = gamma[k] * w2[k] * inverse[k];
  const float offset = p.b2.data()[node] + sum_terms<float>(h, [&](std::size_t k) { return beta[k] * w2[k]; }) -
                       sum_terms<float>(h, [&](std::size_t k) { return mu[k] * room.v[k]; });
  const float total = errors(batch, node, p.d, h, offset, room), n = static_cast<float>(batch.n);
  for (std::size_t k = 0; k < h; ++k) {
    const float centred = (room.against[k] - mu[k] * total) * inverse[k];
    ggamma[k] = centred * w2[k];
    gw2[k] = centred * gamma[k] + total * beta[k];
    gbeta[k] = total * w2[k];
    room.slope[k] = room.v[k] * centred * inverse[k] / n;
    room.base[k] = room.slope[k] * mu[k] - room.v[k] * total / n;
  }
  g.b2.data()[node] = total;
  backward(batch, node, h, gb1, room);
  fold_table(room.back, g1, p.m);
  return total * total + squared(ggamma, h) + squared(gw2, h) + squared(gbeta, h) + squared(gb1, h) +
         squared(g1, p.m * h);
}

// ---- the border ----

// Writes the gradients; returns the squared norm of each network's.
Result<float, 1> network_gradients(const Bytes3& codes, const Floats2& local, const Floats2& scale, const Networks& p,
                                   const Networks& g, std::uint64_t seed, double dropout, double eps, int threads) {
  const std::size_t n = codes.shape(1), bytes = codes.shape(2);
  require(g.d == p.d && g.m == p.m && g.h == p.h, "parameters and gradients must have the same shapes");
  require(p.m <= 8 * bytes && n >= 1, "there must be rows, and codes must have a bit for each input");
  require(dropout >= 0 && dropout < 1, "dropout must be in [0, 1)");
  require_shape({p.d, n, bytes}, "codes", codes);
  require_shape({p.d, n}, "local", local);
  require_shape({2, p.d}, "scale", scale);
  const Training batch{n,
                       bytes,
                       codes.data(),
                       local.data(),
                       scale.data(),
                       seed,
                       static_cast<float>(1.0 / (1.0 - dropout)),
                       static_cast<float>(eps),
                       coin_threshold(dropout)};
  return filled<float>({p.d}, [&](float* squares, const Stop& stop) {
    in_stretches(whole(p.d), threads, stop, [&](std::int64_t first, std::int64_t last, Watch& watch) {
      Room room(n, p.h, bytes);
      for (std::int64_t node = first; node < last; ++node) {
        squares[node] = node_gradient(batch, static_cast<std::size_t>(node), p, g, room);
        watch.check(whole((n + 256) * p.h * bytes));
      }
    });
  });
}

WIDE void adam_part(std::size_t first, std::size_t last, float* flat, float* moment1, float* moment2,
                    const float* gradient, float clip, float new1, float new2, float rate, float correction2,
                    float eps) {
  for (std::size_t i = first; i < last; ++i) {
    const float x = gradient[i] * clip;
    const float a = moment1[i] + new1 * (x - moment1[i]), b = moment2[i] + new2 * (x * x - moment2[i]);
    moment1[i] = a;
    moment2[i] = b;
    flat[i] -= rate * a / (std::sqrt(b * correction2) + eps);
  }
}

using Flat = Out<float, 1>;

// One step of Adam (Kingma & Ba 2015); rate with the correction of the first moment.
void adam_step(const Flat& flat, const Flat& moment1, const Flat& moment2, const In<float, 1>& gradient, double clip,
               double beta1, double beta2, double rate, double correction2, double eps, int threads) {
  const std::size_t size = flat.shape(0);
  require_shape({size}, "moments and gradient", moment1, moment2, gradient);
  unlocked([&](const Stop& stop) {
    in_stretches(whole(size), threads, stop, [&](std::int64_t first, std::int64_t last, Watch&) {
      adam_part(first, last, flat.data(), moment1.data(), moment2.data(), gradient.data(), static_cast<float>(clip),
                static_cast<float>(1.0 - beta1), static_cast<float>(1.0 - beta2), static_cast<float>(rate),
                static_cast<float>(correction2), static_cast<float>(eps));
    });
  });
}

WIDE void node_moments(const ByteTable& table, const std::uint8_t* codes, const std::int64_t* rows, std::size_t n,
                       std::size_t h, const float* b1, float* __restrict z, float* __restrict mean,
                       float* __restrict second) {
  std::fill_n(mean, h, 0.0f);
  std::fill_n(second, h, 0.0f);
  for (std::size_t r = 0; r < n; ++r) {
    std::copy_n(b1, h, z);
    table.add(codes + rows[r] * table.bytes, z);
    for (std::size_t k = 0; k < h; ++k) {
      const float x = z[k] > 0 ? z[k] : 0.0f;
      mean[k] += x;
      second[k] += x * x;
    }
  }
  for (std::size_t k = 0; k < h; ++k) mean[k] /= static_cast<float>(n), second[k] /= static_cast<float>(n);
}

// Mean and mean square of the activations without dropout.
void activation_moments(const Bytes3& codes, const In<std::int64_t, 1>& rows, const In<float, 3>& w1, const Floats2& b1,
                        const Out<float, 2>& mean, const Out<float, 2>& second, int threads) {
  const std::size_t d = codes.shape(0), bytes = codes.shape(2), m = w1.shape(1), h = w1.shape(2), n = rows.shape(0);
  require(m <= 8 * bytes && n >= 1, "there must be rows, and codes must have a bit for each input");
  require_range(rows.data(), n, 0, whole(codes.shape(1)), "rows");
  require_shape({d, m, h}, "w1", w1);
  require_shape({d, h}, "b1", b1);
  require_shape({d, h}, "mean and second", mean, second);
  unlocked([&](const Stop& stop) {
    in_parts(whole(d), threads, stop, [&](std::int64_t part, Watch& watch) {
      const std::size_t node = static_cast<std::size_t>(part);
      ByteTable table(bytes, h);
      std::vector<float> z(h);
      fill_table(table, w1.data() + node * m * h, m);
      node_moments(table, codes.data() + node * codes.shape(1) * bytes, rows.data(), n, h, b1.data() + node * h,
                   z.data(), mean.data() + node * h, second.data() + node * h);
      watch.check(whole((n + 256) * h * bytes));
    });
  });
}

// The hidden layer of one node under dropout, each parent set with a mask of its own. A mask is drawn from the numbers
// of its node and parent set, so that it can be drawn twice: activations are not kept.
struct Masked {
  const ByteTable& table;
  const float* b1;
  std::uint64_t seed;  // counter of the node's first mask
  std::uint32_t threshold;
  float keep;
  std::vector<std::uint16_t> coins;
  std::vector<float> z;
};

inline void activate(Masked& layer, const std::uint8_t* code, std::size_t row) {
  const std::size_t h = layer.z.size(), words = (h + 3) / 4;
  float* __restrict z = layer.z.data();
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = random_word(layer.seed + row * words + i);
    std::memcpy(layer.coins.data() + 4 * i, &word, sizeof(word));
  }
  std::copy_n(layer.b1, h, z);
  layer.table.add(code, z);
  for (std::size_t k = 0; k < h; ++k) {
    const float on = layer.coins[k] >= layer.threshold ? layer.keep : 0.0f;
    z[k] = (z[k] > 0 ? z[k] : 0.0f) * on;
  }
}

constexpr std::size_t BLOCK = 256;  // rows between two looks at the watch

// Adds the activations of some rows and their squares, summed in single precision.
WIDE void add_moments(Masked& layer, const std::uint8_t* codes, std::size_t begin, std::size_t end, float* part,
                      float* square, double* first, double* second) {
  const std::size_t h = layer.z.size();
  std::fill_n(part, h, 0.0f);
  std::fill_n(square, h, 0.0f);
  for (std::size_t row = begin; row < end; ++row) {
    activate(layer, codes + row * layer.table.bytes, row);
    for (std::size_t k = 0; k < h; ++k) part[k] += layer.z[k], square[k] += layer.z[k] * layer.z[k];
  }
  for (std::size_t k = 0; k < h; ++k) first[k] += part[k], second[k] += square[k];
}

// Mean and variance of the activations of all rows.
void row_moments(Masked& layer, const std::uint8_t* codes, std::size_t n, float* mean, float* variance, Watch& watch) {
  const std::size_t h = layer.z.size();
  std::vector<double> first(h), second(h);
  std::vector<float> part(h), square(h);
  for (std::size_t begin = 0; begin < n; begin += BLOCK) {
    add_moments(layer, codes, begin, std::min(begin + BLOCK, n), part.data(), square.data(), first.data(),
                second.data());
    watch.check(whole(BLOCK * h * layer.table.bytes));
  }
  for (std::size_t k = 0; k < h; ++k) {
    const double centre = first[k] / static_cast<double>(n);
    mean[k] = static_cast<float>(centre);
    variance[k] = static_cast<float>(std::max(second[k] / static_cast<double>(n) - centre * centre, 0.0));
  }
}

WIDE void row_values(Masked& layer, const std::uint8_t* codes, std::size_t begin, std::size_t end, const float* v,
                     float* values) {
  for (std::size_t row = begin; row < end; ++row) {
    activate(layer, codes + row * layer.table.bytes, row);
    values[row] = sum_terms<float>(layer.z.size(), [&](std::size_t k) { return layer.z[k] * v[k]; });
  }
}

// Writes one drawn local value per parent set. moments: mean and variance of the activations, (2, d, h), or (2, 0, h)
// for those of these parent sets; scale: mean, spread, least and largest value.
void network_samples(const Bytes3& codes, const Networks& p, const In<float, 3>& moments, const Floats2& scale,
                     std::uint64_t seed, double dropout, double eps, const Out<float, 2>& local, int threads) {
  const std::size_t d = p.d, h = p.h, n = codes.shape(1), bytes = codes.shape(2);
  require(p.m <= 8 * bytes && n >= 1, "there must be rows, and codes must have a bit for each input");
  require(dropout >= 0 && dropout < 1, "dropout must be in [0, 1)");
  require_shape({d, n, bytes}, "codes", codes);
  require_shape({2, moments.shape(1) == 0 ? 0 : d, h}, "moments", moments);
  require_shape({4, d}, "scale", scale);
  require_shape({d, n}, "local", local);
  unlocked([&](const Stop& stop) {
    in_parts(whole(d), threads, stop, [&](std::int64_t part, Watch& watch) {
      const std::size_t node = static_cast<std::size_t>(part), at = node * h;
      ByteTable table(bytes, h);
      fill_table(table, p.w1.data() + node * p.m * h, p.m);
      Masked layer{table,
                   p.b1.data() + at,
                   seed + node * n * ((h + 3) / 4),
                   coin_threshold(dropout),
                   static_cast<float>(1.0 / (1.0 - dropout)),
                   std::vector<std::uint16_t>(h + 3),
                   std::vector<float>(h)};
      std::vector<float> mean(h), variance(h), v(h);
      const std::uint8_t* own = codes.data() + node * n * bytes;
      if (moments.shape(1) == 0) {
        row_moments(layer, own, n, mean.data(), variance.data(), watch);
      } else {
        std::copy_n(moments.data() + at, h, mean.data());
        std::copy_n(moments.data() + (d * h + at), h, variance.data());
      }
      const float *gamma = p.gamma.data() + at, *beta = p.beta.data() + at, *w2 = p.w2.data() + at;
      for (std::size_t k = 0; k < h; ++k) v[k] = gamma[k] * w2[k] / std::sqrt(variance[k] + static_cast<float>(eps));
      const float offset = p.b2.data()[node] + sum_terms<float>(h, [&](std::size_t k) { return beta[k] * w2[k]; }) -
                           sum_terms<float>(h, [&](std::size_t k) { return mean[k] * v[k]; });
      float* values = local.data() + node * n;
      for (std::size_t begin = 0; begin < n; begin += BLOCK) {
        row_values(layer, own, begin, std::min(begin + BLOCK, n), v.data(), values);
        watch.check(whole(BLOCK * h * bytes));
      }
      const float centre = scale.data()[node], spread = scale.data()[d + node];
      const float low = scale.data()[2 * d + node], high = scale.data()[3 * d + node];
      for (std::size_t row = 0; row < n; ++row)
        values[row] = std::min(std::max(centre + spread * (offset + values[row]), low), high);
    });
  });
}

}  // namespace

void bind_paper_train(nb::module_& m) {
  using Self = Networks;
  nb::class_<Networks> bound(m, "Networks", "Parameters of all networks, or their gradients.");
  set_fields(bound, FIELD(w1), FIELD(b1), FIELD(gamma), FIELD(beta), FIELD(w2), FIELD(b2));
  m.def("network_gradients", &network_gradients,
        "Write the gradient of the square loss; return the squared norm of each network's.");
  m.def("adam_step", &adam_step, "Take one step of Adam.");
  m.def("activation_moments", &activation_moments, "Set mean and mean square of the activations without dropout.");
  m.def("network_samples", &network_samples,
        "Write one drawn local value per parent set, each with a dropout mask of its own.");
}

}  // namespace drbo
