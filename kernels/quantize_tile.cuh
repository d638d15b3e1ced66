// Quantizer in place, tile-wise: kernels quantizer_encode and quantizer_decode for words in registers.
#pragma once
#include "quantizer.cuh"
#include "tile.cuh"

namespace fz {
// Codes of a tile in E layout whose bits also stand in `st`: first the nearest bins. The second try is rare and long, so it
// runs from there in a loop, over whole warps. `B` takes words.
template <class B> FZ_DEV void quantize_tile(const B& q, uint32_t (&v)[32], uint4* st, int tid) {
  bool again = false;
  q.nearest(v, again);
  if (!__any_sync(ALL, again) || !q.strict()) return;
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
  read_e(st, v, tid);
}

template <int W> struct TileBins;

// f32, whose radius is at most 2^22: what lies farther out rounds to no smaller bin in bin_of(), and fails the same test.
template <> struct TileBins<4> {
  float inverse, step, promise, radius, threshold;
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
  }
  FZ_DEV bool strict() const { return keeps; }

  // Adding 1.5 x 2^23 rounds half to even; never -0.
  static FZ_DEV float bin_of(float scaled) { return __fadd_rn(__fadd_rn(scaled, 12582912.0f), -12582912.0f); }
  // Zigzag of a bin below 2^22: 2 |k| stands in the low bits of 2^23 + 2 |k|, which is exact.
  static FZ_DEV uint32_t code_of(float k) {
    return __float_as_uint(__fmaf_rn(fabsf(k), 2.0f, 8388608.0f)) - 0x4b000000u + (uint32_t)(__float_as_int(k) >> 31);
  }
  FZ_DEV float error(float x, float k) const { return fabsf(__fadd_rn(x, -__fmul_rn(k, step))); }

  // The nearest bin or the bits of x; `again` becomes true for the latter. Bitwise, so that nothing branches: the second
  // try asks again what this one need not know.
  FZ_DEV uint32_t nearest(uint32_t bits, bool& again) const {
    const float x = __uint_as_float(bits), scaled = __fmul_rn(x, inverse), k = bin_of(scaled);
    // Not strict: the promise is infinite, and no comparison with NaN is true.
    const bool ok = (fabsf(k) < radius) & (fabsf(x) < threshold) & !(error(x, k) > promise);
    again |= !ok;
    return ok ? code_of(k) : bits;
  }
  // Between two bins the rounding of one product can spare what that of the other costs.
  FZ_DEV uint32_t either(uint32_t bits) const {
    bool again = false;
    const uint32_t code = nearest(bits, again);
    const float x = __uint_as_float(bits);
    if (!again || !keeps || !(fabsf(x) < threshold) || !(fabsf(__fmul_rn(x, inverse)) < radius)) return code;
    const float k = bin_of(__fmul_rn(x, inverse));
    const float other = __fadd_rn(k, __fadd_rn(x, -__fmul_rn(k, step)) > 0.0f ? 1.0f : -1.0f);
    return error(x, other) <= promise && fabsf(other) < radius ? code_of(other) : bits;
  }

  FZ_DEV void nearest(uint32_t (&v)[32], bool& again) const {
#pragma unroll
    for (int i = 0; i < 32; i++) v[i] = nearest(v[i], again);
  }
  FZ_DEV void quantize(uint32_t (&w)[2]) const { w[0] = either(w[0]); w[1] = either(w[1]); }

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
  FZ_DEV bool strict() const { return q.strict; }

  static FZ_DEV uint64_t bits(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }
  static FZ_DEV void set(uint32_t& low, uint32_t& high, uint64_t x) { low = (uint32_t)x; high = (uint32_t)(x >> 32); }
  FZ_DEV void nearest(uint32_t (&v)[32], bool& again) const {
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const double x = quantizer::Real<double>::value(bits(v[i], v[i + 1]));
      int64_t bin;
      const bool ok = q.nearest<true>(x, bin);
      again = again || (!ok && fabs(x * q.inverse) < q.radius);
      if (ok) set(v[i], v[i + 1], quantizer::code_of<uint64_t>(bin, true));
    }
  }
  FZ_DEV void quantize(uint32_t (&w)[2]) const {
    int64_t bin;
    if (q.find<true>(quantizer::Real<double>::value(bits(w[0], w[1])), bin)) set(w[0], w[1], quantizer::code_of<uint64_t>(bin, true));
  }
  FZ_DEV void restore(uint32_t (&v)[32]) const {
#pragma unroll
    for (int i = 0; i < 32; i += 2) {
      const uint64_t u = bits(v[i], v[i + 1]);
      if (u >> 1 < bins) set(v[i], v[i + 1], quantizer::Real<double>::bits(quantizer::value_of(quantizer::bin_of(u, true), q.step)));
    }
  }
};
}  // namespace fz
