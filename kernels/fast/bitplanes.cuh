// Stage fast, encoder: the widths of a unit and its bit planes.
#pragma once
#include "fast/codes.cuh"

namespace fz {
namespace fast {
// Words of the header of a unit: a base, and two for each of five bits of a width.
constexpr uint32_t HEADER_WORDS = 16;
struct Shared {
  uint4 codes[CHUNK_UNITS][256];
  // For each unit: number of words, descriptor, least code, and first code.
  uint32_t words[8], descriptors[8];
  int32_t least[8], firsts[8];
  // The code, if all codes are equal, and if also no value is an exception.
  int32_t code[8], only[8];
  uint32_t header[8][HEADER_WORDS];  // of each unit
  // Of units with exceptions: masks of the lanes, the first value, and number of words.
  uint32_t masks[8][32], values[8][2], exact_words[8];
  uint32_t before;                   // words of the chunks before, in small arrays
};

// Instead of a code: the codes differ; the unit does not exist.
constexpr int32_t SEVERAL = INT32_MIN, ABSENT = INT32_MAX;

// Stores to an aligned address, or to any address with ANYWHERE.
template <bool ANYWHERE, class X> FZ_DEV void put_at(uint8_t* to, X x) {
  if constexpr (ANYWHERE) store<X>(to, x); else *reinterpret_cast<X*>(to) = x;
}

// Widths of the two parts of the lane, and sums over all lanes: of both widths in the lower half,
// of the larger one in the upper half.
struct Widths { uint32_t low, high, sums; };

// Writes the planes of a unit from `first` on: 16 bits of each part that is wide enough, first
// those of the first parts of lanes.
template <bool ANYWHERE> FZ_DEV void put_planes(uint8_t*& to, const uint32_t (&b)[8], uint32_t first, const Widths& w, uint32_t least, uint32_t most) {
  const uint32_t lane = threadIdx.x & 31;
#pragma unroll
  for (uint32_t i = 0; i < 8; i++) {
    const uint32_t plane = first + i;
    if (plane < least) {
      put_at<ANYWHERE>(to + 2 * lane, (uint16_t)b[i]);
      put_at<ANYWHERE>(to + 64 + 2 * lane, (uint16_t)(b[i] >> 16));
      to += 128;
    } else {
      if (plane >= most) break;
      const uint32_t x = __ballot_sync(ALL, w.low > plane), y = __ballot_sync(ALL, w.high > plane), n = __popc(x);
      if (w.low > plane) put_at<ANYWHERE>(to + 2 * __popc(x & below()), (uint16_t)b[i]);
      if (w.high > plane) put_at<ANYWHERE>(to + 2 * (n + __popc(y & below())), (uint16_t)(b[i] >> 16));
      to += 2 * (n + __popc(y));
    }
  }
}

template <class C> FZ_DEV Widths widths(C low, C high, int sign) {
  Widths w;
  w.low = width_of(low, sign);
  w.high = width_of(high, sign);
  w.sums = __reduce_add_sync(ALL, w.low + w.high + (max(w.low, w.high) << 16));
  return w;
}
// Cost of a mode, in units of 16 bits: twice the larger widths of the lanes, or all widths, which
// need a longer header.
FZ_DEV uint32_t cost(const Widths& w) { return min(2 * (w.sums >> 16), (w.sums & 0xffff) + 8); }  // seed: fast-cost
// The least code, and the largest code of each part.
template <class C> FZ_DEV void range(const C (&q)[32], C& least, C& low, C& high) {
  least = smaller(q[0], q[16]); low = q[0]; high = q[16];
#pragma unroll
  for (int e = 1; e < 16; e++) {
    low = larger(low, q[e]); high = larger(high, q[16 + e]);
    least = smaller(smaller(least, q[e]), q[16 + e]);
  }
}
// The largest magnitude of each part, with `first` instead of the first value.
template <class C> FZ_DEV void extremes(const C (&q)[32], C first, C& low, C& high) {
  low = size_of(first); high = size_of(q[16]);
#pragma unroll
  for (int e = 1; e < 16; e++) { low = larger(low, size_of(q[e])); high = larger(high, size_of(q[16 + e])); }
}

// Recomputes the values of a mode from shared memory.
template <int DIM, class C> FZ_DEV void recompute(const Shared& s, uint32_t k, uint32_t mode, C (&q)[32]) {
  C least;
  from_whole(s.least[k], least);
  if (DIM == 1) get_rows(s.codes[k], q); else get(s.codes[k], q);
  if (mode == INTER) { take_away(s.codes[k - 1], q); return; }
  if (mode == INTRA) {
    if (DIM != 3) difference<DIM>(q);
    if ((threadIdx.x & 31) == 0) q[0] = 0;
    return;
  }
  if (DIM == 3) {
    C d[32];
#pragma unroll
    for (int e = 0; e < 32; e++) { d[e] = q[e]; q[e] = -least; }
    add_sums<DIM>(q, d);
  } else {
#pragma unroll
    for (int e = 0; e < 32; e++) q[e] -= least;
  }
}
FZ_DEV void to_integers(float (&q)[32]) {
#pragma unroll
  for (int e = 0; e < 32; e++) q[e] = __uint_as_float((uint32_t)__float2int_rn(q[e]));
}
FZ_DEV void to_integers(int32_t (&)[32]) {}
// For units without a part wider than 16 bits: the two lower bytes are those of integers.
FZ_DEV void to_two_bytes(float (&q)[32]) {
#pragma unroll
  for (int e = 0; e < 32; e++) q[e] = __fadd_rn(q[e], Real<float>::MAGIC);
}
FZ_DEV void to_two_bytes(int32_t (&)[32]) {}
}  // namespace fast
}  // namespace fz
