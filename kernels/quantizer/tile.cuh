// Quantizer in place, tile-wise: kernels quantizer_encode and quantizer_decode for words in
// registers.
#pragma once
#include "quantizer/bins.cuh"
#include "common/tile.cuh"

namespace fz {
// The second try of a warp, for words whose bits are in `st`. It is rare, so it is a separate
// function with a loop, whose short code is fetched when needed.
template <class B> __device__ __attribute__((noinline)) uint2 quantize_again(const B q, uint4* st, const uint2 halo, int tid) {
  char* row = reinterpret_cast<char*>(st) + tid * 128;
#pragma unroll 1
  for (int j = 0; j < 8; j++) {
    uint4* p = reinterpret_cast<uint4*>(row + 16 * j);
    const uint4 x = *p;
    uint32_t low[2] = {x.x, x.y}, high[2] = {x.z, x.w};
    q.quantize(low);
    q.quantize(high);
    *p = make_uint4(low[0], low[1], high[0], high[1]);
  }
  uint32_t before[2] = {halo.x, halo.y};
  q.quantize(before);
  return make_uint2(before[0], before[1]);
}
// Codes of a tile in E layout whose bits are also in `st`, and of the words before the slice of a
// warp: first the nearest bins of all, as if they represented their values. The codes are too large
// by q.shifted().
template <class B> FZ_DEV void quantize_tile(const B& q, uint32_t (&v)[32], uint32_t (&halo)[2], uint4* st, int tid) {
  const uint2 given = make_uint2(halo[0], halo[1]);
  if (__all_sync(ALL, q.nearest(v, halo))) return;
  const uint2 before = quantize_again(q, st, given, tid);
  read<E>(st, v, tid);
#pragma unroll
  for (int i = 0; i < 32; i++) v[i] += q.shifted();
  halo[0] = before.x;
  halo[1] = before.y + q.shifted();
}

template <int W> struct TileBins;

// f32, whose radius is at most 2^22. A zigzag code results from the addition of floats that puts 2
// |k| into the low bits of a sum; the other bits of the sum are removed from codes only if codes
// that are not differences are needed.
template <> struct TileBins<4> {
  // floor: is added to |k|; from 2^22 to 2^23, where floats are halves. above: the bits of sums of
  // good bins are less, one by one and all taken together.
  float inverse, step, promise, floor;
  uint32_t above;
  float radius, threshold;
  bool keeps;

  FZ_DEV TileBins(const quantizer::QuantizerParams&, const Operand& metadata) {
    const quantizer::TileMetadata f = quantizer::load_tile_metadata(metadata);
    inverse = f.inverse;
    step = f.step;
    promise = f.promise;
    floor = f.floor;
    above = f.above;
    radius = f.radius;
    threshold = f.threshold;
    keeps = f.keeps != 0;
  }
  FZ_DEV uint32_t shifted() const { return __float_as_uint(floor); }
  // Adding 1.5 x 2^23 rounds half to even; never -0.
  static FZ_DEV float bin_of(float scaled) { return __fadd_rn(__fadd_rn(scaled, 12582912.0f), -12582912.0f); }
  // The sum that has 2 |k| in its low bits, exact below 2^22.
  static FZ_DEV uint32_t sum_of(float k, float floor) { return __float_as_uint(__fadd_rn(fabsf(k), floor)); }
  static FZ_DEV uint32_t sign_of(float k) { return (uint32_t)(__float_as_int(k) >> 31); }
  // Zigzag.
  static FZ_DEV uint32_t code_of(float k) { return sum_of(k, 4194304.0f) - quantizer::FLOOR + sign_of(k); }
  FZ_DEV float error(float x, float k) const { return fabsf(__fadd_rn(x, -__fmul_rn(k, step))); }

  // The code of the nearest bin, shifted; `good` stays true and `sums` below `above` if the bin
  // certainly represents x. Bitwise, so that nothing branches.
  FZ_DEV uint32_t nearest(uint32_t bits, bool& good, uint32_t& sums) const {
    const float x = __uint_as_float(bits), k = bin_of(__fmul_rn(x, inverse));
    // Not strict: the promise is infinite, and no comparison with NaN is true; but the sum of one
    // is large.
    good = good & !(error(x, k) > promise);
    const uint32_t sum = sum_of(k, floor);
    sums |= sum;
    return sum + sign_of(k);
  }
  // The code of a bin that represents x, or the bits of x. Between two bins, rounding the other
  // product can keep the error within the bound. A block in which this happens delays others, so it
  // does not branch either.
  FZ_DEV uint32_t find(uint32_t bits) const {
    const float x = __uint_as_float(bits), scaled = __fmul_rn(x, inverse), k = bin_of(scaled);
    const float apart = __fadd_rn(x, -__fmul_rn(k, step)), other = __fadd_rn(k, apart > 0.0f ? 1.0f : -1.0f);
    const bool first = (fabsf(k) < radius) & !(fabsf(apart) > promise);
    const bool second = keeps & (fabsf(scaled) < radius) & (fabsf(other) < radius) & (error(x, other) <= promise);
    return (first | second) & (fabsf(x) < threshold) ? code_of(first ? k : other) : bits;
  }

  // Four results that do not wait for each other. The nearer one of the words before a slice is an
  // element; if there is none, any value works, such as zero.
  FZ_DEV bool nearest(uint32_t (&v)[32], uint32_t (&halo)[2]) const {
    bool good[4] = {true, true, true, true};
    uint32_t sums[4] = {0, 0, 0, 0};
    halo[1] = nearest(halo[1], good[0], sums[0]);
#pragma unroll
    for (int i = 0; i < 32; i++) v[i] = nearest(v[i], good[i % 4], sums[i % 4]);
    return good[0] & good[1] & good[2] & good[3] & ((sums[0] | sums[1] | sums[2] | sums[3]) < above);
  }
  FZ_DEV void quantize(uint32_t (&w)[2]) const { w[0] = find(w[0]); w[1] = find(w[1]); }
};

// f64, by the arithmetic of the stage's own kernels.
FZ_DEV uint64_t join_words(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }
FZ_DEV void split_words(uint32_t& low, uint32_t& high, uint64_t x) { low = (uint32_t)x; high = (uint32_t)(x >> 32); }
template <> struct TileBins<8> {
  quantizer::Bins<double> q;
  FZ_DEV TileBins(const quantizer::QuantizerParams& p, const Operand& metadata) : q(p, quantizer::load_metadata(metadata)) {}

  static FZ_DEV uint32_t shifted() { return 0; }
  FZ_DEV bool nearest(uint32_t (&v)[32], uint32_t (&halo)[2]) const {
    int64_t bin;
    bool good = q.nearest<true>(quantizer::Real<double>::value(join_words(halo[0], halo[1])), bin);
    split_words(halo[0], halo[1], quantizer::code_of<uint64_t>(bin, true));
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      int64_t bin;
      good = q.nearest<true>(quantizer::Real<double>::value(join_words(v[i], v[i + 1])), bin) & good;
      split_words(v[i], v[i + 1], quantizer::code_of<uint64_t>(bin, true));
    }
    return good;
  }
  FZ_DEV void quantize(uint32_t (&w)[2]) const {
    int64_t bin;
    if (q.find<true>(quantizer::Real<double>::value(join_words(w[0], w[1])), bin)) split_words(w[0], w[1], quantizer::code_of<uint64_t>(bin, true));
  }
};

