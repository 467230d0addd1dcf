// Candidates of the trust region, their DAGs and their drawn values.
//
// The work follows what differs from the centre: only moved coordinates are drawn, only pairs with a moved node are
// decoded again, and only families that changed are computed.
#include "arrays.h"
#include "byte_tables.h"
#include "numbers.h"

namespace drbo {
namespace {

using Floats1 = In<float, 1>;
using Floats2 = In<float, 2>;
using Floats3 = In<float, 3>;
using Bytes2 = In<uint8_t, 2>;
using Bytes3 = In<uint8_t, 3>;

// Draws which coordinates of each candidate move, and where to; free places of coordinate hold dim. Gaps between moved
// coordinates are geometric, so the cost is that of the moved ones. Values are Sobol points, or uniform.
void region_moves(const Floats1& low, const Floats1& width, double probability, const In<uint32_t, 2>& directions,
                  const In<uint32_t, 1>& shift, uint64_t seed, const Out<int32_t, 2>& coordinate,
                  const Out<float, 2>& value, int threads) {
  const size_t dim = low.shape(0), n = coordinate.shape(0), room = coordinate.shape(1), bits = directions.shape(1);
  require(dim >= 1 && room >= 1 && bits <= 32, "there must be coordinates, room for moves, and at most 32 bits");
  require(probability > 0, "probability must be above 0");
  require_shape({dim}, "width and shift", width, shift);
  require_shape({dim, bits}, "directions", directions);
  require_shape({n, room}, "value", value);
  const double scale = probability >= 1.0 ? 0.0 : 1.0 / std::log1p(-probability);
  in_stretches(n, threads, [&](int64_t first, int64_t last, Watch& watch) {
    for (int64_t c = first; c < last; ++c) {
      const uint64_t counter = seed + static_cast<uint64_t>(c) * (2 * room + 2);
      int digit[32], n_digits = 0;  // of the candidate's number in Gray code
      for (Set left = (c ^ (c >> 1)) & ((Set{1} << bits) - 1); left; left &= left - 1) digit[n_digits++] = lowest(left);
      int32_t* const moved = coordinate.data() + c * room;
      int64_t place = -1;
      size_t count = 0;
      for (; count < room; ++count) {
        const double u = uniform(random_word(counter + count));
        const double gap = scale != 0.0 ? std::log(1.0 - u) * scale : 0.0;  // 1 - u is exact
        place += 1 + (gap < static_cast<double>(dim) ? static_cast<int64_t>(gap) : whole(dim));
        if (place >= whole(dim)) break;
        moved[count] = static_cast<int32_t>(place);
      }
      if (count == 0) {  // at least one coordinate moves
        moved[0] = static_cast<int32_t>(uniform(random_word(counter + room)) * static_cast<double>(dim));
        count = 1;
      }
      std::fill(moved + count, moved + room, static_cast<int32_t>(dim));
      for (size_t q = 0; q < count; ++q) {
        const size_t at = moved[q];
        double u;
        if (bits == 0) {
          u = uniform(random_word(counter + room + 1 + q));
        } else {
          uint32_t digits = shift[at];
          for (int b = 0; b < n_digits; ++b) digits ^= directions[at * bits + digit[b]];
          u = (static_cast<double>(digits) + 0.5) * 0x1p-30;
        }
        value[c * room + q] = static_cast<float>(static_cast<double>(low[at]) + static_cast<double>(width[at]) * u);
      }
      watch.check(whole(30 * count));
    }
  });
}

// The space of a decoder: what the numbers of a vector mean, and where the parent sets of candidates go.
struct Layout {
  size_t d, dim, rank;     // rank 0: one number per pair
  const float* center;     // (dim,) potentials already in their tiers
  const int32_t* pairs;    // (P, 2)
  const float* tier;       // (d,) what is added to a moved potential
  const int32_t* place;    // (d, d) bit of parent i among the bits of node j at [j, i]; -1: not allowed
  const uint8_t* parents;  // (d, d) 1 where i is a parent of j in the centre's DAG at [j, i]
  size_t n, bytes;
  uint8_t* codes;    // (d, n, bytes)
  uint8_t* changed;  // (d, n) 1 where they differ from the centre's
};

// Decodes one candidate after the other by toggling what differs from the centre.
class Decoder {
 public:
  explicit Decoder(const Layout& layout)
      : at_(layout), potential_(layout.center, layout.center + layout.d), product_(layout.d),
        links_(layout.d * (layout.rank ? layout.rank : layout.d)), children_(layout.d * layout.d), touched_(layout.d),
        differs_(layout.d) {
    const size_t d = at_.d;
    for (size_t q = d; q < at_.dim; ++q) set_link(q, at_.center[q]);
    for (size_t j = 0; j < d; ++j)
      for (size_t i = 0; i < d; ++i) children_[i * d + j] = at_.parents[j * d + i];
  }

