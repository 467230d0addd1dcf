// The dropout networks: one training step, the statistics of their hidden layers, and draws of their values. The
// formulas of the step are those of DropoutSurrogate._gradients, which is the version for a GPU.
#include <cstring>

#include "byte_tables.h"
#include "numbers.h"

namespace drbo {
namespace {

using Bytes3 = In<uint8_t, 3>;
using Floats2 = In<float, 2>;

// Parameters of all networks, or their gradients.
struct Networks {
  Out<float, 3> w1;                   // (d, m, h)
  Out<float, 2> b1, gamma, beta, w2;  // (d, h)
  Out<float, 2> b2;                   // (d, 1)
  size_t d = 0, m = 0, h = 0;

  void check() {
    d = w1.shape(0), m = w1.shape(1), h = w1.shape(2);
    require_shape({d, h}, "b1, gamma, beta and w2", b1, gamma, beta, w2);
    require_shape({d, 1}, "b2", b2);
  }
};

// The parent sets of all nodes, and how their hidden units are dropped.
struct Batch {
  const Networks& p;
  const Bytes3& codes;  // (d, n, bytes)
  uint64_t seed;
  float keep;          // what kept units are multiplied by
  uint32_t threshold;  // a unit is kept whose coin, 16 random bits, is at least this
  size_t n, bytes;

  Batch(const Networks& networks, const Bytes3& given, uint64_t seed_, double dropout)
      : p(networks), codes(given), seed(seed_), keep(static_cast<float>(1.0 / (1.0 - dropout))),
        threshold(static_cast<uint32_t>(std::nearbyint(dropout * 65536))), n(codes.shape(1)), bytes(codes.shape(2)) {
    require(p.m <= 8 * bytes && n >= 1, "there must be rows, and codes must have a bit for each input");
    require(dropout >= 0 && dropout < 1, "dropout must be in [0, 1)");
    require_shape({p.d, n, bytes}, "codes", codes);
  }
  const uint8_t* code(size_t node, size_t row) const { return codes.data() + (node * n + row) * bytes; }
};

// The hidden layer of one node for some rows of a batch.
struct Layer {
  ByteTable table;
  size_t rows, node = 0;
  vector<uint64_t> coins;     // (rows, words) of four coins each
  vector<uint16_t> coin;      // (h,) of one row
  vector<float> act;          // (rows, h)
  vector<float> sum, square;  // (h,) of the activations, over the rows
  vector<float> mean, v;      // (h,) of the activations; output weights with the normalisation

  Layer(const Batch& batch, size_t rows_)
      : table(batch.bytes, batch.p.h), rows(rows_), coins(rows * ((batch.p.h + 3) / 4)), coin(batch.p.h + 3),
        act(rows * batch.p.h) {
    for (vector<float>* part : {&sum, &square, &mean, &v}) part->resize(batch.p.h);
  }
};

WIDE void set_node(const Batch& batch, size_t node, Layer& layer) {
  layer.node = node;
  layer.table.fill(batch.p.w1.data() + node * batch.p.m * batch.p.h, batch.p.m);
}

// Sets the activations of some rows, dropped units 0, and their sums. The coins of a row come from the numbers of its
// node and of the row, so that they can be tossed again: activations need not be kept.
WIDE void activate(const Batch& batch, size_t begin, size_t end, Layer& layer) {
  const size_t h = batch.p.h, words = (h + 3) / 4;
  const size_t tossed = batch.threshold ? (end - begin) * words : 0;  // none: nothing is dropped
  const uint64_t first = batch.seed + (layer.node * batch.n + begin) * words;
  uint64_t* __restrict coins = layer.coins.data();
  for (size_t i = 0; i < tossed; ++i) coins[i] = random_word(first + i);
  const float *b1 = batch.p.b1.data() + layer.node * h, keep = batch.keep;
  const uint32_t threshold = batch.threshold;
  float* __restrict sum = layer.sum.data(), * __restrict square = layer.square.data();
  std::fill_n(sum, h, 0.0f);
  std::fill_n(square, h, 0.0f);
  for (size_t row = begin; row < end; ++row) {
    float* __restrict z = layer.act.data() + (row - begin) * h;
    const uint16_t* coin = layer.coin.data();
    if (tossed) std::memcpy(layer.coin.data(), coins + (row - begin) * words, words * sizeof(uint64_t));
    std::copy_n(b1, h, z);
    layer.table.add(batch.code(layer.node, row), z);
    for (size_t k = 0; k < h; ++k) {
      const float on = coin[k] >= threshold ? keep : 0.0f;
      const float x = (z[k] > 0 ? z[k] : 0.0f) * on;
      z[k] = x;
      sum[k] += x;
      square[k] += x * x;
    }
  }
}

// The output at zero activation, for the mean activations and output weights of a layer.
float offset_of(const Networks& p, const Layer& layer) {
  const float *beta = p.beta.data() + layer.node * p.h, *w2 = p.w2.data() + layer.node * p.h;
  return p.b2[layer.node] + sum_terms<float>(p.h, [&](size_t k) { return beta[k] * w2[k]; }) -
         sum_terms<float>(p.h, [&](size_t k) { return layer.mean[k] * layer.v[k]; });
}

// ---- training ----

// What the backward pass of one node needs beside its layer.
struct Gradient {
  ByteTable back;  // the gradient of the hidden layer by byte of the parent sets
  vector<float> residual, inverse, against, slope, base;

