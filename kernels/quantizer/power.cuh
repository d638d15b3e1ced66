// log2 of f32 and powers of two of f32, the same bits on every machine, as
// src/stages/quantizer/power.rs: every operation of f64 rounded once, in this order, none fused.
// Around them exponents and limits are those of f32, which is exact and spares operations of 64
// bits.
#pragma once
#include "common/launch.cuh"

namespace fz {
namespace power {
FZ_DEV double from_bits(uint64_t b) { return __longlong_as_double((long long)b); }
// An f64 from 2^52 to below 2^52 + 2^32.
FZ_DEV double counting(uint32_t n) { return from_bits(0x43300000ull << 32 | n); }

// log2 of a positive normal number; meaningless but harmless for everything else.
FZ_DEV double log2(float x) {
  // 2 / (ln 2 (2k + 1)): log2 of a number near 1 as an odd polynomial of (m - 1) / (m + 1).
  constexpr uint64_t C[12] = {
      0x40071547652b82feull, 0x3feec709dc3a03fdull, 0x3fe2776c50ef9bfeull, 0x3fda61762a7aded9ull, 0x3fd484b13d7c02a9ull, 0x3fd0c9a84994022dull,
      0x3fcc68f568d31760ull, 0x3fc89f3b1694cffeull, 0x3fc5b9ac9b743f0dull, 0x3fc3703c1f4d0ffeull, 0x3fc1964ec6fc9491ull, 0x3fc00ecd7e080215ull,
  };
  // The first f32 from the square root of 1/2 on, of which no f32 is the f64 of the page: mantissas
  // from there to twice of it.
  constexpr uint32_t BORDER = 0x3f3504f4u;
  const uint32_t bits = __float_as_uint(x), field = (bits - BORDER + (128u << 23)) >> 23;
  const double m = (double)__uint_as_float(bits - (field << 23) + (128u << 23));
  const double e = __dsub_rn(counting(field), 4503599627370496.0 + 128.0);
  const double f = __ddiv_rn(__dsub_rn(m, 1.0), __dadd_rn(m, 1.0)), z = __dmul_rn(f, f);
  double p = from_bits(C[11]);
#pragma unroll
  for (int k = 10; k >= 0; k--) p = __dadd_rn(__dmul_rn(p, z), from_bits(C[k]));
  return __dadd_rn(e, __dmul_rn(f, p));
}

// 2^y for any y but NaN; y beyond 200 in magnitude counts as 200: nothing there is an f32 other
// than 0 and infinity.
FZ_DEV double exp2(float y) {
  // (ln 2)^k / k! for k = 1..=14.
  constexpr uint64_t D[14] = {
      0x3fe62e42fefa39efull, 0x3fcebfbdff82c58full, 0x3fac6b08d704a0c0ull, 0x3f83b2ab6fba4e77ull, 0x3f55d87fe78a6731ull, 0x3f2430912f86c787ull, 0x3eeffcbfc588b0c7ull,
      0x3eb62c0223a5c824ull, 0x3e7b5253d395e7c4ull, 0x3e3e4cf5158b8ecaull, 0x3dfe8cac7351bb25ull, 0x3dbc3bd650fc2986ull, 0x3d7816193166d0f9ull, 0x3d3314964d5878a9ull,
  };
  y = fminf(fmaxf(y, -200.0f), 200.0f);
  // The rest of y is a multiple of its last place, so subtracting n rounds nothing.
  const float n = rintf(y);
  const double r = (double)__fsub_rn(y, n);
  double p = from_bits(D[13]);
#pragma unroll
  for (int k = 12; k >= 0; k--) p = __dadd_rn(__dmul_rn(p, r), from_bits(D[k]));
  return __dmul_rn(__dadd_rn(1.0, __dmul_rn(r, p)), from_bits((uint64_t)(uint32_t)(__float2int_rn(n) + 1023) << 52));
}
}  // namespace power
}  // namespace fz