  void decode(size_t c, const int32_t* coordinate, const float* value, size_t count) {
    const size_t d = at_.d;
    const auto put = [&](bool back) {  // the candidate, or back the centre
      for (size_t k = 0; k < count; ++k) {
        const size_t q = coordinate[k];
        if (q < d)
          potential_[q] = back ? at_.center[q] : value[k] + at_.tier[q];
        else
          set_link(q, back ? at_.center[q] : value[k]);
        if (q < d || at_.rank) touched_[owner(q)] = !back;
      }
    };
    put(false);
    for (size_t i = 0; i < d; ++i)
      if (touched_[i]) toggle_node(c, i);
    for (size_t k = 0; k < count && at_.rank == 0; ++k) {
      if (static_cast<size_t>(coordinate[k]) < d) continue;
      const auto [i, j] = pair(coordinate[k]);
      if (!touched_[i] && !touched_[j]) toggle_pair(c, i, j, links_[i * d + j] > 0);
    }
    put(true);
  }

 private:
  struct Pair {
    size_t i, j;
  };
  Pair pair(size_t q) const {
    return {static_cast<size_t>(at_.pairs[2 * (q - at_.d)]), static_cast<size_t>(at_.pairs[2 * (q - at_.d) + 1])};
  }
  size_t owner(size_t q) const { return q < at_.d ? q : (q - at_.d) / at_.rank; }

  void set_link(size_t q, float value) {
    if (at_.rank) {  // embeddings, one row for each dimension
      links_[(q - at_.d) % at_.rank * at_.d + owner(q)] = value;
    } else {
      const auto [i, j] = pair(q);
      links_[i * at_.d + j] = links_[j * at_.d + i] = value;
    }
  }

  // Brings all pairs of a touched node into line.
  void toggle_node(size_t c, size_t i) {
    const size_t d = at_.d;
    touched_[i] = 2;  // its pairs are done
    set_product(i);
    const uint8_t* own = at_.parents + i * d;
    const uint8_t* theirs = children_.data() + i * d;
    const float height = potential_[i];
    uint8_t any = 0;
    for (size_t j = 0; j < d; ++j) {
      const uint8_t linked = product_[j] > 0, up = height < potential_[j], down = potential_[j] < height;
      differs_[j] = static_cast<uint8_t>(((linked & up) ^ theirs[j]) | ((linked & down) ^ own[j]));
      any |= differs_[j];
    }
    if (!any) return;
    for (size_t j = 0; j < d; ++j)
      if (differs_[j] && touched_[j] < 2) toggle_pair(c, i, j, product_[j] > 0);
  }

  void set_product(size_t i) {
    const size_t d = at_.d;
    float* __restrict product = product_.data();
    if (at_.rank == 0) {
      std::copy_n(links_.data() + i * d, d, product);
      return;
    }
    std::fill_n(product, d, 0.0f);
    for (size_t k = 0; k < at_.rank; ++k) {
      const float* row = links_.data() + k * d;
      const float own = row[i];
      for (size_t j = 0; j < d; ++j) product[j] += own * row[j];
    }
  }

  void toggle_pair(size_t c, size_t i, size_t j, bool linked) {
    set_edge(c, i, j, linked && potential_[i] < potential_[j]);
    set_edge(c, j, i, linked && potential_[j] < potential_[i]);
  }

  // Brings the edge i -> j into line, where it is allowed at all.
  void set_edge(size_t c, size_t i, size_t j, bool present) {
    const int32_t bit = at_.place[j * at_.d + i];
    if (bit < 0 || present == (at_.parents[j * at_.d + i] != 0)) return;
    at_.codes[(j * at_.n + c) * at_.bytes + (bit >> 3)] ^= static_cast<uint8_t>(128 >> (bit & 7));
    at_.changed[j * at_.n + c] = 1;
  }