  explicit Gradient(const Batch& batch) : back(batch.bytes, batch.p.h), residual(batch.n) {
    for (vector<float>* part : {&inverse, &against, &slope, &base}) part->resize(batch.p.h);
  }
};

// Sets the residuals and their sums with the activations; returns the sum of the residuals. local: (n,) the targets.
WIDE float errors(const Batch& batch, const Layer& layer, const float* local, float mean, float spread, float offset,
                  Gradient& room) {
  const size_t h = batch.p.h;
  const float* v = layer.v.data();
  float* __restrict against = room.against.data();
  const float factor = static_cast<float>(2.0 / static_cast<double>(batch.n * batch.p.d)) / spread;  // mean over all
  float total = 0.0f;
  std::fill_n(against, h, 0.0f);
  for (size_t r = 0; r < batch.n; ++r) {
    const float* z = layer.act.data() + r * h;
    const float output = offset + sum_terms<float>(h, [&](size_t k) { return z[k] * v[k]; });
    const float e = (output * spread + mean - local[r]) * factor;
    room.residual[r] = e;
    total += e;
    for (size_t k = 0; k < h; ++k) against[k] += e * z[k];
  }
  return total;
}

// Collects the gradient of the hidden layer by byte of the parent sets; the activations are used up.
WIDE void backward(const Batch& batch, Layer& layer, float* __restrict gb1, float* g1, Gradient& room) {
  const size_t h = batch.p.h;
  const float *v = layer.v.data(), *slope = room.slope.data(), *base = room.base.data(), keep = batch.keep;
  std::fill(room.back.sums.begin(), room.back.sums.end(), 0.0f);
  std::fill_n(gb1, h, 0.0f);
  for (size_t r = 0; r < batch.n; ++r) {
    float* __restrict z = layer.act.data() + r * h;
    const float e = room.residual[r];
    const uint8_t* code = batch.code(layer.node, r);
    for (size_t k = 0; k < h; ++k) {
      const float x = (e * v[k] + base[k] - z[k] * slope[k]) * keep;
      z[k] = z[k] > 0 ? x : 0.0f;
      gb1[k] += z[k];
    }
    for (size_t q = 0; q < batch.bytes; ++q) {
      float* __restrict row = room.back.at(q, code[q]);
      for (size_t k = 0; k < h; ++k) row[k] += z[k];
    }
  }
  room.back.fold(g1, batch.p.m);
}

WIDE float squared(const float* values, size_t count) {
  return sum_terms<float>(count, [&](size_t k) { return values[k] * values[k]; });
}

// The gradient of the square loss of one network; returns its squared norm.
float node_gradient(const Batch& batch, const float* local, float centre, float spread, float eps, const Networks& g,
                    Layer& layer, Gradient& room) {
  const Networks& p = batch.p;
  const size_t h = p.h, at = layer.node * h;
  const float *gamma = p.gamma.data() + at, *beta = p.beta.data() + at, *w2 = p.w2.data() + at;
  float *ggamma = g.gamma.data() + at, *gbeta = g.beta.data() + at, *gw2 = g.w2.data() + at, *gb1 = g.b1.data() + at;
  float *g1 = g.w1.data() + at * p.m, *mu = layer.mean.data(), *inverse = room.inverse.data(), *v = layer.v.data();
  const float n = static_cast<float>(batch.n);
  activate(batch, 0, batch.n, layer);
  for (size_t k = 0; k < h; ++k) {
    mu[k] = layer.sum[k] / n;
    const float variance = layer.square[k] / n - mu[k] * mu[k];
    inverse[k] = 1.0f / std::sqrt((variance > 0 ? variance : 0.0f) + eps);
    v[k] = gamma[k] * w2[k] * inverse[k];
  }
  const float total = errors(batch, layer, local, centre, spread, offset_of(p, layer), room);
  for (size_t k = 0; k < h; ++k) {
    const float centred = (room.against[k] - mu[k] * total) * inverse[k];
    ggamma[k] = centred * w2[k];
    gw2[k] = centred * gamma[k] + total * beta[k];
    gbeta[k] = total * w2[k];
    room.slope[k] = v[k] * centred * inverse[k] / n;
    room.base[k] = room.slope[k] * mu[k] - v[k] * total / n;
  }
  g.b2[layer.node] = total;
  backward(batch, layer, gb1, g1, room);
  return total * total + squared(ggamma, h) + squared(gw2, h) + squared(gbeta, h) + squared(gb1, h) +
         squared(g1, p.m * h);
}

// Writes the gradients; returns the squared norm of each network's.
Result<float, 1> network_gradients(const Bytes3& codes, const Floats2& local, const Floats2& scale, const Networks& p,
                                   const Networks& g, uint64_t seed, double dropout, double eps, int threads) {
  const Batch batch(p, codes, seed, dropout);
  require(g.d == p.d && g.m == p.m && g.h == p.h, "parameters and gradients must have the same shapes");
  require_shape({p.d, batch.n}, "local", local);
  require_shape({2, p.d}, "scale", scale);
  Owned<float, 1> squares({p.d});
  in_stretches(p.d, threads, [&](int64_t first, int64_t last, Watch& watch) {
    Layer layer(batch, batch.n);
    Gradient room(batch);
    for (int64_t node = first; node < last; ++node) {
      set_node(batch, node, layer);
      squares[node] = node_gradient(batch, local.data() + node * batch.n, scale[node], scale[p.d + node],
                                    static_cast<float>(eps), g, layer, room);
      watch.check(whole((batch.n + 256) * p.h * batch.bytes));
    }
  });
  return squares.give();
}

WIDE void adam_part(size_t first, size_t last, float* flat, float* moment1, float* moment2, const float* gradient,
                    float clip, float new1, float new2, float rate, float correction2, float eps) {
  for (size_t i = first; i < last; ++i) {
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
  require_shape({flat.shape(0)}, "moments and gradient", moment1, moment2, gradient);
  in_stretches(flat.shape(0), threads, [&](int64_t first, int64_t last, Watch&) {
    adam_part(first, last, flat.data(), moment1.data(), moment2.data(), gradient.data(), static_cast<float>(clip),
              static_cast<float>(1.0 - beta1), static_cast<float>(1.0 - beta2), static_cast<float>(rate),
              static_cast<float>(correction2), static_cast<float>(eps));
  });
}

// ---- draws ----

constexpr size_t BLOCK = 256;  // rows between two looks at the watch

// Calls work(begin, end) for blocks of as many rows as a layer holds, whose activations have been set.
template <class Work>
void in_blocks(const Batch& batch, Layer& layer, Watch& watch, const Work& work) {
  for (size_t begin = 0; begin < batch.n; begin += layer.rows) {
    const size_t end = std::min(begin + layer.rows, batch.n);
    activate(batch, begin, end, layer);
    work(begin, end);
    watch.check(whole(layer.rows * batch.p.h * batch.bytes));
  }
}

// Mean and mean square of the activations of all rows (2, h); sums over blocks are in double precision.
vector<double> row_moments(const Batch& batch, Layer& layer, Watch& watch) {
  const size_t h = batch.p.h;
  vector<double> moments(2 * h);
  in_blocks(batch, layer, watch, [&](size_t, size_t) {
    for (size_t k = 0; k < h; ++k) moments[k] += layer.sum[k], moments[h + k] += layer.square[k];
  });
  for (double& moment : moments) moment /= static_cast<double>(batch.n);
  return moments;
}

// Writes mean and mean square of the activations without dropout.
void activation_moments(const Bytes3& codes, const Networks& p, const Out<float, 2>& mean, const Out<float, 2>& second,
                        int threads) {
  const Batch batch(p, codes, 0, 0.0);
  require_shape({p.d, p.h}, "mean and second", mean, second);
  in_stretches(p.d, threads, [&](int64_t first, int64_t last, Watch& watch) {
    Layer layer(batch, batch.n);
    for (int64_t node = first; node < last; ++node) {
      set_node(batch, node, layer);
      const vector<double> moments = row_moments(batch, layer, watch);
      for (size_t k = 0; k < p.h; ++k) {
        mean[node * p.h + k] = static_cast<float>(moments[k]);
        second[node * p.h + k] = static_cast<float>(moments[p.h + k]);
      }
    }
  });
}

WIDE void row_outputs(const Layer& layer, size_t count, float* values) {
  const size_t h = layer.v.size();
  const float* v = layer.v.data();
  for (size_t row = 0; row < count; ++row) {
    const float* z = layer.act.data() + row * h;
    values[row] = sum_terms<float>(h, [&](size_t k) { return z[k] * v[k]; });
  }
}

// Writes one drawn local value per parent set. moments: mean and variance of the activations, (2, d, h), or (2, 0, h)
// for those of these parent sets; scale: mean, spread, least and largest value.
void network_samples(const Bytes3& codes, const Networks& p, const In<float, 3>& moments, const Floats2& scale,
                     uint64_t seed, double dropout, double eps, const Out<float, 2>& local, int threads) {
  const Batch batch(p, codes, seed, dropout);
  const size_t d = p.d, h = p.h, n = batch.n;
  require_shape({2, moments.shape(1) == 0 ? 0 : d, h}, "moments", moments);
  require_shape({4, d}, "scale", scale);
  require_shape({d, n}, "local", local);
  in_parts(d, threads, [&](int64_t part, Watch& watch) {
    const size_t node = static_cast<size_t>(part), at = node * h;
    Layer layer(batch, BLOCK);
    vector<float> variance(h);
    set_node(batch, node, layer);
    if (moments.shape(1) == 0) {
      const vector<double> found = row_moments(batch, layer, watch);
      for (size_t k = 0; k < h; ++k) {
        layer.mean[k] = static_cast<float>(found[k]);
        variance[k] = static_cast<float>(std::max(found[h + k] - found[k] * found[k], 0.0));
      }
    } else {
      std::copy_n(moments.data() + at, h, layer.mean.data());
      std::copy_n(moments.data() + (d * h + at), h, variance.data());
    }
    for (size_t k = 0; k < h; ++k)
      layer.v[k] = p.gamma[at + k] * p.w2[at + k] / std::sqrt(variance[k] + static_cast<float>(eps));
    const float offset = offset_of(p, layer), centre = scale[node], spread = scale[d + node];
    const float low = scale[2 * d + node], high = scale[3 * d + node];
    in_blocks(batch, layer, watch, [&](size_t begin, size_t end) {
      float* values = local.data() + node * n;
      row_outputs(layer, end - begin, values + begin);
      for (size_t row = begin; row < end; ++row)
        values[row] = std::min(std::max(centre + spread * (offset + values[row]), low), high);
    });
  });
}
}  // namespace

void bind_paper_train(nb::module_& m) {
  using Self = Networks;
  bind_fields<Self>(m, "Networks", "Parameters of all networks, or their gradients.", FIELD(w1), FIELD(b1),
                    FIELD(gamma), FIELD(beta), FIELD(w2), FIELD(b2));
  m.def("network_gradients", &network_gradients,
        "Write the gradient of the square loss; return the squared norm of each network's.");
  m.def("adam_step", &adam_step, "Take one step of Adam.");
  m.def("activation_moments", &activation_moments, "Set mean and mean square of the activations without dropout.");
  m.def("network_samples", &network_samples,
        "Write one drawn local value per parent set, each with a dropout mask of its own.");
}
}  // namespace drbo
