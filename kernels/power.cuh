// log2 and powers of two, the same bits on every machine, as src/stages/quantizer/power.rs: every operation rounded once,
// in this order, none fused.
#pragma once
#include "fz.cuh"

namespace fz {
namespace power {
FZ_DEV double from_bits(uint64_t b) { return __longlong_as_double((long long)b); }
FZ_DEV uint64_t to_bits(double x) { return (uint64_t)__double_as_longlong(x); }

// The f64 nearest to the square root of 1/2: mantissas are taken from there to twice of it.
constexpr uint64_t BORDER = 0x3fe6a09e667f3bcdull;
// 2^52: its low bits count in ones.
constexpr uint64_t ONES = 0x4330000000000000ull;
// Adding and taking away 1.5 x 2^52 rounds half to even, and the low bits of the sum are the integer.
constexpr double ROUND = 6755399441055744.0;
// Nothing beyond is an f32 other than 0 and infinity.
constexpr double FAR = 200.0;

// log2 of a positive normal number; meaningless but harmless for everything else.
FZ_DEV double log2(double x) {
  // 2 / (ln 2 (2k + 1)): log2 of a number near 1 as an odd polynomial of (m - 1) / (m + 1).
  constexpr uint64_t C[12] = {
      0x40071547652b82feull, 0x3feec709dc3a03fdull, 0x3fe2776c50ef9bfeull, 0x3fda61762a7aded9ull, 0x3fd484b13d7c02a9ull, 0x3fd0c9a84994022dull,
      0x3fcc68f568d31760ull, 0x3fc89f3b1694cffeull, 0x3fc5b9ac9b743f0dull, 0x3fc3703c1f4d0ffeull, 0x3fc1964ec6fc9491ull, 0x3fc00ecd7e080215ull,
  };
  const uint64_t bits = to_bits(x), field = (bits - BORDER + (1024ull << 52)) >> 52;
  const double m = from_bits(bits - (field << 52) + (1024ull << 52));
  const double e = __dsub_rn(from_bits(field | ONES), 4503599627371520.0);
  const double f = __ddiv_rn(__dsub_rn(m, 1.0), __dadd_rn(m, 1.0)), z = __dmul_rn(f, f);
  double p = from_bits(C[11]);
#pragma unroll
  for (int k = 10; k >= 0; k--) p = __dadd_rn(__dmul_rn(p, z), from_bits(C[k]));
  return __dadd_rn(e, __dmul_rn(f, p));
}

// 2^y for any y but NaN; y beyond 200 in magnitude counts as 200.
FZ_DEV double exp2(double y) {
  // (ln 2)^k / k! for k = 1..=14.
  constexpr uint64_t D[14] = {
      0x3fe62e42fefa39efull, 0x3fcebfbdff82c58full, 0x3fac6b08d704a0c0ull, 0x3f83b2ab6fba4e77ull, 0x3f55d87fe78a6731ull, 0x3f2430912f86c787ull, 0x3eeffcbfc588b0c7ull,
      0x3eb62c0223a5c824ull, 0x3e7b5253d395e7c4ull, 0x3e3e4cf5158b8ecaull, 0x3dfe8cac7351bb25ull, 0x3dbc3bd650fc2986ull, 0x3d7816193166d0f9ull, 0x3d3314964d5878a9ull,
  };
  y = y < -FAR ? -FAR : y;
  y = y > FAR ? FAR : y;
  const double sum = __dadd_rn(y, ROUND), r = __dsub_rn(y, __dsub_rn(sum, ROUND));
  double p = from_bits(D[13]);
#pragma unroll
  for (int k = 12; k >= 0; k--) p = __dadd_rn(__dmul_rn(p, r), from_bits(D[k]));
  const uint64_t exponent = to_bits(sum) - 0x4338000000000000ull + 1023;
  return __dmul_rn(__dadd_rn(1.0, __dmul_rn(r, p)), from_bits(exponent << 52));
}

// A number below 2^51 in magnitude, rounded half to even.
FZ_DEV double round(double x) { return __dsub_rn(__dadd_rn(x, ROUND), ROUND); }

// A whole number from 0 to below 2^52 as an integer.
FZ_DEV uint64_t integer(double x) { return to_bits(__dadd_rn(x, from_bits(ONES))) ^ ONES; }
}  // namespace power
}  // namespace fz
