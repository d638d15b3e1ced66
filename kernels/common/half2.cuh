// Pairs of f16 in a register, which a multiprocessor adds or compares at once. f16 holds integers
// up to 2048 in magnitude exactly.
#pragma once
#include "common/launch.cuh"

#ifdef FZ_EMULATED
namespace halves {
inline float half_value(uint32_t h) {
  const uint32_t size = h & 0x7fff, man = size & 0x3ff;
  const float x = size >= 0x7c00 ? (man ? NAN : INFINITY) : size < 0x400 ? ldexpf((float)man, -24) : ldexpf((float)(man | 0x400), (int)(size >> 10) - 25);
  return h & 0x8000 ? -x : x;
}
inline uint32_t half_of(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  const uint32_t sign = b >> 16 & 0x8000, size = b & 0x7fffffff;
  if (size > 0x7f800000) return 0x7fff;
  if (size >= 0x477ff000) return sign | 0x7c00;
  if (size < 0x38800000) return sign | (uint32_t)rintf(ldexpf(fabsf(x), 24));
  return sign | ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112 << 10);
}
template <class F> uint32_t half_pair(uint32_t a, uint32_t b, F f) {
  return half_of(f(half_value(a & 0xffff), half_value(b & 0xffff))) | half_of(f(half_value(a >> 16), half_value(b >> 16))) << 16;
}
}  // namespace halves
FZ_DEV uint32_t fz_halves(float low, float high) { return halves::half_of(low) | halves::half_of(high) << 16; }
FZ_DEV uint32_t fz_halves_add(uint32_t a, uint32_t b) { return halves::half_pair(a, b, [](float x, float y) { return x + y; }); }
FZ_DEV uint32_t fz_halves_sub(uint32_t a, uint32_t b) { return halves::half_pair(a, b, [](float x, float y) { return x - y; }); }
FZ_DEV uint32_t fz_halves_max(uint32_t a, uint32_t b) { return halves::half_pair(a, b, [](float x, float y) { return fmaxf(x, y); }); }
FZ_DEV uint32_t fz_halves_min(uint32_t a, uint32_t b) { return halves::half_pair(a, b, [](float x, float y) { return fminf(x, y); }); }
FZ_DEV float fz_low_half(uint32_t a) { return halves::half_value(a & 0xffff); }
FZ_DEV float fz_high_half(uint32_t a) { return halves::half_value(a >> 16); }
#else
// Rounds values that f16 does not hold.
FZ_DEV uint32_t fz_halves(float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
#define FZ_HALVES(NAME, WHAT)                                          \
  FZ_DEV uint32_t fz_halves_##NAME(uint32_t a, uint32_t b) {            \
    uint32_t r;                                                         \
    asm(WHAT ".f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));          \
    return r;                                                           \
  }
FZ_HALVES(add, "add.rn")
FZ_HALVES(sub, "sub.rn")
FZ_HALVES(max, "max")
FZ_HALVES(min, "min")
#undef FZ_HALVES
FZ_DEV float fz_low_half(uint32_t a) {
  float r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(r) : "r"(a));
  return r;
}
FZ_DEV float fz_high_half(uint32_t a) {
  float r;
  asm("{.reg .b16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(r) : "r"(a));
  return r;
}
#endif
