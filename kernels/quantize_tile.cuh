// Quantizer of f32 in place, tile-wise: kernel quantizer_encode of src/stages/quantizer/bins.rs for words in registers.
#pragma once
#include "quantizer.cuh"
#include "tile.cuh"

namespace fz {
// The radius is at most 2^22: what lies farther out rounds to no smaller bin in bin_of(), and fails the same test.
struct QuantizeF32 {
  float inverse, step, promise, radius, threshold;
  bool strict;

  // Adding 1.5 x 2^23 rounds half to even; never -0.
  static FZ_DEV float bin_of(float scaled) { return __fadd_rn(__fadd_rn(scaled, 12582912.0f), -12582912.0f); }
  // Zigzag of a bin below 2^22: 2 |k| stands in the low bits of 2^23 + 2 |k|, which is exact.
  static FZ_DEV uint32_t code_of(float k) {
    return __float_as_uint(__fmaf_rn(fabsf(k), 2.0f, 8388608.0f)) - 0x4b000000u + (uint32_t)(__float_as_int(k) >> 31);
  }
  FZ_DEV float error(float x, float k) const { return fabsf(__fadd_rn(x, -__fmul_rn(k, step))); }

  // The nearest bin or the bits of x. `again` becomes true where the bin on the other side of x may do.
  FZ_DEV uint32_t nearest(uint32_t bits, bool& again) const {
    const float x = __uint_as_float(bits), scaled = __fmul_rn(x, inverse), k = bin_of(scaled);
    // Not strict: the promise is infinite, and no comparison with NaN is true.
    const bool ok = fabsf(k) < radius && fabsf(x) < threshold && !(error(x, k) > promise);
    again = again || (!ok && fabsf(scaled) < radius);
    return ok ? code_of(k) : bits;
  }
  // Between two bins the rounding of one product can spare what that of the other costs.
  FZ_DEV uint32_t either(uint32_t bits) const {
    bool again = false;
    const uint32_t code = nearest(bits, again);
    const float x = __uint_as_float(bits);
    if (!again || !strict || !(fabsf(x) < threshold)) return code;
    const float k = bin_of(__fmul_rn(x, inverse));
    const float other = __fadd_rn(k, __fadd_rn(x, -__fmul_rn(k, step)) > 0.0f ? 1.0f : -1.0f);
    return error(x, other) <= promise && fabsf(other) < radius ? code_of(other) : bits;
  }
};
FZ_DEV QuantizeF32 quantize_f32(const quantizer::Params& p, const quantizer::Facts& f) {
  const float bound = (float)f.bound;
  QuantizeF32 q;
  q.step = __fmul_rn(2.0f, bound);
  q.inverse = __fdiv_rn(1.0f, q.step);
  q.strict = (p.switches & quantizer::STRICT) != 0;
  q.promise = q.strict ? (float)f.promise : INFINITY;
  q.radius = (float)f.radius;
  q.threshold = (float)p.threshold;
  return q;
}

// Codes of a tile in E layout whose bits also stand in `st`. The second try is rare and long, so it runs from there
// in a loop, over whole warps.
FZ_DEV void quantize_tile(const QuantizeF32& q, uint32_t (&v)[32], uint4* st, int tid) {
  bool again = false;
#pragma unroll
  for (int i = 0; i < 32; i++) v[i] = q.nearest(v[i], again);
  if (!__any_sync(ALL, again) || !q.strict) return;
  char* row = reinterpret_cast<char*>(st) + tid * 128;
#pragma unroll 1
  for (int j = 0; j < 8; j++) {
    uint4* p = reinterpret_cast<uint4*>(row + 16 * j);
    uint4 x = *p;
    x.x = q.either(x.x); x.y = q.either(x.y); x.z = q.either(x.z); x.w = q.either(x.w);
    *p = x;
  }
  read_e(st, v, tid);
}

// Codes back to values, for any radius and step that a header may have.
FZ_DEV void dequantize_tile(float step, uint32_t radius, uint32_t (&v)[32]) {
  if (radius <= 1u << 22 && fabsf(step) < INFINITY) {
#pragma unroll
    for (int i = 0; i < 32; i++) {
      const uint32_t u = v[i];
      // |bin| = (u + 1) / 2 as a float, by way of the low bits of 2^23 + |bin|.
      const float m = __fadd_rn(__uint_as_float((u + 0x96000001u) >> 1), -8388608.0f);
      const uint32_t x = __float_as_uint(__fmul_rn(m, step)) ^ (u << 31);
      v[i] = u < 2 * radius ? x : u;
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < 32; i++) {
    const uint32_t u = v[i];
    const float x = __fmul_rn((float)(int32_t)((u >> 1) ^ (0u - (u & 1))), step);
    v[i] = u >> 1 >= radius ? u : __float_as_uint(x == x ? x : quantizer::Real<float>::nan());
  }
}
}  // namespace fz