// Codes back to values, for any radius and step that a header may have.
template <int W> struct TileSteps;
template <> struct TileSteps<4> {
  float step;
  uint32_t bins;
  FZ_DEV explicit TileSteps(const quantizer::BoundMetadata& f) : step(quantizer::step_of<float>(f)), bins(f.radius) {}
  FZ_DEV void restore(uint32_t (&v)[32]) const {
    if (bins <= 1u << 22 && fabsf(step) < quantizer::Real<float>::infinity()) {
#pragma unroll
      for (int i = 0; i < 32; i++) {
        const uint32_t u = v[i];
        // |bin| = (u + 1) / 2 as a float, by way of the low bits of 2^23 + |bin|.
        const float m = __fadd_rn(__uint_as_float((u + 0x96000001u) >> 1), -8388608.0f);
        const uint32_t x = __float_as_uint(__fmul_rn(m, step)) ^ (u << 31);
        v[i] = u < 2 * bins ? x : u;
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const uint32_t u = v[i];
      v[i] = u >> 1 >= bins ? u : __float_as_uint(quantizer::value_of(quantizer::bin_of(u, true), step));
    }
  }
};
template <> struct TileSteps<8> {
  double step;
  uint32_t bins;
  FZ_DEV explicit TileSteps(const quantizer::BoundMetadata& f) : step(quantizer::step_of<double>(f)), bins(f.radius) {}
  FZ_DEV void restore(uint32_t (&v)[32]) const {
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const uint64_t u = join_words(v[i], v[i + 1]);
      if (u >> 1 < bins) split_words(v[i], v[i + 1], quantizer::Real<double>::bits(quantizer::value_of(quantizer::bin_of(u, true), step)));
    }
  }
};
}  // namespace fz
