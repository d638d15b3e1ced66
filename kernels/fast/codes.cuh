// Stage fast: codes of a unit in registers. Codes of f32 values are f32, which holds them and all
// of their differences exactly; codes of f64 values are i32.
#pragma once
#include "fast/blocks.cuh"

// Selects bytes of x by the lower three bits of the nibbles of `how`, zeros from nibble 4 on. Bit 3
// replicates the sign of the byte, which __byte_perm does not support.
#ifdef FZ_EMULATED
FZ_DEV uint32_t fz_permute(uint32_t x, uint32_t how) { return __byte_perm(x, 0, how); }
#else
FZ_DEV uint32_t fz_permute(uint32_t x, uint32_t how) {
  uint32_t r;
  asm("prmt.b32 %0, %1, 0, %2;" : "=r"(r) : "r"(x), "r"(how));
  return r;
}
#endif

namespace fz {
namespace fast {
using quantizer::Real;
constexpr uint32_t MAGIC_BITS = 0x4b400000u;

FZ_DEV uint32_t bit_length(uint32_t m) { return 32 - __clz((int)m); }
FZ_DEV float size_of(float c) { return fabsf(c); }
FZ_DEV int32_t size_of(int32_t c) { return c < 0 ? -c : c; }
FZ_DEV float larger(float a, float b) { return fmaxf(a, b); }
FZ_DEV int32_t larger(int32_t a, int32_t b) { return max(a, b); }
FZ_DEV float smaller(float a, float b) { return fminf(a, b); }
FZ_DEV int32_t smaller(int32_t a, int32_t b) { return min(a, b); }
// Bits of a magnitude, plus `sign` if there are any. A float has them in its exponent.
FZ_DEV uint32_t width_of(float m, int sign) { return (uint32_t)max((int)(__float_as_uint(m) >> 23) - 126 + sign, 0); }
FZ_DEV uint32_t width_of(int32_t m, int sign) { return m ? bit_length((uint32_t)m) + sign : 0; }
// Codes as integers, and back.
FZ_DEV int32_t whole(float c) { return (int32_t)(__float_as_uint(__fadd_rn(c, Real<float>::MAGIC)) - MAGIC_BITS); }
FZ_DEV int32_t whole(int32_t c) { return c; }
FZ_DEV void from_whole(int32_t i, float& c) { c = __fadd_rn(__uint_as_float((uint32_t)i + MAGIC_BITS), -Real<float>::MAGIC); }
FZ_DEV void from_whole(int32_t i, int32_t& c) { c = i; }
FZ_DEV float as_code(uint32_t b, float) { return __uint_as_float(b); }
FZ_DEV int32_t as_code(uint32_t b, int32_t) { return (int32_t)b; }
FZ_DEV uint32_t bits_of(float c) { return __float_as_uint(c); }
FZ_DEV uint32_t bits_of(int32_t c) { return (uint32_t)c; }

template <class C> FZ_DEV void get(const uint4* from, C (&q)[32]) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint4 t = from[j * 32 + (threadIdx.x & 31)];
    q[4 * j] = as_code(t.x, C()); q[4 * j + 1] = as_code(t.y, C()); q[4 * j + 2] = as_code(t.z, C()); q[4 * j + 3] = as_code(t.w, C());
  }
}
template <class C> FZ_DEV void put(uint4* to, const C (&q)[32]) {
#pragma unroll
  for (int j = 0; j < 8; j++) to[j * 32 + (threadIdx.x & 31)] = make_uint4(bits_of(q[4 * j]), bits_of(q[4 * j + 1]), bits_of(q[4 * j + 2]), bits_of(q[4 * j + 3]));
}
template <class C> FZ_DEV void take_away(const uint4* from, C (&q)[32]) {
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint4 t = from[j * 32 + (threadIdx.x & 31)];
    q[4 * j] -= as_code(t.x, C()); q[4 * j + 1] -= as_code(t.y, C()); q[4 * j + 2] -= as_code(t.z, C()); q[4 * j + 3] -= as_code(t.w, C());
  }
}
// Transposes a unit in shared memory, from groups of four values in the order of memory to 32
// consecutive values in each lane, without bank conflicts.
template <class C> FZ_DEV void put_groups(uint4* unit, const C (&q)[32]) {
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint32_t g = j * 32 + lane;
    unit[g ^ (g >> 3 & 7)] = make_uint4(bits_of(q[4 * j]), bits_of(q[4 * j + 1]), bits_of(q[4 * j + 2]), bits_of(q[4 * j + 3]));
  }
}
template <class C> FZ_DEV void get_rows(const uint4* unit, C (&q)[32]) {
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint4 t = unit[lane * 8 + (j ^ (lane & 7))];
    q[4 * j] = as_code(t.x, C()); q[4 * j + 1] = as_code(t.y, C()); q[4 * j + 2] = as_code(t.z, C()); q[4 * j + 3] = as_code(t.w, C());
  }
}
template <class C> FZ_DEV void put_rows(uint4* unit, const C (&q)[32]) {
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (int j = 0; j < 8; j++)
    unit[lane * 8 + (j ^ (lane & 7))] = make_uint4(bits_of(q[4 * j]), bits_of(q[4 * j + 1]), bits_of(q[4 * j + 2]), bits_of(q[4 * j + 3]));
}

