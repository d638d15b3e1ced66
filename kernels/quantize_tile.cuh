// Quantizer in place, tile-wise: kernels quantizer_encode and quantizer_decode for words in registers.
#pragma once
#include "quantizer.cuh"
#include "tile.cuh"

namespace fz {
// The second try of a warp, for words whose bits stand in `st`: rare and long, so it runs in a loop and is no part of what
// everybody runs.
template <class B> __device__ __attribute__((noinline)) void quantize_again(const B q, uint4* st, int tid) {
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
}
// Codes of a tile in E layout whose bits also stand in `st`: first the nearest bins of all, as if they stood for their values.
template <class B> FZ_DEV void quantize_tile(const B& q, uint32_t (&v)[32], uint4* st, int tid) {
  if (__all_sync(ALL, q.nearest(v))) return;
  quantize_again(q, st, tid);
  read<E>(st, v, tid);
}

template <int W> struct TileBins;

// f32, whose radius is at most 2^22: what lies farther out rounds to no smaller bin in bin_of(), and fails the same test.
template <> struct TileBins<4> {
  float inverse, step, promise, radius, threshold, limit;
  uint32_t bins;
  bool keeps;

  FZ_DEV TileBins(const quantizer::Params& p, const quantizer::Facts& f) {
    step = __fmul_rn(2.0f, (float)f.bound);
    inverse = __fdiv_rn(1.0f, step);
    keeps = (p.switches & quantizer::STRICT) != 0;
    promise = keeps ? (float)f.promise : quantizer::Real<float>::infinity();
    bins = f.radius;
    radius = (float)f.radius;
    threshold = (float)p.threshold;
    // Below this a value has a bin of its size and is below the threshold: a little less than it could be, so that no rounding
    // matters.
    limit = fminf(threshold, __fmul_rn(__fmul_rn(step, radius - 1.0f), 0.9999990f));
  }
  // Adding 1.5 x 2^23 rounds half to even; never -0.
  static FZ_DEV float bin_of(float scaled) { return __fadd_rn(__fadd_rn(scaled, 12582912.0f), -12582912.0f); }
  // Zigzag of a bin below 2^22: 2 |k| stands in the low bits of 2^22 + |k|, which is exact.
  static FZ_DEV uint32_t code_of(float k) {
    return __float_as_uint(__fadd_rn(fabsf(k), 4194304.0f)) - 0x4a800000u + (uint32_t)(__float_as_int(k) >> 31);
  }
  FZ_DEV float error(float x, float k) const { return fabsf(__fadd_rn(x, -__fmul_rn(k, step))); }

  // The code of the nearest bin; `good` stays true where that is known to stand for x. Bitwise, so that nothing branches.
  FZ_DEV uint32_t nearest(uint32_t bits, bool& good) const {
    const float x = __uint_as_float(bits), k = bin_of(__fmul_rn(x, inverse));
    // Not strict: the promise is infinite, and no comparison with NaN is true.
    good = good & (fabsf(x) < limit) & !(error(x, k) > promise);
    return code_of(k);
  }
  // The code of a bin that stands for x, or the bits of x. Between two bins the rounding of one product can spare what that
  // of the other costs.
  FZ_DEV uint32_t find(uint32_t bits) const {
    const float x = __uint_as_float(bits), scaled = __fmul_rn(x, inverse), k = bin_of(scaled);
    if (!(fabsf(x) < threshold)) return bits;
    if (fabsf(k) < radius && !(error(x, k) > promise)) return code_of(k);
    if (!keeps || !(fabsf(scaled) < radius)) return bits;
    const float other = __fadd_rn(k, __fadd_rn(x, -__fmul_rn(k, step)) > 0.0f ? 1.0f : -1.0f);
    return error(x, other) <= promise && fabsf(other) < radius ? code_of(other) : bits;
  }

  // Four answers that do not wait for each other.
  FZ_DEV bool nearest(uint32_t (&v)[32]) const {
    bool good[4] = {true, true, true, true};
#pragma unroll
    for (int i = 0; i < 32; i++) v[i] = nearest(v[i], good[i % 4]);
    return good[0] & good[1] & good[2] & good[3];
  }
  FZ_DEV void quantize(uint32_t (&w)[2]) const { w[0] = find(w[0]); w[1] = find(w[1]); }
  // Of the words before a slice the nearer one is an element.
  FZ_DEV void quantize_halo(uint32_t (&w)[2]) const {
    bool good = true;
    const uint32_t code = nearest(w[1], good);
    w[1] = good ? code : find_rare(*this, w[1]);
  }
  static __device__ __attribute__((noinline)) uint32_t find_rare(const TileBins q, uint32_t bits) { return q.find(bits); }

  // Codes back to values, for any radius and step that a header may have.
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

// f64, by the arithmetic of the stage's own kernels.
template <> struct TileBins<8> {
  quantizer::Bins<double> q;
  uint32_t bins;

  FZ_DEV TileBins(const quantizer::Params& p, const quantizer::Facts& f) : q(p, f), bins(f.radius) {}

  static FZ_DEV uint64_t bits(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }
  static FZ_DEV void set(uint32_t& low, uint32_t& high, uint64_t x) { low = (uint32_t)x; high = (uint32_t)(x >> 32); }
  FZ_DEV bool nearest(uint32_t (&v)[32]) const {
    bool good = true;
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      int64_t bin;
      good = q.nearest<true>(quantizer::Real<double>::value(bits(v[i], v[i + 1])), bin) & good;
      set(v[i], v[i + 1], quantizer::code_of<uint64_t>(bin, true));
    }
    return good;
  }
  FZ_DEV void quantize(uint32_t (&w)[2]) const {
    int64_t bin;
    if (q.find<true>(quantizer::Real<double>::value(bits(w[0], w[1])), bin)) set(w[0], w[1], quantizer::code_of<uint64_t>(bin, true));
  }
  FZ_DEV void quantize_halo(uint32_t (&w)[2]) const { quantize(w); }
  FZ_DEV void restore(uint32_t (&v)[32]) const {
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const uint64_t u = bits(v[i], v[i + 1]);
      if (u >> 1 < bins) set(v[i], v[i + 1], quantizer::Real<double>::bits(quantizer::value_of(quantizer::bin_of(u, true), q.step)));
    }
  }
};
}  // namespace fz
