// Stage Fast: a unit in the registers of a warp, its widths and its planes.
#pragma once
#include "fast_codes.cuh"

namespace fz {
namespace fast {
// Words in front of a unit: a base, and two for each of five bits of a width.
constexpr uint32_t HEADS = 16;
struct Shared {
  uint4 codes[CHUNK_UNITS][256];
  // Of each unit: words, descriptor, the least code and the first one.
  uint32_t words[8], descriptors[8];
  int32_t least[8], firsts[8];
  // The code, if there is but one: of all codes; of all values, which then have no exceptions.
  int32_t code[8], only[8];
  uint32_t heads[8][HEADS];      // in front of a unit
  // Of units with exceptions: which, one of them, and their words.
  uint32_t masks[8][32], values[8][2], exact_words[8];
  uint32_t before;               // words of the chunks before, where there are few
};

// In place of a code: there are several; the unit does not exist.
constexpr int32_t SEVERAL = INT32_MIN, ABSENT = INT32_MAX;

// To a place that is aligned, or may be anywhere.
template <bool ANYWHERE, class X> FZ_DEV void put_at(uint8_t* to, X x) {
  if constexpr (ANYWHERE) store<X>(to, x); else *reinterpret_cast<X*>(to) = x;
}

// Widths of the two parts of the lane, and the sum of all; in its upper half that of the larger ones of lanes.
struct Widths { uint32_t low, high, sums; };

// Planes of a unit from `first` on: 16 bits of each part that is wide enough, first those of the first halves.
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
// What a mode costs, in units of 16 bits: either the larger widths of lanes, twice, or those of both parts, which take more in
// front of the unit.
FZ_DEV uint32_t cost(const Widths& w) { return min(2 * (w.sums >> 16), (w.sums & 0xffff) + 8); }
// The least code of all, and the largest of each part.
template <class C> FZ_DEV void range(const C (&q)[32], C& least, C& low, C& high) {
  least = smaller(q[0], q[16]); low = q[0]; high = q[16];
#pragma unroll
  for (int e = 1; e < 16; e++) {
    low = larger(low, q[e]); high = larger(high, q[16 + e]);
    least = smaller(smaller(least, q[e]), q[16 + e]);
  }
}
// The largest magnitudes of the parts, with `first` in place of the first value.
template <class C> FZ_DEV void extremes(const C (&q)[32], C first, C& low, C& high) {
  low = size_of(first); high = size_of(q[16]);
#pragma unroll
  for (int e = 1; e < 16; e++) { low = larger(low, size_of(q[e])); high = larger(high, size_of(q[16 + e])); }
}

// The codes of a mode once more.
template <int DIM, class C> FZ_DEV void again(const Shared& s, uint32_t k, uint32_t mode, C (&q)[32]) {
  C least;
  from_whole(s.least[k], least);
  if (DIM == 1) get_rows(s.codes[k], q); else get(s.codes[k], q);
  if (mode == AGAINST) { take_away(s.codes[k - 1], q); return; }
  if (mode == INSIDE) {
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
// Where no part is wider than 16 bits, so that the two lower bytes are those of integers.
FZ_DEV void to_two_bytes(float (&q)[32]) {
#pragma unroll
  for (int e = 0; e < 32; e++) q[e] = __fadd_rn(q[e], Real<float>::MAGIC);
}
FZ_DEV void to_two_bytes(int32_t (&)[32]) {}
}  // namespace fast
}  // namespace fz