  const Layout& at_;
  vector<float> potential_, product_, links_;
  vector<uint8_t> children_, touched_, differs_;
};

void decode_candidates(const Floats1& center, size_t rank, const Codes& pairs, const Floats1& tier, const Codes& place,
                       const Bytes2& parents, const Bytes2& center_codes, const Codes& coordinate, const Floats2& value,
                       const Out<uint8_t, 3>& codes, const Out<uint8_t, 2>& changed, int threads) {
  const size_t d = tier.shape(0), n = coordinate.shape(0), room = coordinate.shape(1), bytes = codes.shape(2);
  const Layout layout{
      d, center.shape(0), rank,         center.data(), pairs.data(), tier.data(), place.data(), parents.data(),
      n, bytes,           codes.data(), changed.data()};
  require(layout.dim == d + (rank ? d * rank : pairs.shape(0)), "center must hold potentials and links");
  require_shape({pairs.shape(0), 2}, "pairs", pairs);
  require_range(pairs.data(), 2 * pairs.shape(0), 0, whole(d), "pairs");
  require_shape({d, d}, "place and parents", place, parents);
  require_range(place.data(), d * d, -1, whole(8 * bytes), "place");
  require_range(parents.data(), d * d, 0, 2, "parents");
  require_shape({d, bytes}, "center_codes", center_codes);
  require_range(coordinate.data(), n * room, 0, whole(layout.dim) + 1, "coordinate");
  require_shape({n, room}, "value", value);
  require_shape({d, n, bytes}, "codes", codes);
  require_shape({d, n}, "changed", changed);
  in_stretches(n, threads, [&](int64_t first, int64_t last, Watch& watch) {
    for (size_t j = 0; j < d; ++j)
      for (int64_t c = first; c < last; ++c) {
        layout.changed[j * n + c] = 0;
        std::copy_n(center_codes.data() + j * bytes, bytes, layout.codes + (j * n + c) * bytes);
      }
    Decoder decoder(layout);
    for (int64_t c = first; c < last; ++c) {
      const int32_t* moved = coordinate.data() + c * room;
      const size_t count = std::find(moved, moved + room, static_cast<int32_t>(layout.dim)) - moved;
      decoder.decode(c, moved, value.data() + c * room, count);
      watch.check(whole(count * d * (1 + rank) / 2 + 20));
    }
  });
}

// Networks of all nodes as functions that were drawn.
struct DrawnNetworks {
  size_t d, inputs, hidden, draws;
  const float *w1, *b1, *output, *offset, *scale;
};

// The values of all draws for one hidden layer. Units that are off add nothing and are left out; the others are summed
// in groups of eight.
WIDE void output_values(const DrawnNetworks& f, size_t node, const float* z, uint32_t* active, float* __restrict out) {
  const float* weights = f.output + node * f.hidden * f.draws;
  size_t count = 0;
  for (size_t k = 0; k < f.hidden; ++k) {
    active[count] = static_cast<uint32_t>(k);
    count += z[k] > 0;
  }
  std::fill_n(out, f.draws, f.offset[node]);
  size_t at = 0;
  for (; at + 8 <= count; at += 8) {
    const float* w[8];
    float v[8];
    for (int l = 0; l < 8; ++l) w[l] = weights + active[at + l] * f.draws, v[l] = z[active[at + l]];
    const float *w0 = w[0], *w1 = w[1], *w2 = w[2], *w3 = w[3], *w4 = w[4], *w5 = w[5], *w6 = w[6], *w7 = w[7];
    for (size_t s = 0; s < f.draws; ++s)
      out[s] += ((v[0] * w0[s] + v[1] * w1[s]) + (v[2] * w2[s] + v[3] * w3[s])) +
                ((v[4] * w4[s] + v[5] * w5[s]) + (v[6] * w6[s] + v[7] * w7[s]));
  }
  for (; at < count; ++at) {
    const float* row = weights + active[at] * f.draws;
    const float own = z[active[at]];
    for (size_t s = 0; s < f.draws; ++s) out[s] += own * row[s];
  }
  const float mean = f.scale[node], spread = f.scale[f.d + node];
  const float low = f.scale[2 * f.d + node], high = f.scale[3 * f.d + node];
  for (size_t s = 0; s < f.draws; ++s) {
    const float value = mean + spread * out[s];
    out[s] = std::min(std::max(value, low), high);
  }
}

WIDE void fill_table(ByteTable& table, const float* rows, size_t count) { table.fill(rows, count); }
WIDE void add_rows(const ByteTable& table, const uint8_t* code, float* total) { table.add(code, total); }

void network_values(const Bytes3& codes, const Bytes2& changed, const Bytes2& center_codes, const Floats3& w1,
                    const Floats2& b1, const Floats3& output, const Floats2& offset, const Floats2& scale,
                    const Out<float, 3>& local, int threads) {
  const size_t d = codes.shape(0), n = codes.shape(1), bytes = codes.shape(2);
  const DrawnNetworks f{d,         w1.shape(1),   w1.shape(2),   output.shape(2), w1.data(),
                        b1.data(), output.data(), offset.data(), scale.data()};
  require(f.inputs <= 8 * bytes, "codes must have a bit for each input");
  require_shape({d, n}, "changed", changed);
  require_shape({d, bytes}, "center_codes", center_codes);
  require_shape({d, f.inputs, f.hidden}, "w1", w1);
  require_shape({d, f.hidden}, "b1", b1);
  require_shape({d, f.hidden, f.draws}, "output", output);
  require_shape({d, 1}, "offset", offset);
  require_shape({4, d}, "scale", scale);
  require_shape({d, n, f.draws}, "local", local);
  in_parts(d, threads, [&](int64_t part, Watch& watch) {
    const size_t node = static_cast<size_t>(part);
    ByteTable table(bytes, f.hidden);
    vector<float> z(f.hidden), at_center(f.draws);
    vector<uint32_t> active(f.hidden + 1);
    fill_table(table, f.w1 + node * f.inputs * f.hidden, f.inputs);
    const auto values = [&](const uint8_t* code, float* out) {
      std::copy_n(f.b1 + node * f.hidden, f.hidden, z.data());
      add_rows(table, code, z.data());
      output_values(f, node, z.data(), active.data(), out);
      watch.check(whole(f.hidden * f.draws / 8 + 10));
    };
    values(center_codes.data() + node * bytes, at_center.data());
    for (size_t c = 0; c < n; ++c) {
      float* out = local.data() + (node * n + c) * f.draws;
      if (changed[node * n + c])
        values(codes.data() + (node * n + c) * bytes, out);
      else
        std::copy_n(at_center.data(), f.draws, out);
    }
  });
}

// Prices that add up over parents.
void candidate_prices(const Bytes3& codes, const Floats1& empty, const Floats2& each, const Out<float, 2>& price,
                      int threads) {
  const size_t d = codes.shape(0), n = codes.shape(1), bytes = codes.shape(2), inputs = each.shape(1);
  require(inputs <= 8 * bytes, "codes must have a bit for each input");
  require_shape({d}, "empty", empty);
  require_shape({d, inputs}, "each", each);
  require_shape({d, n}, "price", price);
  in_parts(d, threads, [&](int64_t part, Watch& watch) {
    const size_t node = static_cast<size_t>(part);
    ByteTable table(bytes, 1);
    table.fill(each.data() + node * inputs, inputs);
    for (size_t c = 0; c < n; ++c) {
      const uint8_t* code = codes.data() + (node * n + c) * bytes;
      float total = empty[node];
      for (size_t q = 0; q < bytes; ++q) total += *table.at(q, code[q]);
      price[node * n + c] = total;
    }
    watch.check(whole(n * bytes));
  });
}
}  // namespace

void bind_paper_draws(nb::module_& m) {
  m.def("region_moves", &region_moves, "Draw which coordinates of each candidate move, and where to.");
  m.def("decode_candidates", &decode_candidates, "Write the parent sets of candidates as bytes.");
  m.def("network_values", &network_values, "Write the drawn local values of candidates.");
  m.def("candidate_prices", &candidate_prices, "Write prices that add up over parents.");
}
}  // namespace drbo