// Differences within the unit, in place: to the left and then to the row above, or to the value
// before. The first value of the unit stays.
template <int DIM, class C> FZ_DEV void difference(C (&q)[32]) {
  const uint32_t lane = threadIdx.x & 31;
  if constexpr (DIM == 1) {
    C left = __shfl_up_sync(ALL, q[31], 1);
    if (lane == 0) left = 0;
#pragma unroll
    for (int e = 31; e > 0; e--) q[e] -= q[e - 1];
    q[0] -= left;
  } else {
#pragma unroll
    for (int j = 0; j < 8; j++) {
      C left = __shfl_up_sync(ALL, q[4 * j + 3], 1);
      if ((lane & 7) == 0) left = 0;
#pragma unroll
      for (int c = 3; c > 0; c--) q[4 * j + c] -= q[4 * j + c - 1];
      q[4 * j] -= left;
    }
    C above[4];
#pragma unroll
    for (int c = 0; c < 4; c++) {
      above[c] = __shfl_up_sync(ALL, q[28 + c], 8);
      if (lane < 8) above[c] = 0;
    }
#pragma unroll
    for (int e = 31; e > 3; e--) q[e] -= q[e - 4];
#pragma unroll
    for (int c = 0; c < 4; c++) q[c] -= above[c];
  }
}

// Adds the sums of the differences `d` to `q`, and overwrites `d`.
template <int DIM, class C> FZ_DEV void add_sums(C (&q)[32], C (&d)[32]) {
  const uint32_t lane = threadIdx.x & 31;
  if constexpr (DIM == 1) {
#pragma unroll
    for (int e = 1; e < 32; e++) d[e] += d[e - 1];
    const C own = d[31], before = warp_sum_to(own) - own;
#pragma unroll
    for (int e = 0; e < 32; e++) q[e] += d[e] + before;
  } else {
#pragma unroll
    for (int j = 0; j < 8; j++) {
#pragma unroll
      for (int c = 1; c < 4; c++) d[4 * j + c] += d[4 * j + c - 1];
    }
#pragma unroll
    for (int e = 4; e < 32; e++) d[e] += d[e - 4];
    C left = 0;
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const C own = d[4 * j + 3];
      C sum = own;
#pragma unroll
      for (uint32_t i = 1; i < 8; i <<= 1) {
        const C t = __shfl_up_sync(ALL, sum, i);
        if ((lane & 7) >= i) sum += t;
      }
      left = sum - own;
#pragma unroll
      for (int c = 0; c < 4; c++) q[4 * j + c] += d[4 * j + c] + left;
    }
#pragma unroll
    for (int c = 0; c < 4; c++) {
      const C own = d[28 + c] + left;
      C sum = own;
#pragma unroll
      for (uint32_t i = 8; i < 32; i <<= 1) {
        const C t = __shfl_up_sync(ALL, sum, i);
        if (lane >= i) sum += t;
      }
      sum -= own;
#pragma unroll
      for (int j = 0; j < 8; j++) q[4 * j + c] += sum;
    }
  }
}

// Byte `s` of 32 words as eight bit planes: bit e of a plane belongs to word e.
template <class C> FZ_DEV void planes_of(const C (&q)[32], uint32_t s, uint32_t (&b)[8]) {
  const uint32_t pick = 0x40 + 0x11 * s;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint32_t low = __byte_perm(bits_of(q[j]), bits_of(q[8 + j]), pick), high = __byte_perm(bits_of(q[16 + j]), bits_of(q[24 + j]), pick);
    b[j] = __byte_perm(low, high, 0x5410);
  }
  transpose8(b);
}
}  // namespace fast
}  // namespace fz
